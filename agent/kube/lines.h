/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that come in any cuts to whole lines. A line that came in one piece is not copied. */
#pragma once

#include <stddef.h>

/* Zeroed is empty; max must be set. */
struct lines {
	char *text; /* the beginning of a line whose end is still to come */
	size_t len;
	size_t size;
	size_t max; /* bytes of a line; more is refused */
};

/* One line without its end, never empty. Negative stops. */
typedef int lines_fn(void *arg, const char *line, size_t len);

/* 0, what each said, -EMSGSIZE for a line that is too long, -ENOMEM. */
int lines_feed(struct lines *l, const char *data, size_t len, lines_fn *each, void *arg);
void lines_drop(struct lines *l);

/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps received bytes, and joins them to whole lines. A line that is received in one piece is not
 * copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Zeroed is empty. */
struct received {
	char *text; /* with a NUL behind it; NULL: nothing was received */
	size_t len;
	size_t size;
};

/* -EMSGSIZE: it would be longer than max; -ENOMEM. */
int received_add(struct received *b, const char *data, size_t len, size_t max);
/* Keeps a little memory for what comes next ... */
void received_empty(struct received *b);
/* ... and none. */
void received_drop(struct received *b);

/* One line without its end, never empty. Negative stops. */
typedef int lines_fn(void *arg, const char *line, size_t len);

/* Zeroed is empty; max must be set. */
struct lines {
	struct received kept; /* the beginning of a line whose end is still to come */
	size_t max;           /* bytes of a line */
	/* The beginning of a longer line, once; the rest of it is skipped and not kept. NULL: a
	 * longer line is refused. */
	lines_fn *too_long;
	bool skipping; /* inside of one */
};

/* 0, what each or too_long said, -EMSGSIZE for a line that is too long, -ENOMEM. */
int lines_feed(struct lines *l, const char *data, size_t len, lines_fn *each, void *arg);
/* The end of a line is still to come. */
bool lines_is_inside(const struct lines *l);
void lines_drop(struct lines *l);

/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a list of the API server that is received in pieces: each element of "items" is handed on
 * as soon as it is whole, so a list of megabytes is never stored. The text around them is kept for
 * the decoder. */
#pragma once

#include "agent/kube/client/lines.h"

#define ITEMS_FRAME_MAX (256 * 1024)

/* The text of one element. Negative stops. */
typedef int items_fn(void *arg, const char *text, size_t len);

/* Zeroed is empty; max must be set. */
struct items {
	size_t max; /* bytes of an element */
	/* The beginning of a longer element, once; the rest of it is skipped and not kept. NULL: a
	 * longer element is refused. */
	items_fn *too_long;
	struct received frame;
	struct received item;
	size_t depth;
	bool string;
	bool escape;
	bool seen;     /* the key: of two the first counts */
	bool awaited;  /* its value comes next */
	bool inside;   /* of the array */
	bool skipping; /* inside of an element that is too long */
};

/* 0, what each or too_long said, -EMSGSIZE, -ENOMEM. */
int items_feed(struct items *i, const char *data, size_t len, items_fn *each, void *arg);
void items_drop(struct items *i);

/* SPDX-License-Identifier: Apache-2.0 */
/* What a history file holds and what is wrong with it, without changing it. */
#pragma once

#include "agent/state/history_file.h"

struct history_fault {
	size_t line; /* of the file, from 1 on */
	const char *what;
	const char *advice;
};

typedef void history_fault_fn(void *user, const struct history_fault *fault);

/* Of the lines that are whole. */
struct history_summary {
	bool version_known;
	uint32_t version;
	size_t keys;
	size_t bytes; /* of the file */
	size_t faults;
	char *oldest_key, *newest_key; /* owned; NULL: no line is whole */
	usec_t oldest_realtime_usec;
	usec_t newest_realtime_usec;
};

void history_summary_drop(struct history_summary *s);

/* The bytes of a whole file. No fault: the daemon loads it. each() gets every fault, in the order
 * of the lines. -ENOMEM. */
int history_verify(const char *text, size_t len, history_fault_fn *each, void *user,
		   struct history_summary *ret);

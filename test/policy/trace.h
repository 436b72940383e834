/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recorded run as text: `# comment`, set-up lines, then one observation a line.
 *
 *	limits MILLI BYTES CPUS		what stood before
 *	history MILLI BYTES HOURS	what is known already
 *	columns NAME...			which counters follow
 *	USEC VALUE...			boottime and the counters
 *
 * A line holds at most TRACE_COLUMNS values. Values are decimal; counters left out stay 0.
 */
#pragma once

#include "policy/types/usage.h"

#define TRACE_COLUMNS 16

struct trace {
	uint64_t milli, bytes, cpus;
	uint64_t known_milli, known_bytes, known_hours;
	uint64_t algorithm; /* enum algorithm */
	uint32_t columns;
	uint32_t column[TRACE_COLUMNS]; /* index in trace_fields */
};

struct trace_field {
	const char *name;
	size_t offset; /* in struct usage */
	uint32_t have;
};

extern const struct trace_field trace_fields[];
size_t trace_field_count(void);

enum trace_line { TRACE_NOTHING, TRACE_SET_UP, TRACE_OBSERVATION };

/* One line: *ret_u and *ret_at are set for an observation. -EINVAL: no such line. */
int trace_parse(struct trace *t, char *line, usec_t *ret_at, struct usage *ret_u);

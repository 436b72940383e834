// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/counters.h"
#include <string.h>

/* From a write to a file (microseconds) to a kubelet's echo (seconds). */
const usec_t counters_bounds_usec[COUNTERS_BUCKETS] = {
	100,
	250,
	500,
	USEC_PER_MSEC,
	2500,
	5 * USEC_PER_MSEC,
	10 * USEC_PER_MSEC,
	50 * USEC_PER_MSEC,
	100 * USEC_PER_MSEC,
	500 * USEC_PER_MSEC,
	USEC_PER_SEC,
	5 * USEC_PER_SEC,
	30 * USEC_PER_SEC,
};

void counters_took(struct counters_span *s, usec_t span_usec)
{
	size_t i = 0;

	while (i < COUNTERS_BUCKETS && span_usec > counters_bounds_usec[i])
		i++;
	if (i < COUNTERS_BUCKETS)
		s->bucket[i]++;
	s->count++;
	s->sum_usec += span_usec;
	s->last_usec = span_usec;
	s->max_usec = MAX(s->max_usec, span_usec);
}

void counters_change(struct counters *c, enum resource r, uint64_t from, uint64_t to,
		     enum reason reason)
{
	if (to != from)
		c->changes[r][to > from ? DIRECTION_UP : DIRECTION_DOWN][reason]++;
}

void counters_blocked(struct counters *c, enum blocked_reason before, enum blocked_reason now)
{
	if (now != before && now != BLOCKED_NONE)
		c->blocked[now]++;
}

void counters_request(struct counters *c, const char *verb, unsigned code)
{
	size_t i = 0;

	while (i < COUNTERS_REQUESTS - 1 && c->requests[i].verb != NULL &&
	       (c->requests[i].code != code || strcmp(c->requests[i].verb, verb) != 0))
		i++;
	if (i == COUNTERS_REQUESTS - 1)
		c->requests[i].verb = "other";
	else
		c->requests[i] = (struct counters_request){verb, code, c->requests[i].count};
	c->requests[i].count++;
}

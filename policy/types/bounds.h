/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of a limit, in their order (docs/control-laws.md):
 * heap, user min, user max, the administrator's min and max, LimitRange min, max and ratio,
 * request, QoS, ceiling, refusal, unratified growth, ledger, quantum, then every bound checked
 * again on the rounded value. A desired value rounds up, a ceiling rounds down. Where two bounds
 * contradict each other, the later one wins. */
#pragma once

#include "policy/types/limits.h"
#include "policy/types/reason.h"

/* Upper bounds: 0 = not set. Lower bounds: 0 = not set. Millicores or bytes. */
struct bounds {
	uint64_t value[BOUND_QUANTUM]; /* by enum bound, up to and without BOUND_QUANTUM */
	uint64_t quantum;              /* >= 1 */
};

/* Which bounds changed a desired value, in their order. Two traces are kept of every container, so
 * they are short: steps of contradicting bounds beyond BOUND_TRACE_MAX are left out. */
struct bound_step {
	enum bound bound;
	uint64_t before;
	uint64_t after;
};

#define BOUND_TRACE_MAX 6
struct bound_trace {
	uint8_t count;
	uint8_t bound[BOUND_TRACE_MAX];      /* enum bound */
	uint64_t value[BOUND_TRACE_MAX + 1]; /* before the first step, and after each */
};

static inline struct bound_step bound_trace_step(const struct bound_trace *t, uint32_t i)
{
	return (struct bound_step){(enum bound)t->bound[i], t->value[i], t->value[i + 1]};
}
/* before: the desired value, which the first step keeps; a later one begins where the step before
 * it ended. */
void bound_trace_add(struct bound_trace *t, enum bound bound, uint64_t before, uint64_t after);

/* Takes a desired value, returns the allowed one. trace may be NULL. LIMIT_MAX as the desired value
 * means "as much as allowed". */
uint64_t bounds_apply(const struct bounds *b, uint64_t desired, struct bound_trace *trace);
/* The highest and the lowest value allowed; LIMIT_MAX and 0 where nothing is set. */
uint64_t bounds_ceiling(const struct bounds *b);
uint64_t bounds_floor(const struct bounds *b);

/* The smallest request whose limit is not too far above it. ratio_permille > 0. */
uint64_t request_of_ratio(uint64_t limit, uint64_t ratio_permille);

// SPDX-License-Identifier: Apache-2.0
#include "policy/types/bounds.h"
#include "policy/base/arithmetic.h"
#include <assert.h>

/* Which rows are ceilings; the others are floors. */
static const bool is_upper[BOUND_QUANTUM] = {
	[BOUND_USER_MAX] = true,    [BOUND_ADMIN_MAX] = true, [BOUND_RANGE_MAX] = true,
	[BOUND_RANGE_RATIO] = true, [BOUND_CEILING] = true,   [BOUND_REFUSED] = true,
	[BOUND_UNRATIFIED] = true,  [BOUND_LEDGER] = true,
};

void bound_trace_add(struct bound_trace *t, enum bound bound, uint64_t before, uint64_t after)
{
	if (t->count == BOUND_TRACE_MAX)
		return;
	if (t->count == 0)
		t->value[0] = before;
	t->bound[t->count++] = (uint8_t)bound;
	t->value[t->count] = after;
}

static void bounds_note(struct bound_trace *t, enum bound bound, uint64_t before, uint64_t after)
{
	if (t == NULL || before == after)
		return;
	bound_trace_add(t, bound, before, after);
}

/* One pass over the rows. The quantum turns a ceiling down and a floor up. */
static uint64_t bounds_pass(const struct bounds *b, uint64_t value, struct bound_trace *trace)
{
	for (enum bound i = 0; i < BOUND_QUANTUM; i++) {
		uint64_t before = value, limit = b->value[i];

		if (limit == 0)
			continue;
		if (is_upper[i])
			value = MIN(value, round_down(limit, b->quantum));
		else
			value = MAX(value, round_up(limit, b->quantum));
		bounds_note(trace, i, before, value);
	}
	return value;
}

uint64_t bounds_apply(const struct bounds *b, uint64_t desired, struct bound_trace *trace)
{
	uint64_t value, rounded;

	assert(b->quantum > 0);
	if (trace != NULL)
		trace->count = 0;
	value = bounds_pass(b, desired, trace);
	rounded = round_up(value, b->quantum);
	bounds_note(trace, BOUND_QUANTUM, value, rounded);
	/* Again without a trace: bounds that contradict each other would appear twice. */
	return bounds_pass(b, rounded, NULL);
}

uint64_t bounds_ceiling(const struct bounds *b)
{
	return bounds_apply(b, LIMIT_MAX, NULL);
}

uint64_t bounds_floor(const struct bounds *b)
{
	return bounds_apply(b, 0, NULL);
}

uint64_t request_of_ratio(uint64_t limit, uint64_t ratio_permille)
{
	uint64_t request = mul_div(limit, 1000, ratio_permille);

	return mul_div(request, ratio_permille, 1000) < limit ? request + 1 : request;
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/types/reason.h"
#include <assert.h>

struct words {
	const char *name;
	const char *text;
};

#define WORDS_ROW(constant, name, text) [constant] = {name, text},
static const struct words reasons[REASON_COUNT] = {REASONS(WORDS_ROW)};
static const struct words blocked_reasons[BLOCKED_COUNT] = {BLOCKED_REASONS(WORDS_ROW)};
static const struct words bounds[BOUND_COUNT] = {BOUNDS(WORDS_ROW)};

const char *reason_name(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].name : "?";
}

const char *blocked_reason_name(enum blocked_reason h)
{
	return h < BLOCKED_COUNT ? blocked_reasons[h].name : "?";
}

const char *bound_name(enum bound b)
{
	return b < BOUND_COUNT ? bounds[b].name : "?";
}

const char *reason_text(enum reason r)
{
	return r < REASON_COUNT ? reasons[r].text : "?";
}

const char *blocked_reason_text(enum blocked_reason h)
{
	return h < BLOCKED_COUNT ? blocked_reasons[h].text : "?";
}

const char *bound_text(enum bound b)
{
	return b < BOUND_COUNT ? bounds[b].text : "?";
}

/* --- bounds */

/* Which rows are ceilings; the others are floors. */
static const bool is_upper[BOUND_QUANTUM] = {
	[BOUND_USER_MAX] = true,    [BOUND_ADMIN_MAX] = true,  [BOUND_RANGE_MAX] = true,
	[BOUND_RANGE_RATIO] = true, [BOUND_CEILING] = true,    [BOUND_REFUSED] = true,
	[BOUND_BUDGET] = true,      [BOUND_UNRATIFIED] = true, [BOUND_LEDGER] = true,
};

void bound_trace_add(struct bound_trace *t, enum bound bound, uint64_t before, uint64_t after)
{
	if (t == NULL || before == after || t->count == BOUND_TRACE_MAX)
		return;
	if (t->count == 0)
		t->value[0] = before;
	t->bound[t->count++] = (uint8_t)bound;
	t->value[t->count] = after;
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
		bound_trace_add(trace, i, before, value);
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
	bound_trace_add(trace, BOUND_QUANTUM, value, rounded);
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

/* --- states of units */

const char *const unit_state_names[UNIT_STATE_COUNT] = {
	[UNIT_MANAGED] = "managed",     [UNIT_PAUSED] = "paused",     [UNIT_FROZEN] = "frozen",
	[UNIT_WAITING] = "waiting",     [UNIT_GAVE_WAY] = "gave-way", [UNIT_RESTORED] = "restored",
	[UNIT_UNMANAGED] = "unmanaged", [UNIT_ENDED] = "ended",
};

#define STATE_ROW(constant, ...) [constant] = {__VA_ARGS__},
const struct state_row state_rows[STATE_REASON_COUNT] = {STATE_REASONS(STATE_ROW)};

bool state_is_late(struct state_seen *s, enum state_reason now_is, usec_t now)
{
	if (s->reason != now_is)
		*s = (struct state_seen){.reason = now_is, .since = now};
	if (!state_rows[now_is].late || s->told || now - s->since < STATE_LATE_USEC)
		return false;
	s->told = true;
	return true;
}

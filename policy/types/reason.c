// SPDX-License-Identifier: Apache-2.0
#include "policy/types/reason.h"
#include <assert.h>

struct words {
	const char *name;
	const char *text;
};

static const struct words reasons[REASON_COUNT] = {
	[REASON_NONE] = {"none", "nothing"},
	[REASON_THROTTLED] = {"throttled", "throttled since the last change"},
	[REASON_MEMORY_GROWTH] = {"memory-growth", "memory grows towards the limit"},
	[REASON_CACHE_PRESSURE] = {"cache-pressure", "page cache refaults under memory pressure"},
	[REASON_OOM_KILL] = {"oom-kill", "a process was killed at the limit"},
	[REASON_HISTORY] = {"history", "the recommendation is higher"},
	[REASON_MINIMUM] = {"minimum", "the configured minimum is higher"},
	[REASON_INITIAL] = {"initial", "sized from history at the start"},
	[REASON_SHRINK] = {"shrink", "the recommendation is lower"},
	[REASON_SHRINK_UNDONE] = {"shrink-undone", "the last decrease caused pressure"},
	[REASON_SETTLED] = {"settled", "headroom for growth is no longer needed"},
	[REASON_DRIFT] = {"drift", "an external writer changed it"},
	[REASON_LIFT] = {"lift", "memory.high of a shrink trial is removed"},
	[REASON_BRAKE] = {"brake", "memory.high slows growth until the limit is raised"},
	[REASON_RESTORE] = {"restore", "the original value is restored"},
	[REASON_REFUSED] = {"refused", "the API server refused the value"},
	[REASON_POD_LEVEL] = {"pod-level", "the sum of its containers"},
	[REASON_RESUMED] = {"resumed", "the limit from before the restart"},
	[REASON_BOOST] = {"boost", "startup boost"},
	[REASON_BOOST_OVER] = {"boost-over", "startup boost has ended"},
	[REASON_GIVEN_BACK] = {"given-back", "unused, and the node needs the memory"},
	[REASON_STOPPING] = {"stopping", "vscaled stops, and cannot raise it when it is needed"},
};

static const struct words blocked_reasons[BLOCKED_COUNT] = {
	[BLOCKED_NONE] = {"none", "not blocked"},
	[BLOCKED_MODE_OFF] = {"mode-off", "mode Off only computes and shows"},
	[BLOCKED_INITIAL_DONE] = {"initial-done", "mode Initial sizes once, at the start"},
	[BLOCKED_NOT_CONTROLLED] = {"not-controlled", "this resource is not in `resources`"},
	[BLOCKED_NO_LIMIT] = {"no-limit", "no limit is set, and vscaled adds none"},
	[BLOCKED_PAUSED] = {"paused", "paused by the operator"},
	[BLOCKED_FROZEN] = {"frozen", "an annotation is invalid: what is held stays"},
	[BLOCKED_AUTOSCALED] = {"autoscaled",
				"a VerticalPodAutoscaler may scale it: what is held stays"},
	[BLOCKED_NO_DATA] = {"no-data", "no measurement yet"},
	[BLOCKED_START_QUIET] = {"start-quiet", "no decrease soon after a start"},
	[BLOCKED_SCALE_DOWN_OFF] = {"scale-down-off", "scale-down is false"},
	[BLOCKED_DEADBAND] = {"deadband", "the limit is close enough to the recommendation"},
	[BLOCKED_INTERVAL] = {"interval", "the last change was too recent"},
	[BLOCKED_TRIAL] = {"trial", "a shrink trial is running"},
	[BLOCKED_GROWING] = {"growing", "memory has grown recently"},
	[BLOCKED_HISTORY] = {"history", "not enough history for a decrease"},
	[BLOCKED_BACKOFF] = {"backoff", "the last decrease was undone, waiting"},
	[BLOCKED_CEILING] = {"ceiling", "at the upper bound"},
	[BLOCKED_NOT_READY] = {"not-ready", "no decrease while the pod is not ready"},
	[BLOCKED_REQUESTS_ONLY] = {"requests-only", "RequestsOnly does not change limits"},
	[BLOCKED_BOOST] = {"boost", "no decrease during the startup boost"},
	[BLOCKED_LEDGER] = {"ledger", "not enough node memory"},
	[BLOCKED_UNRATIFIED] = {"unratified", "growth above the spec ends here until the API server"
					      " accepts a higher limit"},
};

static const struct words bounds[BOUND_COUNT] = {
	[BOUND_HEAP] = {"heap", "the heap of the language runtime"},
	[BOUND_USER_MIN] = {"user-min", "the configured minimum"},
	[BOUND_USER_MAX] = {"user-max", "the configured maximum"},
	[BOUND_ADMIN_MIN] = {"admin-min", "the administrator's minimum"},
	[BOUND_ADMIN_MAX] = {"admin-max", "the administrator's maximum"},
	[BOUND_RANGE_MIN] = {"limitrange-min", "the namespace's minimum"},
	[BOUND_RANGE_MAX] = {"limitrange-max", "the namespace's maximum"},
	[BOUND_RANGE_RATIO] = {"limitrange-ratio",
			       "the namespace's highest ratio of limit to request"},
	[BOUND_REQUEST] = {"request", "the request"},
	[BOUND_QOS] = {"qos", "the pod's QoS class"},
	[BOUND_CEILING] = {"ceiling", "the ceiling"},
	[BOUND_REFUSED] = {"refused", "what the API server allows after a refusal"},
	[BOUND_UNRATIFIED] = {"unratified",
			      "the bound of growth that the API server cannot accept"},
	[BOUND_LEDGER] = {"ledger", "what the node can grant"},
	[BOUND_QUANTUM] = {"quantum", "rounding"},
	[BOUND_USE] = {"use", "memory in use plus margin"},
};

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

// SPDX-License-Identifier: Apache-2.0
/* The memory limit at a review: raises from history, and shrink trials. */
#include "policy/base/arithmetic.h"
#include "policy/control/control_impl.h"
#include "policy/types/bounds.h"

/* Lowers memory.max without a trial, after reclaiming the page cache that would not fit. */
static void lower_to(struct control *c, const struct control_context *x, uint64_t to,
		     enum reason reason)
{
	uint64_t fits = add_sat(c->last.mem_current, mem_write_margin(&x->tuning->memory, to));

	if (fits > to)
		control_plan_mem(c, x, KNOB_MEM_RECLAIM, round_up(fits - to, c->page_bytes),
				 reason);
	control_plan_mem(c, x, KNOB_MEM_MAX, to, reason);
}

/* The desired limit by history, present use, a failed shrink and the original. */
static uint64_t control_mem_review_candidate(const struct control *c,
					     const struct control_context *x)
{
	const struct tuning *t = x->tuning;
	const struct range_of *r = &c->recommendation.resource[RESOURCE_MEMORY];
	uint64_t original = c->resource[RESOURCE_MEMORY].original;
	uint32_t confidence = control_trust(c, RESOURCE_MEMORY);
	bool vpa = t->history.algorithm == ALGORITHM_VPA;
	const uint64_t rule[] = {control_mem_needed(c, &t->memory),
				 control_threshold_limit(c, x, RESOURCE_MEMORY)};
	const uint64_t asks[] = {
		control_mem_needed(c, &t->memory),
		floor_value(&c->mem.floor, t->cpu.floor_half_life_usec, x->now_real),
		vpa ? r->target : r->peak,
		vpa ? 0 : scale_permille(mem_working_set(&c->last), t->memory.working_set_permille),
		vpa ? 0 : scale_permille(original, 1000 - confidence),
	};

	if (t->history.algorithm == ALGORITHM_THRESHOLD)
		return highest(rule, ARRAY_SIZE(rule));
	return highest(asks, ARRAY_SIZE(asks));
}

/* A slow writer got headroom for growth that is over: back to the held limit. */
static bool control_mem_review_settle(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t floor = control_floor(c, x->tuning, RESOURCE_MEMORY, x->node_milli);
	uint64_t least = MAX(floor, control_mem_needed(c, &x->tuning->memory));
	uint64_t to = round_up(MAX(res->limit, least), c->page_bytes);

	if (to >= c->kernel.mem_max || c->mem.trial.phase != MEM_IDLE ||
	    x->now < c->mem.backoff_until ||
	    x->now - c->mem.last_growth < x->tuning->memory.settle_usec)
		return false;
	lower_to(c, x, to, REASON_SETTLED);
	return true;
}

/* The goal of a mandatory shrink: the API server refused more, or the ledger asks for the rest. */
static uint64_t must_end(const struct control *c, const struct control_context *x)
{
	uint64_t asked = control_shrink_asked(c, x->now);

	return MIN(control_refused(c, RESOURCE_MEMORY), asked != 0 ? asked : LIMIT_MAX);
}

static void control_mem_review_shrink(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct mem_shrink_input in = control_shrink_input(c, x);
	struct mem_step step;
	uint64_t to;

	if (c->pod.not_ready) {
		res->blocked = BLOCKED_NOT_READY;
		return;
	}
	if (in.must) {
		/* No further than necessary. */
		in.candidate = MAX(in.candidate, must_end(c, x));
	} else if (!c->rule.scale_down) {
		res->blocked = BLOCKED_SCALE_DOWN_OFF;
		return;
	}
	res->blocked = mem_shrink_next(x->tuning, &c->mem, &in, &to, &res->next_at);
	if (res->blocked != BLOCKED_NONE)
		return;
	if (to >= c->kernel.mem_max) {
		res->blocked = BLOCKED_DEADBAND;
		return;
	}
	step = mem_trial_begin(&x->tuning->memory, &c->mem, &in, to);
	control_plan_mem_step(c, x, &step);
	res->blocked = BLOCKED_TRIAL;
}

/* No bound lowers the limit below use. */
static void above_use(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct bound_trace *trace = &res->trace;
	uint64_t least = MIN(round_up(control_mem_needed(c, &x->tuning->memory), c->page_bytes),
			     c->kernel.mem_max);

	if (res->bounded >= least)
		return;
	bound_trace_add(trace, BOUND_USE, res->bounded, least);
	res->bounded = least;
}

/* Raises as far as the node grants. */
static void raise_granted(struct control *c, const struct control_context *x, uint64_t desired,
			  enum reason reason)
{
	uint64_t to = control_bound_raise(c, x, desired, reason);

	if (to > c->kernel.mem_max)
		control_raise_to(c, x, to, reason);
	else
		c->resource[RESOURCE_MEMORY].blocked =
			control_ceiling_reason(c, x->tuning) == BLOCKED_UNRATIFIED
				? BLOCKED_UNRATIFIED
				: BLOCKED_LEDGER;
}

static void size_from_history(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	if (res->bounded > c->kernel.mem_max || control_denied(c, x->now))
		raise_granted(c, x, res->candidate, REASON_INITIAL);
	else
		lower_to(c, x, res->bounded, REASON_INITIAL);
}

/* Once, at the start: from history, never below use. Without history the minimum counts. */
static void size_initially(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t minimum = control_minimum(c, x, RESOURCE_MEMORY);

	if (c->initial_done)
		res->blocked = BLOCKED_INITIAL_DONE;
	else if (c->recommendation.confidence_permille[RESOURCE_MEMORY] > 0)
		size_from_history(c, x);
	else if (c->kernel.mem_max < minimum)
		raise_granted(c, x, minimum, REASON_MINIMUM);
	else
		res->blocked = BLOCKED_HISTORY;
}

/* Otherwise memory grows by the reflex and after kills alone. */
static bool threshold_asks(const struct control *c, const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	return x->tuning->history.algorithm == ALGORITHM_THRESHOLD && c->rule.mode == MODE_AUTO &&
	       res->candidate > res->limit && res->bounded > c->kernel.mem_max;
}

/* When it is new: what its workload is known to need, else its request would have no room. Once;
 * again only where the API server could not accept all of it. */
static bool size_at_birth(struct control *c, const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t from =
		scale_permille(c->kernel.mem_max, 1000 + x->tuning->common.deadband_up_permille);

	if (c->initial_done || x->tuning->history.algorithm == ALGORITHM_THRESHOLD ||
	    c->mem.trial.phase != MEM_IDLE || res->bounded <= from ||
	    !control_known_at_birth(c, RESOURCE_MEMORY, x->now))
		return false;
	c->initial_done = res->candidate <= control_unratified(c);
	raise_granted(c, x, res->candidate, REASON_HISTORY);
	return true;
}

void control_review_mem(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t minimum;

	res->next_at = 0;
	res->blocked = control_blocked(c, RESOURCE_MEMORY);
	if (!res->managed)
		return;
	if ((c->last.have & MEM_USAGE) != MEM_USAGE || c->kernel.mem_max == LIMIT_MAX) {
		res->blocked = BLOCKED_NO_DATA;
		return;
	}
	res->candidate = control_mem_review_candidate(c, x);
	res->bounded = control_bound(c, x, RESOURCE_MEMORY, res->candidate);
	above_use(c, x);
	if (res->blocked == BLOCKED_NONE && c->rule.freeze)
		res->blocked = BLOCKED_FROZEN;
	if (res->blocked == BLOCKED_NONE && c->mem.trial.phase != MEM_IDLE)
		res->blocked = BLOCKED_TRIAL;
	if (res->blocked != BLOCKED_NONE || res->planned_at == x->now)
		return;
	if (c->rule.mode == MODE_INITIAL) {
		size_initially(c, x);
		return;
	}
	minimum = control_minimum(c, x, RESOURCE_MEMORY);
	if (c->mem.trial.phase == MEM_IDLE && c->kernel.mem_max < minimum) {
		raise_granted(c, x, minimum, REASON_MINIMUM);
		return;
	}
	if (res->at_ceiling)
		res->blocked = control_ceiling_reason(c, x->tuning);
	else if (control_awaits_grant(c, x))
		res->blocked = BLOCKED_LEDGER;
	else if (threshold_asks(c, x))
		raise_granted(c, x, res->candidate, REASON_HISTORY);
	else if (c->mem.brake.line != 0)
		res->blocked = BLOCKED_GROWING;
	else if (!size_at_birth(c, x) && !control_mem_review_settle(c, x))
		control_mem_review_shrink(c, x);
}

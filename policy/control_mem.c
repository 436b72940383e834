// SPDX-License-Identifier: Apache-2.0
#include "policy/bounds.h"
#include "policy/control_impl.h"

#define MEM_USAGE (USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_LIMIT)
/* Headroom for a slow writer is taken back once growth has been over for this long. */
#define SETTLE_USEC (60 * USEC_PER_SEC)

uint64_t control_mem_high(const struct control *c, uint64_t mem_max)
{
	const struct limits *o = &c->original;

	if (o->mem_high == LIMIT_MAX || o->mem_max == LIMIT_MAX || mem_max == LIMIT_MAX)
		return o->mem_high;
	if (o->mem_high >= o->mem_max)
		return LIMIT_MAX;
	return round_down((uint64_t)((unsigned __int128)mem_max * o->mem_high / o->mem_max),
			  MEM_PAGE_BYTES);
}

uint64_t control_mem_property(const struct control *c, const struct tuning *t)
{
	uint64_t limit = MAX(c->resource[RESOURCE_MEMORY].limit, c->kernel.mem_max);
	uint64_t ceiling = control_ceiling(c, t, RESOURCE_MEMORY, 0);

	return MAX(limit, MIN(round_up(mem_headroom(&t->memory, &c->mem, limit), MEM_PAGE_BYTES),
			      ceiling));
}

void control_plan_mem(struct control *c, const struct control_context *x, enum knob knob,
		      uint64_t bytes, enum reason reason)
{
	const struct limits *k = &c->kernel;
	struct change step = {
		.target = c->target,
		.knob = knob,
		.depth = c->depth,
		.from = knob == KNOB_MEM_MAX ? k->mem_max : k->mem_high,
		.to = bytes,
		.reason = reason,
	};

	if (knob == KNOB_MEM_RECLAIM)
		step.from = c->last.mem_current;
	if (knob == KNOB_MEM_MAX) {
		step.margin_bytes = mem_write_margin(&x->tuning->memory, bytes);
		control_decide(c, RESOURCE_MEMORY, bytes, reason, x);
	}
	plan_add(x->plan, &step);
}

static struct mem_shrink_input shrink_input(const struct control *c,
					    const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	return (struct mem_shrink_input){
		.u = &c->last,
		.limit = c->kernel.mem_max,
		.candidate = res->bounded,
		.high = control_mem_high(c, res->limit),
		.history_usec = c->history.observed_usec,
		.started_at = c->started_at,
		.now = x->now,
		.now_real = x->now_real,
	};
}

static void plan_mem_step(struct control *c, const struct control_context *x,
			  const struct mem_step *s)
{
	enum reason reason = s->undo ? REASON_SHRINK_UNDONE : REASON_SHRINK;

	if (s->reclaim != 0)
		control_plan_mem(c, x, KNOB_MEM_RECLAIM, s->reclaim, reason);
	if (s->max != 0)
		control_plan_mem(c, x, KNOB_MEM_MAX, s->max, reason);
	if (s->high != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, s->high,
				 s->high >= c->kernel.mem_high ? REASON_LIFT : reason);
}

/* Raises memory.max, and memory.high with it. */
static void raise_to(struct control *c, const struct control_context *x, uint64_t to,
		     enum reason reason)
{
	control_plan_mem(c, x, KNOB_MEM_MAX, to, reason);
	control_plan_mem(c, x, KNOB_MEM_HIGH, control_mem_high(c, to), reason);
	c->mem.last_raise = x->now;
}

static void grow(struct control *c, const struct control_context *x, uint64_t wish,
		 enum reason reason)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct mem_shrink_input in = shrink_input(c, x);
	uint64_t to;

	if (c->mem.trial.phase != MEM_IDLE) {
		struct mem_step back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);

		wish = MAX(wish, back.max);
		reason = back.max != 0 ? REASON_SHRINK_UNDONE : reason;
		if (back.high != 0)
			control_plan_mem(c, x, KNOB_MEM_HIGH, back.high, REASON_LIFT);
	}
	to = control_bound(c, x, RESOURCE_MEMORY, wish);
	res->at_ceiling = to <= c->kernel.mem_max;
	if (res->at_ceiling) {
		res->hold = HOLD_CEILING;
		return;
	}
	raise_to(c, x, to, reason);
}

/* The use at a kill goes into history, and what it asks for into the limit. */
static uint64_t oom_wish(struct control *c, const struct usage *prev,
			 const struct control_context *x)
{
	uint64_t use, record;

	if (prev == NULL || !(c->last.have & prev->have & USAGE_MEM_EVENTS) ||
	    c->last.events.oom_kill <= prev->events.oom_kill)
		return 0;
	c->resource[RESOURCE_MEMORY].counters.oom_kills +=
		c->last.events.oom_kill - prev->events.oom_kill;
	/* The victim's memory is gone already: what was used stood at most at the limit. */
	use = MAX(prev->mem_current, MIN(c->last.mem_peak, c->kernel.mem_max));
	record = mem_oom_record(&x->tuning->memory, use);
	if (x->tuning->history.algorithm == ALGORITHM_VPA)
		history_vpa_oom(&c->history, &x->tuning->history, c->kernel.mem_max, x->now_real);
	else
		history_add_memory(&c->history, &x->tuning->history, record, true, x->now_real);
	return record;
}

/* What was needed at the worst moment since the last look. */
static uint64_t need(const struct usage *prev, const struct usage *u)
{
	uint64_t now = MAX(mem_working_set(u), mem_unreclaimable(&u->stat));
	bool rose = prev != NULL && (u->have & prev->have & USAGE_MEM_PEAK) &&
		    u->mem_peak > prev->mem_peak;
	uint64_t spike =
		u->mem_peak > u->stat.inactive_file ? u->mem_peak - u->stat.inactive_file : 0;

	return rose ? MAX(now, spike) : now;
}

void control_observe_mem(struct control *c, const struct usage *prev,
			 const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct mem_growth_input in = {
		.prev = prev,
		.u = &c->last,
		.original = res->original,
		.tick_usec = x->tick_usec,
	};
	enum reason reason = REASON_OOM_KILL;
	uint64_t wish;

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return;
	mem_observe(&x->tuning->memory, &c->mem, prev, &c->last, x->now);
	if (x->tuning->history.algorithm == ALGORITHM_DEFAULT)
		history_add_memory(&c->history, &x->tuning->history, need(prev, &c->last), false,
				   x->now_real);
	wish = oom_wish(c, prev, x);
	if (control_blocked(c, RESOURCE_MEMORY) != HOLD_NONE || c->rule.mode != MODE_AUTO ||
	    c->kernel.mem_max == LIMIT_MAX)
		return;
	if (wish <= c->kernel.mem_max)
		wish = mem_growth_wish(&x->tuning->memory, &c->mem, &in, &reason);
	if (wish > 0) {
		grow(c, x, wish, reason);
		return;
	}
	res->at_ceiling = false;
	if (c->mem.trial.phase != MEM_IDLE) {
		struct mem_shrink_input shrink = shrink_input(c, x);
		struct mem_step step = mem_trial_step(&x->tuning->memory, &c->mem, &shrink);

		plan_mem_step(c, x, &step);
	}
}

void control_mem_step_failed(struct control *c, const struct control_context *x)
{
	struct mem_shrink_input in = shrink_input(c, x);
	struct mem_step step;

	if (c->mem.trial.phase == MEM_IDLE)
		return;
	step = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
	plan_mem_step(c, x, &step);
}

/* What history, present use, a failed shrink and the original ask for, before the bounds. */
static uint64_t candidate(const struct control *c, const struct control_context *x)
{
	const struct tuning *t = x->tuning;
	const struct range_of *r = &c->recommendation.resource[RESOURCE_MEMORY];
	uint32_t confidence = MIN(c->recommendation.confidence_permille, 1000u);
	uint64_t use = mem_with_margin(&t->memory, mem_unreclaimable(&c->last.stat));
	uint64_t floor = floor_value(&c->mem.floor, t->cpu.floor_half_life_usec, x->now_real);
	uint64_t working =
		scale_permille(mem_working_set(&c->last), t->memory.working_set_permille);

	if (t->history.algorithm == ALGORITHM_VPA)
		return MAX(MAX(r->target, use), floor);
	return MAX(MAX(MAX(r->peak, use), MAX(working, floor)),
		   scale_permille(c->resource[RESOURCE_MEMORY].original, 1000 - confidence));
}

/* A slow writer got headroom for growth that is over: back to what we decided. */
static bool settle(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	uint64_t to = MAX(res->limit,
			  mem_with_margin(&x->tuning->memory, mem_unreclaimable(&c->last.stat)));

	to = round_up(to, MEM_PAGE_BYTES);
	if (to >= c->kernel.mem_max || c->kernel.mem_max == LIMIT_MAX || c->mem.slope_bps > 0 ||
	    x->now - c->mem.last_growth < SETTLE_USEC)
		return false;
	control_plan_mem(c, x, KNOB_MEM_MAX, to, REASON_SETTLED);
	return true;
}

static void shrink(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	struct mem_shrink_input in = shrink_input(c, x);
	struct mem_step step;
	uint64_t to;

	if (!c->rule.scale_down) {
		res->hold = HOLD_SCALE_DOWN_OFF;
		return;
	}
	res->hold = mem_shrink_next(x->tuning, &c->mem, &in, &to, &res->next_at);
	if (res->hold != HOLD_NONE)
		return;
	to = control_bound(c, x, RESOURCE_MEMORY, to);
	if (to >= c->kernel.mem_max) {
		res->hold = HOLD_DEADBAND;
		return;
	}
	step = mem_trial_begin(&x->tuning->memory, &c->mem, &in, to);
	plan_mem_step(c, x, &step);
	res->hold = HOLD_TRIAL;
}

/* Once, at the start: from history, never below what is in use. */
static void size_initially(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	if (c->initial_done)
		res->hold = HOLD_INITIAL_DONE;
	else if (c->recommendation.confidence_permille == 0)
		res->hold = HOLD_HISTORY;
	else if (res->bounded > c->kernel.mem_max)
		raise_to(c, x, res->bounded, REASON_INITIAL);
	else
		control_plan_mem(c, x, KNOB_MEM_MAX, res->bounded, REASON_INITIAL);
}

void control_review_mem(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	res->next_at = 0;
	res->hold = control_blocked(c, RESOURCE_MEMORY);
	if (!res->managed)
		return;
	if ((c->last.have & MEM_USAGE) != MEM_USAGE || c->kernel.mem_max == LIMIT_MAX) {
		res->hold = HOLD_NO_DATA;
		return;
	}
	res->candidate = candidate(c, x);
	res->bounded = control_bound(c, x, RESOURCE_MEMORY, res->candidate);
	if (res->hold != HOLD_NONE)
		return;
	if (c->rule.mode == MODE_INITIAL) {
		size_initially(c, x);
		return;
	}
	if (res->at_ceiling)
		res->hold = HOLD_CEILING;
	else if (!settle(c, x))
		shrink(c, x);
}

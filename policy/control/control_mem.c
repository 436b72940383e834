// SPDX-License-Identifier: Apache-2.0
#include "policy/base/arithmetic.h"
#include "policy/control/control_impl.h"

/* How long it asks a node that is short for the desired limit after an OOM kill; later only for
 * what its use needs. */
#define RECORD_ASKS_USEC (10 * USEC_PER_SEC)

/* The stored property is raised once less than this share of the wanted headroom is left. */
#define PROPERTY_LEFT_PERMILLE 500

/* The smallest memory.max whose memory.high is at least `bytes`. */
static uint64_t max_for_high(const struct control *c, uint64_t bytes)
{
	const struct limits *o = &c->original;
	uint64_t request = c->pod.resource[RESOURCE_MEMORY].request;
	uint32_t factor = control_qos_factor(c);

	if (o->mem_high == LIMIT_MAX || o->mem_max == LIMIT_MAX || o->mem_high == 0 ||
	    o->mem_high >= o->mem_max)
		return bytes;
	if (factor != 0)
		return request +
		       mul_div(add_sat(bytes, c->page_bytes) - MIN(bytes, request), 1000, factor);
	/* memory.high is rounded down to a page. */
	return mul_div(add_sat(bytes, c->page_bytes), o->mem_max, o->mem_high);
}

uint64_t control_mem_needed(const struct control *c, const struct tuning_memory *t)
{
	uint64_t use = MAX(recent_max_get(&c->mem.recent), mem_use(&c->last));
	uint64_t need = mem_with_margin(t, use);

	return max_for_high(c, add_sat(need, mem_write_margin(t, need)));
}

uint64_t control_mem_property(const struct control *c, const struct tuning *t)
{
	uint64_t limit = MAX(c->resource[RESOURCE_MEMORY].limit, c->kernel.mem_max);
	uint64_t ceiling = MIN(control_ceiling(c, t, RESOURCE_MEMORY, 0), control_unratified(c));

	return MAX(limit,
		   MIN(round_up(mem_headroom(&t->memory, &c->mem, limit), c->page_bytes), ceiling));
}

/* Growth that has just begun is measured too low, and a call to PID 1 cannot be taken back: a few
 * passes later the slope is known. False where use would reach `stored` meanwhile. */
static bool growth_is_young(const struct mem_law *m, uint64_t use, uint64_t stored)
{
	return m->steady_bps < m->slope_bps / 4 && stored > add_sat(use, 2 * m->slope_bps);
}

bool control_mem_property_short(const struct control *c, const struct tuning *t, uint64_t stored)
{
	uint64_t use = mem_use(&c->last), wanted;

	if (stored == LIMIT_MAX || !c->resource[RESOURCE_MEMORY].managed ||
	    (c->last.have & MEM_USAGE) != MEM_USAGE || growth_is_young(&c->mem, use, stored))
		return false;
	wanted = MAX(control_mem_property(c, t), c->resource[RESOURCE_MEMORY].original);
	return wanted > stored && add_sat(use, scale_permille(wanted - MIN(use, wanted),
							      PROPERTY_LEFT_PERMILLE)) > stored;
}

/* The lowest value for a file, by the newest use; LIMIT_MAX: use was never read. */
static uint64_t control_mem_lowest(const struct control *c, const struct control_context *x,
				   enum knob knob)
{
	const struct tuning_memory *t = &x->tuning->memory;
	uint64_t use = mem_use(&c->last);

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return LIMIT_MAX;
	return round_up(knob == KNOB_MEM_MAX ? mem_with_margin(t, use) : use, c->page_bytes);
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
	else if (step.to < step.from)
		step.to = MIN(MAX(step.to, control_mem_lowest(c, x, knob)), step.from);
	if (knob == KNOB_MEM_MAX) {
		step.margin_bytes = mem_write_margin(&x->tuning->memory, step.to);
		control_decide(c, RESOURCE_MEMORY, step.to, reason, x);
	}
	/* `from` is the held limit, also where a slow writer has written more into the
	 * file.
	 */
	if (knob == KNOB_MEM_MAX && reason_sets_limit(reason)) {
		step.from = MIN(step.from, c->resource[RESOURCE_MEMORY].limit);
		c->resource[RESOURCE_MEMORY].pending.from = step.from;
	}
	plan_add(x->plan, &step);
}

/* The API server refused the held limit: it is lowered by a trial, whatever scale-down and history
 * say.
 */
static bool above_refused(const struct control *c)
{
	return c->kernel.mem_max > control_refused(c, RESOURCE_MEMORY);
}

struct mem_shrink_input control_shrink_input(const struct control *c,
					     const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	return (struct mem_shrink_input){
		.u = &c->last,
		.limit = c->kernel.mem_max,
		.candidate = res->bounded,
		.high = control_mem_high(c, res->limit),
		.history_usec = c->history.observed_usec[RESOURCE_MEMORY],
		.must = above_refused(c) || control_shrink_asked(c, x->now) != 0,
		.started_at = c->started_at,
		.now = x->now,
		.now_real = x->now_real,
	};
}

void control_plan_mem_step(struct control *c, const struct control_context *x,
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

void control_raise_to(struct control *c, const struct control_context *x, uint64_t to,
		      enum reason reason)
{
	const struct mem_brake_input in = {
		.use = mem_use(&c->last),
		.current = c->last.mem_current,
		.max = control_brake_max(c, to),
		.own = control_mem_high(c, to),
		.replay = control_brake_max(c, to) < to,
		.threads = c->pod.threads,
		.probe_usec = c->pod.probe_usec,
		.now = x->now,
	};

	if (reason == REASON_MEMORY_GROWTH || c->mem.brake.line != 0)
		mem_brake_raised(&x->tuning->memory, &c->mem, &in);
	control_plan_mem(c, x, KNOB_MEM_MAX, to, reason);
	control_plan_mem(c, x, KNOB_MEM_HIGH, control_braked_high(c, to), reason);
	c->mem.last_raise = x->now;
	c->mem.cache_hurts_usec = 0;
}

/* The limit that growth gets now. It ends a trial. */
static uint64_t growth_target(struct control *c, const struct control_context *x, uint64_t desired,
			      enum reason *reason)
{
	const struct mem_shrink_input in = control_shrink_input(c, x);
	struct mem_step back;
	uint64_t to = 0;

	if (c->mem.trial.phase == MEM_IDLE)
		return control_bound_raise(c, x, desired, *reason);
	back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
	if (back.max != 0)
		to = control_bound_back(c, x, RESOURCE_MEMORY, back.max);
	to = MAX(to, control_bound_raise(c, x, MAX(desired, back.max), *reason));
	if (back.max != 0)
		*reason = REASON_SHRINK_UNDONE;
	/* A raise lifts memory.high too; without one it is lifted here. */
	if (to <= c->kernel.mem_max && back.high != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, back.high, REASON_LIFT);
	return to;
}

/* The file has as much as growth gets. */
static void not_raised(struct control *c, const struct control_context *x, uint64_t to,
		       enum reason reason)
{
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];

	if (res->limit < to && reason_sets_limit(reason)) {
		/* systemd's headroom is in the file already: the held limit follows, or a successor
		 * would start without it. */
		control_plan_mem(c, x, KNOB_MEM_MAX, c->kernel.mem_max, reason);
		return;
	}
	if (control_denied_now(c, x)) {
		res->blocked = BLOCKED_LEDGER;
	} else {
		control_press_ceiling(res, x->now);
		res->blocked = control_ceiling_reason(c, x->tuning);
	}
	/* At the ceiling no more can be granted. Else growth asks again at the next pass; the
	 * record of an OOM kill only for a while. */
	if (res->blocked == BLOCKED_CEILING || x->now - c->mem.oom_at >= RECORD_ASKS_USEC)
		c->mem.oom_record = 0;
}

static void grow(struct control *c, const struct control_context *x, uint64_t desired,
		 enum reason reason)
{
	uint64_t to = growth_target(c, x, desired, &reason);

	if (to <= c->kernel.mem_max) {
		not_raised(c, x, to, reason);
		return;
	}
	c->resource[RESOURCE_MEMORY].at_ceiling = false;
	control_raise_to(c, x, to, reason);
}

/* Ends a trial that may not go on, without a lesson for floor and backoff; nothing else would lift
 * its memory.high. */
static void drop_trial(struct control *c, const struct control_context *x)
{
	const struct shrink_floor floor = c->mem.floor;
	const usec_t backoff = c->mem.backoff_usec, backoff_until = c->mem.backoff_until;
	struct mem_shrink_input in;
	struct mem_step back;

	if (c->mem.trial.phase == MEM_IDLE)
		return;
	in = control_shrink_input(c, x);
	back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
	c->mem.floor = floor;
	c->mem.backoff_usec = backoff;
	c->mem.backoff_until = backoff_until;
	if (back.high != 0)
		control_plan_mem(c, x, KNOB_MEM_HIGH, back.high, REASON_LIFT);
}

void control_put_back(struct control *c, enum resource r, uint64_t to, enum reason reason,
		      const struct control_context *x)
{
	uint64_t most = MIN(control_bound(c, x, r, to), to);

	if (control_blocked(c, r) != BLOCKED_NONE || most <= limit_amount(&c->kernel, r))
		return;
	drop_trial(c, x);
	if (r == RESOURCE_CPU)
		control_plan_cpu(c, x, most, reason);
	else
		control_raise_to(c, x, control_grant(c, x, most, reason), reason);
}

/* The rule may have changed since the trial began, or an external writer may have changed
 * memory.max. */
static bool goal_allowed(const struct control *c, const struct control_context *x)
{
	uint64_t floor = control_floor(c, x->tuning, RESOURCE_MEMORY, x->node_milli);
	bool wanted = c->rule.scale_down || above_refused(c);
	uint64_t to = c->mem.trial.to;

	return c->mem.trial.phase == MEM_MAX ||
	       (wanted && !c->pod.not_ready && to < c->kernel.mem_max && to >= floor);
}

/* The memory.max that growth asks for. Where memory.high is below memory.max, growth is stopped at
 * memory.high. */
static uint64_t growth_desired(const struct control *c, const struct usage *prev,
			       const struct control_context *x, enum reason *ret_reason)
{
	const struct limits *k = &c->kernel;
	bool braked = mem_brake_owns(&c->mem, k->mem_high);
	bool high = c->mem.trial.phase == MEM_IDLE && k->mem_high < k->mem_max && !braked;
	uint64_t original = c->resource[RESOURCE_MEMORY].original;
	struct mem_growth_input in = {
		.prev = prev,
		.u = &c->last,
		.limit = high ? k->mem_high : k->mem_max,
		.high = high,
		.braked = braked,
		.original = high ? control_mem_high(c, original) : original,
		.tick_usec = x->tick_usec,
	};
	uint64_t desired = mem_growth_desired(&x->tuning->memory, &c->mem, &in, ret_reason);

	return high && desired > 0 ? max_for_high(c, desired) : desired;
}

bool control_mem_due(struct control *c, const struct control_context *x)
{
	if (c->mem.oom_record <= MAX(c->kernel.mem_max, c->resource[RESOURCE_MEMORY].limit) ||
	    control_blocked(c, RESOURCE_MEMORY) != BLOCKED_NONE)
		return false;
	grow(c, x, c->mem.oom_record, REASON_OOM_KILL);
	return true;
}

static void watch_trial(struct control *c, const struct control_context *x)
{
	struct mem_shrink_input in = control_shrink_input(c, x);
	struct mem_step step;

	if (!goal_allowed(c, x)) {
		drop_trial(c, x);
		return;
	}
	step = mem_trial_step(&x->tuning->memory, &c->mem, &in);
	control_plan_mem_step(c, x, &step);
}

/* A daemon that ended during a trial left its memory.high: without swap that can stop a process. */
static void lift_left_over(struct control *c, const struct control_context *x)
{
	uint64_t high = control_mem_high(c, c->kernel.mem_max);

	if (c->kernel.mem_high < high)
		control_plan_mem(c, x, KNOB_MEM_HIGH, high, REASON_LIFT);
}

/* Removes our trial and brake where no limit may be written. */
static void stand_back(struct control *c, const struct control_context *x)
{
	struct change off;

	c->mem.oom_record = 0;
	drop_trial(c, x);
	if (control_brake_off(c, &off))
		plan_add(x->plan, &off);
}

/* Plans growth by what has happened since `since`; true when more was asked for. */
static bool grow_ahead(struct control *c, const struct usage *since, uint64_t desired,
		       const struct control_context *x)
{
	enum reason reason = REASON_OOM_KILL;
	uint64_t growth = growth_desired(c, since, x, &reason);

	/* The record of an OOM kill is asked for until it is granted; growth goes on meanwhile. */
	if (desired > MAX(growth, c->kernel.mem_max))
		reason = REASON_OOM_KILL;
	else
		desired = growth;
	if (desired == 0) {
		control_ease_ceiling(&c->resource[RESOURCE_MEMORY], x->now);
		return false;
	}
	grow(c, x, desired, reason);
	return true;
}

static bool high_events(const struct control *c, const struct usage *before)
{
	return (c->last.have & before->have & USAGE_MEM_EVENTS) &&
	       c->last.events.high > before->events.high;
}

void control_observe_mem(struct control *c, const struct usage *prev, const struct usage *newest,
			 const struct control_context *x)
{
	const struct tuning_history *th = &x->tuning->history;
	uint64_t desired;

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return;
	control_ledger_use(c, x);
	mem_observe(&x->tuning->memory, &c->mem, prev, &c->last, x->now);
	if (prev != NULL && (prev->have & MEM_USAGE) == MEM_USAGE)
		history_observe_memory(&c->history, x->now - c->last_at);
	if (th->algorithm == ALGORITHM_DEFAULT)
		history_add_memory(&c->history, th, control_mem_need(prev, &c->last), false,
				   x->now_real);
	desired = control_oom_desired(c, newest, c->last.have, x);
	if (prev == NULL)
		c->grant_ended = false;
	if (!control_grows_mem(c)) {
		stand_back(c, x);
		return;
	}
	if (!grow_ahead(c, prev, desired, x)) {
		if (c->mem.trial.phase != MEM_IDLE)
			watch_trial(c, x);
		else if (prev == NULL)
			lift_left_over(c, x);
		if (prev == NULL)
			control_drop_ungranted(c, x);
	}
	control_brake(c, x, high_events(c, newest));
}

void control_reflex_mem(struct control *c, uint32_t have, const struct usage *before,
			const struct control_context *x)
{
	uint64_t desired;

	if ((c->last.have & MEM_USAGE) != MEM_USAGE)
		return;
	if (have & USAGE_MEM_STAT)
		c->mem.stat_current = c->last.mem_current;
	control_ledger_use(c, x);
	/* What was not read counts as unchanged. */
	mem_observe_use(&x->tuning->memory, &c->mem, mem_use(&c->last), x->now);
	desired = control_oom_desired(c, before, have, x);
	if (!control_grows_mem(c)) {
		stand_back(c, x);
		return;
	}
	/* Samples watch a trial; a reflex pass checks only for a `max` event. */
	if (!grow_ahead(c, before, desired, x) && c->mem.trial.phase >= MEM_HIGH &&
	    c->last.events.max > c->mem.trial.max_events_start)
		watch_trial(c, x);
	control_brake(c, x, high_events(c, before));
}

void control_mem_step_failed(struct control *c, const struct change *step,
			     const struct control_context *x)
{
	struct mem_shrink_input in = control_shrink_input(c, x);
	struct mem_step back;

	if (step->reason == REASON_BRAKE) {
		mem_brake_failed(&c->mem, x->now);
	} else if (c->mem.trial.phase != MEM_IDLE) {
		back = mem_trial_abort(&x->tuning->memory, &c->mem, &in);
		control_plan_mem_step(c, x, &back);
	} else if (step->knob == KNOB_MEM_RECLAIM) {
		mem_back_off(&x->tuning->memory, &c->mem, x->now);
	}
}

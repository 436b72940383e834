// SPDX-License-Identifier: Apache-2.0
#include "policy/control/control_impl.h"

void control_plan_cpu(struct control *c, const struct control_context *x, uint64_t milli,
		      enum reason reason)
{
	uint64_t period = c->kernel.cpu_period_usec != 0 ? c->kernel.cpu_period_usec
							 : CPU_PERIOD_DEFAULT_USEC;
	struct change step = {
		.target = c->target,
		.knob = KNOB_CPU_MAX,
		.depth = c->depth,
		.from = c->kernel.cpu_quota_usec,
		.to = cpu_quota_of(milli, period),
		.period_usec = period,
		.reason = reason,
	};
	struct change burst = step;

	control_decide(c, RESOURCE_CPU, milli, reason, x);
	plan_add(x->plan, &step);
	/* As much of the original burst as fits below the quota. */
	burst.knob = KNOB_CPU_BURST;
	burst.from = c->kernel.cpu_burst_usec;
	burst.to = MIN(c->original.cpu_burst_usec, step.to);
	plan_add(x->plan, &burst);
}

/* A trial that caused throttling: back to the former limit, or what the reflex asks for. */
static void undo_trial(struct control *c, const struct control_context *x, uint64_t desired)
{
	uint64_t back = cpu_trial_undo(&c->cpu, x->now_real);

	control_plan_cpu(c, x, control_bound(c, x, RESOURCE_CPU, MAX(back, desired), NULL),
			 REASON_SHRINK_UNDONE);
	c->cpu.last_raise = x->now;
}

static void raise_by_reflex(struct control *c, const struct control_context *x, uint64_t desired)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	uint64_t limit = cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec);
	uint64_t to;

	if (desired <= limit)
		return; /* use has not proven enough yet */
	to = control_bound(c, x, RESOURCE_CPU, desired, NULL);
	cpu_shrink_mark_harmful(&x->tuning->cpu, &c->cpu, limit, x->now, x->now_real);
	if (to <= limit) {
		control_press_ceiling(res, x->now);
		return;
	}
	res->at_ceiling = false;
	control_plan_cpu(c, x, to, REASON_THROTTLED);
	c->cpu.last_raise = x->now;
}

/* A CPU limit that the API server refused is lowered at once: a CPU decrease kills no process. */
static bool give_back(struct control *c, const struct control_context *x)
{
	uint64_t most = control_refused(c, RESOURCE_CPU);
	uint64_t limit = c->resource[RESOURCE_CPU].limit, to;

	if (most == LIMIT_MAX || limit <= most)
		return false;
	to = control_bound(c, x, RESOURCE_CPU, limit, NULL);
	if (to >= limit)
		return false;
	c->cpu.trial = (struct cpu_trial){0};
	control_plan_cpu(c, x, to, REASON_REFUSED);
	return true;
}

void control_record_cpu(struct control *c, const struct control_context *x)
{
	usec_t from = x->now - c->rates.span_usec;

	if (c->rates_fresh && !boost_covers(&c->boost, from, x->now) &&
	    !startup_covers(&c->startup, &x->tuning->startup, from, x->now))
		recent_max_add(&c->cpu.recent, c->rates.demand_milli, x->tuning->cpu.recent_usec,
			       x->now);
}

void control_recommend(struct control *c, const struct control_context *x)
{
	struct tuning_history t = x->tuning->history;
	const uint32_t percentile = c->rule.cpu_percentile_permille;
	struct recommendation memory;

	t.peak_permille = cpu_goal_of(x->tuning, c->rule.goal).peak_permille;
	if (percentile != 0) {
		t.lower_permille = MIN(t.lower_permille, percentile);
		t.target_permille = percentile;
		t.upper_permille = MAX(t.upper_permille, percentile);
		t.peak_permille = percentile;
	}
	history_recommend(&c->history, &t, c->containers, &c->own);
	if (percentile == 0 && c->rule.mem_margin_permille == 0)
		return;
	t = x->tuning->history;
	if (c->rule.mem_margin_permille != 0)
		t.margin_permille = c->rule.mem_margin_permille;
	history_recommend(&c->history, &t, c->containers, &memory);
	c->own.resource[RESOURCE_MEMORY] = memory.resource[RESOURCE_MEMORY];
}

void control_weigh_throttling(struct control *c, const struct control_context *x)
{
	const struct cpu_reading reading = {.tick_usec = x->tick_usec, .now = x->now};

	if (c->last.have & USAGE_THROTTLE)
		cpu_weigh(&c->cpu.evidence, &c->last, &reading, x->node_milli);
}

void control_note_periods(struct control *c, const struct control_context *x)
{
	const struct cpu_goal goal = cpu_goal_of(x->tuning, c->rule.goal);
	usec_t from = c->cpu.spread_mark.at;
	const struct cpu_reading reading = {
		.starting = boost_covers(&c->boost, from, x->now) ||
			    startup_covers(&c->startup, &x->tuning->startup, from, x->now),
		.tick_usec = x->tick_usec,
		.now = x->now,
	};

	cpu_note_periods(&x->tuning->cpu, &goal, &c->cpu, &c->last, &reading);
}

/* The timer can be a little early: that must not delay a raise by a whole reflex pass. */
static bool raised_just_now(const struct control *c, const struct control_context *x)
{
	return c->cpu.last_raise != 0 && add_sat(x->now - c->cpu.last_raise, x->tick_usec / 2) <
						 x->tuning->cpu.raise_interval_usec;
}

static bool lets_pass(const struct control *c, const struct control_context *x,
		      const struct cpu_rates *window, uint64_t run)
{
	uint64_t limit = cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec);
	const struct cpu_goal goal = cpu_goal_of(x->tuning, c->rule.goal);

	if (x->tuning->history.algorithm == ALGORITHM_THRESHOLD)
		return true;
	return x->tuning->history.algorithm != ALGORITHM_VPA &&
	       cpu_passes(&goal, &c->cpu, limit, window, run);
}

void control_reflex_cpu(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	const struct tuning_cpu *t = &x->tuning->cpu;
	const struct usage *u = &c->last;
	uint64_t desired, limit;
	struct cpu_rates window;

	if (res->planned_at == x->now || control_blocked(c, RESOURCE_CPU) != BLOCKED_NONE ||
	    c->kernel.cpu_quota_usec == LIMIT_MAX || give_back(c, x) || c->rule.mode != MODE_AUTO)
		return;
	if (cpu_window_rates(&c->cpu, u, x->node_milli, x->now, &window) < 0)
		return;

	limit = cpu_milli_of(c->kernel.cpu_quota_usec, c->kernel.cpu_period_usec);
	desired = cpu_reflex_desired(t, limit, &window, c->cpu.proven_milli);
	if (desired == 0 || lets_pass(c, x, &window, c->cpu.throttled_run)) {
		control_ease_ceiling(res, x->now);
		if (cpu_trial_passed(t, &c->cpu, u, x->now))
			c->cpu.trial.active = false; /* a later throttling still knows it */
		return;
	}
	if (raised_just_now(c, x) || cpu_answered(&c->cpu, u, x->now))
		return;
	desired = cpu_beside_reports(&c->cpu, limit, desired, x->now);
	c->rates.throttle_ppm = window.throttle_ppm;
	if (c->cpu.trial.active)
		undo_trial(c, x, desired);
	else
		raise_by_reflex(c, x, desired);
}

bool control_answers_throttling(const struct control *c, const struct tuning *t)
{
	return control_grows_cpu(c) && !c->resource[RESOURCE_CPU].at_ceiling &&
	       t->history.algorithm != ALGORITHM_THRESHOLD;
}

void control_throttled(struct control *c, const struct usage *u, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	struct cpu_rates window;
	uint64_t desired, run;

	if (c->last_at == 0 || !control_answers_throttling(c, x->tuning) ||
	    res->planned_at == x->now)
		return;
	usage_merge(&c->last, u);
	c->last.limits = c->kernel;
	control_weigh_throttling(c, x);
	desired = cpu_within_period(&x->tuning->cpu, &c->cpu, &c->last, x->now, &window);
	/* This period, and the one before if no pass has counted it. */
	run = c->cpu.throttled_run + 1 + (c->last.nr_throttled > c->cpu.spread_mark.throttled);
	if (desired == 0 || lets_pass(c, x, &window, run))
		return;
	if (c->cpu.trial.active)
		undo_trial(c, x, desired);
	else
		raise_by_reflex(c, x, desired);
	if (res->planned_at != x->now)
		return;
	c->cpu.period.answered_at = x->now;
	res->pending.throttle_ppm = 0;
}

/* The desired limit by the recent periods, history, a failed shrink and the original. */
static uint64_t control_cpu_candidate(const struct control *c, const struct control_context *x)
{
	const struct cpu_goal goal = cpu_goal_of(x->tuning, c->rule.goal);
	const struct range_of *r = &c->recommendation.resource[RESOURCE_CPU];
	uint32_t confidence = control_trust(c, RESOURCE_CPU);
	const uint64_t needs[] = {
		r->peak,
		cpu_goal_limit(&goal, &c->cpu),
		scale_permille(c->resource[RESOURCE_CPU].original, 1000 - confidence),
	};
	uint64_t most = floor_value(&c->cpu.floor, goal.floor_half_life_usec, x->now_real);

	if (x->tuning->history.algorithm == ALGORITHM_VPA)
		return MAX(r->target, most);
	if (x->tuning->history.algorithm == ALGORITHM_THRESHOLD)
		return control_threshold_limit(c, x, RESOURCE_CPU);
	for (size_t i = 0; i < ARRAY_SIZE(needs); i++)
		most = MAX(most, needs[i]);
	return most;
}

/* The recent peak holds a decrease back, but never raises the limit: the limit would swing when the
 * peak expires, and a container that is short of CPU is throttled and raised by the reflex. */
static uint64_t least(const struct control *c, const struct control_context *x)
{
	const struct tuning *t = x->tuning;
	uint64_t recent =
		scale_permille(recent_max_get(&c->cpu.recent), 1000 + t->history.margin_permille);

	if (t->history.algorithm == ALGORITHM_VPA || !cpu_goal_of(t, c->rule.goal).holds_recent)
		recent = 0;
	return MAX(c->resource[RESOURCE_CPU].bounded, recent);
}

/* For the runtimes that count cores. Minimum and maximum hold all the same. */
static uint64_t keep_core(struct control *c, const struct control_context *x, uint64_t to)
{
	uint64_t limit = c->resource[RESOURCE_CPU].limit, kept = to;

	if (whole_core_matters(&c->pod.heap))
		kept = whole_core_keep(limit, to, c->cpu.crossed_at, x->now);
	return kept != to ? control_bound(c, x, RESOURCE_CPU, kept, NULL) : to;
}

/* When the demand of single periods has been watched for long enough for a lower limit. */
static usec_t watched_at(const struct control *c, const struct control_context *x)
{
	usec_t since = c->cpu.spread_since != 0 ? c->cpu.spread_since : x->now;

	return x->tuning->history.algorithm == ALGORITHM_DEFAULT
		       ? add_sat(since, x->tuning->cpu.recent_usec)
		       : 0;
}

static void control_cpu_shrink(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	struct cpu_shrink_input in = {
		.limit_milli = res->limit,
		.candidate_milli = least(c, x),
		.started_at = c->started_at,
		.now = x->now,
	};
	usec_t starting = control_startup_end(c, x->tuning, x->now);
	usec_t watched = watched_at(c, x);
	uint64_t least_step = scale_permille(res->limit, x->tuning->cpu.shrink_below_permille);
	uint64_t to, kept;

	if (!c->rule.scale_down || c->pod.not_ready) {
		res->blocked = c->rule.scale_down ? BLOCKED_NOT_READY : BLOCKED_SCALE_DOWN_OFF;
		return;
	}
	/* What throttles it now says nothing about the lower limit. */
	if (starting != 0) {
		res->blocked = BLOCKED_START_QUIET;
		res->next_at = starting;
		return;
	}
	if (watched > x->now) {
		res->blocked = BLOCKED_HISTORY;
		res->next_at = watched;
		return;
	}
	res->blocked = cpu_shrink_next(x->tuning, &c->cpu, &in, &to, &res->next_at);
	if (res->blocked != BLOCKED_NONE)
		return;
	to = control_bound(c, x, RESOURCE_CPU, to, NULL);
	kept = keep_core(c, x, to);
	/* What a whole core leaves of the step may be too little. */
	if (to >= res->limit || (kept > to && kept > least_step)) {
		res->blocked = BLOCKED_DEADBAND;
		return;
	}
	cpu_trial_begin(&c->cpu, res->limit, kept, &c->last, x->now);
	control_plan_cpu(c, x, kept, REASON_SHRINK);
}

/* For recent_usec after an owner's value was adopted only throttling raises it. */
static bool history_may_raise(struct control *c, const struct control_context *x)
{
	const struct control_resource *res = &c->resource[RESOURCE_CPU];
	uint64_t from = scale_permille(res->limit, 1000 + x->tuning->common.deadband_up_permille);
	usec_t adopted = c->cpu.adopted_at;

	return !c->cpu.trial.active && keep_core(c, x, res->bounded) > from &&
	       (adopted == 0 || x->now - adopted >= x->tuning->cpu.recent_usec);
}

/* Once, at the start: from history. Without history the minimum counts. */
static void size_initially(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	uint64_t minimum = control_minimum(c, x, RESOURCE_CPU);
	bool unknown = c->recommendation.confidence_permille[RESOURCE_CPU] == 0 ||
		       c->recommendation.resource[RESOURCE_CPU].target == 0;

	if (unknown && res->limit >= minimum)
		res->blocked = BLOCKED_HISTORY;
	else if (unknown)
		control_plan_cpu(c, x, minimum, REASON_MINIMUM);
	else if (res->bounded != res->limit)
		control_plan_cpu(c, x, res->bounded, REASON_INITIAL);
}

void control_review_cpu(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	bool initial = c->rule.mode == MODE_INITIAL;

	res->next_at = 0;
	res->blocked = control_blocked(c, RESOURCE_CPU);
	if (!res->managed)
		return;
	res->candidate = control_cpu_candidate(c, x);
	res->bounded = control_bound(c, x, RESOURCE_CPU, res->candidate, &res->trace);
	if (res->blocked != BLOCKED_NONE || res->planned_at == x->now || control_boost_holds(c, x))
		return;
	if (initial && c->initial_done) {
		res->blocked = BLOCKED_INITIAL_DONE;
		return;
	}
	if (initial) {
		size_initially(c, x);
		return;
	}
	if (c->recommendation.resource[RESOURCE_CPU].target == 0) {
		res->blocked = BLOCKED_HISTORY;
		return;
	}
	if (history_may_raise(c, x)) {
		control_plan_cpu(c, x, keep_core(c, x, res->bounded), REASON_HISTORY);
		return;
	}
	if (res->at_ceiling) {
		res->blocked = BLOCKED_CEILING;
		return;
	}
	control_cpu_shrink(c, x);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/cpu_law.h"
#include <assert.h>
#include <errno.h>

/* Autothrottle's window for the throttle ratio. With one period per reflex pass, one throttled
 * period among ten is a ratio of 10 %: the smallest step. */
#define WINDOW_USEC USEC_PER_SEC
#define PPM         1000000ULL
/* Three times the 2 % of Autothrottle's best target. */
#define REFLEX_PPM 60000
/* A raise below 5 % would be lost in rounding and be followed by the next one at once. */
#define STEP_MIN_PERMILLE 1050
/* A raise goes at most to this much of what is proven, so that the limit stays near the demand
 * while a queue drains. Each write refills the quota. Where the period ends long after it, about
 * two quotas are used from pass to pass, and the average keeps up with the limit; where it ends at
 * once, one is, and the average lags: the limit may be further above it. bench_reflex, p95 of 100m
 * to 800m: 0.8 s to 80 %, at most 1.7 times the demand; with 1900 for all 0.6 s and 2.1 times, with
 * 1600 0.9 s and 1.8 times, with 1300 7 s and 1.5 times. */
#define PROVEN_LAGS_PERMILLE 1800
#define PROVEN_PERMILLE      1300
/* The average reaches back to where throttling began, to cover the beginning of the queue: over one
 * second a step by a factor of 8 ends at 3 times the demand. The queue of a step by 10 has drained
 * after 5 s; after 8 s the first seconds say nothing about the present demand. */
#define BURST_USEC (8 * USEC_PER_SEC)
/* At a limit that is so much higher than what throttles a quarter of theta, a throttled period is
 * no chance but a new load. */
#define CALM_DIVISOR  4
#define CALM_PERIODS  3.0 /* fewer may be the new load's own */
#define CALM_PERMILLE 1200
/* The share of throttled periods is measured over so many that theta allows this number: fewer are
 * chance. */
#define EXPECTED_THROTTLED 100
/* A minute with four times theta has met more than chance: the next throttled period raises. */
#define PERIODS_OF_A_MINUTE 600
#define MINUTE_FACTOR       4
/* So much more of the recent periods than theta may lie above the limit: it falls only in steps of
 * a tenth and stands above the aim most of the time. The measured share corrects it. */
#define ABOVE_FACTOR   2.5
#define CORRECTION_MIN 0.25
#define CORRECTION_MAX 2.0
/* A throttled period wanted more than the limit. How much more is not known: so many of them that
 * the goal is missed raise the limit by this step. */
#define CUT_PERMILLE 1100
/* Recent demand halves in weight every six windows: an hour by default. */
#define HALF_LIFE_WINDOWS 6
#define LOOK_PERIODS_MAX  3u
/* After a long gap the rest adds nothing. */
#define NOTED_PERIODS_MAX UINT64_C(10000)

static uint64_t proven_permille(uint64_t limit_milli, const struct cpu_rates *since_write)
{
	uint64_t used = mul_div(since_write->used_milli, 1000, MAX(limit_milli, (uint64_t)1));
	uint64_t more = used > 1000 ? used - 1000 : 0,
		 most = PROVEN_LAGS_PERMILLE - PROVEN_PERMILLE;

	return PROVEN_LAGS_PERMILLE - MIN(more, most);
}

uint64_t cpu_reflex_desired(const struct tuning_cpu *t, uint64_t limit_milli,
			    const struct cpu_rates *since_write, uint64_t proven_milli)
{
	uint64_t least = scale_permille(limit_milli, STEP_MIN_PERMILLE);
	uint64_t factor, desired, evidence;

	assert(limit_milli != LIMIT_MAX);
	if (since_write->throttle_ppm <= REFLEX_PPM)
		return 0;
	factor = 1000 + (since_write->throttle_ppm - REFLEX_PPM) / 1000;
	desired = scale_permille(limit_milli, MIN(factor, (uint64_t)t->step_max_permille));
	evidence = scale_permille(since_write->evidence_milli, t->evidence_permille);
	desired = MAX(MIN(desired, evidence), least);
	desired = MIN(desired,
		      scale_permille(proven_milli, proven_permille(limit_milli, since_write)));
	return desired < least ? limit_milli : desired;
}

/* How far a limit ends above what a period used. What was used alone doubles the limit with each
 * report of a period, as each write refills the quota; every step costs a wake-up (0.2 ms). */
#define PERIOD_STEP_PERMILLE STEP_MIN_PERMILLE

/* A write refilled the quota, and so little was used since: the report is of the one before. */
#define ECHO_DIVISOR 4

static bool is_echo(const struct cpu_law *c, const struct usage *u)
{
	const struct cpu_mark *base = &c->since_write.base;

	return base->at != 0 && base->at == c->write_at &&
	       u->cpu_usage_usec - MIN(base->used_usec, u->cpu_usage_usec) <
		       u->limits.cpu_quota_usec / ECHO_DIVISOR;
}

/* What was used in this period, or in the whole period before, as far as reports tell; not much
 * more than the average since they began. */
static uint64_t used_in_period(struct cpu_period *p, const struct usage *u, usec_t now)
{
	uint64_t quota = u->limits.cpu_quota_usec, before = 0, begin, average;
	usec_t period = u->limits.cpu_period_usec;
	bool recent = p->at != 0 && now - p->at <= 2 * period && u->cpu_usage_usec >= p->first_usec;

	if (!recent) {
		p->first_at = now;
		p->first_usec = u->cpu_usage_usec - MIN(u->cpu_usage_usec, quota);
	}
	/* The first report says that a quota was used since the period began. What was used after
	 * the last report of the period before is known now, too. */
	if (!recent || p->periods != u->nr_periods || u->cpu_usage_usec < p->begin_usec) {
		begin = u->cpu_usage_usec - MIN(u->cpu_usage_usec, quota);
		if (recent && u->nr_periods == p->periods + 1 && begin > p->begin_usec)
			before = begin - p->begin_usec;
		p->begin_usec = begin;
	}
	p->at = now;
	p->periods = u->nr_periods;
	average =
		mul_div(u->cpu_usage_usec - p->first_usec, period, MAX(now - p->first_at, period));
	return MIN(MAX(before, u->cpu_usage_usec - p->begin_usec),
		   scale_permille(average, PERIOD_STEP_PERMILLE));
}

uint64_t cpu_within_period(const struct tuning_cpu *t, struct cpu_law *c, const struct usage *u,
			   usec_t now, struct cpu_rates *ret)
{
	const struct cpu_mark *base = &c->since_write.base;
	uint64_t quota = u->limits.cpu_quota_usec, desired;

	*ret = (struct cpu_rates){
		.periods = add_sat(u->nr_periods - MIN(base->periods, u->nr_periods), 1),
		.throttled = add_sat(u->nr_throttled - MIN(base->throttled, u->nr_throttled), 1),
	};
	ret->throttle_ppm = (uint32_t)mul_div(MIN(ret->throttled, ret->periods), PPM, ret->periods);
	c->period.echo = is_echo(c, u);
	if (c->period.echo)
		return 0;
	desired = used_in_period(&c->period, u, now);
	if (c->evidence.absent || ret->throttle_ppm <= REFLEX_PPM)
		return 0;
	desired = MIN(desired, scale_permille(quota, t->step_max_permille));
	desired = MAX(desired, quota + CPU_QUOTA_MIN_USEC);
	return cpu_milli_of(MAX(desired, scale_permille(quota, PERIOD_STEP_PERMILLE)),
			    u->limits.cpu_period_usec);
}

bool cpu_answered(const struct cpu_law *c, const struct usage *u, usec_t now)
{
	return c->period.answered_at != 0 &&
	       now - c->period.answered_at <= 2 * u->limits.cpu_period_usec;
}

/* While reports are answered, a reflex pass counts only the periods whose answer was late, and
 * would overestimate the demand by them. */
#define REPORTED_USEC (3 * USEC_PER_SEC)

uint64_t cpu_beside_reports(const struct cpu_law *c, uint64_t limit_milli, uint64_t desired,
			    usec_t now)
{
	uint64_t least = MAX(scale_permille(limit_milli, STEP_MIN_PERMILLE), limit_milli + 1);

	if (c->period.answered_at == 0 || now - c->period.answered_at > REPORTED_USEC)
		return desired;
	return MIN(desired, least);
}

/* Once the spec is apart by more than a tenth, a raise within a tenth continues the wait: small
 * raises that follow each other would else put it off for ever. */
#define SMALL_PERMILLE 1100

void cpu_changed(struct cpu_law *c, uint64_t from, uint64_t to, uint64_t spec, usec_t now)
{
	if (to < from || to > scale_permille(from, SMALL_PERMILLE) ||
	    from <= scale_permille(spec, SMALL_PERMILLE))
		c->held_since = now;
	c->last_change = now;
}

/* Runtime that stays with a CPU whose threads sleep (kernel, min_cfs_rq_runtime). */
#define KEPT_USEC USEC_PER_MSEC
/* A group is stopped by the next tick at the latest; the slowest is 100 Hz. */
#define KERNEL_TICK_USEC (10 * USEC_PER_MSEC)

/* More than bandwidth control lets a group use, or than there are CPUs: time that a thread was on a
 * CPU which did not run. A write of the limit refills the quota once more. */
static bool is_stolen(const struct cpu_evidence *e, const struct usage *u, usec_t span,
		      uint64_t cpus)
{
	uint64_t quota = MAX(u->limits.cpu_quota_usec, e->quota_usec);
	uint64_t periods = u->nr_periods - e->read.periods + 2;
	uint64_t most =
		MIN(add_sat(mul_div(quota, periods, 1), u->limits.cpu_burst_usec), span * cpus);

	return u->cpu_usage_usec - e->read.used_usec > most + cpus * KERNEL_TICK_USEC;
}

static void weigh(struct cpu_evidence *e, const struct usage *u, const struct cpu_reading *reading,
		  uint64_t cpus)
{
	uint64_t quota = u->limits.cpu_quota_usec;
	usec_t period = u->limits.cpu_period_usec, span = reading->now - e->read.at;
	uint64_t used = u->cpu_usage_usec - e->read.used_usec;
	uint64_t throttled = u->nr_throttled - e->read.throttled;
	uint64_t need = quota != LIMIT_MAX ? throttled * quota : 0;
	/* One reading that is late: vscaled did not run either. */
	bool late = span > 2 * MAX(reading->tick_usec, period);
	bool absent = (late && !e->late) || is_stolen(e, u, span, cpus);

	e->late = late;
	e->absent = absent;
	e->quota_usec = quota;
	e->unspent_usec = absent ? 0 : e->unspent_usec + used;
	if (absent || e->unspent_usec + MIN(cpus * KEPT_USEC, quota / 2) < need)
		e->ignored += throttled;
	e->unspent_usec -= MIN(e->unspent_usec, need);
	/* What was used in a period that ran free cannot have throttled the next one. */
	if (u->nr_periods - e->read.periods > throttled)
		e->unspent_usec = MIN(e->unspent_usec, mul_div(used, period, MAX(span, period)));
}

void cpu_weigh(struct cpu_evidence *e, struct usage *u, const struct cpu_reading *reading,
	       uint64_t node_milli)
{
	const struct cpu_mark *m = &e->read;

	if (m->at == 0 || u->cpu_usage_usec < m->used_usec || u->nr_periods < m->periods ||
	    u->nr_throttled < m->throttled)
		*e = (struct cpu_evidence){.quota_usec = u->limits.cpu_quota_usec};
	else if (reading->now > m->at)
		weigh(e, u, reading, node_milli / 1000);
	e->read = cpu_mark_of(u, reading->now);
	u->nr_throttled -= e->ignored;
}

static void window_slide(struct cpu_window *w, const struct usage *u, usec_t length, usec_t now)
{
	if (now - w->half.at < length / 2)
		return;
	if (now - w->base.at >= length)
		w->base = now - w->half.at >= length ? cpu_mark_of(u, now) : w->half;
	w->half = cpu_mark_of(u, now);
}

void cpu_window_restart(struct cpu_law *c, const struct usage *u, usec_t now)
{
	c->since_write.base = c->since_write.half = cpu_mark_of(u, now);
	c->write_at = now;
	c->write_periods = u->nr_periods;
}

/* Since the write only the period of the write has ended. It was not throttled, because the write
 * refilled its quota, but average use has reached the limit: the present period is throttled, and
 * the kernel counts that only at its end. */
static bool is_full(const struct cpu_law *c, const struct usage *u, const struct cpu_rates *r)
{
	return r->periods == 1 && c->burst_at < c->write_at &&
	       c->period.answered_at != c->write_at && !c->evidence.absent &&
	       r->used_milli >= cpu_milli_of(u->limits.cpu_quota_usec, u->limits.cpu_period_usec);
}

int cpu_window_rates(struct cpu_law *c, const struct usage *u, uint64_t node_milli, usec_t now,
		     struct cpu_rates *ret)
{
	struct cpu_window *w = &c->since_write;
	usec_t from = w->base.at;
	int r;

	assert(now >= w->base.at);
	if (w->base.at == 0)
		w->base = w->half = cpu_mark_of(u, now);
	if (now == w->base.at)
		return -EAGAIN;
	r = cpu_rates_since(&w->base, u, now, node_milli, ret);
	if (r < 0)
		w->base = w->half = cpu_mark_of(u, now);
	else
		window_slide(w, u, WINDOW_USEC, now);
	/* The period in which the limit was written had its quota twice: it is not counted. Its
	 * throttling is, unless the limit was written for that. */
	if (r == 0 && c->write_at == from && ret->periods > 1) {
		uint64_t answered = c->period.answered_at == c->write_at;
		uint64_t throttled = ret->throttled - MIN(ret->throttled, answered);

		ret->throttle_ppm =
			(uint32_t)mul_div(MIN(throttled, ret->periods - 1), PPM, ret->periods - 1);
	} else if (r == 0 && c->write_at == from && is_full(c, u, ret)) {
		ret->throttled = 1;
		ret->throttle_ppm = PPM;
	}
	return r;
}

/* True if periods ended and none of them was throttled, or if none ends because nothing runs. The
 * period in which the limit was written had its quota twice: it proves nothing. */
static bool ran_unthrottled(const struct cpu_law *c, const struct usage *u, usec_t now)
{
	const struct cpu_mark *seen = &c->seen;

	if (seen->at == 0 || u->nr_periods < seen->periods || u->nr_throttled < seen->throttled)
		return true;
	if (u->nr_periods == seen->periods)
		return now - seen->at > 2 * u->limits.cpu_period_usec;
	return u->nr_periods > c->write_periods + 1 && u->nr_throttled == seen->throttled;
}

void cpu_prove(struct cpu_law *c, const struct usage *u, uint64_t node_milli, usec_t now)
{
	struct cpu_rates r;

	if (ran_unthrottled(c, u, now) || c->burst.base.at == 0) {
		c->burst.base = c->burst.half = cpu_mark_of(u, now);
		c->burst_at = now;
	}
	if (c->seen.at == 0 || c->seen.periods != u->nr_periods)
		c->seen = cpu_mark_of(u, now);
	c->proven_milli = LIMIT_MAX;
	if (now == c->burst.base.at || cpu_rates_since(&c->burst.base, u, now, node_milli, &r) < 0)
		return;
	window_slide(&c->burst, u, BURST_USEC, now);
	/* The first raise needs no proof: a group throttled at a limit needs at least that much. */
	if (c->write_at < c->burst_at)
		return;
	c->proven_milli = mul_div(r.used_milli, r.span_usec, MAX(r.active_usec, (usec_t)1));
}

static double smooth(double before, bool throttled, double periods)
{
	return before + ((throttled ? (double)PPM : 0) - before) / periods;
}

static void note_throttled(const struct cpu_goal *g, struct cpu_law *c, uint64_t periods,
			   uint64_t throttled)
{
	double window = EXPECTED_THROTTLED * (double)PPM / g->throttle_ppm;

	for (uint64_t i = 0; i < MIN(periods, NOTED_PERIODS_MAX); i++) {
		bool hit = i < throttled;

		c->throttled_ppm = smooth(c->throttled_ppm, hit, window);
		c->throttled_minute_ppm =
			(uint32_t)smooth(c->throttled_minute_ppm, hit, PERIODS_OF_A_MINUTE);
	}
}

/* Is it chance that the limit throttles a period? Else it is a rise of the demand, and the reflex
 * finds out how far. */
static bool is_by_chance(const struct cpu_goal *g, const struct cpu_law *c, uint64_t limit_milli)
{
	double periods = period_demand_periods(&c->spread);
	double above_ppm =
		MAX((double)g->throttle_ppm / CALM_DIVISOR, CALM_PERIODS * PPM / (periods + 1));
	uint64_t calm = period_demand_limit(&c->spread, (uint32_t)MIN(above_ppm, (double)PPM));

	return periods >= PERIODS_OF_A_MINUTE && limit_milli <= scale_permille(calm, CALM_PERMILLE);
}

void cpu_note_periods(const struct tuning_cpu *t, const struct cpu_goal *g, struct cpu_law *c,
		      const struct usage *u, const struct cpu_reading *reading)
{
	usec_t farthest = MAX(LOOK_PERIODS_MAX * u->limits.cpu_period_usec, 2 * reading->tick_usec);
	usec_t now = reading->now, half_life = t->recent_usec * HALF_LIFE_WINDOWS;
	struct cpu_mark last = c->spread_mark;
	uint64_t limit = cpu_milli_of(u->limits.cpu_quota_usec, u->limits.cpu_period_usec);
	uint64_t periods, throttled, milli;

	c->spread_mark = cpu_mark_of(u, now);
	if (last.at == 0 || now <= last.at || now - last.at > farthest ||
	    !(u->have & last.have & USAGE_THROTTLE) || limit == LIMIT_MAX)
		return;
	if (c->spread_since == 0)
		c->spread_since = now;
	if (u->nr_periods <= last.periods || u->cpu_usage_usec < last.used_usec ||
	    u->nr_throttled < last.throttled)
		return;
	periods = u->nr_periods - last.periods;
	throttled = MIN(u->nr_throttled - last.throttled, periods);
	c->throttled_run = throttled > 0 ? c->throttled_run + throttled : 0;
	note_throttled(g, c, periods, throttled);
	if (reading->starting)
		return;
	milli = mul_div(u->cpu_usage_usec - last.used_usec, 1000,
			MIN(now - last.at, periods * u->limits.cpu_period_usec));
	/* A reading that lies across two periods can see more than the quota of one. */
	milli = MIN(milli, limit);
	if (throttled > 0 && is_by_chance(g, c, limit))
		period_demand_add(&c->spread, scale_permille(limit, CUT_PERMILLE), throttled,
				  half_life, now);
	if (periods > throttled)
		period_demand_add(&c->spread, milli, periods - throttled, half_life, now);
}

void cpu_note_free_period(const struct tuning_cpu *t, const struct cpu_goal *g, struct cpu_law *c,
			  uint64_t milli, usec_t now)
{
	note_throttled(g, c, 1, 0);
	period_demand_add(&c->spread, milli, 1, t->recent_usec * HALF_LIFE_WINDOWS, now);
}

uint64_t cpu_goal_limit(const struct cpu_goal *g, const struct cpu_law *c)
{
	double aim = g->throttle_ppm * (g->aim_permille / 1000.0),
	       correction = aim / (c->throttled_ppm + 1);

	correction = MIN(MAX(correction, CORRECTION_MIN), CORRECTION_MAX);
	return period_demand_limit(&c->spread,
				   (uint32_t)(g->throttle_ppm * ABOVE_FACTOR * correction));
}

bool cpu_passes(const struct cpu_goal *g, const struct cpu_law *c, uint64_t limit_milli,
		const struct cpu_rates *since_write, uint64_t run)
{
	return is_by_chance(g, c, limit_milli) &&
	       (since_write->throttle_ppm <= g->pass_ppm ||
		since_write->throttled <= g->pass_periods) &&
	       run <= g->pass_run && c->throttled_minute_ppm <= MINUTE_FACTOR * g->throttle_ppm;
}

void cpu_temper_demand(const struct cpu_law *c, const struct tuning_history *t,
		       const struct cpu_goal *g, struct cpu_rates *r)
{
	/* The throttled periods that a goal lets pass are no demand above the limit. */
	if (r->throttled > 0 && r->throttle_ppm <= g->pass_ppm)
		r->demand_milli =
			mul_div(r->used_milli, r->span_usec, MAX(r->active_usec, (usec_t)1));
	if (r->throttled > 0 && c->proven_milli != LIMIT_MAX)
		r->demand_milli =
			MIN(r->demand_milli, mul_div(c->proven_milli, PROVEN_LAGS_PERMILLE,
						     1000 + t->margin_permille));
}

enum blocked_reason cpu_shrink_next(const struct tuning *t, const struct cpu_law *c,
				    const struct cpu_shrink_input *in, uint64_t *ret_milli,
				    usec_t *ret_next)
{
	uint64_t deadband = MIN((uint64_t)t->cpu.shrink_below_permille,
				rest_permille(t->common.deadband_down_permille));
	usec_t quiet_until = add_sat(in->started_at, t->common.start_quiet_usec);
	usec_t next = add_sat(MAX(c->last_change, c->last_shrink), t->cpu.shrink_interval_usec);

	*ret_next = 0;
	if (c->trial.active)
		return BLOCKED_TRIAL;
	if (in->candidate_milli >= scale_permille(in->limit_milli, deadband))
		return BLOCKED_DEADBAND;
	if (in->now < quiet_until) {
		*ret_next = quiet_until;
		return BLOCKED_START_QUIET;
	}
	if (c->last_change != 0 && in->now < next) {
		*ret_next = next;
		return BLOCKED_INTERVAL;
	}
	*ret_milli = MAX(in->candidate_milli,
			 scale_permille(in->limit_milli, t->cpu.shrink_step_permille));
	return BLOCKED_NONE;
}

void cpu_trial_begin(struct cpu_law *c, uint64_t from_milli, uint64_t to_milli,
		     const struct usage *u, usec_t now)
{
	assert(to_milli < from_milli);
	c->trial = (struct cpu_trial){
		.active = true,
		.from_milli = from_milli,
		.to_milli = to_milli,
		.base_periods = u->nr_periods,
		.since = now,
	};
	c->last_shrink = now;
}

bool cpu_trial_passed(const struct tuning_cpu *t, const struct cpu_law *c, const struct usage *u,
		      usec_t now)
{
	if (!c->trial.active)
		return false;
	return u->nr_periods >= c->trial.base_periods + t->verdict_periods ||
	       now - c->trial.since >= t->recent_usec;
}

void cpu_shrink_mark_harmful(const struct tuning_cpu *t, struct cpu_law *c, uint64_t limit_milli,
			     usec_t now, usec_t now_real)
{
	const struct cpu_trial *passed = &c->trial;

	if (passed->active || passed->since == 0)
		return;
	if (limit_milli <= passed->to_milli && now - passed->since < t->regret_usec)
		floor_learn(&c->floor, passed->to_milli, passed->from_milli, now_real);
	c->trial = (struct cpu_trial){0};
}

uint64_t cpu_trial_undo(struct cpu_law *c, usec_t now_real)
{
	struct cpu_trial ended = c->trial;

	assert(ended.active);
	floor_learn(&c->floor, ended.to_milli, ended.from_milli, now_real);
	c->trial = (struct cpu_trial){0};
	return ended.from_milli;
}

/* --- goals */

/* Percentiles of all time: a load that comes once a day is throttled at its begin by the first two
 * goals. Floors of failed trials fade soon where the measured share of throttled periods decides
 * anyway. */
static const struct cpu_goal goals[GOAL_COUNT] = {
	[GOAL_SAVINGS] = {.throttle_ppm = 20000,
			  .aim_permille = 530,
			  .pass_ppm = 500000,
			  .pass_periods = 4,
			  .pass_run = 4,
			  .peak_permille = 500,
			  .floor_half_life_usec = 30 * USEC_PER_MIN},
	[GOAL_BALANCED] = {.aim_permille = 900,
			   .pass_ppm = 300000,
			   .pass_run = 1,
			   .peak_permille = 900,
			   .holds_recent = true},
	[GOAL_LATENCY] = {.throttle_ppm = 100, .aim_permille = 800, .holds_recent = true},
};

struct cpu_goal cpu_goal_of(const struct tuning *t, enum goal goal)
{
	struct cpu_goal g = goals[goal];

	if (g.throttle_ppm == 0)
		g.throttle_ppm = t->cpu.throttle_target_ppm;
	if (g.peak_permille == 0)
		g.peak_permille = t->history.peak_permille;
	if (g.floor_half_life_usec == 0)
		g.floor_half_life_usec = t->cpu.floor_half_life_usec;
	return g;
}

/* --- whole cores */

#define CORE_MILLI 1000u

bool whole_core_matters(const struct heap_ceiling *heap)
{
	bool known = heap->bytes != 0 || heap->permille != 0;

	return known && (heap->runtime == HEAP_JVM || heap->runtime == HEAP_GO);
}

static uint64_t cores(uint64_t milli)
{
	return milli / CORE_MILLI + (milli % CORE_MILLI != 0);
}

bool whole_core_crossed(uint64_t from_milli, uint64_t to_milli)
{
	return cores(from_milli) != cores(to_milli);
}

uint64_t whole_core_keep(uint64_t limit_milli, uint64_t to_milli, usec_t crossed_at, usec_t now)
{
	uint64_t most = cores(limit_milli) * CORE_MILLI;

	if (limit_milli == 0 || limit_milli == LIMIT_MAX ||
	    !whole_core_crossed(limit_milli, to_milli) || crossed_at == 0 ||
	    now - crossed_at >= WHOLE_CORE_EVERY_USEC)
		return to_milli;
	return to_milli > limit_milli ? most : most - CORE_MILLI + CPU_QUANTUM_MILLI;
}

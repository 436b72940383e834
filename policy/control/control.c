// SPDX-License-Identifier: Apache-2.0
#include "policy/control/control_impl.h"
#include "policy/laws/threshold.h"
#include <assert.h>
#include <errno.h>
#include <string.h>

#define PPM 1000000ULL
/* A unit at its ceiling asks for more now and then: after this long it is no longer at it. */
#define CEILING_QUIET_USEC (60 * USEC_PER_SEC)

void control_press_ceiling(struct control_resource *res, usec_t now)
{
	res->at_ceiling = true;
	res->pressed_at = now;
	res->blocked = BLOCKED_CEILING;
}

enum blocked_reason control_ceiling_reason(const struct control *c, const struct tuning *t)
{
	uint64_t max = control_unratified(c);
	bool lower = max < control_ceiling(c, t, RESOURCE_MEMORY, 0);

	return lower && c->kernel.mem_max >= max ? BLOCKED_UNRATIFIED : BLOCKED_CEILING;
}

void control_ease_ceiling(struct control_resource *res, usec_t now)
{
	if (now - res->pressed_at >= CEILING_QUIET_USEC)
		res->at_ceiling = false;
}

void control_set_rule(struct control *c, const struct policy_rule *rule)
{
	if (rule->mode != MODE_INITIAL) {
		c->initial_done = false;
		memset(c->initial_request, 0, sizeof c->initial_request);
	}
	c->rule = *rule;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct control_resource *res = &c->resource[r];

		/* A unit without a limit never gets one. */
		res->managed = res->original != LIMIT_MAX && (rule->resources & (1u << r));
		res->at_ceiling = false;
	}
}

void control_init(struct control *c, const struct tuning *t, const struct policy_rule *rule,
		  const struct limits *original)
{
	*c = (struct control){
		.original = *original, .kernel = *original, .page_bytes = t->memory.page_bytes};
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		c->resource[r].original = limit_amount(original, r);
		c->resource[r].limit = c->resource[r].original;
		c->resource[r].blocked = BLOCKED_NO_DATA;
	}
	c->start_mem_bytes = original->mem_max;
	history_init(&c->history, &t->history);
	control_set_rule(c, rule);
}

void control_drop(struct control *c)
{
	history_drop(&c->history);
}

static bool same_bounds(const struct pod_resource_bounds *a, const struct pod_resource_bounds *b)
{
	return a->request == b->request && a->admin.max == b->admin.max &&
	       a->namespace.max == b->namespace.max && a->ratio_permille == b->ratio_permille &&
	       a->refused == b->refused;
}

void control_set_pod(struct control *c, const struct pod_bounds *pod)
{
	uint64_t before = control_unratified(c);

	/* A ceiling is reported once for as long as it does not change. */
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (!same_bounds(&c->pod.resource[r], &pod->resource[r]) ||
		    c->pod.requests_move != pod->requests_move)
			c->resource[r].at_ceiling = false;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (c->pod.resource[r].request != pod->resource[r].request)
			c->resource[r].request_since = 0;
	c->pod = *pod;
	if (c->start_request == 0)
		c->start_request = pod->heap_request;
	if (control_unratified(c) != before)
		c->resource[RESOURCE_MEMORY].at_ceiling = false;
}

void control_restarted(struct control *c, const struct limits *kernel, usec_t now)
{
	struct shrink_floor cpu_floor = c->cpu.floor, mem_floor = c->mem.floor;
	usec_t backoff_until = c->mem.backoff_until, backoff = c->mem.backoff_usec;
	uint64_t oom_record = c->mem.oom_record;

	/* A run that ended during a trial may have ended because of it. */
	if (c->cpu.trial.active)
		c->resource[RESOURCE_CPU].limit = c->cpu.trial.from_milli;
	if (c->mem.trial.phase == MEM_MAX)
		c->resource[RESOURCE_MEMORY].limit = c->mem.trial.from;
	/* A JVM takes its share of one of these two limits, depending on which write came first. */
	c->start_mem_bytes = kernel->mem_max;
	if (c->resource[RESOURCE_MEMORY].limit != LIMIT_MAX && kernel->mem_max != LIMIT_MAX)
		c->start_mem_bytes = MAX(kernel->mem_max, c->resource[RESOURCE_MEMORY].limit);
	c->start_request = c->pod.heap_request;
	c->kernel = *kernel;
	c->grant_ended = true;
	/* These belonged to the previous run. c->denial stays: the node is still short, and one
	 * denial is reported once, also across runs. */
	c->asked = (struct ledger_denied){0};
	c->unclassified_bytes = 0;
	c->use_unchecked = 0;
	c->frozen = 0;
	c->psi_cpu_ppm = c->psi_cpu_others_ppm = 0;
	c->started_at = now;
	c->life = (struct startup_life){0};
	c->startup = (struct startup){0};
	c->initial_done = false;
	memset(c->initial_request, 0, sizeof c->initial_request);
	c->gave_way = 0;
	c->cpu = (struct cpu_law){.floor = cpu_floor};
	c->mem = (struct mem_law){
		.floor = mem_floor,
		.backoff_until = backoff_until,
		.backoff_usec = backoff,
		.oom_record = oom_record,
		.oom_at = now,
	};
	c->rates = (struct cpu_rates){0};
	c->rates_fresh = false;
	c->cpu_counted = false;
	c->startup_usec = 0;
	c->last = c->sample = (struct usage){0};
	c->last_at = 0;
}

enum blocked_reason control_frozen(const struct control *c, enum resource r)
{
	if (c->rule.freeze)
		return BLOCKED_FROZEN;
	return c->pod.limits_frozen & (1u << r) ? BLOCKED_AUTOSCALED : BLOCKED_NONE;
}

enum blocked_reason control_blocked(const struct control *c, enum resource r)
{
	const struct control_resource *res = &c->resource[r];

	/* It has the pod's, which is not its own. */
	if (c->pod.resource[r].budget != 0 && c->pod.resource[r].accepted == LIMIT_MAX)
		return BLOCKED_NO_LIMIT;
	if (!(c->rule.resources & (1u << r)))
		return c->rule.requests & (1u << r) ? BLOCKED_REQUESTS_ONLY
						    : BLOCKED_NOT_CONTROLLED;
	if (!res->managed)
		return BLOCKED_NO_LIMIT;
	if (c->rule.mode == MODE_OFF)
		return BLOCKED_MODE_OFF;
	if (c->paused || ((c->gave_way | c->frozen) & (1u << r)))
		return BLOCKED_PAUSED;
	if (r == RESOURCE_CPU && control_frozen(c, r) != BLOCKED_NONE)
		return control_frozen(c, r);
	if (c->pod.limits_stay)
		return BLOCKED_REQUESTS_ONLY;
	return BLOCKED_NONE;
}

void control_decide(struct control *c, enum resource r, uint64_t to, enum reason reason,
		    const struct control_context *x)
{
	struct control_resource *res = &c->resource[r];

	res->planned_at = x->now;
	res->pending = (struct decision){
		.at_real = x->now_real,
		.from = limit_amount(&c->kernel, r),
		.to = to,
		.reason = reason,
		.throttle_ppm = c->rates.throttle_ppm,
		.use = r == RESOURCE_CPU ? c->rates.used_milli : mem_use(&c->last),
		.slope_bps = c->mem.slope_bps,
	};
}

static uint32_t control_smooth(uint32_t before, uint64_t ppm)
{
	return (uint32_t)((before * 9ULL + MIN(ppm, PPM)) / 10);
}

/* The kernel also counts a group as waiting while its own limit throttles it: only waiting beyond
 * all throttled periods is certainly caused by others. */
static void observe_psi(struct control *c, const struct usage *prev, const struct usage *u,
			usec_t span)
{
	uint64_t waited = u->psi_cpu_usec - MIN(prev->psi_cpu_usec, u->psi_cpu_usec);
	uint64_t own = c->rates_fresh ? c->rates.throttled * u->limits.cpu_period_usec : waited;

	c->psi_cpu_ppm = control_smooth(c->psi_cpu_ppm, mul_div(waited, PPM, span));
	c->psi_cpu_others_ppm = control_smooth(c->psi_cpu_others_ppm,
					       mul_div(waited - MIN(own, waited), PPM, span));
}

static void observe_limits(struct control *c, const struct usage *u)
{
	if (u->have & USAGE_CPU_LIMIT) {
		c->kernel.cpu_quota_usec = u->limits.cpu_quota_usec;
		c->kernel.cpu_period_usec = u->limits.cpu_period_usec;
		c->kernel.cpu_burst_usec = u->limits.cpu_burst_usec;
	}
	if (u->have & USAGE_MEM_LIMIT) {
		c->kernel.mem_max = u->limits.mem_max;
		c->kernel.mem_high = u->limits.mem_high;
	}
}

/* algorithm threshold. */
static void note_above(struct control *c, const struct control_context *x)
{
	const struct tuning_threshold *t = &x->tuning->threshold;

	if (x->tuning->history.algorithm != ALGORITHM_THRESHOLD)
		return;
	if (c->rates_fresh && c->kernel.cpu_quota_usec != LIMIT_MAX)
		threshold_note(t, &c->above_since[RESOURCE_CPU], c->rates.used_milli,
			       limit_amount(&c->kernel, RESOURCE_CPU), x->now);
	if (c->kernel.mem_max != LIMIT_MAX)
		threshold_note(t, &c->above_since[RESOURCE_MEMORY], mem_use(&c->last),
			       c->kernel.mem_max, x->now);
}

/* --- startup boost (boost.h): its steps in a plan, and what it suspends in reviews --- */

void control_set_life(struct control *c, const struct startup_life *life)
{
	c->life = *life;
	startup_set(&c->startup, life);
}

usec_t control_startup_end(const struct control *c, const struct tuning *t, usec_t now)
{
	usec_t end = startup_end(&c->startup, &t->startup);

	return end > now ? end : 0;
}

/* A limit found in the files, written by an earlier run of the agent, may come from it too. */
usec_t control_startup_raise(const struct control *c, const struct tuning *t)
{
	usec_t end = startup_end(&c->startup, &t->startup);
	enum reason reason = c->resource[RESOURCE_CPU].last.reason;
	bool by_history =
		c->cpu.last_change != 0 &&
		(reason == REASON_INITIAL || reason == REASON_HISTORY || reason == REASON_MINIMUM);

	return by_history || c->cpu.last_change >= end ? 0 : end;
}

bool control_boosts(const struct control *c)
{
	const struct boost_rule *r = &c->rule.boost;

	return r->factor > 0 || r->add_milli > 0 || c->boost.written ||
	       c->boost.phase != BOOST_NONE;
}

static void boost_decide(struct control *c, const struct control_context *x,
			 struct boost_decision *ret)
{
	const struct control_resource *res = &c->resource[RESOURCE_CPU];
	const struct boost_input in = {
		.rule = c->rule.boost,
		.mode = c->rule.mode,
		.may_write = control_blocked(c, RESOURCE_CPU) == BLOCKED_NONE,
		.started_at = c->life.started_at,
		.ready_since = c->life.ready_since,
		.original_milli = res->managed ? res->original : LIMIT_MAX,
		/* A limit on trial is not proven. */
		.held_milli = c->cpu.trial.active ? c->cpu.trial.from_milli : res->limit,
		.ceiling_milli = control_ceiling(c, x->tuning, RESOURCE_CPU, x->node_milli),
		.now = x->now,
	};

	boost_step(&c->boost, &in, ret);
	c->boost_now = *ret;
}

uint64_t control_boost_prepare(struct control *c, const struct control_context *x)
{
	struct boost_decision d;

	if (!control_boosts(c))
		return 0;
	boost_decide(c, x, &d);
	if (c->boost.written || (d.phase == BOOST_ACTIVE && d.write))
		return c->boost.base_milli;
	return 0;
}

static void put_back(struct control *c, const struct control_context *x, uint64_t milli)
{
	uint64_t quota = cpu_quota_of(milli, c->kernel.cpu_period_usec);

	if (c->kernel.cpu_quota_usec != quota) {
		control_plan_cpu(c, x, milli, REASON_BOOST_OVER);
		return;
	}
	c->resource[RESOURCE_CPU].limit = milli;
	boost_put_back(&c->boost, x->now);
}

void control_boost(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	struct boost_decision d;

	if (!control_boosts(c))
		return;
	boost_decide(c, x, &d);
	if (!d.write || c->kernel.cpu_quota_usec == LIMIT_MAX)
		return;
	if (d.phase == BOOST_ENDING) {
		put_back(c, x, d.limit_milli);
	} else if (res->limit < d.limit_milli) {
		c->cpu.trial = (struct cpu_trial){0};
		control_plan_cpu(c, x, d.limit_milli, REASON_BOOST);
	}
}

static void boost_applied(struct control *c, const struct change *done,
			  const struct control_context *x)
{
	if (done->reason == REASON_BOOST)
		boost_written(&c->boost);
	else if (done->reason == REASON_BOOST_OVER)
		boost_put_back(&c->boost, x->now);
}

void control_boost_end(struct control *c, const struct control_context *x)
{
	if (!c->boost.written)
		return;
	if (control_blocked(c, RESOURCE_CPU) == BLOCKED_NONE)
		put_back(c, x, c->boost.base_milli);
	else if (c->gave_way & RESOURCES_CPU)
		boost_put_back(&c->boost, x->now);
}

bool control_boost_holds(struct control *c, const struct control_context *x)
{
	struct control_resource *res = &c->resource[RESOURCE_CPU];
	uint64_t up = 1000 + x->tuning->common.deadband_up_permille;
	bool initial = c->rule.mode == MODE_INITIAL;

	if (c->boost.phase != BOOST_ACTIVE && c->boost.phase != BOOST_ENDING)
		return false;
	res->blocked = BLOCKED_BOOST;
	res->next_at = c->boost_now.next_at;
	if (c->boost.phase == BOOST_ENDING || (initial && c->initial_done))
		return true;
	/* The limit from history returns after the boost. */
	if (initial ? c->recommendation.confidence_permille[RESOURCE_CPU] > 0
		    : res->bounded > scale_permille(c->boost.base_milli, up))
		c->boost.base_milli = res->bounded;
	return true;
}

uint64_t control_lasting(const struct control *c, enum resource r)
{
	return r == RESOURCE_CPU && c->boost.written ? c->boost.base_milli : c->resource[r].limit;
}

/* --- the CPU of each span, and what a run used between its last sample and its end; of a short
 * run, all of it --- */

static void observe_history(struct control *c, const struct usage *u,
			    const struct control_context *x)
{
	const struct tuning_history *t = &x->tuning->history;

	/* CPU use at startup says nothing about the time after it. Memory taken at startup stays
	 * taken: control_observe_mem(). */
	if (boost_covers(&c->boost, c->last_at, x->now))
		return;
	/* VPA counts what is used at startup. */
	if (t->algorithm == ALGORITHM_VPA)
		history_vpa_observe(&c->history, t, &c->rates, mem_working_set(u), x->now_real);
	else if (startup_covers(&c->startup, &x->tuning->startup, c->last_at, x->now))
		c->startup_usec += history_add_startup(&c->history, &c->rates, x->now_real);
	else {
		history_add_cpu(&c->history, &c->rates, x->now_real);
		c->cpu_counted = true;
	}
}

/* The totals of a run before its start. Its page cache was there all the time, as far as is known.
 */
static struct usage at_start(const struct usage *total)
{
	return (struct usage){
		.have = total->have & (USAGE_CPU | USAGE_THROTTLE | USAGE_MEM_PEAK),
		.stat = total->stat,
		.limits = total->limits,
	};
}

/* 0: not known, or before `since`. */
static usec_t born(const struct control *c, usec_t since)
{
	usec_t at = c->startup.started_at != 0 ? c->startup.started_at : c->started_at;

	return at >= since ? at : 0;
}

static void end_memory(struct control *c, const struct usage *total, usec_t since,
		       const struct control_context *x)
{
	struct usage from = c->last_at != 0 ? c->last : at_start(total);
	usec_t from_at = c->last_at != 0 ? c->last_at : since;
	uint64_t need = control_mem_need(&from, total);

	if (!(total->have & from.have & USAGE_MEM_PEAK))
		return;
	if (from_at != 0)
		history_observe_memory(&c->history, x->now - MIN(from_at, x->now));
	if (total->mem_peak > from.mem_peak)
		history_add_memory(&c->history, &x->tuning->history, need, false, x->now_real);
}

static void temper(const struct control *c, struct cpu_rates *r, const struct control_context *x)
{
	const struct cpu_goal goal = cpu_goal_of(x->tuning, c->rule.goal);

	cpu_temper_demand(&c->cpu, &x->tuning->history, &goal, r);
}

static void end_cpu(struct control *c, const struct usage *total, usec_t from,
		    const struct control_context *x)
{
	struct usage zero = at_start(total);
	struct cpu_rates r;

	if (x->now <= from || cpu_rates_between(&zero, total, x->now - from, x->node_milli, &r) < 0)
		return;
	temper(c, &r, x);
	history_add_cpu(&c->history, &r, x->now_real);
	/* Its samples counted as age already. */
	c->history.observed_usec[RESOURCE_CPU] -=
		MIN(c->startup_usec, c->history.observed_usec[RESOURCE_CPU]);
	c->startup_usec = 0;
	c->cpu_counted = true;
}

/* Its last span, by the rules of every other one. */
static void end_span(struct control *c, const struct usage *total, const struct control_context *x)
{
	const struct startup *s = &c->startup;
	struct cpu_rates r;

	if (c->last_at == 0 || x->now <= c->last_at ||
	    cpu_rates_between(&c->sample, total, x->now - c->last_at, x->node_milli, &r) < 0 ||
	    total->cpu_usage_usec == c->sample.cpu_usage_usec ||
	    startup_covers(s, &x->tuning->startup, c->last_at, x->now))
		return;
	temper(c, &r, x);
	history_add_cpu(&c->history, &r, x->now_real);
}

void control_note_totals(struct control *c, const struct usage *total)
{
	if (c->last_at == 0)
		c->sample = *total;
}

void control_end(struct control *c, const struct usage *total, bool once, usec_t since,
		 const struct control_context *x)
{
	/* VPA takes one sample a minute, of what runs at that moment. */
	if (x->tuning->history.algorithm == ALGORITHM_VPA || total->have == 0)
		return;
	end_memory(c, total, once ? born(c, since) : 0, x);
	if (boost_covers(&c->boost, MAX(c->last_at, c->started_at), x->now))
		return;
	if (once && !c->cpu_counted && born(c, since) != 0)
		end_cpu(c, total, born(c, since), x);
	else
		end_span(c, total, x);
}

uint64_t control_threshold_limit(const struct control *c, const struct control_context *x,
				 enum resource r)
{
	const struct tuning_threshold *t = &x->tuning->threshold;
	const struct control_resource *res = &c->resource[r];

	return threshold_due(t, c->above_since[r], x->now)
		       ? threshold_limit(t, res->limit, res->original)
		       : res->limit;
}

/* --- samples, reflex passes, reviews --- */

void control_observe(struct control *c, const struct usage *u, const struct control_context *x)
{
	struct usage prev = c->sample, newest = c->last;
	bool first = c->last_at == 0;

	assert(x->now >= c->last_at);
	c->last = *u;
	control_weigh_throttling(c, x);
	c->sample = c->last;
	observe_limits(c, u);
	c->rates_fresh = !first && x->now > c->last_at &&
			 cpu_rates_between(&prev, &c->sample, x->now - c->last_at, x->node_milli,
					   &c->rates) == 0;
	cpu_prove(&c->cpu, &c->last, x->node_milli, x->now);
	control_note_periods(c, x);
	if (c->rates_fresh) {
		temper(c, &c->rates, x);
		observe_history(c, u, x);
	}
	if ((u->have & prev.have & USAGE_PSI_CPU) && !first && x->now > c->last_at)
		observe_psi(c, &prev, u, x->now - c->last_at);
	control_observe_mem(c, first ? NULL : &prev, &newest, x);
	c->last_at = x->now;
	note_above(c, x);
	control_record_cpu(c, x);
	control_reflex_cpu(c, x);
}

void control_reflex_pass(struct control *c, const struct usage *u, const struct control_context *x)
{
	struct usage before = c->last;

	/* The first observation is a sample. */
	if (c->last_at == 0)
		return;
	usage_merge(&c->last, u);
	c->last.limits = c->kernel;
	control_reflex_mem(c, u->have, &before, x);
	if (!(u->have & USAGE_CPU))
		return;
	if (u->have & USAGE_THROTTLE)
		control_weigh_throttling(c, x);
	cpu_prove(&c->cpu, &c->last, x->node_milli, x->now);
	control_note_periods(c, x);
	control_reflex_cpu(c, x);
}

/* Its own history is not whole, and what its workload's other pods need is being read; or whether
 * its requests may move. */
static bool awaits_facts(const struct control *c, usec_t now)
{
	const uint32_t *own = c->own.confidence_permille;
	bool prior = !c->prior_known && MIN(own[RESOURCE_CPU], own[RESOURCE_MEMORY]) < 1000;

	return now < c->facts_until && (prior || c->pod.requests_unknown);
}

/* A raise that is tried again, and a pause in the load, are no end of it. */
#define LACKING_QUIET_USEC (2 * USEC_PER_MIN)

static void note_lacking(struct control *c, usec_t now)
{
	bool lacks = false;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct control_resource *res = &c->resource[r];

		lacks |= res->at_ceiling || (res->request_up && res->request_since != 0);
	}
	if (lacks) {
		c->lacking_since = c->lacking_since != 0 ? c->lacking_since : now;
		c->lacked_at = now;
	} else if (now - c->lacked_at >= LACKING_QUIET_USEC) {
		c->lacking_since = 0;
	}
}

void control_review(struct control *c, const struct control_context *x)
{
	control_recommend(c, x);
	prior_blend(&c->prior, &c->own, &c->recommendation);
	if (c->last_at == 0)
		return;
	control_review_cpu(c, x);
	control_review_mem(c, x);
	c->prior_new = false;
	control_note_requests(c, x);
	note_lacking(c, x->now);
	if (c->rule.mode == MODE_INITIAL && !c->initial_done && !c->paused && !c->rule.freeze &&
	    c->gave_way == 0 && !awaits_facts(c, x->now)) {
		control_fix_requests(c, x);
		c->initial_done = true;
	}
}

/* Records a step that was carried out. */
static void note_done(struct control *c, const struct change *step, const struct control_context *x)
{
	struct control_resource *res = &c->resource[knobs[step->knob].resource];

	switch (step->knob) {
	case KNOB_CPU_MAX:
		if (whole_core_crossed(limit_amount(&c->kernel, RESOURCE_CPU), res->pending.to))
			c->cpu.crossed_at = x->now;
		cpu_changed(&c->cpu, limit_amount(&c->kernel, RESOURCE_CPU), res->pending.to,
			    c->pod.resource[RESOURCE_CPU].accepted, x->now);
		c->kernel.cpu_quota_usec = step->to;
		c->kernel.cpu_period_usec = step->period_usec;
		/* With odd periods the quota loses a fraction; the decided limit is kept. */
		res->limit = cpu_quota_of(res->pending.to, step->period_usec) == step->to
				     ? res->pending.to
				     : cpu_milli_of(step->to, step->period_usec);
		cpu_window_restart(&c->cpu, &c->last, x->now);
		/* The next span begins under the new limit. */
		if (x->now == c->last_at)
			c->sample.limits = c->kernel;
		break;
	case KNOB_CPU_BURST:
		c->kernel.cpu_burst_usec = step->to;
		return;
	case KNOB_MEM_HIGH:
		c->kernel.mem_high = round_down(step->to, c->page_bytes);
		return;
	case KNOB_MEM_MAX:
		/* How near use is to a lower limit is read at the next pass. */
		if (change_lowers(step))
			c->mem.stat_current = 0;
		c->kernel.mem_max = round_down(step->to, c->page_bytes);
		/* After PID 1 wrote its headroom and the limit was restored, a trial need not wait.
		 */
		if (step->reason != REASON_DRIFT || res->limit != step->to)
			c->mem.last_change = x->now;
		res->limit = step->to;
		if (step->to >= c->mem.oom_record)
			c->mem.oom_record = 0;
		break;
	default:
		return;
	}
	if (step->reason == REASON_DRIFT) {
		/* Our value was restored: no new decision. */
		res->counters.drifts++;
		return;
	}
	if (change_lowers(step))
		res->counters.lowers++;
	else
		res->counters.raises++;
	if (step->reason == REASON_SHRINK_UNDONE)
		res->counters.undos++;
	boost_applied(c, step, x);
	res->last = res->pending;
}

void control_applied(struct control *c, const struct change *step, int outcome,
		     const struct control_context *x)
{
	struct control_resource *res = &c->resource[knobs[step->knob].resource];

	assert(step->target == c->target);
	if (outcome == APPLY_DONE || outcome == APPLY_UNCHANGED) {
		note_done(c, step, x);
		return;
	}
	/* Linux before 5.19 has no memory.reclaim: the memory.high of a trial reclaims instead. */
	if (outcome == APPLY_GONE || (outcome == -EOPNOTSUPP && step->knob == KNOB_MEM_RECLAIM))
		return;
	res->counters.refusals++;
	if (knobs[step->knob].resource == RESOURCE_MEMORY)
		control_mem_step_failed(c, step, x);
	else if (step->knob == KNOB_CPU_MAX && c->cpu.trial.active && change_lowers(step))
		c->cpu.trial = (struct cpu_trial){0};
}

bool control_high_is_ours(const struct control *c, const struct limits *kernel)
{
	bool of_trial = c->mem.trial.high_lowered && kernel->mem_high <= c->mem.trial.to;

	return kernel->mem_high == c->kernel.mem_high &&
	       (of_trial || mem_brake_owns(&c->mem, kernel->mem_high));
}

static void adopt_mem(struct control *c, const struct limits *kernel, bool ours,
		      const struct control_context *x)
{
	c->original.mem_max = kernel->mem_max;
	if (!ours)
		c->original.mem_high = kernel->mem_high;
	c->mem.trial = (struct mem_trial){0};
	c->mem.brake = (struct mem_brake){0};
	c->mem.last_change = x->now;
	c->mem.oom_record = 0;
	if (ours)
		control_plan_mem(c, x, KNOB_MEM_HIGH, control_mem_high(c, kernel->mem_max),
				 REASON_LIFT);
}

void control_adopt(struct control *c, const struct limits *kernel, enum resource r,
		   const struct control_context *x)
{
	struct control_resource *res = &c->resource[r];
	bool ours = control_high_is_ours(c, kernel);

	c->kernel = *kernel;
	res->limit = limit_amount(kernel, r);
	res->original = res->limit;
	res->managed = res->original != LIMIT_MAX && (c->rule.resources & (1u << r));
	res->at_ceiling = false;
	if (r == RESOURCE_CPU) {
		c->cpu.adopted_at = x->now;
		c->original.cpu_quota_usec = kernel->cpu_quota_usec;
		c->original.cpu_period_usec = kernel->cpu_period_usec;
		c->cpu.trial = (struct cpu_trial){0};
		c->cpu.last_change = c->cpu.held_since = x->now;
		if (res->limit == LIMIT_MAX)
			boost_put_back(&c->boost, x->now);
		else
			c->boost.base_milli = res->limit;
		cpu_window_restart(&c->cpu, &c->last, x->now);
		return;
	}
	adopt_mem(c, kernel, ours, x);
}

void control_follow(struct control *c, const struct limits *kernel, enum resource r)
{
	/* The end of a trial or of the brake must not lift an external writer's memory.high. */
	if (r == RESOURCE_MEMORY && kernel->mem_high != c->kernel.mem_high) {
		c->mem.trial.high_lowered = false;
		c->mem.brake = (struct mem_brake){0};
	}
	c->kernel = *kernel;
	c->resource[r].limit = limit_amount(kernel, r);
}

static void write_held(struct control *c, enum resource r, enum reason reason,
		       const struct control_context *x)
{
	uint64_t limit = c->resource[r].limit;

	control_decide(c, r, limit, reason, x);
	if (r == RESOURCE_CPU) {
		control_plan_cpu(c, x, limit, reason);
		return;
	}
	control_plan_mem(c, x, KNOB_MEM_MAX, limit, reason);
	if (c->mem.trial.phase == MEM_IDLE)
		control_plan_mem(c, x, KNOB_MEM_HIGH, control_braked_high(c, limit), reason);
}

void control_reassert(struct control *c, const struct limits *kernel, enum resource r,
		      const struct control_context *x)
{
	c->kernel = *kernel;
	if (r == RESOURCE_MEMORY) {
		c->resource[r].limit = control_above_growth(c, x, c->resource[r].limit);
		control_grant_held(c, x);
	}
	write_held(c, r, REASON_DRIFT, x);
}

void control_resume(struct control *c, const struct limits *kernel, const struct control_context *x)
{
	c->kernel = *kernel;
	control_oom_apply(c, x->tuning);
	if (c->resource[RESOURCE_MEMORY].managed)
		control_grant_held(c, x);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (c->resource[r].managed && !(r == RESOURCE_MEMORY && control_mem_due(c, x)))
			write_held(c, r, REASON_RESUMED, x);
}

void control_shift_clock(struct control *c, int64_t step_usec)
{
	struct shrink_floor *floors[] = {&c->cpu.floor, &c->mem.floor};

	history_shift(&c->history, step_usec);
	for (size_t i = 0; i < ARRAY_SIZE(floors); i++)
		if (floors[i]->value != 0)
			floors[i]->since_real += (usec_t)step_usec;
}

/* --- what the caller tells --- */

void control_set_target(struct control *c, uint32_t target)
{
	c->target = target;
}

void control_set_depth(struct control *c, uint32_t depth)
{
	c->depth = depth;
}

void control_set_page(struct control *c, uint64_t page_bytes)
{
	c->page_bytes = page_bytes;
}

void control_set_kernel(struct control *c, const struct limits *kernel)
{
	c->kernel = *kernel;
}

void control_set_kernel_memory(struct control *c, uint64_t mem_max, uint64_t mem_high)
{
	c->kernel.mem_max = mem_max;
	c->kernel.mem_high = mem_high;
}

void control_take_limits(struct control *c, const struct limits *kernel)
{
	struct control_resource *cpu = &c->resource[RESOURCE_CPU];
	struct control_resource *memory = &c->resource[RESOURCE_MEMORY];

	if (cpu->managed && kernel->cpu_quota_usec != LIMIT_MAX)
		cpu->limit = cpu_milli_of(kernel->cpu_quota_usec, kernel->cpu_period_usec);
	if (memory->managed && kernel->mem_max != LIMIT_MAX)
		memory->limit = kernel->mem_max;
}

void control_set_unclassified(struct control *c, uint64_t bytes)
{
	c->unclassified_bytes = bytes;
}

void control_set_paused(struct control *c, bool paused)
{
	c->paused = paused;
}

void control_freeze(struct control *c, uint32_t resources)
{
	c->frozen = resources;
}

void control_suspend(struct control *c, enum resource r)
{
	c->gave_way |= 1u << r;
}

void control_end_suspension(struct control *c)
{
	c->gave_way = 0;
}

void control_forget_start(struct control *c)
{
	c->started_at = 0;
}

void control_set_sized(struct control *c)
{
	c->initial_done = true;
}

void control_take_over(struct control *c, const struct limits *kernel)
{
	control_take_limits(c, kernel);
	/* It may have begun with the owner's request. */
	c->start_request = MAX(c->start_request,
			       c->pod.guaranteed ? c->start_mem_bytes : c->pod.found_request);
	c->grant_ended = false;
	control_set_sized(c);
}

void control_boost_resume(struct control *c, uint64_t base_milli)
{
	c->boost = (struct boost){.base_milli = base_milli, .written = true};
}

void control_boost_forget(struct control *c, usec_t now)
{
	boost_put_back(&c->boost, now);
}

void control_set_containers(struct control *c, uint32_t containers)
{
	c->containers = containers;
}

void control_set_past(struct control *c, const struct control_past *past)
{
	history_drop(&c->history);
	c->history = past->history;
	c->cpu.floor = past->cpu_floor;
	c->mem.floor = past->mem_floor;
	c->mem.backoff_usec = past->backoff_usec;
	c->mem.backoff_until = past->backoff_until;
}

void control_add_past(struct control *c, const struct tuning *t, const struct past_series *cpu,
		      const struct past_series *memory)
{
	history_add_past(&c->history, &t->history, cpu, memory);
	c->past_samples[RESOURCE_CPU] += (uint32_t)cpu->count;
	c->past_samples[RESOURCE_MEMORY] += (uint32_t)memory->count;
}

void control_await_facts(struct control *c, usec_t until)
{
	c->facts_until = until;
}

void control_set_prior(struct control *c, const struct prior *prior)
{
	c->prior = *prior;
	c->prior_known = true;
	/* A request does not wait from now on. */
	c->prior_new = prior->of.confidence_permille[RESOURCE_CPU] != 0 ||
		       prior->of.confidence_permille[RESOURCE_MEMORY] != 0;
}

void control_set_original(struct control *c, enum resource r, uint64_t amount)
{
	c->resource[r].original = amount;
	if (r == RESOURCE_CPU)
		c->original.cpu_quota_usec = cpu_quota_exact(amount, c->original.cpu_period_usec);
	else
		c->original.mem_max = amount;
}

void control_shift_original(struct control *c, enum resource r, uint64_t from, uint64_t to)
{
	uint64_t sum = add_sat(c->resource[r].original, to);

	control_set_original(c, r, sum - MIN(from, sum));
}

void control_set_decision(struct control *c, enum resource r, const struct decision *d)
{
	c->resource[r].pending = *d;
}

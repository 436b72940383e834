// SPDX-License-Identifier: Apache-2.0
/* How each policy begins, and what it does after each period of 100 ms. */

#include "policy/backtest/backtest.h"
#include "policy/laws/threshold.h"
#include <math.h>
#include <string.h>

#define PERIODS_PER_MINUTE 600

static bool every(const struct backtest *b, uint64_t periods)
{
	return b->periods % periods == 0;
}

/* Average of the second that has passed. */
static uint64_t second_milli(struct backtest *b)
{
	uint64_t used = b->rig.sim.u.cpu_usage_usec, before = b->peer.used_usec;

	b->peer.used_usec = used;
	return (used - before) * 1000 / USEC_PER_SEC;
}

/* ---- vscaled ---- */

static void begin_vscaled(struct backtest *b)
{
	static const enum goal goals[] = {[BACKTEST_LATENCY] = GOAL_LATENCY,
					  [BACKTEST_BALANCED] = GOAL_BALANCED,
					  [BACKTEST_SAVINGS] = GOAL_SAVINGS};
	const struct limits *l = &b->rig.sim.u.limits;
	struct policy_rule rule = policy_rule_default;

	rule.goal = goals[b->policy];
	control_init(&b->rig.c, &b->rig.t, &rule, l);
	control_restarted(&b->rig.c, l, b->rig.sim.now);
}

/* A request follows the recommendation, and never exceeds the limit. */
static void act_vscaled(struct backtest *b)
{
	const struct recommendation *rec = &b->rig.c.recommendation;
	uint64_t milli, bytes;

	rig_decide(&b->rig);
	milli = rec->resource[RESOURCE_CPU].target;
	bytes = rec->resource[RESOURCE_MEMORY].target;
	if (milli != 0)
		b->request_milli = MIN(milli, sim_milli(&b->rig.sim));
	if (bytes != 0)
		b->request_bytes = MIN(bytes, b->rig.sim.u.limits.mem_max);
}

/* ---- vscaled: passes in which no law finds anything to do, together ---- */

/* As in mem_law.c and control_reflex.c: above this share of the limit the brake is armed, and use
 * is read at every pass; else when it would reach the limit in this time, or after so much CPU. */
#define NEAR_PERMILLE 800
#define HOT_USEC      (10 * USEC_PER_SEC)
#define RAN_USEC      50

/* No throttled period is in view, and the last write is behind. */
static bool is_cpu_calm(const struct control *c, usec_t now)
{
	const struct cpu_law *l = &c->cpu;

	return l->spread_since != 0 && l->throttled_run == 0 && l->write_at < l->burst_at &&
	       now - l->burst.half.at <= USEC_PER_SEC &&
	       c->last.nr_throttled == l->since_write.base.throttled &&
	       c->last.nr_throttled == l->seen.throttled && !c->resource[RESOURCE_CPU].at_ceiling;
}

static bool is_near(const struct control *c)
{
	return mem_use(&c->last) > scale_permille(c->kernel.mem_max, NEAR_PERMILLE);
}

/* The brake stays where the last pass left it. */
static bool is_brake_calm(const struct control *c, usec_t now)
{
	const struct mem_brake *k = &c->mem.brake;

	if (k->line == 0)
		return k->stands == 0 && (!is_near(c) || k->rearm_at <= now);
	return is_near(c) && k->pressed_at == 0 && k->of == c->kernel.mem_max &&
	       k->aim == k->line && c->kernel.mem_high == k->line;
}

/* Use stays as it was read; memory.current may grow to its goal. */
static bool is_memory_calm(const struct rig *r)
{
	const struct control *c = &r->c;
	const struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	const struct mem_point *p = c->mem.point;
	const struct tuning_memory *t = &r->t.memory;
	const struct usage then = {.have = USAGE_CPU | USAGE_MEM,
				   .mem_current = r->sim.load.anon_goal};
	uint64_t use = mem_use(&c->last), low = use, max = c->kernel.mem_max, bps, ahead;
	usec_t look = is_near(c) ? t->time_to_limit_usec + r->tick_usec : HOT_USEC;

	for (size_t i = 0; i < MEM_POINTS; i++)
		low = MIN(low, p[i].unreclaimable);
	/* The slope that these passes can see: of 200 ms by the first of them, or of a second. */
	bps = MAX((use - MIN(p[1].unreclaimable, use)) * 5, use - low);
	ahead = mul_div(bps, look, USEC_PER_SEC);
	return p[MEM_POINTS - 1].at != 0 && c->mem.trial.phase == MEM_IDLE &&
	       c->mem.oom_record == 0 && !res->at_ceiling && res->planned_at != r->sim.now &&
	       (ahead == 0 || use + MAX(ahead, mem_gap(t, max)) < max) &&
	       is_brake_calm(c, r->sim.now) && use == mem_unreclaimable(&c->last.stat) &&
	       c->last.mem_current <= MIN(r->sim.m.anon, then.mem_current) &&
	       !(control_reflex_wants(c, &then) & USAGE_MEM_STAT);
}

/* Up to the next sample or review; in all of them a period ends, or in none, and all of them read
 * memory that moves, or none does. */
static size_t skips_vscaled(const struct backtest *b, const uint32_t *want_usec, size_t count)
{
	const struct rig *r = &b->rig;
	usec_t until = MIN(r->next_sample, r->next_review), at = r->sim.now;
	bool timer_on = r->sim.timer_on, idle = r->sim.idle, alike;
	size_t n = 0;

	if (at + BACKTEST_PERIOD_USEC >= until || !is_cpu_calm(&r->c, at) ||
	    (b->trace->memory && !is_memory_calm(r)))
		return 0;
	alike = is_near(&r->c) || r->c.last.mem_current == r->sim.load.anon_goal;
	while (n < count && at + (n + 1) * BACKTEST_PERIOD_USEC < until &&
	       timer_on == r->sim.timer_on &&
	       (alike || (*want_usec < RAN_USEC) == (want_usec[n] < RAN_USEC)))
		sim_timer_pass(&timer_on, &idle, want_usec[n++] > 0);
	return n;
}

static void skip_vscaled(struct backtest *b, const uint32_t *want_usec, size_t count)
{
	struct rig *r = &b->rig;
	struct usage *u = &r->c.last;
	struct cpu_law *l = &r->c.cpu;
	struct mem_law *m = &r->c.mem;
	const struct cpu_goal goal = cpu_goal_of(&r->t, r->c.rule.goal);
	uint64_t limit = sim_milli(&r->sim), use = mem_use(u);
	bool ended = r->sim.u.nr_periods != l->evidence.read.periods;
	usec_t at = r->sim.now - count * BACKTEST_PERIOD_USEC;
	size_t points = MIN(count - 1, (size_t)MEM_POINTS);
	struct cpu_rates unused;

	memmove(m->point + points, m->point, (MEM_POINTS - points) * sizeof *m->point);
	for (size_t i = 0; i < count; i++) {
		at += BACKTEST_PERIOD_USEC;
		u->cpu_usage_usec += want_usec[i];
		u->nr_periods += ended;
		l->evidence.unspent_usec = want_usec[i] + (ended ? 0 : l->evidence.unspent_usec);
		if (ended)
			cpu_note_free_period(&r->t.cpu, &goal, l, MIN(want_usec[i] / 100, limit),
					     at);
		/* Half of its window. */
		if (at - l->since_write.half.at >= USEC_PER_SEC / 2)
			cpu_window_rates(l, u, r->sim.cpus * 1000, at, &unused);
		if (count - 1 - i - 1 < points)
			m->point[count - 1 - i - 1] = (struct mem_point){at, use};
	}
	cpu_prove(l, u, r->sim.cpus * 1000, at);
	l->spread_mark = l->evidence.read = cpu_mark_of(u, at);
	l->evidence.read.throttled = r->sim.u.nr_throttled;
	l->evidence.late = false;
	if (cpu_trial_passed(&r->t.cpu, l, u, at))
		l->trial.active = false;
	mem_observe_use(&r->t.memory, m, use, at);
	if (*want_usec >= RAN_USEC || is_near(&r->c))
		u->mem_current = r->sim.m.anon;
	if (m->brake.line != 0)
		m->brake.wanted_at = at;
}

/* ---- VPA ---- */

static void begin_vpa(struct backtest *b)
{
	uint32_t resources = b->trace->memory ? RESOURCES_BOTH : RESOURCES_CPU;

	backtest_vpa_init(&b->peer.vpa, resources, b->rig.now_real);
}

static void act_vpa(struct backtest *b)
{
	struct backtest_peer *p = &b->peer;
	const struct usage *u = &b->rig.sim.u;
	int64_t request[RESOURCE_COUNT] = {(int64_t)b->request_milli, (int64_t)b->request_bytes};
	int64_t max[RESOURCE_COUNT] = {b->trace->cpus * 1000}, to[RESOURCE_COUNT];

	if (u->events.oom_kill > p->vpa.kills) {
		p->vpa.kills = u->events.oom_kill;
		backtest_vpa_killed(&p->vpa, request[RESOURCE_MEMORY], b->rig.now_real);
	}
	if (!every(b, PERIODS_PER_MINUTE))
		return;
	vpa_add_cpu(&p->vpa.container, (int64_t)((u->cpu_usage_usec - p->used_usec) / 60000),
		    b->rig.now_real);
	p->used_usec = u->cpu_usage_usec;
	if (b->trace->memory)
		vpa_add_memory(&p->vpa.container, (int64_t)sim_unreclaimable(&b->rig.sim),
			       b->rig.now_real);
	if (!backtest_vpa_update(&p->vpa, request, max, b->rig.now_real, to))
		return;
	backtest_set_cpu(b, (uint64_t)to[RESOURCE_CPU]);
	if (b->trace->memory)
		backtest_set_memory(b, (uint64_t)to[RESOURCE_MEMORY]);
}

/* ---- static limits ---- */

static void begin_p95(struct backtest *b)
{
	backtest_set_cpu(b, b->oracle->p95_milli);
	if (b->trace->memory)
		backtest_set_memory(b, b->oracle->p95_bytes);
}

/* ---- CPU alone: memory keeps its original limit ---- */

static void act_cpu_fast(struct backtest *b)
{
	struct backtest_peer *p = &b->peer;
	uint64_t want;

	if (!every(b, BACKTEST_PERIODS))
		return;
	want = cpu_fast_act(&p->cpu_fast, second_milli(b), sim_milli(&b->rig.sim));
	if (want != 0)
		backtest_set_cpu(b, want);
}

static void begin_cpu_fast(struct backtest *b)
{
	cpu_fast_init(&b->peer.cpu_fast, b->oracle->max_milli);
}

static void begin_captain(struct backtest *b)
{
	captain_init(&b->peer.captain, (double)b->oracle->max_milli / 1000, CAPTAIN_TARGET);
}

static void sample_captain(struct backtest *b, uint64_t used_usec)
{
	captain_sample(&b->peer.captain, (double)used_usec / (double)BACKTEST_PERIOD_USEC);
	b->peer.period_used_usec += used_usec;
}

static void act_captain(struct backtest *b)
{
	struct backtest_peer *p = &b->peer;
	const struct usage *u = &b->rig.sim.u;

	sample_captain(b, u->cpu_usage_usec - p->period_used_usec);
	if (!every(b, BACKTEST_PERIODS))
		return;
	if (captain_act(&p->captain, u->nr_throttled - p->throttled)) {
		backtest_set_cpu(b, (uint64_t)(p->captain.cores * 1000));
		p->captain.cores = (double)sim_milli(&b->rig.sim) / 1000;
	}
	p->throttled = u->nr_throttled;
}

/* ---- the threshold rule ---- */

/* The default; then the time begins anew. Without a ceiling, as the original is a guess. */
static bool above(struct backtest *b, enum resource r, uint64_t used, uint64_t limit)
{
	const struct tuning_threshold *t = &tuning_default.threshold;
	usec_t *since = &b->peer.above_since[r], now = b->rig.sim.now;

	threshold_note(t, since, used, limit, now);
	if (!threshold_due(t, *since, now))
		return false;
	*since = 0;
	return true;
}

static void act_threshold(struct backtest *b)
{
	const struct sim *s = &b->rig.sim;

	if (!every(b, BACKTEST_PERIODS))
		return;
	if (above(b, RESOURCE_CPU, second_milli(b), sim_milli(s)))
		backtest_set_cpu(b, 2 * sim_milli(s));
	if (b->trace->memory &&
	    above(b, RESOURCE_MEMORY, sim_unreclaimable(s), s->u.limits.mem_max))
		backtest_set_memory(b, 2 * s->u.limits.mem_max);
}

void backtest_policy_skip(struct backtest *b, const uint32_t *want_usec, size_t count)
{
	if (b->policy <= BACKTEST_SAVINGS)
		skip_vscaled(b, want_usec, count);
	for (size_t i = 0; b->policy == BACKTEST_CAPTAIN && i < count; i++)
		sample_captain(b, want_usec[i]);
}

static const struct {
	void (*begin)(struct backtest *b); /* NULL: with the original limits */
	void (*act)(struct backtest *b);   /* NULL: never */
	uint32_t every;                    /* calm periods between two acts of a peer; 0: all */
} rows[BACKTEST_POLICY_COUNT] = {
	[BACKTEST_LATENCY] = {begin_vscaled, act_vscaled, 0},
	[BACKTEST_BALANCED] = {begin_vscaled, act_vscaled, 0},
	[BACKTEST_SAVINGS] = {begin_vscaled, act_vscaled, 0},
	[BACKTEST_VPA] = {begin_vpa, act_vpa, PERIODS_PER_MINUTE},
	[BACKTEST_STATIC_P95] = {begin_p95, NULL, 0},
	[BACKTEST_CPU_FAST] = {begin_cpu_fast, act_cpu_fast, BACKTEST_PERIODS},
	[BACKTEST_CAPTAIN] = {begin_captain, act_captain, BACKTEST_PERIODS},
	[BACKTEST_THRESHOLD] = {NULL, act_threshold, BACKTEST_PERIODS},
};

void backtest_policy_begin(struct backtest *b)
{
	if (rows[b->policy].begin != NULL)
		rows[b->policy].begin(b);
}

void backtest_policy_act(struct backtest *b)
{
	if (rows[b->policy].act != NULL)
		rows[b->policy].act(b);
}

size_t backtest_policy_skips(const struct backtest *b, const uint32_t *want_usec, size_t count)
{
	uint32_t every = rows[b->policy].every;

	if (b->policy <= BACKTEST_SAVINGS)
		return skips_vscaled(b, want_usec, count);
	return every != 0 ? MIN(count, every - 1 - b->periods % every) : count;
}

/* ---- K8s-CPU-Fast ---- */

#define TARGET_PERMILLE    500
#define TOLERANCE_PERMILLE 100

void cpu_fast_init(struct cpu_fast *c, uint64_t limit_milli)
{
	*c = (struct cpu_fast){0};
	for (size_t i = 0; i < ARRAY_SIZE(c->wanted_milli); i++)
		c->wanted_milli[i] = limit_milli;
}

uint64_t cpu_fast_act(struct cpu_fast *c, uint64_t used_milli, uint64_t limit_milli)
{
	uint64_t share = used_milli * 1000 / limit_milli, want = 0;

	c->wanted_milli[c->next] = used_milli * 1000 / TARGET_PERMILLE;
	c->next = (c->next + 1) % ARRAY_SIZE(c->wanted_milli);
	if (share * 1000 >= TARGET_PERMILLE * (1000 - TOLERANCE_PERMILLE) &&
	    share * 1000 <= TARGET_PERMILLE * (1000 + TOLERANCE_PERMILLE))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(c->wanted_milli); i++)
		want = MAX(want, c->wanted_milli[i]);
	return MAX(want, 1u);
}

/* ---- the Captain ---- */

#define MARGIN_FIRST 3.0
#define CORES_MIN    0.01

void captain_init(struct captain *c, double cores, double target)
{
	*c = (struct captain){.cores = cores, .target = target, .margin = MARGIN_FIRST};
}

void captain_sample(struct captain *c, double cores)
{
	c->sample[c->next] = cores;
	c->next = (c->next + 1) % CAPTAIN_SAMPLES;
	if (c->samples < CAPTAIN_SAMPLES)
		c->samples++;
}

static double candidate(const struct captain *c)
{
	double highest = 0, sum = 0, squares = 0, mean, variance;

	for (unsigned i = 0; i < c->samples; i++) {
		highest = fmax(highest, c->sample[i]);
		sum += c->sample[i];
		squares += c->sample[i] * c->sample[i];
	}
	mean = sum / c->samples;
	variance = fmax(squares / c->samples - mean * mean, 0);
	return highest + c->margin * sqrt(variance);
}

bool captain_act(struct captain *c, uint64_t throttled)
{
	double ratio = (double)throttled / BACKTEST_PERIODS, before = c->before, want;

	c->margin = fmax(c->margin + ratio - c->target, 0);
	c->before = 0;
	if (ratio > 3 * c->target) {
		if (before > 0)
			c->cores = before;
		else
			c->cores *= 1 + ratio - 3 * c->target;
		return true;
	}
	if (c->samples < CAPTAIN_SAMPLES)
		return false;
	want = fmax(candidate(c), CORES_MIN);
	if (want > 0.9 * c->cores)
		return false;
	c->before = c->cores;
	c->cores = fmax(want, c->cores / 2);
	return true;
}

/* ---- VPA's updater ---- */

/* Summed over the resources. */
#define MIN_CHANGE 0.1
/* A change within the bounds waits until the pod is this old; a run that an OOM kill ends sooner
 * than this counts. */
#define LIFETIME_USEC  (12 * USEC_PER_HOUR)
#define QUICK_OOM_USEC (10 * USEC_PER_MIN)

/* VPA compares in thousandths of a unit: CPU amounts are so already, bytes are not. */
static const double milli_per_amount[RESOURCE_COUNT] = {
	[RESOURCE_CPU] = 1,
	[RESOURCE_MEMORY] = 1000,
};

struct vpa_priority vpa_update_priority(const int64_t request[RESOURCE_COUNT],
					const struct vpa_recommendation *rec)
{
	struct vpa_priority p = {0};

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		int64_t target = rec->amount[VPA_TARGET][r], upper = rec->amount[VPA_UPPER][r];
		double from = MAX((double)request[r] * milli_per_amount[r], 1.0);

		if (!(rec->resources & (1u << r)))
			continue;
		p.scale_up |= request[r] == 0 || target > request[r];
		/* An upper bound of 0 is one that is not there. */
		p.outside_range |= request[r] == 0 || request[r] < rec->amount[VPA_LOWER][r] ||
				   (upper > 0 && request[r] > upper);
		p.resource_diff += fabs(from - (double)target * milli_per_amount[r]) / from;
	}
	return p;
}

bool vpa_update_accepted(const struct vpa_priority *p, const struct vpa_pod_run *run)
{
	bool quick_oom = run->oom_killed && run->oom_run_usec < QUICK_OOM_USEC;

	if (quick_oom)
		return p->resource_diff > 0;
	if (p->outside_range)
		return true;
	return run->age_usec >= LIFETIME_USEC && p->resource_diff >= MIN_CHANGE;
}

/* ---- VPA's recommender and updater for one container ---- */

void backtest_vpa_init(struct backtest_vpa *v, uint32_t resources, usec_t now)
{
	const struct vpa_rules *rules = &vpa_rules_default;

	*v = (struct backtest_vpa){.resources = resources, .changed = now};
	histogram_init(&v->aggregate.cpu, &histogram_cpu, rules->half_life_usec);
	histogram_init(&v->aggregate.memory, &histogram_memory, rules->half_life_usec);
	v->container = (struct vpa_container){.aggregate = &v->aggregate, .rules = rules};
}

void backtest_vpa_drop(struct backtest_vpa *v)
{
	histogram_drop(&v->aggregate.cpu);
	histogram_drop(&v->aggregate.memory);
}

enum vpa_sample backtest_vpa_killed(struct backtest_vpa *v, int64_t request_bytes, usec_t now)
{
	v->oom_killed = true;
	v->oom_run_usec = now - v->changed;
	v->changed = now;
	return vpa_add_oom(&v->container, request_bytes, now);
}

bool backtest_vpa_update(struct backtest_vpa *v, const int64_t request[RESOURCE_COUNT],
			 const int64_t max[RESOURCE_COUNT], usec_t now, int64_t ret[RESOURCE_COUNT])
{
	struct vpa_recommendation rec;
	struct vpa_pod_run run = {
		.age_usec = now - v->changed,
		.oom_killed = v->oom_killed,
		.oom_run_usec = v->oom_run_usec,
	};
	struct vpa_priority p;

	if (v->aggregate.samples == 0)
		return false;
	vpa_estimate(&v->aggregate, &vpa_rules_default, 1, v->resources, &rec);
	for (int r = 0; r < RESOURCE_COUNT; r++)
		for (int b = 0; max[r] > 0 && b < VPA_BOUND_COUNT; b++)
			rec.amount[b][r] = MIN(rec.amount[b][r], max[r]);
	p = vpa_update_priority(request, &rec);
	if (!vpa_update_accepted(&p, &run))
		return false;
	for (int r = 0; r < RESOURCE_COUNT; r++)
		ret[r] = v->resources & 1u << r ? rec.amount[VPA_TARGET][r] : request[r];
	v->changed = now;
	v->oom_killed = false;
	return true;
}

// SPDX-License-Identifier: Apache-2.0
/* How each policy begins, and what it does after each period of 100 ms. */
#include "policy/backtest/backtest.h"
#include "policy/laws/threshold.h"

#define PERIODS_PER_SECOND 10
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

	if (!every(b, PERIODS_PER_SECOND))
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

static void act_captain(struct backtest *b)
{
	struct backtest_peer *p = &b->peer;
	const struct usage *u = &b->rig.sim.u;

	captain_sample(&p->captain, (double)(u->cpu_usage_usec - p->period_used_usec) /
					    (double)BACKTEST_PERIOD_USEC);
	p->period_used_usec = u->cpu_usage_usec;
	if (!every(b, PERIODS_PER_SECOND))
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

	if (!every(b, PERIODS_PER_SECOND))
		return;
	if (above(b, RESOURCE_CPU, second_milli(b), sim_milli(s)))
		backtest_set_cpu(b, 2 * sim_milli(s));
	if (b->trace->memory &&
	    above(b, RESOURCE_MEMORY, sim_unreclaimable(s), s->u.limits.mem_max))
		backtest_set_memory(b, 2 * s->u.limits.mem_max);
}

static const struct {
	void (*begin)(struct backtest *b); /* NULL: with the original limits */
	void (*act)(struct backtest *b);   /* NULL: never */
} rows[BACKTEST_POLICY_COUNT] = {
	[BACKTEST_LATENCY] = {begin_vscaled, act_vscaled},
	[BACKTEST_BALANCED] = {begin_vscaled, act_vscaled},
	[BACKTEST_SAVINGS] = {begin_vscaled, act_vscaled},
	[BACKTEST_VPA] = {begin_vpa, act_vpa},
	[BACKTEST_STATIC_P95] = {begin_p95, NULL},
	[BACKTEST_CPU_FAST] = {begin_cpu_fast, act_cpu_fast},
	[BACKTEST_CAPTAIN] = {begin_captain, act_captain},
	[BACKTEST_THRESHOLD] = {NULL, act_threshold},
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

// SPDX-License-Identifier: Apache-2.0
/* The laws together, through control.h alone, against a cgroup in virtual time. */
#include "policy/bounds.h"
#include "policy/control.h"
#include "test/check.h"
#include "test/policy/rig.h"

static struct control_resource *cpu(struct rig *r)
{
	return &r->c.resource[RESOURCE_CPU];
}

static struct control_resource *mem(struct rig *r)
{
	return &r->c.resource[RESOURCE_MEMORY];
}

static bool has_80(const struct rig *r)
{
	return sim_milli(&r->sim) >= 800;
}

/* A unit at 20 % that never wanted more, for a day; then it wants 80 %. */
static void test_day_then_more(void)
{
	struct rig r;

	rig_init(&r, 200, GIB, 2);
	r.sim.load = sim_steady(1, 180);
	rig_run(&r, USEC_PER_DAY);
	/* Once, for the margin above its 180m. */
	CHECK(r.count[KNOB_CPU_MAX] <= 1);
	CHECK(sim_milli(&r.sim) <= 250);
	CHECK(r.c.recommendation.confidence_permille >= 990);
	r.sim.load = sim_steady(1, 800);
	r.max_milli = 0;
	CHECK(rig_until(&r, has_80, USEC_PER_MIN) <= 10 * USEC_PER_SEC);
	rig_run(&r, USEC_PER_HOUR);
	CHECK(r.max_milli <= 1600);
	CHECK(sim_milli(&r.sim) >= 800);
	CHECK(cpu(&r)->counters.undos == 0);
	CHECK(r.sim.u.nr_throttled <= 100);
	/* Its memory was far too large for nothing in use: down, in steps. */
	CHECK(r.sim.u.limits.mem_max < GIB);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
}

static bool shrank;

static void never_below_use(struct rig *r, const struct change *c)
{
	uint64_t use = sim_unreclaimable(&r->sim);

	if (!change_lowers(c) || c->knob != KNOB_MEM_MAX)
		return;
	shrank = true;
	CHECK(c->to >= use + MAX(use / 10, 8 * MIB));
	CHECK(c->to >= c->from - c->from / 10 - MEM_PAGE_BYTES);
}

/* Nothing shrinks before a day of history (memory) and 5 min (both); then both come down. */
static void test_oversized(void)
{
	struct rig r;
	uint64_t random = 3;

	rig_init(&r, 2000, 2 * GIB, 2);
	r.before = never_below_use;
	r.sim.load = sim_steady(1, 300);
	r.sim.m.anon = 400 * MIB;
	shrank = false;
	for (usec_t t = 0; t < 4 * USEC_PER_HOUR; t += USEC_PER_MIN) {
		/* Breathing use, between 300 and 450 MiB. */
		r.sim.load.anon_goal = (300 + random_next(&random) % 150) * MIB;
		r.sim.load.anon_bps = 50 * MIB;
		rig_run(&r, USEC_PER_MIN);
	}
	CHECK(!shrank);
	CHECK_EQ(mem(&r)->hold, HOLD_HISTORY);
	CHECK(mem(&r)->next_at > r.sim.now);
	rig_fill_history(&r, 300, 450 * MIB, USEC_PER_DAY);
	for (usec_t t = 0; t < 6 * USEC_PER_HOUR; t += USEC_PER_MIN) {
		r.sim.load.anon_goal = (300 + random_next(&random) % 150) * MIB;
		rig_run(&r, USEC_PER_MIN);
	}
	CHECK(shrank);
	CHECK(r.sim.u.limits.mem_max <= 700 * MIB);
	CHECK(sim_milli(&r.sim) <= 600);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
	CHECK(r.sim.u.nr_throttled * 100 <= r.sim.u.nr_periods);
	CHECK(r.sim.m.stalled_usec <= 20 * USEC_PER_SEC);
}

/* Confidence: until a day has been seen the original, less the share of the day, is the floor. */
static void test_confidence_floor(void)
{
	struct rig r;

	rig_init(&r, 2000, GIB, 2);
	r.sim.load = sim_steady(1, 100);
	for (int hour = 1; hour <= 12; hour++) {
		rig_run(&r, USEC_PER_HOUR);
		CHECK(sim_milli(&r.sim) >= 2000 * (24 - (uint64_t)hour) / 24);
	}
	CHECK(sim_milli(&r.sim) <= 1300);
}

static void test_mode_off(void)
{
	struct rig r;

	rig_init(&r, 100, 100 * MIB, 2);
	r.c.rule.mode = MODE_OFF;
	r.sim.load = sim_steady(2, 1500);
	r.sim.load.anon_bps = 5 * MIB;
	r.sim.load.anon_goal = 300 * MIB;
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.changes, 0);
	CHECK_EQ(r.last.at, 0);
	CHECK_EQ(cpu(&r)->hold, HOLD_MODE_OFF);
	CHECK_EQ(mem(&r)->hold, HOLD_MODE_OFF);
	CHECK(cpu(&r)->candidate > 100);
	CHECK(r.sim.u.events.oom_kill > 0);
	CHECK(mem(&r)->counters.oom_kills > 0);
}

/* Initial: at the first review, from history, and never again. */
static void test_mode_initial(void)
{
	struct rig r;
	uint32_t changes;

	rig_init(&r, 2000, GIB, 2);
	r.c.rule.mode = MODE_INITIAL;
	rig_fill_history(&r, 400, 200 * MIB, USEC_PER_DAY);
	r.sim.load = sim_steady(1, 300);
	r.sim.m.anon = r.sim.load.anon_goal = 100 * MIB;
	r.sim.m.file = 50 * MIB;
	rig_run(&r, 9 * USEC_PER_SEC);
	CHECK_EQ(r.changes, 0);
	rig_run(&r, 2 * USEC_PER_SEC);
	changes = r.changes;
	CHECK(sim_milli(&r.sim) <= 520 && sim_milli(&r.sim) >= 400);
	CHECK(r.sim.u.limits.mem_max <= 260 * MIB && r.sim.u.limits.mem_max >= 200 * MIB);
	r.sim.load = sim_steady(2, 1900);
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.changes, changes);
	CHECK_EQ(cpu(&r)->hold, HOLD_INITIAL_DONE);
	CHECK_EQ(mem(&r)->hold, HOLD_INITIAL_DONE);
	/* A new start is a new chance. */
	r.sim.load = sim_steady(1, 300);
	rig_restart(&r);
	rig_run(&r, 11 * USEC_PER_SEC);
	CHECK(r.changes >= changes);
	CHECK_EQ(cpu(&r)->hold, HOLD_NONE);
}

/* Without history nothing is sized, and later neither: it was not at the start. */
static void test_initial_without_history(void)
{
	struct rig r;

	rig_init(&r, 2000, GIB, 2);
	r.c.rule.mode = MODE_INITIAL;
	r.sim.load = sim_steady(1, 300);
	rig_run(&r, USEC_PER_DAY);
	CHECK_EQ(r.changes, 0);
}

static void test_scale_down_off(void)
{
	struct rig r;

	rig_init(&r, 1000, GIB, 2);
	r.c.rule.scale_down = false;
	rig_fill_history(&r, 100, 100 * MIB, USEC_PER_DAY);
	r.sim.load = sim_steady(1, 100);
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.changes, 0);
	CHECK_EQ(cpu(&r)->hold, HOLD_SCALE_DOWN_OFF);
	CHECK_EQ(mem(&r)->hold, HOLD_SCALE_DOWN_OFF);
	/* Up still works. */
	r.sim.load = sim_steady(2, 1800);
	rig_run(&r, USEC_PER_MIN);
	CHECK(cpu(&r)->counters.raises > 0);
}

static void test_no_limit(void)
{
	struct rig r;

	rig_init(&r, LIMIT_MAX, LIMIT_MAX, 2);
	rig_fill_history(&r, 100, 100 * MIB, USEC_PER_DAY);
	r.sim.load = sim_steady(2, 1500);
	r.sim.load.anon_bps = 10 * MIB;
	r.sim.load.anon_goal = GIB;
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.changes, 0);
	CHECK_EQ(cpu(&r)->hold, HOLD_NO_LIMIT);
	CHECK_EQ(mem(&r)->hold, HOLD_NO_LIMIT);
	CHECK(control_mem_property(&r.c, &r.t) == LIMIT_MAX);
}

static void test_one_resource(void)
{
	struct policy_rule rule = policy_rule_default;
	struct rig r;

	rig_init(&r, 200, 100 * MIB, 2);
	rule.resources = RESOURCES_MEMORY;
	control_set_rule(&r.c, &rule);
	r.sim.load = sim_steady(1, 800);
	r.sim.load.anon_bps = 5 * MIB;
	r.sim.load.anon_goal = 200 * MIB;
	rig_run(&r, 2 * USEC_PER_MIN);
	CHECK_EQ(r.count[KNOB_CPU_MAX], 0);
	CHECK(r.count[KNOB_MEM_MAX] > 0);
	CHECK_EQ(cpu(&r)->hold, HOLD_NOT_CONTROLLED);
}

/* At the ceiling: told once, for as long as it presses; no step above it. */
static void test_ceiling(void)
{
	struct rig r;
	uint32_t rising = 0;
	bool before = false;

	rig_init(&r, 200, 100 * MIB, 2);
	r.c.rule.cpu_milli.max = 500;
	r.sim.load = sim_steady(2, 1500);
	r.sim.load.anon_bps = 20 * MIB;
	r.sim.load.anon_goal = GIB;
	for (int i = 0; i < 600; i++) {
		rig_tick(&r);
		rising += cpu(&r)->at_ceiling && !before;
		before = cpu(&r)->at_ceiling;
	}
	CHECK_EQ(rising, 1);
	CHECK_EQ(sim_milli(&r.sim), 500);
	CHECK_EQ(r.max_milli, 500);
	CHECK_EQ(cpu(&r)->hold, HOLD_CEILING);
	/* Memory: four times the original. */
	CHECK_EQ(r.max_bytes, 400 * MIB);
	CHECK(r.sim.u.events.oom_kill > 0);
	/* A minute without pressing ends it. */
	r.sim.load = (struct sim_load){0};
	rig_run(&r, 90 * USEC_PER_SEC);
	CHECK(!cpu(&r)->at_ceiling);
	CHECK_EQ(control_ceiling(&r.c, &r.t, RESOURCE_CPU, 2000), 500);
	CHECK_EQ(control_ceiling(&r.c, &r.t, RESOURCE_MEMORY, 2000), 400 * MIB);
	r.c.rule.cpu_milli.max = 0;
	CHECK_EQ(control_ceiling(&r.c, &r.t, RESOURCE_CPU, 2000), 2000);
}

static void test_paused(void)
{
	for (int gave_way = 0; gave_way < 2; gave_way++) {
		struct rig r;

		rig_init(&r, 200, 100 * MIB, 2);
		r.c.paused = !gave_way;
		r.c.gave_way = gave_way;
		r.sim.load = sim_steady(1, 800);
		rig_run(&r, 10 * USEC_PER_MIN);
		CHECK_EQ(r.changes, 0);
		CHECK_EQ(cpu(&r)->hold, HOLD_PAUSED);
		CHECK(cpu(&r)->candidate > 0);
		r.c.paused = r.c.gave_way = false;
		rig_run(&r, USEC_PER_MIN);
		CHECK(r.changes > 0);
	}
}

/* A pause, an Off or an adopted value in the middle of a trial: memory.high does not stay behind.
 */
static void start_trial(struct rig *r)
{
	rig_init(r, 1000, GIB, 2);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	while (r->sim.u.limits.mem_high == LIMIT_MAX)
		rig_tick(r);
	CHECK_EQ(r->c.mem.trial.phase, MEM_HIGH);
	CHECK_EQ(r->sim.u.limits.mem_max, GIB);
}

static void test_trial_interrupted(void)
{
	struct policy_rule off = policy_rule_default;
	struct rig r;

	start_trial(&r);
	r.c.paused = true;
	rig_tick(&r);
	CHECK(r.sim.u.limits.mem_high == LIMIT_MAX);
	CHECK_EQ(r.c.mem.trial.phase, MEM_IDLE);

	start_trial(&r);
	off.mode = MODE_OFF;
	control_set_rule(&r.c, &off);
	rig_tick(&r);
	CHECK(r.sim.u.limits.mem_high == LIMIT_MAX);

	start_trial(&r);
	sim_write(&r.sim, KNOB_MEM_MAX, 800 * MIB);
	rig_adopt(&r, RESOURCE_MEMORY);
	CHECK(r.sim.u.limits.mem_high == LIMIT_MAX);
	CHECK(r.c.original.mem_high == LIMIT_MAX);
	CHECK_EQ(mem(&r)->original, 800 * MIB);
	CHECK_EQ(mem(&r)->limit, 800 * MIB);

	/* The daemon died in the trial; its successor lifts at the first look. */
	start_trial(&r);
	control_init(&r.c, &r.t, &policy_rule_default, &r.c.original);
	control_restarted(&r.c, &r.sim.u.limits, r.sim.now);
	rig_tick(&r);
	CHECK(r.sim.u.limits.mem_high == LIMIT_MAX);
}

/* A slow writer was given headroom and wrote it: it is taken back a minute after the growth. */
static void test_settle(void)
{
	struct rig r;
	uint64_t limit, property;
	usec_t grown;

	rig_init(&r, 1000, 200 * MIB, 2);
	r.sim.m.anon = r.sim.load.anon_goal = 100 * MIB;
	rig_run(&r, 20 * USEC_PER_SEC);
	r.sim.load.anon_bps = 10 * MIB;
	r.sim.load.anon_goal = 300 * MIB;
	rig_run(&r, 15 * USEC_PER_SEC);
	limit = mem(&r)->limit;
	property = control_mem_property(&r.c, &r.t);
	CHECK(property >= r.sim.m.anon + 300 * MIB);
	CHECK(property <= 800 * MIB);
	sim_write(&r.sim, KNOB_MEM_MAX, property);
	rig_run(&r, 10 * USEC_PER_SEC);
	CHECK_EQ(r.sim.m.anon, 300 * MIB);
	grown = r.c.mem.last_growth;
	while (r.sim.u.limits.mem_max == property && r.sim.now - grown < USEC_PER_HOUR)
		rig_tick(&r);
	CHECK(r.sim.now - grown >= 60 * USEC_PER_SEC);
	CHECK(r.sim.now - grown <= 71 * USEC_PER_SEC);
	CHECK_EQ(r.last.step.reason, REASON_SETTLED);
	CHECK(r.sim.u.limits.mem_max >= limit);
	CHECK(r.sim.u.limits.mem_max >= 330 * MIB);
	CHECK(r.sim.u.limits.mem_max <= 450 * MIB);
	CHECK_EQ(mem(&r)->limit, r.sim.u.limits.mem_max);
	rig_run(&r, 10 * USEC_PER_MIN);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
}

/* The headroom is full of page cache by then: that is taken back first. */
static void test_settle_over_cache(void)
{
	struct rig r;

	rig_init(&r, 1000, 200 * MIB, 2);
	r.sim.m.anon = r.sim.load.anon_goal = 100 * MIB;
	rig_run(&r, 20 * USEC_PER_SEC);
	sim_write(&r.sim, KNOB_MEM_MAX, 700 * MIB);
	r.sim.m.file = 500 * MIB;
	rig_run(&r, 5 * USEC_PER_MIN);
	CHECK_EQ(r.sim.u.limits.mem_max, 200 * MIB);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
	CHECK_EQ(r.sim.write_kills, 0);
}

static void test_adopt(void)
{
	struct rig r;

	rig_init(&r, 200, 100 * MIB, 2);
	r.sim.load = sim_steady(1, 700);
	rig_run(&r, USEC_PER_MIN);
	CHECK(sim_milli(&r.sim) >= 700);
	sim_write(&r.sim, KNOB_CPU_MAX, 150000);
	rig_adopt(&r, RESOURCE_CPU);
	CHECK_EQ(cpu(&r)->original, 1500);
	CHECK_EQ(cpu(&r)->limit, 1500);
	CHECK_EQ(r.c.original.cpu_quota_usec, 150000);
	rig_run(&r, 50 * USEC_PER_SEC);
	CHECK_EQ(sim_milli(&r.sim), 1500);

	sim_write(&r.sim, KNOB_MEM_MAX, 300 * MIB);
	rig_adopt(&r, RESOURCE_MEMORY);
	CHECK_EQ(control_ceiling(&r.c, &r.t, RESOURCE_MEMORY, 2000), 1200 * MIB);
	/* A limit that was taken away is not given back. */
	sim_write(&r.sim, KNOB_CPU_MAX, LIMIT_MAX);
	rig_adopt(&r, RESOURCE_CPU);
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(cpu(&r)->hold, HOLD_NO_LIMIT);
	CHECK(r.sim.u.limits.cpu_quota_usec == LIMIT_MAX);
}

static void test_reassert(void)
{
	struct rig r;

	rig_init(&r, 500, 500 * MIB, 2);
	r.sim.m.anon = r.sim.load.anon_goal = 100 * MIB;
	rig_run(&r, 20 * USEC_PER_SEC);
	sim_write(&r.sim, KNOB_CPU_MAX, 10000);
	sim_write(&r.sim, KNOB_MEM_MAX, 200 * MIB);
	rig_reassert(&r, RESOURCE_CPU);
	rig_reassert(&r, RESOURCE_MEMORY);
	CHECK_EQ(sim_milli(&r.sim), 500);
	CHECK_EQ(r.sim.u.limits.mem_max, 500 * MIB);
	CHECK_EQ(mem(&r)->counters.drifts, 1);
	CHECK_EQ(mem(&r)->last.reason, REASON_DRIFT);
	/* Somebody raised it, and the use grew into that: ours would kill, so it stays above use.
	 */
	sim_write(&r.sim, KNOB_MEM_MAX, 2 * GIB);
	r.sim.load.anon_goal = r.sim.m.anon = 900 * MIB;
	r.c.paused = true;
	rig_tick(&r);
	r.c.paused = false;
	rig_reassert(&r, RESOURCE_MEMORY);
	CHECK(r.sim.u.limits.mem_max >= 990 * MIB);
	CHECK(r.sim.u.limits.mem_max < GIB);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
}

/* A successor has nothing on record: its memory.max is not lowered before it was looked at. */
static void test_reassert_unseen(void)
{
	struct rig r;

	rig_init(&r, 500, 500 * MIB, 2);
	rig_run(&r, 20 * USEC_PER_SEC);
	rig_restart(&r);
	sim_write(&r.sim, KNOB_MEM_MAX, GIB);
	r.sim.m.anon = 700 * MIB;
	rig_reassert(&r, RESOURCE_MEMORY);
	CHECK_EQ(r.sim.u.limits.mem_max, GIB);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
}

static void test_restart(void)
{
	struct rig r;
	uint64_t milli, bytes;

	rig_init(&r, 200, 100 * MIB, 2);
	r.sim.load = sim_steady(1, 700);
	r.sim.load.anon_bps = 10 * MIB;
	r.sim.load.anon_goal = 200 * MIB;
	rig_run(&r, 2 * USEC_PER_MIN);
	milli = cpu(&r)->limit;
	bytes = mem(&r)->limit;
	CHECK(milli >= 700 && bytes >= 200 * MIB);
	/* The new cgroup has the unit's own values; what we held is put back, nothing shrinks. */
	sim_restart(&r.sim);
	sim_write(&r.sim, KNOB_CPU_MAX, 20000);
	sim_write(&r.sim, KNOB_MEM_MAX, 100 * MIB);
	control_restarted(&r.c, &r.sim.u.limits, r.sim.now);
	CHECK_EQ(cpu(&r)->limit, milli);
	CHECK_EQ(mem(&r)->limit, bytes);
	rig_reassert(&r, RESOURCE_CPU);
	rig_reassert(&r, RESOURCE_MEMORY);
	CHECK_EQ(sim_milli(&r.sim), milli);
	CHECK_EQ(r.sim.u.limits.mem_max, bytes);
	rig_run(&r, 5 * USEC_PER_MIN - USEC_PER_SEC);
	CHECK_EQ(cpu(&r)->counters.lowers, 0);
	CHECK(r.c.history.samples > 100);
}

/* It ended while a smaller size was on trial: that may be why. */
static void test_restart_in_trial(void)
{
	struct rig r;

	rig_init(&r, 2000, GIB, 2);
	rig_fill_history(&r, 100, 100 * MIB, USEC_PER_DAY);
	r.sim.m.anon = r.sim.load.anon_goal = 100 * MIB;
	while (r.c.mem.trial.phase != MEM_MAX)
		rig_tick(&r);
	CHECK(mem(&r)->limit < GIB);
	rig_restart(&r);
	CHECK_EQ(mem(&r)->limit, GIB);
}

/* An odd period: what was decided is what is held and put back, not a rounded neighbour. */
static void test_odd_period(void)
{
	struct limits l = {16666, 33333, 0, GIB, LIMIT_MAX};
	struct rig r;
	uint64_t quota;

	rig_init(&r, 500, GIB, 2);
	sim_init(&r.sim, &l, 2, 1);
	control_init(&r.c, &r.t, &policy_rule_default, &l);
	control_restarted(&r.c, &l, r.sim.now);
	r.sim.load = sim_steady(2, 1500);
	rig_run(&r, USEC_PER_MIN);
	CHECK(cpu(&r)->counters.raises > 0);
	CHECK_EQ(cpu(&r)->limit % CPU_QUANTUM_MILLI, 0);
	quota = r.sim.u.limits.cpu_quota_usec;
	sim_write(&r.sim, KNOB_CPU_MAX, 5000);
	rig_reassert(&r, RESOURCE_CPU);
	CHECK_EQ(r.sim.u.limits.cpu_quota_usec, quota);
}

static void burst_fits(struct rig *r, const struct change *c)
{
	(void)c;
	CHECK(r->sim.u.limits.cpu_burst_usec <= r->sim.u.limits.cpu_quota_usec);
}

/* A burst goes down before the quota and comes back after it, never above the original. */
static void test_burst(void)
{
	struct limits l = {200000, 100000, 150000, GIB, LIMIT_MAX};
	struct rig r;

	rig_init(&r, 2000, GIB, 2);
	sim_init(&r.sim, &l, 2, 1);
	control_init(&r.c, &r.t, &policy_rule_default, &l);
	control_restarted(&r.c, &l, r.sim.now);
	rig_fill_history(&r, 100, 100 * MIB, USEC_PER_DAY);
	r.before = burst_fits;
	r.sim.load = sim_steady(1, 200);
	rig_run(&r, USEC_PER_HOUR);
	CHECK(r.sim.u.limits.cpu_quota_usec < 50000);
	CHECK_EQ(r.sim.u.limits.cpu_burst_usec, r.sim.u.limits.cpu_quota_usec);
	r.sim.load = sim_steady(2, 2000);
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.sim.u.limits.cpu_burst_usec, 150000);
}

/* Bounds that contradict use: a maximum below what is in use ends at use, not below. */
static void test_max_below_use(void)
{
	struct rig r;

	rig_init(&r, 1000, GIB, 2);
	rig_fill_history(&r, 100, 100 * MIB, USEC_PER_DAY);
	r.c.rule.mem_bytes.max = 64 * MIB;
	r.before = never_below_use;
	r.sim.m.anon = r.sim.load.anon_goal = 300 * MIB;
	rig_run(&r, 4 * USEC_PER_HOUR);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
	CHECK(r.sim.u.limits.mem_max >= 330 * MIB);
	CHECK(r.sim.u.limits.mem_max <= 400 * MIB);
	CHECK(mem(&r)->trace.count > 0);
	CHECK_EQ(mem(&r)->trace.step[mem(&r)->trace.count - 1].bound, BOUND_USE);
}

/* Observations without some groups, and a plan without room: nothing breaks. */
static void test_partial_observations(void)
{
	struct rig r;
	struct change steps[1];
	struct plan p = {.steps = steps};
	struct control_context x;
	struct usage u;

	rig_init(&r, 200, 100 * MIB, 2);
	r.sim.load = sim_steady(1, 800);
	r.sim.load.anon_bps = 10 * MIB;
	r.sim.load.anon_goal = 300 * MIB;
	for (uint32_t i = 0; i < 2000; i++) {
		sim_run(&r.sim, USEC_PER_SEC);
		x = rig_context(&r, &p);
		sim_observe(&r.sim, &u);
		u.have &= i * 2654435761u >> 8;
		if (!(u.have & USAGE_CPU))
			u.cpu_usage_usec = 0;
		p.count = 0;
		p.capacity = i % 2;
		control_observe(&r.c, &u, &x);
		control_review(&r.c, &x);
	}
	CHECK(cpu(&r)->counters.raises == 0);
	CHECK(r.c.rates.used_milli <= 2000);
}

int main(void)
{
	test_day_then_more();
	test_oversized();
	test_confidence_floor();
	test_mode_off();
	test_mode_initial();
	test_initial_without_history();
	test_scale_down_off();
	test_no_limit();
	test_one_resource();
	test_ceiling();
	test_paused();
	test_trial_interrupted();
	test_settle();
	test_settle_over_cache();
	test_adopt();
	test_reassert();
	test_reassert_unseen();
	test_restart();
	test_restart_in_trial();
	test_odd_period();
	test_burst();
	test_max_below_use();
	test_partial_observations();
	return check_result();
}

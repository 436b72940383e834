// SPDX-License-Identifier: Apache-2.0
/* The laws together, through control.h alone, against a cgroup in virtual time. */
#include "test/check.h"
#include "test/policy/rig.h"

static bool has_80(const struct rig *r)
{
	return sim_milli(&r->sim) >= 800;
}

/* A unit at 20 % that never wanted more, for a day; then it wants 80 %. */
TEST_RIG(day_then_more)
{
	rig_init(r, 200, GIB, 2);
	r->sim.load = sim_steady(1, 180);
	rig_run(r, USEC_PER_DAY);
	/* Once, for the margin above its 180m. */
	CHECK(r->count[KNOB_CPU_MAX] <= 1);
	CHECK(sim_milli(&r->sim) <= 250);
	CHECK(r->c.recommendation.confidence_permille[RESOURCE_CPU] >= 990);
	r->sim.load = sim_steady(1, 800);
	r->max_milli = 0;
	CHECK(rig_until(r, has_80, USEC_PER_MIN) <= 10 * USEC_PER_SEC);
	rig_run(r, USEC_PER_HOUR);
	CHECK(r->max_milli <= 1600);
	CHECK(sim_milli(&r->sim) >= 800);
	CHECK(cpu(r)->counters.undos == 0);
	CHECK(r->sim.u.nr_throttled <= 100);
	/* Its memory was far too large for nothing in use: down, in steps. */
	CHECK(r->sim.u.limits.mem_max < GIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

static bool shrank;

static void never_below_use(struct rig *r, const struct change *c)
{
	uint64_t use = sim_unreclaimable(&r->sim);

	if (!change_lowers(c) || c->knob != KNOB_MEM_MAX)
		return;
	shrank = true;
	CHECK(c->to >= use + MAX(use / 10, 8 * MIB));
	CHECK(c->to >= c->from - c->from / 10 - PAGE_DEFAULT_BYTES);
}

/* Nothing shrinks before a day of history (memory) and 5 min (both); then both come down. */
TEST_RIG(oversized)
{
	uint64_t random = 3;

	rig_init(r, 2000, 2 * GIB, 2);
	r->before = never_below_use;
	r->sim.load = sim_steady(1, 300);
	r->sim.m.anon = 400 * MIB;
	shrank = false;
	for (usec_t t = 0; t < 4 * USEC_PER_HOUR; t += USEC_PER_MIN) {
		/* Breathing use, between 300 and 450 MiB. */
		sim_grow(&r->sim, 50 * MIB, (300 + random_next(&random) % 150) * MIB);
		rig_run(r, USEC_PER_MIN);
	}
	CHECK(!shrank);
	CHECK_EQ(mem(r)->blocked, BLOCKED_HISTORY);
	CHECK(mem(r)->next_at > r->sim.now);
	rig_fill_history(r, 300, 450 * MIB, USEC_PER_DAY);
	for (usec_t t = 0; t < 6 * USEC_PER_HOUR; t += USEC_PER_MIN) {
		r->sim.load.anon_goal = (300 + random_next(&random) % 150) * MIB;
		rig_run(r, USEC_PER_MIN);
	}
	CHECK(shrank);
	CHECK(r->sim.u.limits.mem_max <= 700 * MIB);
	CHECK(sim_milli(&r->sim) <= 600);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.nr_throttled * 100 <= r->sim.u.nr_periods);
	CHECK(r->sim.m.stalled_usec <= 20 * USEC_PER_SEC);
}

/* Confidence: until a day has been seen the original, less the share of the day, is the floor. */
TEST_RIG(confidence_floor)
{
	rig_init(r, 2000, GIB, 2);
	r->sim.load = sim_steady(1, 100);
	for (int hour = 1; hour <= 12; hour++) {
		rig_run(r, USEC_PER_HOUR);
		CHECK(sim_milli(&r->sim) >= 2000 * (24 - (uint64_t)hour) / 24);
	}
	CHECK(sim_milli(&r->sim) <= 1300);
}

TEST_RIG(mode_off)
{
	rig_init(r, 100, 100 * MIB, 2);
	r->c.rule.mode = MODE_OFF;
	r->sim.load = sim_steady(2, 1500);
	sim_grow(&r->sim, 5 * MIB, 300 * MIB);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(r->c.resource[RESOURCE_CPU].planned_at, 0);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].planned_at, 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_MODE_OFF);
	CHECK_EQ(mem(r)->blocked, BLOCKED_MODE_OFF);
	CHECK(cpu(r)->candidate > 100);
	CHECK(r->sim.u.events.oom_kill > 0);
	CHECK(mem(r)->counters.oom_kills > 0);
}

/* Initial: at the first review, from history, and never again. */
TEST_RIG(mode_initial)
{
	uint32_t changes;

	rig_init(r, 2000, GIB, 2);
	r->c.rule.mode = MODE_INITIAL;
	rig_fill_history(r, 400, 200 * MIB, USEC_PER_DAY);
	r->sim.load = sim_steady(1, 300);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	r->sim.m.file = 50 * MIB;
	rig_run(r, 9 * USEC_PER_SEC);
	CHECK_EQ(r->changes, 0);
	rig_run(r, 2 * USEC_PER_SEC);
	changes = r->changes;
	CHECK(sim_milli(&r->sim) <= 520 && sim_milli(&r->sim) >= 400);
	CHECK(r->sim.u.limits.mem_max <= 260 * MIB && r->sim.u.limits.mem_max >= 200 * MIB);
	r->sim.load = sim_steady(2, 1900);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(r->changes, changes);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_INITIAL_DONE);
	CHECK_EQ(mem(r)->blocked, BLOCKED_INITIAL_DONE);
	/* A new start is a new chance. */
	r->sim.load = sim_steady(1, 300);
	rig_restart(r);
	rig_run(r, 11 * USEC_PER_SEC);
	CHECK(r->changes >= changes);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_NONE);
}

/* Without history nothing is sized, and later neither: it was not at the start. */
TEST_RIG(initial_without_history)
{
	rig_init(r, 2000, GIB, 2);
	r->c.rule.mode = MODE_INITIAL;
	r->sim.load = sim_steady(1, 300);
	rig_run(r, USEC_PER_DAY);
	CHECK_EQ(r->changes, 0);
}

/* The configured minimum needs no history. */
TEST_RIG(initial_minimum)
{
	rig_init(r, 200, 32 * MIB, 2);
	r->c.rule.mode = MODE_INITIAL;
	r->c.rule.cpu_milli.min = 400;
	r->c.rule.mem_bytes.min = 64 * MIB;
	r->sim.load = sim_steady(1, 50);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(cpu(r)->limit, 400);
	CHECK_EQ(mem(r)->limit, 64 * MIB);
	CHECK_EQ(cpu(r)->last.reason, REASON_MINIMUM);
	CHECK_EQ(mem(r)->last.reason, REASON_MINIMUM);
	CHECK_EQ(cpu(r)->counters.raises, 1);
	CHECK_EQ(mem(r)->counters.raises, 1);
}

TEST_RIG(scale_down_off)
{
	rig_init(r, 1000, GIB, 2);
	r->c.rule.scale_down = false;
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.load = sim_steady(1, 100);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_SCALE_DOWN_OFF);
	CHECK_EQ(mem(r)->blocked, BLOCKED_SCALE_DOWN_OFF);
	/* Up still works. */
	r->sim.load = sim_steady(2, 1800);
	rig_run(r, USEC_PER_MIN);
	CHECK(cpu(r)->counters.raises > 0);
}

/* Nothing moves, except for memory that use is about to fill. */
static void test_hold(bool freeze, enum blocked_reason blocked)
{
	struct rig r;

	rig_init(&r, 1000, GIB, 2);
	r.c.rule.freeze = freeze;
	r.c.pod.limits_frozen = freeze ? 0 : RESOURCES_BOTH;
	r.c.rule.scale_down = false;
	r.c.rule.cpu_milli.min = 1200;
	r.c.rule.mem_bytes.min = 2 * GIB;
	rig_fill_history(&r, 100, 100 * MIB, USEC_PER_DAY);
	r.sim.load = sim_steady(2, 1800);
	rig_run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.changes, 0);
	CHECK_EQ(cpu(&r)->blocked, blocked);
	CHECK_EQ(mem(&r)->blocked, blocked);
	sim_grow(&r.sim, 50 * MIB, 3 * GIB);
	rig_run(&r, 2 * USEC_PER_MIN);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
	CHECK(mem(&r)->limit > 3 * GIB);
	CHECK_EQ(cpu(&r)->limit, 1000);
}

TEST_RIG(no_limit)
{
	rig_init(r, LIMIT_MAX, LIMIT_MAX, 2);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.load = sim_steady(2, 1500);
	sim_grow(&r->sim, 10 * MIB, GIB);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_NO_LIMIT);
	CHECK_EQ(mem(r)->blocked, BLOCKED_NO_LIMIT);
	CHECK(control_mem_property(&r->c, &r->t) == LIMIT_MAX);
}

/* A PID 1 that does each call and each reload this late. */
#define PID1_LAG_USEC (2300 * USEC_PER_MSEC)

/* What it stores is ahead of use from a standstill on: it was sent before growth began. */
static void test_property_is_ahead(uint64_t rate_bps)
{
	uint64_t stored = 64 * MIB, reported = 0;
	usec_t reported_at = 0;
	unsigned calls = 0;
	struct rig r;

	rig_init(&r, 1000, 64 * MIB, 2);
	r.c.rule.mem_bytes.max = 2 * GIB;
	r.sim.m.anon = r.sim.load.anon_goal = 20 * MIB;
	for (usec_t end = r.sim.now + 12 * USEC_PER_SEC; r.sim.now < end;) {
		if (end - r.sim.now < 7 * USEC_PER_SEC) {
			sim_grow(&r.sim, rate_bps, GIB);
		}
		rig_tick(&r);
		if (reported != 0 && r.sim.now - reported_at >= PID1_LAG_USEC) {
			stored = reported;
			reported = 0;
		}
		if (reported == 0 && control_mem_property_short(&r.c, &r.t, stored)) {
			reported = control_mem_property(&r.c, &r.t);
			reported_at = r.sim.now;
			calls++;
			CHECK(reported > stored);
		}
		if (r.sim.m.anon > 64 * MIB)
			CHECK(stored >= r.sim.m.anon);
	}
	CHECK(r.sim.m.anon > 200 * MIB);
	CHECK(calls >= 2 && calls <= 4);
}

TEST_RIG(property_needs_no_call)
{
	rig_init(r, 1000, 512 * MIB, 2);
	CHECK(!control_mem_property_short(&r->c, &r->t, 512 * MIB)); /* nothing was seen yet */
	r->sim.m.anon = r->sim.load.anon_goal = 200 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK(!control_mem_property_short(&r->c, &r->t, 512 * MIB));
	CHECK(!control_mem_property_short(&r->c, &r->t, LIMIT_MAX));
	r->sim.m.anon = r->sim.load.anon_goal = 400 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK(control_mem_property_short(&r->c, &r->t, 512 * MIB));
	CHECK(!control_mem_property_short(&r->c, &r->t, control_mem_property(&r->c, &r->t)));
	/* At its ceiling there is nothing more to be reported. */
	rig_init(r, 1000, 512 * MIB, 2);
	r->c.rule.mem_bytes.max = 512 * MIB;
	r->sim.m.anon = r->sim.load.anon_goal = 400 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK(!control_mem_property_short(&r->c, &r->t, 512 * MIB));
}

TEST_RIG(one_resource)
{
	struct policy_rule rule = policy_rule_default;

	rig_init(r, 200, 100 * MIB, 2);
	rule.resources = RESOURCES_MEMORY;
	control_set_rule(&r->c, &rule);
	r->sim.load = sim_steady(1, 800);
	sim_grow(&r->sim, 5 * MIB, 200 * MIB);
	rig_run(r, 2 * USEC_PER_MIN);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 0);
	CHECK(r->count[KNOB_MEM_MAX] > 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_NOT_CONTROLLED);
}

/* At the ceiling: reported once, for as long as it presses; no step above it. */
TEST_RIG(ceiling)
{
	uint32_t rising = 0;
	bool before = false;

	rig_init(r, 200, 100 * MIB, 2);
	r->c.rule.cpu_milli.max = 500;
	r->sim.load = sim_steady(2, 1500);
	sim_grow(&r->sim, 20 * MIB, GIB);
	for (int i = 0; i < 600; i++) {
		rig_tick(r);
		rising += cpu(r)->at_ceiling && !before;
		before = cpu(r)->at_ceiling;
	}
	CHECK_EQ(rising, 1);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->max_milli, 500);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_CEILING);
	/* Memory: four times the original. */
	CHECK_EQ(r->max_bytes, 400 * MIB);
	CHECK(r->sim.u.events.oom_kill > 0);
	/* A minute without pressing ends it. */
	r->sim.load = (struct sim_load){0};
	rig_run(r, 90 * USEC_PER_SEC);
	CHECK(!cpu(r)->at_ceiling);
	CHECK_EQ(control_ceiling(&r->c, &r->t, RESOURCE_CPU, 2000), 500);
	CHECK_EQ(control_ceiling(&r->c, &r->t, RESOURCE_MEMORY, 2000), 400 * MIB);
	r->c.rule.cpu_milli.max = 0;
	CHECK_EQ(control_ceiling(&r->c, &r->t, RESOURCE_CPU, 2000), 2000);
}

TEST_RIG(paused)
{
	for (int gave_way = 0; gave_way < 2; gave_way++) {
		rig_init(r, 200, 100 * MIB, 2);
		r->c.paused = !gave_way;
		r->c.gave_way = gave_way ? RESOURCES_BOTH : 0;
		r->sim.load = sim_steady(1, 800);
		rig_run(r, 10 * USEC_PER_MIN);
		CHECK_EQ(r->changes, 0);
		CHECK_EQ(cpu(r)->blocked, BLOCKED_PAUSED);
		CHECK(cpu(r)->candidate > 0);
		r->c.paused = false;
		r->c.gave_way = 0;
		rig_run(r, USEC_PER_MIN);
		CHECK(r->changes > 0);
	}
}

TEST(with_parameters)
{
	test_hold(true, BLOCKED_FROZEN);
	test_hold(false, BLOCKED_AUTOSCALED);
	test_property_is_ahead(40 * MIB);
	test_property_is_ahead(90 * MIB);
}

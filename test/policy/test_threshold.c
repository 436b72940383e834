// SPDX-License-Identifier: Apache-2.0
/* algorithm threshold: the rule itself, and in virtual time: when a limit is raised, how far, that
 * none is lowered, and that growing memory is not killed while the rule waits. */
#include "policy/laws/threshold.h"
#include "test/check.h"
#include "test/policy/rig.h"

/* Reviews act on the rule: every ten seconds, and a sample more. */
#define SLACK_USEC (12 * USEC_PER_SEC)

TEST(rule)
{
	const struct tuning_threshold *t = &tuning_default.threshold;
	usec_t since = 0, now = USEC_PER_HOUR;

	threshold_note(t, &since, 800, 1000, now);
	CHECK_EQ(since, 0);
	threshold_note(t, &since, 801, 1000, now);
	CHECK_EQ(since, now);
	threshold_note(t, &since, 900, 1000, now + USEC_PER_MIN);
	CHECK_EQ(since, now);
	CHECK(!threshold_due(t, since, now + t->for_usec - 1));
	CHECK(threshold_due(t, since, now + t->for_usec));
	threshold_note(t, &since, 700, 1000, now + t->for_usec);
	CHECK(!threshold_due(t, since, now + 2 * t->for_usec));
	CHECK_EQ(threshold_limit(t, 1000, 1000), 2000);
	CHECK_EQ(threshold_limit(t, 5000, 1000), 8000);
	/* An external limit above the ceiling stays. */
	CHECK_EQ(threshold_limit(t, 9000, 1000), 9000);
	CHECK_EQ(threshold_limit(t, UINT64_MAX - 1, UINT64_MAX - 1), UINT64_MAX - 1);
}

static void begin(struct rig *r, uint64_t milli, uint64_t bytes)
{
	rig_init(r, milli, bytes, 16);
	r->t.history.algorithm = ALGORITHM_THRESHOLD;
}

TEST_RIG(cpu)
{
	begin(r, 1000, GIB);
	r->sim.load = sim_steady(4, 700);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(r->changes, 0);
	r->sim.load = sim_steady(4, 900);
	rig_run(r, 110 * USEC_PER_SEC);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	rig_run(r, 10 * USEC_PER_SEC + SLACK_USEC);
	CHECK_EQ(sim_milli(&r->sim), 2000);
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(sim_milli(&r->sim), 2000);
	/* Throttled: a doubling each two minutes, nothing in between. */
	r->sim.load = sim_steady(8, 6500);
	r->sim.load.drops = true;
	rig_run(r, 110 * USEC_PER_SEC);
	CHECK(r->sim.u.nr_throttled > 0);
	CHECK_EQ(sim_milli(&r->sim), 2000);
	rig_run(r, 10 * USEC_PER_SEC + SLACK_USEC);
	CHECK_EQ(sim_milli(&r->sim), 4000);
	/* And to the ceiling, eight times the original. */
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(sim_milli(&r->sim), 8000);
	/* Nothing sinks. */
	r->sim.load = sim_steady(1, 20);
	rig_run(r, 3 * USEC_PER_DAY);
	CHECK_EQ(sim_milli(&r->sim), 8000);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 3);
	control_drop(&r->c);
}

TEST_RIG(memory)
{
	begin(r, 1000, GIB);
	r->sim.m.anon = r->sim.load.anon_goal = 850 * MIB;
	rig_run(r, 110 * USEC_PER_SEC);
	CHECK_EQ(r->sim.u.limits.mem_max, GIB);
	rig_run(r, 10 * USEC_PER_SEC + SLACK_USEC);
	CHECK_EQ(r->sim.u.limits.mem_max, 2 * GIB);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 3 * USEC_PER_DAY);
	CHECK_EQ(r->sim.u.limits.mem_max, 2 * GIB);
	control_drop(&r->c);
}

/* The reflex still prevents kills: the rule would act two minutes late. */
TEST_RIG(growth)
{
	begin(r, 1000, 256 * MIB);
	r->tick_usec = 100 * USEC_PER_MSEC;
	r->sim.m.anon = 64 * MIB;
	sim_grow(&r->sim, 10 * MIB, 700 * MIB);
	rig_run(r, 5 * USEC_PER_MIN);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK_EQ(r->sim.m.anon, 700 * MIB);
	control_drop(&r->c);
}

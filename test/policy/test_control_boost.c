// SPDX-License-Identifier: Apache-2.0
/* Startup boost among the laws: what the reflex, history, trials and the owner do meanwhile. */
#include "test/check.h"
#include "test/policy/rig.h"

#define SEC USEC_PER_SEC

static void life(struct rig *r, usec_t started_at, usec_t ready_since)
{
	const struct startup_life l = {started_at, ready_since, true};

	control_set_life(&r->c, &l);
}

static void ready(struct rig *r)
{
	life(r, r->c.life.started_at, r->sim.now);
}

/* 500m on 4 CPUs, started just now; a pass every 100 ms. */
static void begin(struct rig *r, const char *rule)
{
	rig_init(r, 500, GIB, 4);
	r->tick_usec = 100 * USEC_PER_MSEC;
	r->next_sample = r->sim.now;
	CHECK_EQ(boost_parse(rule, &r->c.rule.boost), 0);
	life(r, r->sim.now, 0);
}

TEST_RIG(plain)
{
	usec_t at;

	begin(r, "2x 5s");
	r->sim.load = sim_steady(1, 50);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	CHECK_EQ(cpu(r)->last.reason, REASON_BOOST);
	CHECK_EQ(control_lasting(&r->c, RESOURCE_CPU), 500);
	rig_run(r, 20 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_BOOST);
	ready(r);
	at = r->sim.now;
	rig_run(r, 5 * SEC - r->tick_usec);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	rig_run(r, r->tick_usec);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->c.resource[RESOURCE_CPU].planned_at, at + 5 * SEC);
	CHECK_EQ(cpu(r)->last.reason, REASON_BOOST_OVER);
	CHECK(!r->c.cpu.trial.active && r->c.cpu.floor.value == 0);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 2);
	CHECK(cpu(r)->blocked != BLOCKED_BOOST);
	CHECK_EQ(cpu(r)->counters.undos + cpu(r)->counters.refusals, 0);
}

/* The start uses four cores: history, its peak and the recent peak do not count it. */
static void test_history(enum algorithm algorithm)
{
	struct rig r;

	begin(&r, "4x 5s");
	r.t.history.algorithm = algorithm;
	r.sim.load = sim_steady(4, 1500);
	r.sim.m.anon = r.sim.load.anon_goal = 100 * MIB;
	rig_run(&r, 3 * USEC_PER_MIN);
	CHECK(sim_milli(&r.sim) >= 2000);
	CHECK(histogram_empty(&r.c.history.cpu));
	CHECK_EQ(r.c.history.samples, 0);
	CHECK_EQ(r.c.history.observed_usec[RESOURCE_CPU], 0);
	CHECK_EQ(recent_max_get(&r.c.cpu.recent), 0);
	/* The memory that the start used counts. */
	if (algorithm == ALGORITHM_DEFAULT)
		CHECK(r.c.history.window_peak > 0 || !histogram_empty(&r.c.history.memory));
	ready(&r);
	rig_run(&r, 4 * SEC);
	r.sim.load = sim_steady(1, 50);
	rig_run(&r, 3 * USEC_PER_MIN);
	CHECK(!histogram_empty(&r.c.history.cpu));
	CHECK(r.c.recommendation.resource[RESOURCE_CPU].peak < 300);
	CHECK(recent_max_get(&r.c.cpu.recent) < 300);
}

/* Throttled under the boost, the limit is raised further; it ends at the value before the boost. */
TEST_RIG(reflex)
{
	begin(r, "2x 5s");
	r->sim.load = sim_steady(4, 3000);
	rig_run(r, 10 * SEC);
	CHECK(sim_milli(&r->sim) > 2000);
	CHECK_EQ(control_lasting(&r->c, RESOURCE_CPU), 500);
	r->sim.load = sim_steady(1, 50);
	rig_run(r, 2 * SEC);
	ready(r);
	rig_run(r, 5 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
	/* Still throttled: the reflex raises the limit. */
	begin(r, "2x 5s");
	r->sim.load = sim_steady(1, 700);
	rig_run(r, 10 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	ready(r);
	rig_run(r, 10 * SEC);
	CHECK(sim_milli(&r->sim) >= 600);
}

/* The reflex wants more in the moment in which a boost begins: one of the two writes. */
TEST_RIG(one_step)
{
	begin(r, "4x 5s");
	life(r, 0, 0);
	r->c.rule.cpu_milli.max = 500;
	r->sim.load = sim_steady(4, 3000);
	rig_run(r, 5 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK(cpu(r)->at_ceiling);
	r->c.rule.cpu_milli.max = 0;
	life(r, r->sim.now, 0);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 2000);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 1);
}

TEST_RIG(ceiling)
{
	struct pod_bounds pod = {.resource[RESOURCE_CPU] = {.namespace = {.max = 700}}};

	begin(r, "100x 5s");
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 4000);
	begin(r, "2x 5s");
	r->c.rule.cpu_milli.max = 805;
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 800);
	begin(r, "+1 5s");
	control_set_pod(&r->c, &pod);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 700);
	/* The API server refuses more than 600m: the boost stops there, without further changes. */
	pod.resource[RESOURCE_CPU].refused = 600;
	pod.resource[RESOURCE_CPU].refused_until = r->sim.now + USEC_PER_HOUR;
	control_set_pod(&r->c, &pod);
	rig_run(r, 20 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 600);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 2);
	ready(r);
	rig_run(r, 6 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
}

/* A raise by history meanwhile is not part of the boost: it stays afterwards. */
static void test_history_asks(enum mode mode)
{
	struct rig r;

	begin(&r, "2x 20s");
	r.c.rule.mode = mode;
	rig_fill_history(&r, 700, 100 * MIB, USEC_PER_DAY);
	r.sim.load = sim_steady(1, 50);
	rig_tick(&r);
	CHECK_EQ(sim_milli(&r.sim), 1000);
	rig_run(&r, 12 * SEC);
	CHECK(control_lasting(&r.c, RESOURCE_CPU) > 700);
	CHECK(sim_milli(&r.sim) > 1400); /* twice that */
	ready(&r);
	rig_run(&r, 20 * SEC);
	CHECK(sim_milli(&r.sim) > 700 && sim_milli(&r.sim) < 900);
	CHECK_EQ(r.count[KNOB_CPU_MAX], 3);
	CHECK_EQ(cpu(&r)->last.reason, REASON_BOOST_OVER);
}

/* A boost begins during a shrink trial: the limit from before the trial is restored. */
TEST_RIG(trial)
{
	rig_init(r, 1000, GIB, 4);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.load = sim_steady(1, 50);
	while (!r->c.cpu.trial.active)
		rig_tick(r);
	CHECK_EQ(boost_parse("2x 5s", &r->c.rule.boost), 0);
	life(r, r->sim.now, 0);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 2000);
	CHECK(!r->c.cpu.trial.active);
	rig_run(r, 10 * USEC_PER_MIN);
	CHECK_EQ(sim_milli(&r->sim), 2000); /* nothing shrinks */
	CHECK(!r->c.cpu.trial.active);
	ready(r);
	rig_run(r, 5 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 1000);
}

/* An adopted value of the owner becomes the base of the boost; an external write is put back. */
TEST_RIG(others)
{
	begin(r, "2x 5s");
	rig_tick(r);
	sim_write(&r->sim, KNOB_CPU_MAX, 80000);
	rig_adopt(r, RESOURCE_CPU);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 1600);
	sim_write(&r->sim, KNOB_CPU_MAX, 80000);
	rig_reassert(r, RESOURCE_CPU);
	CHECK_EQ(sim_milli(&r->sim), 1600);
	ready(r);
	rig_run(r, 5 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 800);
}

/* The owner removes the limit: there is nothing to put back. */
TEST_RIG(limit_goes)
{
	begin(r, "2x 5s");
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	sim_write(&r->sim, KNOB_CPU_MAX, LIMIT_MAX);
	rig_adopt(r, RESOURCE_CPU);
	ready(r);
	rig_run(r, 10 * SEC);
	CHECK_EQ(sim_milli(&r->sim), LIMIT_MAX);
	CHECK_EQ(control_lasting(&r->c, RESOURCE_CPU), LIMIT_MAX);
	CHECK(!r->c.boost.written);
}

/* Requests of a Guaranteed pod follow the limit without the boost. */
TEST_RIG(requests)
{
	const struct pod_bounds pod = {
		.guaranteed = true,
		.requests_move = true,
		.resource[RESOURCE_CPU] = {.request = 500},
	};

	begin(r, "2x 5s");
	control_set_pod(&r->c, &pod);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 500);
}

/* A crash in the middle, and one afterwards. */
TEST_RIG(restarts)
{
	begin(r, "2x 5s");
	rig_tick(r);
	rig_run(r, 3 * SEC);
	rig_restart(r);
	sim_write(&r->sim, KNOB_CPU_MAX, 50000); /* the spec's */
	life(r, r->sim.now, 0);
	rig_resume(r);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	CHECK_EQ(control_lasting(&r->c, RESOURCE_CPU), 500);
	ready(r);
	rig_run(r, 5 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
	rig_restart(r);
	life(r, r->sim.now, 0);
	rig_tick(r);
	CHECK_EQ(sim_milli(&r->sim), 1000);
	/* Never Ready: the boost ends after an hour. */
	rig_run(r, USEC_PER_HOUR);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->c.boost.phase, BOOST_OVER);
}

/* Management ends: the limit is put back at once, and no boost begins again. */
TEST_RIG(ended)
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x;

	begin(r, "2x 5s");
	rig_tick(r);
	x = rig_context(r, &p);
	control_boost_end(&r->c, &x);
	rig_apply(r, &p);
	CHECK_EQ(sim_milli(&r->sim), 500);
	rig_run(r, 10 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->count[KNOB_CPU_MAX], 2);
	/* Suspended for an external writer: its value stays. */
	begin(r, "2x 5s");
	rig_tick(r);
	r->c.gave_way = RESOURCES_CPU;
	p.count = 0;
	x = rig_context(r, &p);
	control_boost_end(&r->c, &x);
	CHECK_EQ(p.count, 0);
	CHECK(!r->c.boost.written);
}

/* Off shows it; a record for the disk is wanted of what is written alone. */
TEST_RIG(off)
{
	struct plan none = {0};
	struct control_context x;

	begin(r, "2x 5s");
	x = rig_context(r, &none);
	CHECK_EQ(control_boost_prepare(&r->c, &x), 500);
	begin(r, "2x 5s");
	r->c.rule.mode = MODE_OFF;
	x = rig_context(r, &none);
	CHECK_EQ(control_boost_prepare(&r->c, &x), 0);
	rig_run(r, 10 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->c.boost.phase, BOOST_ACTIVE);
	CHECK_EQ(r->c.boost_now.limit_milli, 1000);
	CHECK_EQ(control_lasting(&r->c, RESOURCE_CPU), 500);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_MODE_OFF);
	begin(r, "2x 5s");
	r->c.rule.resources = RESOURCES_MEMORY;
	control_set_rule(&r->c, &r->c.rule);
	rig_run(r, 10 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 500);
	CHECK_EQ(r->c.boost.phase, BOOST_NONE);
}

TEST(with_parameters)
{
	for (enum algorithm a = 0; a < ALGORITHM_COUNT; a++)
		test_history(a);
	test_history_asks(MODE_AUTO);
	test_history_asks(MODE_INITIAL);
}

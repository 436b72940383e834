// SPDX-License-Identifier: Apache-2.0
/* Start-up of a container: the law, and what the other laws do meanwhile. */
#include "test/check.h"
#include "test/policy/rig.h"

#define SEC USEC_PER_SEC

static const struct tuning_startup rule = {.ready_usec = 30 * SEC, .unprobed_usec = 60 * SEC};

static usec_t end_after(struct startup *s, usec_t started_at, usec_t ready_since, bool probed)
{
	const struct startup_life life = {started_at, ready_since, probed};

	startup_set(s, &life);
	return startup_end(s, &rule);
}

TEST(law)
{
	struct startup s = {0};

	CHECK_EQ(startup_end(&s, &rule), 0);
	CHECK(!startup_covers(&s, &rule, 0, SEC));
	CHECK_EQ(end_after(&s, 100 * SEC, 0, false), 160 * SEC);
	CHECK(!startup_covers(&s, &rule, 99 * SEC, 100 * SEC));
	CHECK(startup_covers(&s, &rule, 99 * SEC, 101 * SEC));
	CHECK(startup_covers(&s, &rule, 159 * SEC, 161 * SEC));
	CHECK(!startup_covers(&s, &rule, 160 * SEC, 161 * SEC));
	/* Ready means nothing without a probe. */
	CHECK_EQ(end_after(&s, 100 * SEC, 101 * SEC, false), 160 * SEC);
	/* Another run. */
	CHECK_EQ(end_after(&s, 500 * SEC, 0, true), 500 * SEC + USEC_PER_HOUR);
	CHECK_EQ(end_after(&s, 500 * SEC, 520 * SEC, true), 550 * SEC);
	/* The pod's condition names the time. */
	CHECK_EQ(end_after(&s, 500 * SEC, 518 * SEC, true), 548 * SEC);
	/* Not Ready, and Ready again. */
	CHECK_EQ(end_after(&s, 500 * SEC, 0, true), 548 * SEC);
	CHECK_EQ(end_after(&s, 500 * SEC, 900 * SEC, true), 548 * SEC);
	/* Restarted; Ready comes from before the start. */
	CHECK_EQ(end_after(&s, 1000 * SEC, 900 * SEC, true), 1030 * SEC);
	/* Ready after hours. */
	CHECK_EQ(end_after(&s, 2000 * SEC, 2000 * SEC + 2 * USEC_PER_HOUR, true),
		 2000 * SEC + USEC_PER_HOUR);
}

static void life(struct rig *r, usec_t started_at, usec_t ready_since, bool probed)
{
	const struct startup_life l = {started_at, ready_since, probed};

	control_set_life(&r->c, &l);
}

/* 200m on 4 CPUs, started just now; a pass every 100 ms. */
static void begin(struct rig *r, bool probed)
{
	rig_init(r, 200, GIB, 4);
	r->tick_usec = 100 * USEC_PER_MSEC;
	r->next_sample = r->sim.now;
	life(r, r->sim.now, 0, probed);
}

/* Throttled at its start: the limit rises at once, nothing is recorded, memory is. */
TEST_RIG(unprobed)
{
	usec_t start;

	begin(r, false);
	start = r->sim.now;
	r->sim.load = sim_steady(4, 1500);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 10 * SEC);
	CHECK(sim_milli(&r->sim) > 1000);
	CHECK_EQ(cpu(r)->last.reason, REASON_THROTTLED);
	CHECK(histogram_empty(&r->c.history.cpu));
	CHECK_EQ(recent_max_get(&r->c.cpu.recent), 0);
	CHECK(r->c.history.window_peak >= 100 * MIB);
	/* A run that ends in start-up leaves its memory, and its age. */
	CHECK(r->c.history.samples > 0);
	CHECK(r->c.history.observed_usec[RESOURCE_CPU] >= 9 * SEC);
	CHECK_EQ(control_startup_end(&r->c, &r->t, r->sim.now), start + 60 * SEC);
	CHECK_EQ(control_startup_raise(&r->c, &r->t), start + 60 * SEC);
	r->sim.load = sim_steady(1, 20);
	rig_run(r, 49 * SEC);
	CHECK(histogram_empty(&r->c.history.cpu));
	CHECK_EQ(cpu(r)->blocked, BLOCKED_HISTORY);
	rig_run(r, 10 * SEC);
	CHECK(!histogram_empty(&r->c.history.cpu));
	CHECK_EQ(control_startup_end(&r->c, &r->t, r->sim.now), 0);
	/* The raise is still known as one of start-up. */
	CHECK_EQ(control_startup_raise(&r->c, &r->t), start + 60 * SEC);
	rig_run(r, 15 * USEC_PER_MIN);
	CHECK(r->c.recommendation.resource[RESOURCE_CPU].peak < 100);
	CHECK(recent_max_get(&r->c.cpu.recent) < 100);
	/* Lowered since, to the original at most. */
	CHECK(sim_milli(&r->sim) <= 220);
	CHECK_EQ(control_startup_raise(&r->c, &r->t), 0);
}

/* A load after start-up is one, and its raise is no longer one of start-up. */
TEST_RIG(load_after)
{
	begin(r, false);
	r->sim.load = sim_steady(1, 50);
	rig_run(r, 61 * SEC);
	CHECK_EQ(sim_milli(&r->sim), 200);
	r->sim.load = sim_steady(2, 800);
	rig_run(r, 5 * SEC);
	CHECK(sim_milli(&r->sim) > 600);
	CHECK_EQ(control_startup_raise(&r->c, &r->t), 0);
	CHECK(recent_max_get(&r->c.cpu.recent) > 600);
}

/* With a probe it lasts until Ready; a restart begins anew, a later not-Ready does not. */
TEST_RIG(probed)
{
	usec_t start, ready;

	begin(r, true);
	start = r->sim.now;
	r->sim.load = sim_steady(1, 50);
	rig_run(r, 3 * USEC_PER_MIN);
	CHECK(histogram_empty(&r->c.history.cpu));
	ready = r->sim.now;
	life(r, start, ready, true);
	rig_run(r, 29 * SEC);
	CHECK(histogram_empty(&r->c.history.cpu));
	rig_run(r, 3 * SEC);
	CHECK(!histogram_empty(&r->c.history.cpu));
	life(r, start, 0, true);
	CHECK_EQ(control_startup_end(&r->c, &r->t, r->sim.now), 0);
	rig_restart(r);
	life(r, r->sim.now, 0, true);
	CHECK_EQ(control_startup_end(&r->c, &r->t, r->sim.now), r->sim.now + USEC_PER_HOUR);
}

/* VPA counts what a start takes. */
TEST_RIG(vpa)
{
	begin(r, true);
	r->t.history.algorithm = ALGORITHM_VPA;
	r->sim.load = sim_steady(1, 50);
	rig_run(r, 3 * USEC_PER_MIN);
	CHECK(!histogram_empty(&r->c.history.cpu));
}

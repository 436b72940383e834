// SPDX-License-Identifier: Apache-2.0
/* Each goal holds its share of throttled periods, on a load whose single periods vary: a core on
 * average, in pieces. More throttling is paid back with limit area. */
#include "policy/backtest/backtest.h"
#include "test/check.h"
#include "test/policy/rig.h"

#define MS   USEC_PER_MSEC
#define CPUS 8

struct outcome {
	uint64_t throttled_ppm;
	uint64_t milli; /* average limit */
	uint64_t changes;
	uint64_t undos;
};

struct world {
	struct rig r;
	struct backtest_demand demand;
	uint64_t micro_cores;
};

static void begin(struct world *w, enum goal goal)
{
	struct policy_rule rule = policy_rule_default;

	rig_init(&w->r, 6000, GIB, CPUS);
	rule.goal = goal;
	control_set_rule(&w->r.c, &rule);
	w->r.t.history.confidence_usec = USEC_PER_HOUR;
	w->r.tick_usec = 100 * MS;
	w->r.sim.load.threads = 4;
	w->r.sim.load.cycle_usec = 100 * MS;
	backtest_demand_init(&w->demand, CPUS, 42);
	w->micro_cores = 1000000;
	sim_run(&w->r.sim, 30 * MS); /* readings lie across two periods */
}

static void tick(struct world *w)
{
	struct sim_load *l = &w->r.sim.load;

	l->busy_usec = backtest_demand_next(&w->demand, w->micro_cores) / l->threads;
	rig_tick(&w->r);
}

static struct outcome run(struct world *w, usec_t span)
{
	const struct rig *r = &w->r;
	uint64_t throttled = r->sim.u.nr_throttled, periods = r->sim.u.nr_periods, area = 0;
	uint64_t changes = r->count[KNOB_CPU_MAX], ticks = span / r->tick_usec;

	for (uint64_t i = 0; i < ticks; i++) {
		tick(w);
		area += sim_milli(&r->sim);
	}
	return (struct outcome){
		.throttled_ppm = (r->sim.u.nr_throttled - throttled) * 1000000 /
				 (r->sim.u.nr_periods - periods),
		.milli = area / ticks,
		.changes = r->count[KNOB_CPU_MAX] - changes,
		.undos = r->c.resource[RESOURCE_CPU].counters.undos,
	};
}

TEST(points)
{
	struct outcome o[GOAL_COUNT];

	for (enum goal g = 0; g < GOAL_COUNT; g++) {
		struct world w;

		begin(&w, g);
		run(&w, 4 * USEC_PER_HOUR);
		o[g] = run(&w, 8 * USEC_PER_HOUR);
		control_drop(&w.r.c);
	}
	CHECK(o[GOAL_SAVINGS].throttled_ppm > 10000 && o[GOAL_SAVINGS].throttled_ppm <= 20000);
	CHECK(o[GOAL_BALANCED].throttled_ppm > 500 && o[GOAL_BALANCED].throttled_ppm <= 2000);
	CHECK(o[GOAL_LATENCY].throttled_ppm <= 100);
	CHECK(o[GOAL_SAVINGS].milli * 115 < o[GOAL_BALANCED].milli * 100);
	CHECK(o[GOAL_BALANCED].milli * 105 < o[GOAL_LATENCY].milli * 100);
	for (enum goal g = 0; g < GOAL_COUNT; g++)
		CHECK(o[g].changes <= 80);
}

/* The demand triples. What the goal lets pass delays the first raise by a period, not the rest. */
TEST(step_from_found_limit)
{
	for (enum goal g = 0; g < GOAL_COUNT; g++) {
		uint64_t limit, throttled;
		usec_t begun, first = 0;
		struct world w;

		begin(&w, g);
		run(&w, 4 * USEC_PER_HOUR);
		limit = sim_milli(&w.r.sim);
		throttled = w.r.sim.u.nr_throttled;
		w.micro_cores = 3000000;
		begun = 0;
		for (usec_t at = 0; at < 3 * USEC_PER_SEC; at += 100 * MS) {
			tick(&w);
			if (begun == 0 && w.r.sim.u.nr_throttled > throttled)
				begun = w.r.sim.now;
			if (first == 0 && sim_milli(&w.r.sim) > limit)
				first = w.r.sim.now;
		}
		CHECK(begun != 0 && first >= begun);
		CHECK(first - begun <= (g == GOAL_SAVINGS ? 600 : 200) * MS);
		CHECK(sim_milli(&w.r.sim) >= 3000);
		control_drop(&w.r.c);
	}
}

/* Without periods, or with passes that are far apart, nothing is known and nothing sinks. */
TEST(unknown)
{
	struct cpu_goal g = cpu_goal_of(&tuning_default, GOAL_SAVINGS);
	struct cpu_law c = {0};
	struct cpu_reading reading = {.tick_usec = 100 * MS, .now = USEC_PER_HOUR};
	struct usage u = {.have = USAGE_CPU | USAGE_THROTTLE | USAGE_CPU_LIMIT,
			  .limits = {.cpu_quota_usec = 100 * MS, .cpu_period_usec = 100 * MS}};

	CHECK_EQ(cpu_goal_limit(&g, &c), 0);
	cpu_note_periods(&tuning_default.cpu, &g, &c, &u, &reading);
	CHECK_EQ(c.spread_since, 0);
	reading.now += 10 * USEC_PER_SEC;
	u.nr_periods = 100;
	u.cpu_usage_usec = USEC_PER_SEC;
	cpu_note_periods(&tuning_default.cpu, &g, &c, &u, &reading);
	CHECK_EQ(c.spread_since, 0);
	CHECK_EQ(cpu_goal_limit(&g, &c), 0);
	reading.now += 100 * MS;
	u.nr_periods++;
	u.cpu_usage_usec += 50 * MS;
	cpu_note_periods(&tuning_default.cpu, &g, &c, &u, &reading);
	CHECK_EQ(c.spread_since, reading.now);
	CHECK(cpu_goal_limit(&g, &c) >= 450 && cpu_goal_limit(&g, &c) <= 560);
	/* Start-up is no demand, and a counter that went back is another cgroup's. */
	reading.now += 100 * MS;
	reading.starting = true;
	u.nr_periods++;
	u.cpu_usage_usec += 100 * MS;
	cpu_note_periods(&tuning_default.cpu, &g, &c, &u, &reading);
	u.nr_periods = 1;
	u.cpu_usage_usec = 0;
	reading.starting = false;
	reading.now += 100 * MS;
	cpu_note_periods(&tuning_default.cpu, &g, &c, &u, &reading);
	CHECK(cpu_goal_limit(&g, &c) <= 560);
}

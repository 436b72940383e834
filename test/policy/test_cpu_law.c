// SPDX-License-Identifier: Apache-2.0
#include "test/check.h"
#include "test/policy/rig.h"
#include <errno.h>

#define MS USEC_PER_MSEC

static const struct tuning_cpu *const tuning_cpu = &tuning_default.cpu;

/* ---- one step of the reflex ---- */

static const struct {
	const char *name;
	uint64_t limit, evidence;
	uint32_t ppm;
	uint64_t want;
} reflex_rows[] = {
	{"unthrottled", 500, 500, 0, 0},
	{"at the tolerated ratio", 500, 5000, 60000, 0},
	{"just above it", 500, 5000, 61000, 525},
	{"a fifth", 500, 5000, 200000, 570},
	{"every period", 500, 5000, 1000000, 970},
	{"never more than the evidence and a tenth", 500, 600, 1000000, 660},
	{"never less than 5 %", 500, 500, 70000, 525},
	{"evidence below the limit", 500, 100, 1000000, 525},
	{"a tiny limit", 10, 4000, 1000000, 19},
	{"a huge one", LIMIT_MAX / 2, LIMIT_MAX - 1, 1000000, 0},
};

TEST(reflex)
{
	for (size_t i = 0; i < ARRAY_SIZE(reflex_rows); i++) {
		struct cpu_rates r = {.throttle_ppm = reflex_rows[i].ppm,
				      .evidence_milli = reflex_rows[i].evidence};
		uint64_t got = cpu_reflex_desired(tuning_cpu, reflex_rows[i].limit, &r, LIMIT_MAX);

		if (reflex_rows[i].limit > INT64_MAX / 2) {
			CHECK(got > reflex_rows[i].limit && got < LIMIT_MAX);
			continue;
		}
		if (got != reflex_rows[i].want)
			fprintf(stderr, "row: %s\n", reflex_rows[i].name);
		CHECK_EQ(got, reflex_rows[i].want);
	}
}

TEST(step_max)
{
	struct tuning_cpu t = *tuning_cpu;
	struct cpu_rates r = {.throttle_ppm = 1000000, .evidence_milli = 100000};

	t.step_max_permille = 1300;
	CHECK_EQ(cpu_reflex_desired(&t, 1000, &r, LIMIT_MAX), 1300);
}

static struct usage counters(uint64_t used, uint64_t periods, uint64_t throttled)
{
	return (struct usage){
		.have = USAGE_CPU | USAGE_THROTTLE | USAGE_CPU_LIMIT,
		.cpu_usage_usec = used,
		.nr_periods = periods,
		.nr_throttled = throttled,
		.limits = {.cpu_quota_usec = 100 * MS, .cpu_period_usec = 100 * MS},
	};
}

/* ---- the window: periods under the old limit do not count ---- */

TEST(window)
{
	struct cpu_law c = {0};
	struct usage u = counters(0, 0, 0);
	struct cpu_rates r;
	usec_t now = USEC_PER_HOUR;

	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now, &r), -EAGAIN);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now, &r), -EAGAIN);
	u = counters(300 * MS, 3, 3);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 300 * MS, &r), 0);
	CHECK_EQ(r.throttle_ppm, 1000000);
	/* The limit is written here: three throttled periods belong to the old one. What uses all
	 * of the next is throttled in it, unless it had run free before. */
	cpu_window_restart(&c, &u, now + 300 * MS);
	u = counters(400 * MS, 4, 3);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 400 * MS, &r), 0);
	CHECK_EQ(r.throttle_ppm, 1000000);
	c.burst_at = c.write_at;
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 400 * MS, &r), 0);
	CHECK_EQ(r.throttle_ppm, 0);
	CHECK_EQ(r.periods, 1);
	/* A second later a new window starts by itself. */
	u = counters(1300 * MS, 13, 4);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 1300 * MS, &r), 0);
	CHECK_EQ(r.periods, 10);
	u = counters(1400 * MS, 14, 4);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 1400 * MS, &r), 0);
	CHECK_EQ(r.periods, 1);
	/* Another cgroup under the same name. */
	u = counters(0, 0, 0);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 1500 * MS, &r), -EINVAL);
	u = counters(10 * MS, 1, 0);
	CHECK_EQ(cpu_window_rates(&c, &u, 4000, now + 1600 * MS, &r), 0);
}

/* ---- the reflex in the loop ---- */

static uint64_t wanted;

static bool has_enough(const struct rig *r)
{
	return sim_milli(&r->sim) >= wanted;
}

struct jump {
	uint64_t from, to;
	uint32_t threads;
	bool drops;
};

static void start_jump(struct rig *r, const struct jump *j, usec_t tick)
{
	rig_init(r, j->from, GIB, 4);
	r->tick_usec = tick;
	r->sim.load = sim_steady(j->threads, j->from / 2);
	rig_run(r, 30 * USEC_PER_SEC);
	CHECK_EQ(r->changes, 0);
	r->sim.load = sim_steady(j->threads, j->to);
	r->sim.load.drops = j->drops;
	r->max_milli = 0;
	wanted = j->to;
}

/* The limit may reach twice the demand. It may take 3 s to cover the demand on the fast clock, 10 s
 * on the slow one. */
TEST_RIG(jumps)
{
	static const struct jump jumps[] = {
		{100, 800, 1, false},  {100, 800, 1, true},    {100, 800, 4, true},
		{500, 550, 1, false},  {500, 550, 1, true},    {500, 550, 4, false},
		{500, 550, 4, true},   {1000, 1200, 2, false}, {1000, 1200, 2, true},
		{1000, 1200, 4, true}, {200, 800, 1, false},   {200, 800, 1, true},
		{200, 800, 4, true},   {100, 1000, 1, true},   {200, 2000, 2, false},
		{200, 2000, 4, true},  {100, 1000, 4, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) {
		for (int fast = 0; fast < 2; fast++) {
			usec_t took;

			start_jump(r, &jumps[i], fast ? 100 * MS : USEC_PER_SEC);
			took = rig_until(r, has_enough, USEC_PER_MIN);
			if (took > (fast ? 3 : 10) * USEC_PER_SEC)
				fprintf(stderr, "jump %zu fast %d took %lu to %lu limit %lu\n", i,
					fast, took, jumps[i].to, sim_milli(&r->sim));
			CHECK(took <= (fast ? 3 : 10) * USEC_PER_SEC);
			rig_run(r, 2 * USEC_PER_MIN);
			CHECK(r->max_milli <= 2 * jumps[i].to);
			CHECK(sim_milli(&r->sim) >= jumps[i].to);
		}
	}
}

/* A queue that has built up needs more CPU than its arrivals until it is empty; the two cannot be
 * told apart. The limit may reach what the threads can use, and is lowered later. */
TEST_RIG(queue)
{
	struct jump j = {100, 800, 4, false};

	for (int fast = 0; fast < 2; fast++) {
		start_jump(r, &j, fast ? 100 * MS : USEC_PER_SEC);
		CHECK(rig_until(r, has_enough, USEC_PER_MIN) <= 10 * USEC_PER_SEC);
		rig_run(r, USEC_PER_MIN);
		CHECK(r->max_milli <= 4000);
		rig_run(r, 20 * USEC_PER_MIN);
		CHECK(sim_milli(&r->sim) >= 800);
		CHECK(sim_milli(&r->sim) <= 2 * 800);
	}
}

static bool raised(const struct rig *r)
{
	return r->changes > 0;
}

/* First throttled period to higher cpu.max: 250 ms on the fast clock. */
TEST_RIG(first_reaction)
{
	struct jump j = {200, 2000, 4, true};

	start_jump(r, &j, 100 * MS);
	CHECK(rig_until(r, raised, USEC_PER_MIN) <= 250 * MS);
}

/* Steps are a raise interval apart, however fast the clock. */
TEST_RIG(raise_interval)
{
	struct jump j = {100, 4000, 4, false};
	uint32_t before;

	start_jump(r, &j, 100 * MS);
	r->t.cpu.raise_interval_usec = 5 * USEC_PER_SEC;
	before = r->changes;
	rig_run(r, 9 * USEC_PER_SEC);
	CHECK(r->changes - before <= 2);
	CHECK(r->changes - before >= 1);
}

/* ---- conditions of a shrink, one by one ---- */

static enum blocked_reason shrink(const struct cpu_law *c, uint64_t limit, uint64_t candidate,
				  usec_t now, uint64_t *ret_to, usec_t *ret_next)
{
	struct cpu_shrink_input in = {.limit_milli = limit,
				      .candidate_milli = candidate,
				      .started_at = USEC_PER_HOUR,
				      .now = now};

	*ret_to = 0;
	return cpu_shrink_next(&tuning_default, c, &in, ret_to, ret_next);
}

TEST(shrink_conditions)
{
	const usec_t start = USEC_PER_HOUR, quiet = start + 5 * USEC_PER_MIN;
	struct cpu_law c = {0};
	uint64_t to;
	usec_t next;

	/* Not within 5 min of the start. */
	CHECK_EQ(shrink(&c, 1000, 300, quiet - 1, &to, &next), BLOCKED_START_QUIET);
	CHECK_EQ(next, quiet);
	CHECK_EQ(to, 0);
	CHECK_EQ(shrink(&c, 1000, 300, quiet, &to, &next), BLOCKED_NONE);
	/* At most halved. */
	CHECK_EQ(to, 500);
	CHECK_EQ(shrink(&c, 1000, 600, quiet, &to, &next), BLOCKED_NONE);
	CHECK_EQ(to, 600);
	/* Only below 90 % of the limit. */
	CHECK_EQ(shrink(&c, 1000, 899, quiet, &to, &next), BLOCKED_NONE);
	CHECK_EQ(shrink(&c, 1000, 900, quiet, &to, &next), BLOCKED_DEADBAND);
	CHECK_EQ(shrink(&c, 1000, 2000, quiet, &to, &next), BLOCKED_DEADBAND);
	/* 60 s after any change. */
	c.last_change = quiet;
	CHECK_EQ(shrink(&c, 1000, 300, quiet + 60 * USEC_PER_SEC - 1, &to, &next),
		 BLOCKED_INTERVAL);
	CHECK_EQ(next, quiet + 60 * USEC_PER_SEC);
	CHECK_EQ(shrink(&c, 1000, 300, quiet + 60 * USEC_PER_SEC, &to, &next), BLOCKED_NONE);
	/* Not while one is on trial. */
	c.trial.active = true;
	CHECK_EQ(shrink(&c, 1000, 300, quiet + USEC_PER_HOUR, &to, &next), BLOCKED_TRIAL);
}

TEST(trial)
{
	struct cpu_law c = {0};
	struct usage u = counters(0, 100, 0);
	usec_t now = USEC_PER_HOUR;

	CHECK(!cpu_trial_passed(tuning_cpu, &c, &u, now));
	cpu_trial_begin(&c, 1000, 500, &u, now);
	CHECK(c.trial.active);
	u.nr_periods = 119;
	CHECK(!cpu_trial_passed(tuning_cpu, &c, &u, now + 5 * USEC_PER_MIN));
	u.nr_periods = 120;
	CHECK(cpu_trial_passed(tuning_cpu, &c, &u, now + 2 * USEC_PER_SEC));
	/* Idle for the whole recent window is a verdict too. */
	u.nr_periods = 100;
	CHECK(!cpu_trial_passed(tuning_cpu, &c, &u, now + 10 * USEC_PER_MIN - 1));
	CHECK(cpu_trial_passed(tuning_cpu, &c, &u, now + 10 * USEC_PER_MIN));

	CHECK_EQ(cpu_trial_undo(&c, USEC_PER_DAY), 1000);
	CHECK(!c.trial.active);
	CHECK_EQ(c.floor.value, 750);
}

TEST(regret)
{
	struct usage u = counters(0, 0, 0);
	usec_t now = USEC_PER_HOUR;
	struct cpu_law begun = {0}, c;

	cpu_trial_begin(&begun, 1000, 500, &u, now);
	c = begun;
	cpu_shrink_mark_harmful(&tuning_default.cpu, &c, 500, now, 1);
	CHECK_EQ(c.floor.value, 0); /* on trial: the undo learns it */
	begun.trial.active = false;
	c = begun;
	cpu_shrink_mark_harmful(&tuning_default.cpu, &c, 500, now + 59 * USEC_PER_MIN, 1);
	CHECK_EQ(c.floor.value, 750);
	c = begun;
	cpu_shrink_mark_harmful(&tuning_default.cpu, &c, 500, now + USEC_PER_HOUR, 1);
	CHECK_EQ(c.floor.value, 0);
	c = begun;
	cpu_shrink_mark_harmful(&tuning_default.cpu, &c, 800, now + USEC_PER_MIN, 1);
	CHECK_EQ(c.floor.value, 0); /* it had grown since */
}

TEST(floor)
{
	const usec_t half = 6 * USEC_PER_HOUR, t0 = 400 * USEC_PER_DAY;
	struct shrink_floor f = {0};

	CHECK_EQ(floor_value(&f, half, t0), 0);
	floor_learn(&f, 500, 1000, t0);
	CHECK_EQ(floor_value(&f, half, t0), 750);
	CHECK_EQ(floor_value(&f, half, t0 + half), 375);
	CHECK_EQ(floor_value(&f, half, t0 + 2 * half), 187);
	CHECK_EQ(floor_value(&f, half, t0 + 100 * half), 0);
	/* Never upwards, in between and when the wall clock steps back. */
	for (usec_t t = t0, last = 751; t < t0 + 3 * half; t += USEC_PER_MIN) {
		uint64_t now = floor_value(&f, half, t);

		CHECK(now <= last);
		last = now;
	}
	CHECK_EQ(floor_value(&f, half, t0 - USEC_PER_DAY), 750);
	CHECK_EQ(floor_value(&f, 0, t0 + USEC_PER_SEC), 0);
	floor_learn(&f, 1000, 500, t0);
	CHECK_EQ(f.value, 1000);
	floor_learn(&f, LIMIT_MAX - 2, LIMIT_MAX - 1, t0);
	CHECK(floor_value(&f, half, t0) == LIMIT_MAX - 1);
}

/* ---- shrinking in the loop ---- */

static uint32_t quickest_raises;
static usec_t last_shrink_at;

static void note_shrink(struct rig *r, const struct change *c, int outcome)
{
	if (c->knob != KNOB_CPU_MAX || outcome != APPLY_DONE)
		return;
	if (!change_lowers(c)) {
		quickest_raises++;
		return;
	}
	CHECK(c->reason == REASON_SHRINK);
	CHECK(c->to * 2 >= c->from);
	CHECK(r->sim.now - r->c.started_at >= 5 * USEC_PER_MIN);
	if (last_shrink_at != 0)
		CHECK(r->sim.now - last_shrink_at >= 60 * USEC_PER_SEC);
	last_shrink_at = r->sim.now;
}

/* 400m of work under 4 cores comes down in steps and is never throttled on the way. */
TEST_RIG(oversized)
{
	rig_init(r, 4000, GIB, 4);
	rig_fill_history(r, 400, 100 * MIB, USEC_PER_DAY);
	r->sim.load = sim_steady(1, 400);
	r->after = note_shrink;
	last_shrink_at = 0;
	quickest_raises = 0;
	rig_run(r, 5 * USEC_PER_MIN - USEC_PER_SEC);
	CHECK_EQ(r->changes, 0);
	rig_run(r, 25 * USEC_PER_MIN);
	CHECK(sim_milli(&r->sim) <= 600);
	CHECK(sim_milli(&r->sim) >= 440);
	CHECK_EQ(r->sim.u.nr_throttled, 0);
	CHECK_EQ(quickest_raises, 0);
	CHECK(r->count[KNOB_CPU_MAX] <= 6);
}

/* History has 100m, and the recent peak is kept for seconds only; the load is a burst of a core at
 * random, about once a minute and a half. A harmful decrease leaves a floor that fades over hours:
 * few changes, little throttling. */
TEST_RIG(undo)
{
	uint64_t undos, periods;

	rig_init(r, 4000, GIB, 4);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->t.cpu.recent_usec = 10 * USEC_PER_SEC;
	r->sim.load = (struct sim_load){.threads = 1,
					.busy_usec = 100 * MS,
					.cycle_usec = USEC_PER_MIN,
					.jitter_usec = USEC_PER_MIN};
	rig_run(r, 6 * USEC_PER_HOUR);
	undos = r->c.resource[RESOURCE_CPU].counters.undos;
	periods = r->sim.u.nr_throttled;
	CHECK(r->c.resource[RESOURCE_CPU].counters.lowers >= 2);
	CHECK(undos + r->c.resource[RESOURCE_CPU].counters.raises >= 1);
	/* The swing is damped: by the floor, whether the trial caught it or not. */
	CHECK(r->count[KNOB_CPU_MAX] <= 40);
	CHECK(periods * 4 <= r->sim.u.nr_periods);
}

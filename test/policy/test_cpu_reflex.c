// SPDX-License-Identifier: Apache-2.0
/* The CPU reflex on the clock of 100 ms: how soon, how far, and what a lone period does. */
#include "test/check.h"
#include "test/policy/rig.h"

#define MS USEC_PER_MSEC

struct jump {
	uint64_t from, to;
	uint32_t threads;
	bool drops;
	uint32_t cycles; /* in 100 ms, more than one */
};

/* ---- the fast clock: every phase of load, periods and passes ---- */

struct outcome {
	usec_t first;       /* raise after the first throttled period */
	usec_t reach;       /* 80 % of the demand */
	uint64_t overshoot; /* permille of the demand */
	usec_t stood;       /* of the first second, all threads together */
};

static struct rig_reports reports;

static void tick_answered(struct rig *r)
{
	rig_tick_reported(r, &reports);
}

static usec_t throttled_at(const struct rig *r, uint64_t before)
{
	struct sim s = r->sim;

	while (s.u.nr_throttled == before && s.now < r->sim.now + r->tick_usec)
		sim_run(&s, s.step_usec);
	return s.u.nr_throttled > before ? s.now : 0;
}

static struct outcome step_to(const struct jump *j, bool idle, usec_t phase,
			      void (*tick)(struct rig *r))
{
	struct outcome o = {0};
	usec_t begin, thr = 0;
	uint64_t before;
	struct rig r;

	rig_init(&r, j->from, GIB, 8);
	r.tick_usec = 100 * MS;
	r.sim.load = idle ? (struct sim_load){0} : sim_steady(j->threads, j->from / 2);
	sim_run(&r.sim, phase);
	rig_run(&r, USEC_PER_MIN);
	CHECK_EQ(r.changes, 0);
	r.sim.next_cycle = r.sim.now + phase * 7 % (100 * MS);
	r.sim.load = sim_steady(j->threads, j->to);
	r.sim.load.drops = j->drops;
	if (j->cycles > 1) {
		r.sim.load.cycle_usec /= j->cycles;
		r.sim.load.busy_usec /= j->cycles;
	}
	r.max_milli = 0;
	before = r.sim.u.nr_throttled;
	for (begin = r.sim.now; r.sim.now < begin + 12 * USEC_PER_SEC;) {
		if (thr == 0)
			thr = throttled_at(&r, before);
		tick(&r);
		if (r.sim.now <= begin + USEC_PER_SEC)
			o.stood = r.sim.u.throttled_usec;
		if (o.first == 0 && r.changes > 0)
			o.first = r.sim.now - thr;
		if (o.reach == 0 && r.changes > 0 && sim_milli(&r.sim) * 10 >= j->to * 8)
			o.reach = r.sim.now - begin;
	}
	o.overshoot = r.max_milli * 1000 / j->to;
	return o;
}

/*
 * 250 ms to the first raise, 1.5 s to 80 % of the demand, 1.6 times the demand at most on average
 * over the phases, also where what is late queues up over many threads; the worst is the one in
 * which passes and periods end at the same instant. The review after 10 s adds nothing to that.
 */
static void test_steps(void)
{
	static const struct jump jumps[] = {
		{100, 800, 1, true, 0},  {100, 800, 4, true, 0},   {500, 550, 1, true, 0},
		{500, 550, 4, true, 0},  {1000, 1200, 4, true, 0}, {100, 800, 1, false, 0},
		{500, 550, 1, false, 0}, {500, 550, 4, false, 0},  {1000, 1200, 4, false, 0},
		{100, 800, 2, false, 0}, {100, 800, 4, false, 0},  {100, 800, 8, false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) {
		for (int idle = 0; idle < 2; idle++) {
			uint64_t overshoot = 0;

			for (usec_t phase = 0; phase < 10; phase++) {
				struct outcome o =
					step_to(&jumps[i], idle, phase * 10 * MS, rig_tick);

				CHECK(o.first > 0 && o.first <= 250 * MS);
				CHECK(o.reach > 0 && o.reach <= USEC_PER_SEC * 3 / 2);
				CHECK(o.overshoot <= 1900);
				overshoot += o.overshoot;
			}
			CHECK(overshoot <= 16000);
		}
	}
}

/*
 * With reports within the period: below 10 ms a thread in the first second (each report is answered
 * after one, as the worst of real kernels is), 80 % within 300 ms and a look, a quarter above the
 * demand at most.
 */
static void test_steps_answered(void)
{
	static const struct jump jumps[] = {
		{100, 800, 1, true, 0},    {100, 800, 4, true, 0},   {500, 550, 1, true, 0},
		{1000, 1200, 4, false, 0}, {100, 800, 2, false, 0},  {100, 800, 8, false, 0},
		{10, 800, 1, false, 0},    {100, 8000, 8, false, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(jumps); i++) {
		for (usec_t phase = 0; phase < 10; phase++) {
			struct outcome o;

			reports = (struct rig_reports){0};
			o = step_to(&jumps[i], true, phase * 10 * MS, tick_answered);
			CHECK(o.reach > 0 && o.reach <= 400 * MS);
			CHECK(o.overshoot <= 1250);
			CHECK(o.stood <= 10 * MS * jumps[i].threads);
		}
	}
}

/* Answers that come late, also after the period: a fifth above the demand at most in 95 of 100
 * runs, of which the margin of history is most. */
static void test_steps_answered_late(void)
{
	static const struct rig_reports worlds[] = {
		{.late_permille = 250, .late_most = 40 * MS},
		{.late_permille = 1000, .late_most = 10 * MS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(worlds); i++) {
		uint32_t above = 0, runs = 0;

		for (; runs < 320; runs++) {
			static const uint32_t cycles[] = {1, 2, 5, 10};
			const struct jump j = {100, 800, 1u << runs % 4, runs / 4 % 2,
					       cycles[runs / 8 % 4]};
			usec_t phase = runs * 7 % 100 * MS;

			reports = worlds[i];
			reports.random = runs;
			above += step_to(&j, true, phase, tick_answered).overshoot > 1225;
		}
		CHECK(above <= runs / 20);
	}
}

/* Bursts within single periods raise the limit to what one of them uses, and history adds its
 * margin. All threads together stand still for 50 ms of 15 minutes. */
static void test_bursts_answered(void)
{
	static const struct {
		uint32_t threads;
		usec_t busy;
		uint64_t most_milli;
	} bursts[] = {{4, 50, 2400}, {1, 80, 950}, {8, 5, 500}, {2, 26, 650}};

	for (size_t i = 0; i < ARRAY_SIZE(bursts); i++) {
		struct rig r;

		reports = (struct rig_reports){0};
		rig_init(&r, 200, GIB, 8);
		r.tick_usec = 100 * MS;
		rig_run(&r, USEC_PER_MIN);
		r.sim.load = (struct sim_load){.threads = bursts[i].threads,
					       .busy_usec = bursts[i].busy * MS,
					       .cycle_usec = USEC_PER_SEC};
		for (int tick = 0; tick < 9000; tick++)
			tick_answered(&r);
		CHECK(r.max_milli <= bursts[i].most_milli);
		CHECK(r.sim.u.throttled_usec <= 50 * MS);
	}
}

/* Time that was stolen does not count as use. */
static void test_stolen_answered(void)
{
	struct rig r;

	rig_init(&r, 500, GIB, 2);
	r.tick_usec = 100 * MS;
	r.sim.load = sim_steady(1, 300);
	rig_run(&r, USEC_PER_MIN);
	sim_run(&r.sim, 10 * MS);
	r.sim.u.cpu_usage_usec += 250 * MS;
	r.c.cpu.trial = (struct cpu_trial){
		.active = true, .from_milli = 800, .to_milli = 500, .since = r.sim.now};
	rig_answer(&r);
	CHECK_EQ(r.changes, 0);
	CHECK(r.c.cpu.trial.active); /* and no harm of a trial */
}

/* The quota of before the last write, of which a CPU is stopped late, says nothing of the new one.
 */
static void test_echo(void)
{
	struct rig r;

	rig_init(&r, 200, GIB, 4);
	r.tick_usec = 100 * MS;
	rig_run(&r, USEC_PER_MIN);
	r.sim.load = sim_steady(1, 900);
	r.sim.step_usec = MS;
	while (!r.sim.throttled)
		sim_run(&r.sim, MS);
	rig_answer(&r);
	CHECK_EQ(sim_milli(&r.sim), 210);
	sim_run(&r.sim, MS);
	rig_answer(&r);
	CHECK_EQ(sim_milli(&r.sim), 210);
	CHECK(r.c.cpu.period.echo);
	while (!r.sim.throttled)
		sim_run(&r.sim, MS);
	rig_answer(&r);
	CHECK(sim_milli(&r.sim) > 400); /* what was used of both quotas, twice the limit at most */
	CHECK(sim_milli(&r.sim) <= 420);
}

/* In one of a hundred periods of 10 ms, as in passes, a limit may throttle; and memory is read at
 * the next pass, though the CPU counters were read at the report. */
static void test_few_of_many(void)
{
	struct usage u = {.have = USAGE_CPU | USAGE_THROTTLE};
	struct rig r;

	rig_init(&r, 500, GIB, 4);
	r.tick_usec = 100 * MS;
	r.sim.load = sim_steady(1, 300);
	rig_run(&r, USEC_PER_MIN);
	r.sim.u.nr_periods += 99;
	sim_run(&r.sim, 10 * MS);
	rig_answer(&r);
	CHECK_EQ(r.changes, 0);
	u.cpu_usage_usec = r.sim.u.cpu_usage_usec;
	CHECK(r.c.last.cpu_usage_usec == u.cpu_usage_usec);
	CHECK_EQ(control_reflex_wants(&r.c, &u), USAGE_MEM);
}

/* A group that is throttled in one period of forty is within what is tolerated, more or less: the
 * smallest step now and then, no doubling by a pass that saw this one period alone. */
static void test_lone_period(void)
{
	struct rig r;

	rig_init(&r, 500, GIB, 4);
	r.tick_usec = 100 * MS;
	for (int i = 0; i < 30; i++) {
		r.sim.load = sim_steady(2, 300);
		rig_run(&r, 4 * USEC_PER_SEC);
		r.sim.load = sim_steady(2, 600);
		rig_run(&r, 100 * MS);
	}
	CHECK(r.changes >= 1);
	CHECK(r.max_milli <= 800);
}

/*
 * Throttled for one period, then raised: what history keeps of that second is what was held back by
 * the old limit, not by the new one. It would raise once more at the next review.
 */
static void test_history_of_a_raise(void)
{
	for (usec_t phase = 0; phase < 100 * MS; phase += 10 * MS) {
		struct rig r;

		rig_init(&r, 1000, GIB, 8);
		r.tick_usec = 100 * MS;
		rig_run(&r, USEC_PER_MIN + phase * 10);
		r.sim.load = sim_steady(8, 1200);
		r.sim.next_cycle = r.sim.now + phase;
		rig_run(&r, 30 * USEC_PER_SEC);
		CHECK(r.max_milli > 1200 && r.max_milli < 2000);
	}
}

/* The next span begins under the limit that a sample has written, not under the one it saw. */
static void test_span_of_a_raise(void)
{
	struct rig r;

	rig_init(&r, 200, GIB, 4);
	rig_run(&r, USEC_PER_MIN);
	r.sim.load = sim_steady(4, 2000);
	rig_run(&r, 5 * USEC_PER_SEC);
	CHECK(r.changes >= 3);
	CHECK_EQ(r.c.resource[RESOURCE_CPU].planned_at, r.sim.now);
	CHECK_EQ(r.c.sample.limits.cpu_quota_usec, r.c.kernel.cpu_quota_usec);
}

static void test_temper(void)
{
	const struct cpu_goal goal = cpu_goal_of(&tuning_default, GOAL_BALANCED);
	struct cpu_law c = {.proven_milli = 1150};
	struct cpu_rates r = {.demand_milli = 3000, .throttled = 4, .throttle_ppm = 400000};

	cpu_temper_demand(&c, &tuning_default.history, &goal, &r);
	CHECK_EQ(r.demand_milli, 1800); /* with its margin what a raise may be */
	r.demand_milli = 1700;
	cpu_temper_demand(&c, &tuning_default.history, &goal, &r);
	CHECK_EQ(r.demand_milli, 1700);
	r = (struct cpu_rates){.demand_milli = 3000};
	cpu_temper_demand(&c, &tuning_default.history, &goal, &r);
	CHECK_EQ(r.demand_milli, 3000);
	r.throttled = 4;
	r.throttle_ppm = 400000;
	c.proven_milli = LIMIT_MAX;
	cpu_temper_demand(&c, &tuning_default.history, &goal, &r);
	CHECK_EQ(r.demand_milli, 3000);
	/* What the goal lets pass counts as what it used while it ran. */
	r = (struct cpu_rates){.demand_milli = 3000,
			       .throttled = 3,
			       .throttle_ppm = 300000,
			       .used_milli = 900,
			       .span_usec = USEC_PER_SEC,
			       .active_usec = USEC_PER_SEC / 2};
	cpu_temper_demand(&c, &tuning_default.history, &goal, &r);
	CHECK_EQ(r.demand_milli, 1800);
}

/* The hypervisor runs something else, as seen on an emulated node that was stopped for 250 ms: the
 * thread that was on a CPU is said to have used all of it, and the late timer counts each of the
 * periods as throttled, though only one quota was given out. */
static void stop_machine(struct rig *r, bool on_cpu)
{
	usec_t span = 250 * MS;
	struct sim *s = &r->sim;

	s->now += span;
	r->now_real += span;
	s->next_cycle += span;
	s->next_period += span;
	s->u.cpu_usage_usec += on_cpu ? span : 0;
	s->u.nr_periods += 3;
	s->u.nr_throttled += 3;
}

/* What was said to be used is paid back: throttled without use. */
static void pay_back(struct rig *r, uint32_t periods)
{
	struct sim_load load = r->sim.load;

	r->sim.load.cycle_usec = 0;
	for (uint32_t i = 0; i < periods; i++) {
		r->sim.u.nr_periods += !r->sim.timer_on;
		r->sim.u.nr_throttled++;
		rig_tick(r);
	}
	r->sim.load = load;
}

/* One CPU of it was away, with the timer of the group: vscaled ran on the other one. */
static void stop_timer(struct rig *r)
{
	r->sim.u.nr_periods += 2;
	r->sim.u.nr_throttled += 3;
}

static void run_stolen(struct rig *r, usec_t span, uint32_t debt)
{
	usec_t end = r->sim.now + span;

	for (int i = 0; r->sim.now < end; i++) {
		rig_run(r, (usec_t)(700 + i % 7 * 100) * MS);
		if (i % 3 == 0) {
			stop_timer(r);
			continue;
		}
		stop_machine(r, i % 3 == 1);
		rig_tick(r);
		pay_back(r, i % 3 == 1 ? debt : 0);
	}
}

/* A limit far above the demand does not creep up on a host whose CPU is stolen; one that is too low
 * is raised all the same. */
static void test_stolen(void)
{
	struct rig r;

	rig_init(&r, 1500, GIB, 2);
	r.tick_usec = 100 * MS;
	r.sim.load = sim_steady(1, 500);
	run_stolen(&r, 5 * USEC_PER_MIN, 1);
	CHECK_EQ(r.changes, 0);
	rig_init(&r, 630, GIB, 2);
	r.tick_usec = 100 * MS;
	r.sim.load = sim_steady(1, 100);
	run_stolen(&r, 5 * USEC_PER_MIN, 3);
	CHECK_EQ(r.changes, 0);
	rig_init(&r, 100, GIB, 2);
	r.tick_usec = 100 * MS;
	r.sim.load = sim_steady(1, 500);
	r.sim.load.drops = true;
	run_stolen(&r, 5 * USEC_PER_SEC, 3);
	CHECK(sim_milli(&r.sim) >= 500);
	run_stolen(&r, 5 * USEC_PER_MIN, 1);
	CHECK(r.max_milli <= 1000);
}

/* Small raises that follow each other do not put off the spec, a large one does. */
static void test_held_since(void)
{
	struct pod_bounds b = {.resource[RESOURCE_CPU].accepted = 200};
	usec_t apart = 0, before;
	struct rig r;

	rig_init(&r, 200, GIB, 8);
	control_set_pod(&r.c, &b);
	r.tick_usec = 100 * MS;
	for (int i = 0; i < 30; i++) {
		r.sim.load = sim_steady(2, sim_milli(&r.sim) * 9 / 10);
		rig_run(&r, 4 * USEC_PER_SEC);
		r.sim.load = sim_steady(2, sim_milli(&r.sim) * 21 / 20);
		rig_run(&r, 100 * MS);
		if (apart == 0 && sim_milli(&r.sim) > 250)
			apart = r.sim.now;
	}
	CHECK(apart != 0 && r.c.cpu.held_since <= apart);
	CHECK(r.c.cpu.last_change > apart + USEC_PER_MIN);
	before = r.sim.now;
	r.sim.load = sim_steady(8, 7000);
	rig_run(&r, 5 * USEC_PER_SEC);
	CHECK(r.c.cpu.held_since > before);
}

/* Waiting because of its own limit is not the neighbours' doing. */
static void test_neighbours(void)
{
	struct rig r;

	rig_init(&r, 100, GIB, 4);
	r.c.rule.mode = MODE_OFF;
	r.sim.load = sim_steady(1, 800);
	rig_run(&r, USEC_PER_MIN);
	CHECK(r.c.psi_cpu_ppm > 600000);
	CHECK(r.c.psi_cpu_others_ppm < 10000);
	rig_init(&r, 1000, GIB, 4);
	r.sim.load = sim_steady(1, 500);
	for (int i = 0; i < 60; i++) {
		r.sim.u.psi_cpu_usec += 300 * MS;
		rig_run(&r, USEC_PER_SEC);
	}
	CHECK(r.c.psi_cpu_others_ppm > 290000 && r.c.psi_cpu_others_ppm <= 300000);
	CHECK_EQ(r.c.psi_cpu_others_ppm, r.c.psi_cpu_ppm);
	CHECK_EQ(r.changes, 0); /* shown, never acted on */
}

int main(void)
{
	test_neighbours();
	test_span_of_a_raise();
	test_temper();
	test_stolen();
	test_held_since();
	test_steps();
	test_steps_answered();
	test_steps_answered_late();
	test_bursts_answered();
	test_stolen_answered();
	test_echo();
	test_few_of_many();
	test_history_of_a_raise();
	test_lone_period();
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
#include "test/check.h"
#include "test/policy/rig.h"
#include <errno.h>

#define NODE 4000
#define MS   USEC_PER_MSEC

static struct usage counters(uint64_t used, uint64_t periods, uint64_t throttled, uint64_t waited)
{
	return (struct usage){
		.have = USAGE_CPU | USAGE_THROTTLE | USAGE_CPU_LIMIT,
		.cpu_usage_usec = used,
		.nr_periods = periods,
		.nr_throttled = throttled,
		.throttled_usec = waited,
		.limits = {.cpu_quota_usec = LIMIT_MAX, .cpu_period_usec = 100 * MS},
	};
}

/* One second with a limit: what ran, waited, and what is made of it. */
static const struct {
	const char *name;
	uint64_t limit_milli, used_ms, periods, throttled, waited_ms;
	uint64_t used, active_ms, demand, evidence, ppm;
} rows[] = {
	/* clang-format off */
	/* name                             limit  used per thr  wait | used active demand evid.  ppm */
	{"nothing ran",                       500,    0,  0,  0,    0,     0, 1000,    0,    0,       0},
	{"half a core, always runnable",     1000,  500, 10,  0,    0,   500, 1000,  500,  500,       0},
	{"one burst of 200 ms in one period",4000,  200,  2,  0,    0,   200,  100, 2000, 2000,       0},
	{"the same over two periods",        4000,  200,  3,  0,    0,   200,  200, 1000, 1000,       0},
	{"demand never above the limit",     1500,  200,  2,  0,    0,   200,  100, 1500, 2000,       0},
	{"a spinner at a tenth",              100,  100, 10, 10,  900,   100, 1000,  150, 1000, 1000000},
	{"two of them, waiting in sum",       200,  200, 10, 10, 1800,   200, 1000,  300, 2000, 1000000},
	{"wants little more than it gets",    500,  500, 10, 10,   50,   500, 1000,  550,  550, 1000000},
	{"one period of ten throttled",       500,  480, 10,  1,   60,   480, 1000,  525,  540,  100000},
	{"evidence ends at the node",        3000, 3000, 10, 10, 9000,  3000, 1000, 4000, 4000, 1000000},
	{"throttled, and wanted nothing more",500,  500, 10, 10,    0,   500, 1000,  500,  500, 1000000},
	{"more throttled than periods",       500,  500,  5,  9,  100,   500,  500,  750, 1200, 1000000},
	/* clang-format on */
};

TEST(rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct usage a = counters(5000, 7, 3, 1000), b = a;
		struct cpu_rates r;
		int failed = check_failures;

		b.cpu_usage_usec += rows[i].used_ms * MS;
		b.nr_periods += rows[i].periods;
		b.nr_throttled += rows[i].throttled;
		b.throttled_usec += rows[i].waited_ms * MS;
		b.limits.cpu_quota_usec = cpu_quota_of(rows[i].limit_milli, 100 * MS);
		CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), 0);
		CHECK_EQ(r.used_milli, rows[i].used);
		CHECK_EQ(r.active_usec, rows[i].active_ms * MS);
		CHECK_EQ(r.demand_milli, rows[i].demand);
		CHECK_EQ(r.evidence_milli, rows[i].evidence);
		CHECK_EQ(r.throttle_ppm, rows[i].ppm);
		if (check_failures != failed)
			fprintf(stderr, "row: %s\n", rows[i].name);
	}
}

TEST(refusals)
{
	struct usage a = counters(100, 10, 5, 50), b = a;
	struct cpu_rates r = {.demand_milli = 77};

	CHECK_EQ(cpu_rates_between(&a, &b, 0, NODE, &r), -EINVAL);
	b.cpu_usage_usec--;
	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), -EINVAL);
	b = a;
	b.nr_periods--;
	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), -EINVAL);
	b = a;
	b.nr_throttled--;
	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), -EINVAL);
	b = a;
	b.throttled_usec--;
	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), -EINVAL);
	/* A pass that could not read the counter: the next would see all of it as one second's use.
	 */
	b = a;
	a.have = 0;
	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), -EINVAL);
	CHECK_EQ(r.demand_milli, 77);
}

TEST(without_limit)
{
	struct usage a = counters(0, 0, 0, 0), b = counters(700 * MS, 0, 0, 0);
	struct cpu_rates r;

	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), 0);
	CHECK_EQ(r.demand_milli, 700);
	CHECK_EQ(r.active_usec, USEC_PER_SEC);
	/* The limit went away in the middle of a throttled second. */
	b = counters(700 * MS, 10, 10, 900 * MS);
	CHECK_EQ(cpu_rates_between(&a, &b, USEC_PER_SEC, NODE, &r), 0);
	CHECK(r.demand_milli >= 700 && r.demand_milli <= 1400);
}

/* Counters of any size: no overflow, nothing above the node. */
TEST(extremes)
{
	static const uint64_t edges[] = {
		0, 1, 1000, USEC_PER_SEC, INT64_MAX, UINT64_MAX - 1, UINT64_MAX};
	uint64_t random = 3;

	for (int i = 0; i < 100000; i++) {
		struct usage a = counters(0, 0, 0, 0), b = a;
		uint64_t *field[] = {&b.cpu_usage_usec, &b.nr_periods, &b.nr_throttled,
				     &b.throttled_usec, &b.limits.cpu_quota_usec};
		usec_t span;
		struct cpu_rates r;

		for (size_t k = 0; k < ARRAY_SIZE(field); k++)
			*field[k] = edges[random_next(&random) % ARRAY_SIZE(edges)];
		b.limits.cpu_period_usec = i % 5 == 0 ? 0 : i % 5 == 1 ? 1 : 100 * MS;
		span = 1 + random_next(&random) % (2 * USEC_PER_SEC);
		CHECK_EQ(cpu_rates_between(&a, &b, span, NODE, &r), 0);
		CHECK(r.demand_milli <= NODE && r.evidence_milli <= NODE);
		CHECK(r.active_usec > 0 && r.active_usec <= span);
		CHECK(r.throttle_ppm <= 1000000);
	}
}

/* Runs a load for a minute and returns the highest demand of any second of it. */
static uint64_t highest_recent(struct sim *s, usec_t tick)
{
	struct usage before, now;
	struct cpu_rates r;
	uint64_t most = 0;

	sim_observe(s, &before);
	for (usec_t t = 0; t < USEC_PER_MIN; t += tick) {
		sim_run(s, tick);
		sim_observe(s, &now);
		if (cpu_rates_between(&before, &now, tick, NODE, &r) == 0)
			most = MAX(most, r.demand_milli);
		before = now;
	}
	return most;
}

/*
 * The named case: 4 threads x 50 ms a second use 200m on average and need 2000m in their period.
 * The kernel counts a second period for such a burst, in which it finds the group idle.
 */
TEST(bursts)
{
	static const struct {
		uint32_t threads;
		usec_t busy, cycle;
		uint64_t least, most;
	} jobs[] = {
		{4, 50 * MS, USEC_PER_SEC, 1900, 2100}, {1, 20 * MS, USEC_PER_SEC, 190, 210},
		{1, 100 * MS, USEC_PER_SEC, 900, 1000}, {2, 300 * MS, 2 * USEC_PER_SEC, 1900, 2000},
		{1, 50 * MS, 100 * MS, 500, 600},       {4, 25 * MS, 100 * MS, 1000, 1200},
	};
	struct limits l = {400 * MS, 100 * MS, 0, GIB, LIMIT_MAX};

	for (size_t i = 0; i < ARRAY_SIZE(jobs); i++) {
		for (int fast = 0; fast < 2; fast++) {
			struct sim s;
			uint64_t got;

			sim_init(&s, &l, 4, 1);
			s.load = (struct sim_load){.threads = jobs[i].threads,
						   .busy_usec = jobs[i].busy,
						   .cycle_usec = jobs[i].cycle};
			got = highest_recent(&s, fast ? 100 * MS : USEC_PER_SEC);
			CHECK(got >= jobs[i].least);
			CHECK(got <= jobs[i].most);
		}
	}
}

/* A throttled second is no evidence of a low need, at whatever limit. */
TEST(censored)
{
	for (uint64_t limit = 100; limit <= 700; limit += 50) {
		struct limits l = {cpu_quota_of(limit, 100 * MS), 100 * MS, 0, GIB, LIMIT_MAX};
		struct sim s;

		sim_init(&s, &l, 4, 1);
		s.load = sim_steady(1, 800);
		s.load.drops = true;
		CHECK(highest_recent(&s, USEC_PER_SEC) > limit);
	}
}

TEST(recent)
{
	struct recent_max r = {0};
	const usec_t keep = 10 * USEC_PER_MIN, start = 5 * USEC_PER_HOUR;
	usec_t t = start;

	CHECK_EQ(recent_max_get(&r), 0);
	recent_max_add(&r, 900, keep, t);
	for (; t < start + keep; t += USEC_PER_SEC) {
		recent_max_add(&r, 100, keep, t);
		CHECK_EQ(recent_max_get(&r), 900);
	}
	/* A tenth later at most it is forgotten. */
	for (; t <= start + keep + keep / 10; t += USEC_PER_SEC)
		recent_max_add(&r, 100, keep, t);
	CHECK_EQ(recent_max_get(&r), 100);
	/* A day of silence. */
	recent_max_add(&r, 5, keep, t + USEC_PER_DAY);
	CHECK_EQ(recent_max_get(&r), 5);
	recent_max_add(&r, 4, 0, t + USEC_PER_DAY + 1);
	CHECK(recent_max_get(&r) >= 4);
}

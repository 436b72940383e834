// SPDX-License-Identifier: Apache-2.0
/* The default algorithm: one test for each defect of VPA's that it avoids. */
#include "test/check.h"
#include "test/policy/rig.h"
#include <math.h>

/* 2026-01-01T00:00:00Z */
#define START (1767225600 * USEC_PER_SEC)

static const struct tuning_history *const th = &tuning_default.history;

/* The default without its margin. */
static struct tuning_history plain(void)
{
	struct tuning_history t = *th;

	t.margin_permille = 0;
	return t;
}

static struct cpu_rates span_of(usec_t span, uint64_t milli)
{
	return (struct cpu_rates){
		.span_usec = span, .active_usec = span, .used_milli = milli, .demand_milli = milli};
}

static void add(struct history *h, usec_t span, uint64_t milli, usec_t *now)
{
	struct cpu_rates r = span_of(span, milli);

	*now += span;
	history_add_cpu(h, &r, *now);
}

static struct range_of cpu_of(const struct history *h, const struct tuning_history *t)
{
	struct recommendation r;

	history_recommend(h, t, 1, &r);
	return r.resource[RESOURCE_CPU];
}

static struct range_of memory_of(const struct history *h, const struct tuning_history *t)
{
	struct recommendation r;

	history_recommend(h, t, 1, &r);
	return r.resource[RESOURCE_MEMORY];
}

static bool within(uint64_t got, uint64_t want, uint32_t permille)
{
	uint64_t off = got > want ? got - want : want - got;

	if (off * 1000 <= want * permille)
		return true;
	fprintf(stderr, "%llu is not within %u permille of %llu\n", (unsigned long long)got,
		permille, (unsigned long long)want);
	return false;
}

/* VPA counts samples. Here a second weighs the same in however many passes it is seen. */
TEST(weighted_by_time)
{
	struct tuning_history t = plain();
	OWN(history_drop) struct history one, other;
	usec_t now = START;

	t.target_permille = 700;
	history_init(&one, &t);
	history_init(&other, &t);
	/* 60 s busy in 600 passes, 60 s nearly idle in 12. By passes the 70th percentile is busy,
	 * by time too; with the busy half seen in 12 passes and the idle one in 600 only by time.
	 */
	for (int i = 0; i < 12; i++)
		add(&one, 5 * USEC_PER_SEC, 1000, &now);
	for (int i = 0; i < 600; i++)
		add(&one, 100 * USEC_PER_MSEC, 100, &now);
	CHECK(within(cpu_of(&one, &t).target, 1000, 50));

	now = START;
	for (int i = 0; i < 600; i++)
		add(&other, 100 * USEC_PER_MSEC, 1000, &now);
	for (int i = 0; i < 12; i++)
		add(&other, 5 * USEC_PER_SEC, 100, &now);
	CHECK(within(cpu_of(&other, &t).target, cpu_of(&one, &t).target, 1));
	CHECK(fabs(one.cpu.total - other.cpu.total) < 1e-6 * one.cpu.total);
}

/* The time of a suspended host does not count as idle. */
TEST(unseen_time)
{
	struct tuning_history t = plain();
	OWN(history_drop) struct history h;
	usec_t now = START;

	history_init(&h, &t);
	for (int i = 0; i < 3600; i++)
		add(&h, USEC_PER_SEC, 500, &now);
	add(&h, USEC_PER_DAY, 0, &now);
	CHECK_EQ(h.observed_usec[RESOURCE_CPU], USEC_PER_HOUR + 5 * USEC_PER_MIN);
	CHECK(within(cpu_of(&h, &t).target, 500, 50));
}

/* A job of 4 threads x 50 ms a second: VPA sees 200m, its limit must hold two cores. */
TEST_RIG(demand_not_usage)
{
	struct range_of cpu;

	rig_init(r, 4000, GIB, 4);
	r->c.rule.mode = MODE_OFF;
	r->sim.load = (struct sim_load){
		.threads = 4, .busy_usec = 50 * USEC_PER_MSEC, .cycle_usec = USEC_PER_SEC};
	rig_run(r, 10 * USEC_PER_MIN);
	cpu = cpu_of(&r->c.history, &r->t.history);
	CHECK(within(r->c.rates.used_milli, 200, 50));
	CHECK(cpu.peak >= 2000);
	CHECK(cpu.peak <= 2600);
	/* Nine tenths of the time it is idle: requests follow that. */
	CHECK(cpu.lower <= 50);
}

/* Usage is cut off by the limit; VPA climbs by its margin at a time, from below. */
TEST_RIG(throttled_counts)
{
	rig_init(r, 300, GIB, 4);
	r->c.rule.mode = MODE_OFF;
	r->sim.load = sim_steady(1, 800);
	r->sim.load.drops = true;
	rig_run(r, 10 * USEC_PER_MIN);
	CHECK(r->c.rates.used_milli <= 300);
	CHECK(cpu_of(&r->c.history, &r->t.history).target > 450);
}

/* VPA answers with the end of the bucket: up to 5 % too much, 15 % at 100m. */
TEST(interpolation)
{
	static const uint64_t steady[] = {50, 100, 200, 500, 1000, 2000, 4000};
	struct tuning_history t = plain();
	double bias = 0, bucket_bias = 0;
	int n = 0;

	/* A load spread evenly over +-20 %. */
	for (size_t i = 0; i < ARRAY_SIZE(steady); i++) {
		OWN(history_drop) struct history h;
		usec_t now = START;
		uint64_t random = 5, from = steady[i] * 8 / 10, width = steady[i] * 4 / 10;

		history_init(&h, &t);
		for (int k = 0; k < 20000; k++)
			add(&h, USEC_PER_SEC, from + random_next(&random) % (width + 1), &now);
		for (uint32_t p = 500; p <= 950; p += 50) {
			double want = (double)from + (double)width * p / 1000;
			struct tuning_history at = t;

			at.target_permille = p;
			bias += (double)cpu_of(&h, &at).target / want - 1;
			bucket_bias += histogram_percentile(&h.cpu, p / 1000.0) * 1000 / want - 1;
			n++;
		}
	}
	CHECK(fabs(bias / n) < 0.01);
	CHECK(bucket_bias / n > 0.02);
}

/* VPA reads memory once a minute; memory.peak holds what happened in between. */
TEST_RIG(peak_between_passes)
{
	rig_init(r, 1000, GIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 10 * USEC_PER_SEC);
	sim_allocate(&r->sim, 400 * MIB);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB; /* freed before the next pass */
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK(r->c.history.window_peak >= 500 * MIB);
	CHECK(r->c.history.window_peak <= 501 * MIB);
	CHECK(memory_of(&r->c.history, &r->t.history).peak >= 500 * MIB);
}

/* A new peak of page cache does not count as use. */
TEST_RIG(cache_peak)
{
	rig_init(r, 1000, GIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	r->sim.load.cache_bps = 50 * MIB;
	r->sim.load.cache_set = 800 * MIB;
	rig_run(r, 5 * USEC_PER_MIN);
	CHECK(r->sim.m.file > 700 * MIB);
	CHECK(r->c.history.window_peak <= 160 * MIB);
}

/* VPA takes the request for the use at a kill: nine kills from 100 MiB to 4 GiB. */
TEST_RIG(oom_evidence)
{
	rig_init(r, 1000, 700 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 10 * USEC_PER_SEC);
	sim_allocate(&r->sim, 800 * MIB);
	r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->c.history.window_oom, mem_oom_record(&r->t.memory, 700 * MIB));
	CHECK(memory_of(&r->c.history, &r->t.history).peak >= 840 * MIB);
}

/* VPA: days since the first sample, or samples / 1440. Here: hours of container time seen. */
TEST(confidence)
{
	struct tuning_history t = *th;
	OWN(history_drop) struct history h;
	struct recommendation r;
	usec_t now = START;

	history_init(&h, &t);
	CHECK_EQ(history_confidence_permille(&h, &t, RESOURCE_CPU), 0);
	/* Six hours in seconds: 21600 samples, a quarter of a day. */
	for (int i = 0; i < 6 * 3600; i++)
		add(&h, USEC_PER_SEC, 200, &now);
	CHECK_EQ(history_confidence_permille(&h, &t, RESOURCE_CPU), 250);
	/* A week without the container adds nothing. */
	now += 7 * USEC_PER_DAY;
	add(&h, USEC_PER_SEC, 200, &now);
	CHECK_EQ(history_confidence_permille(&h, &t, RESOURCE_CPU), 250);
	for (int i = 0; i < 18 * 60; i++)
		add(&h, USEC_PER_MIN, 200, &now);
	CHECK_EQ(history_confidence_permille(&h, &t, RESOURCE_CPU), 1000);
	history_recommend(&h, &t, 1, &r);
	CHECK_EQ(r.confidence_permille[RESOURCE_CPU], 1000);
	/* Nothing vouches for memory. */
	CHECK_EQ(r.confidence_permille[RESOURCE_MEMORY], 0);
	CHECK(r.resource[RESOURCE_CPU].lower < r.resource[RESOURCE_CPU].target);
	CHECK(r.resource[RESOURCE_CPU].upper > r.resource[RESOURCE_CPU].target);
	t.confidence_usec = 0;
	CHECK(history_confidence_permille(&h, &t, RESOURCE_CPU) >= 1000);
}

/* One peak per window; the highest of the last windows, fading. */
TEST(memory_windows)
{
	struct tuning_history t = plain();
	OWN(history_drop) struct history h;
	usec_t now = START;

	history_init(&h, &t);
	history_add_memory(&h, &t, 100 * MIB, false, now);
	history_add_memory(&h, &t, 300 * MIB, false, now + USEC_PER_HOUR);
	history_add_memory(&h, &t, 200 * MIB, false, now + 2 * USEC_PER_HOUR);
	CHECK(fabs(h.memory.total -
		   exp2((double)(h.window_end_real - (usec_t)h.memory.reference_usec) /
			(double)USEC_PER_DAY)) < 1e-9);
	CHECK(within(memory_of(&h, &t).peak, 300 * MIB, 60));
	for (int day = 1; day <= 3; day++)
		history_add_memory(&h, &t, 100 * MIB, false, now + (usec_t)day * USEC_PER_DAY);
	CHECK(within(memory_of(&h, &t).peak, 300 * MIB, 60));
	for (int day = 4; day <= 20; day++)
		history_add_memory(&h, &t, 100 * MIB, false, now + (usec_t)day * USEC_PER_DAY);
	CHECK(within(memory_of(&h, &t).peak, 100 * MIB, 60));
	t.mem_window_usec = 0;
	history_add_memory(&h, &t, 100 * MIB, false, now + 21 * USEC_PER_DAY);
}

/* The clock is set a day ahead or back: what was known stays known, and no window is lost. */
TEST(clock)
{
	static const int64_t steps[] = {(int64_t)USEC_PER_DAY, -(int64_t)USEC_PER_DAY,
					(int64_t)USEC_PER_HOUR, -(int64_t)USEC_PER_HOUR};

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		for (int shift = 0; shift < 2; shift++) {
			struct tuning_history t = plain();
			OWN(history_drop) struct history h;
			usec_t now = START;
			struct range_of cpu, memory;

			history_init(&h, &t);
			for (int k = 0; k < 48 * 60; k++) {
				add(&h, USEC_PER_MIN, 400, &now);
				history_add_memory(&h, &t, 300 * MIB, false, now);
			}
			cpu = cpu_of(&h, &t);
			memory = memory_of(&h, &t);
			if (shift)
				history_shift(&h, steps[i]);
			now = (usec_t)((int64_t)now + steps[i]);
			add(&h, USEC_PER_MIN, 400, &now);
			history_add_memory(&h, &t, 50 * MIB, false, now);
			CHECK(within(cpu_of(&h, &t).target, cpu.target, 10));
			CHECK(within(memory_of(&h, &t).peak, memory.peak, 10));
			CHECK_EQ(history_confidence_permille(&h, &t, RESOURCE_CPU), 2000);
			CHECK(h.last_real >= h.first_real);
			/* New evidence counts at once. */
			history_add_memory(&h, &t, 600 * MIB, false, now + 1);
			CHECK(memory_of(&h, &t).peak >= 550 * MIB);
		}
	}
}

TEST(empty)
{
	OWN(history_drop) struct history h;
	struct recommendation r;

	history_init(&h, th);
	history_recommend(&h, th, 1, &r);
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		CHECK(r.confidence_permille[i] == 0 && r.resource[i].target == 0 &&
		      r.resource[i].peak == 0);
}

/* What is vouched for is what both resources have been observed for. */
TEST(observed_least)
{
	struct history h = {.observed_usec = {2, 1}};

	CHECK_EQ(history_observed_least(&h), 1);
}

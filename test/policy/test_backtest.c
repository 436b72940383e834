// SPDX-License-Identifier: Apache-2.0
/* Each policy over series whose outcome is known exactly, and the demand model's promises. */
#include "policy/backtest/backtest.h"
#include "test/check.h"

#define SEED 7

static struct backtest_trace trace_of(const struct backtest_sample *s, size_t count, uint32_t cpus)
{
	return (struct backtest_trace){.samples = s,
				       .count = count,
				       .memory = s[0].memory_bytes != 0,
				       .cpus = cpus,
				       .seed = SEED};
}

/* A run to its end; owned by the caller. */
static void run_whole(struct backtest *b, enum backtest_policy p, const struct backtest_trace *t,
		      const struct backtest_oracle *o, bool skips_none)
{
	struct backtest_block *k = calloc(1, sizeof *k);

	backtest_begin(b, p, t, o);
	b->skips_none = skips_none;
	while (backtest_block_next(k, t))
		backtest_run(b, k);
	free(k);
}

static struct backtest_result run_from(enum backtest_policy p, const struct backtest_trace *t,
				       const struct backtest_oracle *o)
{
	static struct backtest b;

	run_whole(&b, p, t, o, false);
	backtest_drop(&b);
	return b.result;
}

static void test_demand(void)
{
	static const uint64_t loads[] = {500, 1300, 40000, 1000000, 3500000};

	for (size_t i = 0; i < ARRAY_SIZE(loads); i++) {
		struct backtest_demand a, b;
		uint64_t sum = 0, want = loads[i] * 100000 / 1000000 * 200000;

		backtest_demand_init(&a, 16, SEED);
		backtest_demand_init(&b, 16, SEED);
		for (int p = 0; p < 200000; p++) {
			uint64_t usec = backtest_demand_next(&a, loads[i]);

			CHECK(usec == backtest_demand_next(&b, loads[i]));
			CHECK(usec <= 1600000);
			sum += usec;
		}
		/* The mean is the sample's, to 4 %: 1300 pieces of 20 ms in the smallest but one.
		 */
		if (i > 0)
			CHECK(sum > want - want / 25 && sum < want + want / 25);
	}
}

/* Nothing asked, nothing wanted; never more than the CPUs can do. */
static void test_demand_edges(void)
{
	struct backtest_demand d;

	backtest_demand_init(&d, 1, SEED);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(backtest_demand_next(&d, 0), 0);
	for (int i = 0; i < 1000; i++)
		CHECK(backtest_demand_next(&d, 1000000) <= BACKTEST_PERIOD_USEC);
}

/* An hour of 0.5 cores, then one of 1 core, on 4 CPUs. */
static const struct backtest_sample hours[] = {
	{0, 500000, 100 * MIB},
	{3600 * USEC_PER_SEC, 1000000, 200 * MIB},
};

static void test_static(void)
{
	struct backtest_trace t = trace_of(hours, 2, 4);
	struct backtest_oracle o;
	struct backtest_result r, p95;

	CHECK_EQ(backtest_find_oracle(&t, &o), 0);
	CHECK_EQ(o.max_bytes, 200 * MIB);
	CHECK_EQ(o.p95_bytes, 200 * MIB);
	CHECK(o.p95_milli < o.max_milli && o.max_milli <= 4000);
	r = run_from(BACKTEST_STATIC_MAX, &t, &o);
	CHECK_EQ(r.span_usec, 7200 * USEC_PER_SEC);
	CHECK_EQ(r.limit_core_usec, o.max_milli * 7200 * 1000);
	CHECK_EQ(r.throttled_periods, 0);
	CHECK_EQ(r.unmet_core_usec, 0);
	CHECK_EQ(r.used_core_usec, r.demand_core_usec);
	CHECK_EQ(r.changes_cpu + r.changes_memory + r.oom_kills, 0);
	CHECK_EQ(r.given_core_usec, 0);
	CHECK(r.limit_byte_sec == 200.0 * MIB * 7200);
	p95 = run_from(BACKTEST_STATIC_P95, &t, &o);
	CHECK_EQ(p95.limit_core_usec, o.p95_milli * 7200 * 1000);
	CHECK_EQ(p95.given_core_usec, (o.max_milli - o.p95_milli) * 7200 * 1000);
	CHECK_EQ(p95.demand_core_usec, r.demand_core_usec);
	/* At most one period in twenty wants more; the work that waits throttles some more. */
	CHECK(p95.throttled_periods > 0 && p95.throttled_periods < 72000 / 5);
	CHECK(p95.unmet_core_usec > 0);
}

/* The oracle's memory is by time: 4 % of it above p95 are killed by that. */
static void test_static_memory(void)
{
	static const struct backtest_sample s[] = {
		{0, 0, 100 * MIB},
		{960 * USEC_PER_SEC, 0, 300 * MIB},
		{980 * USEC_PER_SEC, 0, 100 * MIB},
		{1000 * USEC_PER_SEC, 0, 100 * MIB},
	};
	struct backtest_trace t = trace_of(s, 4, 1);
	struct backtest_oracle o;

	CHECK_EQ(backtest_find_oracle(&t, &o), 0);
	CHECK_EQ(o.p95_bytes, 100 * MIB);
	CHECK_EQ(o.max_bytes, 300 * MIB);
	CHECK_EQ(run_from(BACKTEST_STATIC_MAX, &t, &o).oom_kills, 0);
	CHECK(run_from(BACKTEST_STATIC_P95, &t, &o).oom_kills > 0);
}

/* Memory over 80 % of the limit doubles it every two minutes and a second, CPU that idles never. */
static void test_threshold(void)
{
	static const struct backtest_sample s[] = {
		{0, 0, 81 * MIB},
		{600 * USEC_PER_SEC, 0, 81 * MIB},
	};
	struct backtest_trace t = trace_of(s, 2, 1);
	struct backtest_oracle o = {1000, 1000, 100 * MIB, 100 * MIB};
	struct backtest_result r = run_from(BACKTEST_THRESHOLD, &t, &o);

	/* 81 MiB of 100: at 81 % when all of it is there, which the first sample takes 600 s for.
	 */
	CHECK_EQ(r.changes_cpu, 0);
	CHECK_EQ(r.changes_memory, 1);
	CHECK_EQ(r.changed_bytes, 100 * MIB);
	CHECK_EQ(r.given_core_usec, 0);
	CHECK(r.given_byte_sec < 0);
}

/* A full CPU under a limit of 0.1 cores doubles it until a core is there. */
static void test_threshold_cpu(void)
{
	static const struct backtest_sample s[] = {
		{0, 1000000, 0},
		{3600 * USEC_PER_SEC, 1000000, 0},
	};
	struct backtest_trace t = trace_of(s, 2, 1);
	struct backtest_oracle o = {100, 100, LIMIT_MAX, LIMIT_MAX};
	struct backtest_result r = run_from(BACKTEST_THRESHOLD, &t, &o);

	CHECK_EQ(r.changes_cpu, 4); /* 200, 400, 800, 1000 */
	CHECK_EQ(r.changed_milli, 900);
	/* 120 s of use each: 121, 121, 121 and 121 s from the first second that was seen. */
	CHECK_EQ(r.limit_core_usec,
		 (100 * 121 + 200 * 121 + 400 * 121 + 800 * 121 + 1000 * (7200 - 484)) * 1000ULL);
	CHECK(r.throttled_periods > 4840 - 100);
}

/* Idle: K8s-CPU-Fast comes down to the quantum after 20 s, the Captain by halves. */
static void test_idle_peers(void)
{
	static const struct backtest_sample s[] = {{0, 0, 0}, {60 * USEC_PER_SEC, 0, 0}};
	struct backtest_trace t = trace_of(s, 2, 4);
	struct backtest_oracle o = {1600, 1600, LIMIT_MAX, LIMIT_MAX};
	struct backtest_result r = run_from(BACKTEST_CPU_FAST, &t, &o);

	CHECK_EQ(r.changes_cpu, 1);
	CHECK_EQ(r.changed_milli, 1590);
	CHECK_EQ(r.limit_core_usec, (1600 * 20 + 10 * 100) * 1000000ULL / 1000);
	r = run_from(BACKTEST_CAPTAIN, &t, &o);
	/* 5 s of samples, then 800, 400, 200, 100, 50, 30, 20, 10: steps of 10m, rounded up. */
	CHECK_EQ(r.changed_milli, 1590);
	CHECK_EQ(r.changes_cpu, 8);
	r = run_from(BACKTEST_STATIC_MAX, &t, &o);
	CHECK_EQ(r.periods, 0);
}

/* VPA by hand: the same samples to the same recommender, the same acts of the updater. */
static void test_vpa(void)
{
	struct backtest_trace t = trace_of(hours, 2, 4);
	struct backtest_oracle o = {4000, 4000, 400 * MIB, 400 * MIB};
	struct backtest_result r = run_from(BACKTEST_VPA, &t, &o);

	/* Within the first two hours its bounds are wide: nothing is outside of them. */
	CHECK_EQ(r.changes_cpu, 0);
	CHECK_EQ(r.changes_memory, 0);
	CHECK_EQ(r.limit_core_usec, 4000 * 7200 * 1000ULL);
	/* A request of a tenth is below the lower bound after the first minute. */
	o = (struct backtest_oracle){100, 100, 400 * MIB, 400 * MIB};
	r = run_from(BACKTEST_VPA, &t, &o);
	CHECK(r.changes_cpu > 0);
}

/* vscaled follows a demand of ten times its limit within two seconds (promise 1), kills nothing. */
static void test_vscaled(void)
{
	static const struct backtest_sample s[] = {
		{0, 1000000, 64 * MIB},
		{600 * USEC_PER_SEC, 1000000, 64 * MIB},
	};
	struct backtest_trace t = trace_of(s, 2, 8);
	struct backtest_oracle o = {100, 100, 128 * MIB, 128 * MIB};
	struct backtest_result r = run_from(BACKTEST_BALANCED, &t, &o), again, fixed;

	again = run_from(BACKTEST_BALANCED, &t, &o);
	fixed = run_from(BACKTEST_STATIC_MAX, &t, &o);
	CHECK(memcmp(&r, &again, sizeof r) == 0);
	CHECK_EQ(r.demand_core_usec, fixed.demand_core_usec);
	CHECK_EQ(r.oom_kills, 0);
	CHECK(r.changes_cpu > 3);
	CHECK(r.throttled_periods < fixed.throttled_periods / 100);
	CHECK(r.used_core_usec > r.demand_core_usec / 100 * 99);
}

/* --- periods that are run together end as they do one by one */

#define SERIES_SAMPLES 600

/* Idle for a while, busy for a while; memory that stands, wanders, or grows and falls. */
static struct backtest_trace random_trace(struct backtest_sample *s, uint64_t *random)
{
	static const usec_t steps[] = {USEC_PER_SEC, USEC_PER_SEC, 300 * USEC_PER_MSEC,
				       5 * USEC_PER_SEC};
	usec_t step = steps[random_next(random) % ARRAY_SIZE(steps)];
	uint64_t cores = 20000 + random_next(random) % 800000, busy = random_next(random) % 4;
	uint64_t bytes = (16 + random_next(random) % 500) * MIB;
	uint64_t wanders = random_next(random) % 3 * (random_next(random) % MIB);
	uint64_t falls = 2 + random_next(random) % 500;

	for (size_t i = 0; i < SERIES_SAMPLES; i++) {
		if (random_next(random) % 60 == 0)
			busy = random_next(random) % 4;
		s[i].at = i * step;
		s[i].micro_cores = busy * (cores + random_next(random) % cores);
		s[i].memory_bytes = i > 0 ? s[i - 1].memory_bytes : bytes;
		if (random_next(random) % 2 == 0)
			s[i].memory_bytes += wanders / 2;
		else
			s[i].memory_bytes -= MIN(wanders / 2, s[i].memory_bytes / 2);
		if (random_next(random) % falls == 0)
			s[i].memory_bytes = bytes / 2 + random_next(random) % bytes;
	}
	return (struct backtest_trace){.samples = s,
				       .count = SERIES_SAMPLES,
				       .memory = random_next(random) % 4 > 0,
				       .cpus = 1 + (uint32_t)(random_next(random) % 4),
				       .seed = random_next(random)};
}

static void check_same(const struct backtest *a, const struct backtest *b)
{
	const struct control *x = &a->rig.c, *y = &b->rig.c;

	CHECK(memcmp(&a->result, &b->result, sizeof a->result) == 0);
	CHECK_EQ(a->rig.sim.now, b->rig.sim.now);
	CHECK_EQ(a->rig.sim.timer_on, b->rig.sim.timer_on);
	if (a->rig.sim.timer_on)
		CHECK_EQ(a->rig.sim.next_period, b->rig.sim.next_period);
	CHECK_EQ(a->rig.sim.u.mem_peak, b->rig.sim.u.mem_peak);
	CHECK(memcmp(&a->rig.sim.m, &b->rig.sim.m, sizeof a->rig.sim.m) == 0);
	CHECK(memcmp(&x->cpu.spread, &y->cpu.spread, sizeof x->cpu.spread) == 0);
	CHECK(memcmp(&x->cpu.throttled_ppm, &y->cpu.throttled_ppm, sizeof(double)) == 0);
	CHECK_EQ(x->cpu.evidence.unspent_usec, y->cpu.evidence.unspent_usec);
	CHECK_EQ(x->cpu.burst_at, y->cpu.burst_at);
	CHECK_EQ(x->cpu.burst.half.used_usec, y->cpu.burst.half.used_usec);
	CHECK_EQ(x->cpu.seen.at, y->cpu.seen.at);
	CHECK_EQ(x->cpu.since_write.base.used_usec, y->cpu.since_write.base.used_usec);
	CHECK_EQ(x->cpu.since_write.half.at, y->cpu.since_write.half.at);
	CHECK_EQ(x->cpu.trial.active, y->cpu.trial.active);
	CHECK(memcmp(x->mem.point, y->mem.point, sizeof x->mem.point) == 0);
	CHECK_EQ(x->mem.slope_bps, y->mem.slope_bps);
	CHECK_EQ(x->mem.growth_mark, y->mem.growth_mark);
	CHECK_EQ(x->mem.brake.wanted_at, y->mem.brake.wanted_at);
	CHECK_EQ(x->last.mem_current, y->last.mem_current);
}

static void test_skips(void)
{
	static struct backtest_sample samples[SERIES_SAMPLES];
	static struct backtest a, b;
	uint64_t random = SEED;

	for (int round = 0; round < 24; round++) {
		struct backtest_trace t = random_trace(samples, &random);
		struct backtest_oracle o;

		CHECK_EQ(backtest_find_oracle(&t, &o), 0);
		/* Some begin with too little. */
		if (round % 3 == 0) {
			o.max_milli = MAX(o.max_milli / 20 * 10, 10u);
			o.max_bytes = t.memory ? o.max_bytes / 8192 * 4096 : LIMIT_MAX;
		}
		for (enum backtest_policy p = 0; p < BACKTEST_POLICY_COUNT; p++) {
			run_whole(&a, p, &t, &o, false);
			run_whole(&b, p, &t, &o, true);
			check_same(&a, &b);
			backtest_drop(&a);
			backtest_drop(&b);
		}
	}
}

int main(void)
{
	test_skips();
	test_demand();
	test_demand_edges();
	test_static();
	test_static_memory();
	test_threshold();
	test_threshold_cpu();
	test_idle_peers();
	test_vpa();
	test_vscaled();
	return check_result();
}

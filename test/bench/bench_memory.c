// SPDX-License-Identifier: Apache-2.0
/*
 * Limit area over use, slack and OOM kills of memory limits, beside VPA (limit = request) and
 * the static limit that knows the future: a week of generated use after 29 h of warm-up, from twice
 * the highest use. VPA's decrease is refused where use and page cache fill the limit. Use: what
 * cannot be reclaimed, and the page cache that is read again and again. Slack as Autopilot's
 * authors count it: the share of the limit that is not used.
 *
 * bench_memory [--seeds N] [--days N] [KIND]: default 5 seeds of each kind, 7 days.
 */
#include "policy/backtest/backtest.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STEP_SEC    10
#define DAY_SEC     86400.0
#define HOUR_SEC    3600.0
#define WARM_BLOCKS 16
#define WARM_SEC    (WARM_BLOCKS * (BACKTEST_BLOCK / BACKTEST_PERIODS))
/* One part in so many comes and goes with each sample. */
#define NOISE_DIVISOR 50
#define MICRO_CORES   50000
/* How long it takes to read the page cache's set once. */
#define CACHE_ROUND_SEC 60

/* Drawn once per series. */
struct shape {
	double base;   /* 100 to 1,000 MiB */
	double factor; /* 1.5 to 4 */
	double phase;  /* 0 to 1 */
};

/* The heap of a Java virtual machine fills in the first hours, then stays. */
static double plateau(const struct shape *s, double t)
{
	return s->base * (1.1 - exp(-t / HOUR_SEC));
}

/* Begins anew after one to four days. */
static double leak(const struct shape *s, double t)
{
	return s->base * (1 + (s->factor - 1) * fmod(t / (s->factor * DAY_SEC) + s->phase, 1));
}

/* A garbage collector that runs every 3 to 30 min. */
static double sawtooth(const struct shape *s, double t)
{
	return s->base * (1 + (s->factor - 1) * fmod(t / (180 + 1620 * s->phase), 1));
}

static double diurnal(const struct shape *s, double t)
{
	return s->base * (1.5 + sin(2 * M_PI * (t / DAY_SEC + s->phase)));
}

/* A quarter of an hour every two hours. */
static double batch(const struct shape *s, double t)
{
	return s->base * (fmod(t / HOUR_SEC + s->phase, 2) < 0.25 ? s->factor : 0.5);
}

/* Each day 1.4 times as much as the day before, from one sample to the next. */
static double growth(const struct shape *s, double t)
{
	return s->base * exp2(floor(t / DAY_SEC) / 2) / 4;
}

/* Ten minutes every 6 to 12 h, each as high as it likes. */
static double spikes(const struct shape *s, double t)
{
	double n = t / (6 * HOUR_SEC * (1 + s->phase)) + s->phase;
	bool now = fmod(n, 1) * 6 * HOUR_SEC * (1 + s->phase) < 600;

	return s->base * (1 + now * (s->factor - 1) * fmod(floor(n) * 0.618, 1));
}

static double steady(const struct shape *s, double t)
{
	(void)t;
	return s->base;
}

static const struct kind {
	const char *name;
	double (*at)(const struct shape *s, double t);
	bool cache; /* and page cache of factor times the base */
} kinds[] = {{"plateau", plateau, false},   {"leak", leak, false},    {"cache-heavy", steady, true},
	     {"sawtooth", sawtooth, false}, {"batch", batch, false},  {"diurnal", diurnal, false},
	     {"growth", growth, false},     {"spikes", spikes, false}};

static const enum backtest_policy policies[] = {BACKTEST_STATIC_MAX, BACKTEST_VPA,
						BACKTEST_BALANCED};

struct outcome {
	double limit_byte_sec, used_byte_sec, stalled_sec, span_sec;
	uint64_t kills, changes;
};

static double random_unit(uint64_t *state)
{
	return (double)(random_next(state) >> 11) * 0x1p-53;
}

/* Fills the samples; returns the page cache's set. */
static uint64_t generate(const struct kind *k, uint64_t seed, struct backtest_sample *samples,
			 size_t count)
{
	uint64_t random = seed;
	struct shape s;

	s.base = (100 + 900 * random_unit(&random)) * (double)MIB;
	s.factor = 1.5 + 2.5 * random_unit(&random);
	s.phase = random_unit(&random);
	for (size_t i = 0; i < count; i++) {
		double noise = 1 + random_unit(&random) / NOISE_DIVISOR;

		samples[i] = (struct backtest_sample){
			.at = i * STEP_SEC * USEC_PER_SEC,
			.micro_cores = MICRO_CORES,
			.memory_bytes = (uint64_t)(k->at(&s, (double)i * STEP_SEC) * noise),
		};
	}
	return k->cache ? (uint64_t)(s.base * s.factor) : 0;
}

static struct outcome outcome_of(const struct backtest *b, uint64_t set)
{
	const struct backtest_result *r = &b->result;
	double span = (double)r->span_usec / USEC_PER_SEC;

	return (struct outcome){
		.limit_byte_sec = r->limit_byte_sec,
		.used_byte_sec = r->used_byte_sec + (double)set * span,
		.stalled_sec = (double)b->rig.sim.m.stalled_usec / USEC_PER_SEC,
		.span_sec = span,
		.kills = r->oom_kills,
		.changes = r->changes_memory,
	};
}

static void run_policy(const struct backtest_trace *t, const struct backtest_oracle *o,
		       enum backtest_policy policy, uint64_t set, struct outcome *sum)
{
	static struct backtest_block block;
	static struct backtest b;
	struct outcome warm = {0}, all;

	block = (struct backtest_block){0};
	backtest_begin(&b, policy, t, o);
	b.rig.sim.load.cache_set = set;
	b.rig.sim.load.cache_bps = set / CACHE_ROUND_SEC;
	b.rig.sim.load.cache_matters = true;
	/* Periods that are run together have no page cache. */
	b.skips_none = set > 0;
	for (size_t i = 0; backtest_block_next(&block, t); i++) {
		backtest_run(&b, &block);
		if (i == WARM_BLOCKS - 1)
			warm = outcome_of(&b, set);
	}
	all = outcome_of(&b, set);
	backtest_drop(&b);
	sum->limit_byte_sec += all.limit_byte_sec - warm.limit_byte_sec;
	sum->used_byte_sec += all.used_byte_sec - warm.used_byte_sec;
	sum->stalled_sec += all.stalled_sec - warm.stalled_sec;
	sum->span_sec += all.span_sec - warm.span_sec;
	sum->kills += all.kills - warm.kills;
	sum->changes += all.changes - warm.changes;
}

static void print(const char *kind, enum backtest_policy policy, const struct outcome *o)
{
	const struct {
		const char *name, *unit;
		double value;
	} figures[] = {
		{"area", "x", o->limit_byte_sec / o->used_byte_sec},
		{"slack", "%", 100 * (1 - o->used_byte_sec / o->limit_byte_sec)},
		{"kills", "/week", (double)o->kills * 7 * DAY_SEC / o->span_sec},
		{"stalled", "s/h", o->stalled_sec * HOUR_SEC / o->span_sec},
		{"changes", "/d", (double)o->changes * DAY_SEC / o->span_sec},
	};

	for (size_t i = 0; i < ARRAY_SIZE(figures); i++)
		printf("{\"name\":\"memory/%s/%s/%s\",\"value\":%.3f,\"unit\":\"%s\"}\n", kind,
		       policy == BACKTEST_BALANCED ? "vscaled" : backtest_policy_names[policy],
		       figures[i].name, figures[i].value, figures[i].unit);
	fflush(stdout);
}

static int run_series(const struct kind *k, uint64_t seed, struct backtest_sample *samples,
		      size_t count, struct outcome *sum)
{
	uint64_t set = generate(k, seed, samples, count);
	const struct backtest_trace t = {
		.samples = samples, .count = count, .memory = true, .cpus = 1, .seed = seed};
	struct backtest_oracle o;
	int r = backtest_find_oracle(&t, &o);

	if (r < 0)
		return r;
	o.max_bytes += round_up(set, PAGE_DEFAULT_BYTES);
	for (size_t i = 0; i < ARRAY_SIZE(policies); i++) {
		struct backtest_oracle from = o;

		from.max_bytes *= policies[i] == BACKTEST_STATIC_MAX ? 1 : 2;
		run_policy(&t, &from, policies[i], set, &sum[i]);
	}
	return 0;
}

static int run_kind(const struct kind *k, uint64_t seeds, struct backtest_sample *samples,
		    size_t count)
{
	struct outcome sum[ARRAY_SIZE(policies)] = {0};
	int r = 0;

	for (uint64_t seed = 1; r == 0 && seed <= seeds; seed++)
		r = run_series(k, seed, samples, count, sum);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(policies); i++)
		print(k->name, policies[i], &sum[i]);
	return r;
}

int main(int argc, char **argv)
{
	uint64_t seeds = 5, days = 7;
	struct backtest_sample *samples;
	const char *only; /* this kind; NULL: all */
	size_t count;
	int i = 1, r = 0;

	for (; i + 1 < argc && strncmp(argv[i], "--", 2) == 0; i += 2)
		*(strcmp(argv[i], "--days") == 0 ? &days : &seeds) =
			strtoull(argv[i + 1], NULL, 10);
	only = i < argc ? argv[i] : NULL;
	count = (WARM_SEC + MAX(days, UINT64_C(1)) * (uint64_t)DAY_SEC) / STEP_SEC;
	samples = calloc(count, sizeof *samples);
	for (size_t k = 0; samples != NULL && r == 0 && k < ARRAY_SIZE(kinds); k++)
		if (only == NULL || strcmp(only, kinds[k].name) == 0)
			r = run_kind(&kinds[k], seeds, samples, count);
	free(samples);
	return samples == NULL || r < 0;
}

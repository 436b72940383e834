// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of the histogram, one JSON line per figure: the median over many rounds.
 *
 * The load is that of a container that uses between 200m and 2 cores, sampled once a minute for
 * four days, so that 35 buckets are in use and every add has a new time.
 */
#include "policy/history/histogram.h"
#include <stdio.h>
#include <time.h>

#define ROUNDS  301
#define SAMPLES 5760 /* four days of minutes */
/* 2026-01-01T00:00:00Z */
#define START_USEC (1767225600 * USEC_PER_SEC)

static double values[SAMPLES];
/* Results go here, so that no call can be left out. */
static volatile double sink;

static double now_nsec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A fixed sequence of whole millicores in 200..2000. */
static void fill_values(void)
{
	uint64_t state = 1;

	for (size_t i = 0; i < SAMPLES; i++) {
		state = state * 6364136223846793005 + 1442695040888963407;
		values[i] = (double)(200 + (state >> 33) % 1801) / 1000;
	}
}

static void add_all(struct histogram *h)
{
	usec_t t = START_USEC;

	for (size_t i = 0; i < SAMPLES; i++, t += USEC_PER_MIN)
		histogram_add(h, values[i], 0.1, t);
}

static double round_add(struct histogram *h)
{
	double begin;

	histogram_drop(h);
	histogram_init(h, &histogram_cpu, USEC_PER_DAY);
	begin = now_nsec();
	add_all(h);
	sink = h->total;
	return (now_nsec() - begin) / SAMPLES;
}

static double round_percentile(struct histogram *h)
{
	static const double shares[] = {0.5, 0.9, 0.95};
	double begin = now_nsec(), sum = 0;

	for (size_t i = 0; i < SAMPLES; i++)
		sum += histogram_percentile(h, shares[i % ARRAY_SIZE(shares)]);
	sink = sum;
	return (now_nsec() - begin) / SAMPLES;
}

static void report(const char *name, double value, const char *unit)
{
	printf("{\"name\":\"%s\",\"value\":%.1f,\"unit\":\"%s\"}\n", name, value, unit);
}

static void measure(const char *name, double (*round)(struct histogram *), struct histogram *h)
{
	double results[ROUNDS];

	for (size_t i = 0; i < ROUNDS; i++)
		results[i] = round(h);
	qsort(results, ROUNDS, sizeof results[0], by_size);
	report(name, results[ROUNDS / 2], "ns");
}

int main(void)
{
	OWN(histogram_drop) struct histogram h = {0};

	fill_values();
	measure("histogram_add", round_add, &h);
	measure("histogram_percentile", round_percentile, &h);
	report("histogram_size", sizeof h + HISTOGRAM_BUCKETS * sizeof *h.weight, "bytes");
	report("histogram_size_used", (double)(sizeof h + h.count * sizeof *h.weight), "bytes");
	return 0;
}

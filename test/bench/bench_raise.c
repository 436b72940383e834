// SPDX-License-Identifier: Apache-2.0
/*
 * Our own part of a raise: from the wake-up to the higher limit in the file, with 25 and with 250
 * units, one of which wants more CPU at a look, or runs into its memory limit and wakes us. On a
 * fake tree: what the kernel adds to a write of its files stands in docs/performance.md beside it.
 */
#include "test/agent/daemon_rig.h"
#include <inttypes.h>
#include <stdio.h>

#define UNITS_MAX 250
#define RUNS      200

static struct rig rig;
static size_t busy, units;

static void load(struct rig *r)
{
	rig_burn(r, &r->unit[busy], 800);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *name, uint64_t *usec, size_t count)
{
	static const unsigned percents[] = {50, 95};

	qsort(usec, count, sizeof *usec, by_value);
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
		size_t at = (count * percents[i] + 99) / 100 - 1;

		printf("{\"name\":\"event_to_write_own_ms_p%u_%s_%zu\",\"value\":%.3f,"
		       "\"unit\":\"ms\"}\n",
		       percents[i], name, units, (double)usec[at] / 1000);
	}
	printf("{\"name\":\"event_to_write_own_runs_%s_%zu\",\"value\":%zu,\"unit\":\"runs\"}\n",
	       name, units, count);
}

/* The time of the one raise since `before`, or 0: there was none. */
static uint64_t raised(const struct counters_span *before)
{
	const struct counters_span *now = &rig.daemon->tally.raise[SINCE_WAKE];

	return now->count == before->count + 1 ? MAX(now->sum_usec - before->sum_usec, (uint64_t)1)
					       : 0;
}

/* One after another; each gets what it wants, in a step or several. */
static void measure_cpu(void)
{
	uint64_t usec[RUNS];
	size_t count = 0;

	for (unsigned i = 0; i < 2 * RUNS && count < RUNS; i++) {
		struct counters_span before = rig.daemon->tally.raise[SINCE_WAKE];
		uint64_t took;

		busy = i / 2 % units;
		rig_look(&rig, 1, load);
		took = raised(&before);
		if (took != 0)
			usec[count++] = took;
	}
	if (count >= RUNS / 2)
		print("cpu", usec, count);
}

static void measure_memory(void)
{
	uint64_t usec[RUNS];
	size_t count = 0;

	for (size_t i = 0; i < RUNS; i++) {
		struct counters_span before = rig.daemon->tally.raise[SINCE_WAKE];
		struct rig_unit *u = &rig.unit[i % units];
		uint64_t took, max = rig_bytes(&rig, u, "memory.max");

		if (max > u->anon_bytes)
			rig_grow(&rig, u, max - u->anon_bytes + MIB);
		rig_wake(&rig, u);
		took = raised(&before);
		if (took != 0)
			usec[count++] = took;
	}
	if (count >= RUNS / 2)
		print("memory", usec, count);
}

static int measure(size_t n)
{
	char name[32];

	units = n;
	rig = (struct rig){0};
	rig_open(&rig, "units:\n  - match: q*.service\n");
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "q%03zu.service", i);
		rig_add(&rig, name, 10, 16 * MIB)->anon_bytes = 10 * MIB;
	}
	if (rig_start(&rig) < 0)
		return 1;
	rig_run(&rig, 30, NULL);
	measure_cpu();
	measure_memory();
	rig_close(&rig);
	return 0;
}

int main(void)
{
	return measure(25) != 0 || measure(UNITS_MAX) != 0;
}

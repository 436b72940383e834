// SPDX-License-Identifier: Apache-2.0
/*
 * Our own part of a raise: from the wake-up to the higher limit in the file. On a fake tree: what
 * the kernel adds to a write of its files stands in docs/performance.md beside it.
 *
 * cpu_25, cpu_250: one of so many units wants more CPU, at a look; the others stand still.
 * cpu_250_sample: at a sample, every tenth with a review.
 * cpu_250_all: at a look, while all of them run and their memory moves.
 * memory_250: it runs into its memory limit and wakes us.
 * *_bpf: by the BPF reader (played.h), in a process of its own; where it does not load that is
 * said.
 */
#include "test/bench/played.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define UNITS_MAX 250
#define RUNS      200

static struct rig rig;
static size_t busy, units;
static bool all_run;

static void load(struct rig *r)
{
	for (size_t i = 0; all_run && i < r->unit_count; i++) {
		r->unit[i].anon_bytes ^= 2 * MIB;
		rig_burn(r, &r->unit[i], 5);
	}
	rig_burn(r, &r->unit[busy], 800);
	if (r->reader != NULL)
		played_turn(r);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print(const char *load, const char *more, uint64_t *usec, size_t count)
{
	static const unsigned percents[] = {50, 95};
	const char *reader = rig.reader != NULL ? "_bpf" : "";

	if (count < RUNS / 2) {
		fprintf(stderr, "%s_%zu%s%s: too few raises\n", load, units, more, reader);
		return;
	}
	qsort(usec, count, sizeof *usec, by_value);
	for (size_t i = 0; i < ARRAY_SIZE(percents); i++) {
		size_t at = (count * percents[i] + 99) / 100 - 1;

		printf("{\"name\":\"event_to_write_own_ms_p%u_%s_%zu%s%s\",\"value\":%.3f,"
		       "\"unit\":\"ms\"}\n",
		       percents[i], load, units, more, reader, (double)usec[at] / 1000);
	}
	printf("{\"name\":\"event_to_write_own_runs_%s_%zu%s%s\",\"value\":%zu,\"unit\":\"runs\"}"
	       "\n",
	       load, units, more, reader, count);
}

/* The time of the one raise since `before`, or 0: there was none. */
static uint64_t raised(const struct counters_span *before)
{
	const struct counters_span *now = &rig.daemon->tally.raise[SINCE_WAKE];

	return now->count == before->count + 1 ? MAX(now->sum_usec - before->sum_usec, (uint64_t)1)
					       : 0;
}

/* One after another; each gets what it wants, in a step or several. */
static void measure_cpu(const char *more,
			void (*turn)(struct rig *, unsigned, void (*)(struct rig *)))
{
	static size_t next;
	uint64_t usec[RUNS];
	size_t count = 0;

	for (unsigned i = 0; i < 2 * RUNS && count < RUNS; i++) {
		struct counters_span before = rig.daemon->tally.raise[SINCE_WAKE];
		uint64_t took;

		/* Prime to 25 and 250: none of them twice in a row, all places in the table. */
		busy = i % 2 == 0 ? (next += 7) % units : busy;
		turn(&rig, 1, load);
		took = raised(&before);
		if (took != 0)
			usec[count++] = took;
	}
	print("cpu", more, usec, count);
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
	print("memory", "", usec, count);
}

static int start(size_t n, const char *reader)
{
	char name[32];

	units = n;
	rig = (struct rig){0};
	rig_open(&rig, "");
	rig.reader = reader;
	rig_write_config(&rig, "units:\n  - match: q*.service\n");
	for (size_t i = 0; i < n; i++) {
		struct rig_unit *u;

		snprintf(name, sizeof name, "q%03zu.service", i);
		u = rig_add(&rig, name, 10, 16 * MIB);
		u->anon_bytes = 10 * MIB;
		if (reader != NULL)
			played_add(&rig, u);
	}
	return rig_start(&rig);
}

static int measure(size_t n)
{
	if (start(n, NULL) < 0)
		return 1;
	rig_run(&rig, 30, NULL);
	measure_cpu("", rig_reflex);
	if (n == UNITS_MAX) {
		measure_cpu("_sample", rig_run);
		measure_memory();
		all_run = true;
		measure_cpu("_all", rig_reflex);
	}
	rig_close(&rig);
	return 0;
}

static int measure_bpf(void)
{
	const char *why = played_open();

	if (why != NULL) {
		fprintf(stderr, "bpf: %s\n", why);
		return 0;
	}
	if (start(UNITS_MAX, "bpf") < 0)
		return 1;
	if (strcmp(reader_name(&rig.daemon->reader), "bpf") == 0) {
		rig_run(&rig, 30, load);
		measure_cpu("", rig_reflex);
		measure_cpu("_sample", rig_run);
	} else {
		fprintf(stderr, "bpf: %s\n", rig.daemon->reader.detail);
	}
	rig_close(&rig);
	played_close();
	fflush(stdout);
	return 0;
}

/* It gives up rights of the process. */
static int measure_bpf_apart(void)
{
	int status = 1;
	pid_t pid = fork();

	if (pid == 0)
		_exit(measure_bpf());
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(void)
{
	return (measure_bpf_apart() | measure(25) | measure(UNITS_MAX)) != 0;
}

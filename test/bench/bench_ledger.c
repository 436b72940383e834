// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of one decision of the ledger among 1,000 containers: one that fits and nobody waits, one
 * where half of them wait and all have to be looked at, and whom to ask to shrink. Medians of many,
 * and of the contested one the 95th percentile.
 */
#include "policy/ledger.h"
#include <stdio.h>
#include <time.h>

#define ENTRIES 1000
#define ROUNDS  2001

static double now_usec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return *state >> 33;
}

static struct ledger_node fill(struct ledger_entry *entries, bool contested)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < ENTRIES; i++) {
		struct ledger_entry *e = &entries[i];

		*e = (struct ledger_entry){.original = (64 + next(&state) % 512) * MIB,
					   .request = next(&state) % 256 * MIB,
					   .priority = (int32_t)(next(&state) % 5 * 1000),
					   .qos = (uint8_t)(next(&state) % 3)};
		e->limit = e->original + next(&state) % 128 * MIB;
		e->use = e->least = e->limit / 2;
		if (!contested || i % 2 == 0)
			continue;
		e->claim = e->limit + 100 * MIB;
		e->soon = e->limit + 200 * MIB;
	}
	return (struct ledger_node){.total = 1024 * GIB,
				    .available = contested ? 300 * GIB : 800 * GIB,
				    .reserve = 50 * GIB,
				    .allocatable = 1000 * GIB};
}

static struct ledger_entry entries[ENTRIES];
static struct ledger_ask asks[16];

static void begin(struct ledger *l, const struct ledger_node *n, uint32_t i)
{
	(void)i;
	ledger_begin(l, n, entries, ENTRIES);
}

static void decide(struct ledger *l, const struct ledger_node *n, uint32_t i)
{
	(void)n;
	ledger_grant(l, i % ENTRIES, entries[i % ENTRIES].limit + MIB);
}

/* More than there is: every entry is looked at. */
static void decide_contested(struct ledger *l, const struct ledger_node *n, uint32_t i)
{
	(void)n;
	ledger_grant(l, i % ENTRIES, entries[i % ENTRIES].original + 2048 * GIB);
}

static void cancel(struct ledger *l, const struct ledger_node *n, uint32_t i)
{
	(void)n;
	(void)i;
	ledger_cancel(l, asks, 16);
}

static void measure(const char *name, bool contested, uint32_t percentile,
		    void (*run)(struct ledger *, const struct ledger_node *, uint32_t))
{
	static double usec[ROUNDS];
	struct ledger_node n = fill(entries, contested);
	struct ledger l;

	ledger_begin(&l, &n, entries, ENTRIES);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		double start = now_usec();

		run(&l, &n, i);
		usec[i] = now_usec() - start;
	}
	qsort(usec, ROUNDS, sizeof usec[0], by_size);
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"us\"}\n", name,
	       usec[ROUNDS * percentile / 100]);
}

int main(void)
{
	measure("ledger_begin_1000", false, 50, begin);
	measure("ledger_decide_fits_us", false, 50, decide);
	measure("ledger_decide_us", true, 50, decide_contested);
	measure("ledger_decide_us_p95", true, 95, decide_contested);
	measure("ledger_cancel_us", true, 50, cancel);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Cost of the ledger: all that an event does with it among 250 and 1,000 containers, /proc/meminfo
 * included; and one decision among 1,000: one that fits while no entry waits, one where half of
 * them wait and all have to be read, and which entries to ask to shrink. Medians of many, and 95th
 * percentiles.
 */
#include "cgroup/meminfo.h"
#include "policy/control/control.h"
#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#define ENTRIES 1000
#define USUAL   250
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

static struct ledger_node fill(struct ledger_entry *list, uint32_t of, bool contested)
{
	uint64_t state = 1;

	for (uint32_t i = 0; i < of; i++) {
		struct ledger_entry *e = &list[i];

		*e = (struct ledger_entry){.original = (64 + next(&state) % 512) * MIB,
					   .request = next(&state) % 256 * MIB,
					   .priority = (int32_t)(next(&state) % 5 * 1000),
					   .qos = (uint8_t)(next(&state) % 3)};
		e->limit = e->original + next(&state) % 128 * MIB;
		e->use = e->min_limit = e->limit / 2;
		if (!contested || i % 2 == 0)
			continue;
		e->denied = e->limit + 100 * MIB;
		e->projected = e->limit + 200 * MIB;
	}
	return (struct ledger_node){.page_bytes = PAGE_DEFAULT_BYTES,
				    .total = 1024 * GIB,
				    .available = contested ? 300 * GIB : 800 * GIB,
				    .reserve = 50 * GIB};
}

static struct ledger_entry entries[ENTRIES];
static struct ledger_ask asks[16];
static struct control controls[ENTRIES];
static uint32_t count;
static int meminfo;

static void begin(struct ledger *l, const struct ledger_node *n, uint32_t)
{
	ledger_begin(l, n, entries, count);
}

static void decide(struct ledger *l, const struct ledger_node *, uint32_t i)
{
	ledger_grant(l, i % count, entries[i % count].limit + MIB);
}

/* More than there is: every entry is read. */
static void decide_contested(struct ledger *l, const struct ledger_node *, uint32_t i)
{
	ledger_grant(l, i % count, entries[i % count].original + 2048 * GIB);
}

static void cancel(struct ledger *l, const struct ledger_node *, uint32_t)
{
	ledger_cancel(l, asks, 16);
}

/* All of it, as at an event of memory.events: the file, the entries, the sums, a grant. */
static void event(struct ledger *l, const struct ledger_node *n, uint32_t i)
{
	struct ledger_node read = *n;
	struct meminfo m;

	if (meminfo_read(meminfo, &m) == 0)
		read.available = MAX(m.available, read.available);
	for (uint32_t k = 0; k < count; k++)
		control_ledger_entry(&controls[k], &tuning_default, USEC_PER_HOUR, &entries[k]);
	ledger_begin(l, &read, entries, count);
	ledger_grant(l, i % count, entries[i % count].limit + 100 * MIB);
}

static void measure(const char *name, uint32_t of, bool contested, uint32_t percentile,
		    void (*run)(struct ledger *, const struct ledger_node *, uint32_t))
{
	static double usec[ROUNDS];
	struct ledger_node n = fill(entries, of, contested);
	struct ledger l;

	count = of;
	ledger_begin(&l, &n, entries, count);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		double start = now_usec();

		run(&l, &n, i);
		usec[i] = now_usec() - start;
	}
	qsort(usec, ROUNDS, sizeof usec[0], by_size);
	printf("{\"name\":\"%s\",\"value\":%.2f,\"unit\":\"us\"}\n", name,
	       usec[ROUNDS * percentile / 100]);
}

static void start_controls(void)
{
	const struct limits l = {.cpu_quota_usec = 100000,
				 .cpu_period_usec = CPU_PERIOD_DEFAULT_USEC,
				 .mem_max = 256 * MIB,
				 .mem_high = LIMIT_MAX};

	for (uint32_t i = 0; i < ENTRIES; i++) {
		control_init(&controls[i], &tuning_default, &policy_rule_default, &l);
		controls[i].target = i;
	}
}

int main(void)
{
	meminfo = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
	start_controls();
	measure("ledger_begin_250_us", USUAL, false, 50, begin);
	measure("ledger_begin_1000_us", ENTRIES, false, 50, begin);
	measure("ledger_event_250_us", USUAL, false, 50, event);
	measure("ledger_event_250_us_p95", USUAL, false, 95, event);
	measure("ledger_event_1000_us", ENTRIES, false, 50, event);
	measure("ledger_decide_fits_us", ENTRIES, false, 50, decide);
	measure("ledger_decide_us", ENTRIES, true, 50, decide_contested);
	measure("ledger_decide_us_p95", ENTRIES, true, 95, decide_contested);
	measure("ledger_cancel_us", ENTRIES, true, 50, cancel);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every load program of the lab measures about itself: how long it was kept from running.
 * A gauge belongs to one thread; the printing thread reads it without a lock.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define NSEC_PER_SEC  1000000000LL
#define NSEC_PER_MSEC 1000000LL
#define STALL_MSEC    100 /* one CFS period: a longer gap is more than ordinary throttling */

struct gauge {
	_Atomic int64_t last_nsec; /* when it was last seen running or meant to run; 0 = never */
	_Atomic int64_t max_nsec;  /* longest gap */
	_Atomic int64_t stalls;    /* gaps longer than STALL_MSEC */
};

static inline int64_t clock_nsec(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NSEC_PER_SEC + t.tv_nsec;
}

static inline int64_t now_nsec(void)
{
	return clock_nsec(CLOCK_MONOTONIC);
}

/* The thread runs at `now`: whatever lies since the last reading was a gap. */
static inline void gauge_look(struct gauge *g, int64_t now)
{
	int64_t gap = g->last_nsec == 0 ? 0 : now - g->last_nsec;

	g->last_nsec = now;
	if (gap > g->max_nsec)
		g->max_nsec = gap;
	if (gap > STALL_MSEC * NSEC_PER_MSEC)
		g->stalls++;
}

/* Sleeps until `until`, which is no gap; waking late is one. */
static inline void gauge_sleep(struct gauge *g, int64_t until)
{
	struct timespec t = {until / NSEC_PER_SEC, until % NSEC_PER_SEC};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) != 0)
		;
	g->last_nsec = until;
	gauge_look(g, now_nsec());
}

/* The own cgroup's CPU limit; 0: there is none. */
static inline long long gauge_cpu_milli(void)
{
	FILE *cpu = fopen("/sys/fs/cgroup/cpu.max", "re");
	long long quota, period, milli = 0;

	if (cpu != NULL && fscanf(cpu, "%lld %lld", &quota, &period) == 2)
		milli = quota * 1000 / period;
	if (cpu != NULL)
		fclose(cpu);
	return milli;
}

/* The own cgroup's limits, as a container sees them; nothing of a limit that is not there. */
static inline void gauge_limits(char *ret, size_t size)
{
	FILE *memory = fopen("/sys/fs/cgroup/memory.max", "re");
	long long milli = gauge_cpu_milli(), bytes;
	int length = 0;

	ret[0] = '\0';
	if (milli != 0)
		length = snprintf(ret, size, " cpu_milli=%lld", milli);
	if (memory != NULL && fscanf(memory, "%lld", &bytes) == 1)
		snprintf(ret + length, size - (size_t)length, " memory_mb=%lld", bytes >> 20);
	if (memory != NULL)
		fclose(memory);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/types/limits.h"
#include "policy/base/arithmetic.h"
#include "policy/types/usage.h"

const char *const resource_names[RESOURCE_COUNT] = {"cpu", "memory"};

const struct knob_info knobs[KNOB_COUNT] = {
	[KNOB_CPU_MAX] = {"cpu.max", "CPUQuotaPerSecUSec", RESOURCE_CPU},
	[KNOB_CPU_BURST] = {"cpu.max.burst", NULL, RESOURCE_CPU},
	[KNOB_MEM_HIGH] = {"memory.high", "MemoryHigh", RESOURCE_MEMORY},
	[KNOB_MEM_MAX] = {"memory.max", "MemoryMax", RESOURCE_MEMORY},
	[KNOB_MEM_RECLAIM] = {"memory.reclaim", NULL, RESOURCE_MEMORY},
};

uint64_t cpu_milli_of(uint64_t quota_usec, uint64_t period_usec)
{
	uint64_t milli;

	if (quota_usec == LIMIT_MAX || period_usec == 0)
		return LIMIT_MAX;
	/* A division of 128 bits takes ten times as long. */
	if (!__builtin_mul_overflow(quota_usec, 1000, &milli))
		return milli / period_usec;
	return (uint64_t)((unsigned __int128)quota_usec * 1000 / period_usec);
}

uint64_t cpu_quota_exact(uint64_t milli, uint64_t period_usec)
{
	unsigned __int128 quota = ((unsigned __int128)milli * period_usec + 999) / 1000;

	return milli == LIMIT_MAX || quota >= LIMIT_MAX ? LIMIT_MAX : (uint64_t)quota;
}

uint64_t cpu_quota_of(uint64_t milli, uint64_t period_usec)
{
	unsigned __int128 quota = (unsigned __int128)milli * period_usec / 1000;

	if (milli == LIMIT_MAX || quota >= LIMIT_MAX)
		return LIMIT_MAX;
	return MAX((uint64_t)quota, (uint64_t)CPU_QUOTA_MIN_USEC);
}

static void merge_psi(struct usage *into, const struct usage *from)
{
	if (from->have & USAGE_PSI_CPU) {
		into->psi_cpu_some_usec = from->psi_cpu_some_usec;
		into->psi_cpu_full_usec = from->psi_cpu_full_usec;
	}
	if (from->have & USAGE_PSI_MEM) {
		into->psi_mem_some_usec = from->psi_mem_some_usec;
		into->psi_mem_full_usec = from->psi_mem_full_usec;
	}
}

void usage_merge(struct usage *into, const struct usage *from)
{
	if (from->have & USAGE_CPU)
		into->cpu_usage_usec = from->cpu_usage_usec;
	if (from->have & USAGE_THROTTLE) {
		into->nr_periods = from->nr_periods;
		into->nr_throttled = from->nr_throttled;
		into->throttled_usec = from->throttled_usec;
	}
	if (from->have & USAGE_MEM)
		into->mem_current = from->mem_current;
	if (from->have & USAGE_MEM_STAT)
		into->stat = from->stat;
	if (from->have & USAGE_MEM_PEAK)
		into->mem_peak = from->mem_peak;
	if (from->have & USAGE_MEM_EVENTS)
		into->events = from->events;
	merge_psi(into, from);
	into->limits = from->limits;
	into->have |= from->have;
}

uint64_t mem_unreclaimable(const struct mem_stat *s)
{
	uint64_t kernel = s->kernel > s->slab_reclaimable ? s->kernel - s->slab_reclaimable : 0;

	uint64_t listed = s->inactive_anon + s->active_anon + s->unevictable;

	return MAX(listed, s->anon + s->shmem) + s->sock + kernel;
}

void mem_stat_no_kernel(struct mem_stat *s, uint64_t parts, uint64_t current)
{
	uint64_t cache = s->file - MIN(s->shmem, s->file) + s->slab_reclaimable;
	uint64_t charged = current - MIN(cache, current), known;

	s->kernel = parts;
	known = mem_unreclaimable(s);
	s->kernel += charged - MIN(known, charged);
}

uint64_t mem_working_set(const struct usage *u)
{
	return u->mem_current > u->stat.inactive_file ? u->mem_current - u->stat.inactive_file : 0;
}

uint64_t limit_kept(enum resource r, uint64_t limit, uint64_t page_bytes)
{
	return r == RESOURCE_CPU ? round_up(limit, CPU_QUANTUM_MILLI)
				 : round_down(limit, page_bytes);
}

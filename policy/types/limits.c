// SPDX-License-Identifier: Apache-2.0
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
	if (from->have & USAGE_PSI_CPU)
		into->psi_cpu_usec = from->psi_cpu_usec;
	if (from->have & USAGE_PSI_MEM)
		into->psi_mem_usec = from->psi_mem_usec;
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

/* --- plans */

/* Rank of a knob when it is raised and when it is lowered. */
static const struct {
	uint8_t raise;
	uint8_t lower;
} ranks[KNOB_COUNT] = {
	[KNOB_MEM_MAX] = {0, 8},   [KNOB_MEM_HIGH] = {1, 7},    [KNOB_CPU_MAX] = {2, 5},
	[KNOB_CPU_BURST] = {3, 4}, [KNOB_MEM_RECLAIM] = {6, 6},
};

bool change_lowers(const struct change *c)
{
	return c->knob == KNOB_MEM_RECLAIM || c->to < c->from;
}

static uint8_t rank(const struct change *c)
{
	return change_lowers(c) ? ranks[c->knob].lower : ranks[c->knob].raise;
}

/* Levels of one direction must not mix: with two levels all raises of the parent, then the child's.
 * Memory raises of every level stand before the CPU raises of any. */
bool plan_before(const struct change *a, const struct change *b)
{
	bool memory_a = knobs[a->knob].resource == RESOURCE_MEMORY;
	bool memory_b = knobs[b->knob].resource == RESOURCE_MEMORY;
	bool lowers_a = change_lowers(a), lowers_b = change_lowers(b);

	if (lowers_a != lowers_b)
		return lowers_b;
	if (memory_a != memory_b)
		return lowers_a ? memory_b : memory_a;
	if (a->depth != b->depth)
		return lowers_a ? a->depth > b->depth : a->depth < b->depth;
	return rank(a) < rank(b);
}

void plan_add(struct plan *p, const struct change *c)
{
	if (p->count < p->capacity && (c->from != c->to || c->knob == KNOB_MEM_RECLAIM))
		p->steps[p->count++] = *c;
}

void plan_sort(struct plan *p)
{
	/* Insertion sort: stable, and a plan is short and nearly sorted. */
	for (size_t i = 1; i < p->count; i++) {
		struct change step = p->steps[i];
		size_t at = i;

		for (; at > 0 && plan_before(&step, &p->steps[at - 1]); at--)
			p->steps[at] = p->steps[at - 1];
		p->steps[at] = step;
	}
}

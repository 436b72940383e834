// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/scan_record.h"
#include "cgroup/bpf/kernel/scan.h"
#include <errno.h>
#include <limits.h>
#include <string.h>

#define NSEC_PER_USEC 1000u
/* "No quota" in the kernel's own variable (RUNTIME_INF). */
#define QUOTA_NONE UINT64_MAX

_Static_assert(SCAN_CPU == (int)USAGE_CPU && SCAN_THROTTLE == (int)USAGE_THROTTLE &&
		       SCAN_MEM == (int)USAGE_MEM && SCAN_MEM_STAT == (int)USAGE_MEM_STAT &&
		       SCAN_MEM_PEAK == (int)USAGE_MEM_PEAK &&
		       SCAN_MEM_EVENTS == (int)USAGE_MEM_EVENTS &&
		       SCAN_PSI_CPU == (int)USAGE_PSI_CPU && SCAN_PSI_MEM == (int)USAGE_PSI_MEM &&
		       SCAN_CPU_LIMIT == (int)USAGE_CPU_LIMIT &&
		       SCAN_MEM_LIMIT == (int)USAGE_MEM_LIMIT,
	       "a part of the record is a bit of struct usage");
_Static_assert(sizeof(struct scan_record) % sizeof(uint64_t) == 0, "the kernel rounds to 8");
_Static_assert(sizeof(struct mem_stat) == (SCAN_STATS - 1) * sizeof(uint64_t),
	       "one value per line, but one for the two of refaults");

/* Pages of a limit or a counter in bytes; *bad is set for more than the kernel counts up to. */
static uint64_t bytes_of(uint64_t pages, uint64_t page_bytes, bool *bad)
{
	uint64_t most = (uint64_t)LONG_MAX / page_bytes;

	*bad |= pages > most;
	return pages > most ? 0 : pages * page_bytes;
}

static uint64_t limit_of(uint64_t pages, uint64_t page_bytes, bool *bad)
{
	if (pages == (uint64_t)LONG_MAX / page_bytes)
		return LIMIT_MAX;
	return bytes_of(pages, page_bytes, bad);
}

static uint64_t count_of(int64_t value, bool *bad)
{
	*bad |= value < 0;
	return value < 0 ? 0 : (uint64_t)value;
}

static void take_cpu(const struct scan_record *rec, struct usage *u, bool *bad)
{
	u->cpu_usage_usec = rec->cpu_usage_nsec / NSEC_PER_USEC;
	if (u->have & USAGE_THROTTLE) {
		u->nr_periods = count_of(rec->nr_periods, bad);
		u->nr_throttled = count_of(rec->nr_throttled, bad);
		u->throttled_usec = rec->throttled_nsec / NSEC_PER_USEC;
	}
	if (u->have & USAGE_CPU_LIMIT) {
		u->limits.cpu_quota_usec =
			rec->quota_nsec == QUOTA_NONE ? LIMIT_MAX : rec->quota_nsec / NSEC_PER_USEC;
		u->limits.cpu_period_usec = rec->period_nsec / NSEC_PER_USEC;
		u->limits.cpu_burst_usec = rec->burst_nsec / NSEC_PER_USEC;
		*bad |= u->limits.cpu_quota_usec == 0 || u->limits.cpu_period_usec == 0;
	}
}

/* The kernel's sums dip below 0 for a moment while pages move between CPUs; its files show 0. */
static uint64_t stat_of(int64_t value, uint64_t unit_bytes, bool *bad)
{
	return value < 0 ? 0 : bytes_of((uint64_t)value, unit_bytes, bad);
}

static void take_stat(const struct scan_record *rec, uint64_t page, struct mem_stat *s, bool *bad)
{
	s->anon = stat_of(rec->stat[SCAN_STAT_ANON], page, bad);
	s->file = stat_of(rec->stat[SCAN_STAT_FILE], page, bad);
	s->kernel = stat_of(rec->stat[SCAN_STAT_KERNEL], page, bad);
	s->shmem = stat_of(rec->stat[SCAN_STAT_SHMEM], page, bad);
	s->unevictable = stat_of(rec->stat[SCAN_STAT_UNEVICTABLE], page, bad);
	s->slab_reclaimable = stat_of(rec->stat[SCAN_STAT_SLAB_RECLAIMABLE], 1, bad);
	s->sock = stat_of(rec->stat[SCAN_STAT_SOCK], page, bad);
	s->inactive_anon = stat_of(rec->stat[SCAN_STAT_INACTIVE_ANON], page, bad);
	s->active_anon = stat_of(rec->stat[SCAN_STAT_ACTIVE_ANON], page, bad);
	s->inactive_file = stat_of(rec->stat[SCAN_STAT_INACTIVE_FILE], page, bad);
	s->active_file = stat_of(rec->stat[SCAN_STAT_ACTIVE_FILE], page, bad);
	s->refaults = stat_of(rec->stat[SCAN_STAT_REFAULT_ANON], 1, bad) +
		      stat_of(rec->stat[SCAN_STAT_REFAULT_FILE], 1, bad);
}

static void take_memory(const struct scan_record *rec, uint64_t page, struct usage *u, bool *bad)
{
	if (u->have & USAGE_MEM)
		u->mem_current = stat_of(rec->mem_pages, page, bad);
	if (u->have & USAGE_MEM_PEAK)
		u->mem_peak = bytes_of(rec->mem_peak_pages, page, bad);
	if (u->have & USAGE_MEM_LIMIT) {
		u->limits.mem_max = limit_of(rec->mem_max_pages, page, bad);
		u->limits.mem_high = limit_of(rec->mem_high_pages, page, bad);
	}
	if (u->have & USAGE_MEM_EVENTS) {
		u->events.high = count_of(rec->events[SCAN_EVENT_HIGH], bad);
		u->events.max = count_of(rec->events[SCAN_EVENT_MAX], bad);
		u->events.oom_kill = count_of(rec->events[SCAN_EVENT_KILL], bad);
		u->events.oom_group_kill = count_of(rec->events[SCAN_EVENT_GROUP_KILL], bad);
	}
	if (u->have & USAGE_MEM_STAT)
		take_stat(rec, page, &u->stat, bad);
}

int scan_record_decode(const void *bytes, size_t len, const struct scan_expect *e,
		       struct usage *ret)
{
	struct usage u = {
		.limits = {LIMIT_MAX, CPU_PERIOD_DEFAULT_USEC, 0, LIMIT_MAX, LIMIT_MAX},
	};
	/* In place: what is not wanted is not even touched. */
	const struct scan_record *rec = bytes;
	bool bad = false;

	if (len != sizeof *rec || (uintptr_t)bytes % _Alignof(struct scan_record) != 0 ||
	    e->page_bytes == 0)
		return -EBADMSG;
	if (rec->pass != e->pass)
		return -ENODEV;
	if (rec->version != SCAN_VERSION || rec->id != e->id || rec->have & ~(uint32_t)SCAN_ALL ||
	    !(rec->have & SCAN_CPU))
		return -EBADMSG;
	u.have = rec->have & e->want;
	take_cpu(rec, &u, &bad);
	take_memory(rec, e->page_bytes, &u, &bad);
	if (u.have & USAGE_PSI_CPU)
		u.psi_cpu_usec = rec->psi_cpu_nsec[0] / NSEC_PER_USEC;
	if (u.have & USAGE_PSI_MEM)
		u.psi_mem_usec = rec->psi_mem_nsec[0] / NSEC_PER_USEC;
	if (bad)
		return -EBADMSG;
	*ret = u;
	return 0;
}

#define FIELD(bit, field) {bit, offsetof(struct usage, field)}

static const struct field {
	uint32_t part;
	size_t offset;
} fields[] = {
	FIELD(USAGE_CPU, cpu_usage_usec),
	FIELD(USAGE_THROTTLE, nr_periods),
	FIELD(USAGE_THROTTLE, nr_throttled),
	FIELD(USAGE_THROTTLE, throttled_usec),
	FIELD(USAGE_MEM, mem_current),
	FIELD(USAGE_MEM_PEAK, mem_peak),
	FIELD(USAGE_MEM_STAT, stat.anon),
	FIELD(USAGE_MEM_STAT, stat.file),
	FIELD(USAGE_MEM_STAT, stat.kernel),
	FIELD(USAGE_MEM_STAT, stat.shmem),
	FIELD(USAGE_MEM_STAT, stat.unevictable),
	FIELD(USAGE_MEM_STAT, stat.slab_reclaimable),
	FIELD(USAGE_MEM_STAT, stat.sock),
	FIELD(USAGE_MEM_STAT, stat.inactive_anon),
	FIELD(USAGE_MEM_STAT, stat.active_anon),
	FIELD(USAGE_MEM_STAT, stat.inactive_file),
	FIELD(USAGE_MEM_STAT, stat.active_file),
	FIELD(USAGE_MEM_STAT, stat.refaults),
	FIELD(USAGE_MEM_EVENTS, events.high),
	FIELD(USAGE_MEM_EVENTS, events.max),
	FIELD(USAGE_MEM_EVENTS, events.oom_kill),
	FIELD(USAGE_MEM_EVENTS, events.oom_group_kill),
	FIELD(USAGE_PSI_CPU, psi_cpu_usec),
	FIELD(USAGE_PSI_MEM, psi_mem_usec),
	FIELD(USAGE_CPU_LIMIT, limits.cpu_quota_usec),
	FIELD(USAGE_CPU_LIMIT, limits.cpu_period_usec),
	FIELD(USAGE_CPU_LIMIT, limits.cpu_burst_usec),
	FIELD(USAGE_MEM_LIMIT, limits.mem_max),
	FIELD(USAGE_MEM_LIMIT, limits.mem_high),
};

static uint64_t value_of(const struct usage *u, const struct field *f)
{
	uint64_t value;

	memcpy(&value, (const char *)u + f->offset, sizeof value);
	return value;
}

_Static_assert(ARRAY_SIZE(fields) <= 64, "a bit for each");

static bool lies_outside(const struct usage *before, const struct usage *scan,
			 const struct usage *after, const struct field *f)
{
	uint64_t a = value_of(before, f), s = value_of(scan, f), b = value_of(after, f);

	/* A part that only one of the readers has is no difference while it comes or goes. */
	if (!(scan->have & f->part) || !(before->have & after->have & f->part))
		return scan->have & f->part & ~(before->have | after->have);
	return s > MAX(a, b) || s < MIN(a, b);
}

uint64_t scan_differing_fields(const struct usage *before, const struct usage *scan,
			       const struct usage *after)
{
	uint64_t differs = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (lies_outside(before, scan, after, &fields[i]))
			differs |= UINT64_C(1) << i;
	return differs;
}

uint32_t scan_parts_of(uint64_t fields_mask)
{
	uint32_t parts = 0;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields_mask & (UINT64_C(1) << i))
			parts |= fields[i].part;
	return parts;
}

void scan_take(struct usage *to, const struct usage *from, uint32_t parts)
{
	parts &= from->have;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		if (fields[i].part & parts)
			memcpy((char *)to + fields[i].offset, (const char *)from + fields[i].offset,
			       sizeof(uint64_t));
	to->have |= parts;
}

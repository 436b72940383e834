// SPDX-License-Identifier: Apache-2.0
#include "cgroup/reader_bpf.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A busy cgroup moves between two looks; a wrong place is wrong every time. */
#define TRIES 16

#define FIELD(bit, field)                                                                          \
	{                                                                                          \
		bit, offsetof(struct usage, field)                                                 \
	}

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
	FIELD(USAGE_MEM_STAT, stat.inactive_file),
	FIELD(USAGE_MEM_STAT, stat.active_file),
	FIELD(USAGE_MEM_STAT, stat.refault_anon),
	FIELD(USAGE_MEM_STAT, stat.refault_file),
	FIELD(USAGE_MEM_EVENTS, events.low),
	FIELD(USAGE_MEM_EVENTS, events.high),
	FIELD(USAGE_MEM_EVENTS, events.max),
	FIELD(USAGE_MEM_EVENTS, events.oom_kill),
	FIELD(USAGE_PSI_CPU, psi_cpu_some_usec),
	FIELD(USAGE_PSI_CPU, psi_cpu_full_usec),
	FIELD(USAGE_PSI_MEM, psi_mem_some_usec),
	FIELD(USAGE_PSI_MEM, psi_mem_full_usec),
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

uint32_t cg_scan_differs(const struct usage *before, const struct usage *scan,
			 const struct usage *after)
{
	/* A part that only one of the readers has is no difference while it comes or goes. */
	uint32_t differs = scan->have & ~(before->have | after->have);

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const struct field *f = &fields[i];
		uint64_t a = value_of(before, f), s = value_of(scan, f), b = value_of(after, f);

		if (!(scan->have & before->have & after->have & f->part))
			continue;
		if (s > MAX(a, b) || s < MIN(a, b))
			differs |= f->part;
	}
	return differs;
}

/* Flushes, so that the text reads that frame a pass are as fresh as the pass. */
static int compare(struct cg_scan *s, struct cg *c, uint32_t slot, uint32_t *ret_differs)
{
	uint32_t want = cg_scan_offers(s);
	struct usage before, scan, after;
	int r = cg_scan_pass(s, want);

	if (r == 0)
		r = cg_read(c, want, &before);
	if (r == 0)
		r = cg_scan_pass(s, want);
	if (r == 0)
		r = cg_scan_get(s, slot, want, &scan);
	if (r == 0)
		r = cg_read(c, want, &after);
	if (r == 0)
		*ret_differs = cg_scan_differs(&before, &scan, &after);
	return r;
}

static void name_parts(uint32_t parts, struct cg_probe *p)
{
	static const struct {
		uint32_t part;
		const char *name;
	} names[] = {
		{USAGE_CPU, "CPU time"},         {USAGE_THROTTLE, "throttling"},
		{USAGE_MEM, "memory.current"},   {USAGE_MEM_STAT, "memory.stat"},
		{USAGE_MEM_PEAK, "memory.peak"}, {USAGE_MEM_EVENTS, "memory.events"},
		{USAGE_PSI_CPU, "cpu.pressure"}, {USAGE_PSI_MEM, "memory.pressure"},
		{USAGE_CPU_LIMIT, "cpu.max"},    {USAGE_MEM_LIMIT, "memory.max and high"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		size_t len = strlen(p->why);

		if (parts & names[i].part)
			snprintf(p->why + len, sizeof p->why - len, "%s %s",
				 len == 0 || p->why[len - 1] == ':' ? "" : ",", names[i].name);
	}
}

int cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p)
{
	uint32_t open = cg_scan_offers(s), slot, differs = 0;
	int r = cg_scan_add(s, cg_id(c), &slot);

	if (r < 0)
		return r;
	/* A part is proven by one comparison that agrees. */
	for (int i = 0; i < TRIES && open != 0 && r == 0; i++) {
		r = compare(s, c, slot, &differs);
		if (r == 0)
			open &= differs;
	}
	cg_scan_remove(s, slot);
	if (r < 0)
		return r;
	cg_scan_withdraw(s, open);
	if (open != 0) {
		size_t len = strlen(p->why);

		snprintf(p->why + len, sizeof p->why - len, "; unlike its file, so left to it:");
		name_parts(open, p);
	}
	return 0;
}

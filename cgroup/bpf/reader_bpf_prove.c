// SPDX-License-Identifier: Apache-2.0
#include "cgroup/bpf/reader_bpf.h"
#include "cgroup/bpf/scan_record.h"
#include <stdio.h>
#include <string.h>

/* A busy cgroup changes between two reads; a wrong offset is wrong every time. */
#define TRIES 16

/* Flushes, so that the text reads that frame a pass are as fresh as the pass. */
static int reader_bpf_prove_compare(struct cg_scan *s, struct cg *c, uint32_t slot,
				    uint64_t *ret_differs)
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
		*ret_differs = scan_differing_fields(&before, &scan, &after);
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
	uint64_t open = UINT64_MAX, differs;
	uint32_t slot, parts;
	int r = cg_scan_add(s, cg_id(c), &slot);

	if (r < 0)
		return r;
	/* A field is proven by one comparison that agrees: in a busy cgroup some field of
	 * memory.stat goes up and down at any moment. */
	for (int i = 0; i < TRIES && open != 0 && r == 0; i++) {
		r = reader_bpf_prove_compare(s, c, slot, &differs);
		if (r == 0)
			open &= differs;
	}
	cg_scan_remove(s, slot);
	if (r < 0)
		return r;
	parts = scan_parts_of(open);
	cg_scan_withdraw(s, parts);
	if (parts != 0) {
		size_t len = strlen(p->why);

		snprintf(p->why + len, sizeof p->why - len, "; unlike its file, so left to it:");
		name_parts(parts, p);
	}
	return 0;
}

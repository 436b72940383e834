/* SPDX-License-Identifier: Apache-2.0 */
/* The BPF reader: the counters and limits of many cgroups in one read(), the same struct usage as
 * the text reader's (cgroup/reader.h). It needs Linux 6.1, CAP_BPF and CAP_PERFMON
 * (cgroup/bpf/probe.h).
 *
 * A pass holds the kernel's cgroup lock (below 1 ms for 1,000 cgroups): no cgroup is made or
 * removed meanwhile. All values are as of the pass, memory.stat flushed right before it. Pressure
 * alone is as of the kernel's last aggregation, up to 2 s ago: CG_SCAN_STALE. Reading the file
 * aggregates. */
#pragma once

#include "cgroup/bpf/probe.h"
#include "cgroup/reader.h"

struct cg_scan;

#define CG_SCAN_SLOTS_MAX 65536u
#define CG_SCAN_STALE     (USAGE_PSI_CPU | USAGE_PSI_MEM)

/* A reader for up to slots cgroups below root_dirfd, a folder of the version 2 hierarchy (its root
 * is best: a pass walks every cgroup below). throttles: reports throttling, too, where the kernel
 * has a function to attach to. *p has the result of loading the program, whatever is
 * returned: 0; -EOPNOTSUPP: built without BPF or a kernel without it; -EPERM; else -errno. Loading
 * takes some 100 ms and, in a process of its own, some 12 MB. */
int cg_scan_open(int root_dirfd, uint32_t slots, bool throttles, struct cg_scan **ret,
		 struct cg_probe *p);
/* Unloads and frees; NULL is fine. */
void cg_scan_close(struct cg_scan *s);
static inline void drop_cg_scan(struct cg_scan **s)
{
	cg_scan_close(*s);
}

/* From the next pass on, cgroup id (cg_id()) is read into *ret_slot. -EEXIST; -ENOSPC. */
int cg_scan_add(struct cg_scan *s, uint64_t id, uint32_t *ret_slot);
/* Frees a slot, also of a cgroup that is gone. */
void cg_scan_remove(struct cg_scan *s, uint32_t slot);

/* Readable when an armed cgroup was throttled; -EOPNOTSUPP: throttling is not reported. */
int cg_scan_throttles_fd(const struct cg_scan *s);
/* The next throttle of this cgroup is reported, and none after it. */
void cg_scan_arm(struct cg_scan *s, uint32_t slot);
/* period_end: of the period in which it was throttled, CLOCK_MONOTONIC; 0: not known. It must not
 * close s. */
typedef void cg_throttled_fn(void *ctx, uint32_t slot, usec_t period_end);
/* Calls throttled for each report. Only where there is a descriptor. */
void cg_scan_take_throttles(struct cg_scan *s, cg_throttled_fn *throttled, void *ctx);

/* Parts that can come from here (enum usage_have), see cg_scan_prove(). */
uint32_t cg_scan_offers(const struct cg_scan *s);
/* Stops offering parts. */
void cg_scan_withdraw(struct cg_scan *s, uint32_t parts);

/* Reads want of every added cgroup. -ENODEV: the root is gone; else -errno. */
int cg_scan_pass(struct cg_scan *s, uint32_t want);

/* What the last pass read of one cgroup, as cg_read() would return it: in ret->have are the bits of
 * want that could be filled. -ENODEV: the cgroup is gone, or not below the root, or was added after
 * the pass; -EBADMSG. *ret is written on success only. */
int cg_scan_get(const struct cg_scan *s, uint32_t slot, uint32_t want, struct usage *ret);
/* What the last pass was for, of what is offered. */
uint32_t cg_scan_passed(const struct cg_scan *s);

/* Of one struct cg: its own, and that of its second level (levels.h) where it has one. */
struct cg_scan_slots {
	uint32_t own, inner;
};

/* In the place of cg_read(c, want, ret): from the last pass, except for by_text (CG_SCAN_STALE
 * where pressure must be of now), for what the pass was not for and for what is not offered: these
 * come from c's files. All of it does when s is NULL, or when the pass has nothing of this cgroup
 * or of its second level. */
int cg_scan_read(const struct cg_scan *s, struct cg_scan_slots slots, struct cg *c, uint32_t want,
		 uint32_t by_text, struct usage *ret);

/* Compares every part with what the files of this cgroup say, and stops offering parts that differ
 * time and again. *p then names them (error stays 0). For the places of memory.stat's counters,
 * which no type describes, this is the proof: call it once after opening, with a cgroup that has
 * memory in use, such as the process's own. -errno: nothing could be compared. */
int cg_scan_prove(struct cg_scan *s, struct cg *c, struct cg_probe *p);

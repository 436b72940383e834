/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of one cgroup as value types, and the table of the files that hold them. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>

/* CPU limits are decided in millicores; one systemd percent is 10m and nothing finer survives a
 * reload. */
#define CPU_QUANTUM_MILLI 10u
/* The kernel refuses a smaller quota (kernel/sched/core.c, min_cfs_quota_period). */
#define CPU_QUOTA_MIN_USEC      1000u
#define CPU_PERIOD_DEFAULT_USEC 100000u
/* The kernel rounds memory.max and memory.high down to a page: 4, 16 or 64 KiB. This is a page of a
 * node of which nothing is known, and of the simulated one. */
#define PAGE_DEFAULT_BYTES 4096u

enum resource { RESOURCE_CPU, RESOURCE_MEMORY, RESOURCE_COUNT };
/* Who has set a value of a pod's spec, by the API server's managedFields. */
enum value_owner { OWNER_UNKNOWN, OWNER_VSCALED, OWNER_OTHER };
/* "cpu", "memory": as Kubernetes names them. */
extern const char *const resource_names[RESOURCE_COUNT];

/* What the kernel holds for one cgroup. LIMIT_MAX means "max". */
struct limits {
	uint64_t cpu_quota_usec;  /* per period */
	uint64_t cpu_period_usec; /* 1000..1000000 */
	uint64_t cpu_burst_usec;  /* 0: none; never above the quota */
	uint64_t mem_max;         /* bytes */
	uint64_t mem_high;        /* bytes */
};

enum knob {
	KNOB_CPU_MAX,
	KNOB_CPU_BURST,
	KNOB_MEM_HIGH,
	KNOB_MEM_MAX,
	KNOB_MEM_RECLAIM,
	KNOB_COUNT
};

struct knob_info {
	const char *file;     /* name in the cgroup folder */
	const char *property; /* systemd's name for it, or NULL */
	enum resource resource;
};

extern const struct knob_info knobs[KNOB_COUNT];

/* Millicores of a quota, rounded down; LIMIT_MAX stays LIMIT_MAX. */
uint64_t cpu_milli_of(uint64_t quota_usec, uint64_t period_usec);
/* Quota of millicores in a period, rounded up, which the kernel may refuse as too small; LIMIT_MAX
 * stays LIMIT_MAX. An original limit is kept like this: the kubelet writes cpu_quota_of() for it.
 */
uint64_t cpu_quota_exact(uint64_t milli, uint64_t period_usec);
/* The same, rounded down, and at least what the kernel accepts. */
uint64_t cpu_quota_of(uint64_t milli, uint64_t period_usec);

static inline uint64_t cpu_quota_in_file(const struct limits *l)
{
	return MAX(l->cpu_quota_usec, (uint64_t)CPU_QUOTA_MIN_USEC);
}

/* The limit in millicores or bytes. */
static inline uint64_t limit_amount(const struct limits *l, enum resource r)
{
	return r == RESOURCE_CPU ? cpu_milli_of(l->cpu_quota_usec, l->cpu_period_usec) : l->mem_max;
}

/* The smallest change of a limit that lasts. */
static inline uint64_t quantum_of(enum resource r, uint64_t page_bytes)
{
	return r == RESOURCE_CPU ? CPU_QUANTUM_MILLI : page_bytes;
}

/* What the node makes of a limit: PID 1 rounds CPU up, the kernel memory down. */
uint64_t limit_kept(enum resource r, uint64_t limit, uint64_t page_bytes);

/* One step of a plan: set one knob of one cgroup.
 * from, to: for KNOB_CPU_MAX the quota in microseconds per period_usec, for KNOB_MEM_RECLAIM
 * to = bytes to take back, else bytes. LIMIT_MAX = "max". */
struct change {
	uint32_t target; /* id given by the caller; the applier maps it to a cgroup */
	enum knob knob;
	uint32_t depth; /* of the cgroup below the root: orders parents and children */
	uint64_t from;
	uint64_t to;
	uint64_t period_usec;  /* KNOB_CPU_MAX only */
	uint64_t margin_bytes; /* KNOB_MEM_MAX, lowering only: refuse if memory.current + this > to
				*/
	uint32_t reason;       /* enum reason of policy/types/reason.h */
};

/* Outcome of a step; a negative value is -errno. */
enum apply_outcome {
	APPLY_DONE = 0,
	APPLY_UNCHANGED = 1, /* the kernel already held the value */
	APPLY_GONE = 2,      /* the cgroup vanished */
	APPLY_REFUSED = 3,   /* the check right before the write failed; nothing was written */
	APPLY_PARTIAL = 4,   /* KNOB_MEM_RECLAIM: the kernel got less than asked (EAGAIN) */
};

/*
 * A plan: what to write, in the order in which it is safe to write it.
 *
 *	raise memory.max, then memory.high	parents first
 *	raise cpu.max, then cpu.max.burst	parents first
 *	lower cpu.max.burst, then cpu.max	children first
 *	memory.reclaim, lower memory.high, then memory.max	children first
 *
 * Memory raises come first because they can prevent an OOM kill.
 */

struct plan {
	struct change *steps; /* borrowed */
	size_t count;
	size_t capacity;
};

/* A step that changes nothing is left out; one more than there is room for is lost. */
void plan_add(struct plan *p, const struct change *c);
/* Puts the steps into the order above; steps of the same rank keep theirs. */
void plan_sort(struct plan *p);
/* Before: true when a must be written before b. */
bool plan_before(const struct change *a, const struct change *b);
/* Does the step give the cgroup less than it has? memory.reclaim does. */
bool change_lowers(const struct change *c);

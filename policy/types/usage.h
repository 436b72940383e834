/* SPDX-License-Identifier: Apache-2.0 */
/* One observation of one cgroup: counters as the kernel shows them, nothing derived. */
#pragma once

#include "policy/types/limits.h"

/* Which groups of fields a reader was asked for and could fill. */
enum usage_have {
	USAGE_CPU = 1 << 0, /* cpu_usage_usec */
	USAGE_THROTTLE =
		1 << 1, /* nr_periods, nr_throttled, throttled_usec: only with a cpu controller */
	USAGE_MEM = 1 << 2,        /* mem_current */
	USAGE_MEM_STAT = 1 << 3,   /* stat */
	USAGE_MEM_PEAK = 1 << 4,   /* mem_peak */
	USAGE_MEM_EVENTS = 1 << 5, /* events */
	USAGE_PSI_CPU = 1 << 6,    /* psi_cpu */
	USAGE_PSI_MEM = 1 << 7,    /* psi_mem */
	USAGE_CPU_LIMIT = 1 << 8,  /* limits.cpu_* */
	USAGE_MEM_LIMIT = 1 << 9,  /* limits.mem_* */
};

/* memory.stat, bytes except the refault counters. */
struct mem_stat {
	uint64_t anon;
	uint64_t file;
	uint64_t kernel;
	uint64_t shmem;
	uint64_t unevictable;
	uint64_t slab_reclaimable;
	uint64_t sock;
	uint64_t inactive_anon; /* with shmem, without what is unevictable */
	uint64_t active_anon;   /* likewise */
	uint64_t inactive_file;
	uint64_t active_file;
	uint64_t refaults; /* workingset_refault_anon and _file, pages */
};

/* memory.events: counts. `oom` is left out on purpose: it counts retries, not kills. */
struct mem_events {
	uint64_t high;
	uint64_t max;
	uint64_t oom_kill;       /* processes */
	uint64_t oom_group_kill; /* whole groups, Linux 5.17; 0 where it is not shown */
};

struct usage {
	uint32_t have; /* enum usage_have */
	uint64_t cpu_usage_usec;
	uint64_t nr_periods;
	uint64_t nr_throttled;
	uint64_t throttled_usec; /* summed over CPUs */
	uint64_t mem_current;    /* bytes */
	uint64_t mem_peak;       /* bytes */
	struct mem_stat stat;
	struct mem_events events;
	/* `some` of the pressure files: some task waited. */
	uint64_t psi_cpu_usec;
	uint64_t psi_mem_usec;
	struct limits limits; /* as they stand in the kernel */
};

/* Takes over the groups that from has; limits always. */
void usage_merge(struct usage *into, const struct usage *from);
/* Memory that cannot go without swap:
 * 	max(inactive_anon + active_anon + unevictable, anon + shmem) + sock
 * 	+ kernel - slab_reclaimable
 * The kernel's lists hold each page once (an mlocked one in `unevictable`). The sum of the counters
 * is larger while pages wait to be listed (up to 31 per CPU) and after MADV_FREE, which the owner
 * can take back with a mere write. `sock` is charged beside `kernel`. */
uint64_t mem_unreclaimable(const struct mem_stat *s);
/* Sets `kernel`, which Linux before 5.18 does not show, from the sum of its parts; 5.10 does not
 * count all of them. So mem_unreclaimable() is then at least what is charged and neither page cache
 * nor slab that can be reclaimed. current: 0 where it is not known. */
void mem_stat_no_kernel(struct mem_stat *s, uint64_t parts, uint64_t current);
/* VPA's and the kubelet's working set: current - inactive_file, never below 0. */
uint64_t mem_working_set(const struct usage *u);

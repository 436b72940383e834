/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by scan.bpf.c and its reader: one record per watched cgroup, in the kernel's units. */
#pragma once

#ifdef __bpf__
#include "cgroup/bpf/kernel/kernel.h"
#else
#include <linux/types.h>
#endif

#define SCAN_VERSION 1u
/* A message for each of 1,024 cgroups; a multiple of any page size. */
#define SCAN_RING_BYTES (64 * 1024)

/* Which parts are filled: the same bits as enum usage_have. */
enum scan_part {
	SCAN_CPU = 1 << 0,
	SCAN_THROTTLE = 1 << 1,
	SCAN_MEM = 1 << 2,
	SCAN_MEM_STAT = 1 << 3,
	SCAN_MEM_PEAK = 1 << 4,
	SCAN_MEM_EVENTS = 1 << 5,
	SCAN_PSI_CPU = 1 << 6,
	SCAN_PSI_MEM = 1 << 7,
	SCAN_CPU_LIMIT = 1 << 8,
	SCAN_MEM_LIMIT = 1 << 9,
	SCAN_ALL = (1 << 10) - 1,
};

/* The reader sets pass and want before a walk; the walk says that it began. */
struct scan_control {
	__u64 pass;
	__u64 walked; /* pass of the last walk */
	__u32 want;   /* enum scan_part */
};

enum scan_event {
	SCAN_EVENT_LOW,
	SCAN_EVENT_HIGH,
	SCAN_EVENT_MAX,
	SCAN_EVENT_KILL,
	SCAN_EVENT_GROUP_KILL,
	SCAN_EVENTS
};

/* Lines of memory.stat, in the order of struct mem_stat. */
enum scan_stat {
	SCAN_STAT_ANON,
	SCAN_STAT_FILE,
	SCAN_STAT_KERNEL,
	SCAN_STAT_SHMEM,
	SCAN_STAT_UNEVICTABLE,
	SCAN_STAT_SLAB_RECLAIMABLE, /* in bytes; the others in pages */
	SCAN_STAT_SOCK,
	SCAN_STAT_INACTIVE_ANON,
	SCAN_STAT_ACTIVE_ANON,
	SCAN_STAT_INACTIVE_FILE,
	SCAN_STAT_ACTIVE_FILE,
	SCAN_STAT_REFAULT_ANON,
	SCAN_STAT_REFAULT_FILE,
	SCAN_STATS
};

/* A group has used its quota before the period ended, and a CPU's threads of it are stopped. */
struct scan_throttle {
	__u32 slot;
	__u32 unused;
	__u64 period_end_nsec; /* CLOCK_MONOTONIC; 0: not known */
};

struct scan_record {
	__u32 version; /* SCAN_VERSION */
	__u32 have;    /* enum scan_part */
	__u64 id;
	__u64 pass; /* number of the pass that wrote it */
	__u64 cpu_usage_nsec;
	__u64 throttled_nsec; /* summed over CPUs */
	__s64 nr_periods;
	__s64 nr_throttled;
	__u64 quota_nsec; /* all bits set: no quota */
	__u64 period_nsec;
	__u64 burst_nsec;
	__s64 mem_pages;
	__u64 mem_peak_pages;
	__u64 mem_max_pages; /* LONG_MAX / page size: no limit */
	__u64 mem_high_pages;
	__u64 psi_cpu_nsec[2]; /* some, full */
	__u64 psi_mem_nsec[2];
	__s64 events[SCAN_EVENTS];
	__s64 stat[SCAN_STATS]; /* may dip below 0: then it reads as 0 */
	/* 1: the next throttle is reported, which sets it to 0. */
	__u64 armed;
};

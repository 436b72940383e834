/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's types as far as the programs here read them. Only names and kinds of fields count:
 * their offsets are filled in when a program is loaded, from the running kernel's BTF (CO-RE). */
#pragma once

typedef signed int __s32;
typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef signed long long __s64;
typedef unsigned long long __u64;
/* bpf_helper_defs.h names them */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

#ifndef NULL
#define NULL ((void *)0)
#endif

enum bpf_map_type {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_F_MMAPABLE = 1 << 10,
};

/* Bits of cgroup_subsys_state.flags; the kernel's enumeration has no name to find it by. */
#define CSS_ONLINE  (1u << 1)
#define CSS_VISIBLE (1u << 3)

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	long counter;
} atomic_long_t;

enum cgroup_subsys_id { cpu_cgrp_id, memory_cgrp_id };
enum memcg_memory_event {
	MEMCG_LOW,
	MEMCG_HIGH,
	MEMCG_MAX,
	MEMCG_OOM,
	MEMCG_OOM_KILL,
	MEMCG_OOM_GROUP_KILL
};
enum psi_states { PSI_MEM_SOME, PSI_MEM_FULL, PSI_CPU_SOME, PSI_CPU_FULL };

struct cgroup;

struct kernfs_node {
	__u64 id;
};

struct cgroup_subsys_state {
	unsigned int flags;
	struct cgroup *cgroup;
};

struct task_cputime {
	__u64 sum_exec_runtime;
};

struct cgroup_base_stat {
	struct task_cputime cputime;
};

struct psi_group {
	_Bool enabled;
	__u64 total[12]; /* by aggregator, then by state; the first aggregator is the files' */
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	int level;
	struct kernfs_node *kn;
	struct cgroup_subsys_state *subsys[16];
	struct cgroup_root *root;
	struct cgroup_base_stat bstat;
	struct psi_group *psi;
};

struct timerqueue_node {
	__s64 expires;
};

struct hrtimer {
	struct timerqueue_node node;
};

struct cfs_bandwidth {
	struct hrtimer period_timer;
	__s64 period;
	__u64 quota;
	__u64 burst;
	int nr_periods;
	int nr_throttled;
	__u64 throttled_time;
};

struct task_group {
	struct cgroup_subsys_state css;
	struct cfs_bandwidth cfs_bandwidth;
};

struct cfs_rq {
	struct task_group *tg;
};

struct page_counter {
	atomic_long_t usage;
	unsigned long watermark;
	unsigned long high;
	unsigned long max;
};

struct memcg_vmstats {
	long state[64];
};

struct mem_cgroup {
	struct cgroup_subsys_state css;
	struct page_counter memory;
	struct memcg_vmstats *vmstats;
	atomic_long_t memory_events[16];
};

struct bpf_iter__cgroup {
	struct cgroup *cgroup;
};

#pragma clang attribute pop

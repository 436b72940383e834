// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One walk over all cgroups below a root: for each that is in `slots`, one record. Counts and
 * copies, nothing else; and a message when one of them is throttled. Built four times, because a
 * function that a kernel lacks cannot be imported (a weak one is looked for in modules, which takes
 * CAP_SYS_ADMIN): SCAN_FLUSH_CSS: statistics are flushed by controller (6.16 and later), else a
 * cgroup as a whole; SCAN_ACQUIRE: one that was acquired (7.0 and later); SCAN_CAST: pointers can
 * be given a type and then be followed by plain loads (6.2 and later), else each load is a call of
 * a helper.
 *
 * The walk holds cgroup_mutex, so no cgroup and no controller goes away under it. */
#include "cgroup/bpf/kernel/scan.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* Place of each line of memory.stat in memcg_vmstats.state; the reader finds them out. */
const volatile __u32 stat_at[SCAN_STATS];

struct scan_control control;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, __u32);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scan_record);
} records SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SCAN_RING_BYTES);
} throttles SEC(".maps");

#ifdef SCAN_CAST
/* As libbpf 1.2 and newer declare it. */
extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;
#define CAST(type, p) ((type *)bpf_rdonly_cast(p, bpf_core_type_id_kernel(type)))
#define LOAD(place)   (*(place))
#else
#define CAST(type, p) ((type *)(p))
#define LOAD(place)                                                                                \
	({                                                                                         \
		__typeof__(*(place)) loaded_ = 0;                                                  \
		bpf_probe_read_kernel(&loaded_, sizeof loaded_, place);                            \
		loaded_;                                                                           \
	})
#endif

/* Controller's part of a cgroup, NULL if it has none. */
#define CSS(cgrp, id)                                                                              \
	(*(struct cgroup_subsys_state **)((void *)(cgrp)->subsys +                                 \
					  sizeof(void *) *                                         \
						  bpf_core_enum_value(enum cgroup_subsys_id, id)))

#ifdef SCAN_FLUSH_CSS
extern void css_rstat_flush(struct cgroup_subsys_state *css) __ksym;
#ifdef SCAN_ACQUIRE
extern struct mem_cgroup *bpf_get_mem_cgroup(struct cgroup_subsys_state *css) __ksym;
extern void bpf_put_mem_cgroup(struct mem_cgroup *memcg) __ksym;

static __always_inline void flush_memory(struct cgroup *root)
{
	struct mem_cgroup *memory = bpf_get_mem_cgroup(&root->self);

	if (memory == NULL)
		return;
	css_rstat_flush(&memory->css);
	bpf_put_mem_cgroup(memory);
}
#else
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;

static __always_inline void flush_memory(struct cgroup *root)
{
	struct cgroup_subsys_state *memory;

	/* cgroup_mutex keeps it; the verifier lets only a pointer read under RCU through. */
	bpf_rcu_read_lock();
	memory = CSS(root, memory_cgrp_id);
	bpf_rcu_read_unlock();
	if (memory != NULL)
		css_rstat_flush(memory);
}
#endif

static __always_inline void flush(struct cgroup *root)
{
	css_rstat_flush(&root->self);
	if (control.want & SCAN_MEM_STAT)
		flush_memory(root);
}
#else
extern void cgroup_rstat_flush(struct cgroup *cgrp) __ksym;

static __always_inline void flush(struct cgroup *root)
{
	cgroup_rstat_flush(root);
}
#endif

/* cpu.stat's throttle lines are there with the controller, cpu.max only where it is shown. */
static __always_inline __u32 read_cpu(struct cgroup *cgrp, struct scan_record *rec)
{
	struct cgroup_subsys_state *css = CSS(cgrp, cpu_cgrp_id);
	struct cfs_bandwidth *cfs;
	__u32 flags;

	if (css == NULL)
		return 0;
	flags = LOAD(&css->flags);
	if (!(flags & CSS_ONLINE))
		return 0;
	cfs = &CAST(struct task_group, css)->cfs_bandwidth;
	rec->nr_periods = LOAD(&cfs->nr_periods);
	rec->nr_throttled = LOAD(&cfs->nr_throttled);
	rec->throttled_nsec = LOAD(&cfs->throttled_time);
	if (!(flags & CSS_VISIBLE))
		return SCAN_THROTTLE;
	rec->quota_nsec = LOAD(&cfs->quota);
	rec->period_nsec = LOAD(&cfs->period);
	rec->burst_nsec = LOAD(&cfs->burst);
	return SCAN_THROTTLE | SCAN_CPU_LIMIT;
}

static __always_inline __u32 read_stat(struct mem_cgroup *memcg, struct scan_record *rec)
{
	struct memcg_vmstats *stats = LOAD(&memcg->vmstats);
	long *state = stats->state;

	if (stats == NULL || stat_at[SCAN_STAT_FILE] == 0)
		return 0;
#pragma unroll
	for (int i = 0; i < SCAN_STATS; i++)
		rec->stat[i] = LOAD(state + stat_at[i]);
	return SCAN_MEM_STAT;
}

#define EVENT(memcg, name)                                                                         \
	LOAD(&(memcg)->memory_events[0].counter +                                                  \
	     bpf_core_enum_value(enum memcg_memory_event, name))

static __always_inline __u32 read_memory(struct cgroup *cgrp, struct scan_record *rec)
{
	struct cgroup_subsys_state *css = CSS(cgrp, memory_cgrp_id);
	const __u32 shown = CSS_ONLINE | CSS_VISIBLE;
	struct mem_cgroup *memcg;

	if (css == NULL || (LOAD(&css->flags) & shown) != shown)
		return 0;
	memcg = CAST(struct mem_cgroup, css);
	rec->mem_pages = LOAD(&memcg->memory.usage.counter);
	rec->mem_peak_pages = LOAD(&memcg->memory.watermark);
	rec->mem_max_pages = LOAD(&memcg->memory.max);
	rec->mem_high_pages = LOAD(&memcg->memory.high);
	rec->events[SCAN_EVENT_LOW] = EVENT(memcg, MEMCG_LOW);
	rec->events[SCAN_EVENT_HIGH] = EVENT(memcg, MEMCG_HIGH);
	rec->events[SCAN_EVENT_MAX] = EVENT(memcg, MEMCG_MAX);
	rec->events[SCAN_EVENT_KILL] = EVENT(memcg, MEMCG_OOM_KILL);
	rec->events[SCAN_EVENT_GROUP_KILL] = EVENT(memcg, MEMCG_OOM_GROUP_KILL);
	return SCAN_MEM | SCAN_MEM_PEAK | SCAN_MEM_LIMIT | SCAN_MEM_EVENTS |
	       (control.want & SCAN_MEM_STAT ? read_stat(memcg, rec) : 0);
}

#define PSI(group, state) LOAD(&(group)->total[0] + bpf_core_enum_value(enum psi_states, state))

static __always_inline __u32 read_psi(struct cgroup *cgrp, struct scan_record *rec)
{
	struct psi_group *group = cgrp->psi;

	if (group == NULL || !LOAD(&group->enabled))
		return 0;
	rec->psi_cpu_nsec[0] = PSI(group, PSI_CPU_SOME);
	rec->psi_cpu_nsec[1] = PSI(group, PSI_CPU_FULL);
	rec->psi_mem_nsec[0] = PSI(group, PSI_MEM_SOME);
	rec->psi_mem_nsec[1] = PSI(group, PSI_MEM_FULL);
	return SCAN_PSI_CPU | SCAN_PSI_MEM;
}

SEC("iter.s/cgroup")
int scan(struct bpf_iter__cgroup *ctx)
{
	struct cgroup *cgrp = ctx->cgroup;
	struct scan_record *rec;
	__u32 *slot, have;
	__u64 id;

	if (cgrp == NULL) /* the end of the walk */
		return 0;
	/* The root comes first, and flushing it flushes everything below. */
	if (control.walked != control.pass) {
		control.walked = control.pass;
		flush(cgrp);
	}
	id = cgrp->kn->id;
	slot = bpf_map_lookup_elem(&slots, &id);
	rec = slot == NULL ? NULL : bpf_map_lookup_elem(&records, slot);
	if (rec == NULL)
		return 0;
	have = SCAN_CPU;
	rec->cpu_usage_nsec = cgrp->bstat.cputime.sum_exec_runtime;
	if (control.want & (SCAN_THROTTLE | SCAN_CPU_LIMIT))
		have |= read_cpu(cgrp, rec);
	if (control.want &
	    (SCAN_MEM | SCAN_MEM_PEAK | SCAN_MEM_LIMIT | SCAN_MEM_EVENTS | SCAN_MEM_STAT))
		have |= read_memory(cgrp, rec);
	if (control.want & (SCAN_PSI_CPU | SCAN_PSI_MEM))
		have |= read_psi(cgrp, rec);
	rec->version = SCAN_VERSION;
	rec->have = have;
	rec->id = id;
	rec->pass = control.pass;
	return 0;
}

/* One message until the reader asks for the next: every CPU that runs the group is throttled by
 * itself, and at a ceiling all of them are in each period. The kernel calls the function also where
 * there is quota left in the end, as right after a write of cpu.max: then it returns false. */
SEC("fexit/throttle_cfs_rq")
int throttled(__u64 *ctx)
{
	struct cfs_rq *cfs_rq = (void *)ctx[0];
	struct scan_throttle *event;
	struct scan_record *rec;
	__u32 *slot;
	__u64 id;

	if (!(__u8)ctx[1])
		return 0;
	id = cfs_rq->tg->css.cgroup->kn->id;
	slot = bpf_map_lookup_elem(&slots, &id);
	rec = slot == NULL ? NULL : bpf_map_lookup_elem(&records, slot);
	if (rec == NULL || __sync_val_compare_and_swap(&rec->armed, 1, 0) != 1)
		return 0;
	event = bpf_ringbuf_reserve(&throttles, sizeof *event, 0);
	if (event == NULL)
		return 0;
	event->slot = *slot;
	event->unused = 0;
	event->period_end_nsec = 0;
	if (bpf_core_field_exists(struct hrtimer, node.expires))
		event->period_end_nsec = cfs_rq->tg->cfs_bandwidth.period_timer.node.expires;
	bpf_ringbuf_submit(event, 0);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Cgroups of the version 2 hierarchy made and removed, as they come, through a ring buffer. */
#include "cgroup/bpf/kernel/life.h"
#include "cgroup/bpf/kernel/kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__u64 lost; /* records that found the ring full */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LIFE_RING_BYTES);
} ring SEC(".maps");

static __always_inline int report_cgroup(struct cgroup *cgrp, const char *path, __u32 what)
{
	struct life_record *rec;

	if (cgrp->root->hierarchy_id != 0) /* a version 1 controller's */
		return 0;
	rec = bpf_ringbuf_reserve(&ring, sizeof *rec, 0);
	if (rec == NULL) {
		__sync_fetch_and_add(&lost, 1);
		return 0;
	}
	rec->version = LIFE_VERSION;
	rec->what = what;
	rec->id = cgrp->kn->id;
	rec->path_bytes = bpf_probe_read_kernel_str(rec->path, sizeof rec->path, path);
	bpf_ringbuf_submit(rec, 0);
	return 0;
}

SEC("tp_btf/cgroup_mkdir")
int BPF_PROG(made, struct cgroup *cgrp, const char *path)
{
	return report_cgroup(cgrp, path, LIFE_MADE);
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(removed, struct cgroup *cgrp, const char *path)
{
	return report_cgroup(cgrp, path, LIFE_REMOVED);
}

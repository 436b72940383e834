// SPDX-License-Identifier: Apache-2.0
/* The limits that the container runtime holds: with every update of a container it writes all of
 * them. A static CPU manager (cpuset alone) or an external resize brings the old memory limit at
 * any moment. */
#include "agent/pod/pod_runtime.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include "agent/pod/pod_spec.h"
#include "cgroup/reader.h"
#include "cgroup/writer.h"

/* The first update of a container comes seconds after its start. */
#define NEW_USEC USEC_PER_MIN

static void holds(struct managed *m, uint64_t bytes)
{
	if (m->container.runtime_mem_max == bytes)
		return;
	m->container.runtime_mem_max = bytes;
	pod_set_bounds(m);
}

/* The kubelet carries out what it has read in seconds; on a starved node it began nothing for 20 s,
 * and one update of the runtime took 14 s. */
#define READ_USEC (40 * USEC_PER_SEC)

static bool is_same(const struct kube_resources *a, const struct kube_resources *b)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (!limit_same(r, a->limit[r], b->limit[r]) || a->request[r] != b->request[r])
			return false;
	return true;
}

static void set_resize_read(struct managed *m, usec_t at)
{
	bool before = m->container.resize_read_at != 0;

	m->container.resize_read_at = at;
	if ((at != 0) != before)
		pod_set_bounds(m);
}

/* The spec changed by more than a memory limit, as by vscaled's own resize of CPU: the kubelet may
 * write all limits that it had then, however much memory is raised meanwhile. */
static bool asks_for_cpu(const struct kube_resources *now, const struct kube_resources *old)
{
	struct kube_resources moved = *old;

	moved.limit[RESOURCE_MEMORY] = now->limit[RESOURCE_MEMORY];
	moved.request[RESOURCE_MEMORY] = now->request[RESOURCE_MEMORY];
	return !is_same(&moved, now);
}

/* An owner may set the limits of before again: what the kubelet has read stays under way until a
 * newer status shows the spec. The status of CPU comes from the file, where vscaled may have
 * written the owner's value before: no resize may be in progress. */
static void note_resize(struct managed *m, const struct kube_container *now,
			const struct kube_container *old, bool ended)
{
	bool restarted = old != NULL && old->restarts != now->restarts;
	bool newer = old != NULL && (ended || !is_same(&old->status, &now->status));
	bool carried_out =
		newer && m->pod->spec->progress == RESIZE_IDLE && is_same(&now->spec, &now->status);

	if (spec_resize_under_way(m, now) || (old != NULL && asks_for_cpu(&now->spec, &old->spec) &&
					      !is_same(&now->spec, &now->status)))
		set_resize_read(m, m->wake->now);
	else if (restarted || carried_out)
		set_resize_read(m, 0);
}

void runtime_reported(struct managed *m, const struct kube_container *now,
		      const struct kube_container *old, bool ended)
{
	uint64_t reported = now->status.limit[RESOURCE_MEMORY];
	bool restarted = old != NULL && old->restarts != now->restarts;

	note_resize(m, now, old, ended);
	if (!now->has_status || reported == LIMIT_MAX)
		return;
	/* An unchanged report does not replace what was seen in the cgroup since. */
	if (m->container.runtime_mem_max == 0 || restarted || old == NULL || !old->has_status ||
	    old->status.limit[RESOURCE_MEMORY] != reported)
		holds(m, reported);
}

void runtime_wrote(struct managed *m, uint64_t mem_max)
{
	bool property = (m->properties.sent_mask & UNIT_PROP_MEM_MAX) &&
			mem_max == cg_mem_kept(m->properties.sent.mem_max);

	/* A value that vscaled wrote, or that PID 1 may have written for it, says nothing about the
	 * runtime. */
	if (m->kind == UNIT_KIND_CONTAINER && mem_max != m->control.kernel.mem_max && !property &&
	    pod_on_record(m, RESOURCE_MEMORY, mem_max))
		holds(m, mem_max);
}

static bool names_cpus(const struct managed *m)
{
	bool has;

	return m->kind == UNIT_KIND_CONTAINER && m->cgroup.cg != NULL &&
	       cg_has_cpus(m->cgroup.cg, &has) == 0 && has;
}

/* The policy is the node's: one container is enough to know it. */
static bool is_at_work(const struct unit_table *t, bool review)
{
	UNITS_FOREACH (m, t)
		if ((review || t->wake->now - m->control.started_at < NEW_USEC) && names_cpus(m))
			return true;
	return false;
}

void runtime_check(struct unit_table *t, bool review)
{
	bool any;

	UNITS_FOREACH (m, t)
		if (m->container.resize_read_at != 0 &&
		    t->wake->now - m->container.resize_read_at >= READ_USEC)
			set_resize_read(m, 0);
	/* It counts as active until the containers that it assigned CPUs to are gone. */
	if (t->host->cpu_manager && !review)
		return;
	any = is_at_work(t, review);
	if (any == t->host->cpu_manager)
		return;
	t->host->cpu_manager = any;
	UNITS_FOREACH (m, t)
		if (m->kind == UNIT_KIND_CONTAINER)
			pod_set_bounds(m);
}

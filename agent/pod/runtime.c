// SPDX-License-Identifier: Apache-2.0
/*
 * What the container runtime holds. With every update of a container it writes all of that. A
 * static CPU manager sends such updates at any moment: the cpuset alone, and the old memory limit
 * comes with it. So does the kubelet, when it carries out an external resize.
 */
#include "agent/pod/runtime.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_bounds.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/shared.h"
#include "agent/pod/pod_spec.h"
#include "cgroup/cpuset.h"
#include "policy/types/bounds.h"

/* The first update of a container comes seconds after its start. */
#define NEW_USEC USEC_PER_MIN

static bool differs(uint64_t a, uint64_t b, enum resource r)
{
	/* CPU comes back from shares and quota, a millicore off. */
	return MAX(a, b) - MIN(a, b) > (r == RESOURCE_CPU ? 1 : 0);
}

/* The spec has a limit that the runtime does not have yet, and that is not ours. */
static bool is_external(const struct managed *m, const struct kube_container *c, enum resource r)
{
	uint64_t limit = c->spec.limit[r];

	return limit != LIMIT_MAX && c->status.limit[r] != LIMIT_MAX &&
	       differs(limit, c->status.limit[r], r) &&
	       (limit == m->control.resource[r].original || !pod_sent_by_us(m, r, limit));
}

static bool requests_external(const struct managed *m, const struct kube_container *c)
{
	return m->own.controlled == CONTROLLED_LIMITS && m->pod->spec->qos != QOS_GUARANTEED &&
	       (differs(c->spec.request[RESOURCE_CPU], c->status.request[RESOURCE_CPU],
			RESOURCE_CPU) ||
		c->spec.request[RESOURCE_MEMORY] != c->status.request[RESOURCE_MEMORY]);
}

/* The kubelet has an external resize of this container to carry out: what it has read of the spec
 * by now is what the runtime will write, whatever has been sent since. */
static bool resize_under_way(const struct managed *m, const struct kube_container *c)
{
	return c->running && c->has_status && m->pod->spec->pending == RESIZE_NOT_PENDING &&
	       (is_external(m, c, RESOURCE_CPU) || is_external(m, c, RESOURCE_MEMORY) ||
		requests_external(m, c));
}

uint64_t runtime_replay(const struct managed *m, const struct kube_container *c)
{
	return m->daemon->cpu_manager || resize_under_way(m, c) ? m->runtime_mem : 0;
}

static void holds(struct managed *m, uint64_t bytes)
{
	if (m->runtime_mem == bytes)
		return;
	m->runtime_mem = bytes;
	pod_set_bounds(m);
}

void runtime_told(struct managed *m, const struct kube_container *now,
		  const struct kube_container *old)
{
	uint64_t told = now->status.limit[RESOURCE_MEMORY];
	bool restarted = old != NULL && old->restarts != now->restarts;

	if (!now->has_status || told == LIMIT_MAX)
		return;
	/* An older word does not undo what was seen in the cgroup since. */
	if (m->runtime_mem == 0 || restarted || old == NULL || !old->has_status ||
	    old->status.limit[RESOURCE_MEMORY] != told)
		holds(m, told);
}

void runtime_wrote(struct managed *m, uint64_t mem_max)
{
	bool property = (m->sent_mask & UNIT_PROP_MEM_MAX) &&
			mem_max == round_down(m->sent.mem_max, MEM_PAGE_BYTES);

	/* A value that we wrote, or that PID 1 may have written for us, tells nothing of it. */
	if (m->kind == UNIT_KIND_CONTAINER && mem_max != m->control.kernel.mem_max && !property &&
	    pod_on_record(m, RESOURCE_MEMORY, mem_max))
		holds(m, mem_max);
}

static bool names_cpus(const struct managed *m)
{
	bool has;

	return m->kind == UNIT_KIND_CONTAINER && m->cg != NULL && cg_has_cpus(m->cg, &has) == 0 &&
	       has;
}

/* The policy is the node's: one container tells for all. */
static bool is_at_work(const struct daemon *d, bool review)
{
	for (size_t i = 0; i < d->unit_count; i++) {
		const struct managed *m = d->units[i];

		if ((review || d->now - m->control.started_at < NEW_USEC) && names_cpus(m))
			return true;
	}
	return false;
}

void runtime_look(struct daemon *d, bool review)
{
	bool any;

	/* Once it is at work it is over with the containers that it named CPUs for. */
	if (d->cpu_manager && !review)
		return;
	any = is_at_work(d, review);
	if (any == d->cpu_manager)
		return;
	d->cpu_manager = any;
	for (size_t i = 0; i < d->unit_count; i++)
		if (d->units[i]->kind == UNIT_KIND_CONTAINER)
			pod_set_bounds(d->units[i]);
}

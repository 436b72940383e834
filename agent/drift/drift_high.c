// SPDX-License-Identifier: Apache-2.0
#include "agent/drift/drift_high.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "cgroup/writer.h"
#include "policy/control/control.h"

/* *ret: the factor that it was computed with; 0: none. */
static bool is_kubelets(const struct managed *m, uint64_t high, uint32_t *ret)
{
	const struct kube_container *k = m->kind == UNIT_KIND_CONTAINER ? pod_spec_of(m) : NULL;
	const struct kube_resources *x;

	*ret = 0;
	if (k == NULL || high == LIMIT_MAX)
		return k != NULL;
	if (m->pod->spec->qos != QOS_BURSTABLE)
		return false;
	x = &k->spec;
	*ret = pod_qos_factor(x->request[RESOURCE_MEMORY], x->limit[RESOURCE_MEMORY], high,
			      m->control.page_bytes);
	x = &k->status;
	if (*ret == 0 && k->has_status)
		*ret = pod_qos_factor(x->request[RESOURCE_MEMORY], x->limit[RESOURCE_MEMORY], high,
				      m->control.page_bytes);
	return *ret != 0;
}

/* PID 1 writes memory.high with everything that it stores. A brake that holds growth below what the
 * runtime may write is needed again at once: PID 1's answer may take seconds. */
static bool is_replaced_by_pid1(const struct managed *m, const struct limits *seen)
{
	const struct control *c = &m->control;

	return c->mem.brake.line != 0 && control_brake_max(c, seen->mem_max) < seen->mem_max &&
	       seen->mem_high == cg_mem_kept(m->properties.stored.mem_high);
}

void drift_high(struct managed *m, struct limits *seen)
{
	struct control *c = &m->control;
	/* By the brake or a trial, whose reason lasts. */
	bool held = (c->mem.brake.line != 0 || c->mem.trial.high_lowered) &&
		    control_high_is_ours(c, &c->kernel);
	struct change again = {.target = c->target, .knob = KNOB_MEM_HIGH, .from = seen->mem_high};
	uint32_t factor;
	bool kubelets = is_kubelets(m, seen->mem_high, &factor) && (held || m->originals.touched);

	if (!c->resource[RESOURCE_MEMORY].managed || seen->mem_high == c->kernel.mem_high ||
	    c->rule.mode == MODE_OFF || c->paused || (c->gave_way & RESOURCES_MEMORY) ||
	    !(kubelets || (held && is_replaced_by_pid1(m, seen))))
		return;
	/* The kubelet was started with another factor, or without one. */
	if (kubelets && control_adopt_factor(c, factor))
		persist_adopted(m, RESOURCE_MEMORY);
	again.to = held ? c->kernel.mem_high : control_mem_high(c, c->kernel.mem_max);
	if (again.to != seen->mem_high && cg_write(m->cgroup.cg, &again) != APPLY_DONE)
		return;
	seen->mem_high = again.to;
	control_set_kernel_memory(c, c->kernel.mem_max, again.to);
}

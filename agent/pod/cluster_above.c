// SPDX-License-Identifier: Apache-2.0
/* More memory in use than the spec allows, or than the kubelet has carried out: any replay ends a
 * process. The spec leads (policy/report/report.h), so this could not be ratified. */
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/view/view.h"
#include <stdio.h>

/* A pending resize is not reported before this. */
#define TELL_AFTER_USEC (3 * USEC_PER_SEC)
/* The condition ends when use is below this share of the spec's limit. */
#define OVER_PERMILLE 950

static uint64_t limit_held(const struct managed *m, const struct kube_container *c)
{
	return kube_pod_limit_held(m->pod->spec, c, RESOURCE_MEMORY);
}

uint64_t above_spec_bytes(const struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	uint64_t use = mem_use(&m->control.last);
	uint64_t limit = c != NULL ? limit_held(m, c) : LIMIT_MAX;

	return m->cgroup.cg != NULL && m->container.annotated && limit != LIMIT_MAX && use > limit
		       ? use - limit
		       : 0;
}

static const char *why(const struct managed *m, const struct kube_container *c)
{
	struct report_view v = {0};

	if (c->restart_on_resize & RESOURCES_MEMORY)
		return "its resizePolicy for memory is RestartContainer";
	if (m->container.rule.controlled == CONTROLLED_REQUESTS)
		return "controlled-values is RequestsOnly";
	cluster_report_view(m->pod, &v);
	return v.detail != NULL && v.detail[0] != '\0' ? v.detail : "not sent yet";
}

/* held_out: the brake had to end. */
static void report_overcommit(struct managed *m, const struct kube_container *c, bool held_out)
{
	uint64_t held = limit_held(m, c), use_bytes = mem_use(&m->control.last);
	bool carried_out = held == c->spec.limit[RESOURCE_MEMORY];
	const char *message = carried_out ? NULL : m->pod->spec->resize_message;
	const char *what = carried_out ? "" : "the kubelet has not carried out the higher limit: ";
	char reason[400], limit[HUMAN_SIZE], use[HUMAN_SIZE];

	snprintf(reason, sizeof reason, "%s%s%.300s",
		 held_out ? "growth can be held no longer; " : "", what,
		 message != NULL ? message : why(m, c));
	event_tell(EVENT_MEMORY_ABOVE_SPEC, .who = message_who(m), .resource = RESOURCE_MEMORY,
		   .from = held, .to = use_bytes, .detail = reason);
	pod_warn(m->pod, "MemoryAboveSpec", "Resize",
		 "%s uses %s of memory, %s %s (%.300s): any resize of the pod can end in an OOM "
		 "kill",
		 c->name, human_amount(RESOURCE_MEMORY, use_bytes, use),
		 carried_out ? "its spec allows" : "the kubelet holds",
		 human_amount(RESOURCE_MEMORY, held, limit), reason);
}

static void check(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	usec_t now = m->wake->now;
	uint64_t limit;

	if (c == NULL)
		return;
	limit = limit_held(m, c);
	if (above_spec_bytes(m) == 0) {
		m->reported.above_since = 0;
		if (mem_use(&m->control.last) < scale_permille(limit, OVER_PERMILLE))
			m->reported.above = false;
		return;
	}
	if (m->reported.above_since == 0)
		m->reported.above_since = now;
	if (m->reported.above || now - m->reported.above_since < TELL_AFTER_USEC)
		return;
	m->reported.above = true;
	report_overcommit(m, c, false);
}

void above_spec_not_held(struct managed *m)
{
	const struct kube_container *c = m->pod != NULL ? pod_spec_of(m) : NULL;

	if (c == NULL)
		return;
	m->reported.above = true;
	report_overcommit(m, c, true);
}

void above_spec_check(struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		check(m);
}

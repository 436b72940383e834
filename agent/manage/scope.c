// SPDX-License-Identifier: Apache-2.0
/* When PID 1 may be called for a container: not while its runtime creates it. Files may be written
 * at any time; the runtime's own Set replaces them once, and is corrected like any echo. */
#include "agent/manage/scope.h"
#include "agent/manage/managed.h"
#include "agent/manage/pid1.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "cgroup/kubepods.h"
#include <string.h>

/* Beyond UNIT_CREATING_USEC. */
#define LATE_USEC (50 * USEC_PER_SEC)

bool scope_is_of(const struct managed *m, const struct kube_container *c)
{
	struct kubepods_name name;

	return c->id != NULL && m->cgroup.path != NULL &&
	       kubepods_parse(m->cgroup.path, &name) == 0 && strcmp(name.id, c->id) == 0;
}

/* systemd reports the age of a unit; a container is at least as old as when it was first seen. */
static usec_t age_of(const struct managed *m, usec_t active_enter_usec)
{
	usec_t monotonic = m->wake->started_monotonic + (m->wake->now - m->wake->started_at);

	return m->kind == UNIT_KIND_UNIT && monotonic > active_enter_usec
		       ? monotonic - active_enter_usec
		       : 0;
}

void scope_started(struct managed *m, usec_t active_enter_usec)
{
	usec_t age = age_of(m, active_enter_usec);

	m->cgroup.created_by = m->wake->now + UNIT_CREATING_USEC - MIN(age, UNIT_CREATING_USEC);
}

static bool is_reported_running(const struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);

	return c != NULL && c->running && scope_is_of(m, c);
}

/* PID 1 takes tens of seconds for a call on a busy node, and the runtime with it. Where the
 * kubelet's reports come in, that is waited for, but not with a use that a reload of PID 1 could
 * cut. */
static bool is_late(const struct managed *m)
{
	return m->kind == UNIT_KIND_CONTAINER && m->pod->pods->live &&
	       m->wake->now < m->cgroup.created_by + LATE_USEC &&
	       mem_use(&m->control.last) < m->properties.stored.mem_max / 2;
}

bool scope_is_creating(const struct managed *m)
{
	return m->cgroup.cg != NULL && m->unit != NULL && unit_is_container(m->unit) &&
	       (m->wake->now < m->cgroup.created_by || is_late(m)) && !is_reported_running(m);
}

bool scope_out_of_reach(const struct pid1 *pid1, const char *path)
{
	struct kubepods_name name;

	return pid1->absent && kubepods_parse(path, &name) == 0 && name.unit[0] != '\0';
}

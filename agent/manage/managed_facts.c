// SPDX-License-Identifier: Apache-2.0
/* Queries on one entry of the table; nothing is changed. */
#include "agent/manage/managed_facts.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/pid1.h"
#include "cgroup/levels.h"
#include <string.h>

struct managed *managed_find(const struct unit_table *t, const char *name)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->items[i]->name, name) == 0)
			return t->items[i];
	return NULL;
}

enum mode managed_mode(const struct managed *m)
{
	const struct policy_rule *rule =
		m->control.started_at != 0 ? &m->control.rule : managed_rule(m);

	return rule != NULL ? rule->mode : MODE_OFF;
}

const char *managed_mode_name(const struct managed *m)
{
	enum mode mode = managed_mode(m);
	bool recreate = mode == MODE_AUTO && m->container.rule.in_place_or_recreate;

	return recreate ? "InPlaceOrRecreate" : mode_name(mode);
}

struct managed *managed_of_unit(const struct unit_table *t, const char *unit)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i]->unit != NULL && strcmp(t->items[i]->unit, unit) == 0)
			return t->items[i];
	return NULL;
}

const struct policy_rule *managed_rule(const struct managed *m)
{
	if (m->kind == UNIT_KIND_UNIT)
		return config_rule_for(m->config, m->name);
	return m->container.annotated ? &m->container.rule.rule : NULL;
}

bool managed_call_pending(const struct managed *m)
{
	const struct unit_port *port = &m->pid1->port;

	return m->unit != NULL && port->pending != NULL && port->pending(port->ctx, m->unit);
}

/* For a scope with a second level systemd stores what the runtime sent, which may be nothing.
 * vscaled adds no property that the scope does not have. */
uint32_t managed_props_mask(const struct managed *m)
{
	const struct unit_props *p = &m->properties.stored;
	uint32_t mask = m->properties.sent_mask;

	if (m->cgroup.cg == NULL || cg_inner_id(m->cgroup.cg) == 0)
		return UNIT_PROP_ALL;
	if (p->cpu_quota_per_sec_usec != UINT64_MAX)
		mask |= UNIT_PROP_CPU_QUOTA;
	if (p->mem_max != UINT64_MAX)
		mask |= UNIT_PROP_MEM_MAX | UNIT_PROP_MEM_HIGH;
	return mask;
}

/* Where systemd has not reported its properties: what it was sent. */
struct unit_props props_of_limits(const struct limits *l)
{
	uint64_t milli = cpu_milli_of(cpu_quota_in_file(l), l->cpu_period_usec);

	return (struct unit_props){
		.cpu_quota_per_sec_usec = milli == LIMIT_MAX ? UINT64_MAX : milli * USEC_PER_MSEC,
		.cpu_quota_period_usec = UINT64_MAX,
		.mem_max = l->mem_max,
		.mem_high = l->mem_high,
	};
}

/* May it be written to? */
bool managed_is_controlled(const struct managed *m)
{
	return m->cgroup.cg != NULL && m->state != UNIT_UNMANAGED &&
	       (m->originals.saved || m->control.rule.mode == MODE_OFF);
}

/* A pod level has no laws of its own: it follows its containers. */
bool managed_has_laws(const struct managed *m)
{
	return m->kind != UNIT_KIND_POD && managed_is_controlled(m);
}

bool unit_moved(const struct managed *m, enum resource r, const struct limits *seen)
{
	const struct limits *k = &m->control.kernel;

	if (!m->control.resource[r].managed)
		return false;
	if (r == RESOURCE_CPU)
		return seen->cpu_quota_usec != k->cpu_quota_usec ||
		       seen->cpu_period_usec != k->cpu_period_usec;
	return seen->mem_max != k->mem_max || seen->mem_high != k->mem_high;
}

void unit_fill_absent(const struct managed *m, struct usage *u)
{
	const struct limits *k = &m->control.kernel;

	if (!(u->have & USAGE_CPU_LIMIT)) {
		u->limits.cpu_quota_usec = k->cpu_quota_usec;
		u->limits.cpu_period_usec = k->cpu_period_usec;
		u->limits.cpu_burst_usec = k->cpu_burst_usec;
	}
	if (!(u->have & USAGE_MEM_LIMIT)) {
		u->limits.mem_max = k->mem_max;
		u->limits.mem_high = k->mem_high;
	}
}

uint64_t props_milli(const struct unit_props *p)
{
	return p->cpu_quota_per_sec_usec == UINT64_MAX ? LIMIT_MAX
						       : p->cpu_quota_per_sec_usec / USEC_PER_MSEC;
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/apply/property_calls.h"
#include "agent/apply/pod_level.h"
#include "agent/apply/properties.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/messages.h"
#include "agent/manage/originals.h"
#include "agent/manage/pid1.h"
#include "agent/manage/scope.h"
#include "policy/base/arithmetic.h"
#include "policy/control/control_state.h"

static struct unit_props wanted_props(const struct managed *m, uint32_t *ret_mask)
{
	const struct control *c = &m->control;
	const struct limits *k = &c->kernel;
	bool memory = c->resource[RESOURCE_MEMORY].managed && !(c->gave_way & RESOURCES_MEMORY);
	struct unit_props p = m->properties.stored;
	uint32_t mask = 0;

	if (m->kind == UNIT_KIND_POD)
		return pod_level_props(m, ret_mask);
	if (c->resource[RESOURCE_CPU].managed) {
		mask |= UNIT_PROP_CPU_QUOTA;
		p.cpu_quota_per_sec_usec = props_of_limits(k).cpu_quota_per_sec_usec;
		p.cpu_quota_period_usec = k->cpu_period_usec == CPU_PERIOD_DEFAULT_USEC
						  ? m->properties.stored.cpu_quota_period_usec
						  : k->cpu_period_usec;
	}
	/* Any property call makes systemd write all it stores. So each call includes a memory limit
	 * that an external writer set in the file alone, or a change of CPU would undo it. */
	if (memory || round_down(m->properties.stored.mem_max, MEM_PAGE_BYTES) != k->mem_max) {
		mask |= UNIT_PROP_MEM_MAX;
		p.mem_max = memory ? memory_property(m) : k->mem_max;
	}
	if (memory || round_down(m->properties.stored.mem_high, MEM_PAGE_BYTES) != k->mem_high) {
		mask |= UNIT_PROP_MEM_HIGH;
		p.mem_high = memory ? control_mem_high(c, p.mem_max) : k->mem_high;
	}
	*ret_mask = mask & managed_props_mask(m);
	return p;
}

/* Before the call: a reload may come at any time after it. */
static void keep_files(struct managed *m, const struct unit_props *want, uint32_t mask)
{
	const struct unit_port *port = &m->pid1->port;
	int r = port->keep(port->ctx, m->unit, want, mask);

	if (r < 0 && !m->properties.failed)
		message_property_failed(m, r, 0);
	m->properties.failed |= r < 0;
}

/* An unmanaged memory limit may have changed since the last read, and is included. */
static void refresh_unmanaged(struct managed *m)
{
	struct usage u = {0};

	if (m->control.resource[RESOURCE_MEMORY].managed ||
	    cg_read(m->cgroup.cg, USAGE_MEM_LIMIT, &u) < 0 || !(u.have & USAGE_MEM_LIMIT))
		return;
	control_set_kernel_memory(&m->control, u.limits.mem_max, u.limits.mem_high);
}

/* systemd holds it, or will when the call that is under way or waits has been carried out. */
static bool is_sent_already(const struct managed *m, const struct unit_props *want, uint32_t mask,
			    bool urgent)
{
	bool pending = managed_call_pending(m);

	/* A call that waits becomes urgent. */
	if ((m->properties.sent_mask & mask) != mask ||
	    (pending && urgent && !m->properties.sent_urgent))
		return false;
	return unit_props_equal(want, pending ? &m->properties.sent : &m->properties.stored, mask);
}

/* More headroom for growth than the cgroup has. The same value is not reported again. */
static bool is_new_headroom(const struct managed *m, const struct unit_props *want, uint32_t mask)
{
	bool again = (m->properties.sent_mask & UNIT_PROP_MEM_MAX) &&
		     m->properties.sent.mem_max == want->mem_max;

	return (mask & UNIT_PROP_MEM_MAX) && !again && m->control.mem.slope_bps > 0 &&
	       want->mem_max > m->control.kernel.mem_max;
}

static void property_send(struct managed *m)
{
	enum property_call call = m->properties.call;
	struct unit_props want;
	uint32_t mask;

	refresh_unmanaged(m);
	want = wanted_props(m, &mask);
	m->properties.call = PROPERTY_CALL_NONE;
	if (mask == 0 || m->pid1->port.set == NULL || !property_allowed(m))
		return;
	if (m->properties.beaten)
		keep_files(m, &want, mask);
	/* Nothing new: a call would only bring the headroom that systemd holds into the file. */
	if (is_sent_already(m, &want, mask, call == PROPERTY_CALL_URGENT))
		return;
	if (m->pid1->port.set(m->pid1->port.ctx, m->unit, &want, mask,
			      call == PROPERTY_CALL_URGENT) < 0) {
		m->properties.call = call; /* again when PID 1 is back */
		return;
	}
	m->properties.sent_urgent = call == PROPERTY_CALL_URGENT;
	originals_touch(m); /* PID 1 writes the properties into the files */
	if (is_new_headroom(m, &want, mask))
		message_headroom(m, want.mem_max);
	unit_props_merge(&m->properties.sent, &want, mask);
	m->properties.sent_mask |= mask;
}

static void property_check(struct managed *m)
{
	if (!managed_is_controlled(m) || m->unit == NULL) {
		m->properties.call = PROPERTY_CALL_NONE;
		return;
	}
	if (m->kind == UNIT_KIND_POD ? property_allowed(m) && pod_level_short(m)
				     : memory_property_due(m))
		property_request(m, true);
	if (m->properties.call != PROPERTY_CALL_NONE && !scope_is_creating(m))
		property_send(m);
}

void properties_send(struct unit_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		property_check(t->items[i]);
}

bool properties_pending(const struct unit_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i]->properties.call != PROPERTY_CALL_NONE ||
		    managed_call_pending(t->items[i]))
			return true;
	return false;
}

/* Memory that does not grow keeps its headroom. */
void properties_check(struct unit_table *t)
{
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];

		if (m->properties.call != PROPERTY_CALL_NONE || m->kind == UNIT_KIND_POD ||
		    control_hot(&m->control))
			property_check(m);
	}
}

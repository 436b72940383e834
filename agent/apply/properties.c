// SPDX-License-Identifier: Apache-2.0
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/persist.h"
#include "cgroup/levels.h"
#include "cgroup/writer.h"
#include <errno.h>

/* PID 1 is never asked to store less than the original: use may have passed a lower value while PID
 * 1 lags, and when vscaled does not run to raise it, the original is the safe one. */
uint64_t memory_property(const struct managed *m)
{
	const struct control *c = &m->control;
	uint64_t wanted = control_mem_property(c, &m->config->tuning);

	/* For a node with little memory: every call makes PID 1 write the property to the file, and
	 * that value can be lowered no further than to use and margin. */
	if (control_denied(c, m->wake->now) && m->properties.stored.mem_max != UINT64_MAX &&
	    m->properties.stored.mem_max >=
		    MAX(c->kernel.mem_max, c->resource[RESOURCE_MEMORY].limit))
		return m->properties.stored.mem_max;
	return MAX(wanted, c->resource[RESOURCE_MEMORY].original);
}

/* May systemd be sent anything for it? */
static bool property_allowed(const struct managed *m)
{
	return m->control.rule.mode != MODE_OFF && !m->control.paused;
}

/* Use has grown into the headroom of the stored property, or would before PID 1 could be sent more.
 * What may grow gets its first headroom before the first write. */
bool memory_property_due(const struct managed *m)
{
	const struct control *c = &m->control;

	if (m->unit == NULL || !(m->originals.touched || c->rule.mode == MODE_AUTO) ||
	    !property_allowed(m) || !c->resource[RESOURCE_MEMORY].managed ||
	    (c->gave_way & RESOURCES_MEMORY) || m->properties.stored.mem_max == UINT64_MAX)
		return false;
	/* Less than the file holds: a reload would take it back. */
	if (m->originals.touched && cg_mem_kept(m->properties.stored.mem_max) < c->kernel.mem_max &&
	    !managed_call_pending(m))
		return true;
	return memory_property(m) > m->properties.stored.mem_max &&
	       control_mem_property_short(c, &m->config->tuning, m->properties.stored.mem_max);
}

void property_request(struct managed *m, bool urgent)
{
	enum property_call call = urgent ? PROPERTY_CALL_URGENT : PROPERTY_CALL_DUE;

	m->properties.call = MAX(m->properties.call, call);
}

void property_read_dropins(struct managed *m)
{
	const struct unit_port *port = &m->pid1->port;
	bool before = m->properties.beaten;

	m->properties.beaten = m->unit != NULL && port->beaten != NULL && port->beaten(m->unit);
	if (m->properties.beaten && !before && m->originals.touched)
		property_request(m, false);
}

/* --- what PID 1 answers --- */

void property_set_failed(struct managed *m, int error, usec_t lag)
{
	if (error == -ENOENT)
		m->properties.call = PROPERTY_CALL_NONE;
	else
		property_request(m, false);
	if (!m->properties.failed)
		event_tell(EVENT_PROPERTY_FAILED, .who = message_who(m), .error = error,
			   .span_usec = (int64_t)lag);
	m->properties.failed = true;
}

void property_set_done(struct managed *m, const struct unit_props *stored)
{
	m->properties.failed = false;
	m->properties.stored = *stored;
	m->properties.in_flight = m->properties.sent;
	m->properties.set_done_at = m->wake->now;
}

void property_stored(struct managed *m, const struct unit_props *stored)
{
	m->properties.stored = *stored;
}

void property_guessed(struct managed *m, bool asked)
{
	m->properties.stored_guessed = asked;
}

void property_take_over(struct managed *m, uint32_t mask)
{
	unit_props_merge(&m->properties.sent, &m->properties.stored, mask);
	m->properties.sent_mask |= mask;
}

void property_cancel(struct managed *m)
{
	m->properties.call = PROPERTY_CALL_NONE;
	m->properties.sent_mask = 0;
}

/* --- a reload of PID 1 --- */

void property_reloaded(struct managed *m)
{
	m->properties.stored_check = true;
}

void property_checked(struct managed *m)
{
	m->properties.stored_check = false;
}

/* Of what a reload took from systemd the files know nothing (257) until some later event. */
void property_check_stored(struct managed *m)
{
	const struct unit_props *stored = &m->properties.stored;
	uint32_t bits = m->properties.sent_mask & (UNIT_PROP_CPU_QUOTA | UNIT_PROP_MEM_MAX);
	bool ours = m->originals.touched &&
		    (managed_state(m) == UNIT_MANAGED || managed_state(m) == UNIT_GAVE_WAY);

	if (!m->properties.stored_check)
		return;
	m->properties.stored_check = false;
	if (!ours || unit_props_equal(stored, &m->properties.sent, bits))
		return;
	property_request(m, true);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		bool cpu = r == RESOURCE_CPU;
		struct drift_facts f = {
			.expected = limit_amount(&m->control.kernel, r),
			.observed = cpu ? props_milli(stored) : stored->mem_max,
		};

		if (!unit_props_equal(stored, &m->properties.sent,
				      bits & (cpu ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX)))
			message_drift(m, r, &f, EVENT_DRIFT_REASSERTED, "daemon-reload");
	}
}

/* Which of its limits systemd stores as properties. For a scope with a second level systemd stores
 * what the runtime sent, which may be nothing. vscaled adds no property that the scope does not
 * have. */
static uint32_t stored_mask(const struct managed *m)
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

static struct unit_props wanted_props(const struct managed *m, uint32_t *ret_mask)
{
	const struct control *c = &m->control;
	const struct limits *k = &c->kernel;
	bool memory = c->resource[RESOURCE_MEMORY].managed && !(c->gave_way & RESOURCES_MEMORY);
	struct unit_props p = m->properties.stored;
	uint32_t mask = 0;

	if (m->kind == UNIT_KIND_POD)
		return pod_level_props(m, ret_mask);
	/* While memory waits to go back, CPU has gone back already. */
	if (c->resource[RESOURCE_CPU].managed || m->hand_back.reported) {
		mask |= UNIT_PROP_CPU_QUOTA;
		p.cpu_quota_per_sec_usec = props_of_limits(k).cpu_quota_per_sec_usec;
		p.cpu_quota_period_usec = k->cpu_period_usec == CPU_PERIOD_DEFAULT_USEC
						  ? m->properties.stored.cpu_quota_period_usec
						  : k->cpu_period_usec;
	}
	/* Any property call makes systemd write all it stores. So each call includes a memory limit
	 * that an external writer set in the file alone, or a change of CPU would undo it. */
	if (memory || cg_mem_kept(m->properties.stored.mem_max) != k->mem_max) {
		mask |= UNIT_PROP_MEM_MAX;
		p.mem_max = memory ? memory_property(m) : k->mem_max;
	}
	if (memory || cg_mem_kept(m->properties.stored.mem_high) != k->mem_high) {
		mask |= UNIT_PROP_MEM_HIGH;
		p.mem_high = memory ? control_mem_high(c, p.mem_max) : k->mem_high;
	}
	*ret_mask = mask & stored_mask(m);
	return p;
}

/* Before the call: a reload may come at any time after it. */
static void keep_files(struct managed *m, const struct unit_props *want, uint32_t mask)
{
	int r = m->pid1->port.keep(m->unit, want, mask);

	if (r < 0 && !m->properties.failed)
		event_tell(EVENT_PROPERTY_FAILED, .who = message_who(m), .error = r);
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
	if (!managed_call_pending(m))
		m->properties.in_flight = want;
	if (m->pid1->port.set(m->pid1->port.bus, m->unit, &want, mask,
			      call == PROPERTY_CALL_URGENT) < 0) {
		m->properties.call = call; /* again when PID 1 is back */
		return;
	}
	m->properties.sent_urgent = call == PROPERTY_CALL_URGENT;
	originals_set_touched(m, true); /* PID 1 writes the properties into the files */
	if (is_new_headroom(m, &want, mask))
		message_headroom(m, want.mem_max);
	unit_props_merge(&m->properties.sent, &want, mask);
	m->properties.sent_mask |= mask;
	persist_property(m);
}

/* PID 1 writes memory.high with all that it stores, and lifts a brake that has to stay: it is back
 * with the next wake-up (drift_high()), for which growth may pass what the runtime may write. */
static bool waits_for_brake(const struct managed *m)
{
	const struct control *c = &m->control;

	return c->mem.brake.line != 0 && control_brake_replays(c, c->kernel.mem_max) &&
	       !memory_property_due(m);
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
	if (m->properties.call != PROPERTY_CALL_NONE && !scope_is_creating(m) &&
	    !waits_for_brake(m))
		property_send(m);
}

void properties_send(struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		property_check(m);
	persist_lift_copy(t->records); /* before they go out */
}

bool properties_pending(const struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		if (m->properties.call != PROPERTY_CALL_NONE || managed_call_pending(m))
			return true;
	return false;
}

/* Memory that does not grow keeps its headroom. */
void properties_check(struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		if (m->properties.call != PROPERTY_CALL_NONE || m->kind == UNIT_KIND_POD ||
		    control_hot(&m->control))
			property_check(m);
	persist_lift_copy(t->records);
}

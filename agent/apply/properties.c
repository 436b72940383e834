// SPDX-License-Identifier: Apache-2.0
/* What systemd stores, and the memory limit that it is to store. */
#include "agent/apply/properties.h"
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/managed_facts.h"
#include "agent/manage/messages.h"
#include "agent/manage/pid1.h"
#include "agent/manage/wake.h"
#include "policy/base/arithmetic.h"
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

bool property_allowed(const struct managed *m)
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
	if (m->originals.touched &&
	    round_down(m->properties.stored.mem_max, MEM_PAGE_BYTES) < c->kernel.mem_max &&
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

	m->properties.beaten =
		m->unit != NULL && port->beaten != NULL && port->beaten(port->ctx, m->unit);
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
		message_property_failed(m, error, lag);
	m->properties.failed = true;
}

void property_set_done(struct managed *m, const struct unit_props *stored)
{
	m->properties.failed = false;
	m->properties.stored = *stored;
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

void property_forget_sent(struct managed *m)
{
	m->properties.sent_mask = 0;
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
	bool ours = m->originals.touched && (m->state == UNIT_MANAGED || m->state == UNIT_GAVE_WAY);

	if (!m->properties.stored_check)
		return;
	m->properties.stored_check = false;
	if (!ours || unit_props_equal(stored, &m->properties.sent, bits))
		return;
	property_request(m, true);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		bool cpu = r == RESOURCE_CPU;
		const struct limits *k = &m->control.kernel;
		struct drift_facts f = {
			.expected = cpu ? cpu_milli_of(k->cpu_quota_usec, k->cpu_period_usec)
					: k->mem_max,
			.observed = cpu ? props_milli(stored) : stored->mem_max,
		};

		if (!unit_props_equal(stored, &m->properties.sent,
				      bits & (cpu ? UNIT_PROP_CPU_QUOTA : UNIT_PROP_MEM_MAX)))
			message_drift(m, r, &f, DRIFT_REASSERT, "daemon-reload");
	}
}

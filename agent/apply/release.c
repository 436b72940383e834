// SPDX-License-Identifier: Apache-2.0
/* Releases a unit: suspends the laws and requests that its originals are restored. */
#include "agent/apply/release.h"
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include "policy/control/control.h"

void unit_update_blocked(struct managed *m)
{
	control_set_paused(&m->control, m->paused || managed_state(m) == UNIT_RESTORED ||
						managed_state(m) == UNIT_UNMANAGED ||
						m->wake->now < m->hand_back.settling_until);
}

void lifecycle_release(struct managed *m, enum state_reason why)
{
	m->hand_back.due = true;
	m->hand_back.done = false;
	m->hand_back.reported = false;
	m->hand_back.why = why;
	m->hand_back.next_at = 0;
	managed_set_reason(m, why);
	unit_update_blocked(m);
	unit_brake_off(m);
}

void release_tried(struct managed *m, bool reported, usec_t next_at)
{
	m->hand_back.reported |= reported;
	m->hand_back.next_at = next_at;
}

void release_end(struct managed *m)
{
	m->hand_back.due = false;
}

void release_done(struct managed *m)
{
	m->hand_back.due = false;
	m->hand_back.done = true;
}

void release_settle(struct managed *m, usec_t until)
{
	m->hand_back.settling_until = until;
	unit_update_blocked(m);
}

void release_put_back(struct managed *m, enum resource r, uint64_t to, enum reason reason)
{
	struct control_context x;
	struct plan plan;

	plan_begin(m->table, &plan);
	node_memory_for(m);
	x = daemon_context(m->table, &plan);
	control_put_back(&m->control, r, to, reason, &x);
	plan_apply(m->table, &plan);
}

/* systemd holds the CPU limit of a unit as it is; memory that grows has its headroom already. */
static uint64_t held_beside(const struct managed *m, enum resource r)
{
	const struct kube_container *spec = pod_spec_of(m);

	if (spec != NULL)
		return kube_pod_limit_held(m->pod->spec, spec, r);
	return r == RESOURCE_MEMORY ? m->control.resource[r].original : 0;
}

void release_stopping(struct unit_table *t)
{
	for (size_t i = 0; i < t->count * RESOURCE_COUNT; i++) {
		struct managed *m = t->items[i / RESOURCE_COUNT];
		enum resource r = i % RESOURCE_COUNT;

		if (managed_has_laws(m) && m->control.rule.mode == MODE_AUTO)
			release_put_back(m, r, held_beside(m, r), REASON_STOPPING);
	}
}

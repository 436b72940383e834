// SPDX-License-Identifier: Apache-2.0
/* Releases a unit: suspends the laws and requests that its originals are restored. */
#include "agent/apply/release.h"
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "policy/control/control.h"

void unit_update_blocked(struct managed *m)
{
	control_set_paused(&m->control, m->paused || m->state == UNIT_RESTORED ||
						m->state == UNIT_UNMANAGED ||
						m->wake->now < m->hand_back.settling_until);
}

void lifecycle_release(struct managed *m, const char *why)
{
	m->hand_back.due = true;
	m->hand_back.done = false;
	m->hand_back.reported = false;
	m->hand_back.why = why;
	m->hand_back.next_at = 0;
	managed_set_state(m, UNIT_UNMANAGED, why);
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

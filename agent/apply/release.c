// SPDX-License-Identifier: Apache-2.0
/* Releases a unit: suspends the laws and requests that its originals are restored. */
#include "agent/apply/release.h"
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/shared.h"

void unit_update_hold(struct managed *m)
{
	m->control.paused = m->paused || m->state == UNIT_RESTORED || m->state == UNIT_UNMANAGED ||
			    m->daemon->wake.now < m->settling_until ||
			    (m->pod != NULL && m->pod->ending);
}

void hold_release(struct managed *m, const char *why)
{
	m->hand_back_due = true;
	m->hand_back_told = false;
	m->hand_back_why = why;
	m->hand_back_at = 0;
	m->state = UNIT_UNMANAGED;
	m->state_reason = why;
	unit_update_hold(m);
	unit_brake_off(m);
}

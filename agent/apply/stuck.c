// SPDX-License-Identifier: Apache-2.0
/* Finds a writer of memory.max that is stuck in the kernel, and releases PID 1: cgroup/stuck.h. */
#include "agent/apply/stuck.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/wake.h"
#include "cgroup/stuck.h"
#include "policy/base/base.h"

/* From one wake-up to the next, a tenth of a second: in a cgroup at its limit the kernel searches
 * for a process to kill far less often than in one whose writer is stuck in the kernel's loop. */
#define STUCK_EVENTS 1000
/* Charges are counted in batches per CPU: a cgroup this close to its limit may be at it. */
#define ROOM_BYTES MIB
/* Another writer stays stuck: tried again after the first time, doubled up to the second. */
#define NUDGE_MIN_USEC USEC_PER_SEC
#define NUDGE_MAX_USEC (64 * USEC_PER_SEC)

/* The kernel searches for a process to kill in it and kills none, though use is below the limit:
 * only a writer of a lower limit causes that. */
static bool is_stuck(struct managed *m)
{
	const uint32_t want = USAGE_MEM | USAGE_MEM_LIMIT | USAGE_MEM_EVENTS;
	uint64_t before = m->stuck.oom_events, kills = m->stuck.oom_kills, events;
	struct usage u = {0};

	if (!oom_seen_look(m->cgroup.cg, &m->reported.ooms, m->wake->now) ||
	    cg_read(m->cgroup.cg, want, &u) < 0 || (u.have & want) != want)
		return false;
	m->stuck.oom_events = events = m->reported.ooms.own;
	m->stuck.oom_kills = u.events.oom_kill;
	return events >= before && events - before >= STUCK_EVENTS && m->stuck.oom_kills == kills &&
	       add_sat(u.mem_current, ROOM_BYTES) < u.limits.mem_max;
}

void stuck_check(struct managed *m)
{
	if (m->cgroup.cg == NULL || !is_stuck(m) || m->wake->now < m->stuck.nudge_next)
		return;
	/* The last one did not help, or it has happened again. */
	m->stuck.nudge_wait =
		m->wake->now - m->stuck.nudge_next < NUDGE_MAX_USEC && m->stuck.nudge_wait != 0
			? MIN(2 * m->stuck.nudge_wait, NUDGE_MAX_USEC)
			: NUDGE_MIN_USEC;
	m->stuck.nudge_next = m->wake->now + m->stuck.nudge_wait;
	event_tell(EVENT_WRITER_STUCK, .who = message_who(m), .from = m->control.kernel.mem_max,
		   .error = cg_nudge_pid1(m->host->root));
}

void stuck_forget(struct managed *m)
{
	m->stuck.oom_events = UINT64_MAX;
	m->stuck.nudge_next = m->stuck.nudge_wait = 0;
}

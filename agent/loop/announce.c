// SPDX-License-Identifier: Apache-2.0
/* Reports what a wake-up changed: kills, denied memory, ceilings. */
#include "agent/loop/announce.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"

void report_states_of(struct managed *m)
{
	uint64_t kills = m->control.resource[RESOURCE_MEMORY].counters.oom_kills;

	if (kills > m->sweep.oom_kills)
		message_oom(m, kills - m->sweep.oom_kills);
	m->sweep.oom_kills = kills;
	if (m->control.mem.brake.ended > m->sweep.brakes_ended) {
		m->table->tally->brakes_ended++;
		above_spec_not_held(m);
	}
	m->sweep.brakes_ended = m->control.mem.brake.ended;
	denied_report(m);
	message_summed(m, false);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		bool at = m->control.resource[r].at_ceiling;

		if (at && !m->sweep.at_ceiling[r])
			message_ceiling(m, r);
		m->sweep.at_ceiling[r] = at;
	}
}

void report_states(struct unit_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		report_states_of(t->items[i]);
}

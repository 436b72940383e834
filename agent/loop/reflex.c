// SPDX-License-Identifier: Apache-2.0
/* The passes between two samples: on the reflex clock, and after an event of memory.events. They
 * read only what the laws ask for: one file of a cgroup in which nothing runs. */
#include "agent/loop/reflex.h"
#include "agent/apply/apply.h"
#include "agent/apply/boost.h"
#include "agent/apply/pod_level.h"
#include "agent/apply/properties.h"
#include "agent/apply/stuck.h"
#include "agent/apply/take_back.h"
#include "agent/loop/announce.h"
#include "agent/loop/sweep.h"
#include "agent/manage/attach.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/oom.h"
#include "agent/manage/reader.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/recorder/recorder.h"
#include <errno.h>

#define EVENT_USAGE (USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_EVENTS)

static int read_more(struct managed *m, uint32_t want, struct usage *u)
{
	struct usage part = {0};
	/* Reading its file is what arms the next wake-up. */
	int r = reader_read(m, want, USAGE_MEM_EVENTS, &part);

	if (r >= 0)
		usage_merge(u, &part);
	return r;
}

/* Reads `first`, then what the laws ask for by what was read. */
static int read_in_stages(struct managed *m, uint32_t first, struct usage *u)
{
	uint32_t want = first, tried = 0;
	int r = 0;

	if (want == 0)
		want = control_reflex_wants(&m->control, u);
	while (r >= 0 && want != 0) {
		tried |= want;
		r = read_more(m, want, u);
		/* A file may be missing: asked for once. */
		want = control_reflex_wants(&m->control, u) & ~tried;
	}
	return r;
}

static void read_and_decide(struct managed *m, uint32_t first, struct usage *u, struct plan *plan)
{
	struct control_context x;
	int r = read_in_stages(m, first, u);

	if (r == -ENODEV)
		managed_lost(m);
	if (r < 0 || u->have == 0)
		return;
	if (u->have & USAGE_MEM)
		node_memory_for(m);
	oom_check(m, u);
	x = daemon_context(m->table, plan);
	recorded_reflex_pass(m, u, &x);
}

/* A process that reads files larger than its limit causes a hundred events of memory.events a
 * second. After an event that changed nothing, the cgroup is read on the reflex clock alone. */
static void mute(struct managed *m)
{
	if (control_hot(&m->control) || m->cgroup.events == NULL)
		return;
	m->sweep.events_muted = true;
	sd_event_source_set_enabled(m->cgroup.events, SD_EVENT_OFF);
}

static void unmute(struct managed *m)
{
	m->sweep.events_muted = false;
	if (m->cgroup.events != NULL)
		sd_event_source_set_enabled(m->cgroup.events, SD_EVENT_ON);
}

static void reflex_on_clock(struct managed *m, struct usage *u, struct plan *plan)
{
	if (m->sweep.events_muted)
		stuck_check(m);
	read_and_decide(m, m->sweep.events_muted ? EVENT_USAGE : 0, u, plan);
}

void tick_reflex(struct unit_table *t)
{
	usec_t begin = daemon_clock();
	struct plan plan;
	bool moved;

	plan_begin(t, &plan);
	boost_update(t, &plan);
	node_memory_expect(t->memory, true);
	moved = sweep_units(t, READER_REFLEX, reflex_on_clock, &plan);
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i]->sweep.events_muted)
			unmute(t->items[i]);
	take_back_unused(t, &plan);
	counters_took(&t->tally->scan[SCAN_REFLEX], daemon_clock() - begin);
	moved |= plan.count > 0;
	if (moved)
		plan_apply(t, &plan);
	properties_check(t);
	if (moved)
		report_states(t);
}

void tick_unit(struct managed *m)
{
	struct usage u = {0};
	struct plan plan;

	daemon_wake(m->table->wake);
	stuck_check(m);
	if (!managed_has_laws(m)) {
		/* Unread, the wake-up would come again at once. */
		if (m->cgroup.cg != NULL && cg_read(m->cgroup.cg, USAGE_MEM_EVENTS, &u) == -ENODEV)
			managed_lost(m);
		else
			mute(m);
		return;
	}
	plan_begin(m->table, &plan);
	node_memory_for(m);
	read_and_decide(m, EVENT_USAGE, &u, &plan);
	if (plan.count == 0) {
		mute(m);
	} else {
		plan_apply(m->table, &plan);
		properties_check(m->table);
	}
	report_states_of(m);
}

// SPDX-License-Identifier: Apache-2.0
/* External writes: limit files, reloads of PID 1, and what systemd reports that it stores. */
#include "agent/drift/drift_events.h"
#include "agent/apply/apply.h"
#include "agent/apply/properties.h"
#include "agent/drift/drift_resolve.h"
#include "agent/manage/attach.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pid1.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/pod/pod_find.h"
#include "agent/pod/pods.h"
#include <errno.h>

static void on_watch_event(void *ctx, const struct cg_watch_event *e)
{
	struct unit_table *t = ctx;
	struct managed *m;

	if (e->what == CG_WATCH_OVERFLOW) {
		for (size_t i = 0; i < t->count; i++)
			drift_request_check(t->items[i]);
		pods_scan_again(t->pods);
		return;
	}
	if (pods_watch_event(t->pods, e))
		return;
	m = managed_by_cookie(t, e->cookie);
	if (m == NULL)
		return;
	if (e->what == CG_WATCH_LIMIT)
		drift_request_check(m);
	else
		managed_check_levels(m);
}

static int on_watch(sd_event_source *, int, uint32_t, void *userdata)
{
	struct unit_table *t = userdata;

	daemon_wake(t->wake);
	cg_watch_drain(t->inotify->watch, on_watch_event, t);
	pods_scan(t->pods);
	drift_check(t);
	return 0;
}

int drift_start(struct unit_table *t)
{
	sd_event_source *s;
	int r = inotify_open(t->inotify);

	if (r < 0 || t->inotify->incomplete)
		return r;
	r = sd_event_add_io(t->wake->event, &s, cg_watch_fd(t->inotify->watch), EPOLLIN, on_watch,
			    t);
	if (r < 0)
		return r;
	/* External writes are handled before the reflex pass of the same wake-up. */
	sd_event_source_set_priority(s, SD_EVENT_PRIORITY_IMPORTANT);
	sd_event_source_set_floating(s, true);
	sd_event_source_unref(s);
	return 0;
}

void drift_check(struct unit_table *t)
{
	struct plan plan;

	plan_begin(t, &plan);
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];

		if (drift_take_check(m) && m->cgroup.cg != NULL)
			drift_resolve_unit(m, NOT_ASKED, &plan);
	}
	plan_apply(t, &plan);
	properties_send(t);
}

/* After an outcome that concerns one unit, its limits are classified again. */
static void scan_again(struct managed *m, enum answer answer)
{
	struct plan plan;

	if (m->cgroup.cg == NULL)
		return;
	plan_begin(m->table, &plan);
	drift_resolve_unit(m, answer, &plan);
	plan_apply(m->table, &plan);
	properties_send(m->table);
}

void drift_set_done(void *ctx, const char *unit, int error, const struct unit_props *stored,
		    usec_t lag)
{
	struct unit_table *t = ctx;
	struct managed *m = managed_of_unit(t, unit);

	daemon_wake(t->wake);
	if (m == NULL)
		return;
	if (error < 0) {
		property_set_failed(m, error, lag);
		if (error != -ENOENT)
			t->tally->apply_failed[BACKEND_SYSTEMD]++;
		return;
	}
	counters_took(&t->tally->apply[BACKEND_SYSTEMD], lag);
	property_set_done(m, stored);
	scan_again(m, STORED_KNOWN);
	property_checked(m);
}

/* The first answer about a container that was begun on a guess. */
static void take_stored(struct managed *m)
{
	const struct baseline *b = m->record;

	property_guessed(m, false);
	if (m->properties.sent_mask != 0)
		return;
	if (!m->originals.recorded || b == NULL) {
		persist_stored(m);
	} else if (m->properties.stored.mem_max != b->props.mem_max) {
		/* The property was sent by an earlier run of vscaled. */
		originals_touch(m);
		property_take_over(m, UNIT_PROP_ALL);
	}
}

void drift_got(void *ctx, const char *unit, int error, const struct unit_props *stored)
{
	struct unit_table *t = ctx;
	struct managed *m = managed_of_unit(t, unit);

	daemon_wake(t->wake);
	if (m == NULL)
		return;
	drift_note_answered(m);
	if (error == 0)
		property_stored(m, stored);
	if (error == 0 && m->properties.stored_guessed)
		take_stored(m);
	scan_again(m, error == 0 ? STORED_KNOWN : STORED_UNKNOWN);
	if (error == 0 && !managed_call_pending(m))
		property_check_stored(m);
}

/* Units are requested with the next list; the scopes of pods are in no list. */
static void ask_pod(struct managed *m)
{
	const struct unit_port *port = &m->pid1->port;

	if (m->pod != NULL && m->unit != NULL && m->cgroup.cg != NULL && m->originals.touched)
		drift_note_asked(m, port->get(port->ctx, m->unit) == 0);
}

void drift_reloading(void *ctx, bool active)
{
	struct unit_table *t = ctx;

	daemon_wake(t->wake);
	pid1_reload(t->pid1, active, t->wake->now);
	if (active)
		return;
	for (size_t i = 0; i < t->count; i++) {
		drift_request_check(t->items[i]);
		property_reloaded(t->items[i]);
		property_read_dropins(t->items[i]);
		ask_pod(t->items[i]);
	}
	drift_check(t);
	pid1_need_list(t->pid1);
}

void drift_stored(struct managed *m, const struct unit_props *stored)
{

	/* Requested before the last call was answered: out of date. */
	if (managed_call_pending(m) || m->drift.stored_asked ||
	    m->properties.set_done_at >= m->pid1->list_asked_at)
		return;
	property_stored(m, stored);
	property_check_stored(m);
}

// SPDX-License-Identifier: Apache-2.0
/* Startup boost: when a container became Ready, and what is on disk before the boost is written. */
#include "agent/apply/boost.h"
#include "agent/apply/apply.h"
#include "agent/manage/attach.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include "agent/recorder/recorder.h"
#include "policy/control/control.h"

/* Converts a wall-clock timestamp to boottime: never later than now. */
static usec_t stamped_at(const struct wakeup *w, usec_t stamp_real)
{
	usec_t ago = w->wall_now > stamp_real ? w->wall_now - stamp_real : 0;

	return w->now > ago ? w->now - ago : 1;
}

/* A container's readiness has no time of its own: counts from where vscaled saw it, or the pod's
 * condition says so (whole seconds), the earlier one. One that was Ready before vscaled started is
 * not boosted again. */
static usec_t ready_since(const struct managed *m, const struct kube_container *c, bool first)
{
	const struct startup_life *life = &m->control.life;
	usec_t stamp = m->pod->spec->containers_ready_real;
	usec_t since = life->ready_since != 0 ? life->ready_since : m->wake->now;

	if (!c->ready)
		return 0;
	if (stamp != 0)
		return MIN(since, MAX(stamped_at(m->wake, stamp), life->started_at));
	return first ? life->started_at : since;
}

void boost_changed(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	struct startup_life life = m->control.life;

	if (c == NULL || m->cgroup.cg == NULL || !scope_is_of(m, c))
		return;
	life.ready_since = ready_since(m, c, !m->plan.running_reported);
	life.probed = c->probed;
	m->plan.running_reported = true;
	control_set_life(&m->control, &life);
}

void boost_attached(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);
	struct startup_life life = {.started_at = m->wake->now};

	if (c == NULL)
		return;
	life.probed = c->probed;
	if (scope_is_of(m, c) && c->started_real != 0)
		life.started_at = stamped_at(m->wake, c->started_real);
	m->plan.running_reported = false;
	control_set_life(&m->control, &life);
	boost_changed(m);
}

void boost_update(struct unit_table *t, struct plan *plan)
{
	struct control_context x = daemon_context(t, plan);
	bool changed = false;

	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];

		if (m->kind == UNIT_KIND_POD || m->cgroup.cg == NULL)
			continue;
		changed |= persist_boost_base(m, control_boost_prepare(&m->control, &x));
	}
	if (changed)
		persist_baselines(t->records);
	for (size_t i = 0; i < t->count; i++) {
		struct managed *m = t->items[i];

		/* The limit to restore must be on disk before the boost. */
		if (managed_has_laws(m) && (m->control.boost.written || persist_has_boost_base(m)))
			recorded_call(m, &(struct flight_input){.kind = FLIGHT_BOOST}, &x);
	}
}

void boost_end(struct managed *m)
{
	struct control_context x;
	struct plan plan;

	if (m->cgroup.cg == NULL || !m->control.boost.written)
		return;
	plan_begin(m->table, &plan);
	x = daemon_context(m->table, &plan);
	control_boost_end(&m->control, &x);
	plan_apply(m->table, &plan);
}

void boost_forget(struct managed *m)
{
	control_boost_forget(&m->control, m->wake->now);
	persist_boost_base(m, 0);
}

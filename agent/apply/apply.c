// SPDX-License-Identifier: Apache-2.0
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/recorder/recorder.h"
#include "cgroup/writer.h"
#include <string.h>

static void count_raise(struct unit_table *t, usec_t ret_took[SINCE_COUNT])
{
	usec_t span = daemon_clock() - t->wake->monotonic,
	       late = t->wake->due != 0 ? t->wake->now - MIN(t->wake->due, t->wake->now) : 0;

	ret_took[SINCE_WAKE] = span;
	ret_took[SINCE_DUE] = span + late;
	for (enum counters_since s = 0; s < SINCE_COUNT; s++)
		counters_took(&t->tally->raise[s], ret_took[s]);
}

static int carry_out(struct managed *m, const struct change *step, usec_t ret_took[SINCE_COUNT])
{
	usec_t begin;
	int r;

	if (m->cgroup.cg == NULL)
		return APPLY_GONE;
	begin = daemon_clock();
	r = cg_write(m->cgroup.cg, step);
	if (r == APPLY_DONE)
		counters_took(&m->table->tally->apply[BACKEND_CGROUP], daemon_clock() - begin);
	if (r < 0)
		m->table->tally->apply_failed[BACKEND_CGROUP]++;
	if (r == APPLY_DONE && !change_lowers(step) &&
	    (step->knob == KNOB_CPU_MAX || step->knob == KNOB_MEM_MAX))
		count_raise(m->table, ret_took);
	/* The brake is not stored by systemd, which holds the owner's memory.high. */
	if (r == APPLY_DONE && knobs[step->knob].property != NULL && step->reason != REASON_BRAKE) {
		originals_set_touched(m, true);
		property_request(m, step->knob == KNOB_MEM_MAX && !change_lowers(step));
	}
	return r;
}

static int step_apply(struct managed *m, const struct change *step, const struct control_context *x)
{
	usec_t took[SINCE_COUNT] = {0};
	int outcome = carry_out(m, step, took);

	if (outcome == APPLY_DONE && m->kind != UNIT_KIND_POD &&
	    (step->knob == KNOB_CPU_MAX || step->knob == KNOB_MEM_MAX))
		counters_change(m->table->tally, knobs[step->knob].resource, step->from, step->to,
				(enum reason)step->reason);
	recorded_call(
		m, &(struct flight_input){.kind = FLIGHT_APPLIED, .step = step, .outcome = outcome},
		x);
	message_step(m, step, outcome, took);
	return outcome;
}

static void plan_step(struct unit_table *t, const struct change *step)
{
	struct change follow[PLAN_STEPS_PER_UNIT];
	struct managed *m = managed_by_id(t, step->target);
	struct plan next = {.steps = follow, .capacity = ARRAY_SIZE(follow)};
	struct control_context x = daemon_context(t, &next);

	if (step_apply(m, step, &x) == APPLY_GONE)
		managed_lost(m);
	/* A trial that failed half-way restores its values: never more than once. */
	for (size_t f = 0; f < next.count; f++) {
		struct plan none = {0};

		x.plan = &none;
		step_apply(m, &follow[f], &x);
	}
}

bool plan_raise(struct unit_table *t, struct plan *p, size_t from)
{
	struct plan part = {p->steps + from, p->count - from, p->capacity - from};
	size_t raises = 0;

	pod_levels_raise(t, &part);
	plan_sort(&part);
	/* Decreases come after the raises. */
	while (raises < part.count && !change_lowers(&part.steps[raises]))
		plan_step(t, &part.steps[raises++]);
	part.count -= raises;
	memmove(part.steps, part.steps + raises, part.count * sizeof *part.steps);
	p->count = from + part.count;
	return raises > 0;
}

static void lower_levels(struct unit_table *t)
{
	struct plan none = {0};
	struct control_context x = daemon_context(t, &none);

	PODS_FOREACH (p, t->pods) {
		struct change steps[RESOURCE_COUNT];
		struct plan lower = {.steps = steps, .capacity = ARRAY_SIZE(steps)};

		pod_level_lower(p, &lower);
		for (size_t s = 0; s < lower.count; s++)
			step_apply(p->level, &steps[s], &x);
	}
}

void plan_apply(struct unit_table *t, struct plan *p)
{
	pod_levels_raise(t, p);
	plan_sort(p);
	for (size_t i = 0; i < p->count; i++)
		plan_step(t, &p->steps[i]);
	lower_levels(t);
	message_steps(t);
}

void pod_make_room(struct managed *m)
{
	struct plan none;

	if (m->kind != UNIT_KIND_CONTAINER || m->control.started_at == 0)
		return;
	pod_level_reserve(m, true);
	plan_begin(m->table, &none);
	plan_apply(m->table, &none);
	pod_level_reserve(m, false);
}

void unit_brake_off(struct managed *m)
{
	struct plan none = {0};
	struct control_context x = daemon_context(m->table, &none);
	struct change off;

	if (m->cgroup.cg != NULL && control_brake_off(&m->control, &off))
		step_apply(m, &off, &x);
	message_steps(m->table);
}

/* --- memory that is granted and not used goes back to the node */

/* The most entries that return unused grants in one wake-up. */
#define ASKS_MAX 16

void take_back_unclassified(struct managed *m)
{
	struct control *c = &m->control;
	const struct change lower = {
		.target = c->target,
		.knob = KNOB_MEM_MAX,
		.from = c->unclassified_bytes,
		.to = c->kernel.mem_max,
		.margin_bytes = mem_write_margin(&m->config->tuning.memory, c->kernel.mem_max),
	};

	if (m->cgroup.cg == NULL || cg_write(m->cgroup.cg, &lower) != APPLY_DONE)
		return; /* in use: it stays in the ledger */
	drift_replaced_early(m, c->unclassified_bytes);
	/* PID 1 writes what it stores at every call, and the kubelet all of a spec that changed:
	 * that is ordinary. */
	if (m->drift.early == DRIFT_EARLY_REPLACED && m->wake->now >= m->container.echo_until)
		message_taken_back(m, lower.from, lower.to);
	control_set_unclassified(c, 0);
}

void take_back_unused(struct unit_table *t, struct plan *plan)
{
	struct control_context x = daemon_context(t, plan);
	struct ledger_ask asks[ASKS_MAX];
	uint32_t count = node_memory_asks(t->memory, asks, ASKS_MAX);

	for (uint32_t i = 0; i < count; i++) {
		struct managed *m = managed_by_id(t, asks[i].entry);

		if (m == NULL)
			continue;
		if (m->control.unclassified_bytes != 0)
			take_back_unclassified(m);
		else if (managed_has_laws(m) && m->cgroup.cg != NULL)
			control_give_back(&m->control, &x, asks[i].to);
	}
}

/* Finds a writer of memory.max that is stuck in the kernel, and releases PID 1: cgroup/writer.h. */

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

// SPDX-License-Identifier: Apache-2.0
/* The passes over all units: observe, decide, apply, report. */
#include "agent/loop/tick.h"
#include "agent/apply/apply.h"
#include "agent/drift/drift_events.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/pod/cluster.h"
#include "agent/recorder/recorder.h"
#include "cgroup/levels.h"
#include <errno.h>

/* --- the passes between two samples: on the reflex clock, and after an event of memory.events.
 * They read only what the laws ask for: one file of a cgroup in which nothing runs. */

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
	recorded_call(m, &(struct flight_input){.kind = FLIGHT_REFLEX, .usage = u}, &x);
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

/* --- a sample */

/* Beside the CPU counters, which are read first. */
#define SAMPLE_USAGE (USAGE_MEM | USAGE_MEM_PEAK | USAGE_MEM_EVENTS | USAGE_PSI_CPU | USAGE_PSI_MEM)

static bool new_limit(const struct managed *m, enum resource r, uint64_t seen)
{
	return m->control.resource[r].original == LIMIT_MAX && seen != LIMIT_MAX;
}

/* drift_events.c classifies external writes: until then the laws use the held limits. */
static void keep_ours(struct managed *m, struct limits *seen)
{
	const struct limits *k = &m->control.kernel;

	control_freeze(&m->control, 0);
	if (unit_moved(m, RESOURCE_CPU, seen)) {
		drift_request_check(m);
		/* A raise now would overwrite a value that is not classified yet. Memory is still
		 * raised: without a raise the kernel may OOM-kill. */
		control_freeze(&m->control, m->originals.touched ? RESOURCES_CPU : 0);
		seen->cpu_quota_usec = k->cpu_quota_usec;
		seen->cpu_period_usec = k->cpu_period_usec;
	}
	if (new_limit(m, RESOURCE_CPU, seen->cpu_quota_usec) ||
	    new_limit(m, RESOURCE_MEMORY, seen->mem_max))
		drift_request_check(m);
	if (unit_moved(m, RESOURCE_MEMORY, seen)) {
		oom_lowered(m, m, seen->mem_max);
		drift_request_check(m);
		seen->mem_max = k->mem_max;
		seen->mem_high = k->mem_high;
	}
}

/* inotify reports every write to a limit: the files are read at the review only, in case it missed
 * one. memory.stat costs as much as all other files: read only for a cgroup that ran. */
static int read_sample(struct managed *m, bool limits, const struct usage *first, struct usage *ret)
{
	struct control *c = &m->control;
	/* An external value that is not classified yet is read in every sample. */
	bool known = c->last_at != 0 && !m->drift.check_due && !m->drift.stored_asked &&
		     !managed_call_pending(m);
	struct usage u = *first, rest = {0}, stat = {0};
	int r = reader_read(m, SAMPLE_USAGE | (limits || !known ? LIMITS_USAGE : 0), 0, &rest);

	if (r < 0)
		return r;
	usage_merge(&u, &rest);
	if (!limits && known) {
		u.limits = c->kernel;
		u.have |= c->last.have & LIMITS_USAGE;
	}
	if (control_stat_stands(c, &u)) {
		u.have |= USAGE_MEM_STAT;
		u.stat = c->last.stat;
	} else {
		r = reader_read(m, USAGE_MEM_STAT, 0, &stat);
		stat.limits = u.limits;
		usage_merge(&u, &stat);
	}
	*ret = u;
	return r;
}

static void observe(struct managed *m, bool limits, const struct usage *first, struct plan *plan)
{
	struct control_context x;
	struct usage u = {0};
	int r = read_sample(m, limits, first, &u);

	if (r == -ENODEV) {
		managed_lost(m);
		return;
	}
	if (r < 0)
		return;
	unit_fill_absent(m, &u);
	keep_ours(m, &u.limits);
	oom_check(m, &u);
	x = daemon_context(m->table, plan);
	recorded_call(m, &(struct flight_input){.kind = FLIGHT_OBSERVE, .usage = &u}, &x);
}

/* --- the order in which units are read and raised: those that cannot wait before the others, one
 * cheap file of each shows which these are. A raise is written to a unit's files before the next
 * unit is read. */

enum pass { PASS_REFLEX, PASS_SAMPLE, PASS_REVIEW };

#define FIRST_USAGE (USAGE_CPU | USAGE_THROTTLE)

/* True: there is more to do for it. */
static bool read_first(struct managed *m, enum pass pass, struct usage *ret)
{
	uint32_t want = FIRST_USAGE;
	int r;

	if (pass == PASS_REFLEX)
		want &= control_reflex_wants(&m->control, ret);
	if (want == 0)
		return true;
	r = reader_read(m, want, 0, ret);
	if (r == -ENODEV)
		managed_lost(m);
	else if (m->control.last_at == 0)
		managed_read_totals(m);
	return r >= 0;
}

/* A whole record for each of a thousand units would be a quarter of a megabyte. */
static void keep_first(struct managed *m, const struct usage *u)
{
	m->sweep.deferred = true;
	m->sweep.first = (struct first_read){
		.have = u->have & FIRST_USAGE,
		.cpu_usage_usec = u->cpu_usage_usec,
		.nr_periods = u->nr_periods,
		.nr_throttled = u->nr_throttled,
		.throttled_usec = u->throttled_usec,
	};
}

static struct usage kept_first(const struct managed *m)
{
	return (struct usage){
		.have = m->sweep.first.have,
		.cpu_usage_usec = m->sweep.first.cpu_usage_usec,
		.nr_periods = m->sweep.first.nr_periods,
		.nr_throttled = m->sweep.first.nr_throttled,
		.throttled_usec = m->sweep.first.throttled_usec,
	};
}

/* Reads the rest of what it needs beside `u`, which has the CPU counters, and applies the laws.
 * True: it was raised. */
static bool visit_one(struct managed *m, enum pass pass, struct usage *u, struct plan *plan)
{
	size_t before = plan->count;

	if (pass == PASS_REFLEX)
		reflex_on_clock(m, u, plan);
	else
		observe(m, pass == PASS_REVIEW, u, plan);
	if (control_answers_throttling(&m->control, &m->config->tuning))
		reader_arm(m);
	return plan->count > before && plan_raise(m->table, plan, before);
}

/* Every entry that has laws is visited once. Raises are written at once, the plan keeps the rest.
 * True: there were raises. */
static bool sweep_units(struct unit_table *t, enum pass pass, struct plan *plan)
{
	/* Raises that the plan has already are written first. */
	bool raised = plan->count > 0 && plan_raise(t, plan, 0);

	reader_begin(t->reader, pass == PASS_REFLEX ? READER_REFLEX : READER_SAMPLE);
	UNITS_FOREACH (m, t) {
		struct usage u = {0};

		m->sweep.deferred = false;
		if (!managed_has_laws(m) || !read_first(m, pass, &u))
			continue;
		if (control_presses(&m->control, &u))
			raised |= visit_one(m, pass, &u, plan);
		else
			keep_first(m, &u);
	}
	UNITS_FOREACH (m, t) {
		struct usage u = kept_first(m);

		if (m->sweep.deferred)
			raised |= visit_one(m, pass, &u, plan);
	}
	reader_end(t->reader);
	return raised;
}

/* --- what a wake-up changed is reported: kills, denied memory, ceilings */

static void report_states_of(struct managed *m)
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

static void report_states(struct unit_table *t)
{
	UNITS_FOREACH (m, t)
		report_states_of(m);
}

/* --- the passes */

void tick_reflex(struct unit_table *t)
{
	usec_t begin = daemon_clock();
	struct plan plan;
	bool moved;

	plan_begin(t, &plan);
	boost_update(t, &plan);
	node_memory_expect(t->memory, true);
	moved = sweep_units(t, PASS_REFLEX, &plan);
	UNITS_FOREACH (m, t)
		if (m->sweep.events_muted)
			unmute(m);
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

/* What it wants beyond the quota is not known: the limit climbs in steps, each of which lets it run
 * on and is followed by the next event. */
void tick_throttled(struct managed *m, usec_t period_end_monotonic)
{
	struct control_context x;
	struct usage u = {0};
	struct plan plan;

	daemon_wake(m->table->wake);
	if (!managed_has_laws(m) || reader_read(m, FIRST_USAGE, 0, &u) < 0)
		return;
	/* Too late: the kernel has refilled the quota, and what was read is of the next period. */
	if (period_end_monotonic != 0 && daemon_clock() >= period_end_monotonic) {
		if (control_answers_throttling(&m->control, &m->config->tuning))
			reader_arm(m);
		return;
	}
	plan_begin(m->table, &plan);
	x = daemon_context(m->table, &plan);
	recorded_call(m, &(struct flight_input){.kind = FLIGHT_THROTTLED, .usage = &u}, &x);
	m->table->tally->throttle_events++;
	/* Before the write, after which it may be throttled again. */
	if (plan.count > 0 || m->control.cpu.period.echo)
		reader_arm(m);
	if (plan.count == 0)
		return;
	message_sum_raises(m, true);
	plan_apply(m->table, &plan);
	message_sum_raises(m, false);
	report_states_of(m);
}

static void count_blocked(struct managed *m)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		const struct control_resource *res = &m->control.resource[r];

		if (!res->managed)
			continue;
		counters_blocked(m->table->tally, m->sweep.blocked[r], res->blocked);
		m->sweep.blocked[r] = res->blocked;
	}
}

/* VPA's count: those that it recommends for. */
static uint32_t recommended(const struct pod *p)
{
	uint32_t n = 0;

	POD_FOREACH (m, p)
		n += m->container.annotated && m->control.history.samples > 0;
	return n;
}

static void review_all(struct unit_table *t, struct plan *plan)
{
	struct control_context x = daemon_context(t, plan);

	UNITS_FOREACH (m, t) {
		managed_check_levels(m);
		if (!managed_has_laws(m))
			continue;
		if (m->pod != NULL)
			control_set_containers(&m->control, recommended(m->pod));
		recorded_call(m, &(struct flight_input){.kind = FLIGHT_REVIEW}, &x);
		count_blocked(m);
	}
}

void tick(struct unit_table *t, bool review)
{
	struct plan plan;
	usec_t begin = daemon_clock();

	/* The limit files of a level appear without an event. */
	UNITS_FOREACH (m, t)
		if (m->cgroup.cg != NULL && cg_levels_due(m->cgroup.cg))
			managed_check_levels(m);
	plan_begin(t, &plan);
	boost_update(t, &plan);
	node_memory_expect(t->memory, false);
	oom_look_above(t);
	sweep_units(t, review ? PASS_REVIEW : PASS_SAMPLE, &plan);
	counters_took(&t->tally->scan[SCAN_SAMPLE], daemon_clock() - begin);
	if (review) {
		review_all(t, &plan);
		pod_levels_review(t);
	}
	take_back_unused(t, &plan);
	plan_apply(t, &plan);
	drift_check(t);
	properties_send(t);
	report_states(t);
	recorder_flush(t);
}

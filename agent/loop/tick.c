// SPDX-License-Identifier: Apache-2.0
/* A sample: observe, decide, apply, report. */
#include "agent/loop/tick.h"
#include "agent/apply/apply.h"
#include "agent/apply/boost.h"
#include "agent/apply/pod_level.h"
#include "agent/apply/properties.h"
#include "agent/apply/take_back.h"
#include "agent/drift/drift_events.h"
#include "agent/loop/announce.h"
#include "agent/loop/sweep.h"
#include "agent/manage/attach.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/oom.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/manage/table.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/recorder/recorder.h"
#include "cgroup/levels.h"
#include "policy/control/control.h"
#include <errno.h>

/* Beside the CPU counters, which are read first. */
#define SAMPLE_USAGE (USAGE_MEM | USAGE_MEM_PEAK | USAGE_MEM_EVENTS | USAGE_PSI_CPU | USAGE_PSI_MEM)
#define LIMIT_USAGE  (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

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
	int r = reader_read(m, SAMPLE_USAGE | (limits || !known ? LIMIT_USAGE : 0), 0, &rest);

	if (r < 0)
		return r;
	usage_merge(&u, &rest);
	if (!limits && known) {
		u.limits = c->kernel;
		u.have |= c->last.have & LIMIT_USAGE;
	}
	stat.limits = u.limits;
	if (control_stat_stands(c, &u)) {
		stat.have = USAGE_MEM_STAT;
		stat.stat = c->last.stat;
	} else {
		r = reader_read(m, USAGE_MEM_STAT, 0, &stat);
		stat.limits = u.limits;
	}
	usage_merge(&u, &stat);
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
	recorded_observe(m, &u, &x);
}

static void sample_one(struct managed *m, struct usage *first, struct plan *plan)
{
	observe(m, false, first, plan);
}

static void review_one(struct managed *m, struct usage *first, struct plan *plan)
{
	observe(m, true, first, plan);
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

	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct managed *m = p->members[i].managed;

		n += m != NULL && m->container.annotated && m->control.history.samples > 0;
	}
	return n;
}

static void review_all(struct unit_table *t, struct plan *plan)
{
	struct control_context x = daemon_context(t, plan);

	for (size_t i = 0; i < t->count; i++) {
		managed_check_levels(t->items[i]);
		if (!managed_has_laws(t->items[i]))
			continue;
		if (t->items[i]->pod != NULL)
			control_set_containers(&t->items[i]->control,
					       recommended(t->items[i]->pod));
		recorded_review(t->items[i], &x);
		count_blocked(t->items[i]);
	}
}

/* The limit files of a level appear without an event. */
static void check_levels(struct unit_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		if (t->items[i]->cgroup.cg != NULL && cg_levels_due(t->items[i]->cgroup.cg))
			managed_check_levels(t->items[i]);
}

void tick(struct unit_table *t, bool review)
{
	struct plan plan;
	usec_t begin = daemon_clock();

	check_levels(t);
	plan_begin(t, &plan);
	boost_update(t, &plan);
	node_memory_expect(t->memory, false);
	oom_look_above(t);
	sweep_units(t, READER_SAMPLE, review ? review_one : sample_one, &plan);
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

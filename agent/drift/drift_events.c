// SPDX-License-Identifier: Apache-2.0
/* External writes: limit files, reloads of PID 1, and what systemd reports that it stores. */
#include "agent/drift/drift_events.h"
#include "agent/apply/apply.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/reader.h"
#include "agent/pod/pods.h"
#include "cgroup/writer.h"
#include <errno.h>

enum answer { NOT_ASKED, STORED_KNOWN, STORED_UNKNOWN };

/* Who wrote a limit other than the held one, and what is done about it. A value that is found in a
 * file goes through these steps, in this order:
 *
 *  1. memory.high by the kubelet's formula, or by PID 1 with another property: the brake is set
 *     again (drift_high).
 *  2. A limit where there was none, or that is not sized, is its owner's: it becomes the original
 *     (follow_new_limits).
 *  3. Nothing is written in mode Off or paused: the value is recorded (record_external). During a
 *     pause of a unit its owner's value becomes the original as well.
 *  4. A limit whose sizing is suspended follows its writer (follow_suspended).
 *  5. A unit's value waits for PID 1's answer about what it stores; until then a memory limit is
 *     kept safe (ask, bound_until_answer).
 *  6. Before the first write of vscaled the owner's value is the original (follow_owner); after it
 *     the law of policy/laws/drift.h decides: echo, adopt, write again, suspend (resolve_all).
 */

/* --- memory.high as the kubelet writes it with an update of a container (MemoryQoS: "max", or by
 * its factor): no value of an external writer, and not reported */

/* *ret: the factor that it was computed with; 0: none. */
static bool is_kubelets(const struct managed *m, uint64_t high, uint32_t *ret)
{
	const struct kube_container *k = m->kind == UNIT_KIND_CONTAINER ? pod_spec_of(m) : NULL;
	const struct kube_resources *x;

	*ret = 0;
	if (k == NULL || high == LIMIT_MAX)
		return k != NULL;
	if (m->pod->spec->qos != QOS_BURSTABLE)
		return false;
	x = &k->spec;
	*ret = pod_qos_factor(x->request[RESOURCE_MEMORY], x->limit[RESOURCE_MEMORY], high,
			      m->control.page_bytes);
	x = &k->status;
	if (*ret == 0 && k->has_status)
		*ret = pod_qos_factor(x->request[RESOURCE_MEMORY], x->limit[RESOURCE_MEMORY], high,
				      m->control.page_bytes);
	return *ret != 0;
}

/* PID 1 writes memory.high with everything that it stores. A brake that holds growth below what the
 * runtime may write is needed again at once: PID 1's answer may take seconds. */
static bool is_replaced_by_pid1(const struct managed *m, const struct limits *seen)
{
	const struct control *c = &m->control;

	return c->mem.brake.line != 0 && control_brake_replays(c, seen->mem_max) &&
	       seen->mem_high == cg_mem_kept(m->properties.stored.mem_high);
}

/* Where a kubelet or PID 1 replaced memory.high: writes what is to stand, also into seen. */
static void drift_high(struct managed *m, struct limits *seen)
{
	struct control *c = &m->control;
	/* By the brake or a trial, whose reason lasts. */
	bool held = (c->mem.brake.line != 0 || c->mem.trial.high_lowered) &&
		    control_high_is_ours(c, &c->kernel);
	struct change again = {.target = c->target, .knob = KNOB_MEM_HIGH, .from = seen->mem_high};
	uint32_t factor;
	bool kubelets = is_kubelets(m, seen->mem_high, &factor) && (held || m->originals.touched);

	if (!c->resource[RESOURCE_MEMORY].managed || seen->mem_high == c->kernel.mem_high ||
	    c->rule.mode == MODE_OFF || c->paused || (c->gave_way & RESOURCES_MEMORY) ||
	    !(kubelets || (held && is_replaced_by_pid1(m, seen))))
		return;
	/* The kubelet was started with another factor, or without one. */
	if (kubelets && control_adopt_factor(c, factor))
		persist_adopted(m, RESOURCE_MEMORY);
	again.to = held ? c->kernel.mem_high : control_mem_high(c, c->kernel.mem_max);
	if (again.to != seen->mem_high && cg_write(m->cgroup.cg, &again) != APPLY_DONE)
		return;
	seen->mem_high = again.to;
	control_set_kernel_memory(c, c->kernel.mem_max, again.to);
}

/* --- the other limits */

/* Rewrites of a reload come before it is announced as ended (252); in other cases the order of
 * messages decides. */
#define RELOAD_ECHO_USEC USEC_PER_SEC
/* systemd writes the property right before it answers the call. */
#define OWN_ECHO_USEC (2 * USEC_PER_SEC)
#define GUARD_USAGE   (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT | USAGE_MEM)

/* Until it is known what the reload left, a write by systemd counts as part of the reload. */
static bool reloaded(const struct managed *m)
{
	return m->pid1->reloading || m->properties.stored_check ||
	       (m->pid1->reload_ended != 0 &&
		m->wake->now - m->pid1->reload_ended < RELOAD_ECHO_USEC);
}

/* In millicores, so that a period that changed along with its quota is no change. */
static struct drift_facts facts_cpu(const struct managed *m, const struct limits *seen)
{
	return (struct drift_facts){
		.expected = limit_amount(&m->control.kernel, RESOURCE_CPU),
		.observed = limit_amount(seen, RESOURCE_CPU),
		.property = props_milli(&m->properties.sent),
		.stored = props_milli(&m->properties.stored),
		.has_property = m->properties.sent_mask & UNIT_PROP_CPU_QUOTA,
	};
}

/* memory.max stands for both: a write of memory.high alone is a case of its own. */
static struct drift_facts facts_memory(const struct managed *m, const struct limits *seen)
{
	const struct limits *k = &m->control.kernel;
	bool high = seen->mem_max == k->mem_max;

	return (struct drift_facts){
		.expected = high ? k->mem_high : k->mem_max,
		.observed = high ? seen->mem_high : seen->mem_max,
		.property = cg_mem_kept(high ? m->properties.sent.mem_high
					     : m->properties.sent.mem_max),
		.stored = cg_mem_kept(high ? m->properties.stored.mem_high
					   : m->properties.stored.mem_max),
		.has_property =
			m->properties.sent_mask & (high ? UNIT_PROP_MEM_HIGH : UNIT_PROP_MEM_MAX),
	};
}

/* A unit whose files were written: seen is what was found, held is what the files have now. They
 * differ where a lower memory.max was raised before its writer was known. */
struct external_write {
	struct managed *unit;
	struct limits seen;
	struct limits held;
	bool has_stored; /* systemd has said what it stores */
	bool was_stored; /* seen.mem_max is what it stored at that moment */
	struct control_context x;
};

/* A memory.max lowered by a writer that is not known yet: first write the held limit again. */
static void make_safe(struct managed *m, const struct limits *seen)
{
	const struct limits *k = &m->control.kernel;
	struct change raise = {
		.target = m->control.target,
		.knob = KNOB_MEM_MAX,
		.from = seen->mem_max,
		.to = k->mem_max,
	};

	if (!m->control.resource[RESOURCE_MEMORY].managed || seen->mem_max >= k->mem_max)
		return;
	if (cg_write(m->cgroup.cg, &raise) == APPLY_DONE)
		drift_replaced_early(m, seen->mem_max);
}

/* Growth that has paused for less than this may go on. A busy node sees that after a second; use
 * and a margin of 10 % last as long at 20 MB/s and 200 MB. */
#define PAUSE_USEC (10 * USEC_PER_SEC)

/* Only Auto grows, and not beyond what it may while the API server cannot accept more. */
static bool may_stand(const struct control *c, uint64_t limit)
{
	return c->rule.mode == MODE_AUTO && limit <= control_unratified(c);
}

/* Would use pass its limit before a slow PID 1 could be sent the next one? */
static bool outgrows(const struct managed *m, uint64_t stands)
{
	const struct control *c = &m->control;
	uint64_t ahead = mul_div(c->mem.slope_bps, m->config->tuning.memory.property_ahead_usec,
				 USEC_PER_SEC);

	return may_stand(c, stands) &&
	       add_sat(mem_unreclaimable(&c->last.stat), ahead) > c->kernel.mem_max;
}

/* The file holds headroom above the decided limit, as before a late writer lowered it: while memory
 * grows, or may go on growing, a limit of use and a margin could not be raised in time. */
static bool keeps_headroom(const struct managed *m, const struct limits *stands)
{
	const struct control *c = &m->control;
	bool paused = add_sat(c->mem.last_growth, PAUSE_USEC) < m->wake->now;

	return stands->mem_max == c->kernel.mem_max && stands->mem_high >= c->kernel.mem_high &&
	       stands->mem_max > c->resource[RESOURCE_MEMORY].limit &&
	       may_stand(c, stands->mem_max) && (c->mem.slope_bps > 0 || !paused) &&
	       node_memory_take(m, stands->mem_max);
}

/* Higher than a moment ago, as when systemd writes headroom that it stores: until systemd answers
 * it stays where it is needed and the node has it. Else it is taken back at once. */
static void bound_unclassified(struct managed *m, const struct limits *seen)
{
	struct control *c = &m->control;
	bool granted;

	control_set_unclassified(c, 0);
	if (!c->resource[RESOURCE_MEMORY].managed || seen->mem_max <= c->kernel.mem_max)
		return;
	granted = outgrows(m, seen->mem_max) && node_memory_take(m, seen->mem_max);
	control_set_unclassified(c, seen->mem_max);
	if (!granted)
		take_back_unclassified(m);
}

/* The held limits, with one resource as it was found: the other is classified separately. */
static struct limits with_only(const struct managed *m, enum resource r, const struct limits *found)
{
	struct limits l = m->control.kernel;

	if (r == RESOURCE_CPU) {
		l.cpu_quota_usec = found->cpu_quota_usec;
		l.cpu_period_usec = found->cpu_period_usec;
		l.cpu_burst_usec = found->cpu_burst_usec;
	} else {
		l.mem_max = found->mem_max;
		l.mem_high = found->mem_high;
	}
	return l;
}

static void write_ours(struct external_write *l, enum resource r)
{
	struct limits held = with_only(l->unit, r, &l->held);

	control_reassert(&l->unit->control, &held, r, &l->x);
}

/* The external writer's limit stays; one that was raised for safety is lowered to it. */
static void yield_to(struct external_write *l, enum resource r)
{
	struct managed *m = l->unit;

	if (r == RESOURCE_MEMORY && l->held.mem_max != l->seen.mem_max)
		write_ours(l, r);
	/* Else the next reload restores the property that vscaled sent. */
	property_request(m, r == RESOURCE_MEMORY);
}

static void take_limit(struct managed *m, enum resource r, const struct limits *seen)
{
	struct limits found = with_only(m, r, seen);

	if (r == RESOURCE_MEMORY && !control_high_is_ours(&m->control, seen))
		persist_external_high(m, seen->mem_high);
	control_follow(&m->control, &found, r);
}

static void give_way(struct external_write *l, enum resource r, const struct drift_facts *f)
{
	struct managed *m = l->unit;

	message_drift(m, r, f, EVENT_DRIFT_GAVE_WAY, NULL);
	managed_set_reason(m, STATE_CONTESTED);
	control_suspend(&m->control, r);
	if (r == RESOURCE_CPU)
		boost_forget(m);
	take_limit(m, r, &l->seen);
	yield_to(l, r);
}

/* Of a limit whose sizing is suspended the writer's values stay, and systemd must not undo them. */
static void follow_suspended(struct managed *m, const struct limits *seen)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		if (!(m->control.gave_way & (1u << r)) || !unit_moved(m, r, seen))
			continue;
		take_limit(m, r, seen);
		property_request(m, false);
	}
}

static void adopt(struct external_write *l, enum resource r, const struct drift_facts *f)
{
	struct managed *m = l->unit;
	struct limits found = with_only(m, r, &l->seen);

	message_drift(m, r, f, EVENT_DRIFT_ADOPTED, NULL);
	control_adopt(&m->control, &found, r, &l->x);
	property_take_over(m, props_of_resource(r));
	property_read_dropins(m);
	persist_adopted(m, r);
	yield_to(l, r);
}

/* Before vscaled's first write, a value that the owner sets is the original. */
static void follow_owner(struct external_write *l)
{
	struct managed *m = l->unit;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct limits found = with_only(m, r, &l->seen);

		if (!unit_moved(m, r, &l->seen))
			continue;
		control_adopt(&m->control, &found, r, &l->x);
		persist_adopted(m, r);
	}
}

/* The runtime writes what it has on record with every update of a container, and through systemd: a
 * pod's owner sets limits by the spec alone (pod_spec.c). */
static bool replayed(const struct managed *m, enum resource r, const struct drift_facts *f)
{
	return m->pod != NULL &&
	       ((f->has_stored && f->stored == f->observed) || pod_on_record(m, r, f->observed));
}

/* The held limit is written again. An echo of vscaled's own call is not reported. */
static void reassert(struct external_write *l, enum resource r, const struct drift_facts *f,
		     enum drift_action action)
{
	struct managed *m = l->unit;
	bool own_echo =
		action == DRIFT_ECHO || (action == DRIFT_REASSERT && !reloaded(m) &&
					 m->wake->now - m->properties.set_done_at < OWN_ECHO_USEC);
	static const char *const names[WRITER_COUNT] = {
		[WRITER_SYSTEMD] = "systemd",
		[WRITER_KUBELET] = "the runtime",
		[WRITER_UNKNOWN] = "another writer",
	};
	enum counters_writer writer = reloaded(m)                                 ? WRITER_SYSTEMD
				      : replayed(m, r, f)                         ? WRITER_KUBELET
				      : f->has_stored && f->observed == f->stored ? WRITER_SYSTEMD
										  : WRITER_UNKNOWN;
	const char *by = reloaded(m) ? "daemon-reload" : names[writer];

	if (!own_echo || m->pod != NULL)
		m->table->tally->reverted[writer]++;
	if (!own_echo) {
		m->drift.replaced[r]++;
		message_drift(m, r, f, EVENT_DRIFT_REASSERTED, by);
	}
	if (r == RESOURCE_MEMORY && keeps_headroom(m, &l->held))
		control_set_kernel_memory(&m->control, m->control.kernel.mem_max, l->held.mem_high);
	else
		write_ours(l, r);
}

/* systemd's headroom for growth stays while it is needed and the node has it. */
static bool headroom_stays(struct managed *m, enum resource r, const struct drift_facts *f)
{
	return r == RESOURCE_MEMORY && f->observed > f->expected &&
	       (f->observed == f->property || f->observed == f->stored) &&
	       outgrows(m, f->observed) && node_memory_take(m, f->observed);
}

static void resolve_one(struct external_write *l, enum resource r)
{
	struct managed *m = l->unit;
	struct drift_facts f =
		r == RESOURCE_CPU ? facts_cpu(m, &l->seen) : facts_memory(m, &l->seen);
	enum drift_action action;
	struct limits found;

	if (m->pod != NULL && pod_owner_value_arrived(m, r, f.observed))
		return;
	f.has_stored = l->has_stored && m->unit != NULL;
	/* While a container is created, its runtime writes the limits that it was given, once. */
	f.set_pending = managed_call_pending(m) || pod_echo_pending(m) || scope_is_creating(m);
	/* While PID 1 does not answer, the writer is not known: not counted as external. */
	f.not_deliberate = reloaded(m) || (r == RESOURCE_MEMORY && l->was_stored) ||
			   (!l->has_stored && m->unit != NULL) || replayed(m, r, &f);
	action = drift_decide(m, r, &f);
	if (m->paused && action != DRIFT_ADOPT) {
		take_limit(m, r, &l->seen);
		return;
	}
	switch (action) {
	case DRIFT_NONE:
	case DRIFT_COUNT:
		/* The same limit in another form. */
		found = with_only(m, r, &l->seen);
		control_set_kernel(&m->control, &found);
		return;
	case DRIFT_ADOPT:
		adopt(l, r, &f);
		return;
	case DRIFT_GIVE_WAY:
		give_way(l, r, &f);
		return;
	case DRIFT_ECHO:
		if (headroom_stays(m, r, &f))
			control_set_kernel_memory(&m->control, l->held.mem_max, l->held.mem_high);
		else
			reassert(l, r, &f, action);
		return;
	case DRIFT_REASSERT:
	case DRIFT_COUNTED:
		reassert(l, r, &f, action);
		return;
	}
}

/* True when systemd's answer is to be waited for: to a call that is under way, or to a question. */
static bool ask(struct managed *m, const struct limits *seen)
{
	if (m->originals.touched && m->control.rule.mode != MODE_OFF && !m->control.paused)
		make_safe(m, seen);
	if (m->unit == NULL)
		return false;
	if (managed_call_pending(m))
		return true;
	if (!m->drift.stored_asked)
		m->drift.stored_asked = m->pid1->port.get(m->pid1->port.bus, m->unit) == 0;
	return m->drift.stored_asked;
}

/* Where there was none, or of a resource that is not sized: vscaled did not write it. */
static bool is_new_limit(const struct external_write *l, enum resource r)
{
	const struct managed *m = l->unit;
	const struct control *c = &m->control;
	uint64_t was = c->resource[r].original, now = limit_amount(&l->seen, r);
	bool moved =
		now != was || (r == RESOURCE_MEMORY && l->seen.mem_high != c->original.mem_high);
	bool sized = m->pod != NULL || c->resource[r].managed || managed_state(m) == UNIT_UNMANAGED;

	return (was == LIMIT_MAX && now != LIMIT_MAX) || (moved && !sized);
}

/* It is the owner's, and becomes the original. */
static void follow_new_limits(struct external_write *l)
{
	struct managed *m = l->unit;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct limits found = with_only(m, r, &l->seen);

		if (!is_new_limit(l, r))
			continue;
		control_adopt(&m->control, &found, r, &l->x);
		persist_adopted(m, r);
	}
}

/* Its files are neither written nor judged. What a unit's owner sets during a pause is judged. */
static bool is_left_alone(const struct managed *m)
{
	bool pause = m->paused && m->pod == NULL && managed_state(m) != UNIT_RESTORED &&
		     managed_state(m) != UNIT_UNMANAGED;

	return m->control.rule.mode == MODE_OFF || (m->control.paused && !pause);
}

/* vscaled writes nothing to it: the limits in the files become the held ones. */
static void record_external(struct managed *m, const struct limits *seen)
{
	drift_end_early(m);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (unit_moved(m, r, seen))
			take_limit(m, r, seen);
}

static void resolve_all(struct external_write *l)
{
	struct managed *m = l->unit;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (unit_moved(m, r, &l->seen) && !(m->control.gave_way & (1u << r)))
			resolve_one(l, r);
}

/* A memory.max that was replaced early counts as found in the file. */
static void fill_found(struct external_write *l, const struct limits *files)
{
	const struct managed *m = l->unit;

	l->held = l->seen = *files;
	if (m->drift.early == DRIFT_EARLY_NONE || files->mem_max != m->control.kernel.mem_max)
		return;
	l->seen.mem_max = m->drift.found_max;
	l->was_stored = m->drift.early == DRIFT_EARLY_REPLACED_STORED;
}

static void bound_until_answer(struct managed *m, const struct limits *found)
{
	if (!(m->control.gave_way & RESOURCES_MEMORY))
		bound_unclassified(m, found);
	/* A raise now would overwrite a value that is not classified yet. */
	if (unit_moved(m, RESOURCE_CPU, found))
		control_freeze(&m->control, RESOURCES_CPU);
}

static void resolve_laws(struct managed *m, enum answer answer, struct plan *plan)
{
	struct external_write l = {.unit = m, .has_stored = answer == STORED_KNOWN};
	struct usage u = {0};
	int r = cg_read(m->cgroup.cg, GUARD_USAGE, &u);

	if (r == -ENODEV)
		managed_lost(m);
	if (r < 0)
		return;
	unit_fill_absent(m, &u);
	pod_level_follow(m, &u.limits);
	oom_lowered(m, m, u.limits.mem_max);
	runtime_wrote(m,
		      m->drift.early != DRIFT_EARLY_NONE ? m->drift.found_max : u.limits.mem_max);
	drift_high(m, &u.limits);
	node_memory_for(m); /* before the context: growth meanwhile is raised for, too */
	l.x = daemon_context(m->table, plan);
	/* Classified now: below, resources are frozen that must wait for PID 1's answer. */
	control_freeze(&m->control, 0);
	fill_found(&l, &u.limits);
	if (is_new_limit(&l, RESOURCE_CPU) || is_new_limit(&l, RESOURCE_MEMORY)) {
		if (answer == NOT_ASKED && ask(m, &u.limits))
			return;
		follow_new_limits(&l);
	}
	if (!unit_moved(m, RESOURCE_CPU, &l.seen) && !unit_moved(m, RESOURCE_MEMORY, &l.seen)) {
		control_set_unclassified(&m->control, 0);
		return;
	}
	if (is_left_alone(m)) {
		record_external(m, &l.seen);
		return;
	}
	follow_suspended(m, &l.seen);
	if (answer == NOT_ASKED && !(m->originals.touched && scope_is_creating(m)) &&
	    ask(m, &u.limits)) {
		if (m->originals.touched && !m->paused)
			bound_until_answer(m, &u.limits);
		return;
	}
	drift_end_early(m);
	control_set_unclassified(&m->control, 0);
	/* Headroom that stays is no step of the plan: the pod's limit follows it all the same. */
	if (m->pod != NULL)
		m->pod->concerned = true;
	if (m->originals.touched)
		resolve_all(&l);
	else
		follow_owner(&l);
}

/* Reads and classifies the limits of a unit whose files were written; steps go into the plan. */
static void drift_resolve_unit(struct managed *m, enum answer answer, struct plan *plan)
{
	if (m->kind == UNIT_KIND_POD)
		pod_level_check(m);
	else
		resolve_laws(m, answer, plan);
}

/* --- what comes in */

static void on_watch_event(void *ctx, const struct cg_watch_event *e)
{
	struct unit_table *t = ctx;
	struct managed *of;

	if (e->what == CG_WATCH_OVERFLOW) {
		UNITS_FOREACH (m, t)
			drift_request_check(m);
		pods_scan_again(t->pods);
		return;
	}
	if (pods_watch_event(t->pods, e))
		return;
	of = managed_by_cookie(t, e->cookie);
	if (of == NULL)
		return;
	if (e->what == CG_WATCH_LIMIT)
		drift_request_check(of);
	else
		managed_check_levels(of);
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
	UNITS_FOREACH (m, t) {
		bool due = m->drift.check_due && m->cgroup.cg != NULL;

		m->drift.check_due = false;
		if (due)
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
		originals_set_touched(m, true);
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
	m->drift.stored_asked = false;
	if (error == 0)
		property_stored(m, stored);
	if (error == 0 && m->properties.stored_guessed)
		take_stored(m);
	scan_again(m, error == 0 ? STORED_KNOWN : STORED_UNKNOWN);
	if (error == 0 && !managed_call_pending(m))
		property_check_stored(m);
}

void drift_reloading(void *ctx, bool active)
{
	struct unit_table *t = ctx;
	const struct unit_port *port = &t->pid1->port;

	daemon_wake(t->wake);
	t->pid1->reloading = active;
	if (active)
		return;
	t->pid1->reload_ended = t->wake->now;
	UNITS_FOREACH (m, t) {
		drift_request_check(m);
		property_reloaded(m);
		property_read_dropins(m);
		/* Units are requested with the next list; the scopes of pods are in no list. */
		if (m->pod != NULL && m->unit != NULL && m->cgroup.cg != NULL &&
		    m->originals.touched)
			m->drift.stored_asked |= port->get(port->bus, m->unit) == 0;
	}
	drift_check(t);
	t->pid1->list_due = true;
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

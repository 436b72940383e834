// SPDX-License-Identifier: Apache-2.0
/* Changes of a pod's spec: the owner's resize, or vscaled's own. */
#include "agent/apply/apply.h"
#include "agent/config/config.h"
#include "agent/kube/report/reporter.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/metrics/counters.h"
#include "agent/pod/pods.h"
#include "cgroup/reader.h"
#include "cgroup/writer.h"
#include "policy/control/control.h"

/* The kubelet carries out a change 1 to 5 s after it, and may write old values in between. */
#define ECHO_USEC (60 * USEC_PER_SEC)

bool pod_echo_pending(const struct managed *m)
{
	if (m->pod == NULL)
		return false;
	return m->wake->now < m->container.echo_until ||
	       m->pod->spec->progress == RESIZE_IN_PROGRESS || reporter_pending(m->pod->report);
}

bool pod_on_record(const struct managed *m, enum resource r, uint64_t value)
{
	const struct kube_container *c = pod_spec_of(m);
	uint64_t period = m->control.kernel.cpu_period_usec;

	return c != NULL &&
	       (limit_same_file(r, value, c->spec.limit[r], period) ||
		(c->has_status && limit_same_file(r, value, c->status.limit[r], period)));
}

static struct limits with_limit(const struct limits *l, enum resource r, uint64_t value)
{
	struct limits with = *l;

	if (r == RESOURCE_CPU)
		with.cpu_quota_usec = cpu_quota_exact(value, with.cpu_period_usec);
	else
		with.mem_max = cg_mem_kept(value);
	return with;
}

/* The owner's value becomes the original and the held limit. It is written at once, because the
 * kubelet does not write a cgroup that it believes to have that value. */
static void adopt(struct managed *m, enum resource r, uint64_t value)
{
	struct control *c = &m->control;
	struct limits stands = c->kernel, wanted = with_limit(&stands, r, value);
	const struct drift_facts f = {.expected = c->resource[r].limit, .observed = value};
	uint64_t before = c->resource[r].original;
	struct control_context x;
	struct plan plan;

	if (limit_same(r, before, value))
		return;
	if (r == RESOURCE_MEMORY)
		wanted.mem_high = control_mem_high(c, wanted.mem_max);
	/* The ledger of this wake-up counts with the original that goes. */
	node_memory_close(m->table->memory);
	plan_begin(m->table, &plan);
	x = daemon_context(m->table, &plan);
	message_drift(m, r, &f, EVENT_DRIFT_ADOPTED, NULL);
	m->table->tally->reverted[WRITER_USER]++;
	control_adopt(c, &wanted, r, &x);
	drift_forget_writer(m, r);
	pod_level_adopt(m->pod, r, before, value);
	control_set_kernel(c, &stands);
	if (c->resource[r].managed && c->rule.mode != MODE_OFF && !c->paused &&
	    m->cgroup.cg != NULL && !(c->gave_way & (1u << r)))
		control_reassert(c, &stands, r, &x);
	plan_apply(m->table, &plan);
	if (m->originals.touched)
		property_request(m, false);
	persist_adopted(m, r);
	/* The request of a Guaranteed pod is its limit: the owner has set both. The spec may
	 * already hold a limit with vscaled's headroom. */
	if (kube_pod_class_of_containers(m->pod->spec, QOS_GUARANTEED))
		persist_adopted_request(m, r, value);
	pod_set_bounds(m);
}

/* The kubelet admits a resize, defers it or refuses it in about a second. */
#define OWNER_VALUE_USEC (4 * USEC_PER_SEC)

static void desired(struct managed *m, enum resource r, uint64_t value)
{
	m->container.owner_value[r] = value;
	m->container.owner_value_at = m->wake->now;
	m->pod->adopting = true;
	pod_set_bounds(m);
}

bool pod_owner_value_arrived(struct managed *m, enum resource r, uint64_t value)
{
	if (m->container.owner_value[r] == 0 ||
	    !limit_same_file(r, m->container.owner_value[r], value,
			     m->control.kernel.cpu_period_usec))
		return false;
	m->container.owner_value_at = 0;
	return true;
}

/* True: not yet. */
static bool settle(struct managed *m, enum resource r, bool seen)
{
	uint64_t value = m->container.owner_value[r];

	if (value == 0)
		return false;
	if (!seen && m->wake->now - m->container.owner_value_at < OWNER_VALUE_USEC)
		return true;
	m->container.owner_value[r] = 0;
	pod_set_bounds(m);
	adopt(m, r, value);
	return false;
}

void pod_spec_settle(struct pod *p)
{
	const struct kube_pod *s = p->spec;
	bool seen = s->observed_generation != 0 && s->observed_generation >= s->generation;

	/* Deferred or Infeasible: the present values stay valid. */
	if (!p->adopting || s->pending != RESIZE_NOT_PENDING)
		return;
	p->adopting = false;
	POD_FOREACH (m, p)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			p->adopting |= settle(m, r, seen);
}

/* It is handed back, and was not started before: what goes back is the owner's. */
static void adopt_for_return(struct managed *m, enum resource r, uint64_t before, uint64_t value)
{
	const struct drift_facts f = {.expected = before, .observed = value};
	const struct limits l = with_limit(&m->record->limits, r, value);

	message_drift(m, r, &f, EVENT_DRIFT_ADOPTED, NULL);
	persist_owners(m, r, &l);
	pod_level_adopt(m->pod, r, before, value);
}

/* Its own limits, where they follow its containers': another value than those sent is the owner's,
 * and the new original. */
static void adopt_level(struct pod *p)
{
	struct managed *m = p->level != NULL && p->level->control.started_at != 0 ? p->level : NULL;
	const struct baseline *b = m != NULL ? m->record : NULL;
	bool late = reporter_late(p->report, p->pods->wake->now);

	for (enum resource r = 0; b != NULL && !late && r < RESOURCE_COUNT; r++) {
		uint64_t original = b->sent_over[r], now = p->spec->level_limit[r];

		if (original == 0 || now == 0 || now == original || now == b->sent[r] ||
		    now == b->sent_before[r])
			continue;
		control_shift_original(&m->control, r, original, now);
		persist_adopted(m, r);
		persist_sent(m, r, now, now);
	}
}

void pod_spec_first(struct managed *m)
{
	const struct kube_container *c = pod_spec_of(m);

	for (enum resource r = 0; m->record != NULL && c != NULL && r < RESOURCE_COUNT; r++) {
		uint64_t original = limit_amount(&m->record->limits, r), spec = c->spec.limit[r];

		if (original == LIMIT_MAX || spec == LIMIT_MAX || limit_same(r, original, spec) ||
		    spec_sent_by_us(m, r, spec))
			continue;
		if (m->control.started_at != 0)
			desired(m, r, spec);
		else if (m->pod->spec->pending == RESIZE_NOT_PENDING)
			adopt_for_return(m, r, original, spec);
	}
}

/* The cgroup was removed before its counters were read: the API server's report replaces them. */
static void note_kill(struct managed *m, const struct kube_container *now,
		      const struct kube_container *old)
{
	const struct control_resource *res = &m->control.resource[RESOURCE_MEMORY];

	if (now->restarts == old->restarts && now->oom_run <= old->oom_run)
		return;
	if (now->oom_run > old->oom_run && res->counters.oom_kills == m->container.oom_at_restart &&
	    res->managed) {
		oom_check_gone(m);
		control_oom_reported(&m->control, &m->config->tuning, m->wake->now,
				     m->wake->now_real);
		/* Its history was put into the store when its cgroup was removed. */
		if (m->cgroup.cg == NULL)
			persist_keep_history(m);
	}
	m->container.oom_at_restart = res->counters.oom_kills;
}

/* Its owner has applied the value that vscaled had set. */
static bool taken_over(const struct kube_container *now, const struct kube_container *old,
		       enum resource r)
{
	return kube_owner(old, KUBE_LEAF_LIMIT(r)) == OWNER_VSCALED &&
	       kube_owner(now, KUBE_LEAF_LIMIT(r)) == OWNER_OTHER;
}

/* Container i of its pod. */
static void note_limits(struct managed *m, size_t i, const struct kube_container *now,
			const struct kube_container *old)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		if (now->spec.limit[r] == old->spec.limit[r] && !taken_over(now, old, r))
			continue;
		m->container.echo_until = m->wake->now + ECHO_USEC;
		/* Else the spec says it because vscaled sent it. */
		if (m->pod->pods->reporter == NULL ||
		    (reporter_foreign(m->pod->report, i) & (1u << r)))
			desired(m, r, now->spec.limit[r]);
	}
}

/* An owner's request is in no cgroup, so nothing is waited for. That of a Guaranteed pod is adopted
 * with its limit. */
static void adopt_requests(const struct managed *m, const struct kube_container *c)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (kube_owner(c, KUBE_LEAF_REQUEST(r)) == OWNER_OTHER &&
		    c->spec.request[r] <= persist_original_limit(m, r, LIMIT_MAX) &&
		    !kube_pod_class_of_containers(m->pod->spec, QOS_GUARANTEED))
			persist_adopted_request(m, r, c->spec.request[r]);
}

void pod_spec_changed(struct pod *p, const struct kube_pod *old)
{
	bool ended =
		old != NULL && old->progress != RESIZE_IDLE && p->spec->progress == RESIZE_IDLE;

	if (old != NULL && old->generation != p->spec->generation)
		pod_level_keep(p);
	adopt_level(p);
	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct kube_container *now = &p->spec->containers[i];
		const struct kube_container *was =
			old != NULL ? kube_pod_container(old, now->name) : NULL;
		struct managed *m = p->members[i].managed;

		if (m == NULL)
			continue;
		runtime_reported(m, now, was, ended);
		adopt_requests(m, now);
		/* The kubelet replays all values of the containers it updates, and of the pod. */
		if (old != NULL && old->generation != p->spec->generation)
			m->container.echo_until = m->wake->now + ECHO_USEC;
		/* Of a wrong guess the record is what the cgroup had, whatever the spec says. */
		if (m->hand_back.due && m->control.started_at == 0 &&
		    m->hand_back.why != STATE_WRONG_CGROUP)
			pod_spec_first(m);
		if (was == NULL || m->control.started_at == 0)
			continue;
		note_kill(m, now, was);
		note_limits(m, i, now, was);
	}
}

/* --- The limits that the container runtime holds: with every update of a container it writes all
 * of them. A static CPU manager (cpuset alone) or an external resize brings the old memory limit at
 * any moment. */

/* The first update of a container comes seconds after its start. */
#define NEW_USEC USEC_PER_MIN

static void holds(struct managed *m, uint64_t bytes)
{
	if (m->container.runtime_mem_max == bytes)
		return;
	m->container.runtime_mem_max = bytes;
	pod_set_bounds(m);
}

/* The kubelet carries out what it has read in seconds; on a starved node it began nothing for 20 s,
 * and one update of the runtime took 14 s. */
#define READ_USEC (40 * USEC_PER_SEC)

static bool is_same(const struct kube_resources *a, const struct kube_resources *b)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (!limit_same(r, a->limit[r], b->limit[r]) || a->request[r] != b->request[r])
			return false;
	return true;
}

static void set_resize_read(struct managed *m, usec_t at)
{
	bool before = m->container.resize_read_at != 0;

	m->container.resize_read_at = at;
	if ((at != 0) != before)
		pod_set_bounds(m);
}

/* The spec changed by more than a memory limit, as by vscaled's own resize of CPU: the kubelet may
 * write all limits that it had then, however much memory is raised meanwhile. */
static bool asks_for_cpu(const struct kube_resources *now, const struct kube_resources *old)
{
	struct kube_resources moved = *old;

	moved.limit[RESOURCE_MEMORY] = now->limit[RESOURCE_MEMORY];
	moved.request[RESOURCE_MEMORY] = now->request[RESOURCE_MEMORY];
	return !is_same(&moved, now);
}

/* An owner may set the limits of before again: what the kubelet has read stays under way until a
 * newer status shows the spec. The status of CPU comes from the file, where vscaled may have
 * written the owner's value before: no resize may be in progress. */
static void note_resize(struct managed *m, const struct kube_container *now,
			const struct kube_container *old, bool ended)
{
	bool restarted = old != NULL && old->restarts != now->restarts;
	bool newer = old != NULL && (ended || !is_same(&old->status, &now->status));
	bool carried_out =
		newer && m->pod->spec->progress == RESIZE_IDLE && is_same(&now->spec, &now->status);

	if (spec_resize_under_way(m, now) || (old != NULL && asks_for_cpu(&now->spec, &old->spec) &&
					      !is_same(&now->spec, &now->status)))
		set_resize_read(m, m->wake->now);
	else if (restarted || carried_out)
		set_resize_read(m, 0);
}

void runtime_reported(struct managed *m, const struct kube_container *now,
		      const struct kube_container *old, bool ended)
{
	uint64_t reported = now->status.limit[RESOURCE_MEMORY];
	bool restarted = old != NULL && old->restarts != now->restarts;

	note_resize(m, now, old, ended);
	if (!now->has_status || reported == LIMIT_MAX)
		return;
	/* An unchanged report does not replace what was seen in the cgroup since. */
	if (m->container.runtime_mem_max == 0 || restarted || old == NULL || !old->has_status ||
	    old->status.limit[RESOURCE_MEMORY] != reported)
		holds(m, reported);
}

void runtime_wrote(struct managed *m, uint64_t mem_max)
{
	bool property = (m->properties.sent_mask & UNIT_PROP_MEM_MAX) &&
			mem_max == cg_mem_kept(m->properties.sent.mem_max);

	/* A value that vscaled wrote, or that PID 1 may have written for it, says nothing about the
	 * runtime. */
	if (m->kind == UNIT_KIND_CONTAINER && mem_max != m->control.kernel.mem_max && !property &&
	    pod_on_record(m, RESOURCE_MEMORY, mem_max))
		holds(m, mem_max);
}

static bool names_cpus(const struct managed *m)
{
	bool has;

	return m->kind == UNIT_KIND_CONTAINER && m->cgroup.cg != NULL &&
	       cg_has_cpus(m->cgroup.cg, &has) == 0 && has;
}

/* The policy is the node's: one container is enough to know it. */
static bool is_at_work(const struct unit_table *t, bool review)
{
	UNITS_FOREACH (m, t)
		if ((review || t->wake->now - m->control.started_at < NEW_USEC) && names_cpus(m))
			return true;
	return false;
}

void runtime_check(struct unit_table *t, bool review)
{
	bool any;

	UNITS_FOREACH (m, t)
		if (m->container.resize_read_at != 0 &&
		    t->wake->now - m->container.resize_read_at >= READ_USEC)
			set_resize_read(m, 0);
	/* It counts as active until the containers that it assigned CPUs to are gone. */
	if (t->host->cpu_manager && !review)
		return;
	any = is_at_work(t, review);
	if (any == t->host->cpu_manager)
		return;
	t->host->cpu_manager = any;
	UNITS_FOREACH (m, t)
		if (m->kind == UNIT_KIND_CONTAINER)
			pod_set_bounds(m);
}

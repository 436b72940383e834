// SPDX-License-Identifier: Apache-2.0
/* The reporter's callbacks, and the hooks through which the pods query it. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/originals.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include "agent/metrics/counters.h"
#include "agent/pod/pod_rule.h"
#include "agent/pod/pods.h"
#include "policy/base/quantity.h"
#include <stdio.h>
#include <string.h>

/* After an outage the reports of all nodes are spread over this. */
#define SPREAD_USEC USEC_PER_MIN
/* The values of one refusal are reported one after the other, within this time. */
#define ONE_REFUSAL_USEC USEC_PER_SEC

/* --- the reporter's callbacks --- */

static struct managed *member_of(struct cluster *c, const char *uid, size_t container)
{
	struct pod *p = pods_find(c->pods, uid);

	return p != NULL && container < p->spec->container_count ? p->members[container].managed
								 : NULL;
}

static void note(struct cluster *c, const struct kube_pod *pod, const char *type,
		 const char *reason, const char *action, const char *text)
{
	recorder_note(c->recorder, pod, type, reason, action, text, c->wake->now,
		      c->wake->now_real);
}

/* The reporter's signature. NOLINTNEXTLINE(readability-function-size) */
static void on_refused(void *ctx, const char *uid, size_t container, enum resource resource,
		       uint64_t ceiling, usec_t, const char *text)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->pods, uid);
	struct managed *m = member_of(c, uid, container);

	(void)ceiling; /* asked for by the bounds */
	daemon_wake(c->wake);
	c->bounds_due = true;
	if (p == NULL)
		return;
	/* Called for every value that the refusal bounds: one refusal is one Event. */
	if (c->wake->now - c->refused_at >= ONE_REFUSAL_USEC || strcmp(c->refused_uid, uid) != 0) {
		c->tally->apply_failed[BACKEND_API]++;
		note(c, p->spec, "Warning", "ResizeRefused", "Resize", text);
	}
	c->refused_at = c->wake->now;
	snprintf(c->refused_uid, sizeof c->refused_uid, "%s", uid);
	reporter_hurry(c->reporter, uid);
	if (m == NULL)
		return;
	event_tell(EVENT_REPORT_REFUSED, .who = message_who(m), .resource = resource,
		   .from = m->control.resource[resource].limit, .detail = text);
	pod_set_bounds(m);
}

/* The next tick reads the cgroups: nothing is written from inside an answer. */
static void on_verify(void *ctx, const char *uid)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->pods, uid);

	c->bounds_due = true;
	for (size_t i = 0; p != NULL && i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			drift_request_check(p->members[i].managed);
}

static void on_write(void *ctx, const char *uid, size_t container, enum resource)
{
	struct managed *m = member_of(ctx, uid, container);

	if (m != NULL)
		drift_request_check(m);
}

struct changes_text {
	const char *container;
	char text[512];
};

/* ", app cpu 200m -> 840m": the original, and what the spec has now. */
static void add_change(const char *what, enum resource r, uint64_t from, uint64_t to,
		       struct changes_text *t)
{
	char was[QUANTITY_TEXT_SIZE], is[QUANTITY_TEXT_SIZE];
	size_t used = strlen(t->text);
	bool cpu = r == RESOURCE_CPU;

	if (from == to || from == LIMIT_MAX || to == LIMIT_MAX)
		return;
	snprintf(t->text + used, sizeof t->text - used, "%s%s %s%s %s -> %s", used != 0 ? ", " : "",
		 t->container, cpu ? "cpu" : "memory", what,
		 cpu ? quantity_format_cpu(from, was, sizeof was)
		     : quantity_format_bytes(from, was, sizeof was),
		 cpu ? quantity_format_cpu(to, is, sizeof is)
		     : quantity_format_bytes(to, is, sizeof is));
}

static void add_changes(const struct managed *m, const struct kube_container *k,
			struct changes_text *t)
{
	t->container = k->name;
	for (enum resource r = 0; m != NULL && r < RESOURCE_COUNT; r++) {
		add_change("", r, m->control.resource[r].original, k->spec.limit[r], t);
		if (m->container.rule.controlled != CONTROLLED_LIMITS)
			add_change(" request", r,
				   persist_original_request(m, r, k->spec.request[r]),
				   k->spec.request[r], t);
	}
}

/* The Event of the first time names values; those that follow are one series with it. */
static void note_ratified(struct cluster *c, const struct pod *p)
{
	const struct kube_pod *s = p->spec;
	struct changes_text t = {.text = ""};

	for (size_t i = 0; i < s->container_count; i++)
		add_changes(p->members[i].managed, &s->containers[i], &t);
	if (t.text[0] != '\0')
		note(c, s, "Normal", "Resized", "Resize", t.text);
	else if (pod_is_sized(p))
		note(c, s, "Normal", "Resized", "Resize",
		     "the spec has its original values; sizing goes on");
	else
		note(c, s, "Normal", "Restored", "Resize", "the original limits are restored");
}

/* Does the spec hold another limit than the original? */
static bool has_our_values(const struct managed *m, const struct kube_container *c)
{
	bool other = false;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		other |= c->spec.limit[r] != persist_original_limit(m, r, c->spec.limit[r]) ||
			 c->spec.request[r] != persist_original_request(m, r, c->spec.request[r]);
	return other;
}

static bool restarts(const struct kube_container *k, const struct report_item *item)
{
	return (k->restart_on_resize & RESOURCES_MEMORY) && (item->limits & RESOURCES_MEMORY) &&
	       item->limit[RESOURCE_MEMORY] > k->spec.limit[RESOURCE_MEMORY];
}

/* The OOM kills so far are answered by this restart. */
static void restart_sent(struct managed *m)
{
	m->restart.oom_kills = m->control.resource[RESOURCE_MEMORY].counters.oom_kills;
}

/* Before the first request: a limit in the spec other than the original is an external writer's. */
static void record_first(struct managed *m)
{
	uint64_t original[RESOURCE_COUNT];

	if (persist_is_ratified(m))
		return;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		original[r] = persist_original_limit(m, r, 0);
	persist_sent(m, original, original);
	persist_ratified(m, true);
}

/* What the request does not change keeps its record: it may be an external writer's. */
static void record_sent(struct managed *m, const struct report_item *item,
			const struct kube_container *k)
{
	uint64_t sent[RESOURCE_COUNT], over[RESOURCE_COUNT];

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		persist_last_sent(m, r, &sent[r], &over[r]);
		if (!(item->limits & (1u << r)) || item->limit[r] == k->spec.limit[r])
			continue;
		sent[r] = item->limit[r];
		over[r] = k->spec.limit[r];
	}
	persist_sent(m, sent, over);
}

/* Puts the values on record; the step that sends them saves the record. */
static void on_sending(void *ctx, const char *uid, const struct report_patch *patch)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->pods, uid);
	/* Or its originals go back. */
	bool sized = p != NULL && pod_is_sized(p);

	if (p != NULL)
		cluster_room_sent(c, p->spec, patch);
	for (size_t i = 0; sized && i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL && p->members[i].managed->container.annotated)
			record_first(p->members[i].managed);
	for (size_t i = 0; p != NULL && i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			p->members[i].managed->restart.oom_kills_before =
				p->members[i].managed->restart.oom_kills;
	for (size_t i = 0; p != NULL && i < patch->count; i++) {
		const struct report_item *item = &patch->item[i];
		const struct kube_container *k = &p->spec->containers[item->container];
		struct managed *m = p->members[item->container].managed;

		if (m == NULL)
			continue;
		if (restarts(k, item))
			restart_sent(m);
		record_sent(m, item, k);
		/* The spec leads: the kubelet may write it before we have written anything. */
		if (sized)
			originals_touch(m);
	}
}

/* The container was not restarted: its OOM kills are not answered yet. */
static void on_unsent(void *ctx, const char *uid)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->pods, uid);

	for (size_t i = 0; p != NULL && i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			p->members[i].managed->restart.oom_kills =
				p->members[i].managed->restart.oom_kills_before;
}

/* After an external change of the spec no earlier refusal holds. */
static void on_foreign(void *ctx, const char *uid, size_t container, uint32_t)
{
	struct managed *m = member_of(ctx, uid, container);
	struct cluster *c = ctx;

	c->bounds_due = true;
	for (size_t i = 0; m != NULL && i < m->pod->spec->container_count; i++)
		if (m->pod->members[i].managed != NULL)
			pod_set_bounds(m->pod->members[i].managed);
}

static void on_ratified(void *ctx, const char *uid, uint64_t generation)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->pods, uid);
	usec_t sent_at = reporter_sent_at(c->reporter, uid);

	daemon_wake(c->wake);
	if (p == NULL)
		return;
	event_tell(EVENT_REPORT_RATIFIED, .who = message_pod(p->spec), .count = generation);
	/* A resize that a former run of the daemon sent has no time here, and gets no Event. */
	if (sent_at != 0) {
		counters_took(&c->tally->apply[BACKEND_API], c->wake->now - sent_at);
		note_ratified(c, p);
	}
	for (size_t i = 0; i < p->spec->container_count; i++) {
		const struct kube_container *k = &p->spec->containers[i];
		struct managed *m = p->members[i].managed;

		if (m == NULL)
			continue;
		persist_ratified(m, has_our_values(m, k));
		/* Admission may have made another value of it. */
		persist_sent(m, k->spec.limit, k->spec.limit);
		/* What it had refused before may be allowed now. */
		pod_set_bounds(m);
	}
	cluster_forget_late(c, p);
}

static void on_contested(void *ctx, const char *uid, const char *text)
{
	struct cluster *c = ctx;
	struct pod *p = pods_find(c->pods, uid);

	daemon_wake(c->wake);
	if (p == NULL)
		return;
	event_tell(EVENT_MEMORY_CONTESTED, .who = message_pod(p->spec), .detail = text);
	note(c, p->spec, "Warning", "MemoryLimitContested", "Resize", text);
}

static void on_trouble(void *ctx, const char *text)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	snprintf(c->write_trouble, sizeof c->write_trouble, "%s", text != NULL ? text : "");
	if (text != NULL)
		event_tell(EVENT_API_REFUSES, .detail = text);
}

static void on_wake(void *ctx)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	c->bounds_due = true;
}

static void on_bounds(void *ctx)
{
	((struct cluster *)ctx)->bounds_due = true;
}

static void on_clock(void *ctx, usec_t *ret_boot, usec_t *ret_real)
{
	struct cluster *c = ctx;

	daemon_wake(c->wake);
	*ret_boot = c->wake->now;
	*ret_real = c->wake->now_real;
}

/* --- hooks of the pods --- */

/* The reporter reads the new spec first, and finds the values of external writers in it. */
static void hook_decide(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	reporter_decide_now(c->reporter, pod->uid, c->wake->now);
}

static bool hook_expects(void *ctx, const struct kube_pod *pod, const char *container,
			 enum resource r, uint64_t *ret)
{
	struct cluster *c = ctx;
	const struct kube_container *k = kube_pod_container(pod, container);

	if (reporter_foreign(c->reporter, pod->uid, (size_t)(k - pod->containers)) & (1u << r))
		return false;
	*ret = k->spec.limit[r];
	return true;
}

static bool hook_pending(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	return reporter_pending(c->reporter, pod->uid);
}

static bool hook_unsent(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	return reporter_unsent(c->reporter, pod->uid);
}

static void hook_note(void *ctx, const struct kube_pod *pod, const char *type, const char *reason,
		      const char *action, const char *text)
{
	note(ctx, pod, type, reason, action, text);
}

static void hook_put(void *ctx, const struct kube_pod *pod)
{
	struct cluster *c = ctx;

	reporter_changed(c->reporter, pod->uid, c->wake->now);
}

static void hook_gone(void *ctx, const char *uid)
{
	struct cluster *c = ctx;

	reporter_forget(c->reporter, uid);
	recorder_forget(c->recorder, uid);
}

static bool is_observed(const struct cluster *c, const struct kube_pod *pod)
{
	const struct pod *p = pods_find(c->pods, pod->uid);

	return p != NULL && p->observed;
}

/* NULL: not known, or without effect. */
static const struct cluster_range *range_of(struct cluster *c, const struct kube_pod *pod)
{
	return is_observed(c, pod) ? NULL : cluster_range_of(c, pod->namespace);
}

/* Can the API server accept a higher memory limit of this pod now? */
static bool ratifies(struct cluster *c, const struct kube_pod *pod)
{
	const struct cluster_range *range = range_of(c, pod);

	return !pod->deleting && c->watch != NULL && kube_watch_state(c->watch)->healthy &&
	       range != NULL && range->at.list.known &&
	       reporter_ratifies(c->reporter, pod->uid, c->wake->now);
}

static uint32_t unratified_permille(const struct cluster *c, const struct kube_container *k,
				    bool ratifies)
{
	return ratifies && !(k->restart_on_resize & RESOURCES_MEMORY)
		       ? 0
		       : c->config->kubernetes.unratified_permille;
}

static void bound_pod(const struct pod *p)
{
	for (size_t i = 0; i < p->spec->container_count; i++)
		if (p->members[i].managed != NULL)
			pod_set_bounds(p->members[i].managed);
}

void cluster_bounds_tick(struct cluster *c, bool review)
{
	if (!review && !c->bounds_due)
		return;
	c->bounds_due = false;
	for (size_t i = 0; i < c->pods->count; i++) {
		bound_pod(c->pods->items[i]);
		if (review)
			cluster_forget_late(c, c->pods->items[i]);
	}
}

static void hook_bounds(void *ctx, const struct kube_pod *pod, const char *container,
			struct pod_bounds *b)
{
	struct cluster *c = ctx;
	const struct cluster_range *known = range_of(c, pod);
	const struct kube_container *k = kube_pod_container(pod, container);
	size_t i = (size_t)(k - pod->containers);

	cluster_autoscalers_bound(c, pod, b);
	b->unratified_permille = unratified_permille(c, k, ratifies(c, pod));
	b->ranges_unknown = known != NULL && !known->at.list.known;
	b->requests_unknown |= b->ranges_unknown && (b->requests_move || b->limits_stay);
	b->growth_held = !(k->restart_on_resize & RESOURCES_MEMORY) &&
			 reporter_tries(c->reporter, pod->uid, c->wake->now);
	if (known != NULL)
		cluster_range_bound(c, pod, k, b);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct pod_resource_bounds *x = &b->resource[r];
		usec_t until = 0;
		uint64_t allowed =
			reporter_allows(c->reporter, pod->uid, i, r, c->wake->now, &until);

		if (allowed == LIMIT_MAX)
			continue;
		x->refused = allowed;
		x->refused_until = until;
		if (r == RESOURCE_MEMORY)
			b->unratified_permille = unratified_permille(c, k, false);
	}
}

/* --- start --- */

int cluster_report_start(struct cluster *c)
{
	const struct config_kubernetes *k = &c->config->kubernetes;
	const struct recorder_options recorder = {
		.instance = c->node,
		.ctx = c,
		.clock = on_clock,
	};
	const struct reporter_options options = {
		.tuning = k->report,
		.rate =
			{
				.interval_usec = k->write_interval_usec,
				.burst = k->write_burst,
				.spread_usec = SPREAD_USEC,
			},
		.status_interval_usec = k->status_interval_usec,
		.seed = (uint64_t)c->wake->now_real,
	};
	const struct reporter_events events = {
		.ctx = c,
		.facts = cluster_facts,
		.refused = on_refused,
		.verify = on_verify,
		.write = on_write,
		.sending = on_sending,
		.unsent = on_unsent,
		.ratified = on_ratified,
		.foreign = on_foreign,
		.contested = on_contested,
		.trouble = on_trouble,
		.wake = on_wake,
		.bounds = on_bounds,
		.clock = on_clock,
	};
	int r = recorder_new(&c->port, &recorder, &c->recorder);

	if (r == 0)
		r = reporter_new(&c->port, c->recorder, &options, &events, &c->reporter);
	if (r < 0)
		return r;
	pods_set_hooks(c->pods, &(struct pod_hooks){
					.ctx = c,
					.decide = hook_decide,
					.expects = hook_expects,
					.pending = hook_pending,
					.unsent = hook_unsent,
					.note = hook_note,
					.put = hook_put,
					.gone = hook_gone,
					.bounds = hook_bounds,
					.view = cluster_hook_view,
					.status = cluster_hook_status,
				});
	return 0;
}

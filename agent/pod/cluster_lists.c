// SPDX-License-Identifier: Apache-2.0
/* What the API server is asked for again and again: of each namespace, for as long as pods here
 * need it, LimitRanges and autoscalers; the annotations of all namespaces; the Node.
 * An answer that is of no use changes nothing that was read before; only a right to list
 * LimitRanges or autoscalers that was never there makes them none. */
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "agent/pod/pods.h"
#include "cgroup/kubepods.h"
#include "policy/base/base.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Before an Event says that nothing of use comes. */
#define SILENT_USEC (5 * USEC_PER_MIN)
/* After so many failures (2 min) pods with a mode of their own are sized without the annotations of
 * namespaces, and those that were sized before and have none are left as they are. */
#define FAILURES_MAX 3

static bool is_useful(const struct kube_answer *a)
{
	return a->error == 0 && a->status == 200;
}

/* --- by namespace --- */

/* NULL: not known. */
static struct namespace_entry *autoscalers_of(const struct cluster *c, enum autoscaler_kind kind,
					      const struct pod *p)
{
	return (struct namespace_entry *)ask_find(&c->lists[kind], p->spec->namespace);
}

static bool is_in(const struct pod *p, const struct namespace_entry *e)
{
	return strcmp(p->spec->namespace, e->ask.key) == 0;
}

/* Of the namespace's pods, at once. */
static void set_bounds(const struct namespace_entry *e)
{
	const struct pods *pods = e->ask.table->cluster->pods;

	PODS_FOREACH (p, pods)
		if (is_in(p, e))
			pod_bound_all(p);
}

/* The API server gives no answer that is of use. */
struct namespace_note {
	const char *reason, *text;
	bool (*concerns)(const struct managed *m);
};

/* An answer was of no use. Once it has been so for 5 min, the containers of the namespace that it
 * concerns get an Event, one in all: text, and what was wrong with the answer; detail: of its
 * decoder. */
static void failed(struct namespace_entry *e, const struct namespace_note *note,
		   const struct kube_answer *a, const char *detail)
{
	const struct pods *pods = e->ask.table->cluster->pods;
	char status[32];

	if (e->failing_since == 0)
		e->failing_since = pods->wake->now;
	if (e->reported || pods->wake->now - e->failing_since < SILENT_USEC)
		return;
	e->reported = true;
	snprintf(status, sizeof status, "status %u", a->status);
	if (a->error != 0)
		detail = a->detail;
	else if (a->status != 200 || detail[0] == '\0')
		detail = status;
	PODS_FOREACH (p, pods)
		POD_FOREACH (m, p)
			if (is_in(m->pod, e) && note->concerns(m))
				pod_warn(m->pod, note->reason, "Resize", "%s (%s)", note->text,
					 detail);
}

/* --- LimitRanges, of namespaces with managed pods --- */

static bool is_sized(const struct managed *m)
{
	return m->container.annotated && m->container.rule.rule.mode != MODE_OFF;
}

static const struct namespace_note note_unknown = {
	.reason = "LimitRangesUnknown",
	.text = "limits may exceed the LimitRanges of the namespace and be refused: the "
		"LimitRanges cannot be listed",
	.concerns = is_sized,
};

/* Until the first answer requests stay, and no limit is bounded: who is throttled does not wait for
 * the list, and the API server refuses what passes a LimitRange. */
static void on_ranges(struct ask *ask, const struct kube_answer *a)
{
	struct namespace_entry *e = (struct namespace_entry *)ask;
	struct kube_limit_range fresh = {.container = {.min = {0}}};
	struct kube_decode_error err = {.text = ""};
	bool read = is_useful(a) && kube_decode_limit_ranges(a->body, a->len, &fresh, &err) == 0;
	bool known = ask->known;

	if (ask_answered(ask, a, read)) {
		known = known && memcmp(&fresh, &e->range, sizeof fresh) == 0;
		e->range = fresh;
		if (!known)
			set_bounds(e);
	} else if (!known) {
		failed(e, &note_unknown, a, err.text);
	}
	cluster_ranges_first(ask->table->cluster);
}

static void mark_ranges(struct ask_table *t)
{
	PODS_FOREACH (p, t->cluster->pods)
		if (!p->observed)
			ask_use(t, p->spec->namespace, 0);
}

const struct namespace_entry *cluster_ranges_of(struct cluster *c, const char *namespace)
{
	return (struct namespace_entry *)ask_use(&c->lists[LIST_RANGES], namespace, 0);
}

/* What stands beside the container that they bound. */
struct beside {
	uint64_t limit;   /* sum of the other containers', in the spec or held */
	uint64_t request; /* of all containers */
};

/* The lower one of two upper bounds; 0: not set. */
static uint64_t stricter(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static struct beside beside_of(const struct pod *p, const struct kube_container *self,
			       enum resource r)
{
	const struct kube_pod *pod = p->spec;
	struct beside b = {0, 0};

	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kube_container *k = &pod->containers[i];
		const struct managed *m = p->members[i].managed;
		uint64_t limit = k->spec.limit[r];

		if (k->kind != CONTAINER_APP && k->kind != CONTAINER_SIDECAR)
			continue;
		b.request = add_sat(b.request, k->spec.request[r]);
		if (k == self || limit == LIMIT_MAX)
			continue;
		if (m != NULL && m->control.resource[r].managed &&
		    m->control.resource[r].limit != LIMIT_MAX)
			limit = MAX(limit, m->control.resource[r].limit);
		b.limit = add_sat(b.limit, limit);
	}
	return b;
}

/* A LimitRange of type Pod bounds a sum: a container gets what the others leave of it. It never has
 * to go below its limit in the spec, which the API server has accepted. */
static struct range share_of_pod(const struct kube_range_bounds *range, const struct beside *b,
				 uint64_t spec, bool requests_move, enum resource r)
{
	uint64_t least = range->min[r], most = range->max[r];

	if (range->ratio_permille[r] != 0 && b->request != 0 && !requests_move)
		most = stricter(most, scale_permille(b->request, range->ratio_permille[r]));
	if (spec == LIMIT_MAX)
		return (struct range){0};
	return (struct range){
		.min = least > b->limit ? MIN(least - b->limit, spec) : 0,
		.max = most != 0 ? MAX(most - MIN(most, b->limit), spec) : 0,
	};
}

void cluster_range_bound(const struct kube_limit_range *range, const struct pod *p,
			 const struct kube_container *k, struct pod_bounds *b)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct pod_resource_bounds *x = &b->resource[r];
		struct beside beside = beside_of(p, k, r);
		struct range share = share_of_pod(&range->pod, &beside, k->spec.limit[r],
						  b->requests_move || b->limits_stay, r);

		x->container_range.min = range->container.min[r];
		x->container_range.max = range->container.max[r];
		x->namespace.min = MAX(x->container_range.min, share.min);
		x->namespace.max = stricter(x->container_range.max, share.max);
		x->ratio_permille = range->container.ratio_permille[r];
	}
}

void cluster_ranges_first(struct cluster *c)
{
	ask_first(&c->lists[LIST_RANGES]);
}

/* --- autoscalers: HorizontalPodAutoscalers of namespaces where vscaled moves requests,
 * VerticalPodAutoscalers of those where it sizes pods --- */

static bool moves_requests(const struct managed *m)
{
	return m->config->kubernetes.autoscalers && m->kind == UNIT_KIND_CONTAINER &&
	       m->container.annotated && m->container.rule.controlled != CONTROLLED_LIMITS &&
	       m->container.rule.rule.mode != MODE_OFF;
}

/* Requests wait for the first answer. */
static const struct namespace_note note_waits = {
	.reason = "RequestsWait",
	.text = "requests are not sized: autoscalers cannot be listed; "
		"kubernetes.autoscalers: false sizes them anyway",
	.concerns = moves_requests,
};

static void on_autoscalers(struct ask *ask, const struct kube_answer *a)
{
	struct namespace_entry *e = (struct namespace_entry *)ask;
	struct cluster *c = ask->table->cluster;
	enum autoscaler_kind kind = (enum autoscaler_kind)(ask->table - c->lists);
	struct kube_autoscalers fresh = {0};
	struct kube_decode_error err = {.text = ""};
	/* A cluster without the resource has none. */
	bool none = kind == AUTOSCALER_VERTICAL && a->error == 0 && a->status == 404;
	bool read = none || (is_useful(a) &&
			     kube_decode_autoscalers(kind, a->body, a->len, &fresh, &err) == 0);

	if (!ask_answered(ask, a, read)) {
		if (!ask->known)
			failed(e, &note_waits, a, err.text);
		return;
	}
	kube_autoscalers_drop(&e->autoscalers);
	e->autoscalers = fresh;
	PODS_FOREACH (p, c->pods)
		if (p->sizes && is_in(p, e))
			pod_apply_rules(p);
	/* The first pass has noted the owners of pods. */
	set_bounds(e);
}

static void drop_autoscalers(struct ask *a)
{
	kube_autoscalers_drop(&((struct namespace_entry *)a)->autoscalers);
}

/* They matter where requests move, the others wherever a pod is to be sized. */
static void mark_horizontal(struct ask_table *t)
{
	UNITS_FOREACH (m, t->cluster->units)
		if (moves_requests(m))
			ask_use(t, m->pod->spec->namespace, 0);
}

static void mark_vertical(struct ask_table *t)
{
	PODS_FOREACH (p, t->cluster->pods)
		if (p->sizes && t->cluster->config->kubernetes.autoscalers)
			ask_use(t, p->spec->namespace, 0);
}

/* Is an object above its owner the pod's? */
static bool counts_above(const struct pod *p)
{
	bool above = true;

	POD_FOREACH (m, p)
		above &= !m->container.rule.not_autoscaled;
	return above;
}

/* above: an object above its owner counts, too. */
static const char *autoscaler_of(const struct cluster *c, enum autoscaler_kind kind,
				 const struct pod *p, bool above, enum resource r)
{
	const struct namespace_entry *e = autoscalers_of(c, kind, p);

	return e != NULL ? kube_autoscaler_of(&e->autoscalers, kube_pod_kind(p->spec),
					      p->spec->workload, above, r)
			 : NULL;
}

const char *cluster_autoscaler_of(const struct cluster *c, enum autoscaler_kind kind,
				  const struct pod *p, enum resource r)
{
	return autoscaler_of(c, kind, p, counts_above(p), r);
}

bool cluster_autoscaled(const struct pod *p)
{
	const struct cluster *c = p->pods->cluster;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (autoscaler_of(c, AUTOSCALER_VERTICAL, p, false, r) != NULL)
			return true;
	return false;
}

void cluster_autoscalers_bound(struct cluster *c, const struct pod *p, struct pod_bounds *b)
{
	const struct kube_pod *pod = p->spec;
	bool move = c->config->kubernetes.autoscalers && (b->requests_move || b->limits_stay);
	uint32_t stay[AUTOSCALER_KIND_COUNT] = {0};

	for (enum autoscaler_kind kind = 0; kind < AUTOSCALER_KIND_COUNT; kind++) {
		struct namespace_entry *e = autoscalers_of(c, kind, p);

		if (e != NULL)
			kube_autoscalers_owner(&e->autoscalers, kube_pod_kind(pod), pod->workload);
		b->requests_unknown |= move && (e == NULL || !e->ask.known);
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			if ((move || kind == AUTOSCALER_VERTICAL) &&
			    cluster_autoscaler_of(c, kind, p, r) != NULL)
				stay[kind] |= 1u << r;
	}
	b->requests_stay = stay[AUTOSCALER_HORIZONTAL] | stay[AUTOSCALER_VERTICAL];
	/* That one keeps the ratio of limits to requests. */
	b->limits_frozen = stay[AUTOSCALER_VERTICAL];
	/* Its limit would take the request along. */
	if (b->guaranteed && b->requests_stay != 0)
		b->requests_move = false;
}

/* --- annotations of all namespaces, metadata alone --- */

static void on_namespaces(struct ask *ask, const struct kube_answer *a)
{
	struct cluster *c = ask->table->cluster;
	OWN(kube_namespaces_drop) struct kube_namespaces fresh = {0};
	struct kube_decode_error err;
	bool read = is_useful(a) && kube_decode_namespaces(a->body, a->len, &fresh, &err) == 0;

	ask_answered(ask, a, read);
	if (read) {
		pods_set_namespaces(c->pods, &fresh);
	} else if (++c->namespaces_failed == FAILURES_MAX) {
		c->pods->list_due |= c->pods->namespaces_awaited && !c->pods->namespaces_late;
		c->pods->namespaces_late = true;
	}
}

static void mark_namespaces(struct ask_table *t)
{
	if (t->cluster->config->kubernetes.namespace_annotations)
		ask_use(t, "", 0);
}

/* --- the Node --- */

static void on_node(struct ask *ask, const struct kube_answer *a)
{
	struct cluster *c = ask->table->cluster;
	struct kube_decode_error err;
	bool read = is_useful(a) && kube_decode_node(a->body, a->len, &c->node_object, &err) == 0;

	ask_answered(ask, a, read);
	c->node_read |= read;
}

static void mark_node(struct ask_table *t)
{
	ask_use(t, t->cluster->node, 0);
}

const struct kube_node *cluster_node_of(const struct cluster *c)
{
	return c->node_read ? &c->node_object : NULL;
}

/* From this release on a kubelet takes a lower memory limit without pod-level statistics; before,
 * it panics (kubernetes#141100, mended for 1.38). No mended patch release is known: 1.36.3 took
 * lower limits on a cluster with containerd. 1.33 has no such check, and its API server refuses
 * them. */
static const struct {
	unsigned minor, patch;
} faulty_before[] = {{34, UINT_MAX}, {35, UINT_MAX}, {36, 3}, {37, UINT_MAX}};

static bool node_version(const struct cluster *c, unsigned *ret_minor, unsigned *ret_patch)
{
	return c->node_read &&
	       sscanf(c->node_object.kubelet_version, "v1.%u.%u", ret_minor, ret_patch) == 2;
}

bool cluster_node_decreases(const struct cluster *c)
{
	unsigned minor, patch;

	if (!node_version(c, &minor, &patch))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(faulty_before); i++)
		if (minor == faulty_before[i].minor)
			return patch >= faulty_before[i].patch;
	return true;
}

/* InPlacePodLevelResourcesVerticalScaling is on from then on. Before, the API server, which is not
 * older than its kubelets, refuses every resize of such a pod. */
#define POD_RESIZE_MINOR 36

bool cluster_resizes(const struct cluster *c, const struct kube_pod *pod)
{
	unsigned minor, patch;

	return !pod->pod_resources ||
	       (node_version(c, &minor, &patch) && minor >= POD_RESIZE_MINOR);
}

/* --- its name: with a wrong one nothing would be sized, without an error --- */

/* A cgroup may outlive its pod for a moment, or appear a moment after the pod is listed. */
#define NOWHERE_USEC (30 * USEC_PER_SEC)

/* At first; twice as long after each search that finds nothing, since some nodes have nothing. */
#define SEARCH_USEC     (5 * USEC_PER_SEC)
#define SEARCH_MAX_USEC (5 * USEC_PER_MIN)

void cluster_node_note(struct cluster *c, const struct kube_pod *pod)
{
	char path[KUBEPODS_PATH_MAX];

	c->here = c->here || host_find_pod(c->units->host, pod->cgroup_uid, path) == 0;
	if (c->here || strcmp(pod->phase, "Running") != 0 || c->wake->now < c->search_at)
		return;
	c->search_usec = MIN(MAX(2 * c->search_usec, SEARCH_USEC), SEARCH_MAX_USEC);
	c->search_at = c->wake->now + c->search_usec;
	if (kubepods_search(c->units->host->root, pod->cgroup_uid, path, sizeof path) < 0)
		return;
	c->here = true;
	snprintf(c->units->host->kubelet_root, sizeof c->units->host->kubelet_root, "%s", path);
}

void cluster_node_check(struct cluster *c)
{
	if (!c->pods->synced)
		return;
	/* One that came before its cgroup, or was not the one to search for. */
	if (!c->here && c->pods->count > 0)
		cluster_node_note(c, c->pods->items[c->searched++ % c->pods->count]->spec);
	if (c->here || !kubepods_any_pod(c->units->host->root, c->units->host->kubelet_root)) {
		c->nowhere_since = 0;
		c->units->host->name_wrong = false;
		return;
	}
	if (c->nowhere_since == 0)
		c->nowhere_since = c->wake->now;
	if (c->units->host->name_wrong || c->wake->now - c->nowhere_since < NOWHERE_USEC)
		return;
	c->units->host->name_wrong = true;
	event_tell(EVENT_NODE_NAME_WRONG, .detail = c->node);
}

/* --- all of them --- */

/* clang-format off */
static const struct ask_kind kinds[LIST_COUNT] = {
	[LIST_HORIZONTAL] = {sizeof(struct namespace_entry),
		"/apis/autoscaling/v2/namespaces/", "/horizontalpodautoscalers",
		.fresh_usec = 10 * USEC_PER_MIN, .event = EVENT_LIST_DENIED,
		.detail = "HorizontalPodAutoscalers (role vscaled-autoscalers): those that were not read before are not respected",
		.mark = mark_horizontal, .answered = on_autoscalers, .drop = drop_autoscalers},
	[LIST_VERTICAL] = {sizeof(struct namespace_entry),
		"/apis/autoscaling.k8s.io/v1/namespaces/", "/verticalpodautoscalers",
		.fresh_usec = 10 * USEC_PER_MIN, .event = EVENT_LIST_DENIED,
		.detail = "VerticalPodAutoscalers (role vscaled-autoscalers): of those that were not read before, marks on pods alone are respected",
		.mark = mark_vertical, .answered = on_autoscalers, .drop = drop_autoscalers},
	[LIST_NAMESPACES] = {sizeof(struct ask), "/api/v1/namespaces?resourceVersion=0", "",
		.request.metadata_only = true, .fresh_usec = 5 * USEC_PER_MIN,
		.event = EVENT_NAMESPACES_DENIED, .mark = mark_namespaces, .answered = on_namespaces},
	/* Changes when the kubelet restarts with another configuration or release; what is outdated
	 * costs one refusal by the kubelet. */
	[LIST_NODE] = {sizeof(struct ask), "/api/v1/nodes/", "",
		.fresh_usec = USEC_PER_HOUR, .event = EVENT_LIST_DENIED,
		.detail = "its Node (nodes: get): no request is raised unless it was read before",
		.mark = mark_node, .answered = on_node},
	[LIST_RANGES] = {sizeof(struct namespace_entry), "/api/v1/namespaces/", "/limitranges",
		.fresh_usec = 10 * USEC_PER_MIN, .event = EVENT_LIST_DENIED,
		.detail = "LimitRanges (role vscaled-read): those that were not read before are not respected",
		.first_max = 4, .mark = mark_ranges, .answered = on_ranges},
};
/* clang-format on */

void cluster_lists_start(struct cluster *c)
{
	for (size_t i = 0; i < LIST_COUNT; i++)
		c->lists[i] = (struct ask_table){.kind = &kinds[i], .cluster = c, .port = &c->port};
	c->kin = (struct ask_table){.kind = &cluster_kin_kind, .cluster = c, .port = &c->port};
}

void cluster_lists_tick(struct cluster *c, bool review)
{
	ask_tick(&c->kin);
	for (size_t i = 0; i < (review ? LIST_COUNT : LIST_RANGES); i++)
		ask_tick(&c->lists[i]);
}

void cluster_lists_free(struct cluster *c)
{
	for (size_t i = 0; i < LIST_COUNT; i++)
		ask_free(&c->lists[i]);
	ask_free(&c->kin);
}

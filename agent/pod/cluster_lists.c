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
#define PATH_BYTES  384

#define RETRY_USEC USEC_PER_MIN
/* A role may be on its way until then; afterwards it is asked for this seldom. */
#define DOUBT_USEC  (5 * USEC_PER_MIN)
#define DENIED_USEC (10 * USEC_PER_MIN)
/* Requests for LimitRanges of namespaces that are new to us. */
#define FIRST_MAX 4
/* After so many failures (2 min) pods with a mode of their own are sized without the annotations of
 * namespaces, and those that were sized before and have none are left as they are. */
#define FAILURES_MAX 3

enum refresh_kind {
	/* As the kinds of autoscalers. */
	REFRESH_HORIZONTAL,
	REFRESH_VERTICAL,
	REFRESH_RANGES,
	REFRESH_NAMESPACES,
	REFRESH_NODE,
	REFRESH_KIND_COUNT,
};

/* clang-format off */
static const struct {
	usec_t fresh_usec;
	enum event_kind event;
	const char *detail;
} kinds[REFRESH_KIND_COUNT] = {
	[REFRESH_HORIZONTAL] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"HorizontalPodAutoscalers (role vscaled-autoscalers): those that were not read before are not respected"},
	[REFRESH_VERTICAL] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"VerticalPodAutoscalers (role vscaled-autoscalers): of those that were not read before, marks on pods alone are respected"},
	[REFRESH_RANGES] = {10 * USEC_PER_MIN, EVENT_LIST_DENIED,
		"LimitRanges (role vscaled-read): those that were not read before are not respected"},
	[REFRESH_NAMESPACES] = {5 * USEC_PER_MIN, EVENT_NAMESPACES_DENIED, NULL},
	/* Changes when the kubelet restarts with another configuration or release; what is outdated
	 * costs one refusal by the kubelet. */
	[REFRESH_NODE] = {USEC_PER_HOUR, EVENT_LIST_DENIED,
		"its Node (nodes: get): no request is raised unless it was read before"},
};
/* clang-format on */

static bool is_healthy(const struct cluster *c)
{
	return c->watch != NULL && kube_watch_state(c->watch)->healthy;
}

/* Nothing is under way, and it is time. */
static bool is_due(const struct cluster *c, const struct refresh *r)
{
	return r->call == NULL && r->ask_at <= c->wake->now && is_healthy(c);
}

static void ask(struct cluster *c, struct refresh *r, const struct kube_request *request,
		kube_done_fn *done, void *arg)
{
	if (c->port.start(c->port.ctx, request, done, arg, &r->call) < 0)
		r->ask_at = c->wake->now + RETRY_USEC;
}

static bool is_useful(const struct kube_answer *a)
{
	return a->error == 0 && a->status == 200;
}

/* Notes the answer and when to ask again. read: it was of use. True: known, and changed by that. A
 * right that is missing for 5 min is reported, once per kind. */
static bool answered(struct cluster *c, enum refresh_kind kind, struct refresh *r,
		     const struct kube_answer *a, bool read)
{
	bool denied = a->error == 0 && (a->status == 403 || a->status == 404), before = r->known;
	usec_t now;

	r->call = NULL;
	daemon_wake(c->wake);
	now = c->wake->now;
	if (read) {
		*r = (struct refresh){
			.ask_at = now + kinds[kind].fresh_usec, .read = true, .known = true};
		return true;
	}
	r->ask_at = now + MAX(a->retry_after_usec, RETRY_USEC);
	if (!denied)
		r->denied_since = 0;
	else if (r->denied_since == 0)
		r->denied_since = now;
	if (!denied || now - r->denied_since < DOUBT_USEC)
		return false;
	r->ask_at = now + DENIED_USEC;
	r->known = true;
	if (!(c->denied & (1u << kind)))
		event_tell(kinds[kind].event, .detail = kinds[kind].detail);
	c->denied |= 1u << kind;
	return !before;
}

static void cancel(struct cluster *c, struct refresh *r)
{
	if (r->call != NULL)
		c->port.cancel(c->port.ctx, r->call);
	r->call = NULL;
}

/* --- by namespace --- */

/* NULL: not known. */
static struct namespace_entry *find(const struct namespace_table *t, const char *namespace)
{
	for (size_t i = 0; i < t->count; i++)
		if (strcmp(t->items[i]->namespace, namespace) == 0)
			return t->items[i];
	return NULL;
}

static struct namespace_entry *add(struct cluster *c, struct namespace_table *t,
				   const char *namespace)
{
	struct namespace_entry *e = calloc(1, sizeof *e);
	void *grown = reallocarray(t->items, t->count + 1, sizeof(struct namespace_entry *));

	if (grown != NULL)
		t->items = grown;
	if (e != NULL)
		e->namespace = strdup(namespace);
	if (e == NULL || grown == NULL || e->namespace == NULL) {
		free(e != NULL ? e->namespace : NULL);
		free(e);
		return NULL;
	}
	e->cluster = c;
	t->items[t->count++] = e;
	return e;
}

/* Marks it as used. NULL: no memory for a new one. */
static struct namespace_entry *use(struct cluster *c, struct namespace_table *t,
				   const char *namespace)
{
	struct namespace_entry *e = find(t, namespace);

	if (e == NULL)
		e = add(c, t, namespace);
	if (e != NULL)
		e->used = true;
	return e;
}

static void unmark(struct namespace_table *t)
{
	for (size_t i = 0; i < t->count; i++)
		t->items[i]->used = false;
}

static void forget_unused(struct namespace_table *t)
{
	for (size_t i = t->count; i-- > 0;) {
		struct namespace_entry *e = t->items[i];

		if (e->used)
			continue;
		t->items[i] = t->items[--t->count];
		cancel(e->cluster, &e->list);
		kube_autoscalers_drop(&e->autoscalers);
		free(e->namespace);
		free(e);
	}
}

static void free_table(struct namespace_table *t)
{
	unmark(t);
	forget_unused(t);
	free(t->items);
	*t = (struct namespace_table){0};
}

/* The one that is due for longest; NULL: none, or another one is being asked for. One at a time, so
 * that a node with many namespaces sends no burst. */
static struct namespace_entry *next_due(const struct namespace_table *t, usec_t now)
{
	struct namespace_entry *next = NULL;

	for (size_t i = 0; i < t->count; i++) {
		struct namespace_entry *e = t->items[i];

		if (e->list.call != NULL)
			return NULL;
		if (e->list.ask_at <= now && (next == NULL || e->list.ask_at < next->list.ask_at))
			next = e;
	}
	return next;
}

static bool is_in(const struct pod *p, const struct namespace_entry *e)
{
	return strcmp(p->spec->namespace, e->namespace) == 0;
}

/* Of the namespace's pods, at once. */
static void set_bounds(const struct namespace_entry *e)
{
	const struct pods *pods = e->cluster->pods;

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
	const struct pods *pods = e->cluster->pods;
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
static void on_ranges(void *arg, const struct kube_answer *a)
{
	struct namespace_entry *e = arg;
	struct cluster *c = e->cluster;
	struct kube_limit_range fresh = {.container = {.min = {0}}};
	struct kube_decode_error err = {.text = ""};
	bool read = is_useful(a) && kube_decode_limit_ranges(a->body, a->len, &fresh, &err) == 0;
	bool known = e->list.known;

	if (answered(c, REFRESH_RANGES, &e->list, a, read)) {
		known = known && memcmp(&fresh, &e->range, sizeof fresh) == 0;
		e->range = fresh;
		if (!known)
			set_bounds(e);
	} else if (!known) {
		failed(e, &note_unknown, a, err.text);
	}
	cluster_ranges_first(c);
}

static void ask_ranges(struct namespace_entry *e)
{
	char path[PATH_BYTES];
	const struct kube_request request = {.method = "GET", .path = path};

	/* A namespace is a DNS label, checked by the decoder: nothing to escape. */
	snprintf(path, sizeof path, "/api/v1/namespaces/%s/limitranges", e->namespace);
	ask(e->cluster, &e->list, &request, on_ranges, e);
}

const struct namespace_entry *cluster_ranges_of(struct cluster *c, const char *namespace)
{
	return use(c, &c->ranges, namespace);
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
	size_t calls = 0;

	for (size_t i = 0; i < c->ranges.count; i++)
		calls += c->ranges.items[i]->list.call != NULL;
	for (size_t i = 0; i < c->ranges.count && calls < FIRST_MAX; i++) {
		struct namespace_entry *e = c->ranges.items[i];

		if (e->list.known || !is_due(c, &e->list))
			continue;
		ask_ranges(e);
		calls += e->list.call != NULL;
	}
}

void cluster_ranges_tick(struct cluster *c)
{
	struct namespace_entry *next;

	unmark(&c->ranges);
	PODS_FOREACH (p, c->pods)
		if (!p->observed)
			use(c, &c->ranges, p->spec->namespace);
	forget_unused(&c->ranges);
	cluster_ranges_first(c);
	next = next_due(&c->ranges, c->wake->now);
	if (next != NULL && is_healthy(c))
		ask_ranges(next);
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

static void on_autoscalers(void *arg, const struct kube_answer *a)
{
	struct namespace_entry *e = arg;
	const struct pods *pods = e->cluster->pods;
	struct kube_autoscalers fresh = {0};
	struct kube_decode_error err = {.text = ""};
	/* A cluster without the resource has none. */
	bool none = e->kind == AUTOSCALER_VERTICAL && a->error == 0 && a->status == 404;
	bool read = none || (is_useful(a) &&
			     kube_decode_autoscalers(e->kind, a->body, a->len, &fresh, &err) == 0);

	if (!answered(e->cluster, (enum refresh_kind)e->kind, &e->list, a, read)) {
		if (!e->list.known)
			failed(e, &note_waits, a, err.text);
		return;
	}
	kube_autoscalers_drop(&e->autoscalers);
	e->autoscalers = fresh;
	PODS_FOREACH (p, pods)
		if (p->sizes && is_in(p, e))
			pod_apply_rules(p);
	/* The first pass has noted the owners of pods. */
	set_bounds(e);
}

/* HorizontalPodAutoscalers matter where requests move, the others wherever a pod is to be sized. */
static void mark_autoscalers(struct cluster *c)
{
	UNITS_FOREACH (m, c->units)
		if (moves_requests(m))
			use(c, &c->autoscalers[AUTOSCALER_HORIZONTAL], m->pod->spec->namespace);
	PODS_FOREACH (p, c->pods)
		if (p->sizes && c->config->kubernetes.autoscalers)
			use(c, &c->autoscalers[AUTOSCALER_VERTICAL], p->spec->namespace);
}

void cluster_autoscalers_tick(struct cluster *c)
{
	static const char *const paths[AUTOSCALER_KIND_COUNT] = {
		"/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers",
		"/apis/autoscaling.k8s.io/v1/namespaces/%s/verticalpodautoscalers",
	};

	for (size_t i = 0; i < AUTOSCALER_KIND_COUNT; i++)
		unmark(&c->autoscalers[i]);
	mark_autoscalers(c);
	for (size_t i = 0; i < AUTOSCALER_KIND_COUNT; i++) {
		struct namespace_entry *next;
		char path[PATH_BYTES];
		const struct kube_request request = {.method = "GET", .path = path};

		forget_unused(&c->autoscalers[i]);
		next = next_due(&c->autoscalers[i], c->wake->now);
		if (next == NULL || !is_healthy(c))
			continue;
		next->kind = (enum autoscaler_kind)i;
		snprintf(path, sizeof path, paths[i], next->namespace);
		ask(c, &next->list, &request, on_autoscalers, next);
	}
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
static const char *autoscaler_of(const struct namespace_table *t, const struct kube_pod *pod,
				 bool above, enum resource r)
{
	const struct namespace_entry *e = find(t, pod->namespace);

	return e != NULL ? kube_autoscaler_of(&e->autoscalers, kube_pod_kind(pod), pod->workload,
					      above, r)
			 : NULL;
}

const char *cluster_autoscaler_of(const struct cluster *c, enum autoscaler_kind kind,
				  const struct pod *p, enum resource r)
{
	return autoscaler_of(&c->autoscalers[kind], p->spec, counts_above(p), r);
}

bool cluster_autoscaled(const struct pod *p)
{
	const struct namespace_table *t = &p->pods->cluster->autoscalers[AUTOSCALER_VERTICAL];

	return autoscaler_of(t, p->spec, false, RESOURCE_CPU) != NULL ||
	       autoscaler_of(t, p->spec, false, RESOURCE_MEMORY) != NULL;
}

void cluster_autoscalers_bound(struct cluster *c, const struct pod *p, struct pod_bounds *b)
{
	const struct kube_pod *pod = p->spec;
	bool move = c->config->kubernetes.autoscalers && (b->requests_move || b->limits_stay);
	uint32_t stay[AUTOSCALER_KIND_COUNT] = {0};

	for (enum autoscaler_kind kind = 0; kind < AUTOSCALER_KIND_COUNT; kind++) {
		struct namespace_entry *e = find(&c->autoscalers[kind], pod->namespace);

		if (e != NULL)
			kube_autoscalers_owner(&e->autoscalers, kube_pod_kind(pod), pod->workload);
		b->requests_unknown |= move && (e == NULL || !e->list.known);
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

static void on_namespaces(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	OWN(kube_namespaces_drop) struct kube_namespaces fresh = {0};
	struct kube_decode_error err;
	bool read = is_useful(a) && kube_decode_namespaces(a->body, a->len, &fresh, &err) == 0;

	answered(c, REFRESH_NAMESPACES, &c->namespaces_list, a, read);
	if (read) {
		pods_set_namespaces(c->pods, &fresh);
	} else if (++c->namespaces_failed == FAILURES_MAX) {
		c->pods->list_due |= c->pods->namespaces_awaited && !c->pods->namespaces_late;
		c->pods->namespaces_late = true;
	}
}

void cluster_namespaces_tick(struct cluster *c)
{
	static const struct kube_request request = {.method = "GET",
						    .path = "/api/v1/namespaces?resourceVersion=0",
						    .metadata_only = true};

	if (c->config->kubernetes.namespace_annotations && is_due(c, &c->namespaces_list))
		ask(c, &c->namespaces_list, &request, on_namespaces, c);
}

/* --- the Node --- */

static void on_node(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	struct kube_decode_error err;
	bool read = is_useful(a) && kube_decode_node(a->body, a->len, &c->node_object, &err) == 0;

	answered(c, REFRESH_NODE, &c->node_list, a, read);
}

void cluster_node_tick(struct cluster *c)
{
	char path[PATH_BYTES];
	const struct kube_request request = {.method = "GET", .path = path};

	snprintf(path, sizeof path, "/api/v1/nodes/%s", c->node);
	if (is_due(c, &c->node_list))
		ask(c, &c->node_list, &request, on_node, c);
}

const struct kube_node *cluster_node_of(const struct cluster *c)
{
	return c->node_list.read ? &c->node_object : NULL;
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
	return c->node_list.read &&
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

void cluster_lists_free(struct cluster *c)
{
	free_table(&c->ranges);
	for (size_t i = 0; i < AUTOSCALER_KIND_COUNT; i++)
		free_table(&c->autoscalers[i]);
	cancel(c, &c->namespaces_list);
	cancel(c, &c->node_list);
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

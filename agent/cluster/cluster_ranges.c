// SPDX-License-Identifier: Apache-2.0
/* LimitRanges: requested at intervals, one namespace with managed pods at a time. */
#include "agent/cluster/cluster.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "policy/base/arithmetic.h"
#include <stdio.h>
#include <string.h>

#define RETRY_USEC USEC_PER_MIN
#define PATH_BYTES 384
/* Requests for namespaces that are new to us. */
#define FIRST_MAX 4

static struct cluster_range *of_entry(struct namespace_entry *e)
{
	return (struct cluster_range *)e;
}

void cluster_ranges_free(struct cluster *c)
{
	namespaces_free(&c->ranges, NULL);
}

static bool is_sized(const struct managed *m)
{
	return m->kind == UNIT_KIND_CONTAINER && m->container.annotated &&
	       m->container.rule.rule.mode != MODE_OFF;
}

static const struct namespace_note note_unknown = {
	.reason = "LimitRangesUnknown",
	.action = "Resize",
	.text = "limits may exceed the LimitRanges of the namespace and be refused: the "
		"LimitRanges cannot be listed",
	.concerns = is_sized,
};

/* Until the first answer no limit is bounded: the API server refuses what passes a LimitRange. */
static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster_range *r = arg;
	struct cluster *c = r->at.cluster;
	struct kube_limit_range fresh = {.container = {.min = {0}}};
	struct kube_decode_error err = {.text = ""};
	bool read = a->error == 0 && a->status == 200 &&
		    kube_decode_limit_ranges(a->body, a->len, &fresh, &err) == 0;
	bool known = r->at.list.known;

	r->at.list.call = NULL;
	daemon_wake(c->wake);
	if (refresh_answered(c, REFRESH_RANGES, &r->at.list, a, read)) {
		known = known && memcmp(&fresh, &r->range, sizeof fresh) == 0;
		r->range = fresh;
		if (!known)
			namespace_set_bounds(&r->at);
	} else if (!known) {
		namespace_failed(&r->at, &note_unknown, a, err.text);
	}
	cluster_ranges_first(c);
}

static void ask(struct cluster *c, struct namespace_entry *e)
{
	char path[PATH_BYTES];
	const struct kube_request request = {.method = "GET", .path = path};

	/* A namespace is a DNS label, checked by the decoder: nothing to escape. */
	snprintf(path, sizeof path, "/api/v1/namespaces/%s/limitranges", e->namespace);
	if (c->port.start(c->port.ctx, &request, on_answer, e, &e->list.call) < 0)
		e->list.ask_at = c->wake->now + RETRY_USEC;
}

const struct cluster_range *cluster_range_of(struct cluster *c, const char *namespace)
{
	return of_entry(namespace_use(c, &c->ranges, namespace, sizeof(struct cluster_range)));
}

/* --- what they allow a container --- */

struct beside {
	uint64_t limit;   /* sum of the other containers', in the spec or held */
	uint64_t request; /* of all containers */
};

/* The lower one of two upper bounds; 0: not set. */
static uint64_t stricter(uint64_t a, uint64_t b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

static struct beside beside_of(const struct cluster *c, const struct kube_pod *pod,
			       const struct kube_container *self, enum resource r)
{
	const struct pod *p = pods_find(c->pods, pod->uid);
	struct beside b = {0, 0};

	for (size_t i = 0; i < pod->container_count; i++) {
		const struct kube_container *k = &pod->containers[i];
		const struct managed *m = p != NULL ? p->members[i].managed : NULL;
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

void cluster_range_bound(struct cluster *c, const struct kube_pod *pod,
			 const struct kube_container *k, struct pod_bounds *b)
{
	const struct kube_limit_range *range = &cluster_range_of(c, pod->namespace)->range;

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct pod_resource_bounds *x = &b->resource[r];
		struct beside beside = beside_of(c, pod, k, r);
		struct range share = share_of_pod(&range->pod, &beside, k->spec.limit[r],
						  b->requests_move || b->limits_stay, r);

		x->container_range.min = range->container.min[r];
		x->container_range.max = range->container.max[r];
		x->namespace.min = MAX(x->container_range.min, share.min);
		x->namespace.max = stricter(x->container_range.max, share.max);
		x->ratio_permille = range->container.ratio_permille[r];
	}
}

static void forget_unused(struct cluster *c)
{
	namespaces_unmark(&c->ranges);
	for (size_t i = 0; i < c->pods->count; i++)
		if (!c->pods->items[i]->observed)
			cluster_range_of(c, c->pods->items[i]->spec->namespace);
	namespaces_forget_unused(&c->ranges, NULL);
}

static bool is_healthy(const struct cluster *c)
{
	return c->watch != NULL && kube_watch_state(c->watch)->healthy;
}

void cluster_ranges_first(struct cluster *c)
{
	size_t calls = 0;

	if (!is_healthy(c))
		return;
	for (size_t i = 0; i < c->ranges.count; i++)
		calls += c->ranges.items[i]->list.call != NULL;
	for (size_t i = 0; i < c->ranges.count && calls < FIRST_MAX; i++) {
		struct namespace_entry *e = c->ranges.items[i];

		if (e->list.known || e->list.call != NULL || e->list.ask_at > c->wake->now)
			continue;
		ask(c, e);
		calls += e->list.call != NULL;
	}
}

void cluster_ranges_tick(struct cluster *c)
{
	struct namespace_entry *next;

	forget_unused(c);
	cluster_ranges_first(c);
	/* One at a time, so that a node with many namespaces sends no burst. */
	next = namespaces_next(&c->ranges, c->wake->now);
	if (next != NULL && is_healthy(c))
		ask(c, next);
}

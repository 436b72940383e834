// SPDX-License-Identifier: Apache-2.0
/* LimitRanges: requested at intervals, one namespace with managed pods at a time. */
#include "agent/cluster/cluster.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include "policy/base/arithmetic.h"
#include <stdio.h>
#include <string.h>

#define FRESH_USEC (10 * USEC_PER_MIN)
#define RETRY_USEC USEC_PER_MIN
#define PATH_BYTES 384
/* Requests for namespaces that are new to us. */
#define FIRST_MAX 4

static struct cluster_range *find(const struct cluster *c, const char *namespace)
{
	for (size_t i = 0; i < c->range_count; i++)
		if (strcmp(c->ranges[i]->namespace, namespace) == 0)
			return c->ranges[i];
	return NULL;
}

static struct cluster_range *add(struct cluster *c, const char *namespace)
{
	struct cluster_range *r = calloc(1, sizeof *r);
	void *grown = reallocarray(c->ranges, c->range_count + 1, sizeof *c->ranges);

	if (grown != NULL)
		c->ranges = grown;
	if (r != NULL)
		r->namespace = strdup(namespace);
	if (r == NULL || grown == NULL || r->namespace == NULL) {
		free(r != NULL ? r->namespace : NULL);
		free(r);
		return NULL;
	}
	r->cluster = c;
	c->ranges[c->range_count++] = r;
	return r;
}

static void range_free(struct cluster *c, struct cluster_range *r)
{
	if (r->call != NULL)
		c->port.cancel(c->port.ctx, r->call);
	free(r->namespace);
	free(r);
}

void cluster_ranges_free(struct cluster *c)
{
	for (size_t i = 0; i < c->range_count; i++)
		range_free(c, c->ranges[i]);
	free(c->ranges);
	c->ranges = NULL;
	c->range_count = 0;
}

/* Sets the bounds of the namespace's pods at once. */
static void put_in_force(struct cluster *c, const char *namespace)
{

	for (size_t i = 0; i < c->units->count; i++) {
		struct managed *m = c->units->items[i];

		if (m->kind == UNIT_KIND_CONTAINER &&
		    strcmp(m->pod->spec->namespace, namespace) == 0)
			pod_set_bounds(m);
	}
}

/* Until the first answer nothing bounds; the API server refuses what passes a LimitRange. */
static void learned(struct cluster_range *r)
{
	bool before = r->known;

	r->known = true;
	if (!before)
		put_in_force(r->cluster, r->namespace);
}

static bool is_sized(const struct managed *m)
{
	return m->kind == UNIT_KIND_CONTAINER && m->container.annotated &&
	       m->container.rule.rule.mode != MODE_OFF;
}

static void failed(struct cluster_range *r, const struct kube_answer *a, const char *detail)
{
	const struct cluster_wait_note note = {
		.namespace = r->namespace,
		.reason = "LimitRangesUnknown",
		.action = "Resize",
		.text = "limits may exceed the LimitRanges of the namespace and be refused: the "
			"LimitRanges cannot be listed",
		.concerns = is_sized,
	};

	if (!r->known)
		cluster_wait_failed(r->cluster, &r->wait, &note, a, detail);
}

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster_range *r = arg;
	struct cluster *c = r->cluster;
	struct kube_limit_range fresh;
	struct kube_decode_error err = {.text = ""};

	r->call = NULL;
	daemon_wake(c->wake);
	r->ask_at = c->wake->now + RETRY_USEC;
	/* The known ranges stay in force while the API server is unreachable; without the right to
	 * read them there are none. */
	if (a->status == 403 || a->status == 404) {
		r->ask_at = c->wake->now + FRESH_USEC;
		r->range = (struct kube_limit_range){.container = {.min = {0}}};
		learned(r);
		put_in_force(c, r->namespace);
	}
	cluster_ranges_first(c);
	if (a->error != 0 || a->status != 200 ||
	    kube_decode_limit_ranges(a->body, a->len, &fresh, &err) < 0) {
		failed(r, a, err.text);
		return;
	}
	r->ask_at = c->wake->now + FRESH_USEC;
	learned(r);
	if (memcmp(&fresh, &r->range, sizeof fresh) == 0)
		return;
	r->range = fresh;
	put_in_force(c, r->namespace);
}

static void ask(struct cluster *c, struct cluster_range *r)
{
	char path[PATH_BYTES];
	const struct kube_request request = {.method = "GET", .path = path};

	/* A namespace is a DNS label, checked by the decoder: nothing to escape. */
	snprintf(path, sizeof path, "/api/v1/namespaces/%s/limitranges", r->namespace);
	if (c->port.start(c->port.ctx, &request, on_answer, r, &r->call) < 0)
		r->ask_at = c->wake->now + RETRY_USEC;
}

const struct cluster_range *cluster_range_of(struct cluster *c, const char *namespace)
{
	struct cluster_range *r = find(c, namespace);

	if (r == NULL)
		r = add(c, namespace);
	if (r == NULL)
		return NULL;
	r->used = true;
	return r;
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

		x->namespace.min = MAX(range->container.min[r], share.min);
		x->namespace.max = stricter(range->container.max[r], share.max);
		x->ratio_permille = range->container.ratio_permille[r];
	}
}

static void forget_unused(struct cluster *c)
{

	for (size_t i = 0; i < c->range_count; i++)
		c->ranges[i]->used = false;
	for (size_t i = 0; i < c->pods->count; i++)
		if (!c->pods->items[i]->observed)
			cluster_range_of(c, c->pods->items[i]->spec->namespace);
	for (size_t i = c->range_count; i > 0; i--) {
		struct cluster_range *r = c->ranges[i - 1];

		if (r->used)
			continue;
		c->ranges[i - 1] = c->ranges[--c->range_count];
		range_free(c, r);
	}
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
	for (size_t i = 0; i < c->range_count; i++)
		calls += c->ranges[i]->call != NULL;
	for (size_t i = 0; i < c->range_count && calls < FIRST_MAX; i++) {
		struct cluster_range *r = c->ranges[i];

		if (r->known || r->call != NULL || r->ask_at > c->wake->now)
			continue;
		ask(c, r);
		calls += r->call != NULL;
	}
}

void cluster_ranges_tick(struct cluster *c)
{
	forget_unused(c);
	cluster_ranges_first(c);
	if (!is_healthy(c))
		return;
	/* One at a time, so that a node with many namespaces sends no burst. */
	for (size_t i = 0; i < c->range_count; i++)
		if (c->ranges[i]->call != NULL)
			return;
	for (size_t i = 0; i < c->range_count; i++) {
		if (c->ranges[i]->ask_at > c->wake->now)
			continue;
		ask(c, c->ranges[i]);
		return;
	}
}

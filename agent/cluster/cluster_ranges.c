// SPDX-License-Identifier: Apache-2.0
/* LimitRanges: requested at intervals, one namespace with managed pods at a time. */
#include "agent/cluster/cluster.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_bounds.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
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

/* Growth above the spec waits for the first answer. */
static void learned(struct cluster_range *r)
{
	bool before = r->known;

	r->known = true;
	if (!before)
		put_in_force(r->cluster, r->namespace);
}

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster_range *r = arg;
	struct cluster *c = r->cluster;
	struct kube_limit_range fresh;
	struct kube_decode_error err;

	r->call = NULL;
	daemon_wake(c->wake);
	r->ask_at = c->wake->now + RETRY_USEC;
	/* The known ranges stay in force while the API server is unreachable; without the right to
	 * read them there are none. */
	if (a->status == 403 || a->status == 404) {
		r->ask_at = c->wake->now + FRESH_USEC;
		learned(r);
	}
	cluster_ranges_first(c);
	if (a->error != 0 || a->status != 200 ||
	    kube_decode_limit_ranges(a->body, a->len, &fresh, &err) < 0)
		return;
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

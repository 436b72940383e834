// SPDX-License-Identifier: Apache-2.0
/* A container with little history on this node starts from what the other pods of its workload have
 * published in their status annotations. One list per workload, without pod specs, one at a time,
 * until one has published something; the answer serves every container of the workload for a while.
 */
#include "agent/config/config.h"
#include "agent/kube/model/published.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "policy/base/backoff.h"
#include "policy/control/control.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FRESH_USEC (10 * USEC_PER_MIN)
#define RETRY_USEC USEC_PER_MIN
/* Of workloads that clients describe. */
#define DESCRIBED_MAX 64
/* A start waits at most this part of kubernetes.startJitter, a restart of the agent all of it. */
#define START_PART 5
/* Lists for one workload: in a roll-out the first pods have published nothing yet. */
#define LISTS_MAX 20
/* The token for the next list. */
#define TOKEN_MAX 1024

struct cluster_kin {
	struct cluster *cluster;
	char *namespace;
	char *workload;
	char *owner;                           /* its kind */
	char selector[CLUSTER_SELECTOR_BYTES]; /* percent-encoded */
	struct kube_call *call;                /* NULL: none under way */
	usec_t ask_at;
	unsigned lists;      /* so far, without anything published */
	usec_t answered_at;  /* 0: not yet */
	bool awaited;        /* by a container */
	usec_t described_at; /* a pod of it was described last; 0: never */
	struct {
		char *name;
		struct prior prior;
	} *containers;
	size_t container_count;
};

/* --- the request */

/* Labels that differ between pods of one workload, or between its revisions. */
static bool is_own_label(const char *label, size_t len)
{
	static const char *const keys[] = {
		"pod-template-hash=",
		"rollouts-pod-template-hash=",
		"controller-revision-hash=",
		"pod-template-generation=",
		"statefulset.kubernetes.io/",
		"apps.kubernetes.io/pod-index=",
		"batch.kubernetes.io/",
		"controller-uid=",
		"job-name=",
		"app.kubernetes.io/version=",
		"helm.sh/chart=",
	};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (len >= strlen(keys[i]) && strncmp(label, keys[i], strlen(keys[i])) == 0)
			return true;
	return false;
}

/* Labels consist of letters, digits and "-_./"; "=" and "," need an escape. False: no room. */
static bool add_label(const char *label, size_t len, char selector[static CLUSTER_SELECTOR_BYTES])
{
	size_t used = strlen(selector), key = strcspn(label, "=");
	int n = snprintf(selector + used, CLUSTER_SELECTOR_BYTES - used, "%s%.*s%%3D%.*s",
			 used > 0 ? "%2C" : "", (int)key, label, (int)(len - key - 1),
			 label + key + 1);

	if ((size_t)n < CLUSTER_SELECTOR_BYTES - used)
		return true;
	selector[used] = '\0';
	return false;
}

void cluster_selector(const char *labels, char ret[static CLUSTER_SELECTOR_BYTES])
{
	ret[0] = '\0';
	while (*labels != '\0') {
		size_t len = strcspn(labels, ",");

		if (!is_own_label(labels, len) && !add_label(labels, len, ret))
			return;
		labels += len + (labels[len] == ',');
	}
}

/* --- the answer */

struct collected {
	struct cluster_kin *kin;
	struct recommendation pods[REPORT_CONTAINERS_MAX][PRIOR_PODS_MAX];
	size_t counts[REPORT_CONTAINERS_MAX];
};

/* Annotations that cannot be read are skipped: any user may write them. */
static int collect(void *arg, struct kube_pod *pod)
{
	OWN(drop_kube_pod) struct kube_pod *p = pod;
	struct collected *all = arg;
	const struct cluster_kin *k = all->kin;
	const char *text = kube_pod_annotation(p, "status");

	if (text == NULL || !p->owned || strcmp(p->namespace, k->namespace) != 0 ||
	    strcmp(p->workload, k->workload) != 0 || strcmp(p->owner, k->owner) != 0)
		return 0;
	for (size_t i = 0; i < k->container_count; i++) {
		struct kube_published published;
		uint64_t shown[RESOURCE_COUNT];

		if (all->counts[i] < PRIOR_PODS_MAX &&
		    kube_published_read(text, k->containers[i].name, &published, shown) == 0)
			all->pods[i][all->counts[i]++] = published.own;
	}
	return 0;
}

/* token: for the next list; "": none is needed. < 0: it cannot be read. */
static int take_list(struct cluster_kin *k, const struct kube_answer *a,
		     char token[static TOKEN_MAX])
{
	OWN(drop_free) struct collected *all = calloc(1, sizeof *all);
	struct kube_decode_error err;
	char version[128];
	bool any = false;
	size_t bad;
	int r;

	if (all == NULL)
		return -ENOMEM;
	all->kin = k;
	r = kube_decode_pods(a->body, a->len, collect, all, version, sizeof version, &bad, &err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < k->container_count; i++) {
		any |= all->counts[i] > 0;
		prior_merge(all->pods[i], all->counts[i], &k->containers[i].prior);
	}
	if (!any && kube_decode_continue(a->body, a->len, token, TOKEN_MAX, &err) < 0)
		token[0] = '\0';
	return 0;
}

static void ask(struct cluster_kin *k, const char *token);

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster_kin *k = arg;
	struct wakeup *wake = k->cluster->wake;
	/* A refusal is temporary: the agent lists pods of its node with the same right. 410: the
	 * token is too old. */
	bool again = a->error != 0 || (a->status != 200 && a->status != 400);
	char token[TOKEN_MAX] = "";

	k->call = NULL;
	daemon_wake(wake);
	if (a->error == 0 && a->status == 200)
		again = take_list(k, a, token) < 0;
	if (again) {
		k->ask_at = wake->now + MAX(a->retry_after_usec, RETRY_USEC);
		k->lists = 0;
		return;
	}
	if (token[0] != '\0' && ++k->lists < LISTS_MAX) {
		ask(k, token);
		return;
	}
	k->answered_at = wake->now;
	cluster_kin_tick(k->cluster);
}

/* token "": from the beginning. */
static void ask(struct cluster_kin *k, const char *token)
{
	struct cluster *c = k->cluster;
	char path[CLUSTER_SELECTOR_BYTES + TOKEN_MAX + 384];
	const struct kube_request request = {.method = "GET", .path = path, .metadata_only = true};

	snprintf(path, sizeof path, "/api/v1/namespaces/%s/pods?labelSelector=%s&limit=%d%s%s",
		 k->namespace, k->selector, PRIOR_PODS_MAX, token[0] != '\0' ? "&continue=" : "",
		 token);
	if (c->port.start(c->port.ctx, &request, on_answer, k, &k->call) < 0)
		k->ask_at = c->wake->now + RETRY_USEC;
}

/* --- the table */

static void kin_drop(struct cluster_kin **at)
{
	struct cluster_kin *k = *at;

	if (k == NULL)
		return;
	if (k->call != NULL)
		k->cluster->port.cancel(k->cluster->port.ctx, k->call);
	for (size_t i = 0; i < k->container_count; i++)
		free(k->containers[i].name);
	free(k->containers);
	free(k->namespace);
	free(k->workload);
	free(k->owner);
	free(k);
}

void cluster_kin_free(struct cluster *c)
{
	for (size_t i = 0; i < c->kin_count; i++)
		kin_drop(&c->kin[i]);
	free(c->kin);
	c->kin = NULL;
	c->kin_count = 0;
}

static int name_containers(struct cluster_kin *k, const struct kube_pod *p)
{
	k->containers = calloc(p->container_count, sizeof *k->containers);
	if (k->containers == NULL)
		return -1;
	for (size_t i = 0; i < MIN(p->container_count, (size_t)REPORT_CONTAINERS_MAX); i++) {
		k->containers[i].name = strdup(p->containers[i].name);
		if (k->containers[i].name == NULL)
			return -1;
		k->container_count++;
	}
	return 0;
}

static struct cluster_kin *kin_new(struct cluster *c, const struct kube_pod *p)
{
	OWN(kin_drop) struct cluster_kin *k = calloc(1, sizeof *k);
	void *grown = reallocarray(c->kin, c->kin_count + 1, sizeof(struct cluster_kin *));

	if (grown != NULL)
		c->kin = grown;
	if (k == NULL || grown == NULL)
		return NULL;
	k->cluster = c;
	k->namespace = strdup(p->namespace);
	k->workload = strdup(p->workload);
	k->owner = strdup(p->owner);
	if (k->namespace == NULL || k->workload == NULL || k->owner == NULL ||
	    name_containers(k, p) < 0)
		return NULL;
	cluster_selector(p->labels, k->selector);
	c->kin[c->kin_count++] = k;
	return STEAL(k);
}

static struct cluster_kin *find(const struct cluster *c, const struct kube_pod *p)
{
	for (size_t i = 0; i < c->kin_count; i++)
		if (strcmp(c->kin[i]->namespace, p->namespace) == 0 &&
		    strcmp(c->kin[i]->workload, p->workload) == 0 &&
		    strcmp(c->kin[i]->owner, p->owner) == 0)
			return c->kin[i];
	return NULL;
}

static bool is_needed(const struct cluster_kin *k)
{
	usec_t now = k->cluster->wake->now;
	bool described = k->described_at != 0 && now - k->described_at < FRESH_USEC;

	if (k->answered_at == 0)
		return k->awaited || described || k->call != NULL;
	return now - k->answered_at < FRESH_USEC;
}

/* --- the containers */

/* Without a label of the workload the list would be that of the namespace. */
static bool has_kin(const struct cluster *c, const struct kube_pod *p)
{
	char selector[CLUSTER_SELECTOR_BYTES] = "";

	if (c->config->kubernetes.workload_history && p->owned && p->labels != NULL)
		cluster_selector(p->labels, selector);
	return selector[0] != '\0';
}

/* Nothing can be found out, or nothing has to be: its own history is a whole interval long. */
static bool needs_none(const struct cluster *c, const struct managed *m)
{
	return m->pod->observed || !has_kin(c, m->pod->spec) ||
	       history_observed_least(&m->control.history) >=
		       m->config->tuning.history.confidence_usec;
}

/* A start waits for the answer; after a restart of the agent all containers of the node ask. */
static usec_t wait_of(struct cluster *c, const struct managed *m)
{
	usec_t most = c->config->kubernetes.start_jitter_usec;

	if (m->control.history.samples == 0)
		most /= START_PART;
	return most != 0 ? random_next(&c->random) % most : 0;
}

static struct prior prior_of(const struct cluster_kin *k, const char *container)
{
	const struct cluster *c = k->cluster;
	/* Any user may have written them. */
	const uint64_t most[RESOURCE_COUNT] = {c->units->host->cpu_milli,
					       c->units->memory->read.total};
	struct prior prior = {0};

	for (size_t i = 0; i < k->container_count; i++)
		if (strcmp(k->containers[i].name, container) == 0)
			prior = k->containers[i].prior;
	prior_bound(&prior, most);
	return prior;
}

static void serve(struct cluster *c, struct managed *m, const char *container)
{
	struct cluster_kin *k;
	struct prior prior;

	if (needs_none(c, m)) {
		control_set_prior(&m->control, &(struct prior){0});
		return;
	}
	k = find(c, m->pod->spec);
	if (k == NULL) {
		k = kin_new(c, m->pod->spec);
		if (k != NULL)
			k->ask_at = c->wake->now + wait_of(c, m);
	} else if (k->answered_at != 0) {
		prior = prior_of(k, container);
		control_set_prior(&m->control, &prior);
	}
	if (k != NULL)
		k->awaited = true;
}

static void serve_all(struct cluster *c)
{
	for (size_t i = 0; i < c->kin_count; i++)
		c->kin[i]->awaited = false;
	PODS_FOREACH (p, c->pods)
		POD_FOREACH (m, p)
			if (!m->control.prior_known)
				serve(c, m, pod_container_of(m));
}

static size_t described_count(const struct cluster *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->kin_count; i++)
		count += c->kin[i]->described_at != 0;
	return count;
}

int cluster_kin_describe(struct cluster *c, const struct kube_pod *pod, const char *container,
			 struct prior *ret)
{
	struct cluster_kin *k;

	if (!has_kin(c, pod))
		return -ENOENT;
	k = find(c, pod);
	if (k == NULL && described_count(c) >= DESCRIBED_MAX)
		return -ENOENT;
	if (k == NULL)
		k = kin_new(c, pod);
	if (k == NULL)
		return -ENOMEM;
	k->described_at = c->wake->now;
	if (k->answered_at == 0)
		return -EAGAIN;
	*ret = prior_of(k, container);
	return ret->pods != 0 ? 0 : -ENOENT;
}

static struct cluster_kin *next(const struct cluster *c)
{
	struct cluster_kin *first = NULL;

	for (size_t i = 0; i < c->kin_count; i++) {
		struct cluster_kin *k = c->kin[i];

		if (k->call != NULL)
			return NULL; /* one at a time */
		if (k->answered_at == 0 && k->ask_at <= c->wake->now &&
		    (first == NULL || k->ask_at < first->ask_at))
			first = k;
	}
	return first;
}

void cluster_kin_tick(struct cluster *c)
{
	struct cluster_kin *k;

	serve_all(c);
	for (size_t i = c->kin_count; i > 0; i--)
		if (!is_needed(c->kin[i - 1])) {
			kin_drop(&c->kin[i - 1]);
			c->kin[i - 1] = c->kin[--c->kin_count];
		}
	k = next(c);
	if (k != NULL && kube_watch_state(c->watch)->healthy)
		ask(k, "");
}

// SPDX-License-Identifier: Apache-2.0
/* A container with little history on this node starts from what the other pods of its workload have
 * published in their status annotations. One list per workload, without pod specs, one at a time,
 * until one has published something; the answer serves every container of the workload for a while.
 */
#include "agent/config/config.h"
#include "agent/kube/model/published.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/pod/cluster.h"
#include "policy/control/control.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define FRESH_USEC (10 * USEC_PER_MIN)
/* Of workloads that clients describe. */
#define DESCRIBED_MAX 64
/* A start waits at most this part of kubernetes.startJitter, a restart of the agent all of it. */
#define START_PART 5
/* Lists for one workload: in a roll-out the first pods have published nothing yet. */
#define LISTS_MAX 20
/* The token for the next list. */
#define TOKEN_MAX 1024

/* A workload, by the key of its histories without a container. */
struct kin {
	struct ask ask;
	char path[CLUSTER_SELECTOR_BYTES + 384]; /* of the first list */
	char token[TOKEN_MAX];                   /* for the next one; "": of the first */
	unsigned lists;                          /* so far, without anything published */
	usec_t described_at;                     /* a pod of it was described last; 0: never */
	struct {
		char name[64];
		struct prior prior;
	} *containers; /* NULL: no memory */
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
	struct kin *kin;
	struct recommendation pods[REPORT_CONTAINERS_MAX][PRIOR_PODS_MAX];
	size_t counts[REPORT_CONTAINERS_MAX];
};

/* Annotations that cannot be read are skipped: any user may write them. */
static int collect(void *arg, struct kube_pod *pod)
{
	OWN(drop_kube_pod) struct kube_pod *p = pod;
	struct collected *all = arg;
	const struct kin *k = all->kin;
	const char *text = kube_pod_annotation(p, "status");
	char key[RECORD_NAME_MAX];

	persist_history_key(p, "", key);
	if (text == NULL || !p->owned || strcmp(key, k->ask.key) != 0)
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

/* < 0: it cannot be read. */
static int take_list(struct kin *k, const struct kube_answer *a)
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
	if (!any && kube_decode_continue(a->body, a->len, k->token, TOKEN_MAX, &err) < 0)
		k->token[0] = '\0';
	return 0;
}

static void send_list(struct ask *a)
{
	const struct kin *k = (struct kin *)a;
	char path[sizeof k->path + TOKEN_MAX + 16];

	snprintf(path, sizeof path, "%s%s%s", k->path, k->token[0] != '\0' ? "&continue=" : "",
		 k->token);
	(void)ask_send(a, path);
}

static void on_answer(struct ask *ask, const struct kube_answer *a)
{
	struct kin *k = (struct kin *)ask;
	/* A refusal is temporary: the agent lists pods of its node with the same right. 410: the
	 * token is too old. */
	bool again = a->error != 0 || (a->status != 200 && a->status != 400);

	k->token[0] = '\0';
	if (a->error == 0 && a->status == 200)
		again = take_list(k, a) < 0;
	if (again) {
		ask_again(ask, a);
		k->lists = 0;
	} else if (k->token[0] != '\0' && ++k->lists < LISTS_MAX) {
		send_list(ask);
	} else {
		ask_known(ask);
		ask_tick(ask->table);
	}
}

/* --- the table */

static void kin_drop(struct ask *a)
{
	free(((struct kin *)a)->containers);
}

static void fill(struct kin *k, const struct kube_pod *p)
{
	size_t count = MIN(p->container_count, (size_t)REPORT_CONTAINERS_MAX);
	char selector[CLUSTER_SELECTOR_BYTES];

	k->containers = calloc(count, sizeof *k->containers);
	for (size_t i = 0; k->containers != NULL && i < count; i++)
		snprintf(k->containers[i].name, sizeof k->containers[i].name, "%s",
			 p->containers[i].name);
	k->container_count = count;
	cluster_selector(p->labels, selector);
	snprintf(k->path, sizeof k->path, "/api/v1/namespaces/%s/pods?labelSelector=%s&limit=%d",
		 p->namespace, selector, PRIOR_PODS_MAX);
}

/* NULL: no memory for a new one. */
static struct kin *use(struct cluster *c, const struct kube_pod *p, usec_t wait_max)
{
	char key[RECORD_NAME_MAX];
	struct kin *k;

	persist_history_key(p, "", key);
	k = (struct kin *)ask_use(&c->kin, key, wait_max);
	if (k != NULL && k->containers == NULL)
		fill(k, p);
	return k != NULL && k->containers != NULL ? k : NULL;
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
static usec_t wait_max(const struct cluster *c, const struct managed *m)
{
	return c->config->kubernetes.start_jitter_usec /
	       (m->control.history.samples == 0 ? START_PART : 1);
}

static struct prior prior_of(const struct kin *k, const char *container)
{
	const struct cluster *c = k->ask.table->cluster;
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

static void serve(struct cluster *c, struct managed *m)
{
	struct prior prior = {0};
	struct kin *k;

	if (!needs_none(c, m)) {
		k = use(c, m->pod->spec, wait_max(c, m));
		if (k == NULL || !k->ask.known)
			return;
		prior = prior_of(k, pod_container_of(m));
	}
	control_set_prior(&m->control, &prior);
}

static void mark(struct ask_table *t)
{
	usec_t now = t->cluster->wake->now;

	PODS_FOREACH (p, t->cluster->pods)
		POD_FOREACH (m, p)
			if (!m->control.prior_known)
				serve(t->cluster, m);
	for (size_t i = 0; i < t->count; i++) {
		struct kin *k = (struct kin *)t->items[i];

		if (k->ask.known)
			k->ask.used = now < k->ask.ask_at;
		else if (k->described_at != 0 && now - k->described_at < FRESH_USEC)
			k->ask.used = true;
		k->ask.used &= k->containers != NULL;
	}
}

const struct ask_kind cluster_kin_kind = {
	.bytes = sizeof(struct kin),
	.request.metadata_only = true,
	.fresh_usec = FRESH_USEC,
	.mark = mark,
	.send = send_list,
	.answered = on_answer,
	.drop = kin_drop,
};

static size_t described_count(const struct cluster *c)
{
	size_t count = 0;

	for (size_t i = 0; i < c->kin.count; i++)
		count += ((struct kin *)c->kin.items[i])->described_at != 0;
	return count;
}

int cluster_kin_describe(struct cluster *c, const struct kube_pod *pod, const char *container,
			 struct prior *ret)
{
	char key[RECORD_NAME_MAX];
	struct kin *k;

	if (!has_kin(c, pod))
		return -ENOENT;
	persist_history_key(pod, "", key);
	if (described_count(c) >= DESCRIBED_MAX && ask_find(&c->kin, key) == NULL)
		return -ENOENT;
	k = use(c, pod, 0);
	if (k == NULL)
		return -ENOMEM;
	k->described_at = c->wake->now;
	if (!k->ask.known)
		return -EAGAIN;
	*ret = prior_of(k, container);
	return ret->pods != 0 ? 0 : -ENOENT;
}

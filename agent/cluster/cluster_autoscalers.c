// SPDX-License-Identifier: Apache-2.0
/* HorizontalPodAutoscalers: requested at intervals, one namespace at a time, of those alone where
 * vscaled moves requests. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/kube/model/autoscalers.h"
#include "agent/kube/model/decode.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/spec.h"
#include "agent/manage/wake.h"
#include <stdio.h>
#include <string.h>

#define FRESH_USEC (10 * USEC_PER_MIN)
#define RETRY_USEC USEC_PER_MIN
/* Without the right to list them. */
#define DENIED_USEC USEC_PER_HOUR

struct cluster_autoscalers {
	struct cluster *cluster;
	char *namespace;
	struct kube_autoscalers known;
	struct kube_call *call; /* NULL: none under way */
	usec_t ask_at;
	struct cluster_wait wait;
	bool answered; /* also with a refusal */
	bool used;
};

static struct cluster_autoscalers *find(const struct cluster *c, const char *namespace)
{
	for (size_t i = 0; i < c->autoscaler_count; i++)
		if (strcmp(c->autoscalers[i]->namespace, namespace) == 0)
			return c->autoscalers[i];
	return NULL;
}

static void entry_free(struct cluster_autoscalers *a)
{
	if (a->call != NULL)
		a->cluster->port.cancel(a->cluster->port.ctx, a->call);
	kube_autoscalers_drop(&a->known);
	free(a->namespace);
	free(a);
}

void cluster_autoscalers_free(struct cluster *c)
{
	for (size_t i = 0; i < c->autoscaler_count; i++)
		entry_free(c->autoscalers[i]);
	free(c->autoscalers);
	c->autoscalers = NULL;
	c->autoscaler_count = 0;
}

static struct cluster_autoscalers *entry_new(struct cluster *c, const char *namespace)
{
	struct cluster_autoscalers *a = calloc(1, sizeof *a);
	void *grown = reallocarray(c->autoscalers, c->autoscaler_count + 1,
				   sizeof(struct cluster_autoscalers *));

	if (grown != NULL)
		c->autoscalers = grown;
	if (a != NULL)
		a->namespace = strdup(namespace);
	if (a == NULL || grown == NULL || a->namespace == NULL) {
		free(a != NULL ? a->namespace : NULL);
		free(a);
		return NULL;
	}
	a->cluster = c;
	c->autoscalers[c->autoscaler_count++] = a;
	return a;
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

static bool moves_requests(const struct managed *m)
{
	return m->config->kubernetes.autoscalers && m->kind == UNIT_KIND_CONTAINER &&
	       m->container.annotated && m->container.rule.controlled != CONTROLLED_LIMITS &&
	       m->container.rule.rule.mode != MODE_OFF;
}

/* Requests wait for the first answer. */
static void failed(struct cluster_autoscalers *a, const struct kube_answer *answer,
		   const char *detail)
{
	const struct cluster_wait_note note = {
		.namespace = a->namespace,
		.reason = "RequestsWait",
		.action = "Resize",
		.text = "requests are not sized: HorizontalPodAutoscalers cannot be listed; "
			"kubernetes.autoscalers: false sizes them anyway",
		.concerns = moves_requests,
	};

	if (!a->answered)
		cluster_wait_failed(a->cluster, &a->wait, &note, answer, detail);
}

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct cluster_autoscalers *a = arg;
	struct kube_autoscalers fresh = {0};
	struct kube_decode_error err = {.text = ""};
	bool denied = answer->error == 0 && (answer->status == 403 || answer->status == 404);

	a->call = NULL;
	daemon_wake(a->cluster->wake);
	a->ask_at = a->cluster->wake->now + (denied ? DENIED_USEC : RETRY_USEC);
	/* What is known stays in force while the API server cannot be reached. */
	if (!denied && (answer->error != 0 || answer->status != 200 ||
			kube_decode_autoscalers(answer->body, answer->len, &fresh, &err) < 0)) {
		failed(a, answer, err.text);
		return;
	}
	a->wait.failing_since = 0;
	if (!denied)
		a->ask_at = a->cluster->wake->now + FRESH_USEC;
	kube_autoscalers_drop(&a->known);
	a->known = fresh;
	a->answered = true;
	put_in_force(a->cluster, a->namespace);
}

static void ask(struct cluster_autoscalers *a)
{
	struct cluster *c = a->cluster;
	char path[384];
	const struct kube_request request = {.method = "GET", .path = path};

	snprintf(path, sizeof path, "/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers",
		 a->namespace);
	if (c->port.start(c->port.ctx, &request, on_answer, a, &a->call) < 0)
		a->ask_at = c->wake->now + RETRY_USEC;
}

static void note_used(struct cluster *c)
{
	for (size_t i = 0; i < c->autoscaler_count; i++)
		c->autoscalers[i]->used = false;
	for (size_t i = 0; i < c->units->count; i++) {
		const struct managed *m = c->units->items[i];
		struct cluster_autoscalers *a;

		if (!moves_requests(m))
			continue;
		a = find(c, m->pod->spec->namespace);
		if (a == NULL)
			a = entry_new(c, m->pod->spec->namespace);
		if (a != NULL)
			a->used = true;
	}
}

static void forget_unused(struct cluster *c)
{
	for (size_t i = c->autoscaler_count; i > 0; i--)
		if (!c->autoscalers[i - 1]->used) {
			entry_free(c->autoscalers[i - 1]);
			c->autoscalers[i - 1] = c->autoscalers[--c->autoscaler_count];
		}
}

void cluster_autoscalers_tick(struct cluster *c)
{
	struct cluster_autoscalers *next = NULL;

	note_used(c);
	forget_unused(c);
	if (!kube_watch_state(c->watch)->healthy)
		return;
	for (size_t i = 0; i < c->autoscaler_count; i++) {
		struct cluster_autoscalers *a = c->autoscalers[i];

		if (a->call != NULL)
			return; /* one at a time */
		if (a->ask_at <= c->wake->now && (next == NULL || a->ask_at < next->ask_at))
			next = a;
	}
	if (next != NULL)
		ask(next);
}

void cluster_autoscalers_bound(struct cluster *c, const struct kube_pod *pod, struct pod_bounds *b)
{
	const struct cluster_autoscalers *a = find(c, pod->namespace);

	if (!c->config->kubernetes.autoscalers || (!b->requests_move && !b->limits_stay))
		return;
	b->requests_unknown = a == NULL || !a->answered;
	if (!b->requests_unknown)
		b->requests_stay = kube_autoscalers_of(&a->known, pod->owner, pod->workload);
	/* Its limit would take the request along. */
	if (b->guaranteed && b->requests_stay != 0)
		b->requests_move = false;
}

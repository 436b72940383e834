// SPDX-License-Identifier: Apache-2.0
/* HorizontalPodAutoscalers: requested at intervals, one namespace at a time, of those alone where
 * vscaled moves requests. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/kube/model/autoscalers.h"
#include "agent/kube/model/decode.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include <stdio.h>

#define RETRY_USEC USEC_PER_MIN

/* The HorizontalPodAutoscalers of one namespace. */
struct autoscalers {
	struct namespace_entry at;
	struct kube_autoscalers known;
};

static struct autoscalers *of_entry(struct namespace_entry *e)
{
	return (struct autoscalers *)e;
}

static void free_known(void *entry)
{
	kube_autoscalers_drop(&of_entry(entry)->known);
}

void cluster_autoscalers_free(struct cluster *c)
{
	namespaces_free(&c->autoscalers, free_known);
}

static bool moves_requests(const struct managed *m)
{
	return m->config->kubernetes.autoscalers && m->kind == UNIT_KIND_CONTAINER &&
	       m->container.annotated && m->container.rule.controlled != CONTROLLED_LIMITS &&
	       m->container.rule.rule.mode != MODE_OFF;
}

/* Requests wait for the first answer. */
static const struct namespace_note note_waits = {
	.reason = "RequestsWait",
	.action = "Resize",
	.text = "requests are not sized: HorizontalPodAutoscalers cannot be listed; "
		"kubernetes.autoscalers: false sizes them anyway",
	.concerns = moves_requests,
};

static void on_answer(void *arg, const struct kube_answer *answer)
{
	struct autoscalers *a = arg;
	struct namespace_entry *e = &a->at;
	struct kube_autoscalers fresh = {0};
	struct kube_decode_error err = {.text = ""};
	bool read = answer->error == 0 && answer->status == 200 &&
		    kube_decode_autoscalers(answer->body, answer->len, &fresh, &err) == 0;

	e->list.call = NULL;
	daemon_wake(e->cluster->wake);
	if (refresh_answered(e->cluster, REFRESH_AUTOSCALERS, &e->list, answer, read)) {
		kube_autoscalers_drop(&a->known);
		a->known = fresh;
		/* The first pass notes the owners of pods. */
		namespace_set_bounds(e);
		namespace_set_bounds(e);
	} else if (!e->list.known) {
		namespace_failed(e, &note_waits, answer, err.text);
	}
}

static void ask(struct namespace_entry *e)
{
	struct cluster *c = e->cluster;
	char path[384];
	const struct kube_request request = {.method = "GET", .path = path};

	snprintf(path, sizeof path, "/apis/autoscaling/v2/namespaces/%s/horizontalpodautoscalers",
		 e->namespace);
	if (c->port.start(c->port.ctx, &request, on_answer, e, &e->list.call) < 0)
		e->list.ask_at = c->wake->now + RETRY_USEC;
}

static void note_used(struct cluster *c)
{
	namespaces_unmark(&c->autoscalers);
	for (size_t i = 0; i < c->units->count; i++) {
		const struct managed *m = c->units->items[i];

		if (moves_requests(m))
			namespace_use(c, &c->autoscalers, m->pod->spec->namespace,
				      sizeof(struct autoscalers));
	}
}

void cluster_autoscalers_tick(struct cluster *c)
{
	struct namespace_entry *next;

	note_used(c);
	namespaces_forget_unused(&c->autoscalers, free_known);
	next = namespaces_next(&c->autoscalers, c->wake->now);
	if (next != NULL && kube_watch_state(c->watch)->healthy)
		ask(next);
}

/* Is an object above its owner the pod's? */
static bool counts_above(const struct cluster *c, const struct kube_pod *pod)
{
	const struct pod *p = pods_find(c->pods, pod->uid);
	bool above = true;

	for (size_t i = 0; p != NULL && i < pod->container_count; i++)
		if (p->members[i].managed != NULL)
			above &= !p->members[i].managed->container.rule.not_autoscaled;
	return above;
}

const char *cluster_autoscaler_of(const struct cluster *c, const struct kube_pod *pod,
				  enum resource r)
{
	const struct autoscalers *a = of_entry(namespace_find(&c->autoscalers, pod->namespace));

	return a != NULL ? kube_autoscaler_of(&a->known, kube_pod_kind(pod), pod->workload,
					      counts_above(c, pod), r)
			 : NULL;
}

void cluster_autoscalers_bound(struct cluster *c, const struct kube_pod *pod, struct pod_bounds *b)
{
	struct autoscalers *a = of_entry(namespace_find(&c->autoscalers, pod->namespace));

	if (a != NULL)
		kube_autoscalers_owner(&a->known, kube_pod_kind(pod), pod->workload);
	if (!c->config->kubernetes.autoscalers || (!b->requests_move && !b->limits_stay))
		return;
	b->requests_unknown = a == NULL || !a->at.list.known;
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (cluster_autoscaler_of(c, pod, r) != NULL)
			b->requests_stay |= 1u << r;
	/* Its limit would take the request along. */
	if (b->guaranteed && b->requests_stay != 0)
		b->requests_move = false;
}

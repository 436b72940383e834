// SPDX-License-Identifier: Apache-2.0
/* Annotations of namespaces: listed at intervals, metadata alone. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/kube/model/decode.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"

#define FRESH_USEC  (5 * USEC_PER_MIN)
#define RETRY_USEC  USEC_PER_MIN
#define DENIED_USEC USEC_PER_HOUR
/* After so many failures (2 min) pods with a mode of their own are sized without them. */
#define FAILURES_MAX 3

/* Without the right there are none; what was known before stays in force. */
static void on_denied(struct cluster *c)
{
	c->namespaces_at = c->wake->now + DENIED_USEC;
	if (!c->namespaces_denied)
		event_daemon(EVENT_NAMESPACES_DENIED, &(struct daemon_event){0});
	c->namespaces_denied = true;
	if (c->pods->namespaces_awaited)
		pods_set_namespaces(c->pods, &(struct kube_namespaces){0});
}

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	OWN(kube_namespaces_drop) struct kube_namespaces fresh = {0};
	struct kube_decode_error err;

	c->namespaces_call = NULL;
	daemon_wake(c->wake);
	c->namespaces_at = c->wake->now + MAX(a->retry_after_usec, RETRY_USEC);
	if (a->error == 0 && a->status == 403) {
		on_denied(c);
		return;
	}
	/* What is known stays in force while the API server cannot be reached. */
	if (a->error != 0 || a->status != 200 ||
	    kube_decode_namespaces(a->body, a->len, &fresh, &err) < 0) {
		if (++c->namespaces_failed == FAILURES_MAX)
			pods_namespaces_late(c->pods);
		return;
	}
	c->namespaces_at = c->wake->now + FRESH_USEC;
	c->namespaces_denied = false;
	pods_set_namespaces(c->pods, &fresh);
}

void cluster_namespaces_start(struct cluster *c)
{
	if (c->config->kubernetes.namespace_annotations)
		pods_await_namespaces(c->pods);
}

void cluster_namespaces_tick(struct cluster *c)
{
	static const struct kube_request request = {.method = "GET",
						    .path = "/api/v1/namespaces?resourceVersion=0",
						    .metadata_only = true};

	if (!c->config->kubernetes.namespace_annotations || c->namespaces_call != NULL ||
	    c->namespaces_at > c->wake->now || !kube_watch_state(c->watch)->healthy)
		return;
	if (c->port.start(c->port.ctx, &request, on_answer, c, &c->namespaces_call) < 0)
		c->namespaces_at = c->wake->now + RETRY_USEC;
}

void cluster_namespaces_free(struct cluster *c)
{
	if (c->namespaces_call != NULL)
		c->port.cancel(c->port.ctx, c->namespaces_call);
}

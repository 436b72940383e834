// SPDX-License-Identifier: Apache-2.0
/* Annotations of namespaces: listed at intervals, metadata alone. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/kube/model/decode.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/pod/pods.h"

#define RETRY_USEC USEC_PER_MIN
/* After so many failures (2 min) pods with a mode of their own are sized without them. */
#define FAILURES_MAX 3

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	OWN(kube_namespaces_drop) struct kube_namespaces fresh = {0};
	struct kube_decode_error err;
	bool read = a->error == 0 && a->status == 200 &&
		    kube_decode_namespaces(a->body, a->len, &fresh, &err) == 0;

	c->namespaces_list.call = NULL;
	daemon_wake(c->wake);
	if (refresh_answered(c, REFRESH_NAMESPACES, &c->namespaces_list, a, read))
		pods_set_namespaces(c->pods, &fresh);
	else if (++c->namespaces_failed == FAILURES_MAX)
		pods_namespaces_late(c->pods);
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

	if (!c->config->kubernetes.namespace_annotations || c->namespaces_list.call != NULL ||
	    c->namespaces_list.ask_at > c->wake->now || !kube_watch_state(c->watch)->healthy)
		return;
	if (c->port.start(c->port.ctx, &request, on_answer, c, &c->namespaces_list.call) < 0)
		c->namespaces_list.ask_at = c->wake->now + RETRY_USEC;
}

void cluster_namespaces_free(struct cluster *c)
{
	refresh_cancel(c, &c->namespaces_list);
}

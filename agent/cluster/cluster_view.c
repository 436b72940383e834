// SPDX-License-Identifier: Apache-2.0
/* What status and explain show of the cluster. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "agent/view/view.h"

static const enum report_view_state states[REPORT_BLOCK_COUNT] = {
	[REPORT_BLOCK_NONE] = REPORT_VIEW_NONE,
	[REPORT_BLOCK_OFFERED] = REPORT_VIEW_CGROUP_ONLY,
	[REPORT_BLOCK_INACTIVE] = REPORT_VIEW_NONE,
	[REPORT_BLOCK_SENT] = REPORT_VIEW_SENT,
	[REPORT_BLOCK_WAIT] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_ECHO] = REPORT_VIEW_SENT,
	[REPORT_BLOCK_CONDITION] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_REFUSED] = REPORT_VIEW_REFUSED,
	[REPORT_BLOCK_UNSAFE] = REPORT_VIEW_CGROUP_ONLY,
	[REPORT_BLOCK_MEMORY] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_LEASE] = REPORT_VIEW_LEASE,
	[REPORT_BLOCK_SMALL] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_INTERVAL] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_CONTESTED] = REPORT_VIEW_REFUSED,
	[REPORT_BLOCK_ROOM] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_NODE] = REPORT_VIEW_WAITING,
	[REPORT_BLOCK_DECREASE] = REPORT_VIEW_CGROUP_ONLY,
};

static void fill_report(const struct cluster *c, const struct kube_pod *pod,
			struct report_view *ret)
{
	usec_t sent = reporter_sent_at(c->reporter, pod->uid);
	const char *refusal = reporter_refusal(c->reporter, pod->uid);

	ret->state = states[reporter_block(c->reporter, pod->uid)];
	if (ret->state != REPORT_VIEW_NONE)
		ret->detail = reporter_block_text(c->reporter, pod->uid);
	/* The spec may have all that it can have: shows the refusal that bounds it. */
	if (refusal != NULL &&
	    (ret->state == REPORT_VIEW_NONE || ret->state == REPORT_VIEW_REFUSED ||
	     pod->pending != RESIZE_NOT_PENDING)) {
		ret->state = REPORT_VIEW_REFUSED;
		ret->detail = refusal;
	}
	if (pod->pending == RESIZE_DEFERRED)
		ret->state = REPORT_VIEW_DEFERRED;
	if (sent != 0)
		ret->sent_realtime_usec = c->wake->now_real - (c->wake->now - sent);
}

void cluster_hook_view(void *ctx, const struct kube_pod *pod, const char *container,
		       struct pod_view *v)
{
	const struct cluster *c = ctx;
	const struct kube_container *k = kube_pod_container(pod, container);
	usec_t ahead = reporter_ahead(c->reporter, pod, c->wake->now);

	fill_report(c, pod, &v->report);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		if (v->resources[r].request_stays != NULL &&
		    cluster_autoscaler_of(c, pod, r) != NULL)
			v->resources[r].request_stays = cluster_autoscaler_of(c, pod, r);
	if (ahead < c->config->kubernetes.report.ahead_usec)
		v->resources[RESOURCE_MEMORY].ahead_usec = ahead;
	for (enum resource r = 0; k != NULL && r < RESOURCE_COUNT; r++)
		if (reporter_sent_at(c->reporter, pod->uid) != 0 &&
		    reporter_expects(c->reporter, pod->uid))
			v->resources[r].ratified = k->spec.limit[r];
}

void cluster_hook_status(void *ctx, struct status_view *v)
{
	struct cluster *c = ctx;
	const struct kube_watch_state *w = kube_watch_state(c->watch);
	const struct kube_client_counters *n = kube_client_counters(c->client);
	const char *trouble = c->host->name_wrong  ? "no pod of this node's name runs here: "
						     "kubernetes.nodeName or NODE_NAME is wrong"
			      : pods_lost(c->pods) ? "no cgroup of the annotated pods is found: "
						     "see vscalectl explain"
			      : c->watch_trouble[0] != '\0' ? c->watch_trouble
							    : c->write_trouble;

	v->operation = c->config->unit_count > 0 ? "kubernetes and units" : "kubernetes";
	v->cluster = (struct cluster_view){
		.server = kube_client_server(c->client),
		.node = c->node,
		.synced = w->synced,
		.healthy = w->healthy,
		.trouble = trouble[0] != '\0' ? trouble : NULL,
		.resize_offered = reporter_offered(c->reporter),
		.pod_count = (uint32_t)c->pods->count,
		.writes_waiting = (uint32_t)reporter_waiting(c->reporter),
		.refused_count = (uint32_t)reporter_refused(c->reporter),
		.requests = n->requests,
		.failures = n->failures,
	};
	if (w->last_event_at != 0)
		v->cluster.last_event_realtime_usec =
			c->wake->now_real - (c->wake->now - w->last_event_at);
	for (size_t i = 0; i < c->pods->count && v->cluster.cgroup_driver == NULL; i++)
		if (c->pods->items[i]->level != NULL)
			v->cluster.cgroup_driver =
				c->pods->items[i]->level->unit != NULL ? "systemd" : "cgroupfs";
}

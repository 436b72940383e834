// SPDX-License-Identifier: Apache-2.0
/* The node: its object (what its pods may request, its kubelet's release), and its name: with a
 * wrong one nothing would be sized, without an error. */
#include "agent/cluster/cluster.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "cgroup/kubepods.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* A cgroup may outlive its pod for a moment, or appear a moment after the pod is listed. */
#define DOUBT_USEC (30 * USEC_PER_SEC)

#define RETRY_USEC USEC_PER_MIN

/* At first; twice as long after each search that finds nothing, since some nodes have nothing. */
#define SEARCH_USEC     (5 * USEC_PER_SEC)
#define SEARCH_MAX_USEC (5 * USEC_PER_MIN)

static void on_answer(void *arg, const struct kube_answer *a)
{
	struct cluster *c = arg;
	struct kube_decode_error err;
	bool read = a->error == 0 && a->status == 200 &&
		    kube_decode_node(a->body, a->len, &c->node_object, &err) == 0;

	c->node_list.call = NULL;
	daemon_wake(c->wake);
	refresh_answered(c, REFRESH_NODE, &c->node_list, a, read);
}

void cluster_node_tick(struct cluster *c)
{
	char path[320];
	const struct kube_request request = {.method = "GET", .path = path};

	if (c->node_list.call != NULL || c->node_list.ask_at > c->wake->now ||
	    !kube_watch_state(c->watch)->healthy)
		return;
	snprintf(path, sizeof path, "/api/v1/nodes/%s", c->node);
	if (c->port.start(c->port.ctx, &request, on_answer, c, &c->node_list.call) < 0)
		c->node_list.ask_at = c->wake->now + RETRY_USEC;
}

const struct kube_node *cluster_node_of(const struct cluster *c)
{
	return c->node_list.read ? &c->node_object : NULL;
}

/* From this release on a kubelet takes a lower memory limit without pod-level statistics; before,
 * it panics (kubernetes#141100, mended for 1.38). No mended patch release is known: 1.36.3 took
 * lower limits on a cluster with containerd. 1.33 has no such check, and its API server refuses
 * them. */
static const struct {
	unsigned minor, patch;
} faulty_before[] = {{34, UINT_MAX}, {35, UINT_MAX}, {36, 3}, {37, UINT_MAX}};

bool cluster_node_decreases(const struct cluster *c)
{
	unsigned minor, patch;

	if (!c->node_list.read ||
	    sscanf(c->node_object.kubelet_version, "v1.%u.%u", &minor, &patch) != 2)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(faulty_before); i++)
		if (minor == faulty_before[i].minor)
			return patch >= faulty_before[i].patch;
	return true;
}

void cluster_node_free(struct cluster *c)
{
	refresh_cancel(c, &c->node_list);
}

void cluster_node_note(struct cluster *c, const struct kube_pod *pod)
{
	char path[KUBEPODS_PATH_MAX];

	c->here = c->here || host_find_pod(c->host, pod->cgroup_uid, path) == 0;
	if (c->here || strcmp(pod->phase, "Running") != 0 || c->wake->now < c->search_at ||
	    kubepods_any_pod(c->host->root, c->host->kubelet_root))
		return;
	c->search_usec = MIN(MAX(2 * c->search_usec, SEARCH_USEC), SEARCH_MAX_USEC);
	c->search_at = c->wake->now + c->search_usec;
	if (kubepods_search(c->host->root, pod->cgroup_uid, path, sizeof path) < 0)
		return;
	c->here = true;
	host_set_kubelet_root(c->host, path);
}

void cluster_node_check(struct cluster *c)
{
	if (!c->pods->synced)
		return;
	/* One that came before its cgroup, or was not the one to search for. */
	if (!c->here && c->pods->count > 0)
		cluster_node_note(c, c->pods->items[c->searched++ % c->pods->count]->spec);
	if (c->here || !kubepods_any_pod(c->host->root, c->host->kubelet_root)) {
		c->nowhere_since = 0;
		host_set_name_wrong(c->host, false);
		return;
	}
	if (c->nowhere_since == 0)
		c->nowhere_since = c->wake->now;
	if (c->host->name_wrong || c->wake->now - c->nowhere_since < DOUBT_USEC)
		return;
	host_set_name_wrong(c->host, true);
	event_tell(EVENT_NODE_NAME_WRONG, .detail = c->node);
}

// SPDX-License-Identifier: Apache-2.0
/* Checks the node's name: with a wrong one nothing would be sized, without an error. */
#include "agent/cluster/cluster.h"
#include "agent/manage/daemon_state.h"
#include "agent/manage/pod_table.h"
#include "cgroup/kubepods.h"

/* A cgroup may outlive its pod for a moment, or appear a moment after the pod is listed. */
#define DOUBT_USEC (30 * USEC_PER_SEC)

static const char *prefix_of(const struct daemon *d)
{
	return d->config.kubernetes.cgroup_prefix != NULL ? d->config.kubernetes.cgroup_prefix : "";
}

void cluster_node_note(struct cluster *c, const struct kube_pod *pod)
{
	const struct daemon *d = c->daemon;
	char path[KUBEPODS_PATH_MAX];

	c->here = c->here || kubepods_find_pod(d->host.root, prefix_of(d), pod->cgroup_uid, path,
					       sizeof path) == 0;
}

void cluster_node_check(struct cluster *c)
{
	const struct daemon *d = c->daemon;

	if (!d->pods.synced)
		return;
	if (c->here || !kubepods_any_pod(d->host.root, prefix_of(d))) {
		c->nowhere_since = 0;
		host_set_name_wrong(&c->daemon->host, false);
		return;
	}
	if (c->nowhere_since == 0)
		c->nowhere_since = d->wake.now;
	if (c->daemon->host.name_wrong || d->wake.now - c->nowhere_since < DOUBT_USEC)
		return;
	host_set_name_wrong(&c->daemon->host, true);
	event_node_name_wrong(&(struct daemon_event){.detail = c->node});
}

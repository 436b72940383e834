// SPDX-License-Identifier: Apache-2.0
/* Checks the node's name: with a wrong one nothing would be sized, without an error. */
#include "agent/cluster/cluster.h"
#include "agent/config/config.h"
#include "agent/journal/event.h"
#include "agent/manage/host.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "cgroup/kubepods.h"

/* A cgroup may outlive its pod for a moment, or appear a moment after the pod is listed. */
#define DOUBT_USEC (30 * USEC_PER_SEC)

static const char *prefix_of(const struct config *config)
{
	return config->kubernetes.cgroup_prefix != NULL ? config->kubernetes.cgroup_prefix : "";
}

void cluster_node_note(struct cluster *c, const struct kube_pod *pod)
{
	char path[KUBEPODS_PATH_MAX];

	c->here = c->here || kubepods_find_pod(c->host->root, prefix_of(c->config), pod->cgroup_uid,
					       path, sizeof path) == 0;
}

void cluster_node_check(struct cluster *c)
{

	if (!c->pods->synced)
		return;
	if (c->here || !kubepods_any_pod(c->host->root, prefix_of(c->config))) {
		c->nowhere_since = 0;
		host_set_name_wrong(c->host, false);
		return;
	}
	if (c->nowhere_since == 0)
		c->nowhere_since = c->wake->now;
	if (c->host->name_wrong || c->wake->now - c->nowhere_since < DOUBT_USEC)
		return;
	host_set_name_wrong(c->host, true);
	event_daemon(EVENT_NODE_NAME_WRONG, &(struct daemon_event){.detail = c->node});
}

// SPDX-License-Identifier: Apache-2.0
/* Checks of the cluster, from this node. */
#include "agent/base/drop.h"
#include "agent/ctl/doctor.h"
#include "cgroup/group.h"
#include "cgroup/kubepods.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static bool reached(const struct doctor *d)
{
	return d->cluster.client && d->cluster.status == 200;
}

enum finding check_kube_account(const struct doctor *d, char *text)
{
	const struct doctor_cluster *k = &d->cluster;

	if (!k->wanted)
		return doctor_skip(text, "no cluster is configured, and this is not a pod");
	if (k->config_error < 0)
		return doctor_say(text, FINDING_MISSING, "%s", k->why.text);
	return doctor_say(text, k->config.insecure ? FINDING_WARN : FINDING_OK, "%s, by %s%s",
			  k->config.server,
			  k->config.token_file || k->config.token      ? "a token"
			  : k->config.cert_file || k->config.cert_data ? "a certificate"
								       : "no credential",
			  k->config.insecure ? "; its certificate is not checked" : "");
}

enum finding check_kube_api(const struct doctor *d, char *text)
{
	const struct doctor_cluster *k = &d->cluster;

	if (!k->client)
		return doctor_skip(text, "not connected to an API server");
	if (k->status == 200)
		return doctor_say(text, FINDING_OK, "%s answers", k->config.server);
	if (k->status == 0)
		return doctor_say(text, FINDING_MISSING, "%s: %s", k->config.server, k->detail);
	return doctor_say(text, FINDING_MISSING, "%s says %u: %s", k->config.server, k->status,
			  k->detail);
}

struct right {
	const char *verb;
	const char *group;
	const char *resource;
	const char *subresource;
	bool essential;
	enum { RIGHT_ALWAYS, RIGHT_SIZING, RIGHT_NAMESPACES } where; /* it is needed */
};

/* As in the roles; without a right that is not essential a function is missing. */
static const struct right rights[] = {
	{"list", "", "pods", NULL, true, RIGHT_ALWAYS},
	{"watch", "", "pods", NULL, true, RIGHT_ALWAYS},
	{"patch", "", "pods", "resize", false, RIGHT_SIZING},
	{"patch", "", "pods", NULL, false, RIGHT_ALWAYS},
	{"create", "events.k8s.io", "events", NULL, false, RIGHT_ALWAYS},
	{"patch", "events.k8s.io", "events", NULL, false, RIGHT_ALWAYS},
	{"list", "", "limitranges", NULL, false, RIGHT_ALWAYS},
	{"get", "", "nodes", NULL, false, RIGHT_SIZING},
	{"list", "autoscaling", "horizontalpodautoscalers", NULL, false, RIGHT_SIZING},
	{"list", "", "namespaces", NULL, false, RIGHT_NAMESPACES},
};

static void add_right(char *text, const struct right *r)
{
	size_t length = strlen(text);

	snprintf(text + length, DOCTOR_TEXT_MAX - length, "%s%s %s%s%s", length ? ", " : "may not ",
		 r->verb, r->resource, r->subresource ? "/" : "",
		 r->subresource ? r->subresource : "");
}

enum finding check_kube_rights(const struct doctor *d, char *text)
{
	enum finding f = FINDING_OK;
	bool evicts = false;

	if (!reached(d))
		return doctor_skip(text, "not connected to an API server");
	for (size_t i = 0; i < ARRAY_SIZE(rights); i++) {
		const struct right *r = &rights[i];
		bool allowed = false;
		int e;

		if ((r->where == RIGHT_NAMESPACES && !d->namespaces) ||
		    (r->where == RIGHT_SIZING && d->observes))
			continue;
		e = doctor_cluster_may(&d->cluster, r->verb, r->group, r->resource, r->subresource,
				       &allowed);
		if (e < 0)
			return doctor_say(text, FINDING_WARN, "the API server does not answer: %s",
					  strerror(-e));
		if (allowed)
			continue;
		add_right(text, r);
		if (f != FINDING_MISSING)
			f = r->essential ? FINDING_MISSING : FINDING_WARN;
	}
	if (strstr(text, "get nodes") != NULL)
		snprintf(text + strlen(text), DOCTOR_TEXT_MAX - strlen(text),
			 "; without get nodes no request is raised");
	if (f != FINDING_OK)
		return f;
	if (d->observes)
		return doctor_say(text, f,
				  "all rights to read and show are granted; those to "
				  "resize and evict are not needed");
	(void)doctor_cluster_may(&d->cluster, "create", "", "pods", "eviction", &evicts);
	return doctor_say(text, f, "all rights that vscaled needs are granted%s",
			  evicts ? ", evictions too"
				 : "; pods are not evicted without the component evict");
}

enum finding check_kube_resize(const struct doctor *d, char *text)
{
	if (!reached(d))
		return doctor_skip(text, "not connected to an API server");
	if (!d->cluster.resize_offered)
		return doctor_say(text, FINDING_WARN, "the API server has no pods/resize");
	return doctor_say(text, FINDING_OK, "the API server has pods/resize");
}

/* Pods of the API server, and which of them are here. */
struct census {
	int root;
	char prefix[KUBEPODS_PATH_MAX];
	unsigned listed;
	unsigned here;
};

/* As configured; where it has no pod's cgroup, where the agent would find one. */
static void find_prefix(const struct doctor *d, int root, char ret[static KUBEPODS_PATH_MAX])
{
	snprintf(ret, KUBEPODS_PATH_MAX, "%s", d->cgroup_prefix ? d->cgroup_prefix : "");
	if (!kubepods_any_pod(root, ret))
		kubepods_search(root, NULL, ret, KUBEPODS_PATH_MAX);
}

static int count_pod(void *arg, struct kube_pod *pod)
{
	struct census *c = arg;
	char path[KUBEPODS_PATH_MAX];

	c->listed++;
	c->here += kubepods_find_pod(c->root, c->prefix, pod->cgroup_uid, path, sizeof(path)) == 0;
	kube_pod_free(pod);
	return 0;
}

enum finding check_kube_node(const struct doctor *d, char *text)
{
	OWN(drop_fd) int root = -1;
	struct census c = {0};
	int e;

	if (!reached(d) || d->node == NULL)
		return doctor_skip(text, "not connected to an API server");
	if (!doctor_has_tree(d))
		return doctor_skip(text, DOCTOR_NO_TREE);
	root = open(d->host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	c.root = root;
	find_prefix(d, root, c.prefix);
	e = doctor_cluster_pods(&d->cluster, d->node, count_pod, &c);
	if (e < 0)
		return doctor_say(text, FINDING_WARN, "the pods of node %s cannot be listed: %s",
				  d->node, strerror(-e));
	snprintf(text, DOCTOR_TEXT_MAX, "node %s has %u pods, of which %u run here", d->node,
		 c.listed, c.here);
	if (c.here > 0 || !kubepods_any_pod(root, c.prefix))
		return FINDING_OK;
	return doctor_say(text, FINDING_MISSING,
			  "pods run here, but none of the %u pods of node %s: the name is wrong",
			  c.listed, d->node);
}

enum finding check_cgroup_driver(const struct doctor *d, char *text)
{
	char parents[KUBEPODS_PARENTS_MAX][KUBEPODS_PATH_MAX], prefix[KUBEPODS_PATH_MAX];
	OWN(drop_fd) int root = -1;

	if (!d->cluster.wanted)
		return doctor_skip(text, "no cluster is configured, and this is not a pod");
	if (!doctor_has_tree(d))
		return doctor_skip(text, DOCTOR_NO_TREE);
	root = open(d->host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root >= 0)
		find_prefix(d, root, prefix);
	if (root < 0 || kubepods_parents(root, prefix, parents) == 0)
		return doctor_say(text, FINDING_MISSING,
				  "the kubelet's folder of pods is not below %s", d->host.mount);
	return doctor_say(text, FINDING_OK, "the kubelet uses the %s driver: /%s",
			  strstr(parents[0], ".slice") ? "systemd" : "cgroupfs", parents[0]);
}

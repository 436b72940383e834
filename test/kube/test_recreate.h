/* SPDX-License-Identifier: Apache-2.0 */
/* Pods that the node has had no room for, as the tests of evictions begin. */
#pragma once

#include "agent/base/json.h"
#include "test/kube/test_cluster.h"

#define RECREATE                                                                                   \
	"{\"vscaled.dev/mode\":\"InPlaceOrRecreate\",\"vscaled.dev/containers\":\"app\","          \
	"\"vscaled.dev/max-cpu\":\"700m\"}"
#define OWNER(kind, name)                                                                          \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"" kind "\",\"name\":\"" name "-aaa\",\"uid\":"     \
	"\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\",\"controller\":true}"
#define LABELS(name) "{\"app\":\"" name "\",\"pod-template-hash\":\"aaa\"}"
#define WEB          OWNER("ReplicaSet", "web")
#define METADATA(name, owner)                                                                      \
	"{\"metadata\":{\"labels\":" LABELS(name) ",\"ownerReferences\":[" owner "]}}"
#define INFEASIBLE                                                                                 \
	"{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","            \
	"\"message\":\"Node didn't have enough capacity: cpu\"}"
#define RIGHTS                                                                                     \
	"{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\",\"list\","  \
	"\"watch\",\"patch\"]},{\"apiGroups\":[\"\"],\"resources\":[\"pods/resize\"],\"verbs\":["  \
	"\"patch\"]},{\"apiGroups\":[\"\"],\"resources\":[\"limitranges\"],\"verbs\":["            \
	"\"list\"]},{\"apiGroups\":[\"events.k8s.io\"],\"resources\":[\"events\"],\"verbs\":["     \
	"\"create\",\"patch\"]},{\"apiGroups\":[\"\"],\"resources\":[\"pods/eviction\"],"          \
	"\"verbs\":[\"create\"]},{\"apiGroups\":[\"coordination.k8s.io\"],\"resources\":["         \
	"\"leases\"],\"verbs\":[\"create\",\"get\",\"patch\"]}]}"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

#define LEASES "/apis/coordination.k8s.io/v1/namespaces/vscaled/leases"
#define LEASE  LEASES "/" WEB_LEASE
/* Of default/Deployment/web. */
#define WEB_LEASE "vscaled-evict-586b0c8f8e670796"

#define PODS_MAX 2

struct setting {
	const char *metadata[PODS_MAX]; /* of each pod; NULL: there is none */
	bool alone;                     /* no other pod of the workload web */
	bool budget;                    /* that allows nothing */
	bool no_right;
	bool young; /* all pods */
	bool many;  /* more than one list of pods of the workload, none of them ready */
};

static const char web[] = METADATA("web", WEB);

static inline void put_budget(void)
{
	cJSON_Delete(crig_ask(&c, "POST", BUDGETS,
			      "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"minAvailable\":2,"
			      "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"));
	cJSON_Delete(
		crig_ask(&c, "PATCH", BUDGETS "/web/status",
			 "{\"status\":{\"disruptionsAllowed\":0,\"desiredHealthy\":2,"
			 "\"currentHealthy\":2,\"expectedPods\":2,\"observedGeneration\":1}}"));
}

static inline void put_other(void)
{
	crig_debug(&c, "pods",
		   "{\"prefix\":\"web-other\",\"node\":\"node-2\",\"labels\":" LABELS(
			   "web") ",\"owner\":" WEB "}");
}

static inline bool are_resized(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) == 200)
			return false;
	return true;
}

static inline bool are_refused(struct crig *x)
{
	return x->rig.events[EVENT_REPORT_REFUSED] >= x->rig.pod_count;
}

static inline bool are_original(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) != 200)
			return false;
	return true;
}

static inline void put_pods(const struct setting *s)
{
	static char names[PODS_MAX][16];

	for (size_t i = 0; i < PODS_MAX && s->metadata[i] != NULL; i++) {
		char path[64];

		snprintf(names[i], sizeof names[i], "web-%zu", i);
		snprintf(path, sizeof path, "/api/v1/namespaces/default/pods/web-%zu", i);
		crig_pod(&c, DRIVER_CGROUPFS, names[i], RECREATE);
		cJSON_Delete(crig_ask(&c, "PATCH", path, s->metadata[i]));
	}
}

static inline void tell_all(const char *conditions)
{
	for (size_t i = 0; i < c.rig.pod_count; i++)
		crig_kubelet(&c, &c.rig.pod[i], conditions);
}

/* Until the former specs are back, since the node has no room. */
static inline void begin_refused(const struct setting *s)
{
	crig_clock_ahead = s->young ? 0 : 2 * USEC_PER_HOUR;
	crig_open(&c, NULL, "history: {confidenceAfter: 30m}\n");
	if (!s->no_right)
		cJSON_Delete(crig_ask(&c, "PATCH",
				      "/apis/rbac.authorization.k8s.io/v1/clusterroles/vscaled",
				      RIGHTS));
	put_pods(s);
	if (!s->alone)
		put_other();
	if (s->many)
		crig_debug(&c, "pods",
			   "{\"prefix\":\"a\",\"count\":120,\"running\":false,\"node\":\"node-2\","
			   "\"labels\":" LABELS("web") ",\"owner\":" WEB "}");
	if (s->budget)
		put_budget();
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, are_resized));
	tell_all(INFEASIBLE);
	CHECK(crig_until(&c, 30, burn_699, are_refused));
	CHECK(crig_until(&c, 120, burn_699, are_original));
	tell_all(NULL);
}

static inline unsigned evictions(int status)
{
	return crig_requests(&c, "/eviction", status);
}

/* The holder's text of the workload's lease. */
static inline void check_holder(const char *want)
{
	OWN(drop_json) cJSON *lease = crig_ask(&c, "GET", LEASE, NULL);
	const cJSON *spec = cJSON_GetObjectItem(lease, "spec");
	const char *holder = cJSON_GetStringValue(cJSON_GetObjectItem(spec, "holderIdentity"));

	CHECK(holder != NULL && strncmp(holder, want, strlen(want)) == 0);
}

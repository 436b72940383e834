// SPDX-License-Identifier: Apache-2.0
/* Mode InPlaceOrRecreate: a pod that the node has had no room for is evicted, if another one of its
 * workload is ready, none is new, and the disruption budgets allow it. */
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
	"\"patch\"]},{\"apiGroups\":[\"events.k8s.io\"],\"resources\":[\"events\"],\"verbs\":["    \
	"\"create\",\"patch\"]},{\"apiGroups\":[\"\"],\"resources\":[\"pods/eviction\"],"          \
	"\"verbs\":[\"create\"]}]}"
#define BUDGETS "/apis/policy/v1/namespaces/default/poddisruptionbudgets"

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

static void put_budget(void)
{
	cJSON_Delete(crig_ask(&c, "POST", BUDGETS,
			      "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"minAvailable\":2,"
			      "\"selector\":{\"matchLabels\":{\"app\":\"web\"}}}}"));
	cJSON_Delete(
		crig_ask(&c, "PATCH", BUDGETS "/web/status",
			 "{\"status\":{\"disruptionsAllowed\":0,\"desiredHealthy\":2,"
			 "\"currentHealthy\":2,\"expectedPods\":2,\"observedGeneration\":1}}"));
}

static void put_other(void)
{
	crig_debug(&c, "pods",
		   "{\"prefix\":\"web-other\",\"node\":\"node-2\",\"labels\":" LABELS(
			   "web") ",\"owner\":" WEB "}");
}

static bool are_resized(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) == 200)
			return false;
	return true;
}

static bool are_refused(struct crig *x)
{
	return x->rig.events[EVENT_REPORT_REFUSED] >= x->rig.pod_count;
}

static bool are_original(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) != 200)
			return false;
	return true;
}

static void put_pods(const struct setting *s)
{
	static const char *const names[PODS_MAX] = {"web-0", "web-1"};

	for (size_t i = 0; i < PODS_MAX && s->metadata[i] != NULL; i++) {
		char path[64];

		snprintf(path, sizeof path, "/api/v1/namespaces/default/pods/%s", names[i]);
		crig_pod(&c, DRIVER_CGROUPFS, names[i], RECREATE);
		cJSON_Delete(crig_ask(&c, "PATCH", path, s->metadata[i]));
	}
}

static void tell_all(const char *conditions)
{
	for (size_t i = 0; i < c.rig.pod_count; i++)
		crig_kubelet(&c, &c.rig.pod[i], conditions);
}

/* Until the former specs are back, since the node has no room. */
static void begin_refused(const struct setting *s)
{
	crig_clock_ahead = s->young ? 0 : 2 * USEC_PER_HOUR;
	if (!crig_open(&c, NULL, "history: {confidenceAfter: 30m}\n"))
		exit(check_skip("no test API server: is there a python3?"));
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
	CHECK(crig_until(&c, 30, burn_699, are_original));
	tell_all(NULL);
}

static unsigned evictions(int status)
{
	return crig_requests(&c, "/eviction", status);
}

static void test_evicted(void)
{
	begin_refused(&(struct setting){.metadata = {web}});
	rig_run(&c.rig, 500, burn_699);
	CHECK_EQ(evictions(0), 0);
	rig_run(&c.rig, 150, burn_699);
	CHECK_EQ(evictions(201), 1);
	CHECK_EQ(evictions(0), 1);
	CHECK_EQ(c.rig.events[EVENT_POD_EVICTED], 1);
	CHECK_EQ(crig_lines(&c, EVENT_POD_EVICTED, "no room"), 1);
	crig_close(&c);
}

/* What it needs fits again: the refusal alone is no reason. */
static void test_need_gone(void)
{
	begin_refused(&(struct setting){.metadata = {web}});
	rig_run(&c.rig, 60, burn_699);
	rig_run(&c.rig, 700, burn_50);
	CHECK_EQ(evictions(0), 0);
	crig_close(&c);
}

/* The answer is lost after the API server has evicted the pod: the other one waits as well. */
static void test_lost(void)
{
	begin_refused(&(struct setting){.metadata = {web, web}});
	crig_fault(&c, "cut-inside", "\"match\":\"/eviction\",\"count\":1");
	rig_run(&c.rig, 800, burn_699);
	CHECK_EQ(evictions(0), 1);
	crig_close(&c);
}

/* The pods of a large workload come in several lists: the other one that is ready is in the last.
 */
static void test_many(void)
{
	begin_refused(&(struct setting){.metadata = {web}, .many = true});
	rig_run(&c.rig, 650, burn_699);
	CHECK_EQ(evictions(201), 1);
	CHECK_EQ(c.rig.events[EVENT_EVICTION_REFUSED], 0);
	crig_close(&c);
}

/* The budget says no: reported once for each pod, tried again every 10 min. */
static void test_budget(void)
{
	begin_refused(&(struct setting){.metadata = {web, web}, .budget = true});
	rig_run(&c.rig, 650, burn_699);
	CHECK_EQ(evictions(429), 2);
	/* The resize is tried again, and the node still has no room. */
	CHECK(crig_until(&c, 60, burn_699, are_resized));
	tell_all(INFEASIBLE);
	CHECK(crig_until(&c, 60, burn_699, are_original));
	tell_all(NULL);
	rig_run(&c.rig, 620, burn_699);
	CHECK_EQ(evictions(429), 4);
	CHECK_EQ(c.rig.events[EVENT_EVICTION_REFUSED], 2);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, "disruption budget"), 2);
	CHECK_EQ(crig_events(&c, "EvictionRefused"), 2);
	CHECK_EQ(c.rig.events[EVENT_POD_EVICTED], 0);
	crig_close(&c);
}

static void test_right(void)
{
	begin_refused(&(struct setting){.metadata = {web, web}, .no_right = true});
	rig_run(&c.rig, 700, burn_699);
	CHECK_EQ(evictions(403), 1);
	CHECK_EQ(c.rig.events[EVENT_EVICTIONS_DENIED], 1);
	crig_close(&c);
}

/* Not evicted, and why. */
static void test_not(const struct setting *s, const char *why)
{
	begin_refused(s);
	rig_run(&c.rig, 700, burn_699);
	CHECK_EQ(evictions(0), 0);
	CHECK_EQ(c.rig.events[EVENT_EVICTION_REFUSED], 1);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, why), 1);
	crig_close(&c);
}

int main(void)
{
	test_evicted();
	test_need_gone();
	test_lost();
	test_many();
	test_budget();
	test_right();
	test_not(
		&(struct setting){.metadata = {web, METADATA("agent", OWNER("DaemonSet", "agent"))},
				  .alone = true},
		"no other pod");
	test_not(&(struct setting){.metadata = {web}, .young = true}, "an hour old");
	return check_result();
}

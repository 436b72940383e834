// SPDX-License-Identifier: Apache-2.0
/* What an API server does not take: by quota, by rights, by age, or not now. */
#include "test/kube/test_cluster.h"

static bool refusal_is_shown(struct crig *x)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, &x->rig.pod[0]);
	const char *text = kube_pod_annotation(pod, "status");

	return text != NULL && strstr(text, "exceeded quota") != NULL;
}

static bool cpu_is_back(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) <= 400;
}

/* Quota: 403. CPU goes back to what is allowed and stays there, one Event says why. */
TEST(quota)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/resourcequotas",
			      "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{"
			      "\"name\":\"all\"},\"spec\":{\"hard\":{\"limits.cpu\":\"650m\"}}}"));
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default/resourcequotas/all/status",
			      "{\"status\":{\"hard\":{\"limits.cpu\":\"650m\"},\"used\":{\"limits."
			      "cpu\":\"0\"}}}"));
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_refused));
	CHECK(crig_requests(&c, "/resize", 403) >= 1);
	CHECK(crig_until(&c, 10, burn_699, cpu_is_back));
	CHECK(UNTIL(60, burn_699, crig_events(&c, "ResizeRefused") > 0));
	rig_run(&c.rig, 60, burn_699);
	CHECK(cpu_is_back(&c));
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(crig_requests(&c, "/resize", 403), 1);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
	CHECK_EQ(c.rig.events[EVENT_REPORT_REFUSED], 1);
	CHECK(crig_lines(&c, EVENT_REPORT_REFUSED, "quota") == 1);
	CHECK(metrics_have("vscaled_reports_refused 1\n"));
	CHECK(metrics_have("vscaled_reports_failed_total{reason=\"refused\"} 1\n"));
	CHECK(explains("quota"));
	/* Nor does the next agent ask for it, or raise the limit until it has an answer. */
	CHECK(crig_until(&c, 60, burn_699, refusal_is_shown));
	rig_stop(&c.rig);
	crig_forget_log(&c);
	crig_start(&c);
	for (int i = 0; i < 60; i++) {
		rig_run(&c.rig, 1, burn_699);
		CHECK(cpu_is_back(&c));
	}
	CHECK_EQ(crig_requests(&c, "/resize", 403), 0);
	CHECK(refusal_is_shown(&c));
}

/* A LimitRange for the sum of the pod's containers is kept without a refusal. */
TEST(pod_range)
{
	uint64_t cpu;

	crig_open(&c, NULL, NULL);
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/limitranges",
			      "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{"
			      "\"name\":\"all\"},\"spec\":{\"limits\":[{\"type\":\"Pod\","
			      "\"max\":{\"cpu\":\"800m\"}}]}}"));
	crig_pod(&c, DRIVER_SYSTEMD, "web-0", AUTO);
	crig_start(&c);
	CHECK(UNTIL(20, burn_50, crig_requests(&c, "/limitranges", 200) > 0));
	rig_run(&c.rig, 100, burn_699);
	cpu = rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0]));
	CHECK(cpu > 400 && cpu <= 500);
	CHECK_EQ(crig_requests(&c, "/resize", 403), 0);
	CHECK(crig_requests(&c, "/resize", 200) > 0);
}

#define INFEASIBLE(what)                                                                           \
	"{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","            \
	"\"message\":\"Node didn't have enough capacity: " what "\"}"

/* The kubelet says never: back to what was, in cgroup and spec. */
TEST(infeasible)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, INFEASIBLE("cpu"));
	CHECK(crig_until(&c, 30, burn_699, is_refused));
	CHECK(crig_until(&c, 10, burn_699, cpu_is_back));
	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 2);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
}

#define DEFERRED                                                                                   \
	"{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\","              \
	"\"message\":\"Node didn't have enough resource: cpu, requested: 1550, used: 1300, "       \
	"capacity: 2000\"}"

/* A full node: the pending request is withdrawn after five minutes, once, and the cgroup follows.
 */
TEST(deferred)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, DEFERRED);
	rig_run(&c.rig, 250, burn_699);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 0);
	CHECK(crig_until(&c, 100, burn_699, is_refused));
	CHECK(crig_until(&c, 10, burn_699, cpu_is_back));
	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, burn_699);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 2);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_REPORT_REFUSED, "enough resource: cpu"), 1);
	/* When the refusal ends. */
	CHECK(crig_until(&c, 1000, burn_699, is_resized));
}

static void request_of_other(const char *cpu)
{
	char body[256];

	snprintf(body, sizeof body,
		 "{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":"
		 "{\"cpu\":\"%s\"}}}]}}",
		 cpu);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default/pods/other/resize", body));
}

/* The kubelet has carried it out. */
static void allocated_to_other(const char *cpu)
{
	char body[512];

	snprintf(
		body, sizeof body,
		"{\"status\":{\"containerStatuses\":[{\"name\":\"app\",\"state\":{\"running\":{}},"
		"\"ready\":true,\"restartCount\":0,\"image\":\"a\",\"imageID\":\"\",\"resources\":{"
		"\"requests\":{\"cpu\":\"%s\"}},\"allocatedResources\":{\"cpu\":\"%s\"}}]}}",
		cpu, cpu);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default/pods/other/status", body));
}

/* Withdrawn, and tried again as soon as pods that vscaled does not size have given up the 850m that
 * it lacks. */
TEST(room)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_debug(&c, "pods",
		   "{\"prefix\":\"other\",\"node\":\"node-1\",\"resources\":{\"requests\":{"
		   "\"cpu\":\"1200m\"}}}");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, DEFERRED);
	CHECK(crig_until(&c, 600, burn_699, is_refused));
	rig_run(&c.rig, 20, burn_699);
	crig_kubelet(&c, p, NULL);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	request_of_other("400m");
	allocated_to_other("400m");
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	/* Asked for is not given up. */
	request_of_other("300m");
	rig_run(&c.rig, 30, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	allocated_to_other("300m");
	CHECK(crig_until(&c, 60, burn_699, is_resized));
}

#define BOTH                                                                                       \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/controlled-values\":\"RequestsAndLimits\","                                 \
	"\"vscaled.dev/max-cpu\":\"700m\"}"

static uint64_t request_of(const struct rig_pod *p)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, p);

	return kube_pod_container(pod, "app")->spec.request[RESOURCE_CPU];
}

static bool request_is_higher(struct crig *x)
{
	return request_of(&x->rig.pod[0]) > 100;
}

static void others_request(const char *cpu)
{
	char body[256];

	snprintf(body, sizeof body,
		 "{\"prefix\":\"other\",\"node\":\"node-1\",\"resources\":{\"requests\":{"
		 "\"cpu\":\"%s\"}}}",
		 cpu);
	crig_debug(&c, "pods", body);
}

/* A full node (7800m): the limit goes out alone, the request waits, nothing is refused; with room
 * it follows. */
TEST(full_node)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", BOTH);
	others_request("7600m");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_699);
	/* There is room for memory. */
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(request_of(p), 100);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 0);
	CHECK(metrics_have("vscaled_requests_waited_total 1\n"));
	CHECK(explains("no room for a higher request"));
	request_of_other("1");
	allocated_to_other("1");
	CHECK(crig_until(&c, 60, burn_699, request_is_higher));
}

/* Without nodes: get no request is raised, and the pod says so. */
TEST(no_node)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", BOTH);
	crig_fault(&c, "403", "\"match\":\"GET /api/v1/nodes\",\"count\":-1");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(request_of(p), 100);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	CHECK(explains("the Node is not known"));
}

/* What the node did not show: the kubelet never admits the request. It goes back, and the limit
 * stays in the spec and in the cgroup. */
TEST(request_infeasible)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, BOTH);

	CHECK(crig_until(&c, 60, burn_699, request_is_higher));
	crig_kubelet(&c, p, INFEASIBLE("cpu"));
	CHECK(crig_until(&c, 30, burn_699, is_refused));
	CHECK(UNTIL(30, burn_699, request_of(&c.rig.pod[0]) == 100));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	CHECK_EQ(request_of(p), 100);
	CHECK_EQ(crig_events(&c, "Restored"), 0);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
}

static void grow(struct rig *r)
{
	burn_all(r, 150);
	for (size_t i = 0; i < r->pod_count; i++)
		if (app_of(&r->pod[i])->anon_bytes < 90 * MIB)
			rig_grow(r, app_of(&r->pod[i]), 10 * MIB);
}

static bool memory_is_reported(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_MEMORY) <= 64 * MIB)
			return false;
	return true;
}

static void grow_in_vain(struct rig *r)
{
	grow(r);
	crig_kubelet(&c, &r->pod[0], INFEASIBLE("memory"));
}

/* First the CPU: its ceiling is reported once, when it comes. Then the memory limit that leads:
 * that is no value of the cgroup, and what is in use above it is reported. */
TEST(infeasible_again)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, INFEASIBLE("cpu"));
	CHECK(crig_until(&c, 30, burn_699, is_refused));
	rig_run(&c.rig, 20, burn_699);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_50);
	CHECK(crig_until(&c, 80, grow, memory_is_reported));
	CHECK(UNTIL(60, grow_in_vain, c.rig.events[EVENT_MEMORY_ABOVE_SPEC] > 0));
	CHECK_EQ(crig_lines(&c, EVENT_REPORT_REFUSED, "capacity: cpu"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_REPORT_REFUSED, ""), 1);
	CHECK_EQ(crig_lines(&c, EVENT_MEMORY_ABOVE_SPEC, "capacity: memory"), 1);
}

/* Without the right to resize: sizing goes on, it is said once, and asked again seldom. */
TEST(rights)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	/* All but pods/resize. */
	cJSON_Delete(crig_ask(
		&c, "PATCH", "/apis/rbac.authorization.k8s.io/v1/clusterroles/vscaled",
		"{\"rules\":[{\"apiGroups\":[\"\"],\"resources\":[\"pods\"],\"verbs\":[\"get\","
		"\"list\",\"watch\",\"patch\"]},{\"apiGroups\":[\"events.k8s.io\"],\"resources\":["
		"\"events\"],\"verbs\":[\"create\",\"patch\"]}]}"));
	crig_start(&c);
	CHECK(UNTIL(60, burn_699, c.rig.events[EVENT_API_REFUSES] > 0));
	CHECK_EQ(crig_lines(&c, EVENT_API_REFUSES, "pods/resize"), 1);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(c.rig.events[EVENT_API_REFUSES], 1);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK(crig_has_status(&c, p));
}

/* Nothing at all but the token: no pods, no crash, a word, and little noise. */
TEST(no_rights)
{
	static const char *const bare[] = {"--bare", NULL};

	crig_open(&c, bare, NULL);
	crig_start(&c);
	rig_run(&c.rig, 120, burn_699);
	CHECK_EQ(c.rig.events[EVENT_API_LOST], 1);
	CHECK(crig_lines(&c, EVENT_API_LOST, "cannot list") == 1);
	CHECK(crig_requests(&c, "", 0) > 2 && crig_requests(&c, "", 0) <= 16);
}

/* Without pods/resize: the annotation alone. */
TEST(not_offered)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_debug(&c, "without", "{\"names\":[\"pods/resize\"]}");
	crig_start(&c);
	CHECK(UNTIL(60, burn_699, crig_has_status(&c, &c.rig.pod[0])));
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK(metrics_have("vscaled_reports_sent_total 0\n"));
	CHECK(explains("\"cgroup-only\""));
}

static void shrunk(struct rig *r)
{
	burn_all(r, 150);
	for (size_t i = 0; i < r->pod_count; i++)
		app_of(&r->pod[i])->anon_bytes = 20 * MIB;
}

static bool cgroups_are_original(struct crig *x)
{
	return rig_bytes(&x->rig, app_of(&x->rig.pod[0]), "memory.max") == 64 * MIB &&
	       rig_bytes(&x->rig, app_of(&x->rig.pod[1]), "memory.max") == 64 * MIB;
}

/* 1.33 takes no lower memory limit: not asked twice, it stays in the cgroups. The originals stay on
 * record, in the annotation too. */
TEST(no_decrease)
{
	static const char *const old[] = {"--version", "1.33", NULL};
	struct rig_pod *p[2];

	crig_open(&c, old, NULL);
	p[0] = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	p[1] = crig_pod(&c, DRIVER_CGROUPFS, "web-1", AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 80, grow, memory_is_reported));
	/* Headroom that cannot come back is smaller, and explain says how much it covers. */
	CHECK(explains("\"ahead_usec\":20000000"));
	for (int i = 0; i < 2; i++)
		crig_kubelet(&c, p[i], NULL);
	rig_run(&c.rig, 20, shrunk);
	for (int i = 0; i < 2; i++)
		crig_annotate(&c, p[i], "mode", NULL);
	CHECK(crig_until(&c, 240, shrunk, cgroups_are_original));
	rig_run(&c.rig, 40, shrunk);
	CHECK(cgroups_are_original(&c));
	for (int i = 0; i < 2; i++) {
		CHECK(crig_spec(&c, p[i], "app", RESOURCE_MEMORY) > 64 * MIB);
		CHECK(crig_has_status(&c, p[i]));
	}
	CHECK_EQ(c.rig.daemon->pods.count, 2);
	/* Both may be on their way before the first answer. */
	CHECK(crig_requests(&c, "/resize", 422) >= 1);
	CHECK(crig_requests(&c, "/pods/web-0/resize", 422) <= 1);
	CHECK(crig_requests(&c, "/pods/web-1/resize", 422) <= 1);
	CHECK_EQ(c.rig.kills, 0);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 0);
}

static bool explains_fault(struct crig *x)
{
	char *page;
	bool ret;

	if (crig_control(x, "/v1/units/default/web-0/app", &page) != 200)
		return false;
	ret = strstr(page, "kubernetes#141100") != NULL;
	free(page);
	return ret;
}

/* A kubelet that may panic on a lower memory limit is sent none: what use no longer needs, and the
 * original, stay in the cgroup, and explain says why. */
static void test_kubelet_fails(const char *node, bool lowered)
{
	struct rig_pod *p;
	uint64_t spec;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/nodes/node-1/status", node));
	crig_start(&c);
	CHECK(crig_until(&c, 80, grow, memory_is_reported));
	crig_kubelet(&c, p, NULL);
	spec = crig_spec(&c, p, "app", RESOURCE_MEMORY);
	rig_run(&c.rig, 120, shrunk);
	if (!lowered) {
		CHECK(crig_spec(&c, p, "app", RESOURCE_MEMORY) >= spec);
		CHECK(crig_until(&c, 240, shrunk, explains_fault));
	}
	crig_annotate(&c, p, "mode", NULL);
	CHECK_EQ(
		UNTIL(60, shrunk, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) <= 64 * MIB),
		lowered);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
}

#define KUBELET(release) "{\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"" release "\"}}}"

TEST(with_parameters)
{
	test_kubelet_fails(KUBELET("v1.35.2"), false);
	test_kubelet_fails(KUBELET("v1.36.3"), true);
}

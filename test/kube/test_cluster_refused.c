// SPDX-License-Identifier: Apache-2.0
/* What an API server does not take: by quota, by rights, by age, or not now. */
#include "test/kube/test_cluster.h"

static bool is_refused(struct crig *x)
{
	return x->rig.events[EVENT_REPORT_REFUSED] > 0;
}

static bool refusal_is_reported(struct crig *x)
{
	return crig_events(x, "ResizeRefused") > 0;
}

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

static bool knows_ranges(struct crig *x)
{
	return crig_requests(x, "/limitranges", 200) > 0;
}

/* Quota: 403. CPU goes back to what is allowed and stays there, one Event says why. */
static void test_quota(void)
{
	struct rig_pod *p;
	char *page = NULL;

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
	CHECK(crig_until(&c, 60, burn_699, refusal_is_reported));
	rig_run(&c.rig, 60, burn_699);
	CHECK(cpu_is_back(&c));
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(crig_requests(&c, "/resize", 403), 1);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
	CHECK_EQ(c.rig.events[EVENT_REPORT_REFUSED], 1);
	CHECK(crig_lines(&c, EVENT_REPORT_REFUSED, "quota") == 1);
	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	CHECK(strstr(page, "vscaled_reports_refused 1\n") != NULL);
	CHECK(strstr(page, "vscaled_reports_failed_total{reason=\"refused\"} 1\n") != NULL);
	free(page);
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	CHECK(strstr(page, "quota") != NULL);
	free(page);
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
	crig_close(&c);
}

/* A LimitRange for the sum of the pod's containers is kept without a refusal. */
static void test_pod_range(void)
{
	uint64_t cpu;

	crig_open(&c, NULL, NULL);
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/limitranges",
			      "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{"
			      "\"name\":\"all\"},\"spec\":{\"limits\":[{\"type\":\"Pod\","
			      "\"max\":{\"cpu\":\"800m\"}}]}}"));
	crig_pod(&c, DRIVER_SYSTEMD, "web-0", AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 20, burn_50, knows_ranges));
	rig_run(&c.rig, 100, burn_699);
	cpu = rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0]));
	CHECK(cpu > 400 && cpu <= 500);
	CHECK_EQ(crig_requests(&c, "/resize", 403), 0);
	CHECK(crig_requests(&c, "/resize", 200) > 0);
	crig_close(&c);
}

#define INFEASIBLE(what)                                                                           \
	"{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","            \
	"\"message\":\"Node didn't have enough capacity: " what "\"}"

/* The kubelet says never: back to what was, in cgroup and spec. */
static void test_infeasible(void)
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
	crig_close(&c);
}

#define DEFERRED                                                                                   \
	"{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\","              \
	"\"message\":\"Node didn't have enough resource: cpu, requested: 1550, used: 1300, "       \
	"capacity: 2000\"}"

/* A full node: the pending request is withdrawn after five minutes, once, and the cgroup follows.
 */
static void test_deferred(void)
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
	crig_close(&c);
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
static void test_room(void)
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
	crig_close(&c);
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
static void test_full_node(void)
{
	struct rig_pod *p;
	char *page = NULL;

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
	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	CHECK(strstr(page, "vscaled_requests_waited_total 1\n") != NULL);
	free(page);
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	CHECK(strstr(page, "no room for a higher request") != NULL);
	free(page);
	request_of_other("1");
	allocated_to_other("1");
	CHECK(crig_until(&c, 60, burn_699, request_is_higher));
	crig_close(&c);
}

/* Without nodes: get no request is raised, and the pod says so. */
static void test_no_node(void)
{
	struct rig_pod *p;
	char *page = NULL;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", BOTH);
	crig_fault(&c, "403", "\"match\":\"GET /api/v1/nodes\",\"count\":-1");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(request_of(p), 100);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	CHECK(strstr(page, "the Node is not known") != NULL);
	free(page);
	crig_close(&c);
}

static bool back_is_sent(struct crig *x)
{
	return request_of(&x->rig.pod[0]) == 100;
}

/* What the node did not show: the kubelet never admits the request. It goes back, and the limit
 * stays in the spec and in the cgroup. */
static void test_request_infeasible(void)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, BOTH);

	CHECK(crig_until(&c, 60, burn_699, request_is_higher));
	crig_kubelet(&c, p, INFEASIBLE("cpu"));
	CHECK(crig_until(&c, 30, burn_699, is_refused));
	CHECK(crig_until(&c, 30, burn_699, back_is_sent));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	CHECK_EQ(request_of(p), 100);
	CHECK_EQ(crig_events(&c, "Restored"), 0);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
	crig_close(&c);
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

static bool is_above(struct crig *x)
{
	return x->rig.events[EVENT_MEMORY_ABOVE_SPEC] > 0;
}

/* First the CPU: its ceiling is reported once, when it comes. Then the memory limit that leads:
 * that is no value of the cgroup, and what is in use above it is reported. */
static void test_infeasible_again(void)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	CHECK(crig_until(&c, 60, burn_699, is_resized));
	crig_kubelet(&c, p, INFEASIBLE("cpu"));
	CHECK(crig_until(&c, 30, burn_699, is_refused));
	rig_run(&c.rig, 20, burn_699);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_50);
	CHECK(crig_until(&c, 80, grow, memory_is_reported));
	CHECK(crig_until(&c, 60, grow_in_vain, is_above));
	CHECK_EQ(crig_lines(&c, EVENT_REPORT_REFUSED, "capacity: cpu"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_REPORT_REFUSED, ""), 1);
	CHECK_EQ(crig_lines(&c, EVENT_MEMORY_ABOVE_SPEC, "capacity: memory"), 1);
	CHECK_EQ(c.rig.kills, 0);
	crig_close(&c);
}

static bool is_denied(struct crig *x)
{
	return x->rig.events[EVENT_API_REFUSES] > 0;
}

/* Without the right to resize: sizing goes on, it is said once, and asked again seldom. */
static void test_rights(void)
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
	CHECK(crig_until(&c, 60, burn_699, is_denied));
	CHECK_EQ(crig_lines(&c, EVENT_API_REFUSES, "pods/resize"), 1);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(c.rig.events[EVENT_API_REFUSES], 1);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK(crig_has_status(&c, p));
	crig_close(&c);
}

/* Nothing at all but the token: no pods, no crash, a word, and little noise. */
static void test_no_rights(void)
{
	static const char *const bare[] = {"--bare", NULL};

	crig_open(&c, bare, NULL);
	crig_start(&c);
	rig_run(&c.rig, 120, burn_699);
	CHECK_EQ(c.rig.events[EVENT_API_LOST], 1);
	CHECK(crig_lines(&c, EVENT_API_LOST, "cannot list") == 1);
	CHECK(crig_requests(&c, "", 0) > 2 && crig_requests(&c, "", 0) <= 16);
	crig_close(&c);
}

static bool status_is_reported(struct crig *x)
{
	return crig_has_status(x, &x->rig.pod[0]);
}

/* Without pods/resize: the annotation alone. */
static void test_not_offered(void)
{
	struct rig_pod *p;
	char *page = NULL;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_debug(&c, "without", "{\"names\":[\"pods/resize\"]}");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, status_is_reported));
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	CHECK(strstr(page, "vscaled_reports_sent_total 0\n") != NULL);
	free(page);
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	CHECK(strstr(page, "\"cgroup-only\"") != NULL);
	free(page);
	crig_close(&c);
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
static void test_no_decrease(void)
{
	static const char *const old[] = {"--version", "1.33", NULL};
	struct rig_pod *p[2];
	char *page;

	crig_open(&c, old, NULL);
	p[0] = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	p[1] = crig_pod(&c, DRIVER_CGROUPFS, "web-1", AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 80, grow, memory_is_reported));
	/* Headroom that cannot come back is smaller, and explain says how much it covers. */
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	CHECK(strstr(page, "\"ahead_usec\":20000000") != NULL);
	free(page);
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
	crig_close(&c);
}

static bool limit_is_back(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_MEMORY) <= 64 * MIB;
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
	CHECK_EQ(crig_until(&c, 60, shrunk, limit_is_back), lowered);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	crig_close(&c);
}

#define KUBELET(release) "{\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"" release "\"}}}"

int main(void)
{
	test_quota();
	test_pod_range();
	test_infeasible();
	test_infeasible_again();
	test_deferred();
	test_room();
	test_full_node();
	test_no_node();
	test_request_infeasible();
	test_rights();
	test_no_rights();
	test_not_offered();
	test_no_decrease();
	test_kubelet_fails(KUBELET("v1.35.2"), false);
	test_kubelet_fails(KUBELET("v1.36.3"), true);
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* Requests of containers without limits: raised and lowered through the API alone, within bounds,
 * and no more often than their times allow. */
#include "policy/base/text.h"
#include "test/kube/fast_clock.h"
#include "test/kube/test_cluster.h"
#include <fcntl.h>
#include <unistd.h>

/* Of the rig's configuration. */
#define UP_SEC   20
#define DOWN_SEC 40

#define REQUESTS(values)                                                                           \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/min-cpu\":\"50m\",\"vscaled.dev/max-cpu\":\"500m\","                        \
	"\"vscaled.dev/controlled-values\":\"" values "\"}"
#define CONTAINERS(resources)                                                                      \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/"                               \
	"app:1\",\"resources\":{" resources                                                        \
	"}},{\"name\":\"log\",\"image\":\"example.com/log:1\",\"resources\":{" resources "}}]"
#define WITH_REQUESTS CONTAINERS("\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}")

#define WITH_LIMITS                                                                                \
	CONTAINERS("\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"},"                          \
		   "\"limits\":{\"cpu\":\"900m\",\"memory\":\"64Mi\"}")

static uint64_t requested(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	return kube_pod_container(pod, "app")->spec.request[r];
}

static uint64_t request(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	CHECK_EQ(kube_pod_container(pod, "app")->spec.limit[r], LIMIT_MAX);
	return requested(r);
}

static struct rig_pod *begin_pod(enum cgroup_driver driver, const char *annotations,
				 const char *containers)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, driver, "web-0", annotations, containers);
	crig_start(&c);
	return p;
}

static void burn_10(struct rig *r)
{
	burn_all(r, 10);
}

static bool any_is_higher(struct crig *)
{
	return request(RESOURCE_CPU) > 100 || request(RESOURCE_MEMORY) > 16 * MIB;
}

static bool both_are_higher(struct crig *)
{
	return request(RESOURCE_CPU) > 100 && request(RESOURCE_MEMORY) > 16 * MIB;
}

/* The kubelet carries out each step on the way. */
static bool is_least(struct crig *x)
{
	static unsigned seen;
	unsigned resizes = crig_requests(x, "/resize", 200);

	if (resizes != seen)
		crig_kubelet(x, &x->rig.pod[0], NULL);
	seen = resizes;
	return request(RESOURCE_CPU) == 50;
}

static bool is_most(struct crig *x)
{
	is_least(x);
	return request(RESOURCE_CPU) == 500;
}

static bool is_original(struct crig *)
{
	return request(RESOURCE_CPU) == 100 && request(RESOURCE_MEMORY) == 16 * MIB;
}

/* Starved, then idle, then above its maximum; at last not managed any more. */
static void test_moves(enum cgroup_driver driver, const char *annotations)
{
	struct rig_pod *p = begin_pod(driver, annotations, WITH_REQUESTS);
	usec_t start = c.rig.real;
	unsigned resizes;

	/* One may be due a moment before the other. */
	CHECK(crig_until(&c, 60, burn_300, any_is_higher));
	CHECK(c.rig.real - start >= UP_SEC * USEC_PER_SEC);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 60, burn_300, both_are_higher));
	/* p90 and 15 %, 345m; the fast clock gives the load less than its time, or a tenth more. */
	CHECK(request(RESOURCE_CPU) >= 220 && request(RESOURCE_CPU) <= 390);
	/* 20 MiB are used. */
	CHECK(request(RESOURCE_MEMORY) >= 20 * MIB);
	crig_kubelet(&c, p, NULL);
	resizes = crig_requests(&c, "/resize", 0);
	start = c.rig.real;
	CHECK(crig_until(&c, 900, burn_10, is_least));
	CHECK(c.rig.real - start >= DOWN_SEC * USEC_PER_SEC);
	CHECK(request(RESOURCE_MEMORY) >= 20 * MIB);
	/* On its way down, and no more often than that. */
	CHECK(crig_requests(&c, "/resize", 0) - resizes <= 4);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 300, burn_900, is_most));
	crig_kubelet(&c, p, NULL);
	/* No limit came from anywhere. */
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), LIMIT_MAX);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), LIMIT_MAX);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 60, burn_900, is_original));
}

/* With kubectl, and the kubelet carries it out. */
static void owner_requests(struct rig_pod *p, const char *requests)
{
	char body[200];

	snprintf(body, sizeof body,
		 "{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"requests\":{%s}}}]}"
		 "}",
		 requests);
	cJSON_Delete(crig_ask(
		&c, "PATCH",
		"/api/v1/namespaces/default/pods/web-0/resize?fieldManager=kubectl-patch", body));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_50);
}

/* An owner sets the memory request, after vscaled has moved both: that one stays, and what vscaled
 * has moved goes back. limits: those are the owner's as well. */
TEST_BOTH(owner_meanwhile, limits)
{
	struct rig_pod *p = begin_pod(DRIVER_CGROUPFS, REQUESTS("RequestsOnly"),
				      limits ? WITH_LIMITS : WITH_REQUESTS);

	CHECK(UNTIL(120, burn_300, requested(RESOURCE_CPU) > 100));
	crig_kubelet(&c, p, NULL);
	CHECK(UNTIL(60, burn_300, requested(RESOURCE_MEMORY) > 16 * MIB));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_300);
	owner_requests(p, "\"memory\":\"48Mi\"");
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(60, burn_300, requested(RESOURCE_CPU) == 100));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 20, burn_300);
	CHECK_EQ(requested(RESOURCE_MEMORY), 48 * MIB);
}

/* controlled-values no longer names the requests: what vscaled has moved goes back, an owner's
 * value stays, and the limits go on. */
TEST_BOTH(narrowed, owners)
{
	struct rig_pod *p = begin_pod(DRIVER_CGROUPFS, REQUESTS("RequestsAndLimits"), WITH_LIMITS);

	CHECK(UNTIL(120, burn_300, requested(RESOURCE_CPU) > 100));
	crig_kubelet(&c, p, NULL);
	CHECK(UNTIL(60, burn_300, requested(RESOURCE_MEMORY) > 16 * MIB));
	crig_kubelet(&c, p, NULL);
	if (owners)
		owner_requests(p, "\"memory\":\"48Mi\"");
	crig_annotate(&c, p, "controlled-values", "LimitsOnly");
	CHECK(UNTIL(60, burn_300, requested(RESOURCE_CPU) == 100));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_300);
	CHECK_EQ(requested(RESOURCE_CPU), 100);
	CHECK_EQ(requested(RESOURCE_MEMORY), owners ? 48 * MIB : 16 * MIB);
	CHECK(explains("\"controlled\":true"));
	CHECK_EQ(crig_requests(&c, "/resize", 422), 0);
}

static uint64_t app_limit(enum resource r)
{
	return crig_spec(&c, &c.rig.pod[0], "app", r);
}

/* controlled-values no longer names the limits: they go back in cgroup and spec, while the requests
 * go on. restart: it changes while no agent runs. */
TEST_BOTH(limits_no_longer_controlled, restart)
{
	struct rig_pod *p =
		begin_pod(DRIVER_CGROUPFS, REQUESTS("RequestsAndLimits"),
			  CONTAINERS("\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"},"
				     "\"limits\":{\"cpu\":\"200m\",\"memory\":\"64Mi\"}"));

	CHECK(UNTIL(120, burn_300, app_limit(RESOURCE_CPU) > 200 && requested(RESOURCE_CPU) > 100));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_300);
	if (restart)
		rig_stop(&c.rig);
	crig_annotate(&c, p, "controlled-values", "RequestsOnly");
	if (restart)
		crig_start(&c);
	CHECK(UNTIL(120, burn_300, app_limit(RESOURCE_CPU) == 200));
	CHECK(requested(RESOURCE_CPU) > 100);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_300);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(app_limit(RESOURCE_CPU), 200);
	CHECK_EQ(app_limit(RESOURCE_MEMORY), 64 * MIB);
	CHECK(requested(RESOURCE_CPU) > 100);
	CHECK(explains("\"hold\":\"requests-only\""));
	CHECK(UNTIL(900, burn_10, requested(RESOURCE_CPU) < 100));
	CHECK_EQ(app_limit(RESOURCE_CPU), 200);
	CHECK_EQ(crig_requests(&c, "/resize", 422), 0);
}

/* A request that fits under no original limit is none to go back to: both are those from before. */
TEST(owner_above_original)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	owner_requests(p, "\"cpu\":\"400m\"");
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(60, burn_50, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_CPU) == 200));
	CHECK_EQ(requested(RESOURCE_CPU), 100);
	crig_kubelet(&c, p, NULL);
	CHECK(UNTIL(60, burn_50, c.rig.daemon->pods.count == 0));
}

/* The time until the node's next window, where there is one in `every`. */
static usec_t until_window(usec_t every, usec_t now)
{
	return every - (now + text_hash(TEXT_HASH_FIRST, "node-1") % every) % every;
}

static bool is_high(struct crig *x)
{
	is_least(x);
	return request(RESOURCE_CPU) >= 200;
}

static bool waits(struct crig *x)
{
	is_least(x);
	return explains("a decrease waits for the node's window");
}

static bool is_low(struct crig *)
{
	return request(RESOURCE_CPU) < 200;
}

/* Raises go at once; a decrease waits for the node's window, and says so. */
TEST(window)
{
	char interval[16];
	usec_t every = 45 * USEC_PER_MIN, left;

	fast_clock_start(1); /* as it begins anew */
	while (left = until_window(every, fast_clock_now()),
	       left < 22 * USEC_PER_MIN || left > 25 * USEC_PER_MIN)
		every += USEC_PER_SEC;
	snprintf(interval, sizeof interval, "%us", (unsigned)(every / USEC_PER_SEC));
	crig_decrease_interval = interval;
	begin_pod(DRIVER_CGROUPFS, REQUESTS("RequestsAndLimits"), WITH_REQUESTS);
	crig_decrease_interval = "0s";
	alarm(400);
	CHECK(crig_until(&c, 180, burn_300, is_high));
	CHECK(crig_until(&c, 1000, burn_10, waits));
	CHECK(!is_low(&c));
	CHECK(crig_until(&c, 1500, burn_10, is_low));
	CHECK(until_window(every, c.rig.daemon->wake.now) > every - 15 * USEC_PER_MIN);
	CHECK_EQ(crig_events(&c, "NotSized"), 0);
}

static bool original_is_reported(struct crig *x)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, &x->rig.pod[0]);
	const char *text = kube_pod_annotation(pod, "status");

	return text != NULL && strstr(text, "\"originalRequest\":\"100m\"") != NULL;
}

/* The node's records are lost: the original requests are read from the annotation. */
TEST(lost_records)
{
	static const char *const files[] = {"baseline", "baseline-copy", "history"};
	struct rig_pod *p =
		begin_pod(DRIVER_CGROUPFS, REQUESTS("RequestsAndLimits"), WITH_REQUESTS);
	int dir;

	CHECK(crig_until(&c, 60, burn_300, any_is_higher));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 60, burn_300, both_are_higher));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 90, burn_300, original_is_reported));
	dir = open(c.rig.daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	rig_stop(&c.rig);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		CHECK(unlinkat(dir, files[i], 0) == 0);
	close(dir);
	crig_start(&c);
	rig_run(&c.rig, 20, burn_300);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 60, burn_300, is_original));
}

static bool memory_is_higher(struct crig *)
{
	return request(RESOURCE_MEMORY) > 16 * MIB;
}

static bool cpu_is_higher(struct crig *)
{
	return request(RESOURCE_CPU) > 100;
}

#define AUTOSCALERS "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"

/* A HorizontalPodAutoscaler scales by the utilisation of CPU: that request stays, memory's moves;
 * once it scales by an average value, both do. */
TEST(autoscaled)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS("RequestsAndLimits"),
			  WITH_REQUESTS);
	cJSON_Delete(crig_ask(&c, "POST", AUTOSCALERS,
			      "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"maxReplicas\":3,"
			      "\"scaleTargetRef\":{\"kind\":\"Pod\",\"name\":\"web-0\"}}}"));
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_300, memory_is_higher));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(crig_requests(&c, "horizontalpodautoscalers", 200), 1);
	cJSON_Delete(crig_ask(&c, "DELETE", AUTOSCALERS "/web", NULL));
	rig_run(&c.rig, 400, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100); /* asked again after 10 min */
	CHECK(crig_until(&c, 200, burn_300, cpu_is_higher));
	CHECK_EQ(crig_requests(&c, "horizontalpodautoscalers", 200), 2);
}

/* One that scales an operator's custom resource: it may be above any pod whose own one is not
 * known. explain names it; an annotation says that it is not. */
TEST(operator)
{
	/* With those that the pod has, more than a view once showed. */
	static const char *const others[][2] = {
		{"resources", "both"},      {"goal", "balanced"},       {"scale-down", "true"},
		{"max-memory", "1Gi"},      {"cpu-percentile", "none"}, {"memory-margin", "none"},
		{"startup-boost", "1x 1s"}, {"rollout", "100%"},        {"allow-restart", "false"},
		{"min-memory", "16Mi"},     {"policy", "{}"},
	};
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS("RequestsAndLimits"),
			  WITH_REQUESTS);
	cJSON_Delete(crig_ask(&c, "POST", AUTOSCALERS,
			      "{\"metadata\":{\"name\":\"made\"},\"spec\":{\"maxReplicas\":3,"
			      "\"scaleTargetRef\":{\"apiVersion\":\"example.com/v1\",\"kind\":"
			      "\"Collector\",\"name\":\"otel\"}}}"));
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_300, memory_is_higher));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK(explains("HorizontalPodAutoscaler made scales Collector/otel, which may be above "
		       "this pod"));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		crig_annotate(&c, p, others[i][0], others[i][1]);
	crig_annotate(&c, p, "autoscaled", "false");
	CHECK(crig_until(&c, 200, burn_300, cpu_is_higher));
	CHECK(explains("\"autoscaled\""));
}

/* The list of autoscalers always fails: requests wait, and that is reported once. */
TEST(autoscalers_fail)
{
	crig_open(&c, NULL, NULL);
	crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS("RequestsAndLimits"), WITH_REQUESTS);
	crig_fault(&c, "500", "\"match\":\"horizontalpodautoscalers\",\"count\":-1");
	crig_start(&c);
	rig_run(&c.rig, 240, burn_300);
	CHECK_EQ(crig_events(&c, "RequestsWait"), 0);
	rig_run(&c.rig, 260, burn_300);
	CHECK_EQ(crig_events(&c, "RequestsWait"), 1);
	CHECK_EQ(request(RESOURCE_CPU), 100);
}

static void may_swap(const struct rig_pod *p)
{
	rig_put(&c.rig, app_of(p), "memory.swap.max", "268435456\n");
}

/* The kubelet takes no other memory request of a container that may swap: CPU's moves, memory's
 * stays, and explain says why. */
TEST(swaps)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS("RequestsAndLimits"),
			  WITH_REQUESTS);
	may_swap(p);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_300, cpu_is_higher));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, burn_300);
	CHECK_EQ(request(RESOURCE_MEMORY), 16 * MIB);
	CHECK(explains("of a container that may swap"));
}

/* Requests alone do not move under LimitsOnly, nor where the pod has none. */
static void test_stays(const char *annotations, const char *containers, uint64_t milli)
{
	begin_pod(DRIVER_CGROUPFS, annotations, containers);
	rig_run(&c.rig, 120, burn_300);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK_EQ(request(RESOURCE_CPU), milli);
}

TEST(with_parameters)
{
	test_moves(DRIVER_CGROUPFS, REQUESTS("RequestsAndLimits"));
	test_moves(DRIVER_SYSTEMD, REQUESTS("RequestsOnly"));
	test_stays(REQUESTS("LimitsOnly"), WITH_REQUESTS, 100);
	test_stays(REQUESTS("RequestsAndLimits"), CONTAINERS(""), 0);
}

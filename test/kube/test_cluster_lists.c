// SPDX-License-Identifier: Apache-2.0
/* What is listed again and again (HorizontalPodAutoscalers, LimitRanges, namespaces, the Node): a
 * list that is refused or fails is not an empty one. */
#include "test/kube/test_cluster.h"

#define REQUESTS                                                                                   \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/min-cpu\":\"50m\",\"vscaled.dev/max-cpu\":\"500m\","                        \
	"\"vscaled.dev/controlled-values\":\"RequestsAndLimits\"}"
#define WITH_REQUESTS                                                                              \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\",\"resources\":{"        \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}},{\"name\":\"log\",\"image\":"       \
	"\"example.com/log:1\",\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}" \
	"}}]"
#define AUTOSCALERS  "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
#define RANGES       "/api/v1/namespaces/default/limitranges"
#define BY_AUTOSCALE "\"match\":\"horizontalpodautoscalers\""
#define BY_RANGES    "\"match\":\"limitranges\""
#define BY_SPACES    "\"match\":\"/namespaces([?]|$)\""
#define BY_NODE      "\"match\":\"GET /api/v1/nodes/\""

static void open_rig(const char *kubernetes)
{
	crig_kubernetes = kubernetes;
	crig_open(&c, NULL, NULL);
}

/* What of the daemon's requests has text in its path and got this answer. */
static const char *text_asked;
static int status_asked;
static unsigned count_asked;

static usec_t time_until_asked(const char *text, int status, unsigned count,
			       void (*load)(struct rig *))
{
	usec_t start = c.rig.real;

	text_asked = text;
	status_asked = status;
	count_asked = count;
	CHECK(UNTIL(900, load, crig_requests(&c, text_asked, status_asked) >= count_asked));
	return c.rig.real - start;
}

/* After one failure it is requested again: soon, but not at once. ask_at: of the list, which
 * is due. */
static void check_asked_again(const char *text, usec_t *ask_at, int status,
			      void (*load)(struct rig *))
{
	unsigned known = crig_requests(&c, text, 200);
	usec_t took;

	*ask_at = 0;
	time_until_asked(text, status, 1, load);
	took = time_until_asked(text, 200, known + 1, load);
	if (took < 25 * USEC_PER_SEC || took > 100 * USEC_PER_SEC)
		fprintf(stderr, "%s after a %d: asked again after %llu s\n", text, status,
			(unsigned long long)(took / USEC_PER_SEC));
	CHECK(took >= 25 * USEC_PER_SEC && took <= 100 * USEC_PER_SEC);
}

static uint64_t request(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	return kube_pod_container(pod, "app")->spec.request[r];
}

static bool memory_is_higher(struct crig *x)
{
	(void)x;
	return request(RESOURCE_MEMORY) > 16 * MIB;
}

static bool cpu_is_higher(struct crig *x)
{
	(void)x;
	return request(RESOURCE_CPU) > 100;
}

static struct rig_pod *add_requests(void)
{
	struct rig_pod *p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS, WITH_REQUESTS);

	cJSON_Delete(crig_ask(&c, "POST", AUTOSCALERS,
			      "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"maxReplicas\":3,"
			      "\"scaleTargetRef\":{\"kind\":\"Pod\",\"name\":\"web-0\"}}}"));
	return p;
}

/* A HorizontalPodAutoscaler is known, and its list fails once. */
static void test_autoscalers_stay(const char *kind, int status)
{
	struct rig_pod *p;

	open_rig("");
	p = add_requests();
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_300, memory_is_higher));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	crig_fault(&c, kind, BY_AUTOSCALE ",\"count\":1");
	check_asked_again("horizontalpodautoscalers",
			  &c.rig.loop->cluster->lists[LIST_HORIZONTAL].items[0]->ask_at, status,
			  burn_300);
	rig_run(&c.rig, 60, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(crig_lines(&c, EVENT_LIST_DENIED, "HorizontalPodAutoscalers"), 0);
}

/* 403 from the start: for some minutes the right may be on its way. */
TEST(autoscalers_late)
{
	open_rig("");
	add_requests();
	crig_fault(&c, "403", BY_AUTOSCALE ",\"count\":2");
	crig_start(&c);
	time_until_asked("horizontalpodautoscalers", 200, 1, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK(crig_until(&c, 120, burn_300, memory_is_higher));
	rig_run(&c.rig, 60, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 0);
}

/* Then it is a missing right, which is reported once: requests move. */
TEST(autoscalers_denied)
{
	open_rig("");
	add_requests();
	crig_fault(&c, "403", BY_AUTOSCALE ",\"count\":-1");
	crig_start(&c);
	rig_run(&c.rig, 280, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 0);
	CHECK(crig_until(&c, 300, burn_300, cpu_is_higher));
	rig_run(&c.rig, 900, burn_300);
	CHECK_EQ(crig_lines(&c, EVENT_LIST_DENIED, "HorizontalPodAutoscalers"), 1);
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 1);
	/* Without the right it is requested rarely. */
	CHECK(crig_requests(&c, "horizontalpodautoscalers", 403) <= 10);
	/* The role is applied. */
	crig_heal(&c);
	CHECK(time_until_asked("horizontalpodautoscalers", 200, 1, burn_300) < 11 * USEC_PER_MIN);
}

static bool is_at_700(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) / 100 == 7;
}

static struct rig_pod *begin_ranges(void)
{
	struct rig_pod *p;

	open_rig("");
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	cJSON_Delete(crig_ask(&c, "POST", RANGES,
			      "{\"metadata\":{\"name\":\"most\"},\"spec\":{\"limits\":[{\"type\":"
			      "\"Container\",\"max\":{\"cpu\":\"300m\"}}]}}"));
	crig_start(&c);
	CHECK(UNTIL(120, burn_699, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) >= 300));
	return p;
}

static void test_ranges_stay(const char *kind, int status)
{
	struct rig_pod *p = begin_ranges();

	crig_fault(&c, kind, BY_RANGES ",\"count\":1");
	check_asked_again("limitranges", &c.rig.loop->cluster->lists[LIST_RANGES].items[0]->ask_at,
			  status, burn_699);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 300);
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 0);
}

/* Until the first answer requests stay; a missing right is reported, once for all namespaces. */
TEST(ranges_denied)
{
	open_rig(", autoscalers: false");
	crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS, WITH_REQUESTS);
	crig_fault(&c, "403", BY_RANGES ",\"count\":-1");
	crig_start(&c);
	rig_run(&c.rig, 240, burn_300);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(crig_lines(&c, EVENT_LIST_DENIED, "LimitRanges"), 0);
	CHECK(crig_until(&c, 300, burn_300, cpu_is_higher));
	CHECK_EQ(crig_lines(&c, EVENT_LIST_DENIED, "LimitRanges"), 1);
	CHECK_EQ(crig_events(&c, "LimitRangesUnknown"), 0);
}

static void set_namespace(const char *max)
{
	char body[256];

	snprintf(body, sizeof body,
		 "{\"metadata\":{\"annotations\":{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/"
		 "containers\":\"app\",\"vscaled.dev/max-cpu\":\"%s\"}}}",
		 max);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default", body));
}

static void grant_namespaces(void)
{
	cJSON_Delete(crig_ask(&c, "PATCH",
			      "/apis/rbac.authorization.k8s.io/v1/clusterroles/vscaled",
			      "{\"rules\":[{\"apiGroups\":[\"\",\"events.k8s.io\"],\"resources\":["
			      "\"pods\",\"namespaces\",\"limitranges\",\"pods/resize\",\"events\"],"
			      "\"verbs\":[\"get\",\"list\",\"watch\",\"patch\",\"create\"]}]}"));
}

/* Sized by the annotations of its namespace. */
static void begin_namespaces(void)
{
	open_rig(", namespaceAnnotations: true");
	crig_pod(&c, DRIVER_CGROUPFS, "web-0", NULL);
	set_namespace("700m");
	grant_namespaces();
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, is_at_700));
}

/* One 403 on the list of namespaces: their annotations hold, and are read again within minutes. */
TEST(namespaces_stay)
{
	begin_namespaces();
	crig_fault(&c, "403", BY_SPACES ",\"count\":1");
	check_asked_again("/api/v1/namespaces?",
			  &c.rig.loop->cluster->lists[LIST_NAMESPACES].items[0]->ask_at, 403,
			  burn_699);
	CHECK(is_at_700(&c));
	CHECK_EQ(c.rig.daemon->pods.count, 1);
	CHECK_EQ(c.rig.events[EVENT_NAMESPACES_DENIED], 0);
}

/* Refused since a restart: what the namespace's annotations had sized stays as it is. */
TEST(namespaces_restart)
{
	begin_namespaces();
	rig_stop(&c.rig);
	crig_fault(&c, "403", BY_SPACES ",\"count\":-1");
	crig_start(&c);
	rig_run(&c.rig, 480, burn_699);
	CHECK(is_at_700(&c));
	CHECK_EQ(c.rig.events[EVENT_RESTORED], 0);
	CHECK(control_has("/v1/units", "\"state\":\"waiting\",\"reason\":\"namespaces-unread\""));
	crig_heal(&c);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default",
			      "{\"metadata\":{\"annotations\":{\"vscaled.dev/mode\":\"Off\"}}}"));
	CHECK(UNTIL(700, burn_699, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) == 200));
}

static bool is_node_known(struct crig *x)
{
	return cluster_node_of(x->rig.loop->cluster) != NULL;
}

/* The Node is known, and cannot be read for once: requests still rise. */
TEST(node_stays)
{
	open_rig(", autoscalers: false");
	crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", REQUESTS, WITH_REQUESTS);
	crig_start(&c);
	CHECK(crig_until(&c, 900, burn_50, is_node_known));
	crig_fault(&c, "403", BY_NODE ",\"count\":1");
	/* An hour later. */
	c.rig.loop->cluster->lists[LIST_NODE].items[0]->ask_at = 0;
	time_until_asked("GET /api/v1/nodes/", 403, 1, burn_50);
	rig_run(&c.rig, 5, burn_50);
	CHECK(is_node_known(&c));
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 0);
}

TEST(with_parameters)
{
	test_autoscalers_stay("403", 403);
	test_autoscalers_stay("503", 503);
	test_ranges_stay("403", 403);
	test_ranges_stay("500", 500);
}

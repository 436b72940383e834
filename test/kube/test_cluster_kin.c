// SPDX-License-Identifier: Apache-2.0
/* A pod of a workload that this node has never seen starts from what the workload's pods on other
 * nodes publish; invalid annotations change nothing. */
#include "agent/base/json.h"
#include "test/kube/test_cluster.h"

#define MODE(mode)                                                                                 \
	"{\"vscaled.dev/mode\":\"" mode "\",\"vscaled.dev/containers\":\"app\","                   \
	"\"vscaled.dev/max-cpu\":\"2\",\"vscaled.dev/controlled-values\":\"RequestsAndLimits\"}"
#define WITH_REQUESTS                                                                              \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\",\"resources\":{"        \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}},{\"name\":\"log\",\"image\":"       \
	"\"example.com/log:1\"}]"
#define OWNER(kind, name)                                                                          \
	"{\"apiVersion\":\"apps/v1\",\"kind\":\"" kind "\",\"name\":\"" name                       \
	"\",\"uid\":\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\",\"controller\":true}"
/* A roll-out changes the hash, and often what names the version. */
#define LABELS(hash)                                                                               \
	"{\"app\":\"web\",\"tier\":\"front\",\"pod-template-hash\":\"" hash                        \
	"\",\"app.kubernetes.io/version\":\"" hash "\",\"helm.sh/chart\":\"web-" hash "\"}"

/* A pod on another node whose status annotation is this. */
static void add_kin(const char *name, const char *owner, const char *labels, const char *status)
{
	OWN(drop_json) cJSON *text = cJSON_CreateString(status);
	OWN(drop_free) char *quoted = cJSON_PrintUnformatted(text), *body = NULL;

	if (asprintf(&body,
		     "{\"prefix\":\"%s\",\"node\":\"node-2\",\"labels\":%s,\"owner\":%s,"
		     "\"annotations\":{\"vscaled.dev/status\":%s}}",
		     name, labels, owner, quoted) < 0)
		exit(EXIT_FAILURE);
	crig_debug(&c, "pods", body);
}

/* The status annotation of a container with this demand. */
static void add_sized_kin(const char *name, const char *owner, const char *labels, uint64_t milli,
			  uint64_t bytes)
{
	OWN(drop_json) cJSON *root = cJSON_CreateObject();
	OWN(drop_free) char *text = NULL;
	struct kube_published p = {
		.limit = {LIMIT_MAX, LIMIT_MAX},
		.own = {.resource = {{milli / 2, milli, milli * 2, milli},
				     {bytes / 2, bytes, bytes * 2, bytes}},
			.confidence_permille = {500, 500}},
		.samples = 36000,
	};

	CHECK(kube_published_add(root, "app", &p));
	text = cJSON_PrintUnformatted(root);
	add_kin(name, owner, labels, text);
}

static struct rig_pod *begin_with(const char *annotations, const char *spec)
{
	struct rig_pod *p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-new", annotations, spec);

	cJSON_Delete(
		crig_ask(&c, "PATCH", "/api/v1/namespaces/default/pods/web-new",
			 "{\"metadata\":{\"labels\":" LABELS("bbb") ",\"ownerReferences\":[" OWNER(
				 "ReplicaSet", "web-bbb") "]}}"));
	/* It has just started. */
	p->container[0].started_real = p->container[1].started_real = c.rig.real;
	crig_kubelet(&c, p, NULL);
	return p;
}

static struct rig_pod *begin_new(const char *annotations)
{
	return begin_with(annotations, WITH_REQUESTS);
}

static void open_rig(void)
{
	crig_open(&c, NULL, "history: {confidenceAfter: 30m}\n");
}

static uint64_t request(enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);

	return kube_pod_container(pod, "app")->spec.request[r];
}

static bool is_sized(struct crig *)
{
	return request(RESOURCE_CPU) != 100;
}

static unsigned lists(void)
{
	return crig_requests(&c, "pods?labelSelector", 0);
}

/* Within a tenth of what the other node's agent found, though it uses a fifth of that now. */
static void test_birth(const char *annotations)
{
	open_rig();
	begin_new(annotations);
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 250, 96 * MIB);
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, is_sized));
	CHECK(request(RESOURCE_CPU) >= 225 && request(RESOURCE_CPU) <= 275);
	CHECK(request(RESOURCE_MEMORY) >= 87 * MIB && request(RESOURCE_MEMORY) <= 105 * MIB);
	CHECK_EQ(lists(), 1);
}

#define NO_MAXIMUM(mode)                                                                           \
	"{\"vscaled.dev/mode\":\"" mode "\",\"vscaled.dev/containers\":\"app\","                   \
	"\"vscaled.dev/controlled-values\":\"RequestsAndLimits\"}"

static uint64_t limit(enum resource r)
{
	return crig_spec(&c, &c.rig.pod[0], "app", r);
}

static bool is_raised(struct crig *x)
{
	(void)x;
	return limit(RESOURCE_CPU) > 200 && request(RESOURCE_CPU) > 200 &&
	       request(RESOURCE_MEMORY) > 64 * MIB;
}

/* Limits as well: those in the cgroup at the first review, those of the spec a moment later. */
static void test_birth_limits(const char *annotations)
{
	struct rig_pod *p;

	open_rig();
	p = begin_with(annotations, "\"restartPolicy\":\"Always\"");
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 450, 96 * MIB);
	crig_start(&c);
	CHECK(crig_until(&c, 360, burn_50, is_raised));
	CHECK(limit(RESOURCE_CPU) >= 430 && limit(RESOURCE_CPU) <= 500);
	CHECK(limit(RESOURCE_MEMORY) >= 90 * MIB && limit(RESOURCE_MEMORY) <= 128 * MIB);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") >= 90 * MIB);
	CHECK(request(RESOURCE_CPU) >= 405 && request(RESOURCE_CPU) <= 495);
	CHECK(request(RESOURCE_MEMORY) >= 87 * MIB && request(RESOURCE_MEMORY) <= 105 * MIB);
}

static const char *const nonsense[] = {
	"",
	"nonsense",
	"{\"recommendation\":{\"version\":1,\"containers\":{\"app\":{\"cpu\":{\"lowerBound\":\"1\","
	"\"target\":\"-5\",\"upperBound\":\"1\",\"peak\":\"1\"},\"samples\":1,\"confidence\":1}}}}",
	"{\"recommendation\":{\"version\":1,\"containers\":{\"app\":{\"cpu\":{\"lowerBound\":\"9\","
	"\"target\":\"8\",\"upperBound\":\"7\",\"peak\":\"6\"},\"samples\":1,\"confidence\":1}}}}",
	"{\"recommendation\":{\"version\":7,\"containers\":{}}}",
};

static bool has_asked(struct crig *)
{
	return lists() > 0;
}

TEST(nonsense)
{
	struct rig_pod *p;
	char name[16];

	open_rig();
	p = begin_new(MODE("Auto"));
	for (size_t i = 0; i < ARRAY_SIZE(nonsense); i++) {
		snprintf(name, sizeof name, "bad-%zu", i);
		add_kin(name, OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), nonsense[i]);
	}
	/* Another workload with the same labels, and one without an owner. */
	add_sized_kin("other", OWNER("ReplicaSet", "api-aaa"), LABELS("aaa"), 5000, GIB);
	add_sized_kin("web", "null", LABELS("aaa"), 5000, GIB);
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, has_asked));
	rig_run(&c.rig, 5, burn_50);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(app_of(p)->anon_bytes, 20 * MIB);
	CHECK_EQ(lists(), 1);
}

/* Valid, from the same workload, and far too much: no more than the pod's maximum, or the node's
 * CPUs. */
static void test_greedy(const char *annotations, uint64_t milli)
{
	char *page, *trust;

	open_rig();
	begin_new(annotations);
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 900000, 4 * MIB);
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, is_sized));
	CHECK_EQ(request(RESOURCE_CPU), milli != 0 ? milli : c.rig.daemon->host.cpu_milli);
	/* What others publish lets limits be lowered by half, its own history by a little more. */
	CHECK_EQ(crig_http(&c, "/v1/report", &page), 200);
	trust = strstr(page, "\"trust_permille\":");
	CHECK(trust != NULL && strncmp(trust, "\"trust_permille\":5", 18) == 0);
	free(page);
	/* Never below use. */
	CHECK(request(RESOURCE_MEMORY) >= 16 * MIB);
}

/* A list that failed, or cannot be read, is requested again a minute later; nothing waits. */
static void test_fails(const char *fault)
{
	open_rig();
	begin_new(MODE("Auto"));
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 250, 96 * MIB);
	crig_fault(&c, fault, "\"match\":\"labelSelector\",\"count\":1");
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, has_asked));
	rig_run(&c.rig, 20, burn_50);
	CHECK_EQ(request(RESOURCE_CPU), 100);
	CHECK_EQ(lists(), 1);
	CHECK(crig_until(&c, 360, burn_50, is_sized));
	CHECK_EQ(lists(), 2);
}

/* A roll-out of more pods than one list has: those that have published come last. */
TEST(many)
{
	open_rig();
	begin_new(MODE("Auto"));
	crig_debug(&c, "pods",
		   "{\"prefix\":\"a\",\"count\":120,\"node\":\"node-2\",\"labels\":" LABELS(
			   "bbb") ",\"owner\":" OWNER("ReplicaSet", "web-bbb") "}");
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 250, 96 * MIB);
	/* In the middle of it the server refuses once: from the beginning. */
	crig_fault(&c, "403", "\"match\":\"continue=\",\"count\":1");
	crig_start(&c);
	CHECK(crig_until(&c, 200, burn_50, is_sized));
	CHECK(request(RESOURCE_CPU) >= 225 && request(RESOURCE_CPU) <= 275);
	CHECK_EQ(lists(), 5);
}

static bool has_published(struct crig *x)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, &x->rig.pod[0]);
	const char *text = kube_pod_annotation(pod, "status");

	return text != NULL && strstr(text, "recommendation") != NULL;
}

/* The pod's own recommendation is published, in mode Off as well. */
static void test_publishes(const char *annotations)
{
	OWN(drop_kube_pod) struct kube_pod *pod = NULL;
	struct kube_published got;
	uint64_t shown[RESOURCE_COUNT];

	open_rig();
	begin_new(annotations);
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 250, 96 * MIB);
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, has_published));
	rig_run(&c.rig, 60, burn_50);
	pod = crig_read(&c, &c.rig.pod[0]);
	CHECK(strlen(kube_pod_annotation(pod, "status")) <= 1024);
	CHECK_EQ(kube_published_read(kube_pod_annotation(pod, "status"), "app", &got, shown), 0);
	CHECK(got.own.resource[RESOURCE_MEMORY].target < 40 * MIB);
	CHECK(got.samples > 0);
}

static bool is_lowered(struct crig *x)
{
	(void)x;
	return limit(RESOURCE_CPU) < 200;
}

/* Valid, from the same workload, and far too little: limits keep half of what the owner has set. */
static void test_starving(const char *annotations)
{
	struct rig_pod *p;

	open_rig();
	p = begin_with(annotations, "\"restartPolicy\":\"Always\"");
	add_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"),
		"{\"recommendation\":{\"version\":1,\"containers\":{\"app\":{\"cpu\":{\"target\":\""
		"1m\",\"peak\":\"1m\"},\"memory\":{\"target\":\"1Ki\",\"peak\":\"1Ki\"},"
		"\"samples\":1,\"confidence\":1}}}}");
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, is_lowered));
	CHECK(rig_cpu_milli(&c.rig, app_of(p)) >= 100);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") >= 32 * MIB);
}

#define DESCRIBED(owner, labels)                                                                   \
	"{\"metadata\":{\"namespace\":\"default\",\"labels\":" labels                              \
	",\"ownerReferences\":[" owner "]},\"spec\":{\"containers\":[{\"name\":\"app\","           \
	"\"resources\":{\"limits\":{\"cpu\":\"1\"}}}]}}"

#define WITH_MODE(mode)                                                                            \
	"{\"metadata\":{\"annotations\":{\"vscaled.dev/mode\":\"" mode                             \
	"\"}},\"spec\":{\"containers\":[{\"name\":\"app\"}]}}"

/* The answer to a description; owned. */
static char *describe(const char *body)
{
	char *shown = NULL;

	CHECK_EQ(crig_control_post(&c, "/v1/recommendation", body, &shown), 200);
	return shown;
}

static void check_described(const char *body, const char *text)
{
	OWN(drop_free) char *shown = describe(body);

	if (strstr(shown, text) == NULL)
		fprintf(stderr, "%s\n", shown);
	CHECK(strstr(shown, text) != NULL);
}

/* A workload without a pod on this node: its kin are requested at the first description, and known
 * at the next one. */
TEST(described)
{
	static const char *const bad[] = {"{",
					  "[]",
					  "7",
					  "{}",
					  "{\"spec\":7}",
					  "{\"spec\":{\"containers\":{}}}",
					  "{\"metadata\":[],\"spec\":{\"containers\":[]}}",
					  DESCRIBED("7", LABELS("bbb"))};
	const char *web = DESCRIBED(OWNER("ReplicaSet", "web-bbb"), LABELS("bbb"));

	open_rig();
	add_sized_kin("web-old", OWNER("ReplicaSet", "web-aaa"), LABELS("aaa"), 250, 96 * MIB);
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, is_listed));
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		OWN(drop_free) char *shown = NULL;

		CHECK_EQ(crig_control_post(&c, "/v1/recommendation", bad[i], &shown), 400);
	}
	check_described(web, "\"pending\":true");
	CHECK(crig_until(&c, 120, burn_50, has_asked));
	rig_run(&c.rig, 5, burn_50);
	check_described(web, "\"source\":\"kin\"");
	check_described(web, "\"cpu\":{\"request\":250,\"limit\":250,");
	check_described(web, "\"memory\":{\"request\":100663296,\"lower\"");
	check_described(web, "\"pending\":false");
	check_described(web, "\"state\":\"unmanaged\",\"reason\":\"not-opted-in\"");
	check_described(WITH_MODE("Auto"), "\"state\":\"waiting\",\"reason\":\"not-running\"");
	check_described(WITH_MODE("Autos"), "\"reason\":\"annotation-invalid\","
					    "\"state_reason\":\"vscaled.dev/mode");
	CHECK_EQ(lists(), 1);
	/* What names no workload is not asked for, nor is what a label cannot be. */
	check_described(DESCRIBED("", LABELS("bbb")), "\"source\":\"none\"");
	check_described(
		"{\"metadata\":{\"namespace\":\"default\",\"name\":\"web\",\"labels\":" LABELS(
			"bbb") "},\"spec\":{\"containers\":[{\"name\":\"app\"}]}}",
		"\"pending\":false");
	check_described(DESCRIBED(OWNER("ReplicaSet", "api-bbb"), "{\"app\":\"a&limit=9 \"}"),
			"\"pending\":false");
	rig_run(&c.rig, 10, burn_50);
	CHECK_EQ(lists(), 1);
}

TEST(with_parameters)
{
	test_birth(MODE("Initial"));
	test_birth(MODE("Auto"));
	test_birth_limits(NO_MAXIMUM("Initial"));
	test_birth_limits(NO_MAXIMUM("Auto"));
	test_greedy(MODE("Auto"), 2000);
	test_greedy(NO_MAXIMUM("Auto"), 0);
	test_starving(NO_MAXIMUM("Initial"));
	test_fails("503");
	test_fails("garbage");
	test_publishes(MODE("Off"));
	test_publishes(MODE("Auto"));
}

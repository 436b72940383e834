// SPDX-License-Identifier: Apache-2.0
/* Memory that grows above the spec while the API server cannot accept a higher limit, and
 * LimitRanges that are known before it does. */
#include "test/kube/test_cluster.h"

/* The owner allows himself a gigabyte. */
#define GENEROUS                                                                                   \
	"{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                       \
	"\"vscaled.dev/resources\":\"memory\",\"vscaled.dev/max-memory\":\"1Gi\"}"

static uint64_t goal;

static void grow(struct rig *r)
{
	struct rig_unit *app = app_of(&r->pod[0]);

	burn_50(r);
	if (app->anon_bytes < goal)
		rig_grow(r, app, MIN(4 * MIB, goal - app->anon_bytes));
}

static uint64_t memory_max(struct crig *x)
{
	return rig_bytes(&x->rig, app_of(&x->rig.pod[0]), "memory.max");
}

static bool is_ended(struct crig *x)
{
	return x->rig.events[EVENT_CEILING_REACHED] > 0;
}

static bool is_far(struct crig *x)
{
	return app_of(&x->rig.pod[0])->anon_bytes >= 250 * MIB;
}

static void start_generous(uint32_t unratified_permille, uint64_t admin_max)
{
	crig_open(&c, NULL, NULL);
	crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	crig_start(&c);
	CHECK_EQ(c.rig.daemon->config.kubernetes.unratified_permille, 2000);
	c.rig.daemon->config.kubernetes.unratified_permille = unratified_permille;
	c.rig.daemon->config.kubernetes.mem_bytes.max = admin_max;
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50);
	crig_debug(&c, "listen", "{\"on\":false}");
	CHECK(UNTIL(60, burn_50, c.rig.events[EVENT_API_LOST] > 0));
	goal = 124 * MIB;
}

/* The API server is away: twice the original of 64 MiB, and what it is that ends it is reported.
 * Back again, growth goes on. */
TEST(away)
{
	start_generous(2000, 0);
	CHECK(crig_until(&c, 60, grow, is_ended));
	rig_run(&c.rig, 20, grow);
	CHECK_EQ(memory_max(&c), 128 * MIB);
	for (size_t i = 0; i < c.line_count; i++)
		if (c.line[i].kind == EVENT_CEILING_REACHED)
			printf("%s\n", c.line[i].text);
	CHECK_EQ(crig_lines(&c, EVENT_CEILING_REACHED, "has reached its upper bound 128"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_CEILING_REACHED,
			    "until the API server accepts a higher limit"),
		 1);
	CHECK(explains("\"unratified_max\":134217728"));
	CHECK(explains("\"hold\":\"unratified\""));
	CHECK_EQ(c.rig.kills, 0);
	crig_debug(&c, "listen", "{\"on\":true}");
	goal = 250 * MIB;
	CHECK(crig_until(&c, 300, grow, is_far));
	CHECK(memory_max(&c) > 250 * MIB);
	c.rig.kills = 0; /* at the bound */
}

/* What the kubelet says of every resize; NULL: it carries it out. */
static const char *verdict;

/* A second of growth, then the kubelet acts on the spec. */
static void grow_under_kubelet(struct rig *r)
{
	grow(r);
	crig_kubelet(&c, &r->pod[0], verdict);
}

static bool is_announced(struct crig *x)
{
	return crig_lines(x, EVENT_MEMORY_ABOVE_SPEC, "the kubelet has not carried out") > 0;
}

/* The spec has been raised and the kubelet does not carry it out, so the runtime holds the limit of
 * before: growth ends at twice the original and is announced. Once it is carried out growth goes
 * on. */
static void test_not_carried_out(const char *reason, const char *message)
{
	struct rig_pod *p;
	char condition[256];

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50);
	snprintf(condition, sizeof condition,
		 "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"%s\","
		 "\"message\":\"%s\"}",
		 reason, message);
	verdict = condition;
	goal = 124 * MIB;
	rig_run(&c.rig, 50, grow_under_kubelet);
	CHECK(is_announced(&c));
	CHECK(is_ended(&c));
	CHECK_EQ(memory_max(&c), 128 * MIB);
	CHECK_EQ(crig_lines(&c, EVENT_MEMORY_ABOVE_SPEC, message), 1);
	CHECK_EQ(c.rig.kills, 0);
	/* What is denied costs no requests. */
	crig_forget_log(&c);
	rig_run(&c.rig, 30, grow_under_kubelet);
	CHECK(crig_requests(&c, "/resize", 0) <= 1);
	verdict = NULL;
	goal = 250 * MIB;
	crig_user_resizes(&c, p, NULL, "512Mi");
	CHECK(crig_until(&c, 120, grow_under_kubelet, is_far));
}

/* Use has passed the bound when the kubelet is found not to hold it: growth ends, and the cgroup
 * keeps what it has. */
TEST(bound_below_use)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	crig_start(&c);
	c.rig.daemon->config.kubernetes.unratified_permille = 0;
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50);
	verdict = "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Deferred\","
		  "\"message\":\"Node didn't have enough resource: memory\"}";
	goal = 250 * MIB;
	CHECK(crig_until(&c, 120, grow_under_kubelet, is_far));
	CHECK(is_announced(&c));
	c.rig.daemon->config.kubernetes.unratified_permille = 2000;
	rig_run(&c.rig, 60, grow_under_kubelet);
	CHECK(memory_max(&c) >= app_of(p)->anon_bytes);
}

static bool knows_ranges(struct crig *x)
{
	const struct managed *m = managed_find(&x->rig.daemon->units, "default/web-0/app");

	return m->control.pod.resource[RESOURCE_MEMORY].namespace.max == 100 * MIB;
}

/* The namespace's LimitRanges are asked for with its first pod, not at a review. */
TEST(ranges_first)
{
	struct daemon *d;

	crig_open(&c, NULL, NULL);
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/limitranges",
			      "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{"
			      "\"name\":\"all\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
			      "\"max\":{\"memory\":\"100Mi\"}}]}}"));
	crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	crig_start(&c);
	d = c.rig.daemon;
	d->config.clocks.review_usec = USEC_PER_HOUR;
	c.rig.loop->timer.next_review = d->wake.now + USEC_PER_HOUR;
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	CHECK(crig_until(&c, 10, burn_50, knows_ranges));
	CHECK(explains("\"range_max\":104857600"));
	CHECK_EQ(crig_requests(&c, "/limitranges", 0), 1);
	goal = 90 * MIB;
	rig_run(&c.rig, 40, grow);
	CHECK(memory_max(&c) > 64 * MIB && memory_max(&c) <= 100 * MIB);
}

/* What comes is no list of LimitRanges: memory stays at the spec's limit, which is reported once.
 */
TEST(ranges_unknown)
{
	crig_open(&c, NULL, NULL);
	crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	crig_fault(&c, "garbage", "\"match\":\"/limitranges\",\"count\":-1");
	crig_start(&c);
	rig_run(&c.rig, 240, burn_50);
	CHECK_EQ(crig_events(&c, "LimitRangesUnknown"), 0);
	rig_run(&c.rig, 200, burn_50);
	CHECK_EQ(crig_events(&c, "LimitRangesUnknown"), 1);
}

static unsigned asked;

bool __real_reporter_ratifies(const struct reporter *r, const struct pod_report *t, usec_t now);
bool __wrap_reporter_ratifies(const struct reporter *r, const struct pod_report *t, usec_t now);

bool __wrap_reporter_ratifies(const struct reporter *r, const struct pod_report *t, usec_t now)
{
	asked++;
	return __real_reporter_ratifies(r, t, now);
}

/* Whether growth can be accepted is looked up once in a review of 10 s, where nothing changes. */
TEST(quiet)
{
	crig_open(&c, NULL, NULL);
	crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	crig_start(&c);
	c.rig.daemon->config.clocks.review_usec = 10 * USEC_PER_SEC;
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	rig_run(&c.rig, 120, burn_50);
	asked = 0;
	rig_run(&c.rig, 100, burn_50);
	fprintf(stderr, "asked %u times in 100 s\n", asked);
	/* 100 if it were once a second; requests of a busy machine add some. */
	CHECK(asked >= 9 && asked <= 30);
}

/* --- what cannot be accepted is reported, whatever the cause */

static void server_fails(void)
{
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":-1");
}

static void quota_is_full(void)
{
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/resourcequotas",
			      "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\","
			      "\"metadata\":{\"name\":\"all\"},"
			      "\"spec\":{\"hard\":{\"limits.memory\":\"100Mi\"}}}"));
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default/resourcequotas/all/status",
			      "{\"status\":{\"hard\":{\"limits.memory\":\"100Mi\"},"
			      "\"used\":{\"limits.memory\":\"96Mi\"}}}"));
}

/* After the namespace's ranges were read. */
static void range_is_new(void)
{
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/limitranges",
			      "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\","
			      "\"metadata\":{\"name\":\"all\"},\"spec\":{\"limits\":["
			      "{\"type\":\"Container\",\"max\":{\"memory\":\"66Mi\"}}]}}"));
}

static void resize_is_not_offered(void)
{
	crig_debug(&c, "without", "{\"names\":[\"pods/resize\"]}");
}

/* The memory of app is resized by a restart alone. */
#define RESTARTS                                                                                   \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\",\"resizePolicy\":["     \
	"{\"resourceName\":\"cpu\",\"restartPolicy\":\"NotRequired\"},"                            \
	"{\"resourceName\":\"memory\",\"restartPolicy\":\"RestartContainer\"}],\"resources\":{"    \
	"\"limits\":{\"cpu\":\"200m\",\"memory\":\"64Mi\"},"                                       \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}},"                                   \
	"{\"name\":\"log\",\"image\":\"example.com/log:1\",\"resources\":{"                        \
	"\"limits\":{\"cpu\":\"300m\",\"memory\":\"32Mi\"},"                                       \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}}]"

static const struct cause {
	const char *name;
	void (*early)(void); /* before the daemon starts, or NULL */
	void (*late)(void);  /* when the pod is managed, or NULL */
	const char *spec;    /* of the pod besides, or NULL */
	unsigned status;     /* of the resizes, 0: none is sent */
} causes[] = {
	{"server fails", NULL, server_fails, NULL, 500},
	{"pods/resize not offered", resize_is_not_offered, NULL, NULL, 0},
	{"RestartContainer", NULL, NULL, RESTARTS, 0},
	{"quota", NULL, quota_is_full, NULL, 403},
	{"LimitRange", NULL, range_is_new, NULL, 403},
};

static bool is_above_spec(struct crig *x)
{
	return x->rig.events[EVENT_MEMORY_ABOVE_SPEC] > 0;
}

/* The number behind text in page; 0: it is not there, or null. */
static uint64_t number_after(const char *page, const char *text)
{
	const char *at = page != NULL ? strstr(page, text) : NULL;

	return at != NULL ? strtoull(at + strlen(text), NULL, 10) : 0;
}

/* The value of app's series, without the labels. */
static uint64_t metric_of_app(const char *page)
{
	const char *at = strstr(page, "\nvscaled_container_memory_above_spec_bytes{");

	while (at != NULL) {
		const char *end = strstr(at, "} ");

		if (end != NULL && memmem(at, (size_t)(end - at), "\"app\"", 5) != NULL)
			return strtoull(end + 2, NULL, 10);
		at = strstr(at + 1, "\nvscaled_container_memory_above_spec_bytes{");
	}
	return 0;
}

/* Growth above the spec ends at twice the original of 64 MiB, and the journal, an Event, the
 * metric and explain report the bytes above the spec. */
static void test_cause(const struct cause *k)
{
	char *page;

	fprintf(stderr, "cause: %s\n", k->name);
	crig_open(&c, NULL, NULL);
	if (k->spec != NULL)
		crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", GENEROUS, k->spec);
	else
		crig_pod(&c, DRIVER_CGROUPFS, "web-0", GENEROUS);
	if (k->early != NULL)
		k->early();
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50);
	if (k->late != NULL)
		k->late();
	goal = 124 * MIB;
	rig_run(&c.rig, 60, grow);
	CHECK(is_above_spec(&c));
	CHECK_EQ(memory_max(&c), 128 * MIB);
	CHECK_EQ(crig_lines(&c, EVENT_MEMORY_ABOVE_SPEC, "its spec allows 64"), 1);
	CHECK(UNTIL(900, grow, crig_events(&c, "MemoryAboveSpec") > 0));
	CHECK_EQ(crig_events(&c, "MemoryAboveSpec"), 1);
	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	CHECK_EQ(metric_of_app(page), 60 * MIB);
	free(page);
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	CHECK_EQ(number_after(strstr(page, "\"memory\":{\"request\":"), "\"above_spec\":"),
		 60 * MIB);
	free(page);
	CHECK_EQ(crig_requests(&c, "/resize", 0) > 0, k->status != 0);
	if (k->status != 0)
		CHECK(crig_requests(&c, "/resize", (int)k->status) > 0);
}

TEST(with_parameters)
{
	for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
		test_cause(&causes[i]);
	test_not_carried_out("Deferred", "Node didn't have enough resource: memory");
	test_not_carried_out("Infeasible",
			     "In-place resize of containers with swap is not supported.");
}

// SPDX-License-Identifier: Apache-2.0
/* The daemon and an API server: what is reported, what is adopted, and what is left alone. */
#include "test/kube/test_cluster.h"

static bool status_is_reported(struct crig *x)
{
	return crig_has_status(x, &x->rig.pod[0]);
}

/* The cgroup at once, the API server once it has held, and each of them once. */
TEST_DRIVERS(ratified)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);
	uint64_t held;

	CHECK(crig_until(&c, 240, burn_699, is_resized));
	held = rig_cpu_milli(&c.rig, app_of(p));
	CHECK_EQ(held, 700);
	rig_run(&c.rig, 2, burn_699);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), held);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
	CHECK_EQ(crig_spec(&c, p, "log", RESOURCE_CPU), 300);
	CHECK_EQ(c.rig.events[EVENT_REPORT_RATIFIED], 0); /* the kubelet has not done it */
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_699, has_ratified));
	CHECK(crig_until(&c, 160, burn_699, status_is_reported));
	CHECK(UNTIL(120, burn_699, crig_events(&c, "Resized") > 0));
	rig_run(&c.rig, 30, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), held);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK_EQ(crig_requests(&c, "/resize", 200), 1);
	CHECK_EQ(crig_events(&c, "Resized"), 1);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_REASSERTED], 0);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK(!c.rig.below);
}

/* Beside a pod that is sized, one without annotation: no write, no request that names it. */
TEST(left_alone)
{
	struct rig_pod *plain, *web;

	crig_open(&c, NULL, NULL);
	plain = crig_pod(&c, DRIVER_CGROUPFS, "plain-0", NULL);
	web = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_start(&c);
	ratify(web);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(plain)), 200);
	CHECK_EQ(rig_cpu_milli(&c.rig, plain->level), 500);
	CHECK_EQ(rig_bytes(&c.rig, app_of(plain), "memory.max"), 64 * MIB);
	CHECK_EQ(rig_bytes(&c.rig, app_of(plain), "memory.high"), LIMIT_MAX);
	CHECK_EQ(crig_requests(&c, "plain-0", 0), 0);
	CHECK_EQ(crig_spec(&c, plain, "app", RESOURCE_CPU), 200);
	CHECK(!crig_has_status(&c, plain));
}

/* The agent's own pod, annotated or not. */
TEST(own_pod)
{
	struct rig_pod *own;

	crig_open(&c, NULL, NULL);
	setenv("POD_NAMESPACE", "default", 1);
	setenv("POD_NAME", "vscaled-x", 1);
	own = crig_pod(&c, DRIVER_CGROUPFS, "vscaled-x", AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, is_listed));
	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(own)), 200);
	CHECK_EQ(crig_requests(&c, "PATCH", 0), 0);
	crig_close(&c);
	unsetenv("POD_NAMESPACE");
	unsetenv("POD_NAME");
}

static void test_annotation_removed(enum cgroup_driver driver, unsigned lag_sec)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);

	ratify(p);
	CHECK(crig_until(&c, 160, burn_699, status_is_reported));
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 240, burn_699, is_put_back));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	rig_run(&c.rig, lag_sec, burn_699);
	crig_kubelet(&c, p, NULL);
	CHECK(UNTIL(240, burn_699, !crig_has_status(&c, &c.rig.pod[0])));
	CHECK(UNTIL(240, burn_699, c.rig.daemon->pods.count == 0));
	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 500);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
	CHECK_EQ(crig_events(&c, "Restored"), 1);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 2);
}

static bool is_adopted(struct crig *x)
{
	return x->rig.events[EVENT_DRIFT_ADOPTED] == 1 &&
	       rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 1500;
}

/* Within 10 s, and for as long as we looked never back. */
TEST_DRIVERS(user_resizes)
{
	struct rig_pod *p =
		begin(driver, NULL,
		      "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","
		      "\"vscaled.dev/scale-down\":\"false\"}");
	unsigned reported;

	ratify(p);
	rig_run(&c.rig, 20, burn_699);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 10, burn_699);
	reported = crig_requests(&c, "/resize", 0);
	crig_user_resizes(&c, p, "1500m", NULL);
	rig_run(&c.rig, 2, burn_699);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 32, burn_699, is_adopted));
	rig_run(&c.rig, 60, burn_699);
	CHECK(is_adopted(&c));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 1500);
	CHECK_EQ(crig_requests(&c, "/resize", 0), reported);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 1);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 0);
}

static bool reports(const char *text)
{
	OWN(drop_free) char *page = NULL;

	CHECK_EQ(crig_http(&c, "/v1/report", &page), 200);
	if (strstr(page, text) == NULL)
		fprintf(stderr, "%s\n", page);
	return strstr(page, text) != NULL;
}

TEST(limit_range)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/limitranges",
			      "{\"apiVersion\":\"v1\",\"kind\":\"LimitRange\",\"metadata\":{"
			      "\"name\":\"all\"},\"spec\":{\"limits\":[{\"type\":\"Container\","
			      "\"max\":{\"cpu\":\"500m\"}}]}}"));
	crig_start(&c);
	CHECK(UNTIL(80, burn_50, crig_requests(&c, "/limitranges", 200) > 0));
	rig_run(&c.rig, 2, burn_50);
	ratify(p);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 500);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 500);
	CHECK_EQ(crig_requests(&c, "/resize", 403), 0);
	CHECK(c.rig.events[EVENT_CEILING_REACHED] >= 1);
	CHECK(reports(",\"max\":500}"));
}

/* Also where nothing is sized: what a request may be is the same. */
TEST(minimum)
{
	crig_open(&c, NULL, NULL);
	crig_pod(&c, DRIVER_CGROUPFS, "web-0",
		 "{\"vscaled.dev/mode\":\"Off\",\"vscaled.dev/containers\":\"app\","
		 "\"vscaled.dev/min-cpu\":\"150m\",\"vscaled.dev/max-cpu\":\"1\","
		 "\"vscaled.dev/min-memory\":\"32Mi\"}");
	crig_start(&c);
	CHECK(crig_until(&c, 80, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50);
	CHECK(reports(",\"min\":150,\"max\":1000}"));
	CHECK(reports(",\"min\":33554432}"));
}

TEST(invalid)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, "{\"vscaled.dev/mode\":\"Automatic\"}");

	CHECK(UNTIL(240, burn_699, crig_events(&c, "InvalidAnnotation") > 0));
	crig_annotate(&c, p, "other", "x");
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(crig_events(&c, "InvalidAnnotation"), 1);
	CHECK_EQ(crig_requests(&c, "/events", 0), 1);
	CHECK_EQ(c.rig.events[EVENT_ANNOTATION_INVALID], 1);
	CHECK_EQ(crig_lines(&c, EVENT_ANNOTATION_INVALID, "Automatic"), 1);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK(metrics_have("vscaled_pods_invalid_annotations 1\n"));
}

TEST(with_parameters)
{
	test_annotation_removed(DRIVER_CGROUPFS, 8);
	test_annotation_removed(DRIVER_SYSTEMD, 2);
}

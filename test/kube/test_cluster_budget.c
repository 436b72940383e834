// SPDX-License-Identifier: Apache-2.0
/* Pods with spec.resources: limits of their containers are sent within the pod's from 1.36 on;
 * before, no resize of them is taken. */
#include "test/kube/test_cluster.h"

#define BUDGET "\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"128Mi\"}}"
#define GUARANTEED                                                                                 \
	"\"resources\":{\"limits\":{\"cpu\":\"1\",\"memory\":\"128Mi\"},"                          \
	"\"requests\":{\"cpu\":\"1\",\"memory\":\"128Mi\"}}"

static struct rig_pod *budget_pod(enum cgroup_driver driver, const char *spec)
{
	struct rig_pod *p = crig_pod_with(&c, driver, "web-0", AUTO, spec);

	p->budget[RESOURCE_CPU] = 1000;
	p->budget[RESOURCE_MEMORY] = 128 * MIB;
	crig_kubelet(&c, p, NULL);
	return p;
}

static void kubelet_is(const char *release)
{
	char body[128];

	snprintf(body, sizeof body, "{\"status\":{\"nodeInfo\":{\"kubeletVersion\":\"%s\"}}}",
		 release);
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/nodes/node-1/status", body));
}

static void check_level(const struct rig_pod *p)
{
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 1000);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), 128 * MIB);
	CHECK_EQ(p->level->props.mem_max, 128 * MIB);
	CHECK_EQ(p->level->props.cpu_quota_per_sec_usec, USEC_PER_SEC);
}

static bool has_grown(struct crig *x)
{
	return rig_bytes(&x->rig, app_of(&x->rig.pod[0]), "memory.max") > 80 * MIB;
}

static void grow(struct rig *r)
{
	struct rig_unit *app = app_of(&r->pod[0]);

	burn_699(r);
	if (app->anon_bytes < 90 * MIB)
		rig_grow(r, app, MIB);
}

/* log keeps 32 of 128 MiB: what is sent ahead of use stays below the pod's limit, or the server
 * would refuse it. The pod's own values stay, in its cgroup and in the spec. */
static void sends(enum cgroup_driver driver, const char *spec)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = budget_pod(driver, spec);
	kubelet_is("v1.36.3");
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, is_resized));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_699, has_ratified));
	check_level(p);
	CHECK(crig_until(&c, 400, grow, has_grown));
	CHECK(UNTIL(240, grow, crig_spec(&c, p, "app", RESOURCE_MEMORY) > 80 * MIB));
	CHECK(crig_spec(&c, p, "app", RESOURCE_MEMORY) <= 128 * MIB);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, grow);
	CHECK_EQ(crig_requests(&c, "/resize", 422), 0);
	check_level(p);

	/* All three levels go back. */
	app_of(p)->anon_bytes = 20 * MIB;
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(240, burn_50,
		    crig_spec(&c, p, "app", RESOURCE_CPU) == 200 &&
			    crig_spec(&c, p, "app", RESOURCE_MEMORY) == 64 * MIB));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	check_level(p);
	crig_close(&c);
}

TEST_DRIVERS(from_1_36)
{
	sends(driver, BUDGET);
}

/* The class follows from the pod's values: containers need no equal ones. */
TEST_DRIVERS(guaranteed)
{
	sends(driver, GUARANTEED);
}

/* Of an older release, and of one that is not known. */
static void stays(const char *const *version, const char *release)
{
	struct rig_pod *p;

	crig_open(&c, version, NULL);
	p = budget_pod(DRIVER_SYSTEMD, BUDGET);
	kubelet_is(release);
	crig_start(&c);
	CHECK(UNTIL(240, burn_699, rig_cpu_milli(&c.rig, app_of(p)) == 700));
	CHECK(crig_until(&c, 400, grow, has_grown));
	rig_run(&c.rig, 120, grow);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK(explains("\"cgroup-only\"") && explains("before 1.36"));
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 0);
	check_level(p);
	crig_annotate(&c, p, "mode", NULL);
	app_of(p)->anon_bytes = 20 * MIB;
	CHECK(UNTIL(240, burn_50, rig_cpu_milli(&c.rig, app_of(p)) == 200));
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	check_level(p);
	crig_close(&c);
}

TEST(before_1_36)
{
	static const char *const old[] = {"--version", "1.35", NULL};

	stays(old, "v1.35.4");
	stays(NULL, "unknown");
}

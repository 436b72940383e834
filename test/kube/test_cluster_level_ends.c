// SPDX-License-Identifier: Apache-2.0
/* The annotation vscaled.dev/pod-budget: what is refused, what is wrong, and how it ends. */
#include "test/kube/test_cluster_level.h"
#include <fcntl.h>
#include <unistd.h>

/* CPU is forgotten within minutes; memory is not lowered for a day. */
#define FORGETS "history: {confidenceAfter: 20s, halfLife: 1m}\n"

/* The sum of the containers' limits stands in the spec, with 700m for app. */
static struct rig_pod *followed(enum cgroup_driver driver, const char *spec)
{
	struct rig_pod *p = begin_level(driver, RESIZE, spec, FORGETS);

	CHECK(UNTIL(240, busy, level(RESOURCE_CPU) == 1000 && is_sum(RESOURCE_MEMORY)));
	CHECK(UNTIL(60, busy, rig_cpu_milli(&c.rig, p->level) == 1000));
	rig_run(&c.rig, 10, busy);
	return p;
}

/* A quota counts the pod's own limit: the containers' raise is refused with it, and goes back. */
TEST(quota)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", RESIZE, BURSTABLE);
	cJSON_Delete(crig_ask(&c, "POST", "/api/v1/namespaces/default/resourcequotas",
			      "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{"
			      "\"name\":\"all\"},\"spec\":{\"hard\":{\"limits.cpu\":\"300m\"}}}"));
	cJSON_Delete(crig_ask(&c, "PATCH", "/api/v1/namespaces/default/resourcequotas/all/status",
			      "{\"status\":{\"hard\":{\"limits.cpu\":\"300m\"},\"used\":{\"limits."
			      "cpu\":\"0\"}}}"));
	node("v1.36.3", "4", "8Gi");
	crig_start(&c);
	CHECK(UNTIL(120, idle, is_sum(RESOURCE_CPU) && is_sum(RESOURCE_MEMORY)));
	CHECK(UNTIL(120, busy, is_refused(&c)));
	CHECK(UNTIL(60, busy, rig_cpu_milli(&c.rig, app_of(p)) == 200));
	rig_run(&c.rig, 60, busy);
	CHECK_EQ(crig_requests(&c, "/resize", 403), 1);
	CHECK(crig_lines(&c, EVENT_REPORT_REFUSED, "limits.cpu=500m") == 1);
	check_level(p, 500, 96 * MIB);
}

/* The requests of a Guaranteed pod are its limits, and rise as far as the node has room for them.
 */
TEST(room)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, DRIVER_SYSTEMD, "web-0", RESIZE, GUARANTEED);
	node("v1.36.3", "800m", "8Gi");
	crig_start(&c);
	CHECK(UNTIL(240, busy, level(RESOURCE_CPU) == 800));
	rig_run(&c.rig, 60, busy);
	CHECK_EQ(level(RESOURCE_CPU), 800);
	CHECK_EQ(level_request(RESOURCE_CPU), 800);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 500);
	CHECK_EQ(crig_requests(&c, "/resize", 403) + crig_requests(&c, "/resize", 422), 0);
}

/* Not the value, and the same in a namespace's place: the pod is not sized. What followed stays. */
TEST(mistake)
{
	struct rig_pod *p =
		begin_level(DRIVER_CGROUPFS,
			    "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/pod-budget\":\"Grow\"}",
			    BURSTABLE, NULL);

	CHECK(UNTIL(60, busy, crig_events(&c, "InvalidAnnotation") == 1));
	CHECK(crig_lines(&c, EVENT_ANNOTATION_INVALID,
			 "vscaled.dev/pod-budget: \"Grow\" is not valid; allowed: Resize") == 1);
	rig_run(&c.rig, 60, busy);
	check_originals(p);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);

	p = followed(DRIVER_CGROUPFS, BURSTABLE);
	crig_annotate(&c, p, "pod-budget", "Grow");
	rig_run(&c.rig, 30, busy);
	rig_stop(&c.rig);
	crig_start(&c);
	rig_run(&c.rig, 60, busy);
	check_level(p, 1000, 96 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(240, idle, !crig_has_status(&c, p)));
	check_originals(p);
}

/* Without this annotation its containers stay sized, within the limits that it had. */
TEST_DRIVERS(annotation_removed)
{
	struct rig_pod *p = followed(driver, BURSTABLE);

	crig_annotate(&c, p, "pod-budget", NULL);
	rig_run(&c.rig, 60, busy);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
	/* app has 500m more than it had, and so has the pod. */
	check_level(p, 1000, 128 * MIB);
	CHECK(UNTIL(400, idle, level(RESOURCE_CPU) == 600));
	CHECK(UNTIL(120, idle, rig_cpu_milli(&c.rig, p->level) == 600));
	check_level(p, 600, 128 * MIB);
	rig_run(&c.rig, 70, busy);
	CHECK(UNTIL(240, busy, crig_spec(&c, p, "app", RESOURCE_CPU) == 600));
	check_level(p, 600, 128 * MIB);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(240, idle, !crig_has_status(&c, p)));
	check_originals(p);
	CHECK_EQ(crig_requests(&c, "/resize", 403) + crig_requests(&c, "/resize", 422), 0);
}

/* A new agent goes on with the originals of the last one; also one that finds the pod without a
 * mode. */
TEST_DRIVERS(restart)
{
	struct rig_pod *p = followed(driver, BURSTABLE);

	rig_stop(&c.rig);
	crig_forget_log(&c);
	crig_start(&c);
	rig_run(&c.rig, 60, busy);
	check_level(p, 1000, 96 * MIB);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	rig_stop(&c.rig);
	crig_annotate(&c, p, "mode", NULL);
	crig_start(&c);
	CHECK(UNTIL(240, idle, !crig_has_status(&c, p)));
	check_originals(p);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
}

/* Another limit by its owner is the one that goes back. */
TEST(owner)
{
	struct rig_pod *p = followed(DRIVER_CGROUPFS, BURSTABLE);

	rig_run(&c.rig, 60, busy);
	cJSON_Delete(crig_ask(&c, "PATCH",
			      "/api/v1/namespaces/default/pods/web-0/"
			      "resize?fieldManager=kubectl-patch",
			      "{\"spec\":{\"resources\":{\"limits\":{\"cpu\":\"1500m\"}}}}"));
	CHECK(UNTIL(120, busy, level(RESOURCE_CPU) == 1000));
	rig_run(&c.rig, 30, busy);
	crig_annotate(&c, p, "mode", "Off");
	CHECK(UNTIL(240, idle, level(RESOURCE_CPU) == 1500 && level(RESOURCE_MEMORY) == 128 * MIB));
	rig_run(&c.rig, 30, idle);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	check_level(p, 1500, 128 * MIB);
}

static void lose_records(void)
{
	static const char *const files[] = {"baseline", "baseline-copy", "history"};
	int dir = open(c.rig.daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	rig_stop(&c.rig);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		CHECK(unlinkat(dir, files[i], 0) == 0);
	close(dir);
}

/* The originals come from the status annotation. */
TEST_DRIVERS(records_lost)
{
	struct rig_pod *p = followed(driver, BURSTABLE);

	lose_records();
	crig_start(&c);
	rig_run(&c.rig, 60, busy);
	CHECK_EQ(c.rig.events[EVENT_ORIGINALS_RECOVERED], 1);
	check_level(p, 1000, 96 * MIB);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(240, idle, !crig_has_status(&c, p)));
	check_originals(p);
}

static unsigned restored, left_in_spec;

static void take_result(void *, const struct restore_result *result)
{
	restored += result->outcome == RESTORE_RESTORED;
	left_in_spec += strstr(result->detail, "the pod's spec still has values") != NULL;
}

/* vscalectl restore without the agent: the cgroups of all three; the spec keeps its values. */
TEST_DRIVERS(restored_offline)
{
	struct rig_pod *p = followed(driver, BURSTABLE);
	struct baseline_set set = {0};
	char aside[STATE_ASIDE_MAX];
	struct restore how = {.units = &c.rig.restore,
			      .margin_permille = 50,
			      .margin_min_bytes = 4 * MIB,
			      .spec_stays = true};
	int dir = open(c.rig.daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	how.root = c.rig.daemon->host.root;
	how.root = dup(how.root);
	rig_stop(&c.rig);
	restored = left_in_spec = 0;
	CHECK_EQ(baseline_load(dir, aside, &set), 0);
	CHECK_EQ(restore_set(&how, &set, NULL, take_result, NULL), 0);
	CHECK_EQ(restored, 2);
	CHECK_EQ(left_in_spec, 1);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 600);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), 128 * MIB);
	baseline_set_free(&set);
	close(how.root);
	close(dir);
	crig_start(&c);
}

/* Before 1.36 the API server would refuse it, and a container without a limit has the pod's. */
TEST(stays)
{
	static const char *const old[] = {"--version", "1.35", NULL};
	struct rig_pod *p;

	crig_open(&c, old, NULL);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", RESIZE, BURSTABLE);
	node("v1.35.4", "4", "8Gi");
	crig_start(&c);
	rig_run(&c.rig, 90, busy);
	check_level(p, 600, 128 * MIB);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);

	p = begin_level(DRIVER_CGROUPFS, RESIZE,
			BURSTABLE
			",\"initContainers\":[{\"name\":\"init\",\"image\":\"example.com/i:1\"}]",
			NULL);
	rig_run(&c.rig, 90, busy);
	check_level(p, 600, 128 * MIB);
}

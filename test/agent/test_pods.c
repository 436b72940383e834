// SPDX-License-Identifier: Apache-2.0
/* Pods: found, sized as units are, with the pod level above, under both cgroup drivers. */
#include "test/agent/test_pods.h"
#include "agent/drift/drift_events.h"
#include "agent/pod/pods.h"
#include <dirent.h>
#include <unistd.h>

TEST_RIG_DRIVERS(grows)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct rig_unit *app = p->container[0].unit, *log = p->container[1].unit;

	rig_pod_put(r, p);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
	rig_run(r, 10, pods_burn_800);
	CHECK(rig_cpu_milli(r, app) >= 800 && rig_cpu_milli(r, app) <= 1600);
	CHECK_EQ(rig_bytes(r, app, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(r, log), 300);
	CHECK_EQ(rig_cpu_milli(r, p->level), rig_cpu_milli(r, app) + 300);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 96 * MIB);
	CHECK(!r->below);
	/* The pod first, or the container's raise would be of no use yet. */
	CHECK(strncmp(r->moved[0], "raised default/web-0 cpu 500m -> ", 33) == 0);
	CHECK(strncmp(r->moved[1], "raised default/web-0/app cpu 200m -> ", 37) == 0);
	CHECK(strstr(r->moved[0], "the sum of its containers") != NULL);
	CHECK(strstr(r->moved[1], "throttled") != NULL);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED], 0);
	if (driver == DRIVER_SYSTEMD) {
		CHECK_EQ(app->props.cpu_quota_per_sec_usec, rig_cpu_milli(r, app) * USEC_PER_MSEC);
		CHECK_EQ(p->level->props.cpu_quota_per_sec_usec,
			 rig_cpu_milli(r, p->level) * USEC_PER_MSEC);
	} else {
		CHECK_EQ(r->set_calls, 0);
	}
}

/* Raised within its period, the pod first; the journal has one entry of each when that has settled,
 * or before what ends it. */
TEST_RIG_DRIVERS(throttled)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct rig_unit *app = p->container[0].unit;
	unsigned before;

	rig_pod_put(r, p);
	rig_reflex(r, 20, NULL);
	before = r->events[EVENT_LIMIT_RAISED];
	for (int i = 0; i < 3; i++)
		rig_throttle(r, app);
	CHECK(rig_cpu_milli(r, app) > 700);
	CHECK_EQ(rig_cpu_milli(r, p->level), rig_cpu_milli(r, app) + 300);
	CHECK(!r->below);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED], before);
	rig_reflex(r, 20, NULL);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED], before + 2);
	rig_throttle(r, app);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED], before + 2);
	rig_unit_stop(r, app);
	rig_reflex(r, 1, NULL);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED], before + 3);
}

static void step_grow(struct rig *r)
{
	rig_grow(r, r->pod[0].container[0].unit, 10 * MIB);
	pods_burn_20(r);
}

/* It has until its grace period ends, and may grow until then: in the cgroup alone. */
static void test_grows_while_deleted(enum cgroup_driver driver, bool found_so)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = pods_begin(&r, driver, "");
	struct rig_unit *app = p->container[0].unit;

	app->anon_bytes = 20 * MIB;
	p->deleting = found_so;
	rig_pod_run(&r, p, 3, step_grow);
	p->deleting = true;
	rig_pod_run(&r, p, 15, step_grow);
	CHECK_EQ(r.kills, 0);
	CHECK_EQ(app->anon_bytes, 200 * MIB);
	CHECK(rig_bytes(&r, p->level, "memory.max") >= rig_bytes(&r, app, "memory.max") + 32 * MIB);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_MANAGED);
}

static void step_creep(struct rig *r)
{
	rig_grow(r, r->pod[0].container[0].unit, 2 * MIB);
	pods_burn_20(r);
}

/* PID 1 writes its headroom before the limit is raised: the pod's limit follows at once, or it ends
 * the growth that the container's allows. */
TEST_RIG(level_follows_headroom)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit;

	p->extra_key = "max-memory";
	p->extra_value = "1Gi";
	app->anon_bytes = 4 * MIB;
	rig_pod_put(r, p);
	rig_reflex(r, 20, pods_burn_20);
	p->level->waits = true;
	rig_reflex(r, 15, step_creep);
	CHECK(rig_bytes(r, app, "memory.max") >= 200 * MIB);
	CHECK(rig_bytes(r, p->level, "memory.max") >= rig_bytes(r, app, "memory.max") + 32 * MIB);
}

/* What PID 1 writes late, for the container and for the pod, still covers what grew meanwhile. */
TEST_RIG(memory_grows_while_pid1_lags)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit;

	p->container[0].spec.limit[RESOURCE_MEMORY] = 256 * MIB;
	rig_pod_realise(r, p);
	app->anon_bytes = 150 * MIB;
	rig_pod_run(r, p, 3, pods_burn_20);
	r->lag_seconds = 10;
	rig_run(r, 40, step_grow);
	CHECK_EQ(r->kills, 0);
	CHECK(app->anon_bytes >= 550 * MIB);
	CHECK(!r->below);
	rig_run(r, 30, pods_burn_20);
	CHECK_EQ(r->kills, 0);
	CHECK(p->level->props.mem_max >= rig_bytes(r, p->level, "memory.max"));
	CHECK(p->level->props.mem_max < UINT64_MAX);
}

/* PID 1 has written the pod's headroom and not answered yet: when that is taken back from the file,
 * the call is not sent again, or that would never end. */
TEST_RIG(no_call_twice)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit;
	unsigned calls, entries;
	char text[32];

	p->container[0].spec.limit[RESOURCE_MEMORY] = 256 * MIB;
	rig_pod_realise(r, p);
	app->anon_bytes = 180 * MIB;
	rig_pod_run(r, p, 8, step_grow);
	rig_run(r, 100, pods_burn_20);
	CHECK(p->level->props.mem_max > rig_bytes(r, p->level, "memory.max"));
	r->silent = true;
	rig_run(r, 20, pods_burn_800);
	calls = r->set_calls;
	entries = r->events[EVENT_LIMIT_LOWERED];
	for (int i = 0; i < 5; i++) {
		snprintf(text, sizeof text, "%" PRIu64 "\n", p->level->props.mem_max);
		rig_put(r, p->level, "memory.max", text);
		rig_run(r, 2, pods_burn_800);
		CHECK(rig_bytes(r, p->level, "memory.max") < p->level->props.mem_max);
	}
	CHECK_EQ(r->set_calls, calls);
	CHECK_EQ(r->events[EVENT_LIMIT_LOWERED], entries);
}

TEST_RIG(reload_of_pid1_changes_nothing)
{
	/* What systemd stores is what stands: a reload of a second would show more. */
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "memory: {propertyRoomMin: 0}\n");
	uint64_t had;

	rig_pod_run(r, p, 15, pods_burn_800);
	had = rig_cpu_milli(r, p->container[0].unit);
	for (int i = 0; i < 8; i++) {
		drift_reloading(&r->daemon->units, true);
		rig_realise(r, p->container[0].unit);
		rig_realise(r, p->level);
		drift_reloading(&r->daemon->units, false);
		rig_run(r, 1, pods_burn_800);
		CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), had);
		CHECK_EQ(rig_cpu_milli(r, p->level), had + 300);
	}
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK(!r->below);
}

TEST_RIG_DRIVERS(shrinks_children_first)
{
	struct rig_pod *p = pods_begin(r, driver,
				       rig_config("  - match: none.service\n"
						  "kubernetes: {startupTime: 0s}\n"));
	struct rig_unit *app = p->container[0].unit;

	p->container[0].spec.limit[RESOURCE_CPU] = 1500;
	p->container[0].spec.limit[RESOURCE_MEMORY] = 400 * MIB;
	rig_pod_realise(r, p);
	app->anon_bytes = 50 * MIB;
	rig_pod_run(r, p, 200, pods_burn_20);
	/* The containers first. */
	CHECK(strncmp(r->moved[0], "lowered default/web-0/app ", 26) == 0);
	CHECK(strncmp(r->moved[1], "lowered default/web-0/log ", 26) == 0);
	CHECK(strncmp(r->moved[2], "lowered default/web-0 ", 22) == 0);
	CHECK(rig_cpu_milli(r, app) < 300);
	CHECK(rig_bytes(r, app, "memory.max") < 200 * MIB);
	CHECK(rig_bytes(r, app, "memory.max") >= 55 * MIB);
	CHECK(rig_cpu_milli(r, p->level) < 700);
	CHECK(rig_bytes(r, p->level, "memory.max") < 250 * MIB);
	CHECK(!r->below);
	CHECK_EQ(r->kills, 0);
}

/* A child that does not come down holds the pod up. */
TEST_RIG(child_that_refuses)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, rig_config("  - match: none.service\n"));
	struct rig_unit *app = p->container[0].unit;

	p->container[0].spec.limit[RESOURCE_MEMORY] = 400 * MIB;
	rig_pod_realise(r, p);
	app->anon_bytes = 395 * MIB;
	rig_pod_run(r, p, 60, pods_burn_20);
	CHECK(rig_bytes(r, app, "memory.max") >= 395 * MIB);
	CHECK(rig_bytes(r, p->level, "memory.max") >= rig_bytes(r, app, "memory.max"));
	CHECK(!r->below);
	CHECK_EQ(r->kills, 0);
}

TEST_RIG(level_without_limit_stays)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");

	p->container[1].spec.limit[RESOURCE_CPU] = LIMIT_MAX;
	p->container[1].spec.limit[RESOURCE_MEMORY] = LIMIT_MAX;
	rig_pod_realise(r, p);
	rig_pod_run(r, p, 12, pods_burn_800);
	CHECK(rig_cpu_milli(r, p->container[0].unit) >= 800);
	CHECK_EQ(rig_cpu_milli(r, p->level), LIMIT_MAX);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), LIMIT_MAX);
	CHECK_EQ(p->level->props.cpu_quota_per_sec_usec, UINT64_MAX);
	CHECK_EQ(rig_cpu_milli(r, p->container[1].unit), LIMIT_MAX);
	CHECK_EQ(pods_of(r, "default/web-0/log")->control.resource[RESOURCE_CPU].blocked,
		 BLOCKED_NO_LIMIT);
}

/* Descriptors of this process that lead to where pods are. */
static unsigned open_pod_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *e;
	char path[512];
	unsigned count = 0;

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		ssize_t n = readlinkat(dirfd(dir), e->d_name, path, sizeof path - 1);

		path[n > 0 ? n : 0] = '\0';
		count += strstr(path, "kubepods") != NULL;
	}
	closedir(dir);
	return count;
}

TEST_RIG_DRIVERS(not_annotated_is_not_touched)
{
	struct rig_pod *p = pods_begin(r, driver, "");

	p->mode = NULL;
	rig_pod_put(r, p);
	CHECK_EQ(r->daemon->pods.count, 0);
	CHECK_EQ(r->daemon->units.count, 0);
	rig_run(r, 1, pods_burn_800);
	CHECK_EQ(open_pod_files(), 0);
	CHECK_EQ(cg_watch_count(r->daemon->inotify.watch), 0);
	rig_run(r, 20, pods_burn_800);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 200);
	CHECK_EQ(rig_cpu_milli(r, p->level), 500);
	CHECK_EQ(r->set_calls, 0);
	CHECK_EQ(r->daemon->records.baselines.count, 0);
	/* Annotated it is another matter: the check above can fail. */
	p->mode = "Auto";
	rig_pod_put(r, p);
	CHECK(open_pod_files() > 0);
}

static void test_restart_resumes_at_once(enum cgroup_driver driver, bool unset)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = pods_begin(&r, driver, "");
	struct rig_container *app = &p->container[0];
	uint64_t had;

	had = pods_raise_app(&r, p);
	rig_container_stop(&r, app);
	rig_run(&r, 2, NULL);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_WAITING);
	/* The API server knows nothing of it yet. */
	rig_container_start(&r, p, app, unset);
	if (unset) {
		rig_run(&r, 1, NULL);
		CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_WAITING);
		rig_realise(&r, app->unit);
	}
	rig_run(&r, 1, NULL);
	CHECK_EQ(rig_cpu_milli(&r, app->unit), had);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED], 0);
	CHECK(strstr(r.last_message, "(the limit from before the restart)") != NULL);
	app->reported = true;
	rig_pod_run(&r, p, 5, pods_burn_800);
	CHECK(rig_cpu_milli(&r, app->unit) >= had);
	CHECK(!r.below);
}

/* The end is reported before the next one runs: it begins with what its predecessor lacked. */
TEST_RIG(kill_reported_before_the_restart)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");
	struct rig_container *app = &p->container[0];

	rig_pod_run(r, p, 5, pods_burn_20);
	rig_container_stop(r, app);
	app->restarts--; /* the kubelet waits before it does */
	app->oom_run = 1;
	rig_pod_run(r, p, 5, NULL);
	rig_container_start(r, p, app, false);
	app->restarts++;
	rig_run(r, 1, NULL);
	CHECK(rig_bytes(r, app->unit, "memory.max") >= 160 * MIB);
	app->reported = true;
	rig_pod_run(r, p, 5, pods_burn_20);
	CHECK(rig_bytes(r, app->unit, "memory.max") < 200 * MIB);
	CHECK_EQ(r->events[EVENT_OOM_KILL], 1);
	CHECK(!r->below);
}

/* Two new cgroups cannot be told apart by their files: both wait for the ids of the API server. */
TEST_RIG(two_newcomers)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	rig_pod_run(r, p, 2, pods_burn_800);
	for (size_t i = 0; i < 2; i++)
		rig_container_stop(r, &p->container[i]);
	rig_run(r, 1, NULL);
	for (size_t i = 0; i < 2; i++)
		rig_container_start(r, p, &p->container[i], false);
	rig_run(r, 2, NULL);
	CHECK(pods_of(r, "default/web-0/app")->cgroup.cg == NULL);
	CHECK(pods_of(r, "default/web-0/log")->cgroup.cg == NULL);
	for (size_t i = 0; i < 2; i++)
		p->container[i].reported = true;
	rig_pod_put(r, p);
	CHECK_STR(pods_of(r, "default/web-0/app")->cgroup.path, p->container[0].unit->cgroup);
	CHECK_STR(pods_of(r, "default/web-0/log")->cgroup.path, p->container[1].unit->cgroup);
}

/* Annotated before the kubelet made anything: found by the cgroup that appears. */
TEST_RIG_DRIVERS(pod_before_its_cgroup)
{
	struct rig_pod *old = pods_begin(r, driver, ""), *p;
	struct kube_pod *spec;

	rig_pod_put(r, old);
	rig_run(r, 2, pods_burn_20);
	p = rig_pod_add(r, driver, "web-1");
	p->mode = "Auto";
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_pod_remove(r, p);
	p->container[0].reported = false;
	spec = rig_pod_spec(r, p);
	pods_put(&r->daemon->pods, spec);
	rig_run(r, 2, NULL);
	CHECK_EQ(managed_state(pods_of(r, "default/web-1/app")), UNIT_WAITING);
	rig_pod_make(r, p);
	rig_container_start(r, p, &p->container[0], false);
	rig_run(r, 1, NULL);
	CHECK_EQ(managed_state(pods_of(r, "default/web-1/app")), UNIT_MANAGED);
	rig_run(r, 10, pods_burn_800);
	CHECK(rig_cpu_milli(r, p->container[0].unit) >= 800);
}

/* Memory is no longer named, and more is in use than its original limit: that goes back once use
 * allows, and CPU is sized all the time. restart: of the daemon meanwhile. */
TEST_RIG_BOTH(resource_no_longer_named, restart)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit;

	rig_pod_run(r, p, 5, pods_burn_20);
	for (unsigned i = 0; i < 10; i++) {
		rig_grow(r, app, 10 * MIB);
		rig_run(r, 1, pods_burn_20);
	}
	CHECK_EQ(rig_cpu_milli(r, app), 200);
	p->extra_key = "resources";
	p->extra_value = "cpu";
	rig_pod_run(r, p, 70, pods_burn_20);
	if (restart) {
		rig_restart(r);
		rig_pod_list(r, p);
		rig_run(r, 70, pods_burn_20);
	}
	CHECK_EQ(r->events[EVENT_RESTORE_LEFT], restart ? 2 : 1);
	CHECK(rig_bytes(r, app, "memory.max") >= 100 * MIB);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
	pods_raise_app(r, p);
	app->anon_bytes = 10 * MIB;
	rig_run(r, 130, pods_burn_800);
	CHECK_EQ(rig_bytes(r, app, "memory.max"), 64 * MIB);
	CHECK(!pods_of(r, "default/web-0/app")->control.resource[RESOURCE_MEMORY].managed);
	CHECK(rig_cpu_milli(r, app) >= 800);
	CHECK_EQ(r->kills, 0);
	p->mode = NULL;
	rig_pod_run(r, p, 70, pods_burn_20);
	pods_check_originals(r, p);
}

/* The limits are not controlled any more, and more memory is in use than its original limit: CPU
 * goes back at once, memory once use allows, and that is protected until then. restart: it changes
 * while the daemon does not run. */
TEST_RIG_BOTH(limits_no_longer_controlled, restart)
{
	struct rig_pod *p = pods_begin(r, DRIVER_SYSTEMD, "");
	struct rig_unit *app = p->container[0].unit;

	pods_raise_app(r, p);
	for (unsigned i = 0; i < 10; i++) {
		rig_grow(r, app, 10 * MIB);
		rig_run(r, 1, pods_burn_800);
	}
	p->extra_key = "controlled-values";
	p->extra_value = "RequestsOnly";
	if (restart) {
		rig_restart(r);
		rig_pod_list(r, p);
	}
	rig_pod_run(r, p, 70, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, app), 200);
	CHECK(rig_bytes(r, app, "memory.max") >= 100 * MIB);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/app")), UNIT_MANAGED);
	for (unsigned i = 0; i < 10; i++) {
		rig_grow(r, app, 10 * MIB);
		rig_run(r, 1, pods_burn_20);
	}
	CHECK(rig_bytes(r, app, "memory.max") >= 200 * MIB);
	app->anon_bytes = 10 * MIB;
	rig_run(r, 130, pods_burn_800);
	pods_check_originals(r, p);
	CHECK_EQ(pods_of(r, "default/web-0/app")->control.resource[RESOURCE_CPU].blocked,
		 BLOCKED_REQUESTS_ONLY);
	CHECK_EQ(r->kills, 0);
	p->extra_value = "LimitsOnly";
	pods_raise_app(r, p);
}

/* The kubelet gave the pod what its start needs: an init container beside the sidecar before it.
 * Later on it is no more than the sum of what runs. */
TEST_RIG_DRIVERS(init_beside_sidecar)
{
	struct rig_pod *p;
	uint64_t milli;

	rig_open(r, "");
	p = rig_pod_add(r, driver, "web-0");
	rig_container_add(r, p, "log", 300, 32 * MIB)->kind = CONTAINER_SIDECAR;
	rig_container_add(r, p, "setup", 400, 80 * MIB)->kind = CONTAINER_INIT;
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_container_stop(r, &p->container[1]);
	p->level->props.cpu_quota_per_sec_usec = 700 * USEC_PER_MSEC;
	p->level->props.mem_max = 112 * MIB;
	rig_realise(r, p->level);
	p->mode = "Auto";
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_cpu_milli(r, p->level), 700);
	milli = pods_raise_app(r, p);
	CHECK_EQ(rig_cpu_milli(r, p->level), milli + 200);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 112 * MIB);
	p->mode = NULL;
	rig_pod_run(r, p, 70, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, p->level), 700);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 112 * MIB);
}

/* It is being deleted, and its owner removes the annotation. */
TEST_RIG(not_annotated_while_it_ends)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	pods_raise_app(r, p);
	p->deleting = true;
	rig_pod_run(r, p, 5, pods_burn_800);
	p->mode = NULL;
	rig_pod_run(r, p, 5, pods_burn_20);
	pods_check_originals(r, p);
}

TEST(with_parameters)
{
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++) {
		test_grows_while_deleted(driver, false);
		test_grows_while_deleted(driver, true);
		test_restart_resumes_at_once(driver, false);
		test_restart_resumes_at_once(driver, true);
	}
}

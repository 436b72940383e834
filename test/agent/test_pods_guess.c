// SPDX-License-Identifier: Apache-2.0
/* Whose cgroup is it: a container in back-off must not take its sibling's, and gives it back. */
#include "test/agent/test_pods.h"

static const char same[] = "default/web-0/app";

/* app (200m, 64Mi) is annotated and grown, log (given limits) is not; then app waits in back-off.
 */
static struct rig_pod *begin(struct rig *r, enum cgroup_driver driver, uint64_t milli,
			     uint64_t bytes)
{
	struct rig_pod *p;

	rig_open(r, "");
	p = rig_pod_add(r, driver, "web-0");
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_container_add(r, p, "log", milli, bytes);
	p->mode = "Auto";
	p->containers = "app";
	CHECK_EQ(rig_start(r), 0);
	pods_raise_app(r, p);
	rig_container_stop(r, &p->container[0]);
	rig_run(r, 2, NULL);
	return p;
}

static void check_log(struct rig *r, struct rig_pod *p, uint64_t milli, uint64_t bytes)
{
	struct rig_unit *log = p->container[1].unit;

	CHECK_EQ(rig_cpu_milli(r, log), milli);
	CHECK_EQ(rig_bytes(r, log, "memory.max"), bytes);
	if (p->driver == DRIVER_SYSTEMD) {
		CHECK_EQ(log->props.cpu_quota_per_sec_usec, milli * USEC_PER_MSEC);
		CHECK_EQ(log->props.mem_max, bytes);
	}
}

static bool app_has(struct rig *r, const struct rig_unit *u)
{
	const struct managed *m = pods_of(r, same);

	return m->cgroup.cg != NULL && strcmp(m->cgroup.path, u->cgroup) == 0;
}

/* The limits of the cgroup are not those of the container that is missing. */
TEST_RIG(other_limits)
{
	struct rig_pod *p = begin(r, DRIVER_CGROUPFS, 300, 32 * MIB);

	/* Its old cgroup is still there, so that only app seems to be missing. */
	rig_container_start(r, p, &p->container[1], false);
	rig_run(r, 5, NULL);
	check_log(r, p, 300, 32 * MIB);
	CHECK(pods_of(r, same)->cgroup.cg == NULL);
}

/* log runs anew with the limits of app while its old cgroup lingers: app takes it for its own. */
static struct rig_unit *mislead(struct rig *r, struct rig_pod *p)
{
	struct rig_unit *old = p->container[1].unit;

	rig_container_start(r, p, &p->container[1], false);
	rig_run(r, 3, NULL);
	CHECK(app_has(r, p->container[1].unit));
	CHECK(rig_cpu_milli(r, p->container[1].unit) >= 800);
	return old;
}

/* It is gone, and its name may be taken again. */
static void forget(struct rig *r, struct rig_unit *u)
{
	rig_unit_stop(r, u);
	u->name[0] = '\0';
}

static void check_released(struct rig *r, struct rig_pod *p)
{
	check_log(r, p, 200, 64 * MIB);
	CHECK_EQ(r->events[EVENT_CGROUP_RELEASED], 1);
	CHECK_EQ(r->kills, 0);
	CHECK_EQ(rig_cpu_milli(r, p->level), rig_cpu_milli(r, p->container[0].unit) + 200);
	/* Nothing of it stays on record under either name. */
	for (size_t i = 0; i < r->daemon->records.baselines.count; i++) {
		const struct baseline *b = &r->daemon->records.baselines.items[i];

		CHECK(strstr(b->key, "/log") == NULL);
		CHECK(b->cgroup == NULL || strcmp(b->cgroup, p->container[1].unit->cgroup) != 0);
	}
}

static void app_returns(struct rig *r, struct rig_pod *p)
{
	struct rig_container *app = &p->container[0];

	rig_container_start(r, p, app, false);
	app->reported = true;
	rig_pod_run(r, p, 3, NULL);
	CHECK(app_has(r, app->unit));
	CHECK(rig_cpu_milli(r, app->unit) >= 800);
}

/* The API server reports the other container's id first, and app restarts later. */
TEST_RIG_DRIVERS(claimed_first)
{
	struct rig_pod *p = begin(r, driver, 200, 64 * MIB);
	struct rig_unit *old = mislead(r, p);

	forget(r, old);
	p->container[1].reported = true;
	rig_pod_run(r, p, 3, NULL);
	CHECK(pods_of(r, same)->cgroup.cg == NULL);
	CHECK_EQ(rig_cpu_milli(r, p->container[1].unit), 200);
	app_returns(r, p);
	check_released(r, p);
	rig_run(r, 60, pods_burn_800);
	check_released(r, p);
}

/* app's own cgroup is reported first, while the API server still has the other's old id. */
TEST_RIG_DRIVERS(claimed_last)
{
	struct rig_pod *p = begin(r, driver, 200, 64 * MIB);
	struct rig_container *app = &p->container[0], *log = &p->container[1];
	char now[65], before[65];
	struct rig_unit *old;

	memcpy(before, log->id, sizeof before);
	old = mislead(r, p);
	forget(r, old);
	rig_container_start(r, p, app, false);
	app->reported = log->reported = true;
	memcpy(now, log->id, sizeof now);
	memcpy(log->id, before, sizeof before);
	rig_pod_run(r, p, 3, NULL);
	CHECK(app_has(r, app->unit));
	check_released(r, p);
	memcpy(log->id, now, sizeof now);
	rig_pod_run(r, p, 10, NULL);
	CHECK(rig_cpu_milli(r, app->unit) >= 800);
	check_released(r, p);
}

/* Memory that the other container has come to use meanwhile goes back as soon as it can. */
TEST_RIG_DRIVERS(memory_is_in_use)
{
	struct rig_pod *p = begin(r, driver, 200, 64 * MIB);
	struct rig_unit *old = mislead(r, p), *log = p->container[1].unit;

	for (int i = 0; i < 10; i++) {
		rig_grow(r, log, 10 * MIB);
		rig_run(r, 1, NULL);
	}
	CHECK(log->anon_bytes >= 90 * MIB);
	forget(r, old);
	p->container[1].reported = true;
	rig_pod_run(r, p, 10, NULL);
	CHECK_EQ(rig_cpu_milli(r, log), 200);
	CHECK(rig_bytes(r, log, "memory.max") > log->anon_bytes);
	log->anon_bytes = 20 * MIB;
	rig_run(r, 130, NULL);
	app_returns(r, p);
	check_released(r, p);
}

/* Both are managed: each goes on with what it had before. */
TEST_RIG_DRIVERS(claimed_by_managed)
{
	struct rig_pod *p;
	struct rig_unit *old;

	/* No headroom for growth: systemd holds what the file has. */
	rig_open(r, "memory: {propertyRoomMin: 0}\n");
	p = rig_pod_add(r, driver, "web-0");
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_container_add(r, p, "log", 200, 64 * MIB);
	p->mode = "Auto";
	CHECK_EQ(rig_start(r), 0);
	pods_raise_app(r, p);
	rig_container_stop(r, &p->container[0]);
	rig_run(r, 2, NULL);
	old = mislead(r, p);
	forget(r, old);
	p->container[1].reported = true;
	rig_pod_run(r, p, 5, NULL);
	CHECK(pods_of(r, same)->cgroup.cg == NULL);
	CHECK_EQ(managed_state(pods_of(r, "default/web-0/log")), UNIT_MANAGED);
	CHECK_EQ(pods_of(r, "default/web-0/log")->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(r->events[EVENT_CGROUP_RELEASED], 1);
	rig_run(r, 5, NULL);
	app_returns(r, p);
	check_log(r, p, 200, 64 * MIB);
}

/* Nothing was written to it: nothing is put back, whatever its owner has set since. */
TEST_RIG(mode_off)
{
	struct rig_pod *p;
	struct rig_unit *old, *log;

	rig_open(r, "");
	p = rig_pod_add(r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_container_add(r, p, "log", 200, 64 * MIB);
	p->mode = "Off";
	p->containers = "app";
	CHECK_EQ(rig_start(r), 0);
	rig_pod_run(r, p, 5, NULL);
	rig_container_stop(r, &p->container[0]);
	rig_run(r, 2, NULL);
	old = p->container[1].unit;
	rig_container_start(r, p, &p->container[1], false);
	rig_run(r, 3, NULL);
	log = p->container[1].unit;
	CHECK(app_has(r, log));
	forget(r, old);
	p->container[1].reported = true;
	rig_put(r, log, "cpu.max", "50000 100000\n");
	rig_put(r, log, "memory.max", "134217728\n");
	rig_pod_run(r, p, 5, NULL);
	CHECK(pods_of(r, same)->cgroup.cg == NULL);
	CHECK_EQ(rig_cpu_milli(r, log), 500);
	CHECK_EQ(rig_bytes(r, log, "memory.max"), 128 * MIB);
}

/* What its owner has set between the guess and its correction stays, the rest goes back. */
TEST_RIG(resized_between)
{
	struct rig_pod *p = begin(r, DRIVER_CGROUPFS, 200, 64 * MIB);
	struct rig_unit *old = mislead(r, p), *log = p->container[1].unit;

	forget(r, old);
	p->container[1].reported = true;
	rig_put(r, log, "memory.max", "134217728\n");
	rig_pod_run(r, p, 5, NULL);
	CHECK(pods_of(r, same)->cgroup.cg == NULL);
	CHECK_EQ(rig_cpu_milli(r, log), 200);
	CHECK_EQ(rig_bytes(r, log, "memory.max"), 128 * MIB);
}

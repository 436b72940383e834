// SPDX-License-Identifier: Apache-2.0
/* Pods: found, sized as units are, with the pod level above, under both cgroup drivers. */
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <unistd.h>

static void burn(struct rig *r, uint64_t milli)
{
	for (size_t i = 0; i < r->pod_count; i++)
		if (r->pod[i].container[0].unit->running)
			rig_burn(r, r->pod[i].container[0].unit, milli);
}

static void step_800(struct rig *r)
{
	burn(r, 800);
}


static struct rig_pod *begin(struct rig *r, enum cgroup_driver driver, const char *config)
{
	struct rig_pod *p;

	rig_open(r, config);
	p = rig_pod_add(r, driver, "web-0");
	rig_container_add(r, p, "app", 200, 64 * MIB);
	rig_container_add(r, p, "log", 300, 32 * MIB);
	p->mode = "Auto";
	CHECK_EQ(rig_start(r), 0);
	return p;
}

static struct managed *of(struct rig *r, const char *name)
{
	struct managed *m = managed_find(r->daemon, name);

	CHECK(m != NULL);
	if (m == NULL)
		exit(EXIT_FAILURE);
	return m;
}

static void test_grows(enum cgroup_driver driver)
{
	struct rig r;
	struct rig_pod *p = begin(&r, driver, "");
	struct rig_unit *app = p->container[0].unit, *log = p->container[1].unit;

	rig_pod_put(&r, p);
	CHECK_EQ(of(&r, "default/web-0/app")->state, UNIT_MANAGED);
	rig_run(&r, 10, step_800);
	CHECK(rig_cpu_milli(&r, app) >= 800 && rig_cpu_milli(&r, app) <= 1600);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, log), 300);
	CHECK_EQ(rig_cpu_milli(&r, p->level), rig_cpu_milli(&r, app) + 300);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), 96 * MIB);
	CHECK(!r.below);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED], 0);
	if (driver == DRIVER_SYSTEMD) {
		CHECK_EQ(app->props.cpu_quota_per_sec_usec,
			 rig_cpu_milli(&r, app) * USEC_PER_MSEC);
		CHECK_EQ(p->level->props.cpu_quota_per_sec_usec,
			 rig_cpu_milli(&r, p->level) * USEC_PER_MSEC);
	} else {
		CHECK_EQ(r.set_calls, 0);
	}
	rig_close(&r);
}

static void step_grow(struct rig *r)
{
	rig_grow(r, r->pod[0].container[0].unit, 10 * MIB);
	burn(r, 20);
}

static void test_memory_grows(enum cgroup_driver driver)
{
	struct rig r;
	struct rig_pod *p = begin(&r, driver, "");
	struct rig_unit *app = p->container[0].unit;

	app->anon_bytes = 20 * MIB;
	rig_pod_put(&r, p);
	rig_run(&r, 15, step_grow);
	CHECK_EQ(r.kills, 0);
	CHECK(rig_bytes(&r, app, "memory.max") >= 170 * MIB);
	CHECK(rig_bytes(&r, p->level, "memory.max") >=
	      rig_bytes(&r, app, "memory.max") + 32 * MIB);
	CHECK(!r.below);
	if (driver == DRIVER_SYSTEMD) {
		CHECK(p->level->props.mem_max >= app->props.mem_max + 32 * MIB);
		CHECK(p->level->props.mem_max >= rig_bytes(&r, p->level, "memory.max"));
	}
	rig_close(&r);
}

int main(void)
{
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++) {
		test_grows(driver);
		test_memory_grows(driver);
	}
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* Pods on the files of Linux 5.10, and on pages of 4, 16 and 64 KiB. */
#include "test/agent/test_pods.h"

static struct rig r;
static void grow_300k(struct rig *x)
{
	pods_burn_20(x);
	rig_grow(x, x->pod[0].container[0].unit, 300 * KIB);
}

/* Sized as elsewhere. */
static void test_old_kernel(enum cgroup_driver driver)
{
	struct rig_unit *app;
	struct rig_pod *p;

	rig_open(&r, rig_config(""));
	r.old_kernel = true;
	p = rig_pod_add(&r, driver, "web-0");
	p->mode = "Auto";
	app = rig_container_add(&r, p, "app", 200, 64 * MIB)->unit;
	app->anon_bytes = 20 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_put(&r, p);
	rig_run(&r, 15, pods_burn_800);
	CHECK(rig_cpu_milli(&r, app) >= 800);
	rig_run(&r, 200, grow_300k);
	CHECK_EQ(r.kills, 0);
	CHECK(rig_bytes(&r, app, "memory.max") > 64 * MIB);
	rig_close(&r);
}

/* 100 MB is no multiple of a page: the kernel holds less than the spec says. */
static void test_pages(enum cgroup_driver driver, uint64_t page_bytes)
{
	uint64_t original = 100000000, held = original - original % page_bytes;
	struct rig_unit *app;
	struct rig_pod *p;
	unsigned writes;

	fake_page(page_bytes);
	rig_open(&r, rig_config(""));
	p = rig_pod_add(&r, driver, "web-0");
	p->mode = "Auto";
	app = rig_container_add(&r, p, "app", 200, original)->unit;
	app->anon_bytes = 50 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_put(&r, p);
	rig_run(&r, 5, pods_burn_20);
	writes = fake_limit_writes;
	rig_run(&r, 10, pods_burn_20);
	CHECK(fake_limit_writes - writes <= 10);
	rig_run(&r, 200, grow_300k);
	CHECK(rig_bytes(&r, app, "memory.max") > original);
	CHECK_EQ(r.kills, 0);
	/* Growth is over, and its headroom is taken back: what was written stays. */
	rig_run(&r, 300, pods_burn_20);
	writes = fake_limit_writes;
	rig_run(&r, 30, pods_burn_20);
	CHECK(fake_limit_writes - writes <= 10);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED] + r.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(rig_bytes(&r, app, "memory.max") % page_bytes, 0);
	app->anon_bytes = 50 * MIB;
	rig_pods_turn(&r);
	p->mode = NULL;
	rig_pod_put(&r, p);
	rig_run(&r, 600, pods_burn_20);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), held);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), held);
	rig_close(&r);
}

int main(void)
{
	for (enum cgroup_driver d = 0; d < DRIVER_COUNT; d++)
		for (uint64_t page = 4 * KIB; page <= 64 * KIB; page *= 4)
			test_pages(d, page);
	fake_page(4 * KIB);
	for (enum cgroup_driver d = 0; d < DRIVER_COUNT; d++)
		test_old_kernel(d);
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* Pods on the files of Linux 5.10. */
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

int main(void)
{
	for (enum cgroup_driver d = 0; d < DRIVER_COUNT; d++)
		test_old_kernel(d);
	return check_result();
}

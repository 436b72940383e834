// SPDX-License-Identifier: Apache-2.0
/* The annotation vscaled.dev/pod-budget: the pod's own limits in spec.resources grow and shrink
 * with those of its containers, and go back. */
#include "test/kube/test_cluster_level.h"

static void grow(struct rig *r)
{
	struct rig_unit *app = app_of(&r->pod[0]);

	busy(r);
	if (app->anon_bytes < 180 * MIB)
		rig_grow(r, app, MIB);
}

static void grows(enum cgroup_driver driver, const char *spec)
{
	struct rig_pod *p = begin_level(driver, RESIZE, spec, QUICK);

	/* At first the sum, without what the pod had beside it. */
	CHECK(UNTIL(120, idle, is_sum(RESOURCE_CPU) && is_sum(RESOURCE_MEMORY)));
	CHECK(told());
	CHECK(UNTIL(240, busy, crig_spec(&c, p, "app", RESOURCE_CPU) == 700));
	CHECK_EQ(level(RESOURCE_CPU), 1000);
	/* Far above what the pod had. */
	CHECK(UNTIL(600, grow, rig_bytes(&c.rig, app_of(p), "memory.max") > 180 * MIB));
	CHECK(UNTIL(240, grow, crig_spec(&c, p, "app", RESOURCE_MEMORY) > 180 * MIB));
	CHECK(level(RESOURCE_MEMORY) > 180 * MIB + 32 * MIB);
	/* Its requests stay, or are its limits. */
	CHECK_EQ(level_request(RESOURCE_MEMORY),
		 strcmp(spec, GUARANTEED) == 0 ? level(RESOURCE_MEMORY) : 32 * MIB);
	CHECK_EQ(c.rig.kills, 0);
	CHECK_EQ(crig_requests(&c, "/resize", 422) + crig_requests(&c, "/resize", 403), 0);
	CHECK(UNTIL(240, busy, is_sum(RESOURCE_CPU) && is_sum(RESOURCE_MEMORY)));
	/* It shrinks with them. */
	app_of(p)->anon_bytes = 20 * MIB;
	CHECK(UNTIL(400, idle,
		    level(RESOURCE_CPU) < 600 && is_sum(RESOURCE_CPU) &&
			    level(RESOURCE_MEMORY) < 128 * MIB && is_sum(RESOURCE_MEMORY)));

	/* All three levels go back. */
	crig_annotate(&c, p, "mode", NULL);
	CHECK(UNTIL(240, idle, level(RESOURCE_CPU) == 600 && level(RESOURCE_MEMORY) == 128 * MIB));
	CHECK(UNTIL(240, idle, !crig_has_status(&c, p)));
	rig_run(&c.rig, 10, idle);
	check_originals(p);
	CHECK_EQ(crig_requests(&c, "/resize", 422) + crig_requests(&c, "/resize", 403), 0);
	crig_close(&c);
}

TEST_DRIVERS(burstable)
{
	grows(driver, BURSTABLE);
}

TEST_DRIVERS(guaranteed)
{
	grows(driver, GUARANTEED);
}

// SPDX-License-Identifier: Apache-2.0
/* Memory in use above the limit of the spec: reported after 3 s, once, until it is well below. */
#include "agent/pod/cluster.h"
#include "test/agent/test_pods.h"

static void use(struct rig *r, uint64_t bytes, unsigned seconds)
{
	r->pod[0].container[0].unit->anon_bytes = bytes;
	for (unsigned i = 0; i < seconds; i++) {
		rig_run(r, 1, NULL);
		above_spec_check(&r->daemon->units); /* as agent/pod/ does in each tick */
	}
}

int main(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");
	struct rig_unit *app = p->container[0].unit;

	rig_pod_run(&r, p, 5, NULL);
	/* The cgroup is raised, and no API server takes a higher limit. */
	for (unsigned i = 0; i < 20; i++) {
		rig_grow(&r, app, 3 * MIB);
		rig_run(&r, 1, NULL);
	}
	CHECK(rig_bytes(&r, app, "memory.max") > 70 * MIB);
	use(&r, 64 * MIB, 20);
	CHECK_EQ(r.events[EVENT_MEMORY_ABOVE_SPEC], 0);
	use(&r, 65 * MIB, 3);
	CHECK_EQ(r.events[EVENT_MEMORY_ABOVE_SPEC], 0);
	use(&r, 65 * MIB, 1);
	CHECK_EQ(r.events[EVENT_MEMORY_ABOVE_SPEC], 1);
	use(&r, 65 * MIB, 20);
	/* 95 % of 64 MiB is 60.8. */
	use(&r, 61 * MIB, 5);
	use(&r, 65 * MIB, 10);
	CHECK_EQ(r.events[EVENT_MEMORY_ABOVE_SPEC], 1);
	use(&r, 60 * MIB, 5);
	/* Twice for less than 3 s is not reported. */
	use(&r, 65 * MIB, 2);
	use(&r, 64 * MIB, 1);
	use(&r, 65 * MIB, 2);
	CHECK_EQ(r.events[EVENT_MEMORY_ABOVE_SPEC], 1);
	use(&r, 65 * MIB, 2);
	CHECK_EQ(r.events[EVENT_MEMORY_ABOVE_SPEC], 2);
	CHECK_EQ(r.kills, 0);
	rig_close(&r);
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* A memory.high that the brake had lowered when the daemon was killed, and the records are lost. */
#include "test/agent/test_pods.h"
#include <fcntl.h>
#include <unistd.h>

static const char *const state_files[] = {"baseline", "baseline-copy", "history"};

/* The daemon is gone while memory.high of u stands low; files of the state folder go as well. */
static void crash(struct rig *r, struct rig_unit *u, bool lose)
{
	int dir = open(r->daemon->config.paths.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	rig_stop(r);
	rig_put(r, u, "memory.high", "62914560\n"); /* 60 MiB */
	for (size_t i = 0; lose && i < ARRAY_SIZE(state_files); i++)
		(void)unlinkat(dir, state_files[i], 0);
	close(dir);
}

TEST_RIG_BOTH(unit, lose)
{
	struct rig_unit *u, *other;

	rig_open(r, rig_config("  - match: a.service\n"));
	u = rig_add(r, "a.service", 200, 64 * MIB);
	/* Its owner has set one, and no record is of it. */
	other = rig_add(r, "b.service", 200, 64 * MIB);
	rig_put(r, other, "memory.high", "52428800\n");
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 5, NULL);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), LIMIT_MAX);
	crash(r, u, lose);
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), LIMIT_MAX);
	rig_run(r, 5, NULL);
	CHECK_EQ(managed_find(&r->daemon->units, "a.service")->control.original.mem_high,
		 LIMIT_MAX);
	CHECK_EQ(rig_bytes(r, other, "memory.high"), 50 * MIB);
}

/* The owner's memory.high is restored, not max. */
TEST_RIG(owners_high)
{
	struct rig_unit *u;

	rig_open(r, rig_config("  - match: a.service\n"));
	u = rig_add(r, "a.service", 200, 128 * MIB);
	u->props.mem_high = 100 * MIB;
	rig_realise(r, u);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 5, NULL);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 100 * MIB);
	crash(r, u, true);
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 100 * MIB);
}

TEST_RIG_DRIVERS(container)
{
	struct rig_pod *p = pods_begin(r, driver, "");
	struct rig_unit *app = p->container[0].unit;

	pods_raise_app(r, p);
	crash(r, app, true);
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, app, "memory.high"), LIMIT_MAX);
}

/* Another container has that place by now: what it has is its own. */
TEST_RIG(another_container)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	pods_raise_app(r, p);
	rig_container_stop(r, &p->container[0]);
	rig_run(r, 2, NULL);
	rig_container_start(r, p, &p->container[0], false);
	crash(r, p->container[0].unit, true);
	CHECK_EQ(rig_start(r), 0);
	CHECK_EQ(rig_bytes(r, p->container[0].unit, "memory.high"), 60 * MIB);
}

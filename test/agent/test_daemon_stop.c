// SPDX-License-Identifier: Apache-2.0
/* The daemon stops for good, or until an upgrade is done: nothing raises the memory of a unit. */
#include "test/agent/test_pods.h"

static void idle(struct rig *r)
{
	rig_burn(r, &r->unit[0], 30);
}

static void grow(struct rig *r)
{
	idle(r);
	rig_grow(r, &r->unit[0], 5 * MIB);
}

static struct rig_unit *begin(struct rig *r, const char *units, uint64_t use)
{
	struct rig_unit *u = rig_begin(r, rig_config(units), 1500, 400 * MIB, use);

	return u;
}

/* Shrunk to a little above use. */
static struct rig_unit *lowered(struct rig *r)
{
	struct rig_unit *u = begin(r, "  - match: a.service\n", 100 * MIB);

	rig_run(r, 400, idle);
	CHECK(rig_bytes(r, u, "memory.max") < 200 * MIB);
	CHECK(rig_cpu_milli(r, u) < 1000);
	return u;
}

TEST_RIG(owners_memory_is_back)
{
	struct rig_unit *u = lowered(r);
	uint64_t milli = rig_cpu_milli(r, u);

	rig_terminate(r, idle);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 400 * MIB);
	/* Throttling ends no process: it stays, as systemd has it, too. */
	CHECK_EQ(rig_cpu_milli(r, u), milli);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, milli * USEC_PER_MSEC);
	for (int i = 0; i < 50; i++)
		rig_grow(r, u, 5 * MIB);
	CHECK_EQ(u->blocked_bytes, 0);
	memset(r->events, 0, sizeof r->events);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 20, idle);
	CHECK_EQ(r->events[EVENT_DRIFT_REASSERTED] + r->events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(pods_of(r, "a.service")->control.resource[RESOURCE_MEMORY].original, 400 * MIB);
	CHECK_EQ(pods_of(r, "a.service")->control.resource[RESOURCE_CPU].original, 1500);
	CHECK_EQ(r->kills, 0);
}

/* Above its owner's limit: the file has the headroom that PID 1 was given. */
TEST_RIG(growth_goes_on)
{
	struct rig_unit *u = begin(r, "  - match: a.service\n", 300 * MIB);

	rig_run(r, 40, grow);
	CHECK(u->anon_bytes > 450 * MIB);
	rig_terminate(r, grow);
	for (int i = 0; i < 20; i++)
		rig_grow(r, u, 5 * MIB);
	CHECK_EQ(u->blocked_bytes, 0);
	CHECK(u->props.mem_max >= rig_bytes(r, u, "memory.max"));
	CHECK_EQ(r->kills, 0);
}

/* Not above what its rule allows, and not while it is paused. */
TEST_RIG(bounds)
{
	struct rig_unit *u = lowered(r);

	rig_reload(r, rig_config("  - {match: a.service, max-memory: 160Mi}\n"));
	rig_terminate(r, idle);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 160 * MIB);
}

TEST_RIG(paused)
{
	struct rig_unit *u = lowered(r);
	uint64_t limit = rig_bytes(r, u, "memory.max");

	CHECK_EQ(lifecycle_pause(&r->daemon->units, "a.service"), 1);
	rig_terminate(r, idle);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), limit);
}

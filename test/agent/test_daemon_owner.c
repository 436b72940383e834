// SPDX-License-Identifier: Apache-2.0
/* What the owner of a unit sets while vscaled does not size it: at that time, or that resource. */
#include "test/agent/daemon_rig.h"
#include "test/check.h"

/* As `systemctl set-property` does. */
static void owner_sets(struct rig *r, struct rig_unit *u, uint64_t milli, uint64_t mem_max)
{
	u->props.cpu_quota_per_sec_usec = milli * USEC_PER_MSEC;
	u->props.mem_max = mem_max;
	if (u->running)
		rig_realise(r, u);
}

static void check_limits(struct rig *r, const struct rig_unit *u, uint64_t milli, uint64_t mem_max)
{
	CHECK_EQ(rig_cpu_milli(r, u), milli);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), mem_max);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, milli * USEC_PER_MSEC);
	CHECK_EQ(u->props.mem_max, mem_max);
}

static struct rig_unit *started(struct rig *r, const char *units)
{
	struct rig_unit *u = rig_begin(r, rig_config(units), 200, 64 * MIB, 20 * MIB);

	rig_run(r, 10, rig_idle);
	return u;
}

/* The configuration names another unit. */
static void opt_out(struct rig *r)
{
	rig_reload(r, rig_config("  - match: z.service\n"));
	rig_run(r, 10, rig_idle);
}

/* A resource that is not sized: also with a restart of vscaled after it. */
TEST_RIG_BOTH(not_sized, restart)
{
	struct rig_unit *u = started(r, "  - {match: a.service, resources: cpu}\n");

	rig_run(r, 10, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	owner_sets(r, u, u->props.cpu_quota_per_sec_usec / USEC_PER_MSEC, GIB);
	rig_run(r, 10, rig_busy);
	if (restart)
		rig_restart(r);
	rig_run(r, 10, rig_busy);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), GIB);
	CHECK(rig_cpu_milli(r, u) >= 800);
	opt_out(r);
	check_limits(r, u, 200, GIB);
}

/* MemoryHigh is no limit that vscaled lowered where memory is not sized. */
TEST_RIG_BOTH(high_not_sized, unlimited)
{
	struct rig_unit *u =
		rig_begin(r,
			  rig_config(unlimited ? "  - match: a.service\n"
					       : "  - {match: a.service, resources: cpu}\n"),
			  200, unlimited ? LIMIT_MAX : 64 * MIB, 20 * MIB);

	rig_run(r, 10, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	u->props.mem_high = 50 * MIB;
	rig_realise(r, u);
	rig_run(r, 10, rig_busy);
	rig_stop(r);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_busy);
	opt_out(r);
	CHECK_EQ(rig_cpu_milli(r, u), 200);
	CHECK_EQ(rig_bytes(r, u, "memory.high"), 50 * MIB);
	CHECK_EQ(u->props.mem_high, 50 * MIB);
}

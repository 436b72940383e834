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

/* Mode Off since a start of the agent that found the originals. */
TEST_RIG(off)
{
	struct rig_unit *u =
		rig_begin(r, rig_config("  - match: a.service\n"), 200, 512 * MIB, 20 * MIB);

	rig_run(r, 2, rig_idle);
	rig_stop(r);
	rig_write_config(r, rig_config("  - {match: a.service, mode: Off}\n"));
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, rig_idle);
	owner_sets(r, u, 500, GIB);
	rig_run(r, 10, rig_idle);
	rig_restart(r);
	rig_run(r, 10, rig_idle);
	check_limits(r, u, 500, GIB);
}

/* During a pause. */
TEST_RIG_BOTH(paused, raised)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");

	if (raised)
		rig_run(r, 10, rig_busy);
	CHECK_EQ(r->loop->serve.api.ops->pause(&r->loop->serve, NULL), 1);
	owner_sets(r, u, 500, GIB);
	rig_run(r, 10, rig_idle);
	CHECK_EQ(r->loop->serve.api.ops->resume(&r->loop->serve, NULL), 1);
	rig_run(r, 10, rig_idle);
	opt_out(r);
	check_limits(r, u, 500, GIB);
}

static void take_result(void *arg, const struct restore_result *result)
{
	*(enum restore_outcome *)arg = result->outcome;
}

/* An operator restores, its memory stays as it is in use, and mode Off comes after that. */
TEST_RIG(left_then_off)
{
	struct rig_unit *u = started(r, "  - match: a.service\n");
	enum restore_outcome outcome = RESTORE_PENDING;

	while (u->anon_bytes < 100 * MIB) {
		rig_grow(r, u, 2 * MIB);
		rig_run(r, 1, rig_idle);
	}
	for (int i = 0; i < 10 && outcome == RESTORE_PENDING; i++) {
		rig_run(r, 1, rig_idle);
		CHECK_EQ(r->loop->serve.api.ops->restore(&r->loop->serve, "a.service", false,
							 take_result, &outcome),
			 0);
	}
	CHECK_EQ(outcome, RESTORE_LEFT);
	rig_reload(r, rig_config("  - {match: a.service, mode: Off}\n"));
	rig_run(r, 10, rig_idle);
	u->anon_bytes = 20 * MIB;
	rig_run(r, 120, rig_idle);
	check_limits(r, u, 200, 64 * MIB);
	CHECK_EQ(r->daemon->records.baselines.count, 0);
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

// SPDX-License-Identifier: Apache-2.0
/* What an operator does to a running daemon: modes, configuration, pause, restore, restarts. */
#include "test/agent/daemon_rig.h"
#include "test/check.h"
#include <errno.h>

static void step_busy(struct rig *r)
{
	rig_burn(r, &r->unit[0], 800);
}

static void step_idle(struct rig *r)
{
	rig_burn(r, &r->unit[0], 50);
}

static struct managed *first(const struct rig *r)
{
	return r->daemon->units.items[0];
}

/* A unit with originals of 200m and 64 MiB, raised to its demand. */
static struct rig_unit *raised(struct rig *r, const char *config)
{
	struct rig_unit *u;

	rig_open(r, config);
	u = rig_add(r, "a.service", 200, 64 * MIB);
	u->anon_bytes = 20 * MIB;
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 10, step_busy);
	CHECK(rig_cpu_milli(r, u) >= 800);
	return u;
}

/* A unit with originals of 1500m and 400 MiB, lowered to its small demand. */
static struct rig_unit *lowered(struct rig *r, const char *units)
{
	struct rig_unit *u;

	rig_open(r, rig_config(units));
	u = rig_add(r, "a.service", 1500, 400 * MIB);
	u->anon_bytes = 50 * MIB;
	CHECK_EQ(rig_start(r), 0);
	rig_run(r, 200, step_idle);
	CHECK(rig_cpu_milli(r, u) < 300);
	CHECK(rig_bytes(r, u, "memory.max") < 200 * MIB);
	CHECK(u->props.mem_max >= 400 * MIB); /* PID 1's is never below the original */
	return u;
}

static bool holds(struct rig *r, const struct rig_unit *u, uint64_t milli, uint64_t mem_max)
{
	return rig_cpu_milli(r, u) == milli && rig_bytes(r, u, "memory.max") == mem_max &&
	       rig_bytes(r, u, "memory.high") == LIMIT_MAX &&
	       u->props.cpu_quota_per_sec_usec == milli * USEC_PER_MSEC &&
	       u->props.mem_max == mem_max && u->props.mem_high == UINT64_MAX;
}

/* A limit is not restored while use exceeds the original. */
static void test_off_waits_for_use(void)
{
	struct rig r;
	struct rig_unit *u = raised(&r, rig_config("  - match: a.service\n"));

	while (u->anon_bytes < 100 * MIB) {
		rig_grow(&r, u, 2 * MIB);
		rig_run(&r, 1, step_busy);
	}
	rig_reload(&r, rig_config("  - {match: a.service, mode: Off}\n"));
	rig_run(&r, 30, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), 200);
	CHECK(rig_bytes(&r, u, "memory.max") > 100 * MIB);
	CHECK(u->props.mem_max > 100 * MIB);
	CHECK_EQ(r.daemon->records.baselines.count, 1);
	u->anon_bytes = 20 * MIB;
	rig_run(&r, 120, step_busy);
	CHECK(holds(&r, u, 200, 64 * MIB));
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	CHECK_EQ(r.kills, 0);
	rig_close(&r);
}

/* The same with a restart of the daemon between. */
static void test_started_in_off(void)
{
	struct rig r;
	struct rig_unit *u = lowered(&r, "  - match: a.service\n");

	rig_stop(&r);
	rig_write_config(&r, rig_config("  - {match: a.service, mode: Off}\n"));
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 15, step_idle);
	CHECK(holds(&r, u, 1500, 400 * MIB));
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_put(&r, u, "cpu.max", "50000 100000\n");
	rig_run(&r, 30, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), 500);
	rig_close(&r);
}

/* Initial sizes at a start of the unit, never a running one. */
static void test_auto_to_initial(void)
{
	struct rig r;
	struct rig_unit *u = raised(&r, rig_config("  - match: a.service\n"));
	uint64_t cpu = rig_cpu_milli(&r, u), drifts;

	CHECK(rig_bytes(&r, u, "memory.max") < 64 * MIB);
	drifts = first(&r)->control.resource[RESOURCE_MEMORY].counters.drifts;
	memset(r.events, 0, sizeof r.events);
	rig_reload(&r, rig_config("  - {match: a.service, mode: Initial}\n"));
	rig_run(&r, 120, step_idle);
	CHECK_EQ(rig_cpu_milli(&r, u), cpu);
	/* Mode Initial does not raise memory any more: the original is restored, and reported. */
	CHECK_EQ(rig_bytes(&r, u, "memory.max"), 64 * MIB);
	CHECK_EQ(r.events[EVENT_LIMIT_RAISED], 1);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_MEMORY].last.reason, REASON_RESTORE);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_MEMORY].counters.drifts, drifts);
	rig_close(&r);
}

static void test_restart_in_initial(void)
{
	struct rig r;
	struct rig_unit *u = lowered(&r, "  - match: a.service\n");
	uint64_t cpu = rig_cpu_milli(&r, u), memory = rig_bytes(&r, u, "memory.max");

	rig_write_config(&r, rig_config("  - {match: a.service, mode: Initial}\n"));
	for (int i = 0; i < 2; i++) {
		rig_stop(&r);
		CHECK_EQ(rig_start(&r), 0);
		rig_run(&r, 60, step_busy);
		CHECK_EQ(rig_cpu_milli(&r, u), cpu);
		CHECK_EQ(rig_bytes(&r, u, "memory.max"), memory);
	}
	/* In mode Initial a restart of the unit sizes it. */
	rig_unit_stop(&r, u);
	rig_run(&r, 3, NULL);
	rig_unit_start(&r, u);
	rig_run(&r, 10, step_busy);
	CHECK(rig_cpu_milli(&r, u) > cpu);
	rig_close(&r);
}

static void test_resources_narrowed(void)
{
	struct rig r;
	struct rig_unit *u = lowered(&r, "  - match: a.service\n");

	rig_reload(&r, rig_config("  - {match: a.service, resources: cpu}\n"));
	rig_run(&r, 3, step_idle);
	CHECK_EQ(rig_bytes(&r, u, "memory.max"), 400 * MIB);
	CHECK_EQ(u->props.mem_max, 400 * MIB);
	rig_run(&r, 100, step_idle);
	CHECK_EQ(rig_bytes(&r, u, "memory.max"), 400 * MIB);
	CHECK_EQ(rig_bytes(&r, u, "memory.high"), LIMIT_MAX);
	CHECK_EQ(u->props.mem_max, 400 * MIB);
	CHECK(u->props.mem_high == UINT64_MAX);
	/* The other one is ours as before. */
	CHECK(rig_cpu_milli(&r, u) < 300);
	rig_reload(&r, rig_config("  - {match: a.service, resources: memory}\n"));
	rig_run(&r, 100, step_idle);
	CHECK_EQ(rig_cpu_milli(&r, u), 1500);
	CHECK(rig_bytes(&r, u, "memory.max") < 200 * MIB);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.mem_max, 400 * MIB);
	CHECK_EQ(r.kills, 0);
	rig_close(&r);
}

/* In the middle of a trial that holds memory.high low. */
static void test_narrowed_in_a_trial(void)
{
	struct rig r;
	struct rig_unit *u;

	rig_open(&r, rig_config("  - match: a.service\n"));
	u = rig_add(&r, "a.service", 1500, 400 * MIB);
	u->anon_bytes = 50 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	for (int i = 0; i < 100 && rig_bytes(&r, u, "memory.high") == LIMIT_MAX; i++)
		rig_run(&r, 1, step_idle);
	CHECK(rig_bytes(&r, u, "memory.high") != LIMIT_MAX);
	rig_reload(&r, rig_config("  - {match: a.service, resources: cpu}\n"));
	rig_run(&r, 10, step_idle);
	CHECK_EQ(rig_bytes(&r, u, "memory.high"), LIMIT_MAX);
	CHECK_EQ(rig_bytes(&r, u, "memory.max"), 400 * MIB);
	CHECK(u->props.mem_high == UINT64_MAX);
	rig_close(&r);
}

static void test_leaves_and_comes_back(void)
{
	struct rig r;
	struct rig_unit *u = raised(&r, rig_config("  - match: a.service\n"));

	rig_reload(&r, rig_config("  - match: z.service\n"));
	rig_run(&r, 2, step_busy);
	CHECK(holds(&r, u, 200, 64 * MIB));
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	CHECK_EQ(r.events[EVENT_UNIT_UNMANAGED], 1);
	rig_run(&r, 20, step_busy);
	CHECK(holds(&r, u, 200, 64 * MIB));
	/* The owner sets another limit meanwhile. */
	u->props.cpu_quota_per_sec_usec = 300 * USEC_PER_MSEC;
	rig_realise(&r, u);
	rig_run(&r, 5, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), 300);
	rig_reload(&r, rig_config("  - match: a.service\n"));
	rig_run(&r, 30, step_busy);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK_EQ(managed_state(first(&r)), UNIT_MANAGED);
	CHECK_EQ(r.daemon->records.baselines.count, 1);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 30000);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.mem_max, 64 * MIB);
	rig_close(&r);
}

/* The configuration drops it while the daemon is stopped, or by a reload while it has not run since
 * the daemon started. */
static void test_dropped_while_down(bool reload)
{
	struct rig r;
	struct rig_unit *u = raised(&r, rig_config("  - match: a.service\n"));

	if (reload)
		rig_unit_stop(&r, u);
	rig_stop(&r);
	if (!reload)
		rig_write_config(&r, rig_config("  - match: z.service\n"));
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 15, reload ? NULL : step_busy);
	if (reload) {
		CHECK_EQ(r.daemon->records.baselines.count, 1);
		rig_reload(&r, rig_config("  - match: z.service\n"));
		rig_run(&r, 2, NULL);
		rig_unit_start(&r, u);
	}
	CHECK(holds(&r, u, 200, 64 * MIB));
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_close(&r);
}

static void test_pause(void)
{
	struct rig r;
	struct rig_unit *u, *late;
	unsigned sets;

	rig_open(&r, "units:\n  - match: \"*.service\"\n");
	u = rig_add(&r, "a.service", 200, 512 * MIB);
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 5, step_idle);
	CHECK_EQ(r.loop->serve.api.ops->pause(&r.loop->serve, NULL), 1);
	sets = r.set_calls;
	rig_run(&r, 20, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), 200);
	/* It restarts, and another one comes. */
	rig_unit_stop(&r, u);
	rig_run(&r, 3, NULL);
	rig_unit_start(&r, u);
	late = rig_add(&r, "b.service", 200, 512 * MIB);
	for (int i = 0; i < 30; i++) {
		rig_burn(&r, late, 800);
		rig_run(&r, 1, step_busy);
	}
	CHECK(holds(&r, u, 200, 512 * MIB));
	CHECK(holds(&r, late, 200, 512 * MIB));
	CHECK_EQ(r.set_calls, sets);
	CHECK_EQ(r.loop->serve.api.ops->resume(&r.loop->serve, NULL), 2);
	for (int i = 0; i < 15; i++) {
		rig_burn(&r, late, 800);
		rig_run(&r, 1, step_busy);
	}
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK(rig_cpu_milli(&r, late) >= 800);
	CHECK_EQ(r.daemon->records.baselines.count, 2);
	CHECK_EQ(r.daemon->records.baselines.items[1].limits.cpu_quota_usec, 20000);
	rig_close(&r);
}

/* External writes during a pause are no drift. */
static void test_resume_takes_over(void)
{
	struct rig r;
	struct rig_unit *u = raised(&r, "units:\n  - match: a.service\n");

	CHECK_EQ(r.loop->serve.api.ops->pause(&r.loop->serve, "a.service"), 1);
	rig_put(&r, u, "cpu.max", "35000 100000\n");
	rig_run(&r, 15, step_idle);
	CHECK_EQ(rig_cpu_milli(&r, u), 350);
	CHECK_EQ(r.loop->serve.api.ops->resume(&r.loop->serve, "a.service"), 1);
	rig_run(&r, 5, step_idle);
	CHECK_EQ(rig_cpu_milli(&r, u), 350);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED], 0);
	CHECK_EQ(r.events[EVENT_DRIFT_ADOPTED], 0);
	/* A reload of PID 1 does not take it back either. */
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, 350 * USEC_PER_MSEC);
	rig_run(&r, 15, step_busy);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(r.loop->serve.api.ops->pause(&r.loop->serve, "none.service"), -ENOENT);
	rig_close(&r);
}

static void take_result(void *arg, const struct restore_result *result)
{
	*(enum restore_outcome *)arg = result->outcome;
}

/* As vscalectl does: again and again while a call of the daemon's is on its way. */
static enum restore_outcome restore(struct rig *r)
{
	enum restore_outcome outcome = RESTORE_PENDING;

	for (int i = 0; i < 10 && outcome == RESTORE_PENDING; i++) {
		if (i > 0)
			rig_run(r, 1, r->step);
		CHECK_EQ(r->loop->serve.api.ops->restore(&r->loop->serve, "a.service", false,
							 take_result, &outcome),
			 0);
	}
	return outcome;
}

static void test_restore_and_resume(void)
{
	struct rig r;
	struct rig_unit *u = raised(&r, rig_config("  - match: a.service\n"));

	CHECK_EQ(restore(&r), RESTORE_RESTORED);
	CHECK(holds(&r, u, 200, 64 * MIB));
	rig_run(&r, 30, step_busy);
	CHECK(holds(&r, u, 200, 64 * MIB));
	CHECK_EQ(managed_state(first(&r)), UNIT_RESTORED);
	/* Its owner restarts it with more. */
	rig_unit_stop(&r, u);
	u->props.cpu_quota_per_sec_usec = 500 * USEC_PER_MSEC;
	u->props.mem_max = GIB;
	rig_run(&r, 3, NULL);
	rig_unit_start(&r, u);
	rig_run(&r, 20, step_busy);
	CHECK(holds(&r, u, 500, GIB));
	CHECK_EQ(managed_state(first(&r)), UNIT_RESTORED);
	CHECK_EQ(r.loop->serve.api.ops->resume(&r.loop->serve, "a.service"), 1);
	rig_run(&r, 10, step_busy);
	CHECK(rig_cpu_milli(&r, u) >= 800);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_CPU].original, 500);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_MEMORY].original, GIB);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 50000);
	rig_close(&r);
}

/* PID 1 lags: neither the call that it has nor the one that waits behind it undoes a restore. */
static void test_restore_outlives_our_calls(void)
{
	for (int overtakes = 0; overtakes < 2; overtakes++) {
		struct rig r;
		struct rig_unit *u;

		rig_open(&r, rig_config("  - match: a.service\n"));
		u = rig_add(&r, "a.service", 200, 64 * MIB);
		CHECK_EQ(rig_start(&r), 0);
		rig_run(&r, 3, step_idle);
		r.lag_seconds = 3;
		r.overtakes = overtakes;
		rig_run(&r, 2, step_busy);
		CHECK_EQ(r.call_count, 1);
		CHECK(rig_cpu_milli(&r, u) > 200);
		CHECK_EQ(restore(&r), RESTORE_RESTORED);
		rig_run(&r, 20, step_busy);
		CHECK(holds(&r, u, 200, 64 * MIB));
		CHECK_EQ(managed_state(first(&r)), UNIT_RESTORED);
		rig_close(&r);
	}
}

static void step_fast_growth(struct rig *r)
{
	rig_grow(r, &r->unit[0], 15 * MIB);
}

/* Use fits in the original at the request, and grows during the wait for PID 1. */
static void test_restore_while_growing(void)
{
	struct rig r;
	struct rig_unit *u;

	rig_open(&r, "units:\n  - match: a.service\n");
	u = rig_add(&r, "a.service", 200, 64 * MIB);
	u->anon_bytes = 40 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_run(&r, 5, step_idle);
	while (rig_bytes(&r, u, "memory.max") < 100 * MIB) {
		rig_grow(&r, u, 2 * MIB);
		rig_run(&r, 1, step_idle);
	}
	rig_run(&r, 5, step_idle);
	u->anon_bytes = 40 * MIB;
	rig_run(&r, 1, step_idle);
	CHECK(rig_bytes(&r, u, "memory.max") >= 100 * MIB);
	r.lag_seconds = 3;
	r.step = step_fast_growth;
	CHECK_EQ(restore(&r), RESTORE_RESTORED);
	CHECK(holds(&r, u, 200, 64 * MIB));
	/* It grew up to the owner's limit, and not beyond. */
	CHECK_EQ(u->anon_bytes, 64 * MIB);
	CHECK(u->blocked_bytes > 0);
	CHECK_EQ(r.kills, 0);
	rig_close(&r);
}

static void test_restart_keeps_size(void)
{
	struct rig r;
	struct rig_unit *u = raised(&r, rig_config("  - match: a.service\n"));
	uint64_t cpu = rig_cpu_milli(&r, u);

	rig_unit_stop(&r, u);
	rig_run(&r, 3, NULL);
	CHECK_EQ(managed_state(first(&r)), UNIT_WAITING);
	rig_unit_start(&r, u);
	rig_run(&r, 3, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), cpu);
	/* Also when systemd has lost the stored property. */
	rig_unit_stop(&r, u);
	u->props.cpu_quota_per_sec_usec = 200 * USEC_PER_MSEC;
	rig_run(&r, 3, NULL);
	rig_unit_start(&r, u);
	rig_run(&r, 3, step_busy);
	CHECK_EQ(rig_cpu_milli(&r, u), cpu);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, cpu * USEC_PER_MSEC);
	CHECK_EQ(first(&r)->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(r.daemon->records.baselines.items[0].limits.cpu_quota_usec, 20000);
	rig_close(&r);
}

int main(void)
{
	test_off_waits_for_use();
	test_started_in_off();
	test_auto_to_initial();
	test_restart_in_initial();
	test_resources_narrowed();
	test_narrowed_in_a_trial();
	test_leaves_and_comes_back();
	test_dropped_while_down(false);
	test_dropped_while_down(true);
	test_pause();
	test_resume_takes_over();
	test_restore_and_resume();
	test_restore_outlives_our_calls();
	test_restore_while_growing();
	test_restart_keeps_size();
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* Between two samples: passes on the clock of 100 ms, and memory.events. */
#include "test/agent/daemon_rig.h"
#include "test/check.h"

static void start(struct rig *r, uint64_t milli, uint64_t bytes, uint64_t anon)
{
	rig_open(r, "units:\n  - match: a.service\n");
	rig_add(r, "a.service", milli, bytes)->anon_bytes = anon;
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 30, NULL);
	CHECK_EQ(managed_state(rig_first(r)), UNIT_MANAGED);
}

/* The first raise within 250 ms, 80 % of the demand within 2 s, and systemd stores it. */
TEST_RIG(cpu)
{
	struct rig_unit *u = &r->unit[0];

	start(r, 100, 64 * MIB, MIB);
	rig_reflex(r, 2, rig_busy);
	CHECK(rig_cpu_milli(r, u) > 100);
	rig_reflex(r, 18, rig_busy);
	CHECK(rig_cpu_milli(r, u) >= 640);
	CHECK(rig_cpu_milli(r, u) <= 1600);
	CHECK(r->daemon->tally.raise[SINCE_WAKE].count >= 3);
	CHECK_EQ(r->daemon->tally.raise[SINCE_DUE].count, r->daemon->tally.raise[SINCE_WAKE].count);
	CHECK(r->daemon->tally.raise[SINCE_WAKE].sum_usec > 0);
	rig_reflex(r, 30, rig_busy);
	CHECK_EQ(u->props.cpu_quota_per_sec_usec, rig_cpu_milli(r, u) * USEC_PER_MSEC);
}

static void step_run_a_little(struct rig *r)
{
	rig_burn(r, &r->unit[0], 20);
}

/* The memory of an idle unit is not read; that of a running one is. */
TEST_RIG(cold)
{
	const struct control *c;

	start(r, 100, 64 * MIB, 10 * MIB);
	c = &rig_first(r)->control;
	rig_reflex(r, 1, NULL); /* past the sample */
	CHECK_EQ(c->last.mem_current, 10 * MIB);
	r->unit[0].anon_bytes = 20 * MIB;
	rig_reflex(r, 3, NULL);
	CHECK_EQ(c->last.mem_current, 10 * MIB);
	rig_reflex(r, 1, step_run_a_little);
	CHECK_EQ(c->last.mem_current, 20 * MIB);
	CHECK_EQ(c->last.stat.anon, 20 * MIB);
}

/* Use jumps to the limit between two passes: an event of memory.events triggers the raise, which is
 * written when the handler returns. */
TEST_RIG(wake)
{
	struct rig_unit *u = &r->unit[0];

	start(r, 100, 64 * MIB, 10 * MIB);
	rig_grow(r, u, 60 * MIB);
	CHECK_EQ(u->max_events, 1);
	CHECK_EQ(rig_bytes(r, u, "memory.max"), 64 * MIB);
	rig_wake(r, u);
	CHECK(rig_bytes(r, u, "memory.max") >= 72 * MIB);
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED], 1);
	rig_reflex(r, 20, NULL);
	CHECK_EQ(r->kills, 0);
	CHECK_EQ(u->anon_bytes, 70 * MIB);
	/* One event, one raise. */
	CHECK_EQ(r->events[EVENT_LIMIT_RAISED], 1);
}

static void stuck(struct rig *r, uint64_t passes)
{
	r->unit[0].oom_events += passes;
	rig_wake(r, &r->unit[0]);
}

static void thawed(struct rig *r, const char *want)
{
	char buf[8];

	CHECK_STR(fake_get(&r->tree, "init.scope/cgroup.freeze", buf, sizeof buf), want);
	fake_put(&r->tree, "init.scope/cgroup.freeze", "-");
}

/* A writer of memory.max is blocked in the kernel: PID 1 is unblocked, ever less often where that
 * does not help. OOM events of a unit at its limit are no sign of one. */
TEST(stuck)
{
	struct rig r;
	struct rig_unit *u = &r.unit[0];

	start(&r, 100, 64 * MIB, 10 * MIB);
	fake_put(&r.tree, "init.scope/cgroup.freeze", "-");
	stuck(&r, 100000); /* the first reading: no earlier count to compare with */
	thawed(&r, "-");
	stuck(&r, 900);
	thawed(&r, "-");
	u->oom_kills++; /* the write has completed */
	stuck(&r, 50000);
	thawed(&r, "-");
	stuck(&r, 2000);
	thawed(&r, "0");
	CHECK_EQ(r.events[EVENT_WRITER_STUCK], 1);
	rig_reflex(&r, 5, NULL);
	stuck(&r, 300000);
	thawed(&r, "-");
	rig_reflex(&r, 10, NULL);
	stuck(&r, 300000);
	thawed(&r, "0");
	rig_reflex(&r, 15, NULL);
	stuck(&r, 300000);
	thawed(&r, "-");
	CHECK_EQ(r.events[EVENT_WRITER_STUCK], 2);
	rig_close(&r);

	start(&r, 100, 64 * MIB, 10 * MIB);
	fake_put(&r.tree, "init.scope/cgroup.freeze", "-");
	stuck(&r, 1);
	u->anon_bytes = 64 * MIB;
	stuck(&r, 300000);
	thawed(&r, "-");
	CHECK_EQ(r.events[EVENT_WRITER_STUCK], 0);
	rig_close(&r);
}

static void step_grow(struct rig *r)
{
	rig_burn(r, &r->unit[0], 50);
	if (r->unit[0].anon_bytes < 400 * MIB)
		rig_grow(r, &r->unit[0], 5 * MIB);
}

/* 50 MiB/s from a standstill: never at the limit, the brake goes along below it. */
TEST_RIG(growth)
{
	struct rig_unit *u = &r->unit[0];

	rig_open(r, "units:\n  - {match: a.service, max-memory: 1Gi}\n");
	rig_add(r, "a.service", 100, 64 * MIB)->anon_bytes = 10 * MIB;
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 33, NULL);
	for (int i = 0; i < 90; i++) {
		uint64_t high;

		rig_reflex(r, 1, step_grow);
		high = rig_bytes(r, u, "memory.high");
		CHECK(high == LIMIT_MAX || high < rig_bytes(r, u, "memory.max"));
	}
	CHECK_EQ(r->kills, 0);
	CHECK_EQ(u->max_events, 0);
	CHECK_EQ(u->anon_bytes, 400 * MIB);
	CHECK(rig_bytes(r, u, "memory.max") > 400 * MIB);
	CHECK(rig_first(r)->control.resource[RESOURCE_MEMORY].limit < 800 * MIB);
	CHECK(u->props.mem_max >= 400 * MIB);
	/* The owner had no memory.high: systemd is sent none. */
	CHECK(u->props.mem_high == UINT64_MAX);
	rig_reflex(r, 150, NULL);
	CHECK(rig_bytes(r, u, "memory.high") == LIMIT_MAX ||
	      u->anon_bytes * 10 > rig_bytes(r, u, "memory.max") * 8);
}

static void braked(struct rig *r)
{
	rig_open(r, "units:\n  - match: a.service\n");
	rig_add(r, "a.service", 100, 100 * MIB)->anon_bytes = 85 * MIB;
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 30, NULL);
	CHECK_EQ(rig_bytes(r, &r->unit[0], "memory.high"), 92 * MIB);
	/* A brake alone is no size of ours: nothing is said of it to systemd. */
	CHECK(r->unit[0].props.mem_high == UINT64_MAX);
}

/* Whatever ends the management of a unit lifts the brake first. */
TEST(lifted)
{
	struct rig r;

	braked(&r);
	CHECK_EQ(lifecycle_pause(&r.daemon->units, "a.service"), 1);
	rig_reflex(&r, 10, NULL);
	CHECK(rig_bytes(&r, &r.unit[0], "memory.high") == LIMIT_MAX);
	CHECK_EQ(lifecycle_resume(&r.daemon->units, "a.service"), 1);
	rig_reflex(&r, 20, NULL);
	CHECK_EQ(rig_bytes(&r, &r.unit[0], "memory.high"), 92 * MIB);
	rig_reload(&r, "units:\n  - match: b.service\n");
	CHECK(rig_bytes(&r, &r.unit[0], "memory.high") == LIMIT_MAX);
	rig_close(&r);
	/* The next daemon, after a crash. */
	braked(&r);
	rig_stop(&r);
	CHECK_EQ(rig_bytes(&r, &r.unit[0], "memory.high"), 92 * MIB);
	r.unit[0].anon_bytes = 20 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	CHECK(rig_bytes(&r, &r.unit[0], "memory.high") == LIMIT_MAX);
	rig_reflex(&r, 20, NULL);
	CHECK(rig_first(&r)->control.original.mem_high == LIMIT_MAX);
	rig_close(&r);
}

/* systemd writes every attribute of a unit with each call: the brake is set again, and no external
 * writer is reported. */
TEST_RIG(echo)
{
	struct rig_unit *u = &r->unit[0];

	braked(r);
	for (int i = 0; i < 10; i++) {
		rig_realise(r, u);
		rig_reflex(r, 5, NULL);
		CHECK_EQ(rig_bytes(r, u, "memory.high"), 92 * MIB);
	}
	CHECK_EQ(managed_state(rig_first(r)), UNIT_MANAGED);
	CHECK_EQ(r->events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK(rig_first(r)->control.original.mem_high == LIMIT_MAX);
}

static void step_busy(struct rig *r)
{
	rig_burn(r, &r->unit[0], 80);
}

/* An external writer repeats its value until the unit is suspended. Its memory.high below the
 * brake's line stays, and is not taken for the brake; with its memory.max, the brake is removed. */
TEST(repeated_writes)
{
	static const struct {
		const char *file, *text;
		uint64_t high;
	} rows[] = {{"memory.high", "94371840\n", 90 * MIB},
		    {"memory.max", "99614720\n", LIMIT_MAX}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig r;
		struct rig_unit *u = &r.unit[0];

		braked(&r);
		rig_put(&r, u, "cpu.max", "5000 100000\n");
		rig_reflex(&r, 150, step_busy);
		CHECK(rig_first(&r)->originals.touched);
		for (int n = 0; n < 4; n++) {
			rig_put(&r, u, rows[i].file, rows[i].text);
			rig_reflex(&r, 60, NULL);
		}
		CHECK_EQ(r.events[EVENT_DRIFT_GAVE_WAY], 1);
		rig_reflex(&r, 100, NULL);
		CHECK_EQ(rig_bytes(&r, u, "memory.high"), rows[i].high);
		CHECK_EQ(r.daemon->records.baselines.items[0].high_before, rows[i].high);
		rig_close(&r);
	}
}

/* The owner's own memory.high, before anything else of ours was written: adopted. */
TEST_RIG(owners_high)
{
	/* So large that systemd needs no headroom. */
	rig_open(r, "units:\n  - match: a.service\n");
	rig_add(r, "a.service", 100, 1000 * MIB)->anon_bytes = 850 * MIB;
	CHECK_EQ(rig_start(r), 0);
	rig_reflex(r, 30, NULL);
	CHECK_EQ(rig_bytes(r, &r->unit[0], "memory.high"), 950 * MIB);
	CHECK_EQ(r->set_calls, 0);
	rig_put(r, &r->unit[0], "memory.high", "943718400\n");
	rig_reflex(r, 200, NULL);
	CHECK_EQ(rig_bytes(r, &r->unit[0], "memory.high"), 900 * MIB);
	CHECK_EQ(rig_first(r)->control.original.mem_high, 900 * MIB);
}

// SPDX-License-Identifier: Apache-2.0
/* What an OOM kill says of the need: at the limit that was held, and under one that an external
 * writer had lowered. */
#include "policy/control/control_impl.h"
#include "test/check.h"
#include "test/policy/node.h"

/* 100 MiB in use and as much page cache, of which the last pass knows; held: 512 MiB. */
static void begin(struct rig *r, uint64_t use)
{
	rig_init(r, 1000, 512 * MIB, 2);
	r->tick_usec = 100 * USEC_PER_MSEC;
	r->sim.m.anon = r->sim.load.anon_goal = use;
	r->sim.m.file = 100 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK_EQ(mem(r)->limit, 512 * MIB);
}

static void lowered(struct rig *r, uint64_t to, usec_t ago, bool pod)
{
	const struct mem_lowered l = {r->sim.now - ago, 512 * MIB, to, pod};

	control_mem_lowered(&r->c, &l);
}

/* The use that is counted at the kill, when an external writer had lowered the limit. The limit is
 * put back before a pass reads the kill. */
static uint64_t use_of_kill(struct rig *r, uint64_t to, usec_t ago, bool pod)
{
	if (!pod)
		sim_write(&r->sim, KNOB_MEM_MAX, to);
	else
		r->sim.u.events.oom_kill++;
	sim_write(&r->sim, KNOB_MEM_MAX, 512 * MIB);
	r->sim.load.anon_goal = 0;
	lowered(r, to, ago, pod);
	rig_tick(r);
	CHECK_EQ(mem(r)->counters.oom_kills, 1);
	return r->c.kill.use;
}

TEST(use_at_the_kill)
{
	static const struct {
		uint64_t use, to;
		usec_t ago;
		bool pod;
		uint64_t want;
	} rows[] = {
		{100 * MIB, 64 * MIB, 0, false, 100 * MIB},
		{100 * MIB, 64 * MIB, 800 * USEC_PER_MSEC, false, 100 * MIB},
		/* The pod's limit: other containers use it, too. */
		{100 * MIB, 300 * MIB, 0, true, 100 * MIB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig r;

		begin(&r, rows[i].use);
		CHECK_EQ(use_of_kill(&r, rows[i].to, rows[i].ago, rows[i].pod), rows[i].want);
		CHECK_EQ(r.c.kill.limit, rows[i].to);
		CHECK_EQ(r.c.kill.held, 512 * MIB);
		/* Less than what is held: nothing to ask for, and history knows the use. */
		CHECK_EQ(r.c.mem.oom_record, 0);
		CHECK_EQ(r.c.history.window_oom, 200 * MIB);
		CHECK_EQ(mem(&r)->limit, 512 * MIB);
	}
}

/* It grew since the last pass: no less than what was written, no more than was ever charged. */
TEST(between_write_and_peak)
{
	struct usage before = {.have = USAGE_MEM_EVENTS}, now = before;
	struct plan none = {0};
	struct rig r;
	struct control_context x;

	for (uint64_t peak = 140 * MIB; peak <= 200 * MIB; peak += 60 * MIB) {
		begin(&r, 100 * MIB);
		lowered(&r, 150 * MIB, 0, false);
		before = now = r.c.last;
		now.events.oom_kill++;
		now.mem_peak = peak;
		now.mem_current = now.stat.anon = 0;
		before.mem_current += 20 * MIB;
		r.c.last = now;
		x = rig_context(&r, &none);
		control_oom_desired(&r.c, &before, USAGE_MEM_EVENTS, &x);
		CHECK_EQ(r.c.kill.use, MAX(peak == 140 * MIB ? 140 * MIB : 150 * MIB, 120 * MIB));
	}
}

/* A reading of memory alone comes between the kill and the reading of memory.events. */
TEST(freed_before_it_is_counted)
{
	struct plan none = {0};
	struct usage u;
	struct rig r;
	struct control_context x;

	begin(&r, 100 * MIB);
	lowered(&r, 64 * MIB, 0, false);
	x = rig_context(&r, &none);
	u = r.c.last;
	u.have = USAGE_MEM | USAGE_MEM_STAT;
	u.stat.anon = u.stat.active_anon = 4 * MIB;
	u.mem_current = u.stat.anon + u.stat.active_file + u.stat.inactive_file;
	control_reflex_pass(&r.c, &u, &x);
	u.have |= USAGE_MEM_EVENTS;
	u.events.oom_kill++;
	control_reflex_pass(&r.c, &u, &x);
	CHECK_EQ(r.c.kill.use, 100 * MIB);
	/* The next kill has its own. */
	u.events.oom_kill++;
	control_reflex_pass(&r.c, &u, &x);
	CHECK_EQ(r.c.kill.use, 64 * MIB);
}

/* A second later the limit that stands is the one that killed, and it was full. */
TEST(too_long_ago)
{
	struct rig r;

	begin(&r, 100 * MIB);
	lowered(&r, 64 * MIB, USEC_PER_SEC, false);
	r.sim.u.events.max++;
	r.sim.u.events.oom_kill++;
	rig_tick(&r);
	CHECK_EQ(r.c.kill.use, 512 * MIB);
	CHECK_EQ(r.c.kill.limit, r.c.kill.held);
	CHECK_EQ(r.c.history.window_oom, 614 * MIB + 419430);
}

/* What systemd wrote a moment ago stands in the file, and was full. */
TEST(at_an_unclassified_limit)
{
	struct rig r;

	begin(&r, 100 * MIB);
	r.c.unclassified_bytes = 700 * MIB;
	r.sim.u.events.max++;
	r.sim.u.events.oom_kill++;
	rig_tick(&r);
	CHECK_EQ(r.c.kill.use, 700 * MIB);
}

/* The successor has what the kill asks for, once; not less than the original, nor than history. */
TEST(successor)
{
	static const struct {
		uint64_t original, candidate, want;
	} rows[] = {
		{64 * MIB, 0, 200 * MIB},
		{64 * MIB, 250 * MIB, 250 * MIB},
		{300 * MIB, 0, 300 * MIB},
		{64 * MIB, 700 * MIB, 512 * MIB},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct limits fresh = {LIMIT_MAX, 100000, 0, 64 * MIB, LIMIT_MAX};
		struct plan none = {0};
		struct control_context x;
		struct rig r;

		begin(&r, 100 * MIB);
		CHECK_EQ(use_of_kill(&r, 64 * MIB, 0, false), 100 * MIB);
		mem(&r)->original = rows[i].original;
		mem(&r)->candidate = rows[i].candidate;
		/* Of the cgroup that went. */
		r.c.unclassified_bytes = GIB;
		control_lost(&r.c, r.sim.now);
		control_restarted(&r.c, &fresh, r.sim.now);
		CHECK_EQ(r.c.unclassified_bytes, 0);
		x = rig_context(&r, &none);
		control_resume(&r.c, &fresh, &x);
		CHECK_EQ(mem(&r)->limit, rows[i].want);
		/* The next end is no kill. */
		mem(&r)->limit = 512 * MIB;
		control_lost(&r.c, r.sim.now);
		control_restarted(&r.c, &fresh, r.sim.now);
		control_resume(&r.c, &fresh, &x);
		CHECK_EQ(mem(&r)->limit, 512 * MIB);
	}
}

static void grow_often(struct rig *r, uint64_t own_max)
{
	r->c.rule.mem_bytes.max = own_max;
	sim_grow(&r->sim, 20 * MIB, GIB);
	r->wakes = true;
}

static uint32_t counted(struct rig *r, uint64_t kills)
{
	CHECK(kills >= CONTROL_CEILING_KILLS);
	CHECK_EQ(control_ceiling_kills(&r->c, r->sim.now + USEC_PER_HOUR), 0);
	return control_ceiling_kills(&r->c, r->sim.now);
}

/* Counts for mode InPlaceOrRecreate: another node could give more. The ceiling, configured or 4 x
 * the original, is the same there. */
TEST(ceiling_kills)
{
	static struct node n;
	struct rig r;

	rig_init(&r, 1000, 64 * MIB, 2);
	grow_often(&r, 0);
	rig_run(&r, USEC_PER_MIN);
	CHECK_EQ(counted(&r, r.sim.u.events.oom_kill), 0);
	rig_init(&r, 1000, 64 * MIB, 2);
	grow_often(&r, 100 * MIB);
	rig_run(&r, USEC_PER_MIN);
	CHECK_EQ(counted(&r, r.sim.u.events.oom_kill), 0);
	/* The node has no memory to grant; each kill ends the container. */
	node_init(&n, 4 * GIB, 3800 * MIB);
	grow_often(node_add(&n, 64 * MIB, 32 * MIB), GIB);
	node_run(&n, 10 * USEC_PER_MIN);
	CHECK_EQ(counted(&n.rig[0], n.life[0].kills), CONTROL_CEILING_KILLS);
	begin(&r, 100 * MIB);
	use_of_kill(&r, 64 * MIB, 0, false);
	CHECK_EQ(control_ceiling_kills(&r.c, r.sim.now), 0);
}

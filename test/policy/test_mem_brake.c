// SPDX-License-Identifier: Apache-2.0
/* The brake on the clock of 100 ms, with memory.events waking, as the daemon drives it. */
#include "test/check.h"
#include "test/policy/rig.h"
#include <errno.h>

#define MS USEC_PER_MSEC

/* bits of enum usage_have */
enum { READ_CPU = 0, READ_MEM = 2, READ_STAT = 3 };

static void open_rig(struct rig *r, uint64_t max, uint64_t anon)
{
	rig_init(r, 1000, max, 2);
	r->tick_usec = 100 * MS;
	r->wakes = true;
	r->sim.m.anon = r->sim.load.anon_goal = anon;
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->changes, 0);
}

/* From a minute of standing still, under 64 MiB, with every start between two passes: no OOM
 * kill, and no long wait at the brake. */
TEST_RIG(growth_from_standstill)
{
	static const uint64_t rates[] = {1, 10, 50, 200, 500};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		for (usec_t phase = 0; phase < 100 * MS; phase += 10 * MS) {
			uint64_t bps = rates[i] * 1000000, goal = 448 * MIB;
			usec_t span;

			open_rig(r, 64 * MIB, 10 * MIB);
			/* Half of it is there already where a minute would not do. */
			r->sim.load.anon_goal = goal = MIN(goal, 10 * MIB + 60 * bps);
			r->t.memory.ceiling_permille = 10000;
			sim_run(&r->sim, phase);
			r->sim.load.anon_bps = bps;
			span = (goal - 10 * MIB) * USEC_PER_SEC / bps;
			rig_run(r, span + span / 10 + 400 * MS);
			CHECK_EQ(r->sim.u.events.oom_kill, 0);
			CHECK_EQ(r->sim.m.anon, goal);
			CHECK(r->sim.m.stalled_usec <= 400 * MS);
			CHECK(r->max_bytes <= 2 * goal);
		}
	}
}

/* A large allocation, and the next one before the following pass: the brake holds it. */
TEST_RIG(armed_near_limit)
{
	open_rig(r, 200 * MIB, 100 * MIB);
	CHECK_EQ(r->c.mem.brake.line, 0);
	sim_grow(&r->sim, 1000 * MIB, 165 * MIB);
	rig_run(r, 300 * MS);
	CHECK(r->c.mem.brake.line != 0);
	CHECK_EQ(r->sim.u.limits.mem_high, r->c.mem.brake.line);
	CHECK(r->sim.u.limits.mem_high <= r->sim.u.limits.mem_max - 8 * MIB);
	/* The brake stays while use is near the limit, and is lifted ten seconds after that. */
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK(r->c.mem.brake.line != 0);
	r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 12 * USEC_PER_SEC);
	CHECK_EQ(r->c.mem.brake.line, 0);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

static usec_t lifted_at[16];
static unsigned lifts;

static void note_lift(struct rig *r, const struct change *c, int outcome)
{
	if (c->knob == KNOB_MEM_HIGH && c->reason == REASON_BRAKE && !change_lowers(c) &&
	    outcome == APPLY_DONE && lifts < ARRAY_SIZE(lifted_at))
		lifted_at[lifts++] = r->sim.now;
}

/* The limit cannot be raised beyond the ceiling: growth is held for two seconds, then OOM-killed.
 * Once a minute. */
static void test_refused(usec_t probe_usec, usec_t held)
{
	struct rig r;
	usec_t begin;

	open_rig(&r, 200 * MIB, 100 * MIB);
	r.c.pod.probe_usec = probe_usec;
	r.c.rule.mem_bytes.max = 200 * MIB;
	r.after = note_lift;
	lifts = 0;
	sim_grow(&r.sim, 50 * MIB, 300 * MIB);
	begin = r.sim.now;
	while (r.sim.u.events.oom_kill == 0 && r.sim.now < begin + 10 * USEC_PER_SEC)
		rig_tick(&r);
	CHECK_EQ(r.sim.u.events.oom_kill, 1);
	CHECK_EQ(lifts, 1);
	CHECK(r.sim.m.stalled_usec >= held - 300 * MS);
	CHECK(r.sim.m.stalled_usec <= held);
	CHECK_EQ(r.count[KNOB_MEM_MAX], 0);
	/* The victim's successor in the same cgroup grows again and again. */
	begin = r.sim.now;
	rig_run(&r, 200 * USEC_PER_SEC);
	CHECK(r.sim.u.events.oom_kill > 10);
	CHECK(lifts >= 3 && lifts <= 5);
	for (unsigned i = 1; i < lifts; i++)
		CHECK(lifted_at[i] - lifted_at[i - 1] >= USEC_PER_MIN);
	CHECK(r.sim.m.stalled_usec <= held * lifts);
}

/* A raise was refused while memory grows: that goes on to what unratified growth may have. */
TEST_RIG(refused_in_growth)
{
	struct pod_resource_bounds *x;

	open_rig(r, 64 * MIB, 30 * MIB);
	x = &r->c.pod.resource[RESOURCE_MEMORY];
	x->refused = x->accepted = 64 * MIB;
	x->refused_until = r->sim.now + USEC_PER_HOUR;
	r->c.pod.unratified_permille = 2000;
	sim_grow(&r->sim, 10 * MIB, 110 * MIB);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK_EQ(r->sim.m.anon, 110 * MIB);
	CHECK(r->c.kernel.mem_max <= 128 * MIB);
}

/* The owner's memory.high is above the brake's line: it is restored when the brake is lifted. */
TEST_RIG(owner)
{
	open_rig(r, 200 * MIB, 100 * MIB);
	r->c.original.mem_high = r->c.kernel.mem_high = r->sim.u.limits.mem_high = 196 * MIB;
	sim_grow(&r->sim, 100 * MIB, 170 * MIB);
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK(r->sim.u.limits.mem_high < control_mem_high(&r->c, r->sim.u.limits.mem_max));
	r->c.paused = true;
	rig_tick(r);
	CHECK_EQ(r->sim.u.limits.mem_high, control_mem_high(&r->c, r->sim.u.limits.mem_max));
	CHECK_EQ(r->c.mem.brake.line, 0);
}

static bool fails(struct rig *, const struct change *c, int *ret)
{
	*ret = -EIO;
	return c->knob == KNOB_MEM_HIGH;
}

/* Lifting fails: again at the next pass, until it has worked. Arming fails: not before a minute. */
TEST_RIG(failures)
{
	uint32_t tried;

	open_rig(r, 200 * MIB, 100 * MIB);
	sim_grow(&r->sim, 100 * MIB, 165 * MIB);
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK(r->sim.u.limits.mem_high != LIMIT_MAX);
	r->c.paused = true;
	r->interfere = fails;
	rig_run(r, USEC_PER_SEC);
	CHECK(r->sim.u.limits.mem_high != LIMIT_MAX);
	r->interfere = NULL;
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);

	r->c.paused = false;
	r->interfere = fails;
	r->c.mem.brake = (struct mem_brake){0};
	rig_run(r, 5 * USEC_PER_SEC);
	tried = (uint32_t)r->c.resource[RESOURCE_MEMORY].counters.refusals;
	rig_run(r, 30 * USEC_PER_SEC);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.refusals, tried);
}

/* The owner's memory.max is adopted during the brake: the brake's line is not taken for the owner's
 * memory.high. */
TEST_RIG(adopted)
{
	open_rig(r, 200 * MIB, 100 * MIB);
	sim_grow(&r->sim, 100 * MIB, 170 * MIB);
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK(r->c.mem.brake.line != 0);
	sim_write(&r->sim, KNOB_MEM_MAX, 400 * MIB);
	rig_adopt(r, RESOURCE_MEMORY);
	CHECK(r->c.original.mem_high == LIMIT_MAX);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
}

/* Page cache that fills the limit is reclaimed by the kernel: no brake, no OOM kill. */
TEST_RIG(cache)
{
	open_rig(r, 64 * MIB, 10 * MIB);
	r->sim.load.cache_bps = 200 * MIB;
	r->sim.load.cache_set = 400 * MIB;
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->c.mem.brake.line, 0);
	CHECK(r->max_bytes <= 96 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.events.max > 100);
}

static uint64_t largest_piece;

static void note_piece(struct rig *r, const struct change *c)
{
	uint64_t current = sim_unreclaimable(&r->sim) + r->sim.m.file;

	if (c->knob == KNOB_MEM_HIGH && c->to < current)
		largest_piece = MAX(largest_piece, current - c->to);
}

/* A GiB full of cache, and the brake has begun to come down through it. */
static void open_full(struct rig *r)
{
	open_rig(r, GIB, 700 * MIB);
	r->before = note_piece;
	r->after = note_lift;
	largest_piece = lifts = 0;
	r->sim.m.file = 324 * MIB;
	sim_grow(&r->sim, 100 * MIB, 850 * MIB);
	while (r->sim.u.limits.mem_high == LIMIT_MAX)
		rig_tick(r);
	r->sim.load.anon_goal = r->sim.m.anon;
	CHECK(r->c.mem.brake.line > round_down(GIB - GIB / 20, PAGE_DEFAULT_BYTES) + 10 * MIB);
}

/* No write waits for more than a piece. */
TEST_RIG(pieces)
{
	open_full(r);
	r->sim.load.anon_goal = 850 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK_EQ(largest_piece, 4 * MIB);
	CHECK_EQ(r->c.mem.brake.line, round_down(GIB - GIB / 20, PAGE_DEFAULT_BYTES));
	CHECK_EQ(r->sim.u.limits.mem_high, r->c.mem.brake.line);
	CHECK_EQ(r->count[KNOB_MEM_MAX], 0);
	CHECK_EQ(lifts, 0);
}

/* Dirty page cache: one piece is to be reclaimed by memory.high, which is lifted after two seconds;
 * the next attempt follows after a minute. */
TEST_RIG(dirty)
{
	uint32_t begun;

	open_full(r);
	r->sim.m.dirty = r->sim.m.file;
	begun = r->count[KNOB_MEM_HIGH];
	rig_run(r, USEC_PER_SEC);
	CHECK(r->sim.u.limits.mem_high != LIMIT_MAX);
	CHECK_EQ(r->count[KNOB_MEM_HIGH], begun + 1);
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK_EQ(lifts, 1);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
	rig_run(r, 30 * USEC_PER_SEC);
	CHECK_EQ(r->count[KNOB_MEM_HIGH], begun + 2);
	/* Written out: down to the line. */
	r->sim.m.dirty = 0;
	r->sim.load.anon_goal = 850 * MIB;
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.u.limits.mem_high, round_down(GIB - GIB / 20, PAGE_DEFAULT_BYTES));
	CHECK_EQ(largest_piece, 4 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

/* A piece that cannot be written, on the way down: what stands is still taken away. */
TEST_RIG(piece_fails)
{
	open_full(r);
	r->interfere = fails;
	rig_run(r, 200 * MS);
	r->interfere = NULL;
	rig_run(r, 200 * MS);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
}

/* tmpfs counts as unreclaimable. */
TEST_RIG(shmem)
{
	open_rig(r, 100 * MIB, 10 * MIB);
	for (int i = 0; i < 300; i++) {
		r->sim.m.shmem += MIB;
		rig_run(r, 100 * MS);
	}
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.limits.mem_max > 310 * MIB);
}

/* ---- what a pass reads ---- */

TEST_RIG(cost)
{
	/* Idle: one file per pass. */
	open_rig(r, 200 * MIB, 100 * MIB);
	memset(r->reads, 0, sizeof r->reads);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->reads[READ_CPU], 100);
	CHECK_EQ(r->reads[READ_MEM], 10);
	CHECK_EQ(r->reads[READ_STAT], 10);
	/* It runs and allocates nothing: two. */
	r->sim.load = sim_steady(1, 100);
	r->sim.load.anon_goal = 100 * MIB;
	memset(r->reads, 0, sizeof r->reads);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->reads[READ_MEM], 100);
	CHECK_EQ(r->reads[READ_STAT], 10);
	/* Grows: memory.stat when it has moved. */
	sim_grow(&r->sim, 10 * MIB, 150 * MIB);
	memset(r->reads, 0, sizeof r->reads);
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK(r->reads[READ_STAT] >= 4 && r->reads[READ_STAT] <= 20);
	/* Off: nothing between the samples. */
	r->c.rule.mode = MODE_OFF;
	memset(r->reads, 0, sizeof r->reads);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->reads[READ_CPU], 10);
}

/* ---- kills ---- */

/* memory.oom.group ends five processes at once: one kill, one record. */
TEST_RIG(group_kill)
{
	open_rig(r, 200 * MIB, 50 * MIB);
	r->sim.u.events.max++;
	r->sim.u.events.oom_kill += 5;
	r->sim.u.events.oom_group_kill++;
	rig_run(r, USEC_PER_SEC);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.oom_kills, 1);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
}

/* The kernel counts the limit that was hit, and then the kill: a pass between the two. */
TEST_RIG(kill_after_max)
{
	for (unsigned passes = 1; passes <= 20; passes++) {
		open_rig(r, 200 * MIB, 50 * MIB);
		rig_run(r, passes * 50 * MS);
		r->sim.u.events.max++;
		rig_tick(r);
		r->sim.u.events.oom_kill++;
		rig_tick(r);
		CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
	}
	/* From further up: no matter what happened before. */
	open_rig(r, 200 * MIB, 50 * MIB);
	r->sim.u.events.max++;
	rig_run(r, 2 * USEC_PER_SEC);
	r->sim.u.events.oom_kill++;
	rig_run(r, 2 * USEC_PER_SEC);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.oom_kills, 1);
	CHECK_EQ(r->sim.u.limits.mem_max, 200 * MIB);
}

/* A CPU manager is at work: the runtime holds 64 MiB and may write them at any moment, while the
 * cgroup has 300. It gets a higher limit after `late`. */
static void grow_under_replay(struct rig *r, usec_t late)
{
	usec_t end;

	open_rig(r, 300 * MIB, 10 * MIB);
	r->c.pod.replay_mem_bytes = 64 * MIB;
	sim_grow(&r->sim, 50 * MIB, 250 * MIB);
	end = r->sim.now + USEC_PER_SEC + late;
	while (r->sim.now < end) {
		rig_run(r, 100 * MS);
		if (late <= USEC_PER_SEC)
			CHECK(r->sim.m.anon < 64 * MIB);
	}
	r->c.pod.replay_mem_bytes = 300 * MIB;
}

TEST_RIG(held_below_replay)
{
	grow_under_replay(r, USEC_PER_SEC);
	CHECK(r->c.mem.brake.line != 0 && r->c.mem.brake.line < 64 * MIB);
	rig_run(r, 8 * USEC_PER_SEC);
	CHECK_EQ(r->sim.m.anon, 250 * MIB);
	CHECK(r->sim.m.stalled_usec <= 2 * USEC_PER_SEC);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

/* The limit that the cgroup has is raised meanwhile: that makes no room below what the runtime may
 * write. */
static void test_raise_under_replay(uint64_t limit)
{
	struct rig r;

	open_rig(&r, limit, 10 * MIB);
	r.c.pod.replay_mem_bytes = 64 * MIB;
	sim_grow(&r.sim, 50 * MIB, 250 * MIB);
	for (int i = 0; i < 35; i++) {
		rig_run(&r, 100 * MS);
		CHECK(r.sim.m.anon < 64 * MIB);
	}
	CHECK(r.c.mem.brake.line != 0 && r.c.mem.brake.line < 64 * MIB);
}

/* A starved node: the runtime has still not written its old limit after 14 s. Growth by one thread
 * is held below it for so long, by sixteen for less, and goes on afterwards. */
static void test_slow_runtime(uint64_t mibps)
{
	struct rig r;

	open_rig(&r, 300 * MIB, 30 * MIB);
	r.c.pod.replay_mem_bytes = 64 * MIB;
	r.c.pod.threads = r.sim.load.allocators = 1;
	sim_grow(&r.sim, mibps * MIB, 250 * MIB);
	for (int i = 0; i < 140; i++) {
		rig_run(&r, 100 * MS);
		CHECK(r.sim.m.anon < 64 * MIB);
	}
	CHECK_EQ(r.c.mem.brake.ended, 0);
	r.c.pod.replay_mem_bytes = 300 * MIB;
	rig_run(&r, 60 * USEC_PER_SEC);
	CHECK_EQ(r.sim.m.anon, 250 * MIB);
	CHECK_EQ(r.sim.u.events.oom_kill, 0);
}

/* Held below what may be replayed, use creeps on to the limit that the cgroup has: that is raised.
 */
TEST_RIG(raised_while_held)
{
	for (uint64_t use = 30; use <= 60; use += 5) {
		open_rig(r, 94 * MIB, use * MIB);
		r->c.pod.replay_mem_bytes = 64 * MIB;
		r->c.pod.threads = r->sim.load.allocators = 4;
		sim_grow(&r->sim, 10 * MIB, 128 * MIB);
		for (int i = 0; i < 600; i++) {
			rig_run(r, 100 * MS);
			/* The runtime lifts it with each of its updates. */
			if (i % 7 == 0)
				sim_write(&r->sim, KNOB_MEM_HIGH, LIMIT_MAX);
		}
		CHECK_EQ(r->sim.u.events.oom_kill, 0);
		CHECK_EQ(r->sim.m.anon, 128 * MIB);
	}
}

/* How long more threads are held: the same kernel delays each of them. */
static usec_t held_usec(uint64_t limit, uint32_t threads, uint32_t known)
{
	struct rig r;
	usec_t begin;

	open_rig(&r, limit, 20 * MIB);
	r.c.pod.replay_mem_bytes = 64 * MIB;
	r.c.pod.replay_due = true;
	r.c.pod.threads = known;
	r.sim.load.allocators = threads;
	sim_grow(&r.sim, 50 * MIB, 250 * MIB);
	begin = r.sim.now;
	/* What cannot be held is counted before it is above the limit that may be written, once. */
	while (r.c.mem.brake.ended == 0 && r.sim.now < begin + USEC_PER_MIN)
		rig_run(&r, 100 * MS);
	CHECK(r.sim.m.anon < 64 * MIB);
	while (r.sim.m.anon < 64 * MIB && r.sim.now < begin + USEC_PER_MIN)
		rig_run(&r, 100 * MS);
	rig_run(&r, USEC_PER_SEC);
	CHECK_EQ(r.c.mem.brake.ended, 1);
	return r.sim.now - begin - USEC_PER_SEC;
}

TEST(threads)
{
	/* Also where the cgroup has the limit that may be written, and is raised meanwhile. */
	for (uint64_t limit = 64 * MIB; limit <= 300 * MIB; limit += 236 * MIB) {
		CHECK(held_usec(limit, 1, 1) >= 15 * USEC_PER_SEC);
		CHECK(held_usec(limit, 4, 4) >= 8 * USEC_PER_SEC);
		CHECK(held_usec(limit, 16, 16) >= 2 * USEC_PER_SEC);
		/* Not known: as many as sixteen. */
		CHECK(held_usec(limit, 4, 0) >= held_usec(limit, 4, 4));
	}
}

/* Never longer than the liveness probe allows; a probe that allows it does not shorten it. */
static void test_probe(usec_t probe_usec, usec_t least_usec, usec_t most_usec)
{
	struct rig r;

	open_rig(&r, 300 * MIB, 10 * MIB);
	r.c.pod.replay_mem_bytes = 64 * MIB;
	r.c.pod.probe_usec = probe_usec;
	sim_grow(&r.sim, 50 * MIB, 250 * MIB);
	rig_run(&r, USEC_PER_MIN);
	CHECK_EQ(r.c.mem.brake.ended, 1);
	CHECK(r.sim.m.stalled_usec >= least_usec);
	CHECK(r.sim.m.stalled_usec <= most_usec);
	CHECK_EQ(r.sim.m.anon, 250 * MIB);
}

/* A late write of PID 1's headroom is corrected in the middle of growth: not to use and a margin,
 * which growth would pass before the next look. And use is read at the next pass. */
TEST_RIG(corrected_in_growth)
{
	uint64_t use;

	open_rig(r, 200 * MIB, 100 * MIB);
	r->sim.load.anon_goal = 900 * MIB;
	r->t.memory.ceiling_permille = 10000;
	r->sim.load.anon_bps = 20 * MIB;
	rig_run(r, 4 * USEC_PER_SEC);
	use = r->sim.m.anon;
	r->c.resource[RESOURCE_MEMORY].limit = mem_with_margin(&r->t.memory, use);
	sim_write(&r->sim, KNOB_MEM_MAX, GIB);
	rig_reassert(r, RESOURCE_MEMORY);
	CHECK(r->sim.u.limits.mem_max >= use + 2 * r->sim.load.anon_bps);
	CHECK(r->sim.u.limits.mem_max < GIB);
	memset(r->reads, 0, sizeof r->reads);
	rig_run(r, 100 * MS);
	CHECK_EQ(r->reads[READ_STAT], 1);
}

/* memory.high is not written where use is, nor over the owner's. */
TEST(fits)
{
	const uint64_t line =
		round_down(64 * MIB - mem_gap(&tuning_default.memory, 64 * MIB), 4096);
	const struct {
		uint64_t use, own;
		bool armed;
	} rows[] = {
		{line - 2 * MIB - 1, LIMIT_MAX, true},
		{line - 2 * MIB, LIMIT_MAX, false},
		{line - 2 * MIB - 1, line, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct mem_law m = {.slope_bps = GIB};
		struct mem_brake_input in = {.use = rows[i].use,
					     .current = rows[i].use,
					     .max = 64 * MIB,
					     .own = rows[i].own,
					     .now = USEC_PER_HOUR};

		mem_brake_pass(&tuning_default.memory, &m, &in);
		CHECK_EQ(m.brake.line != 0, rows[i].armed);
	}
}

TEST(with_parameters)
{
	for (uint64_t limit = 64; limit <= 112; limit += 4)
		test_raise_under_replay(limit * MIB);
	test_slow_runtime(10);
	test_slow_runtime(50);
	/* Three failures of a probe each 10 s with a timeout of 1 s; one probe; none. */
	test_probe(21 * USEC_PER_SEC, 20 * USEC_PER_SEC, 21 * USEC_PER_SEC);
	test_probe(USEC_PER_SEC, 700 * MS, USEC_PER_SEC);
	test_probe(0, 39 * USEC_PER_SEC, 40 * USEC_PER_SEC);
	test_refused(0, 2 * USEC_PER_SEC);
	test_refused(USEC_PER_SEC, USEC_PER_SEC);
}

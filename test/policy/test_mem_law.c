// SPDX-License-Identifier: Apache-2.0
#include "test/check.h"
#include "test/policy/rig.h"

#define MS USEC_PER_MSEC

static const struct tuning_memory *const tm = &tuning_default.memory;

/* ---- what is measured ---- */

TEST(use)
{
	struct usage u = rig_memory(100, 50, LIMIT_MAX);

	CHECK_EQ(mem_use(&u), 100);
	/* tmpfs stays when everything else is reclaimed. */
	u.stat.shmem = 30;
	u.mem_current += 30;
	CHECK_EQ(mem_use(&u), 130);
	u.stat.kernel = 20;
	u.stat.slab_reclaimable = 15;
	u.mem_current += 20;
	CHECK_EQ(mem_use(&u), 135);
	u.stat.slab_reclaimable = 500;
	CHECK_EQ(mem_use(&u), 130);
}

/* Each page once, in whichever counters it stands: 100 anon, 40 shmem, 30 file, 10 of sockets. */
TEST(counted_once)
{
	static const struct {
		const char *what;
		struct mem_stat stat;
		uint64_t use;
	} rows[] = {
		{"nothing locked", {100, 70, 0, 40, 0, 0, 10, 60, 80, 20, 10, 0}, 150},
		{"anon locked", {100, 70, 0, 40, 90, 0, 10, 10, 40, 20, 10, 0}, 150},
		{"shmem locked", {100, 70, 0, 40, 40, 0, 10, 60, 40, 20, 10, 0}, 150},
		{"a file locked", {100, 70, 0, 40, 25, 0, 10, 60, 80, 5, 0, 0}, 175},
		{"all locked", {100, 70, 0, 40, 170, 0, 10, 0, 0, 0, 0, 0}, 180},
		/* Not on a list yet, or on that of files after MADV_FREE. */
		{"in batches", {100, 70, 0, 40, 0, 0, 10, 30, 30, 20, 10, 0}, 150},
		{"let go of", {100, 70, 0, 40, 0, 0, 10, 60, 30, 70, 10, 0}, 150},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (mem_unreclaimable(&rows[i].stat) != rows[i].use)
			fprintf(stderr, "%s:\n", rows[i].what);
		CHECK_EQ(mem_unreclaimable(&rows[i].stat), rows[i].use);
	}
}

TEST(slope)
{
	struct mem_law m = {0};
	usec_t now = USEC_PER_HOUR;
	struct usage u = rig_memory(100 * MIB, 0, GIB);

	mem_observe(tm, &m, NULL, &u, now);
	CHECK_EQ(m.slope_bps, 0);
	for (int i = 1; i <= 5; i++) {
		u = rig_memory((100 + 10 * (uint64_t)i) * MIB, 0, GIB);
		mem_observe(tm, &m, &u, &u, now + (usec_t)i * USEC_PER_SEC);
		CHECK_EQ(m.slope_bps, 10 * MIB);
		CHECK_EQ(m.steady_bps, 10 * MIB);
	}
	/* Flat again: the slope fades within three passes. */
	for (int i = 6; i <= 8; i++)
		mem_observe(tm, &m, &u, &u, now + (usec_t)i * USEC_PER_SEC);
	CHECK_EQ(m.slope_bps, 0);
	/* Falling is no growth, and neither is the same instant again. */
	u = rig_memory(MIB, 0, GIB);
	mem_observe(tm, &m, &u, &u, now + 9 * USEC_PER_SEC);
	CHECK_EQ(m.slope_bps, 0);
	mem_observe(tm, &m, &u, &u, now + 9 * USEC_PER_SEC);
	CHECK_EQ(m.point[1].unreclaimable, 150 * MIB);
}

/* On the fast clock the older points still reach a second back. */
TEST(slope_fast)
{
	struct mem_law m = {0};
	usec_t now = USEC_PER_HOUR;

	for (int i = 0; i < 20; i++) {
		struct usage u = rig_memory(100 * MIB + (i >= 19 ? 10 * MIB : 0), 0, GIB);

		mem_observe(tm, &m, &u, &u, now + (usec_t)i * 100 * MS);
	}
	CHECK_EQ(m.slope_bps, 50 * MIB); /* over two passes */
	CHECK(m.steady_bps <= 20 * MIB);
	CHECK(m.steady_bps >= 9 * MIB);
	CHECK(m.point[0].at - m.point[MEM_POINTS - 1].at >= 1000 * MS);
}

static uint64_t desired_at(uint64_t use, uint64_t slope, uint64_t limit, usec_t tick)
{
	struct mem_law m = {
		.point = {{USEC_PER_HOUR, use}}, .slope_bps = slope, .steady_bps = slope};
	struct usage u = rig_memory(use, 0, limit);
	struct mem_growth_input in = {
		.u = &u, .limit = limit, .original = limit, .tick_usec = tick};
	enum reason reason = REASON_NONE;
	uint64_t desired = mem_growth_desired(tm, &m, &in, &reason);

	CHECK((desired == 0) == (reason == REASON_NONE));
	return desired;
}

TEST(time_to_limit)
{
	const uint64_t limit = 1000 * MIB;

	/* 100 MiB/s: acts when less than a tick and a second are left. */
	CHECK_EQ(desired_at(700 * MIB, 100 * MIB, limit, USEC_PER_SEC), 0);
	CHECK_EQ(desired_at(799 * MIB, 100 * MIB, limit, USEC_PER_SEC), 0);
	CHECK(desired_at(800 * MIB, 100 * MIB, limit, USEC_PER_SEC) > limit);
	CHECK_EQ(desired_at(880 * MIB, 100 * MIB, limit, 100 * MS), 0);
	CHECK(desired_at(890 * MIB, 100 * MIB, limit, 100 * MS) > limit);
	/* Three seconds of slope and the margin, or 15 %. */
	CHECK_EQ(desired_at(900 * MIB, 100 * MIB, limit, USEC_PER_SEC), 1320 * MIB);
	CHECK_EQ(desired_at(990 * MIB, 5 * MIB, limit, USEC_PER_SEC), 1150 * MIB);
	/* Full but not growing and not at the limit: nothing. */
	CHECK_EQ(desired_at(990 * MIB, 0, limit, USEC_PER_SEC), 0);
	CHECK(desired_at(UINT64_MAX - 5, UINT64_MAX / 2, LIMIT_MAX - 1, USEC_PER_DAY) > 0);
}

TEST(headroom)
{
	struct mem_law m = {.point = {{USEC_PER_HOUR, 100 * MIB}}, .slope_bps = 10 * MIB};

	CHECK_EQ(mem_headroom(tm, &m, 200 * MIB), 400 * MIB);
	CHECK_EQ(mem_headroom(tm, &m, 500 * MIB), 500 * MIB);
	CHECK(mem_headroom(tm, &m, LIMIT_MAX) == LIMIT_MAX);
}

TEST(oom_record)
{
	CHECK_EQ(mem_oom_record(tm, 100 * MIB), 200 * MIB);
	CHECK_EQ(mem_oom_record(tm, 1000 * MIB), 1200 * MIB);
	CHECK(mem_oom_record(tm, LIMIT_MAX - 2) == LIMIT_MAX - 1);
}

/* ---- growth in the loop ---- */

/* 0 kills at 1..200 MB/s, with room for one pass and the write. */
TEST_RIG(growth)
{
	static const uint64_t rates[] = {1, 2, 5, 10, 20, 50, 100, 150, 200};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		for (int fast = 0; fast < 2; fast++) {
			uint64_t bps = rates[i] * 1000000;
			uint64_t goal = MIN(64 * MIB + 60 * bps, 3 * GIB);

			rig_init(r, 1000, GIB, 2);
			r->tick_usec = fast ? 100 * MS : USEC_PER_SEC;
			r->sim.m.anon = 64 * MIB;
			r->sim.load.anon_goal = 64 * MIB;
			rig_run(r, 10 * USEC_PER_SEC);
			sim_grow(&r->sim, bps, goal);
			rig_run(r, 2 * USEC_PER_MIN);
			CHECK_EQ(r->sim.u.events.oom_kill, 0);
			CHECK_EQ(r->sim.m.anon, goal);
			/* Not more than a few seconds of growth above the need. */
			CHECK(r->max_bytes <= MAX(GIB, goal + goal / 4 + 5 * bps));
			CHECK(r->count[KNOB_MEM_MAX] <= 40);
		}
	}
}

/* A single large allocation is not a ramp: the limit does not run away. */
TEST_RIG(one_jump)
{
	rig_init(r, 1000, 200 * MIB, 2);
	r->tick_usec = 100 * MS;
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 10 * USEC_PER_SEC);
	sim_allocate(&r->sim, 20 * MIB);
	rig_run(r, 10 * USEC_PER_SEC);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->max_bytes <= 400 * MIB);
}

/* tmpfs cannot be reclaimed without swap: it grows the limit as anonymous memory does. */
TEST_RIG(tmpfs)
{
	rig_init(r, 1000, 100 * MIB, 2);
	for (int i = 0; i < 60; i++) {
		r->sim.m.shmem += 2 * MIB;
		rig_run(r, USEC_PER_SEC);
	}
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.limits.mem_max >= 120 * MIB);
}

/* What a socket holds is beside the kernel's memory: alone, and under memory that grows. */
TEST_RIG(sockets)
{
	for (int alone = 0; alone < 2; alone++) {
		rig_init(r, 1000, 512 * MIB, 2);
		r->sim.m.sock = alone ? 0 : 32 * MIB;
		r->sim.m.anon = r->sim.load.anon_goal = 400 * MIB;
		sim_grow(&r->sim, 5 * MIB, alone ? 400 * MIB : 600 * MIB);
		for (int i = 0; i < 60; i++) {
			r->sim.m.sock += alone ? 4 * MIB : 0;
			rig_run(r, USEC_PER_SEC);
		}
		CHECK_EQ(r->sim.u.events.oom_kill, 0);
		CHECK(r->sim.u.limits.mem_max > sim_unreclaimable(&r->sim));
		CHECK(sim_unreclaimable(&r->sim) >= 632 * MIB);
	}
}

/* Locked memory leaves page cache less room, and no reason to grow. */
TEST_RIG(locked_and_cache)
{
	for (int file = 0; file < 2; file++) {
		rig_init(r, 1000, 512 * MIB, 2);
		r->sim.m.anon = r->sim.load.anon_goal = 300 * MIB;
		r->sim.m.locked = file ? 0 : 300 * MIB;
		r->sim.m.locked_file = file ? 100 * MIB : 0;
		r->sim.load.cache_bps = 40 * MIB;
		r->sim.load.cache_set = 2 * GIB;
		rig_run(r, 5 * USEC_PER_MIN);
		CHECK(r->sim.u.events.max > 0);
		CHECK_EQ(r->sim.u.limits.mem_max, 512 * MIB);
	}
}

/* A reader of a 400 MiB file under 64 MiB: page cache alone never takes it beyond half again. */
TEST_RIG(cache_reader)
{
	for (int matters = 0; matters < 2; matters++) {
		rig_init(r, 1000, 64 * MIB, 2);
		r->sim.m.anon = r->sim.load.anon_goal = 10 * MIB;
		r->sim.load.cache_bps = 200 * MIB;
		r->sim.load.cache_set = 400 * MIB;
		r->sim.load.cache_active = 500;
		r->sim.load.cache_matters = matters;
		rig_run(r, 30 * USEC_PER_MIN);
		CHECK(r->sim.u.events.max > 1000);
		CHECK(r->max_bytes <= 96 * MIB);
		CHECK(matters ? r->max_bytes > 64 * MIB : r->changes == 0);
		CHECK_EQ(r->sim.u.events.oom_kill, 0);
	}
}

/* Three seconds of hurting, on either clock. */
TEST_RIG(cache_delay)
{
	for (int fast = 0; fast < 2; fast++) {
		usec_t begin;

		rig_init(r, 1000, 64 * MIB, 2);
		r->tick_usec = fast ? 100 * MS : USEC_PER_SEC;
		r->sim.m.file = 60 * MIB;
		r->sim.load = (struct sim_load){
			.cache_bps = 200 * MIB, .cache_set = 400 * MIB, .cache_matters = true};
		begin = r->sim.now;
		while (r->changes == 0 && r->sim.now - begin < USEC_PER_MIN)
			rig_tick(r);
		CHECK(r->sim.now - begin >= 3 * USEC_PER_SEC);
		CHECK(r->sim.now - begin <= 6 * USEC_PER_SEC);
		CHECK_EQ(r->c.resource[RESOURCE_MEMORY].last.reason, REASON_CACHE_PRESSURE);
	}
}

/* A unit that had a memory.high of its own is stopped there, long before memory.max. */
TEST_RIG(own_high)
{
	rig_init(r, 1000, 500 * MIB, 2);
	r->sim.u.limits.mem_high = 400 * MIB;
	r->c.original.mem_high = 400 * MIB;
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	sim_grow(&r->sim, 20 * MIB, 900 * MIB);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.m.anon, 900 * MIB);
	CHECK_EQ(r->sim.m.stalled_usec, 0);
	CHECK(r->sim.u.limits.mem_high < r->sim.u.limits.mem_max);
	CHECK(r->sim.u.limits.mem_high >= 900 * MIB);
}

/* ---- OOM kills ---- */

/* A jump larger than any slope can foresee, again and again: each kill asks for the use at the
 * kill, and many kills at one limit ask for the same. */
TEST_RIG(oom)
{
	rig_init(r, 1000, 200 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	for (int i = 0; i < 5; i++)
		sim_allocate(&r->sim, 300 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 5);
	r->sim.load.anon_goal = 0;
	rig_run(r, 3 * USEC_PER_SEC);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.oom_kills, 5);
	CHECK_EQ(r->c.history.window_oom, 300 * MIB);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
	CHECK_EQ(r->count[KNOB_MEM_MAX], 1);
}

/* The kill came from further up (the node, a parent): the limit was not the reason. */
TEST_RIG(oom_elsewhere)
{
	rig_init(r, 1000, GIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	r->sim.u.events.oom_kill++;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(r->c.history.window_oom, 0);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.oom_kills, 1);
	/* The pod is the sum of its containers: as if it had been the container's. */
	control_limit_full(&r->c, r->sim.now);
	r->sim.u.events.oom_kill++;
	rig_run(r, 5 * USEC_PER_SEC);
	CHECK(r->c.history.window_oom > GIB);
}

static bool gone(struct rig *, const struct change *, int *ret)
{
	*ret = APPLY_GONE;
	return true;
}

/* The cgroup was gone before the raise: the successor starts with it. */
TEST_RIG(oom_successor)
{
	rig_init(r, 1000, 200 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	sim_allocate(&r->sim, 200 * MIB);
	r->sim.load.anon_goal = 0;
	r->interfere = gone;
	rig_tick(r);
	CHECK_EQ(r->changes, 0);
	r->interfere = NULL;
	rig_restart(r);
	rig_tick(r);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->count[KNOB_MEM_MAX], 1);
}

/* What a kill asks for goes no further than the ceiling, nor for the successor; history knows it.
 */
TEST_RIG(oom_ceiling)
{
	rig_init(r, 1000, 200 * MIB, 2);
	r->c.rule.mem_bytes.max = 240 * MIB;
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	sim_allocate(&r->sim, 300 * MIB);
	r->sim.load.anon_goal = 0;
	rig_run(r, 3 * USEC_PER_SEC);
	CHECK_EQ(r->sim.u.events.oom_kill, 1);
	CHECK_EQ(r->sim.u.limits.mem_max, 240 * MIB);
	CHECK_EQ(r->c.history.window_oom, 300 * MIB);
	rig_restart(r);
	rig_run(r, 3 * USEC_PER_SEC);
	/* One kill after the other at that limit says the same each time. */
	for (int i = 0; i < 5; i++) {
		r->sim.m.anon = 50 * MIB;
		sim_allocate(&r->sim, 300 * MIB);
		rig_run(r, 3 * USEC_PER_SEC);
	}
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.oom_kills, 6);
	CHECK_EQ(r->c.history.window_oom, 340 * MIB);
	CHECK_EQ(r->max_bytes, 240 * MIB);
}

/* Three processes of one container, ended one by one between two passes: three kills, one record.
 */
TEST_RIG(oom_processes)
{
	rig_init(r, 1000, 200 * MIB, 2);
	r->sim.m.anon = r->sim.load.anon_goal = 50 * MIB;
	rig_run(r, 5 * USEC_PER_SEC);
	r->sim.u.events.max += 40;
	r->sim.u.events.oom_kill += 3;
	rig_run(r, 3 * USEC_PER_SEC);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.oom_kills, 3);
	CHECK_EQ(r->c.history.window_oom, 300 * MIB);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
	CHECK_EQ(r->count[KNOB_MEM_MAX], 1);
}

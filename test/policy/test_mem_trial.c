// SPDX-License-Identifier: Apache-2.0
#include "test/check.h"
#include "test/policy/rig.h"

#define MS USEC_PER_MSEC

static const struct tuning_memory *const tm = &tuning_default.memory;

/* ---- conditions of a shrink ---- */

static enum blocked_reason shrink(struct mem_law *m, const struct mem_shrink_input *in,
				  uint64_t *ret_to, usec_t *ret_next)
{
	*ret_to = 0;
	return mem_shrink_next(&tuning_default, m, in, ret_to, ret_next);
}

TEST(shrink_conditions)
{
	const usec_t start = USEC_PER_HOUR;
	struct mem_law m = {0};
	struct usage u = rig_memory(100 * MIB, 0, 1000 * MIB);
	struct mem_shrink_input in = {.u = &u,
				      .limit = 1000 * MIB,
				      .candidate = 200 * MIB,
				      .history_usec = USEC_PER_DAY,
				      .started_at = start,
				      .now = start + USEC_PER_DAY};
	uint64_t to;
	usec_t next;

	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_NONE);
	CHECK_EQ(to, 900 * MIB); /* 10 % a step */
	in.candidate = 950 * MIB;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_DEADBAND);
	in.candidate = 899 * MIB;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_NONE);
	in.candidate = 200 * MIB;

	in.history_usec = USEC_PER_DAY - USEC_PER_HOUR;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_HISTORY);
	CHECK_EQ(next, in.now + USEC_PER_HOUR);
	in.history_usec = USEC_PER_DAY;

	in.now = start + 5 * USEC_PER_MIN - 1;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_START_QUIET);
	CHECK_EQ(next, start + 5 * USEC_PER_MIN);
	in.now++;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_NONE);

	m.last_growth = in.now;
	in.now += 5 * USEC_PER_MIN - 1;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_GROWING);
	in.now++;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_NONE);

	m.backoff_until = in.now + 7;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_BACKOFF);
	CHECK_EQ(next, in.now + 7);
	m.backoff_until = 0;

	m.last_change = in.now;
	in.now += 60 * USEC_PER_SEC - 1;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_INTERVAL);
	in.now++;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_NONE);

	m.trial.phase = MEM_HIGH;
	CHECK_EQ(shrink(&m, &in, &to, &next), BLOCKED_TRIAL);
}

/* ---- a trial, phase by phase ---- */

struct trial {
	struct mem_law m;
	struct usage u;
	struct mem_shrink_input in;
};

static void trial_begin(struct trial *t, uint64_t anon, uint64_t file)
{
	*t = (struct trial){.u = rig_memory(anon, file, 1000 * MIB)};
	t->in = (struct mem_shrink_input){.u = &t->u,
					  .limit = 1000 * MIB,
					  .candidate = 200 * MIB,
					  .high = LIMIT_MAX,
					  .history_usec = USEC_PER_DAY,
					  .started_at = USEC_PER_HOUR,
					  .now = USEC_PER_DAY,
					  .now_real = 400 * USEC_PER_DAY};
}

static struct mem_step pass(struct trial *t)
{
	t->in.now += USEC_PER_SEC;
	t->in.now_real += USEC_PER_SEC;
	return mem_trial_step(tm, &t->m, &t->in);
}

static bool nothing(const struct mem_step *s)
{
	return s->reclaim == 0 && s->high == 0 && s->max == 0 && !s->undo;
}

/* Up to the pass at which memory.max is asked for. */
static struct mem_step lead(struct trial *t)
{
	struct mem_step s;

	mem_trial_begin(tm, &t->m, &t->in, 900 * MIB);
	s = pass(t);
	CHECK_EQ(t->m.trial.phase, MEM_HIGH);
	CHECK_EQ(s.high, 855 * MIB);
	for (int i = 0; i < 9; i++) {
		s = pass(t);
		CHECK(nothing(&s));
	}
	return pass(t);
}

TEST(trial_passes)
{
	struct trial t;
	struct mem_step s;

	trial_begin(&t, 300 * MIB, 0);
	t.m.backoff_usec = USEC_PER_HOUR;
	s = lead(&t);
	CHECK_EQ(s.max, 900 * MIB);
	CHECK_EQ(s.high, 0);
	CHECK_EQ(t.m.trial.phase, MEM_MAX);
	s = pass(&t);
	CHECK(s.high == LIMIT_MAX && s.max == 0 && !s.undo); /* lifted once memory.max is down */
	for (int i = 0; i < 58; i++) {
		s = pass(&t);
		CHECK(!s.undo && s.max == 0);
		CHECK_EQ(t.m.trial.phase, MEM_MAX);
	}
	pass(&t);
	CHECK_EQ(t.m.trial.phase, MEM_IDLE);
	CHECK_EQ(t.m.backoff_usec, 0);
	CHECK_EQ(t.m.floor.value, 0);
}

TEST(trial_reclaims)
{
	struct trial t;
	struct mem_step s;

	trial_begin(&t, 300 * MIB, 690 * MIB);
	s = mem_trial_begin(tm, &t.m, &t.in, 900 * MIB);
	CHECK_EQ(s.reclaim, (990 - 855) * MIB);
	CHECK(s.high == 0 && s.max == 0);
	/* Piece by piece, as long as it shrinks. */
	for (uint64_t file = 640; file > 555; file -= 5) {
		t.u = rig_memory(300 * MIB, file * MIB, 1000 * MIB);
		s = pass(&t);
		CHECK_EQ(s.reclaim, (300 + file - 855) * MIB);
		CHECK_EQ(t.m.trial.phase, MEM_RECLAIM);
	}
	t.u = rig_memory(300 * MIB, 555 * MIB, 1000 * MIB);
	s = pass(&t);
	CHECK(s.reclaim == 0 && s.high == 855 * MIB);
	CHECK_EQ(t.m.trial.phase, MEM_HIGH);
}

/* Reclaim makes no progress, since the cache is read again at once: with little left to reclaim the
 * trial goes on with memory.high, with much left it is undone. */
TEST(trial_no_progress)
{
	for (int much = 0; much < 2; much++) {
		struct trial t;
		struct mem_step s = {0};

		trial_begin(&t, 300 * MIB, (much ? 690 : 600) * MIB);
		mem_trial_begin(tm, &t.m, &t.in, 900 * MIB);
		for (int i = 0; i < 3 && t.m.trial.phase == MEM_RECLAIM; i++)
			s = pass(&t);
		CHECK_EQ(t.m.trial.phase, much ? MEM_IDLE : MEM_HIGH);
		CHECK(s.undo == (much != 0));
		CHECK_EQ(t.m.floor.value, 0);
		CHECK((t.m.backoff_until > t.in.now) == (much != 0));
	}
}

/* Each reason to undo, in both phases that watch. */
enum hurt { HURT_PSI, HURT_REFAULT, HURT_MAX_EVENT, HURT_USE, HURT_COUNT };

static void hurt(struct trial *t, enum hurt how)
{
	switch (how) {
	case HURT_PSI:
		t->u.psi_mem_usec += 60 * MS;
		break;
	case HURT_REFAULT:
		t->u.stat.refaults += 50000;
		break;
	case HURT_MAX_EVENT:
		t->u.events.max++;
		break;
	default:
		t->u.stat.anon = 850 * MIB;
		t->u.mem_current = 850 * MIB;
		break;
	}
}

TEST(trial_undone)
{
	for (enum hurt how = 0; how < HURT_COUNT; how++) {
		for (int max = 0; max < 2; max++) {
			struct trial t;
			struct mem_step s;

			/* Growth under a lowered memory.max is the growth law's: it aborts. */
			if (max && how == HURT_USE)
				continue;
			trial_begin(&t, 300 * MIB, 0);
			if (max) {
				lead(&t);
			} else {
				mem_trial_begin(tm, &t.m, &t.in, 900 * MIB);
				pass(&t);
			}
			pass(&t);
			hurt(&t, how);
			s = pass(&t);
			CHECK(s.undo);
			CHECK_EQ(s.max, max ? 1000 * MIB : 0);
			CHECK(max || s.high == LIMIT_MAX);
			CHECK_EQ(t.m.trial.phase, MEM_IDLE);
			CHECK_EQ(t.m.floor.value, 950 * MIB);
			CHECK_EQ(t.m.backoff_until, t.in.now + 2 * USEC_PER_MIN);
		}
	}
}

/* Stall below 10 ms, refaults as before, pressure as before: no reason. */
TEST(trial_noise)
{
	struct trial t;

	trial_begin(&t, 300 * MIB, 0);
	t.m.psi_ppm = 20000;
	t.m.refault_ps = 1000;
	lead(&t);
	for (int i = 0; i < 30; i++) {
		struct mem_step s;

		t.u.psi_mem_usec += 20 * MS;
		t.u.stat.refaults += 1500;
		s = pass(&t);
		CHECK(!s.undo);
	}
	trial_begin(&t, 300 * MIB, 0);
	lead(&t);
	t.u.psi_mem_usec += 9 * MS;
	for (int i = 0; i < 3; i++) {
		struct mem_step s = pass(&t);

		CHECK(!s.undo);
	}
}

TEST(back_off)
{
	struct mem_law m = {0};
	usec_t now = USEC_PER_HOUR, expected = 2 * USEC_PER_MIN;

	for (int i = 0; i < 20; i++) {
		mem_back_off(tm, &m, now);
		CHECK_EQ(m.backoff_usec, expected);
		CHECK_EQ(m.backoff_until, now + expected);
		expected = MIN(2 * expected, USEC_PER_DAY);
	}
	CHECK_EQ(m.backoff_usec, USEC_PER_DAY);
}

/* ---- shrinking in the loop ---- */

static usec_t lowered_at;

static void watch_lowering(struct rig *r, const struct change *c)
{
	uint64_t use = sim_unreclaimable(&r->sim);

	if (c->knob != KNOB_MEM_MAX || !change_lowers(c))
		return;
	CHECK(c->to >= use + use / 10);
	CHECK(c->to >= use + 8 * MIB);
	CHECK(c->to * 10 >= c->from * 9 - 40960);
	CHECK(c->margin_bytes > 0);
	CHECK(r->sim.now - r->c.started_at >= 5 * USEC_PER_MIN);
	if (lowered_at != 0)
		CHECK(r->sim.now - lowered_at >= 60 * USEC_PER_SEC);
	lowered_at = r->sim.now;
}

TEST_RIG(oversized)
{
	rig_init(r, 1000, 2 * GIB, 2);
	rig_fill_history(r, 100, 300 * MIB, USEC_PER_DAY);
	r->sim.m.anon = r->sim.load.anon_goal = 300 * MIB;
	r->sim.m.file = 1500 * MIB; /* read once and left lying */
	r->before = watch_lowering;
	lowered_at = 0;
	rig_run(r, 2 * USEC_PER_HOUR);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.limits.mem_max <= 420 * MIB);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
	CHECK(r->sim.m.file + r->sim.m.anon <= r->sim.u.limits.mem_max);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].counters.undos, 0);
}

/* Cache that is needed: the trial notices, backs off longer and longer, and the limit stays. */
TEST_RIG(needed_cache)
{
	rig_init(r, 1000, 600 * MIB, 2);
	rig_fill_history(r, 100, 100 * MIB, USEC_PER_DAY);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	r->sim.load.cache_bps = 100 * MIB;
	r->sim.load.cache_set = 450 * MIB;
	r->sim.load.cache_matters = true;
	rig_run(r, 12 * USEC_PER_HOUR);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK(r->sim.u.limits.mem_max >= 540 * MIB);
	CHECK(r->c.mem.backoff_usec >= USEC_PER_HOUR);
	/* Stalls of the trials together: below a thousandth of the time. */
	CHECK(r->sim.m.stalled_usec <= 12 * USEC_PER_HOUR / 1000);
	CHECK(r->sim.u.limits.mem_high == LIMIT_MAX);
}

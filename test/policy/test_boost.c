// SPDX-License-Identifier: Apache-2.0
/* Startup boost in virtual time: what a daemon with a pass every 100 ms would write. */
#include "policy/laws/boost.h"
#include "policy/types/reason.h"
#include "test/check.h"

#define TICK  (100 * USEC_PER_MSEC)
#define SEC   USEC_PER_SEC
#define START (1000 * SEC)

/* One container and its control. */
struct rig {
	struct boost b;
	struct boost_input in;
	struct boost_decision d;
	uint64_t limit; /* in its cgroup */
	uint32_t writes;
	usec_t last_write;
	bool read_events; /* at next_at alone, and when an input changes */
};

static struct rig rig(const char *rule, uint64_t original, uint64_t held)
{
	struct rig r = {.limit = held,
			.in = {.mode = MODE_AUTO,
			       .may_write = true,
			       .started_at = START,
			       .original_milli = original,
			       .ceiling_milli = 16000,
			       .now = START}};

	CHECK_EQ(boost_parse(rule, &r.in.rule), 0);
	return r;
}

static void pass(struct rig *r)
{
	r->in.held_milli = r->limit;
	boost_step(&r->b, &r->in, &r->d);
	if (!r->d.write)
		return;
	if (r->d.phase == BOOST_ACTIVE && r->limit < r->d.limit_milli) {
		r->limit = r->d.limit_milli;
		r->writes++;
		r->last_write = r->in.now;
		boost_written(&r->b);
	} else if (r->d.phase == BOOST_ENDING) {
		r->limit = r->d.limit_milli;
		r->writes++;
		r->last_write = r->in.now;
		boost_put_back(&r->b, r->in.now);
	}
}

static void run(struct rig *r, usec_t span)
{
	usec_t end = r->in.now + span;

	for (; r->in.now < end; r->in.now += TICK)
		if (!r->read_events || r->d.next_at == 0 || r->in.now >= r->d.next_at)
			pass(r);
	pass(r);
}

static void ready(struct rig *r)
{
	r->in.ready_since = r->in.now;
	pass(r);
}

static void restart(struct rig *r)
{
	r->in.started_at = r->in.now;
	r->in.ready_since = 0;
	pass(r);
}

static void test_factor(void)
{
	struct rig r = rig("2x 30s", 500, 500);

	run(&r, 20 * SEC);
	CHECK_EQ(r.limit, 1000);
	CHECK_EQ(r.d.phase, BOOST_ACTIVE);
	ready(&r);
	CHECK_EQ(r.d.next_at, r.in.now + 30 * SEC);
	run(&r, 30 * SEC - TICK);
	CHECK_EQ(r.limit, 1000);
	run(&r, TICK);
	CHECK_EQ(r.limit, 500);
	run(&r, USEC_PER_HOUR);
	CHECK_EQ(r.limit, 500);
	CHECK_EQ(r.writes, 2);
	CHECK_EQ(r.d.phase, BOOST_OVER);
	CHECK_EQ(r.d.limit_milli, 0);
	CHECK_EQ(r.d.next_at, 0);
	CHECK(!r.d.write);
}

static void test_quantity(void)
{
	struct rig r = rig("+333m 1s", 500, 500);

	run(&r, SEC);
	CHECK_EQ(r.limit, 840); /* a desired limit rounds up */
	ready(&r);
	run(&r, SEC);
	CHECK_EQ(r.limit, 500);
}

/* Woken at next_at alone it ends as sharply, wherever the ticks are. */
static void test_ends_in_time(void)
{
	for (usec_t odd = 0; odd < 10; odd++) {
		struct rig r = rig("3x 7s", 200, 200);
		usec_t at;

		r.read_events = odd % 2 == 0;
		run(&r, 3 * SEC);
		r.in.now += odd * 12345;
		ready(&r);
		at = r.in.now;
		run(&r, 20 * SEC);
		CHECK_EQ(r.limit, 200);
		CHECK(r.last_write >= at + 7 * SEC && r.last_write <= at + 8 * SEC);
	}
}

/* Held below or above the original: the higher one is multiplied, the held one restored. */
static void test_base(void)
{
	struct rig low = rig("2x 1s", 1000, 100), high = rig("2x 1s", 100, 800);

	run(&low, SEC);
	run(&high, SEC);
	CHECK_EQ(low.limit, 2000);
	CHECK_EQ(high.limit, 1600);
	ready(&low);
	ready(&high);
	run(&low, SEC);
	run(&high, SEC);
	CHECK_EQ(low.limit, 100);
	CHECK_EQ(high.limit, 800);
}

/* Ready at once, Ready before it started (the pod's, or an older status), 0 s. */
static void test_ready_at_once(void)
{
	struct rig r = rig("2x 5s", 500, 500), none = rig("2x 0s", 500, 500);

	r.in.ready_since = START - 100 * SEC;
	run(&r, 5 * SEC - TICK);
	CHECK_EQ(r.limit, 1000);
	run(&r, TICK);
	CHECK_EQ(r.limit, 500);
	none.in.ready_since = START;
	run(&none, SEC);
	CHECK_EQ(none.writes, 0);
	CHECK_EQ(none.d.phase, BOOST_OVER);
}

/* The time counts without a break. */
static void test_flapping(void)
{
	struct rig r = rig("2x 10s", 500, 500);

	run(&r, SEC);
	ready(&r);
	run(&r, 9 * SEC);
	r.in.ready_since = 0;
	run(&r, 9 * SEC);
	CHECK_EQ(r.limit, 1000);
	ready(&r);
	run(&r, 9 * SEC);
	CHECK_EQ(r.limit, 1000);
	run(&r, SEC);
	CHECK_EQ(r.limit, 500);
	/* And once over it does not come back. */
	r.in.ready_since = 0;
	run(&r, USEC_PER_MIN);
	CHECK_EQ(r.limit, 500);
	CHECK_EQ(r.writes, 2);
}

static void test_never_ready(void)
{
	struct rig r = rig("2x 10s", 500, 500);

	run(&r, USEC_PER_HOUR - TICK);
	CHECK_EQ(r.limit, 1000);
	CHECK_EQ(r.d.next_at, START + USEC_PER_HOUR);
	run(&r, TICK);
	CHECK_EQ(r.limit, 500);
	ready(&r);
	run(&r, USEC_PER_MIN);
	CHECK_EQ(r.limit, 500);
}

/* Never above the node's cores nor the user's maximum, whichever is lower. */
static void test_ceiling(void)
{
	static const struct {
		uint64_t node, user, admin, want;
	} rows[] = {
		{4000, 0, 0, 4000},  {4000, 1500, 0, 1500}, {16000, 0, 0, 10000},
		{4000, 0, 705, 700}, {1000, 2000, 0, 1000}, {4000, 100, 0, 100},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct rig r = rig("10x 1s", 1000, 1000);
		struct bounds b = {.quantum = CPU_QUANTUM_MILLI};

		b.value[BOUND_USER_MAX] = rows[i].user;
		b.value[BOUND_ADMIN_MAX] = rows[i].admin;
		b.value[BOUND_CEILING] = rows[i].node;
		r.in.ceiling_milli = bounds_ceiling(&b);
		pass(&r);
		CHECK_EQ(r.d.limit_milli, rows[i].want);
		/* A maximum below what it has is for others to carry out: the boost takes nothing.
		 */
		CHECK_EQ(r.limit, MAX(rows[i].want, 1000ull));
		ready(&r);
		run(&r, SEC);
		CHECK(r.limit <= 1000);
	}
}

/* The reflex may go above it; nothing of that stays. */
static void test_reflex(void)
{
	struct rig r = rig("2x 5s", 500, 500);

	run(&r, SEC);
	r.limit = 3000;
	run(&r, SEC);
	CHECK_EQ(r.limit, 3000);
	CHECK_EQ(r.writes, 1);
	ready(&r);
	run(&r, 5 * SEC);
	CHECK_EQ(r.limit, 500);
}

/* A restart of the container starts it anew, a crash in the middle from the same base. */
static void test_restart(void)
{
	struct rig r = rig("2x 5s", 500, 500);

	for (int i = 0; i < 5; i++) {
		run(&r, 2 * SEC);
		CHECK_EQ(r.limit, 1000);
		r.in.started_at = 0; /* down */
		run(&r, SEC);
		CHECK_EQ(r.d.phase, BOOST_NONE);
		restart(&r);
	}
	run(&r, SEC);
	ready(&r);
	run(&r, 5 * SEC);
	CHECK_EQ(r.limit, 500);
	run(&r, USEC_PER_MIN);
	r.limit = 600; /* what it learnt meanwhile */
	restart(&r);
	CHECK_EQ(r.limit, 1200);
	ready(&r);
	run(&r, 5 * SEC);
	CHECK_EQ(r.limit, 600);
}

/* The successor is Ready at once, or the rule is gone: the base is restored in both cases. */
static void test_restart_without(void)
{
	struct rig r = rig("2x 0s", 500, 500), gone = rig("2x 5s", 500, 500);

	run(&r, SEC);
	r.in.started_at = r.in.ready_since = r.in.now;
	pass(&r);
	CHECK_EQ(r.limit, 500);
	run(&gone, SEC);
	gone.in.rule = (struct boost_rule){0};
	restart(&gone);
	CHECK_EQ(gone.limit, 500);
	CHECK_EQ(gone.writes, 2);
}

/* The annotation is taken away, or changed. */
static void test_rule_changes(void)
{
	struct rig r = rig("2x 60s", 500, 500);

	run(&r, SEC);
	CHECK_EQ(boost_parse("+100m 20s", &r.in.rule), 0);
	run(&r, SEC);
	CHECK_EQ(r.limit, 1000); /* a floor: it lowers nothing before its end */
	CHECK_EQ(boost_parse("4x 20s", &r.in.rule), 0);
	run(&r, SEC);
	CHECK_EQ(r.limit, 2000);
	r.in.rule = (struct boost_rule){0};
	pass(&r);
	CHECK_EQ(r.limit, 500);
	CHECK_EQ(r.d.phase, BOOST_ENDING);
	run(&r, SEC);
	CHECK_EQ(r.d.phase, BOOST_OVER);
	CHECK_EQ(r.writes, 3);
}

static void test_mode_off(void)
{
	struct rig r = rig("2x 5s", 500, 500);

	r.in.mode = MODE_OFF;
	run(&r, SEC);
	CHECK_EQ(r.d.phase, BOOST_ACTIVE);
	CHECK_EQ(r.d.limit_milli, 1000); /* shown */
	CHECK(!r.d.write);
	CHECK(boost_covers(&r.b, START, r.in.now));
	ready(&r);
	run(&r, 5 * SEC);
	CHECK_EQ(r.d.phase, BOOST_OVER);
	CHECK_EQ(r.limit, 500);
	CHECK_EQ(r.writes, 0);
	/* Initial sizes at the start, and this is part of it. */
	r = rig("2x 5s", 500, 500);
	r.in.mode = MODE_INITIAL;
	pass(&r);
	CHECK_EQ(r.limit, 1000);
}

/* Paused across the end: the base is put back when it may be. */
static void test_paused(void)
{
	struct rig r = rig("2x 5s", 500, 500);

	run(&r, SEC);
	r.in.may_write = false;
	ready(&r);
	run(&r, 10 * SEC);
	CHECK_EQ(r.d.phase, BOOST_ENDING);
	CHECK_EQ(r.limit, 1000);
	r.in.may_write = true;
	pass(&r);
	CHECK_EQ(r.limit, 500);
	CHECK(boost_covers(&r.b, r.in.now - 1, r.in.now + SEC)); /* it really lasted until now */
	run(&r, SEC);
	CHECK_EQ(r.writes, 2);
}

static void test_no_limit(void)
{
	struct rig r = rig("2x 5s", LIMIT_MAX, LIMIT_MAX), lost = rig("2x 5s", 500, LIMIT_MAX);

	run(&r, SEC);
	run(&lost, SEC);
	CHECK_EQ(r.d.phase, BOOST_NONE);
	CHECK_EQ(r.writes + lost.writes, 0);
	CHECK(!boost_covers(&r.b, START, r.in.now));
}

/* The owner resizes it in the middle. */
static void test_adopted(void)
{
	struct rig r = rig("2x 5s", 500, 500);

	run(&r, SEC);
	r.limit = r.in.original_milli = 700;
	boost_adopt(&r.b, 700);
	run(&r, SEC);
	CHECK_EQ(r.limit, 1400);
	ready(&r);
	run(&r, 5 * SEC);
	CHECK_EQ(r.limit, 700);
}

/* The originals are put back by hand. */
static void test_restored(void)
{
	struct rig r = rig("2x 5s", 500, 400);

	run(&r, SEC);
	r.limit = 500;
	boost_put_back(&r.b, r.in.now);
	run(&r, USEC_PER_MIN);
	CHECK_EQ(r.limit, 500);
	CHECK_EQ(r.d.phase, BOOST_OVER);
	CHECK_EQ(r.writes, 1);
}

/* No moment of a boost reaches the history: neither the first span nor the one with the end. */
static void test_samples(void)
{
	struct rig r = rig("2x 5s", 500, 500);
	usec_t end;

	CHECK(!boost_covers(&r.b, START - SEC, START));
	pass(&r);
	CHECK(!boost_covers(&r.b, START - 2 * SEC, START));
	CHECK(boost_covers(&r.b, START - SEC, START + 1));
	CHECK(boost_covers(&r.b, START, START + SEC));
	run(&r, 3 * SEC);
	ready(&r);
	run(&r, 6 * SEC);
	end = r.last_write;
	CHECK(boost_covers(&r.b, end - SEC, end));
	CHECK(boost_covers(&r.b, end - 1, end + SEC));
	CHECK(!boost_covers(&r.b, end, end + SEC));
	restart(&r);
	CHECK(boost_covers(&r.b, r.in.now, r.in.now + SEC));
	/* Found long after its start: nothing was boosted, everything counts. */
	r = rig("2x 5s", 500, 500);
	r.in.now = START + USEC_PER_HOUR;
	r.in.ready_since = START + SEC;
	pass(&r);
	CHECK_EQ(r.d.phase, BOOST_OVER);
	CHECK_EQ(r.writes, 0);
	CHECK(!boost_covers(&r.b, START, START + 2 * USEC_PER_HOUR));
}

/* Values from elsewhere. */
static void test_odd(void)
{
	struct rig r = rig("100x 5s", LIMIT_MAX - 1, LIMIT_MAX - 1);

	r.in.ceiling_milli = LIMIT_MAX - 1;
	pass(&r);
	CHECK(r.d.limit_milli >= LIMIT_MAX - 20 && r.d.limit_milli < LIMIT_MAX);
	r = rig("2x 5s", 0, 0);
	r.in.ceiling_milli = 0;
	pass(&r);
	CHECK_EQ(r.d.limit_milli, 0);
	r = rig("2x 5s", 500, 500);
	r.in.rule.after_usec = UINT64_MAX;
	pass(&r);
	ready(&r);
	CHECK_EQ(r.d.next_at, START + USEC_PER_HOUR);
}

int main(void)
{
	test_factor();
	test_quantity();
	test_ends_in_time();
	test_base();
	test_ready_at_once();
	test_flapping();
	test_never_ready();
	test_ceiling();
	test_reflex();
	test_restart();
	test_restart_without();
	test_rule_changes();
	test_mode_off();
	test_paused();
	test_no_limit();
	test_adopted();
	test_restored();
	test_samples();
	test_odd();
	return check_result();
}

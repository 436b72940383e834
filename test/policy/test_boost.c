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

TEST(factor)
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

/* A restart of the container starts it anew, a crash in the middle from the same base. */
TEST(restart)
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
TEST(restart_without)
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

/* Paused across the end: the base is put back when it may be. */
TEST(paused)
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

/* No moment of a boost reaches the history: neither the first span nor the one with the end. */
TEST(samples)
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

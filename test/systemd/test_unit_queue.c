// SPDX-License-Identifier: Apache-2.0
/* The queue of property calls in virtual time. */
#include "systemd/unit_queue.h"
#include "test/check.h"
#include <errno.h>
#include <unistd.h>

#define MS USEC_PER_MSEC

static const struct unit_queue_config config = {
	.interval_usec = USEC_PER_SEC, .deadline_usec = 30 * USEC_PER_SEC, .window = 2};

static struct unit_queue *make(void)
{
	struct unit_queue *q = NULL;

	CHECK_EQ(unit_queue_new(&config, &q), 0);
	return q;
}

static int put(struct unit_queue *q, const char *unit, uint64_t mem_max, usec_t now)
{
	struct unit_call c = {.unit = unit, .props.mem_max = mem_max, .mask = UNIT_PROP_MEM_MAX};

	return unit_queue_put(q, &c, false, now);
}

static int put_urgent(struct unit_queue *q, const char *unit, uint64_t mem_max, usec_t now)
{
	struct unit_call c = {.unit = unit, .props.mem_max = mem_max, .mask = UNIT_PROP_MEM_MAX};

	return unit_queue_put(q, &c, true, now);
}

TEST(one_in_flight)
{
	struct unit_queue *q = make();
	struct unit_call c;

	CHECK(!unit_queue_take(q, 0, &c));
	CHECK(unit_queue_next(q) == UINT64_MAX);
	CHECK_EQ(put(q, "a.service", 100, 10 * MS), 0);
	CHECK_EQ(unit_queue_next(q), 10 * MS);
	CHECK(unit_queue_take(q, 10 * MS, &c));
	CHECK_STR(c.unit, "a.service");
	CHECK_EQ(c.props.mem_max, 100);
	CHECK_EQ(c.mask, UNIT_PROP_MEM_MAX);
	CHECK(unit_queue_pending(q, "a.service"));
	CHECK(!unit_queue_pending(q, "b.service"));

	/* urgent or not, a second call waits for the first one's answer */
	CHECK_EQ(put_urgent(q, "a.service", 200, 11 * MS), 0);
	CHECK(!unit_queue_take(q, 5 * USEC_PER_SEC, &c));
	CHECK_EQ(unit_queue_done(q, "a.service", 5 * USEC_PER_SEC), 5 * USEC_PER_SEC - 10 * MS);
	CHECK(unit_queue_take(q, 5 * USEC_PER_SEC, &c));
	CHECK_EQ(c.props.mem_max, 200);
	CHECK(unit_queue_done(q, "a.service", 6 * USEC_PER_SEC) > 0);
	CHECK(!unit_queue_pending(q, "a.service"));
	CHECK_EQ(unit_queue_done(q, "a.service", 7 * USEC_PER_SEC), 0);
	unit_queue_free(q);
}

TEST(coalesce)
{
	struct unit_queue *q = make();
	struct unit_call cpu = {.unit = "a.service", .mask = UNIT_PROP_CPU_QUOTA};
	struct unit_call high = {.unit = "a.service", .mask = UNIT_PROP_MEM_HIGH};
	struct unit_call c;

	cpu.props = (struct unit_props){.cpu_quota_per_sec_usec = 1, .cpu_quota_period_usec = 2};
	high.props = (struct unit_props){.mem_high = 3};
	put(q, "a.service", 100, 1);
	CHECK(unit_queue_take(q, 1, &c));
	for (uint64_t i = 0; i < 50; i++)
		put(q, "a.service", 1000 + i, 2 + i);
	CHECK_EQ(unit_queue_put(q, &cpu, false, 60), 0);
	CHECK_EQ(unit_queue_put(q, &high, false, 61), 0);
	unit_queue_done(q, "a.service", 70);
	CHECK(!unit_queue_take(q, 70, &c));
	CHECK_EQ(unit_queue_next(q), 1 + USEC_PER_SEC);
	CHECK(!unit_queue_take(q, USEC_PER_SEC, &c));
	CHECK(unit_queue_take(q, 1 + USEC_PER_SEC, &c));
	CHECK_EQ(c.mask, UNIT_PROP_ALL);
	CHECK_EQ(c.props.mem_max, 1049);
	CHECK_EQ(c.props.cpu_quota_per_sec_usec, 1);
	CHECK_EQ(c.props.cpu_quota_period_usec, 2);
	CHECK_EQ(c.props.mem_high, 3);
	CHECK(!unit_queue_take(q, 10 * USEC_PER_SEC, &c));
	unit_queue_free(q);
}

TEST(interval_and_urgency)
{
	struct unit_queue *q = make();
	struct unit_call c;

	put(q, "a.service", 1, 0);
	CHECK(unit_queue_take(q, 0, &c));
	unit_queue_done(q, "a.service", 1 * MS);
	put(q, "a.service", 2, 2 * MS);
	CHECK(!unit_queue_take(q, 2 * MS, &c));
	put_urgent(q, "a.service", 3, 3 * MS); /* one urgent value makes the waiting call urgent */
	CHECK(unit_queue_take(q, 3 * MS, &c));
	CHECK_EQ(c.props.mem_max, 3);
	unit_queue_done(q, "a.service", 4 * MS);
	/* a plain value does not take the urgency back */
	put_urgent(q, "u.service", 1, 4 * MS);
	CHECK(unit_queue_take(q, 4 * MS, &c));
	unit_queue_done(q, "u.service", 4 * MS);
	put_urgent(q, "u.service", 2, 5 * MS);
	put(q, "u.service", 3, 5 * MS);
	CHECK(unit_queue_take(q, 5 * MS, &c));
	CHECK_EQ(c.props.mem_max, 3);
	unit_queue_done(q, "u.service", 5 * MS);
	/* and the next plain one keeps its distance from that one */
	put(q, "a.service", 4, 5 * MS);
	CHECK_EQ(unit_queue_next(q), 3 * MS + USEC_PER_SEC);
	/* after the pause a plain one goes at once */
	CHECK(unit_queue_take(q, 3 * MS + USEC_PER_SEC, &c));
	unit_queue_done(q, "a.service", 2 * USEC_PER_SEC);
	put(q, "a.service", 5, 60 * USEC_PER_SEC);
	CHECK(unit_queue_take(q, 60 * USEC_PER_SEC, &c));
	unit_queue_free(q);
}

TEST(window_and_order)
{
	struct unit_queue *q = make();
	struct unit_call c;

	put(q, "a.service", 1, 1);
	put(q, "b.service", 2, 2);
	put(q, "c.service", 3, 2);
	put_urgent(q, "d.service", 4, 3);
	put_urgent(q, "e.service", 5, 4);
	CHECK(unit_queue_take(q, 10, &c));
	CHECK_STR(c.unit, "d.service");
	CHECK(unit_queue_take(q, 10, &c));
	CHECK_STR(c.unit, "e.service");
	CHECK(!unit_queue_take(q, 10, &c));
	/* nothing but deadlines to wait for while the window is full */
	CHECK_EQ(unit_queue_next(q), 10 + 30 * USEC_PER_SEC);
	unit_queue_done(q, "d.service", 11);
	CHECK(unit_queue_take(q, 11, &c));
	CHECK_STR(c.unit, "a.service");
	unit_queue_done(q, "e.service", 12);
	CHECK(unit_queue_take(q, 12, &c));
	CHECK_STR(c.unit, "b.service");
	unit_queue_done(q, "a.service", 13);
	CHECK(unit_queue_take(q, 13, &c));
	CHECK_STR(c.unit, "c.service");
	/* a newer value keeps its place in the line */
	put(q, "f.service", 1, 14);
	put(q, "g.service", 1, 15);
	put(q, "f.service", 2, 16);
	unit_queue_done(q, "b.service", 17);
	CHECK(unit_queue_take(q, 17, &c));
	CHECK_STR(c.unit, "f.service");
	CHECK_EQ(c.props.mem_max, 2);
	unit_queue_free(q);
}

TEST(deadline)
{
	struct unit_queue *q = make();
	struct unit_call c;

	put(q, "a.service", 1, 0);
	CHECK(unit_queue_take(q, 0, &c));
	put(q, "a.service", 2, 1);
	CHECK(unit_queue_expire(q, 30 * USEC_PER_SEC - 1) == NULL);
	CHECK_STR(unit_queue_expire(q, 30 * USEC_PER_SEC), "a.service");
	CHECK(unit_queue_expire(q, 30 * USEC_PER_SEC) == NULL);
	CHECK(unit_queue_pending(q, "a.service"));
	/* the slot is free again, what waited may go */
	CHECK(unit_queue_take(q, 30 * USEC_PER_SEC, &c));
	CHECK_EQ(c.props.mem_max, 2);
	unit_queue_free(q);
}

TEST(drop)
{
	struct unit_queue *q = make();
	struct unit_call c;
	unsigned seen = 0;
	char *unit;

	put(q, "a.service", 1, 0);
	put(q, "b.service", 1, 0);
	put(q, "c.service", 1, 0);
	CHECK(unit_queue_take(q, 0, &c));
	while ((unit = unit_queue_drop(q)) && seen < 10) {
		seen++;
		free(unit);
	}
	CHECK_EQ(seen, 3);
	CHECK(unit_queue_next(q) == UINT64_MAX);
	CHECK(!unit_queue_take(q, 60 * USEC_PER_SEC, &c));
	/* the window is whole again */
	put(q, "a.service", 1, 60 * USEC_PER_SEC);
	put(q, "b.service", 1, 60 * USEC_PER_SEC);
	CHECK(unit_queue_take(q, 60 * USEC_PER_SEC, &c));
	CHECK(unit_queue_take(q, 60 * USEC_PER_SEC, &c));
	unit_queue_free(q);
}

TEST(refused)
{
	struct unit_queue *q = make();
	struct unit_call c = {.unit = "a.service", .mask = 0};

	CHECK_EQ(unit_queue_put(q, &c, false, 0), -EINVAL);
	c.mask = UNIT_PROP_ALL + 1;
	CHECK_EQ(unit_queue_put(q, &c, false, 0), -EINVAL);
	CHECK(!unit_queue_pending(q, "a.service"));
	unit_queue_free(q);
	unit_queue_free(NULL);
}

/* A thousand units in an hour of random values: the rules hold at every step. */
TEST(random)
{
	struct unit_queue *q = make();
	usec_t sent[50] = {0}, now = USEC_PER_SEC;
	bool flying[50] = {false}, urgent[50] = {false};
	unsigned in_flight = 0, calls = 0;
	struct unit_call c;

	srandom(7);
	fprintf(stderr, "seed 7\n");
	for (int step = 0; step < 20000; step++) {
		char name[32];
		long u = random() % 50;

		now += (usec_t)(random() % 20) * MS;
		snprintf(name, sizeof name, "u%ld.service", u);
		if (random() % 3 == 0 && flying[u]) {
			CHECK_EQ(unit_queue_done(q, name, now), now - sent[u]);
			flying[u] = false;
			in_flight--;
		} else {
			bool hurry = random() % 8 == 0;

			CHECK_EQ((hurry ? put_urgent : put)(q, name, (uint64_t)step, now), 0);
			urgent[u] |= hurry;
		}
		while (unit_queue_take(q, now, &c)) {
			long at = strtol(c.unit + 1, NULL, 10);

			CHECK(!flying[at]);
			CHECK(urgent[at] || sent[at] == 0 || now - sent[at] >= USEC_PER_SEC);
			CHECK(++in_flight <= config.window);
			flying[at] = true;
			urgent[at] = false;
			sent[at] = now;
			calls++;
		}
		for (const char *e; (e = unit_queue_expire(q, now));) {
			long at = strtol(e + 1, NULL, 10);

			CHECK(now - sent[at] >= config.deadline_usec);
			flying[at] = false;
			in_flight--;
		}
		CHECK(unit_queue_next(q) > now || in_flight == config.window);
	}
	CHECK(calls > 50);
	unit_queue_free(q);
}

/* The unit is gone: what waited for it is not sent to the one that comes. */
TEST(forget)
{
	struct unit_queue *q = make();
	struct unit_call c;

	unit_queue_forget(q, "a.scope");
	put(q, "a.scope", 1, 0);
	unit_queue_forget(q, "a.scope");
	CHECK(!unit_queue_pending(q, "a.scope"));
	CHECK(!unit_queue_take(q, 0, &c));
	put(q, "a.scope", 2, 0);
	CHECK(unit_queue_take(q, 0, &c));
	put_urgent(q, "a.scope", 3, 1);
	put(q, "b.scope", 4, 1);
	unit_queue_forget(q, "a.scope");
	CHECK(unit_queue_pending(q, "a.scope")); /* what is in flight stays */
	CHECK_EQ(unit_queue_done(q, "a.scope", 5), 5);
	CHECK(unit_queue_take(q, USEC_PER_MIN, &c));
	CHECK_STR(c.unit, "b.scope");
	CHECK(!unit_queue_take(q, USEC_PER_MIN, &c));
	unit_queue_free(q);
}

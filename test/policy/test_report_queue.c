// SPDX-License-Identifier: Apache-2.0
/* One node's queue of reports: coalescing, order, rate, 429, outage. */
#include "policy/report/report_queue.h"
#include "test/check.h"

#define S USEC_PER_SEC

static const struct report_rate rate = {
	.interval_usec = 10 * S, .burst = 20, .spread_usec = 60 * S};

static const char *uid_of(unsigned n)
{
	static char uid[16];

	snprintf(uid, sizeof uid, "pod-%u", n);
	return uid;
}

static unsigned out_of_turn;

/* Of all pods of a test. */
static struct {
	char uid[16];
	struct report_slot slot;
} pods[128];
static size_t pod_count;

static struct report_slot *slot_of(const char *uid)
{
	size_t i = 0;

	while (i < pod_count && strcmp(pods[i].uid, uid) != 0)
		i++;
	if (i == pod_count) {
		CHECK(i < ARRAY_SIZE(pods));
		snprintf(pods[i].uid, sizeof pods[i].uid, "%s", uid);
		pods[i].slot = (struct report_slot){.uid = pods[i].uid};
		pod_count++;
	}
	return &pods[i].slot;
}

static void begin(struct report_queue *q, const struct report_rate *r, uint64_t seed, usec_t now)
{
	pod_count = 0;
	report_queue_init(q, r, seed, now);
}

static void mark(struct report_queue *q, const char *uid, enum report_urgency urgency, usec_t now)
{
	report_queue_mark(q, slot_of(uid), urgency, now);
}

/* Takes what may be sent now; "" when nothing may. */
static const char *pop(struct report_queue *q, usec_t now)
{
	struct report_slot *s = report_queue_next(q, now);

	if (s == NULL)
		return "";
	if (!report_queue_take(q, s->urgency, now))
		out_of_turn++;
	report_queue_drop(q, s);
	return s->uid;
}

TEST(coalesces)
{
	struct report_queue q;

	begin(&q, &rate, 1, S);
	for (unsigned i = 0; i < 10000; i++)
		mark(&q, uid_of(i % 30), REPORT_ORDINARY, S + i);
	CHECK_EQ(q.count, 30);
	CHECK_EQ(slot_of("pod-0")->since, S);
}

TEST(order)
{
	struct report_queue q;

	begin(&q, &rate, 1, S);
	mark(&q, "old", REPORT_ORDINARY, S);
	mark(&q, "memory", REPORT_MEMORY_RAISE, 2 * S);
	mark(&q, "young", REPORT_ORDINARY, 3 * S);
	mark(&q, "back", REPORT_AT_ONCE, 4 * S);
	mark(&q, "risen", REPORT_ORDINARY, 5 * S);
	mark(&q, "risen", REPORT_MEMORY_RAISE, 6 * S);
	/* It grew, and does not any more: as old as it is, and no more urgent than that. */
	mark(&q, "fallen", REPORT_ORDINARY, 2 * S);
	mark(&q, "fallen", REPORT_LEADS, 6 * S);
	mark(&q, "fallen", REPORT_ORDINARY, 7 * S);
	CHECK_STR(pop(&q, 8 * S), "back");
	CHECK_STR(pop(&q, 8 * S), "memory");
	CHECK_STR(pop(&q, 8 * S), "risen");
	CHECK_STR(pop(&q, 8 * S), "old");
	CHECK_STR(pop(&q, 8 * S), "fallen");
	CHECK_STR(pop(&q, 8 * S), "young");
	CHECK_STR(pop(&q, 8 * S), "");
	CHECK_EQ(report_queue_due(&q, 8 * S), 0);
	report_queue_drop(&q, slot_of("unknown"));
}

TEST(rate)
{
	struct report_queue q;
	usec_t now = S;
	unsigned sent = 0;

	begin(&q, &rate, 1, now);
	for (unsigned i = 0; i < 100; i++)
		mark(&q, uid_of(i), REPORT_ORDINARY, now);
	while (*pop(&q, now))
		sent++;
	CHECK_EQ(sent, 20);
	CHECK_EQ((report_queue_due(&q, now) - now) / S, 10);
	/* One in 10 s from then on, however often one passes. */
	for (sent = 0; now < 601 * S; now += S / 10)
		sent += *pop(&q, now) != '\0';
	CHECK(sent >= 59 && sent <= 60);
}

/* Passes at the due times are enough. */
TEST(due_is_reached)
{
	struct report_queue q;
	usec_t now = S;
	unsigned passes = 0, sent = 0;

	begin(&q, &rate, 1, now);
	for (unsigned i = 0; i < 100; i++)
		mark(&q, uid_of(i), REPORT_ORDINARY, now);
	for (; q.count > 0 && passes < 200; passes++) {
		now = report_queue_due(&q, now);
		sent += *pop(&q, now) != '\0';
	}
	CHECK_EQ(sent, 100);
	CHECK_EQ(passes, 100);
}

TEST(slow_down)
{
	struct report_queue q;
	usec_t now = S, opens;

	begin(&q, &rate, 1, now);
	mark(&q, "a", REPORT_AT_ONCE, now);
	report_queue_slow(&q, 8 * S, now);
	opens = report_queue_opens_event(&q, true, now);
	CHECK(opens >= now + 8 * S && opens < now + 10 * S);
	CHECK_STR(pop(&q, opens - 1), "");
	CHECK_STR(pop(&q, opens), "a");
	/* Nothing said: a second; more than a minute: that, and a quarter. A lead: 5 s. */
	now = opens;
	report_queue_slow(&q, 0, now);
	CHECK(report_queue_opens_event(&q, true, now) >= now + S);
	report_queue_slow(&q, UINT64_MAX, now);
	CHECK(report_queue_opens_event(&q, true, now) <= now + 75 * S);
	mark(&q, "a", REPORT_ORDINARY, now);
	mark(&q, "b", REPORT_LEADS, now);
	CHECK_STR(pop(&q, now + 4 * S), "");
	CHECK_STR(pop(&q, now + 5 * S), "b");
	CHECK_STR(pop(&q, now + 5 * S), "");
}

/* An hour without a server, with 10,000 changes: few tries, then one report per changed pod. */
static void outage(usec_t length, uint64_t seed)
{
	struct report_queue q;
	usec_t now = S, end = now + length, last = 0;
	unsigned reported[30] = {0}, tries = 0, total = 0, n;

	begin(&q, &rate, seed, now);
	for (unsigned i = 0; now < end; i++, now += length / 10000 + 1) {
		mark(&q, uid_of(i % 30), REPORT_ORDINARY, now);
		if (report_queue_next(&q, now) == NULL)
			continue;
		report_queue_take(&q, REPORT_ORDINARY, now);
		report_queue_failed(&q, now);
		tries++;
	}
	CHECK_EQ(q.count, 30);
	CHECK(tries <= 8 + length / (30 * S));
	report_queue_healthy(&q, now);
	end = now;
	while (q.count > 0) {
		now = report_queue_due(&q, now);
		if (sscanf(pop(&q, now), "pod-%u", &n) != 1 || n >= 30)
			continue;
		reported[n]++;
		if (++total == 20)
			last = now;
	}
	for (unsigned i = 0; i < 30; i++)
		CHECK_EQ(reported[i], 1);
	/* Spread, not at once, and not later than the spread unless the rate holds it. */
	CHECK(last > end + 10 * S && last <= end + 80 * S);
}

/* Reports marked in the minute after an outage are spread as well. */
TEST(spread_takes_what_is_new)
{
	struct report_queue q;
	usec_t now = S;
	unsigned later = 0;

	begin(&q, &rate, 7, now);
	report_queue_failed(&q, now);
	report_queue_healthy(&q, now);
	for (unsigned i = 0; i < 30; i++)
		mark(&q, uid_of(i), REPORT_ORDINARY, now);
	for (unsigned i = 0; i < 30; i++)
		later += slot_of(uid_of(i))->not_before > now;
	CHECK(later > 25);
	now += 60 * S;
	mark(&q, "x", REPORT_ORDINARY, now);
	CHECK_EQ(slot_of("x")->not_before, 0);
}

/* Urgent reports are not spread: marked before the outage ended, in the minute after, or made
 * urgent in it. */
TEST(at_once_is_not_spread)
{
	struct report_queue q;

	begin(&q, &rate, 1, S);
	mark(&q, "before", REPORT_AT_ONCE, S);
	mark(&q, "risen", REPORT_ORDINARY, S);
	report_queue_failed(&q, S);
	report_queue_healthy(&q, 2 * S);
	mark(&q, "new", REPORT_AT_ONCE, 2 * S);
	CHECK_STR(pop(&q, 2 * S), "before");
	CHECK_STR(pop(&q, 2 * S), "new");
	CHECK_STR(pop(&q, 2 * S), "");
	mark(&q, "risen", REPORT_AT_ONCE, 2 * S);
	CHECK_STR(pop(&q, 2 * S), "risen");
	/* No hurry after all: into the spread with the others. */
	mark(&q, "fallen", REPORT_AT_ONCE, 2 * S);
	mark(&q, "fallen", REPORT_ORDINARY, 2 * S);
	CHECK_STR(pop(&q, 2 * S), "");
	CHECK(report_queue_due(&q, 2 * S) <= 2 * S + rate.spread_usec);
}

/* During an outage, a report that is no longer urgent waits for its end. */
TEST(no_more_urgent)
{
	struct report_queue q;

	begin(&q, &rate, 1, S);
	report_queue_failed(&q, S);
	mark(&q, "a", REPORT_LEADS, S);
	CHECK_EQ(report_queue_due(&q, S), S);
	mark(&q, "a", REPORT_ORDINARY, S);
	CHECK_STR(pop(&q, S), "");
	CHECK_EQ(report_queue_due(&q, S), q.try_at);
}

/* Beside the ordinary budget leads have 32 at once, then one every 5 s. */
TEST(budget_of_leads)
{
	const struct report_rate slow = {.interval_usec = 600 * S, .burst = 1};
	struct report_queue q;

	begin(&q, &slow, 1, S);
	for (unsigned i = 0; i < 35; i++)
		mark(&q, uid_of(i), REPORT_LEADS, S);
	for (unsigned i = 0; i < 1 + 32; i++)
		CHECK(*pop(&q, S) != '\0');
	CHECK_STR(pop(&q, S), "");
	CHECK_EQ(report_queue_due(&q, S), 6 * S + 1);
	CHECK_STR(pop(&q, 6 * S - 10 * USEC_PER_MSEC), "");
	CHECK(*pop(&q, 6 * S) != '\0');
	CHECK_STR(pop(&q, 6 * S), "");
}

/* An outage of an hour: leads are tried at once, and still seldom. */
TEST(leads_have_their_own_budget)
{
	struct report_queue q;
	usec_t now = S, at = 0;
	unsigned tries = 0, before = out_of_turn;

	begin(&q, &rate, 1, now);
	mark(&q, "other", REPORT_AT_ONCE, now);
	CHECK_STR(pop(&q, now), "other");
	report_queue_failed(&q, now);
	mark(&q, "other", REPORT_AT_ONCE, now);
	CHECK_STR(pop(&q, now), "");
	at = q.try_at;
	mark(&q, "fast", REPORT_LEADS, now);
	CHECK_EQ(report_queue_due(&q, now), now);
	CHECK_STR(pop(&q, now), "fast");
	CHECK_EQ(out_of_turn, ++before);
	CHECK_EQ(q.try_at, at); /* the others' turn stays */
	report_queue_drop(&q, slot_of("other"));
	for (usec_t end = now + 3600 * S; now < end; now += S / 10) {
		mark(&q, "fast", REPORT_LEADS, now);
		if (*pop(&q, now) == '\0')
			continue;
		tries++;
		if (out_of_turn == before + 1)
			before++;
		else
			report_queue_failed(&q, now);
	}
	/* One in five seconds, and those that the outage allows anyway. */
	CHECK(tries > 720 && tries < 720 + 32 + 120);
	report_queue_slow(&q, 8 * S, now);
	CHECK_STR(pop(&q, now + 4 * S), "");
}

/* Annotations of a full node take no more than half of the burst: a resize finds the rest. */
TEST(annotations_leave_room)
{
	struct report_queue q;
	usec_t now = S;
	unsigned sent = 0;

	begin(&q, &rate, 1, now);
	for (unsigned i = 0; i < 100; i++)
		mark(&q, uid_of(i), REPORT_ANNOTATION, now);
	while (*pop(&q, now))
		sent++;
	CHECK_EQ(sent, 10);
	CHECK_EQ((report_queue_due(&q, now) - now) / S, 10);
	for (unsigned i = 0; i < 11; i++)
		mark(&q, uid_of(i), REPORT_ORDINARY, now);
	for (unsigned i = 0; i < 10; i++)
		CHECK(*pop(&q, now) != '\0');
	CHECK_STR(pop(&q, now), "");
}

TEST(with_parameters)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		outage(10 * S, seed);
		outage(3600 * S, seed);
		outage(86400 * S, seed);
	}
}

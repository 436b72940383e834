// SPDX-License-Identifier: Apache-2.0
#include "policy/report/report_queue.h"
#include <errno.h>
#include <string.h>

#define TRY_FIRST USEC_PER_SEC
#define TRY_MAX   (60 * USEC_PER_SEC)
#define SLOW_MIN  USEC_PER_SEC
/* A lead saves a process, and each covers a minute of growth. The burst is for as many containers
 * as outgrow their limits together on a busy node; the interval keeps an outage's writes few. */
#define LEADING_INTERVAL (5 * USEC_PER_SEC)
#define LEADING_BURST    32
/* kube-apiserver says 1 s, a proxy may say anything. One write in this time is what an outage takes
 * as well; leads go as often as then. */
#define SLOW_MAX TRY_MAX

/* splitmix64: the same seed and text give the same number. */
static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* 0 .. span-1, of the seed and what it is for. */
static usec_t part_of(uint64_t seed, const char *text, usec_t at, usec_t span)
{
	uint64_t hash = mix(seed ^ mix(at));

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 1099511628211ULL;
	return span ? mix(hash) % span : 0;
}

static struct report_bucket bucket_full(usec_t interval_usec, uint32_t burst, usec_t now)
{
	return (struct report_bucket){
		.interval_usec = MAX(interval_usec, (usec_t)1),
		.burst = burst,
		.permille = (uint64_t)burst * 1000,
		.filled_at = now,
	};
}

void report_queue_init(struct report_queue *q, const struct report_rate *rate, uint64_t seed,
		       usec_t now)
{
	*q = (struct report_queue){
		.rate = *rate,
		.seed = seed,
		.writes = bucket_full(rate->interval_usec, rate->burst, now),
		.leading = bucket_full(LEADING_INTERVAL, LEADING_BURST, now),
	};
}

void report_queue_free(struct report_queue *q)
{
	free(q->slots);
	*q = (struct report_queue){0};
}

static struct report_slot *report_queue_find(const struct report_queue *q, const char *uid)
{
	for (size_t i = 0; i < q->count; i++)
		if (strcmp(q->slots[i].uid, uid) == 0)
			return &q->slots[i];
	return NULL;
}

static int make_room(struct report_queue *q)
{
	size_t capacity = q->capacity ? 2 * q->capacity : 16;
	struct report_slot *slots;

	if (q->count < q->capacity)
		return 0;
	slots = reallocarray(q->slots, capacity, sizeof *slots);
	if (slots == NULL)
		return -ENOMEM;
	q->slots = slots;
	q->capacity = capacity;
	return 0;
}

/* Places a slot; one that is not urgent waits for its part of the spread. */
static void report_queue_place(const struct report_queue *q, struct report_slot *s,
			       enum report_urgency urgency, bool was_at_once, usec_t now)
{
	s->held &= s->urgency == urgency;
	s->urgency = urgency;
	if (urgency <= REPORT_AT_ONCE)
		s->not_before = 0;
	else if (was_at_once && now < q->spread_until)
		s->not_before = now + part_of(q->seed, s->uid, now, q->spread_until - now);
}

int report_queue_mark(struct report_queue *q, const char *uid, enum report_urgency urgency,
		      usec_t now)
{
	struct report_slot *s = report_queue_find(q, uid);
	size_t length = strlen(uid);
	int r;

	if (s != NULL) {
		report_queue_place(q, s, urgency, s->urgency <= REPORT_AT_ONCE, now);
		return 0;
	}
	if (length >= REPORT_UID_MAX)
		return -ENAMETOOLONG;
	r = make_room(q);
	if (r < 0)
		return r;
	s = &q->slots[q->count++];
	*s = (struct report_slot){.since = now};
	memcpy(s->uid, uid, length + 1);
	report_queue_place(q, s, urgency, true, now);
	return 0;
}

void report_queue_release(struct report_queue *q)
{
	for (size_t i = 0; i < q->count; i++)
		q->slots[i].held = false;
}

bool report_queue_holds(const struct report_queue *q, const char *uid)
{
	return report_queue_find(q, uid) != NULL;
}

void report_queue_drop(struct report_queue *q, const char *uid)
{
	struct report_slot *s = report_queue_find(q, uid);

	if (s != NULL)
		*s = q->slots[--q->count];
}

static uint64_t tokens(const struct report_bucket *b, usec_t now)
{
	uint64_t more = mul_div(now - b->filled_at, 1000, b->interval_usec);

	return MIN(add_sat(b->permille, more), (uint64_t)b->burst * 1000);
}

static void report_queue_take_slot(struct report_bucket *b, usec_t now)
{
	uint64_t have = tokens(b, now);

	b->permille = have > 1000 ? have - 1000 : 0;
	b->filled_at = now;
}

/* When there are that many tokens. */
static usec_t filled(const struct report_bucket *b, uint64_t permille, usec_t now)
{
	uint64_t have = tokens(b, now);

	/* One more, against the rounding of the fill. */
	return have >= permille
		       ? now
		       : add_sat(now, mul_div(permille - have, b->interval_usec, 1000) + 1);
}

/* When a write may go out at the earliest that leaves so many tokens to others. */
static usec_t opens_with(const struct report_queue *q, uint32_t spare, usec_t now)
{
	usec_t at = filled(&q->writes, 1000 + (uint64_t)spare * 1000, now);

	if (q->outage)
		at = MAX(at, q->try_at);
	return MAX(MAX(now, q->slow_until), at);
}

/* When a write of this urgency may go out at the earliest. */
static usec_t opens(const struct report_queue *q, enum report_urgency urgency, usec_t now)
{
	usec_t at = opens_with(q, urgency == REPORT_ANNOTATION ? q->rate.burst / 2 : 0, now);

	if (urgency == REPORT_LEADS_AGAIN)
		return MAX(filled(&q->leading, 1000 + LEADING_BURST * 500, now),
			   q->lead_slow_until);
	return urgency == REPORT_LEADS
		       ? MAX(MIN(at, filled(&q->leading, 1000, now)), q->lead_slow_until)
		       : at;
}

usec_t report_queue_opens_event(const struct report_queue *q, bool turn, usec_t now)
{
	return opens_with(q, turn ? 0 : q->rate.burst / 4, now);
}

bool report_queue_take(struct report_queue *q, enum report_urgency urgency, usec_t now)
{
	if (urgency == REPORT_LEADS_AGAIN ||
	    (urgency == REPORT_LEADS && opens(q, REPORT_ORDINARY, now) > now)) {
		report_queue_take_slot(&q->leading, now);
		return false;
	}
	report_queue_take_slot(&q->writes, now);
	/* During an outage there is one write at a time. */
	if (q->outage)
		q->try_at = add_sat(now, q->outage_step);
	return true;
}

static void opens_all(const struct report_queue *q, usec_t now, usec_t ret[REPORT_URGENCY_COUNT])
{
	for (size_t u = 0; u < REPORT_URGENCY_COUNT; u++)
		ret[u] = opens(q, (enum report_urgency)u, now);
}

/* Does a come before b, both being ready? */
static bool before(const struct report_slot *a, const struct report_slot *b)
{
	if (a->urgency != b->urgency)
		return a->urgency < b->urgency;
	return a->since < b->since;
}

struct report_slot *report_queue_next(const struct report_queue *q, usec_t now)
{
	struct report_slot *best = NULL;
	usec_t at[REPORT_URGENCY_COUNT];

	opens_all(q, now, at);
	for (size_t i = 0; i < q->count; i++) {
		struct report_slot *s = &q->slots[i];

		if (!s->held && MAX(s->not_before, at[s->urgency]) <= now &&
		    (best == NULL || before(s, best)))
			best = s;
	}
	return best;
}

usec_t report_queue_due(const struct report_queue *q, usec_t now)
{
	usec_t first = UINT64_MAX, at[REPORT_URGENCY_COUNT];

	opens_all(q, now, at);
	for (size_t i = 0; i < q->count; i++)
		if (!q->slots[i].held)
			first = MIN(first, MAX(q->slots[i].not_before, at[q->slots[i].urgency]));
	return first != UINT64_MAX ? first : 0;
}

void report_queue_slow(struct report_queue *q, usec_t retry_after_usec, usec_t now)
{
	usec_t span = MIN(MAX(retry_after_usec, SLOW_MIN), SLOW_MAX);

	/* Up to a quarter more, so that not all of the cluster comes back in the same second. */
	span += part_of(q->seed, "slow", now, span / 4);
	q->slow_until = MAX(q->slow_until, add_sat(now, span));
	q->lead_slow_until = MAX(q->lead_slow_until, add_sat(now, MIN(span, LEADING_INTERVAL)));
}

void report_queue_failed(struct report_queue *q, usec_t now)
{
	q->outage_step = q->outage ? MIN(2 * q->outage_step, TRY_MAX) : TRY_FIRST;
	q->outage = true;
	/* Half to all of the step. */
	q->try_at =
		add_sat(now, q->outage_step / 2 + part_of(q->seed, "try", now, q->outage_step / 2));
}

void report_queue_healthy(struct report_queue *q, usec_t now)
{
	if (!q->outage)
		return;
	q->outage = false;
	q->spread_until = add_sat(now, q->rate.spread_usec);
	for (size_t i = 0; i < q->count; i++) {
		struct report_slot *s = &q->slots[i];

		if (s->urgency > REPORT_AT_ONCE)
			s->not_before =
				add_sat(now, part_of(q->seed, s->uid, now, q->rate.spread_usec));
	}
}

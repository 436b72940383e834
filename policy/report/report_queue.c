// SPDX-License-Identifier: Apache-2.0
#include "policy/report/report_queue.h"

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

/* The same seed and text give the same number. */
static uint64_t mix(uint64_t x)
{
	return random_next(&x);
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

void report_queue_mark(struct report_queue *q, struct report_slot *s, enum report_urgency urgency,
		       usec_t now)
{
	bool was_at_once = !s->waits || s->urgency <= REPORT_AT_ONCE;

	if (!s->waits) {
		*s = (struct report_slot){
			.uid = s->uid, .next = q->first, .waits = true, .since = now};
		q->first = s;
		q->count++;
	}
	s->held &= s->urgency == urgency;
	s->urgency = urgency;
	/* One that is not urgent waits for its part of the spread. */
	if (urgency <= REPORT_AT_ONCE)
		s->not_before = 0;
	else if (was_at_once && now < q->spread_until)
		s->not_before = now + part_of(q->seed, s->uid, now, q->spread_until - now);
}

void report_queue_release(struct report_queue *q)
{
	for (struct report_slot *s = q->first; s != NULL; s = s->next)
		s->held = false;
}

void report_queue_drop(struct report_queue *q, struct report_slot *s)
{
	struct report_slot **at = &q->first;

	if (!s->waits)
		return;
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	s->waits = false;
	q->count--;
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

/* When a write of this urgency may go out in turn at the earliest. */
static usec_t opens_in_turn(const struct report_queue *q, enum report_urgency urgency, usec_t now)
{
	/* Dozens of leads at once would take the raises of others all tokens for 10 s. */
	uint32_t spare = urgency == REPORT_LEADS        ? q->rate.burst / 4
			 : urgency == REPORT_ANNOTATION ? q->rate.burst / 2
							: 0;

	return opens_with(q, spare, now);
}

/* When a write of this urgency may go out at the earliest. */
static usec_t opens(const struct report_queue *q, enum report_urgency urgency, usec_t now)
{
	usec_t at = opens_in_turn(q, urgency, now);

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
	    (urgency == REPORT_LEADS && opens_in_turn(q, urgency, now) > now)) {
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
	for (struct report_slot *s = q->first; s != NULL; s = s->next)
		if (!s->held && MAX(s->not_before, at[s->urgency]) <= now &&
		    (best == NULL || !before(best, s)))
			best = s;
	return best;
}

usec_t report_queue_due(const struct report_queue *q, usec_t now)
{
	usec_t first = UINT64_MAX, at[REPORT_URGENCY_COUNT];

	opens_all(q, now, at);
	for (const struct report_slot *s = q->first; s != NULL; s = s->next)
		if (!s->held)
			first = MIN(first, MAX(s->not_before, at[s->urgency]));
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
	for (struct report_slot *s = q->first; s != NULL; s = s->next)
		if (s->urgency > REPORT_AT_ONCE)
			s->not_before =
				add_sat(now, part_of(q->seed, s->uid, now, q->rate.spread_usec));
}

void report_queue_answered(struct report_queue *q, const struct report_answer *a, bool in_turn,
			   usec_t now)
{
	if (a->kind == REPORT_ANSWER_SLOW_DOWN)
		report_queue_slow(q, a->retry_after_usec, now);
	else if (a->server_works)
		report_queue_healthy(q, now);
	else if (in_turn || !q->outage)
		report_queue_failed(q, now);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/report_queue.h"
#include "policy/bounds.h"
#include <errno.h>
#include <string.h>

#define TRY_FIRST USEC_PER_SEC
#define TRY_MAX   (60 * USEC_PER_SEC)
#define SLOW_MIN  USEC_PER_SEC
/* A proxy may say anything; more than this is not believed. */
#define SLOW_MAX USEC_PER_HOUR

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

void report_queue_init(struct report_queue *q, const struct report_rate *rate, uint64_t seed,
		       usec_t now)
{
	*q = (struct report_queue){
		.rate = *rate,
		.seed = seed,
		.tokens_permille = (uint64_t)rate->burst * 1000,
		.filled_at = now,
	};
}

void report_queue_free(struct report_queue *q)
{
	free(q->slots);
	*q = (struct report_queue){0};
}

static struct report_slot *find(const struct report_queue *q, const char *uid)
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

int report_queue_mark(struct report_queue *q, const char *uid, enum report_urgency urgency,
		      usec_t now)
{
	struct report_slot *s = find(q, uid);
	size_t length = strlen(uid);
	int r;

	if (s != NULL) {
		s->urgency = MIN(s->urgency, urgency);
		if (urgency == REPORT_AT_ONCE)
			s->not_before = 0;
		return 0;
	}
	if (length >= REPORT_UID_MAX)
		return -ENAMETOOLONG;
	r = make_room(q);
	if (r < 0)
		return r;
	s = &q->slots[q->count++];
	*s = (struct report_slot){.urgency = urgency, .since = now};
	memcpy(s->uid, uid, length + 1);
	if (now < q->spread_until && urgency != REPORT_AT_ONCE)
		s->not_before = now + part_of(q->seed, uid, now, q->spread_until - now);
	return 0;
}

bool report_queue_holds(const struct report_queue *q, const char *uid)
{
	return find(q, uid) != NULL;
}

void report_queue_drop(struct report_queue *q, const char *uid)
{
	struct report_slot *s = find(q, uid);

	if (s != NULL)
		*s = q->slots[--q->count];
}

static uint64_t tokens(const struct report_queue *q, usec_t now)
{
	uint64_t more = mul_div(now - q->filled_at, 1000, MAX(q->rate.interval_usec, (usec_t)1));

	return MIN(add_sat(q->tokens_permille, more), (uint64_t)q->rate.burst * 1000);
}

usec_t report_queue_opens(const struct report_queue *q, usec_t now)
{
	uint64_t have = tokens(q, now);
	usec_t at = MAX(now, q->slow_until);

	if (q->outage)
		at = MAX(at, q->try_at);
	if (have < 1000)
		/* One more, against the rounding of the fill. */
		at = MAX(at, add_sat(now, mul_div(1000 - have, q->rate.interval_usec, 1000) + 1));
	return at;
}

bool report_queue_open(const struct report_queue *q, usec_t now)
{
	return report_queue_opens(q, now) <= now;
}

void report_queue_take(struct report_queue *q, usec_t now)
{
	uint64_t have = tokens(q, now);

	q->tokens_permille = have > 1000 ? have - 1000 : 0;
	q->filled_at = now;
	/* Until this one is answered there is no other while the server is away. */
	if (q->outage)
		q->try_at = add_sat(now, q->outage_step);
}

/* Does a come before b, both being ready? */
static bool before(const struct report_slot *a, const struct report_slot *b)
{
	if (a->urgency != b->urgency)
		return a->urgency < b->urgency;
	return a->since < b->since;
}

const struct report_slot *report_queue_next(const struct report_queue *q, usec_t now)
{
	const struct report_slot *best = NULL;

	if (!report_queue_open(q, now))
		return NULL;
	for (size_t i = 0; i < q->count; i++) {
		const struct report_slot *s = &q->slots[i];

		if (now >= s->not_before && (best == NULL || before(s, best)))
			best = s;
	}
	return best;
}

usec_t report_queue_due(const struct report_queue *q, usec_t now)
{
	usec_t first = UINT64_MAX;

	for (size_t i = 0; i < q->count; i++)
		first = MIN(first, q->slots[i].not_before);
	return q->count ? MAX(first, report_queue_opens(q, now)) : 0;
}

void report_queue_slow(struct report_queue *q, usec_t retry_after_usec, usec_t now)
{
	usec_t span = MIN(MAX(retry_after_usec, SLOW_MIN), SLOW_MAX);

	/* Up to a quarter more, so that not all of the cluster comes back in the same second. */
	span += part_of(q->seed, "slow", now, span / 4);
	q->slow_until = MAX(q->slow_until, add_sat(now, span));
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

		if (s->urgency != REPORT_AT_ONCE)
			s->not_before =
				add_sat(now, part_of(q->seed, s->uid, now, q->rate.spread_usec));
	}
}

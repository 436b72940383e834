// SPDX-License-Identifier: Apache-2.0
#include "policy/report/rollout.h"
#include "policy/base/text.h"
#include <assert.h>

#define PPM 1000000ULL

static uint32_t add_u32(uint32_t a, uint64_t b)
{
	return (uint32_t)MIN(add_sat(a, b), (uint64_t)UINT32_MAX);
}

static uint16_t add_u16(uint16_t a, uint64_t b)
{
	return (uint16_t)MIN(add_sat(a, b), (uint64_t)UINT16_MAX);
}

/* Empties the slots between the newest one and that of now. */
static struct tally_slot *slot_of(struct tally_ring *r, uint64_t number)
{
	uint64_t empty = MIN(number - MIN(r->newest, number), (uint64_t)TALLY_SLOTS);

	for (uint64_t i = 0; i < empty; i++)
		r->slot[(number - i) % TALLY_SLOTS] = (struct tally_slot){0};
	r->newest = MAX(r->newest, number);
	return &r->slot[r->newest % TALLY_SLOTS];
}

void tally_add(struct tally_ring *r, usec_t slot_usec, const struct tally *more, usec_t now)
{
	struct tally_slot *s;

	assert(slot_usec > 0);
	s = slot_of(r, now / slot_usec);
	s->time_msec = add_u32(s->time_msec, more->time_usec / USEC_PER_MSEC);
	s->periods = add_u32(s->periods, more->periods);
	s->throttled = add_u32(s->throttled, more->throttled);
	s->kills = add_u16(s->kills, more->kills);
	s->undos = add_u16(s->undos, more->undos);
}

struct tally tally_sum(const struct tally_ring *r, usec_t slot_usec, usec_t now)
{
	uint64_t number = now / slot_usec;
	uint64_t old = number - MIN(r->newest, number);
	struct tally sum = {0};

	/* The slots that are older than the ring is long were not emptied yet. */
	for (uint64_t i = old; i < TALLY_SLOTS && i - old <= r->newest; i++) {
		const struct tally_slot *s = &r->slot[(r->newest - (i - old)) % TALLY_SLOTS];

		sum.time_usec += s->time_msec * USEC_PER_MSEC;
		sum.periods += s->periods;
		sum.throttled += s->throttled;
		sum.kills += s->kills;
		sum.undos += s->undos;
	}
	return sum;
}

uint64_t tally_throttled_ppm(const struct tally *t)
{
	return t->periods > 0 ? mul_div(MIN(t->throttled, t->periods), PPM, t->periods) : 0;
}

static uint64_t since(uint64_t before, uint64_t after)
{
	return after >= before ? after - before : after;
}

struct tally tally_between(const struct tally_counters *before, const struct tally_counters *after,
			   usec_t time_usec)
{
	return (struct tally){
		.time_usec = time_usec,
		.periods = since(before->periods, after->periods),
		.throttled = since(before->throttled, after->throttled),
		.kills = since(before->kills, after->kills),
		.undos = since(before->undos, after->undos),
	};
}

/* --- the share --- */

const char *const rollout_part_names[ROLLOUT_PART_COUNT] = {
	[ROLLOUT_NONE] = "none",
	[ROLLOUT_SIZED] = "sized",
	[ROLLOUT_UNSIZED] = "unsized",
	[ROLLOUT_STOPPED] = "stopped",
};

const char *const rollout_hurt_texts[ROLLOUT_HURT_COUNT] = {
	[ROLLOUT_UNHURT] = "not hurt",
	[ROLLOUT_HURT_KILLS] = "OOM-killed more often than the others",
	[ROLLOUT_HURT_UNDOS] = "under pressure after too many decreases",
	[ROLLOUT_HURT_THROTTLED] = "throttled more than the others",
};

/* The finalizer of MurmurHash3: names that differ in their last letter differ in every bit. */
static uint64_t mixed(uint64_t h)
{
	h = (h ^ h >> 33) * 0xff51afd7ed558ccdULL;
	h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

bool rollout_chooses(const char *namespace, const char *workload, const char *pod, uint32_t percent)
{
	uint64_t hash = text_hash(TEXT_HASH_FIRST, namespace);

	hash = mixed(text_hash(text_hash(hash, workload), pod));
	return hash % ROLLOUT_ALL_PERCENT < percent;
}

void rollout_count(struct rollout *r, enum rollout_part part, const struct tally *more, usec_t now)
{
	if (part == ROLLOUT_SIZED)
		tally_add(&r->sized, ROLLOUT_SLOT_USEC, more, now);
	else if (part == ROLLOUT_UNSIZED)
		tally_add(&r->unsized, ROLLOUT_SLOT_USEC, more, now);
}

/* sized / its time > ROLLOUT_RATIO x others / their time. In seconds: the products fit. */
static bool rate_above(uint64_t sized, usec_t sized_usec, uint64_t others, usec_t others_usec)
{
	return sized * (others_usec / USEC_PER_SEC) >
		       ROLLOUT_RATIO * others * (sized_usec / USEC_PER_SEC) ||
	       (sized > 0 && others == 0);
}

static bool undone(const struct tally *s, const struct tally *u)
{
	usec_t time = MAX(s->time_usec, USEC_PER_HOUR);

	return s->undos >= ROLLOUT_UNDOS_MIN &&
	       s->undos > ROLLOUT_UNDOS_HOUR * time / USEC_PER_HOUR &&
	       rate_above(s->undos, s->time_usec, u->undos, u->time_usec);
}

static bool throttled(struct rollout *r, const struct tally *s, const struct tally *u, usec_t now)
{
	uint64_t share = tally_throttled_ppm(s);
	uint64_t bound = ROLLOUT_RATIO * tally_throttled_ppm(u) + ROLLOUT_THROTTLED_PPM;
	bool enough = s->periods >= ROLLOUT_PERIODS_MIN && u->periods >= ROLLOUT_PERIODS_MIN;

	if (!enough || share < bound / 4 * 3)
		r->throttled_since = 0;
	else if (share > bound && r->throttled_since == 0)
		r->throttled_since = now;
	return r->throttled_since != 0 && now - r->throttled_since >= ROLLOUT_THROTTLED_USEC;
}

enum rollout_hurt rollout_check(struct rollout *r, usec_t now)
{
	const struct tally s = tally_sum(&r->sized, ROLLOUT_SLOT_USEC, now);
	const struct tally u = tally_sum(&r->unsized, ROLLOUT_SLOT_USEC, now);
	bool slow = throttled(r, &s, &u, now);

	if (s.kills >= ROLLOUT_KILLS_MIN && rate_above(s.kills, s.time_usec, u.kills, u.time_usec))
		return ROLLOUT_HURT_KILLS;
	if (undone(&s, &u))
		return ROLLOUT_HURT_UNDOS;
	return slow ? ROLLOUT_HURT_THROTTLED : ROLLOUT_UNHURT;
}

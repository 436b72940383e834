// SPDX-License-Identifier: Apache-2.0
#include "policy/report/rollout.h"
#include "policy/base/text.h"

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

static bool killed(const struct tally *s, const struct tally *u)
{
	return s->kills >= ROLLOUT_KILLS_MIN &&
	       rate_above(s->kills, s->time_usec, u->kills, u->time_usec);
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

	if (killed(&s, &u))
		return ROLLOUT_HURT_KILLS;
	if (undone(&s, &u))
		return ROLLOUT_HURT_UNDOS;
	return slow ? ROLLOUT_HURT_THROTTLED : ROLLOUT_UNHURT;
}

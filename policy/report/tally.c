// SPDX-License-Identifier: Apache-2.0
#include "policy/report/tally.h"
#include "policy/base/arithmetic.h"
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

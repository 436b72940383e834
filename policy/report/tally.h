/* SPDX-License-Identifier: Apache-2.0 */
/* What happened to containers in a recent time: counts in a ring of slots of equal length. Memory
 * is bounded, and what is older leaves a slot at a time. */
#pragma once

#include "policy/base/base.h"

#define TALLY_SLOTS 12
/* A slot of a ring for a day: one of each container is kept. */
#define TALLY_DAY_SLOT_USEC (USEC_PER_DAY / TALLY_SLOTS)

/* In a span, of one container or of several together. */
struct tally {
	uint64_t time_usec; /* for which a container was observed; of several: the sum */
	uint64_t periods;   /* of CPU bandwidth control */
	uint64_t throttled; /* of them */
	uint64_t kills;     /* OOM kills */
	uint64_t undos;     /* shrink trials that restored the former limit */
};

struct tally_slot {
	uint32_t time_msec;
	uint32_t periods;
	uint32_t throttled;
	uint16_t kills;
	uint16_t undos;
};

/* All 0: empty. */
struct tally_ring {
	uint64_t newest; /* number of the slot that is filled, from the start of the clock on */
	struct tally_slot slot[TALLY_SLOTS];
};

/* Counts that do not fit into a slot stay at their highest value. slot_usec > 0 is the same in
 * every call for a ring. */
void tally_add(struct tally_ring *r, usec_t slot_usec, const struct tally *more, usec_t now);
/* Of the last TALLY_SLOTS slots, the one that is being filled included. */
struct tally tally_sum(const struct tally_ring *r, usec_t slot_usec, usec_t now);
/* Throttled periods per million; 0: there were no periods. */
uint64_t tally_throttled_ppm(const struct tally *t);

/* Counters of a container as they are, since any time in the past. */
struct tally_counters {
	uint64_t periods;
	uint64_t throttled;
	uint64_t kills;
	uint64_t undos;
};
/* What came since `before`, in time_usec. A counter that went back began anew: it counts from 0. */
struct tally tally_between(const struct tally_counters *before, const struct tally_counters *after,
			   usec_t time_usec);

/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation `rollout`: which pods of a workload are sized, and when that hurts them. First,
 * what is counted for that. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

/* What happened to containers in a recent time: counts in a ring of slots of equal length. Memory
 * is bounded, and what is older leaves a slot at a time. */

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

/* --- the share */

/* All pods. */
#define ROLLOUT_ALL_PERCENT 100

/* What a rollout makes of a pod. */
enum rollout_part {
	ROLLOUT_NONE,    /* it has none: all pods are sized */
	ROLLOUT_SIZED,   /* of the share */
	ROLLOUT_UNSIZED, /* the rest: as in mode Off */
	ROLLOUT_STOPPED, /* of the share, as in mode Off since it was hurt */
	ROLLOUT_PART_COUNT,
};
extern const char *const rollout_part_names[ROLLOUT_PART_COUNT];

/* Is this pod of the share? By a hash of the three names: on every node and after every restart the
 * same answer, and a pod of a share is of every larger one. Each pod is chosen on its own: of a
 * small workload the share that results may be anything, none and all included. */
bool rollout_chooses(const char *namespace, const char *workload, const char *pod,
		     uint32_t percent);

/* --- harm: the sized pods of a workload compared with the others on the same node, over an hour.
 * Kills and undone shrinks count per hour of a container; without unsized pods, against none. */
#define ROLLOUT_SLOT_USEC (USEC_PER_HOUR / TALLY_SLOTS)
/* At least so many, and more than ROLLOUT_RATIO times the rate of the others. */
#define ROLLOUT_KILLS_MIN 2
#define ROLLOUT_UNDOS_MIN 4
#define ROLLOUT_RATIO     2
/* Undone shrinks are part of the search for the right size: so many in an hour of a container, or
 * in the first hour of all, are none of harm. The wait between trials doubles from 2 min on. */
#define ROLLOUT_UNDOS_HOUR 3
/* Periods on both sides before throttling is compared: 5 min of one busy container. */
#define ROLLOUT_PERIODS_MIN 3000
/* The share of throttled periods is ROLLOUT_RATIO times that of the others and this above it (the
 * default target of throttling is 2 %) ... */
#define ROLLOUT_THROTTLED_PPM 50000
/* ... for this long. It ends below 3/4 of that bound. */
#define ROLLOUT_THROTTLED_USEC (5 * USEC_PER_MIN)

enum rollout_hurt {
	ROLLOUT_UNHURT,
	ROLLOUT_HURT_KILLS,
	ROLLOUT_HURT_UNDOS,
	ROLLOUT_HURT_THROTTLED,
	ROLLOUT_HURT_COUNT,
};
/* "the sized pods were ..."; static text. */
extern const char *const rollout_hurt_texts[ROLLOUT_HURT_COUNT];

/* Of one workload with one share. All 0: nothing was seen. */
struct rollout {
	struct tally_ring sized;
	struct tally_ring unsized;
	usec_t throttled_since; /* 0: not more than the others */
};

void rollout_count(struct rollout *r, enum rollout_part part, const struct tally *more, usec_t now);
/* Call it after every round of rollout_count(). The caller stops at the first harm for good. */
enum rollout_hurt rollout_check(struct rollout *r, usec_t now);

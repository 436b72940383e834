/* SPDX-License-Identifier: Apache-2.0 */
/* The annotation `rollout`: which pods of a workload are sized, and when that hurts them. */
#pragma once

#include "policy/report/tally.h"
#include <stdbool.h>

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

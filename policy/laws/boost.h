/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Startup boost: more CPU from a container's start until it has been Ready for a time.
 *
 *	2x 30s		twice the limit ...
 *	+500m 30s	... or half a core on top, until 30 s after Ready
 *
 * The limit that counts is the higher one of the original and what it is held at: starting has
 * little to do with what the container needs once it idles. Never above the ceiling (the node's
 * CPUs, the user's and administrator's maximum, a LimitRange, a refusal), which cuts a boost and
 * does not refuse it. A container without a limit gets none.
 * While it lasts the limit is a floor: the reflex may raise above it, nothing shrinks. Then what
 * was held before comes back at once, without a trial: it was lent for a time that the owner chose,
 * and the reflex answers who still needs it. Ready for the time without a break, as with VPA
 * (AEP-7862), and counted from the start where it was Ready earlier. Over is over until the next
 * start; a crash in the middle boosts the successor, from the same base. One that is not Ready
 * after an hour is not starting: it ends there. What is used meanwhile is no sample:
 * boost_covers(). Mode Off shows it and writes nothing. Here VPA differs: its boost also works in
 * Off.
 */
#pragma once

#include "policy/types/profile.h"

/* "2x 30s", "+500m 1m30s". -EINVAL, -ERANGE: *ret is untouched. */
int boost_parse(const char *text, struct boost_rule *ret);

enum boost_phase {
	BOOST_NONE,   /* no rule, nothing to boost, not running */
	BOOST_ACTIVE, /* the limit is at least the boosted one */
	BOOST_ENDING, /* the base is to be put back: boost_put_back() */
	BOOST_OVER,   /* until the next start */
	BOOST_PHASE_COUNT
};
/* "none", "active", "ending", "over". */
const char *boost_phase_name(enum boost_phase p);

/* Kept per container, over its restarts; all 0 at first. */
struct boost {
	enum boost_phase phase;
	usec_t started_at;   /* of the life it is about */
	usec_t ended_at;     /* of a boost that is over; 0: there was none */
	uint64_t base_milli; /* held before it */
	bool written;        /* what is held is the boosted limit */
};

struct boost_input {
	struct boost_rule rule;
	enum mode mode;
	bool may_write;          /* CPU is ours to size, not paused, not given way */
	usec_t started_at;       /* of the container, not of us; 0: it does not run */
	usec_t ready_since;      /* this container's own, without a break; 0: it is not Ready */
	uint64_t original_milli; /* LIMIT_MAX: none */
	/* What it is held at. Found running with a limit of unknown making: the original. */
	uint64_t held_milli;
	uint64_t ceiling_milli; /* control_ceiling() */
	usec_t now;
};

struct boost_decision {
	enum boost_phase phase;
	uint64_t limit_milli; /* ACTIVE: hold at least this; ENDING: exactly this; else 0 */
	bool write;           /* and write it, where it differs; else it is shown alone */
	usec_t next_at;       /* look again then; 0: when something changes */
};

/* Any number of times; at the latest at next_at and when an input changes. */
void boost_step(struct boost *b, const struct boost_input *in, struct boost_decision *ret);
/* The boosted limit stands. */
void boost_written(struct boost *b);
/* The base stands again, or the originals do. */
void boost_put_back(struct boost *b, usec_t now);
/* The owner set another limit: that is what comes back. */
void boost_adopt(struct boost *b, uint64_t milli);
/* Does a span of use lie in the boost, were it a moment of it? Then history does not learn it. */
bool boost_covers(const struct boost *b, usec_t from, usec_t to);

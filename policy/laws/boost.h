/* SPDX-License-Identifier: Apache-2.0 */
/* Startup boost: more CPU from a container's start until it has been Ready for a time ("2x 30s",
 * "+500m 30s"; docs/annotations.md).
 *
 * It starts from the higher one of the original and the held limit: what a container needs at
 * startup has little to do with what it needs when idle. The ceiling cuts a boost, but does not
 * refuse it. While it lasts its limit is a floor. At its end the limit held before returns at once,
 * without a trial: the owner chose the duration, which counts from Ready without a break, as with
 * VPA (AEP-7862). It does not begin again until the next start; after a crash the successor is
 * boosted from the same base. After an hour it ends. History does not learn what is used meanwhile:
 * boost_covers(). */
#pragma once

#include "policy/types/profile.h"

/* "2x 30s", "+500m 1m30s". -EINVAL, -ERANGE: *ret is untouched. */
int boost_parse(const char *text, struct boost_rule *ret);

enum boost_phase {
	BOOST_NONE,   /* no rule, nothing to boost, not running */
	BOOST_ACTIVE, /* the limit is at least the boosted one */
	BOOST_ENDING, /* the base is to be restored: boost_put_back() */
	BOOST_OVER,   /* until the next start */
	BOOST_PHASE_COUNT
};

/* Kept per container across restarts; starts as all 0. */
struct boost {
	enum boost_phase phase;
	usec_t started_at;   /* of the container's run that it belongs to */
	usec_t ended_at;     /* of a boost that is over; 0: there was none */
	uint64_t base_milli; /* the limit held before it */
	bool written;        /* the held limit is the boosted one */
};

struct boost_input {
	struct boost_rule rule;
	enum mode mode;
	bool may_write;          /* CPU is managed, not paused and not suspended */
	usec_t started_at;       /* of the container, not of vscaled; 0: it does not run */
	usec_t ready_since;      /* of this container, without a break; 0: it is not Ready */
	uint64_t original_milli; /* LIMIT_MAX: none */
	/* The held limit. For a container found running with a limit of unknown origin: the
	 * original. */
	uint64_t held_milli;
	uint64_t ceiling_milli; /* control_ceiling() */
	usec_t now;
};

struct boost_decision {
	enum boost_phase phase;
	uint64_t limit_milli; /* ACTIVE: hold at least this; ENDING: exactly this; else 0 */
	bool write;           /* write it where it differs; else only show it */
	usec_t next_at;       /* call boost_step() again then; 0: when an input changes */
};

/* May be called at any time; must be called at next_at and when an input changes. */
void boost_step(struct boost *b, const struct boost_input *in, struct boost_decision *ret);
/* The boosted limit has been written. */
void boost_written(struct boost *b);
/* The base or the original has been restored. */
void boost_put_back(struct boost *b, usec_t now);
/* The base is now another limit, for example one that the owner set: it returns afterwards. */
void boost_adopt(struct boost *b, uint64_t milli);
/* Does a span of use overlap the boost? Then history does not learn it. */
bool boost_covers(const struct boost *b, usec_t from, usec_t to);

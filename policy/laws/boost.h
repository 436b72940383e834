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

/* Start-up of a container: the CPU that it uses then says nothing about the time after it.
 *
 * It ends ready_usec after the container was first Ready, or without a readiness or startup probe
 * unprobed_usec after its start; after an hour in any case. The first Ready of a run counts: a
 * container that is not Ready later on does not start up again. The reflex raises the limit as
 * always; history, the recent maximum and the API server are not given what is seen. */

/* Of the running process, boottime. started_at 0: unknown; ready_since 0: it is not ready. */
struct startup_life {
	usec_t started_at;
	usec_t ready_since; /* without a break */
	bool probed;        /* its readiness comes from a probe */
};

/* Starts as all 0. */
struct startup {
	usec_t started_at;
	usec_t first_ready; /* of the run; 0: not yet */
	bool probed;
};

/* Call it whenever one of the values changes; another started_at is another run. */
void startup_set(struct startup *s, const struct startup_life *life);
/* When it ends; 0: nothing is known of the start. It can come closer, once the container is Ready.
 */
usec_t startup_end(const struct startup *s, const struct tuning_startup *t);
/* Does a span of use overlap it? */
bool startup_covers(const struct startup *s, const struct tuning_startup *t, usec_t from,
		    usec_t to);

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
	uint64_t base_milli; /* the limit held before it, or set by the owner since: it returns */
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
/* Does a span of use overlap the boost? Then history does not learn it. */
bool boost_covers(const struct boost *b, usec_t from, usec_t to);

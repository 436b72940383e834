/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CPU limit of one container: it grows by the reflex and shrinks on trial.
 *
 * Reflex: r = throttled / all periods since the last write of the limit, at most a second back.
 *	r > 3 theta:  limit x (1 + r - 3 theta), at most x step_max,
 *		      at most evidence x evidence_permille,
 *		      from the second raise on at most 1.9 x what has run since throttling began
 * What has run on average is a lower bound of the demand: a queue that built up under the old limit
 * keeps the group throttled above its demand too, and looks like a demand without end.
 * Shrink: one step down to the candidate, at most halved. The reflex firing while the step is on
 * trial undoes it at once and leaves a floor behind; firing at that limit within the hour after the
 * trial leaves the floor too, or a rare burst would make the limit swing for ever.
 */
#pragma once

#include "policy/history/demand.h"
#include "policy/history/floor.h"
#include "policy/types/profile.h"
#include "policy/types/reason.h"

/* The last shrink: on trial, or passed and still remembered. */
struct cpu_trial {
	bool active;
	uint64_t from_milli;
	uint64_t to_milli;
	uint64_t base_periods; /* nr_periods when it began */
	usec_t since;
};

/* The counters of a moment. */
struct cpu_mark {
	usec_t at; /* 0: none */
	uint32_t have;
	uint64_t used_usec;
	uint64_t periods;
	uint64_t throttled;
	uint64_t waited_usec;
};

/* From some moment on, half a second to a second back once that is longer ago. */
struct cpu_window {
	struct cpu_mark base;
	struct cpu_mark half; /* the next base */
};

struct cpu_control {
	struct cpu_window since_write;
	struct cpu_window burst; /* since the last look that saw no throttling */
	usec_t burst_at;         /* of that look */
	usec_t write_at;         /* of the limit */
	uint64_t write_periods;  /* nr_periods then */
	struct cpu_mark seen;    /* the last look */
	uint64_t proven_milli;   /* the least that the demand can be; LIMIT_MAX: nothing is known */
	struct recent_max recent;
	usec_t last_raise;
	usec_t last_change;
	usec_t last_shrink;
	usec_t adopted_at; /* of the owner's own value; 0: none */
	struct cpu_trial trial;
	struct shrink_floor floor;
};

/* What the reflex asks for, or 0: nothing; limit_milli itself: what has run is to prove more first.
 * limit_milli must be a real limit; proven_milli is the least that the demand can be. */
uint64_t cpu_reflex_wish(const struct tuning_cpu *t, uint64_t limit_milli,
			 const struct cpu_rates *since_write, uint64_t proven_milli);

/* Starts the throttle window anew: periods under the old limit never vote on the new one. */
void cpu_window_restart(struct cpu_control *c, const struct usage *u, usec_t now);
/* The rates since the window's start; slides it. -EAGAIN: no window or no time passed yet, -EINVAL:
 * the counters went back (window restarted). */
int cpu_window_rates(struct cpu_control *c, const struct usage *u, uint64_t node_milli, usec_t now,
		     struct cpu_rates *ret);

/* Sets proven_milli. Once per look, before the rest. */
void cpu_prove(struct cpu_control *c, const struct usage *u, uint64_t node_milli, usec_t now);
/* What history makes of a throttled second must not outgrow what the reflex makes of it. */
void cpu_temper_demand(const struct cpu_control *c, const struct tuning_history *t,
		       struct cpu_rates *r);

struct cpu_shrink_input {
	uint64_t limit_milli;
	uint64_t candidate_milli; /* bounds applied */
	usec_t started_at;
	usec_t now;
};

/* HOLD_NONE: *ret_milli is the next, lower limit. Else why not, and *ret_next when to look again
 * (0: unknown). */
enum hold cpu_shrink_next(const struct tuning *t, const struct cpu_control *c,
			  const struct cpu_shrink_input *in, uint64_t *ret_milli, usec_t *ret_next);

void cpu_trial_begin(struct cpu_control *c, uint64_t from_milli, uint64_t to_milli,
		     const struct usage *u, usec_t now);
/* Ends a trial that held: enough periods without complaint, or idle for the whole recent window. */
bool cpu_trial_passed(const struct tuning_cpu *t, const struct cpu_control *c,
		      const struct usage *u, usec_t now);
/* The trial held; the shrink stays in mind. */
void cpu_trial_end(struct cpu_control *c);
/* Ends a trial that hurt; returns the limit to go back to. */
uint64_t cpu_trial_undo(struct cpu_control *c, usec_t now_real);
/* Throttled at limit_milli: a shrink to it or further that passed not long ago was wrong after all.
 */
void cpu_shrink_regret(const struct tuning_cpu *t, struct cpu_control *c, uint64_t limit_milli,
		       usec_t now, usec_t now_real);

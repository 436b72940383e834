/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU limit of one container: it grows by the reflex and shrinks on trial.
 *
 *  - r = throttled periods / all periods since the last write of the limit, at most a second back
 *  - Raise, when r > 6 %: to limit x (1 + r - 6 %), at most limit x step_max and evidence x
 *    evidence_permille; from the second raise on also at most 1.3 to 1.8 x the average use since
 *    throttling began, as a queue that built up under the old limit throttles at limits above the
 *    demand, too.
 *  - Raise within the period, where the kernel reports that the quota is used: to what was used in
 *    the period, at least by 5 %. At most to 1.05 x the average use since the reports began: after
 *    a late answer one period also runs the work that had to wait. A write of the limit refills
 *    the quota, so that no work waits while the limit is raised.
 *  - No raise, when the goal allows this throttling: of a limit that history says throttles this
 *    share of the periods, a throttled period is chance (cpu_passes()).
 *  - A throttled period counts when the group used its quota before: on a host whose CPU is stolen
 *    the kernel accounts a long absence as use, and a late timer as throttled periods.
 *  - Shrink: one step down to the candidate, at most halved. Throttling undoes it at once and sets
 *    a floor, also within the hour after the trial: else a rare burst would make the limit swing
 *    for ever. */
#pragma once

#include "policy/history/history.h"
#include "policy/laws/heap.h"
#include "policy/types/reason.h"
#include <stdbool.h>

/* What a goal asks of a CPU limit: the share of throttled periods that it holds. Fewer cost limit
 * area, more cost time. docs/tuning.md has the measurements. */

struct cpu_goal {
	uint32_t throttle_ppm; /* of the periods: theta */
	uint32_t aim_permille; /* of theta: what the limit is set for, so that chance stays below
				  theta */
	/* So many throttled periods do not raise the limit, as long as the last minute had few of
	 * them. */
	uint32_t pass_ppm;      /* of the periods of the last second, or ... */
	uint32_t pass_periods;  /* ... so many of them, ... */
	uint32_t pass_run;      /* ... and at most so many without a free one in between */
	uint32_t peak_permille; /* percentile of the demand of all time that bounds the limit from
				   below */
	bool holds_recent;      /* the highest demand of recentWindow holds a decrease back */
	usec_t floor_half_life_usec;
};

/* What is 0 in the table comes from the configuration: theta of balanced, the percentile of
 * latency, the half-life of both. */
struct cpu_goal cpu_goal_of(const struct tuning *t, enum goal goal);

/* The last shrink: on trial, or passed and kept for cpu_shrink_mark_harmful(). */
struct cpu_trial {
	bool active;
	uint64_t from_milli;
	uint64_t to_milli;
	uint64_t base_periods; /* nr_periods when it began */
	usec_t since;
};

/* Rates from base on. The base slides: it stays between half of the window's length and all of it
 * back. */
struct cpu_window {
	struct cpu_mark base;
	struct cpu_mark half; /* the next base */
};

/* Which throttled periods say something about the demand. */
struct cpu_evidence {
	struct cpu_mark read; /* the last reading, as the kernel counts */
	uint64_t quota_usec;  /* then */
	usec_t unspent_usec; /* use that may belong to a throttled period that is not counted yet */
	uint64_t ignored;    /* throttled periods that say nothing */
	bool late;           /* the last reading was */
	bool absent;         /* before it the CPUs, or vscaled, did not run for a while */
};

/* The period in which the kernel last reported that the quota was used. */
struct cpu_period {
	usec_t at;           /* of the newest report; 0: there was none */
	usec_t answered_at;  /* of the newest that raised the limit */
	uint64_t periods;    /* nr_periods at the newest report */
	uint64_t begin_usec; /* CPU use at its begin, as far as is known */
	usec_t first_at;     /* time of the first report of an unbroken series */
	uint64_t first_usec; /* CPU use at the begin of the quota that it reported */
	bool echo;           /* the newest was of the quota before the last write */
};

struct cpu_law {
	struct cpu_evidence evidence;
	struct cpu_period period;
	struct cpu_window since_write;
	struct cpu_window burst; /* since the last pass without throttling */
	usec_t burst_at;         /* of that pass */
	usec_t write_at;         /* of the limit */
	uint64_t write_periods;  /* nr_periods then */
	struct cpu_mark seen;    /* the newest counters with a new period */
	uint64_t proven_milli;   /* the lower bound of the demand; LIMIT_MAX: unknown */
	struct recent_max recent;
	struct period_demand spread;
	struct cpu_mark spread_mark;   /* of the last reading */
	uint64_t throttled_run;        /* throttled periods since the last reading without any */
	usec_t spread_since;           /* the first one; 0: none yet */
	uint32_t throttled_minute_ppm; /* share of the last 600 periods */
	double throttled_ppm;          /* and of so many that theta allows 100 of them */
	usec_t last_raise;
	usec_t last_change;
	usec_t held_since; /* the last change, small raises of a limit that the spec lacks aside */
	usec_t last_shrink;
	usec_t crossed_at; /* when the limit last crossed a whole core; 0: never */
	usec_t adopted_at; /* when an owner's value was adopted; 0: never */
	struct cpu_trial trial;
	struct shrink_floor floor;
};

/* The desired limit of the reflex. 0: no raise; limit_milli itself: throttled, but use has not
 * proven enough demand for a raise yet. limit_milli must not be LIMIT_MAX; proven_milli is the
 * lower bound of the demand. */
uint64_t cpu_reflex_desired(const struct tuning_cpu *t, uint64_t limit_milli,
			    const struct cpu_rates *since_write, uint64_t proven_milli);

/* The quota has been used within the period, as u says: the desired limit; 0: that says nothing, as
 * the quota of before the last write, time that was stolen, or one of many short periods. *ret: the
 * rates of the window, as if the period had ended. */
uint64_t cpu_within_period(const struct tuning_cpu *t, struct cpu_law *c, const struct usage *u,
			   usec_t now, struct cpu_rates *ret);
/* Such a report has raised the limit in the last two periods: throttling is answered without
 * waiting for their end. */
bool cpu_answered(const struct cpu_law *c, const struct usage *u, usec_t now);
/* The desired limit of a reflex pass: at most 5 % more within 3 s of a report that was answered. */
uint64_t cpu_beside_reports(const struct cpu_law *c, uint64_t limit_milli, uint64_t desired,
			    usec_t now);

/* The limit was written. spec: the one that the API server has, in millicores. */
void cpu_changed(struct cpu_law *c, uint64_t from, uint64_t to, uint64_t spec, usec_t now);
/* Starts the throttle window anew: periods under the old limit do not count for the new one. */
void cpu_window_restart(struct cpu_law *c, const struct usage *u, usec_t now);
/* The rates since the window's start; slides it. -EAGAIN: no window or no time passed yet, -EINVAL:
 * the counters went back (window restarted). */
int cpu_window_rates(struct cpu_law *c, const struct usage *u, uint64_t node_milli, usec_t now,
		     struct cpu_rates *ret);

struct cpu_reading {
	bool starting;    /* what is used in start-up is no demand */
	usec_t tick_usec; /* between readings, ordinarily */
	usec_t now;
};

/* Takes the throttled periods that say nothing off a new reading. Call it once per reading, before
 * the other functions. */
void cpu_weigh(struct cpu_evidence *e, struct usage *u, const struct cpu_reading *reading,
	       uint64_t node_milli);
/* Sets proven_milli. Call it once per sample or reflex pass, before the other functions. */
void cpu_prove(struct cpu_law *c, const struct usage *u, uint64_t node_milli, usec_t now);

/* Counts the periods since the last call: what each of them wanted, and how many were throttled.
 * Readings that are far apart show the average of many periods: they are not counted. */
void cpu_note_periods(const struct tuning_cpu *t, const struct cpu_goal *g, struct cpu_law *c,
		      const struct usage *u, const struct cpu_reading *reading);
/* What it adds for one period that ran free and wanted so much. */
void cpu_note_free_period(const struct tuning_cpu *t, const struct cpu_goal *g, struct cpu_law *c,
			  uint64_t milli, usec_t now);
/* The throttled periods since the last write are as few as the goal expects of this limit, and so
 * are the newest without a free one in between (run): it stays. At a limit that should not
 * throttle, a throttled period is a rise of the demand. */
bool cpu_passes(const struct cpu_goal *g, const struct cpu_law *c, uint64_t limit_milli,
		const struct cpu_rates *since_write, uint64_t run);
/* The limit in millicores that would have throttled as many of the recent periods as the goal
 * allows; 0: nothing known. More throttled periods than theta raise it, and fewer lower it. */
uint64_t cpu_goal_limit(const struct cpu_goal *g, const struct cpu_law *c);

/* Bounds the demand of a throttled second so that a limit from history does not exceed the
 * reflex's. */
void cpu_temper_demand(const struct cpu_law *c, const struct tuning_history *t,
		       const struct cpu_goal *g, struct cpu_rates *r);

struct cpu_shrink_input {
	uint64_t limit_milli;
	uint64_t candidate_milli; /* bounds applied */
	usec_t started_at;
	usec_t now;
};

/* BLOCKED_NONE: *ret_milli is the next, lower limit. Else the reason, and in *ret_next when to ask
 * again (0: unknown). */
enum blocked_reason cpu_shrink_next(const struct tuning *t, const struct cpu_law *c,
				    const struct cpu_shrink_input *in, uint64_t *ret_milli,
				    usec_t *ret_next);

void cpu_trial_begin(struct cpu_law *c, uint64_t from_milli, uint64_t to_milli,
		     const struct usage *u, usec_t now);
/* Has the trial passed? After enough periods, or when it has lasted for the whole recent window. */
bool cpu_trial_passed(const struct tuning_cpu *t, const struct cpu_law *c, const struct usage *u,
		      usec_t now);
/* Ends a trial that caused throttling and learns a floor; returns the limit to restore. */
uint64_t cpu_trial_undo(struct cpu_law *c, usec_t now_real);
/* Throttled at limit_milli: learns a floor if the last shrink passed, began within regret_usec and
 * its goal is not below limit_milli.
 */
void cpu_shrink_mark_harmful(const struct tuning_cpu *t, struct cpu_law *c, uint64_t limit_milli,
			     usec_t now, usec_t now_real);

/* Go (1.25) and the JVM set the number of their threads by the CPU limit, rounded up to whole
 * cores, and read it again now and then. A limit that goes to and fro across a whole core makes
 * them start and stop threads, so for containers of these runtimes it crosses one at most once an
 * hour, unless the container is throttled. */

#define WHOLE_CORE_EVERY_USEC USEC_PER_HOUR

/* Is it a container to which this applies? As far as its heap settings tell. */
bool whole_core_matters(const struct heap_ceiling *heap);
/* Do the runtimes see another number of cores? LIMIT_MAX: no limit. */
bool whole_core_crossed(uint64_t from_milli, uint64_t to_milli);
/* The nearest to to_milli that keeps the number of cores, unless the last crossing is long enough
 * ago. crossed_at 0: never. */
uint64_t whole_core_keep(uint64_t limit_milli, uint64_t to_milli, usec_t crossed_at, usec_t now);

/* SPDX-License-Identifier: Apache-2.0 */
/* The memory limit of one container: it grows ahead of use and shrinks on trial.
 *
 * Growth: when (limit - unreclaimable) / slope is below the horizon, or at a `max` event while
 * unreclaimable memory fills the limit: max(unreclaimable + growth ahead + margin, limit x
 * raise_permille). Growth ahead: the steepest slope (of 200 ms and 1 s) until the next reflex pass,
 * or the steady one (of 1 s) for slope_ahead, since a single large allocation is not steady growth.
 * Page cache fills any limit: it raises only when it refaults and stalls, up to cache_ceiling of
 * the original. Shrink: reclaim the difference, then memory.high, watch, then memory.max, watch.
 * Pressure, refaults or a `max` event undo it; the time to the next trial doubles. */
#pragma once

#include "policy/history/history.h"
#include "policy/types/reason.h"

/* One second of reflex passes (100 ms), and one more point. */
#define MEM_POINTS 12

struct mem_point {
	usec_t at;
	uint64_t unreclaimable; /* see mem_use() */
};

enum mem_phase {
	MEM_IDLE,
	MEM_RECLAIM, /* the difference is being reclaimed */
	MEM_HIGH,    /* memory.high leads */
	MEM_MAX,     /* memory.max is down, on trial */
	MEM_PHASE_COUNT,
};

struct mem_trial {
	enum mem_phase phase;
	bool high_lowered; /* memory.high still leads */
	uint64_t from;
	uint64_t to;
	usec_t since;               /* of the phase */
	uint64_t psi_start_usec;    /* some total when the phase began */
	uint64_t refault_start;     /* pages */
	uint64_t max_events_start;  /* memory.events max */
	uint32_t psi_before_ppm;    /* own level before the trial */
	uint64_t refault_before_ps; /* pages per second before the trial */
	uint64_t least_left;        /* MEM_RECLAIM: the least that was still to be reclaimed */
	uint32_t idle_passes;       /* passes since that became less */
};

/* memory.high ahead of growth. */
struct mem_brake {
	uint64_t line;   /* where it is armed; 0: it is not */
	uint64_t stands; /* a memory.high up to this was written by the brake, also when lifting it
			    failed */
	uint64_t of;     /* the limit that may be replayed for which the line was chosen ... */
	uint64_t aim;    /* ... and that line; page cache may still be above it */
	usec_t pressed_at; /* when use reached it; 0: it has not, or headroom was made since */
	usec_t wanted_at;  /* last time */
	usec_t rearm_at;   /* not armed before */
	bool passed;       /* use is at a limit that may be replayed, or above */
	uint32_t ended; /* times that it was lifted, or passed, while a lower limit might still be
			   replayed */
};

struct mem_law {
	struct mem_point point[MEM_POINTS]; /* newest first */
	uint64_t slope_bps;                 /* steepest, bytes per second; 0 when not growing */
	uint64_t steady_bps;                /* over a second */
	uint64_t stat_current;              /* memory.current when memory.stat was read last */
	usec_t pressure_at;                 /* of the last sample */
	struct recent_max recent;           /* of unreclaimable, for shrink_quiet_usec */
	uint64_t growth_mark;
	usec_t last_growth;
	uint32_t psi_ppm;        /* smoothed over about 10 s */
	uint64_t refault_ps;     /* smoothed, pages per second */
	usec_t cache_hurts_usec; /* how long cache pressure has lasted */
	usec_t last_raise;
	usec_t last_change;
	struct mem_brake brake;
	struct mem_trial trial;
	struct shrink_floor floor;
	usec_t backoff_until;
	usec_t backoff_usec;
	usec_t max_event_at; /* last `max` event, or the pod was full; 0: none */
	uint64_t oom_record; /* asked for by a kill and not granted yet; 0: none */
	usec_t oom_at;       /* of the kill, or when its successor began */
};

/* Unreclaimable memory; no more than memory.current, which is read at another moment. */
uint64_t mem_use(const struct usage *u);

/* use + max(permille of it, minimum) */
uint64_t mem_with_margin(const struct tuning_memory *t, uint64_t use);
/* Distance of memory.high below a memory.max of `max`. */
uint64_t mem_gap(const struct tuning_memory *t, uint64_t max);

/* memory.current + this must fit below a memory.max that is being lowered to `max`. */
uint64_t mem_write_margin(const struct tuning_memory *t, uint64_t max);

/* Updates the slope, once per reflex pass. */
void mem_observe_use(const struct tuning_memory *t, struct mem_law *m, uint64_t use, usec_t now);
/* Updates slope, pressure and refaults from two samples. prev is NULL for the first one. */
void mem_observe(const struct tuning_memory *t, struct mem_law *m, const struct usage *prev,
		 const struct usage *u, usec_t now);

struct mem_growth_input {
	const struct usage *prev; /* events since; NULL: none known */
	const struct usage *u;
	uint64_t limit;    /* where growth is stopped: memory.max, or a lower memory.high */
	bool high;         /* it is memory.high */
	bool braked;       /* the brake is set below it */
	uint64_t original; /* the original of that limit */
	usec_t tick_usec;  /* until the next reflex pass */
};

struct mem_brake_input {
	uint64_t use, current, max; /* bytes; max: memory.max, after a raise the new one */
	uint64_t own;               /* the owner's memory.high with it; LIMIT_MAX: none */
	bool hit;    /* memory.high has slowed a process since the last reflex pass */
	bool replay; /* max is the limit that the runtime may replay; memory.max is that, or higher
		      */
	uint64_t replay_max; /* that limit, also where use is above it; LIMIT_MAX: none */
	uint32_t threads;    /* replay: so many may allocate; 0: not known */
	usec_t probe_usec;   /* a probe ends the container after this without an answer; 0: none */
	usec_t tick_usec;
	usec_t now;
};

/* Once per reflex pass: arms the brake, moves it with memory.max or lifts it. The result is
 * brake.line. */
void mem_brake_pass(const struct tuning_memory *t, struct mem_law *m,
		    const struct mem_brake_input *in);
/* Growth raises memory.max: moves the brake with it. */
void mem_brake_raised(const struct tuning_memory *t, struct mem_law *m,
		      const struct mem_brake_input *in);
/* Did the brake write a memory.high of `high`? */
bool mem_brake_owns(const struct mem_law *m, uint64_t high);
/* memory.high could not be written. */
void mem_brake_failed(struct mem_law *m, usec_t now);

/* The desired limit of growth in place of `limit`, and *ret_reason; 0: none, *ret_reason is
 * untouched. */
uint64_t mem_growth_desired(const struct tuning_memory *t, const struct mem_law *m,
			    const struct mem_growth_input *in, enum reason *ret_reason);
/* A limit for a writer that lags: at least `limit`, with headroom for growth during the lag. */
uint64_t mem_headroom(const struct tuning_memory *t, const struct mem_law *m, uint64_t limit);
/* A shrink failed: the wait before the next one doubles. */
void mem_back_off(const struct tuning_memory *t, struct mem_law *m, usec_t now);
/* The desired limit after an OOM kill at `use`. */
uint64_t mem_oom_record(const struct tuning_memory *t, uint64_t use);

struct mem_shrink_input {
	const struct usage *u;
	uint64_t limit;     /* bytes */
	uint64_t candidate; /* bounds applied */
	uint64_t high;      /* memory.high outside of trials */
	usec_t history_usec;
	bool must; /* the API server refused the limit, or the ledger asks for it: neither history
		      nor the deadband keeps it */
	usec_t started_at;
	usec_t now;
	usec_t now_real;
};

/* What a step of the trial asks to write; 0: leave the file as it is (high: mem_shrink_input.high
 * restores it). */
struct mem_step {
	uint64_t reclaim;
	uint64_t high;
	uint64_t max;
	bool undo;
};

/* May a trial begin? BLOCKED_NONE: *ret_to is its goal. */
enum blocked_reason mem_shrink_next(const struct tuning *t, const struct mem_law *m,
				    const struct mem_shrink_input *in, uint64_t *ret_to,
				    usec_t *ret_next);
struct mem_step mem_trial_begin(const struct tuning_memory *t, struct mem_law *m,
				const struct mem_shrink_input *in, uint64_t to);
/* Once per sample of a running trial. */
struct mem_step mem_trial_step(const struct tuning_memory *t, struct mem_law *m,
			       const struct mem_shrink_input *in);
/* Ends a trial early: growth, or memory that could not be reclaimed. Returns the step that restores
 * the former limits. */
struct mem_step mem_trial_abort(const struct tuning_memory *t, struct mem_law *m,
				const struct mem_shrink_input *in);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One cgroup of one node in virtual time: a load runs against limits and leaves the counters that
 * the kernel would show. Everything follows from the load, the seed and the changes applied.
 *
 * CPU: bandwidth control per period. The period timer runs while the group does, and once more to
 * find it idle. Memory: anonymous memory that grows, page cache that is read again and again,
 * reclaim, memory.high that stalls, memory.max that kills what cannot be reclaimed below it.
 */
#pragma once

#include "policy/control/control.h"

#define SIM_THREADS_MAX 16

/* What the group does. Rates are bytes per second. */
struct sim_load {
	uint32_t threads;
	usec_t busy_usec;  /* of CPU that every thread wants per cycle */
	usec_t cycle_usec; /* 0: no CPU */
	usec_t jitter_usec;
	bool drops;          /* work not done by the next cycle is lost, else it queues up */
	uint64_t anon_bps;   /* growth ... */
	uint64_t anon_goal;  /* ... up to this */
	uint32_t allocators; /* threads that do it, with huge pages; 0: CRAWL_BPS above memory.high
			      */
	uint64_t cache_bps;  /* files read */
	uint64_t cache_set;  /* over so many bytes of them */
	uint32_t cache_active; /* permille of the cache that is on the active list */
	bool cache_matters;    /* waiting for a refault is time lost */
};

struct sim_memory {
	uint64_t anon, shmem, kernel, sock, file;
	uint64_t locked;      /* of anon: mlocked */
	uint64_t locked_file; /* beside file: mlocked */
	uint64_t dirty;       /* of file: cannot go */
	uint64_t debt;        /* bytes that a stalled allocator has earned */
	uint64_t stalled_usec;
};

struct sim {
	uint32_t cpus;
	usec_t step_usec;
	usec_t now;
	uint64_t random;
	struct sim_load load;
	struct usage u; /* counters and limits, as the kernel shows them */
	struct sim_memory m;
	usec_t next_cycle;
	usec_t next_period;
	usec_t pending[SIM_THREADS_MAX];
	uint32_t turn;
	uint64_t runtime_usec;
	bool timer_on, idle, throttled;
	uint64_t write_kills;  /* kills caused by a lowered memory.max */
	uint64_t cache_cursor; /* refaults in bytes not yet counted as a page */
};

void sim_init(struct sim *s, const struct limits *l, uint32_t cpus, uint64_t seed);
void sim_run(struct sim *s, usec_t span);
/* What the period timer does in a period in which nothing is throttled; true: one has ended. */
static inline bool sim_timer_pass(bool *timer_on, bool *idle, bool ran)
{
	bool ended = *timer_on;

	*timer_on = ran || (ended && !*idle);
	*idle = ended || ran ? !ran : *idle;
	return ended;
}

/* CPU and memory of sim_run() apart, the clock left to the caller. For periods of one step, the
 * first of which finds no work left: as many as get all that they want, at most count; and their
 * most. */
size_t sim_run_calm(struct sim *s, const uint32_t *want_usec, size_t count, uint32_t *ret_most);
void sim_step_memory(struct sim *s);
void sim_observe(const struct sim *s, struct usage *ret);
/* As the limit writer of cgroup/ does it: same checks, same outcomes. */
int sim_apply(struct sim *s, const struct change *c);
/* A write past every check: what an external writer may do. */
void sim_write(struct sim *s, enum knob knob, uint64_t value);
uint64_t sim_unreclaimable(const struct sim *s);
uint64_t sim_milli(const struct sim *s);

/* One control over one simulated cgroup, driven as the daemon drives it: a pass every tick, a
 * sample every second, a review every ten, sort, apply, and what a failed step asks for after it.
 */

#define RIG_STEPS 16

struct rig {
	struct sim sim;
	struct control c;
	struct tuning t;
	usec_t tick_usec;
	usec_t sample_usec;
	usec_t review_usec;
	usec_t next_sample;
	usec_t next_review;
	usec_t now_real;
	bool wakes; /* for tests: memory.events wakes */
	struct mem_events woken;
	uint64_t reads[10]; /* passes that read the group of this bit */
	uint32_t changes;   /* done */
	uint32_t count[KNOB_COUNT];
	uint64_t max_milli; /* highest CPU limit seen */
	uint64_t max_bytes;
	/* Called for every step, before and after it is applied; may be NULL. */
	void (*before)(struct rig *r, const struct change *c);
	void (*after)(struct rig *r, const struct change *c, int outcome);
	/* Decides an outcome in place of the simulator: true and *ret. */
	bool (*interfere)(struct rig *r, const struct change *c, int *ret);
	/* A fresh ledger for what is about to be decided; NULL: growth is not counted. */
	struct ledger *(*ledger)(struct rig *r);
	void *user;
};

/* The simulator with these limits and the default clocks and tuning; the control is the caller's to
 * begin. */
void rig_set_up(struct rig *r, const struct limits *l, uint32_t cpus, uint64_t seed);
struct control_context rig_context(struct rig *r, struct plan *p);
void rig_apply(struct rig *r, struct plan *p);
void rig_note_reads(struct rig *r, uint32_t have);
/* After a tick: what is read then, and what comes of it. */
void rig_decide(struct rig *r);

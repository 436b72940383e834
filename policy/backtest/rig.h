/* SPDX-License-Identifier: Apache-2.0 */
/* One control over one simulated cgroup, driven as the daemon drives it: a pass every tick, a
 * sample every second, a review every ten, sort, apply, and what a failed step asks for after it.
 */
#pragma once

#include "policy/backtest/sim.h"
#include "policy/control/control.h"

#define RIG_STEPS 16

/* A change that was applied or tried. */
struct rig_change {
	usec_t at;
	struct change step;
	int outcome;
};

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
	bool wakes; /* memory.events wakes: a pass at once, 10 ms apart at least */
	struct mem_events woken;
	uint64_t reads[10]; /* passes that read the group of this bit */
	uint32_t changes;   /* done */
	uint32_t count[KNOB_COUNT];
	struct rig_change last;
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
/* A tick: it passes; what is read then, and what comes of it. */
void rig_pass(struct rig *r);
void rig_decide(struct rig *r);

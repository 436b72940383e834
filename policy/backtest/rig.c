// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/rig.h"
#include <string.h>

/* 2026-01-01T00:00:00Z */
#define START_REAL (1767225600 * USEC_PER_SEC)

void rig_set_up(struct rig *r, const struct limits *l, uint32_t cpus, uint64_t seed)
{
	memset(r, 0, sizeof *r);
	r->t = tuning_default;
	r->tick_usec = USEC_PER_SEC;
	r->sample_usec = USEC_PER_SEC;
	r->review_usec = 10 * USEC_PER_SEC;
	r->now_real = START_REAL;
	sim_init(&r->sim, l, cpus, seed);
	r->next_review = r->sim.now + r->review_usec;
}

struct control_context rig_context(struct rig *r, struct plan *p)
{
	return (struct control_context){
		.tuning = &r->t,
		.node_milli = r->sim.cpus * 1000,
		.tick_usec = r->tick_usec,
		.now = r->sim.now,
		.now_real = r->now_real,
		.plan = p,
		.ledger = r->ledger != NULL ? r->ledger(r) : NULL,
	};
}

static int carry_out(struct rig *r, const struct change *step)
{
	int outcome;

	if (r->before != NULL)
		r->before(r, step);
	if (r->interfere == NULL || !r->interfere(r, step, &outcome))
		outcome = sim_apply(&r->sim, step);
	r->last = (struct rig_change){r->sim.now, *step, outcome};
	if (outcome == APPLY_DONE) {
		r->changes++;
		r->count[step->knob]++;
	}
	if (sim_milli(&r->sim) != LIMIT_MAX)
		r->max_milli = MAX(r->max_milli, sim_milli(&r->sim));
	if (r->sim.u.limits.mem_max != LIMIT_MAX)
		r->max_bytes = MAX(r->max_bytes, r->sim.u.limits.mem_max);
	if (r->after != NULL)
		r->after(r, step, outcome);
	return outcome;
}

void rig_apply(struct rig *r, struct plan *p)
{
	struct change follow[CONTROL_STEPS_MAX];

	plan_sort(p);
	for (size_t i = 0; i < p->count; i++) {
		struct plan next = {.steps = follow, .capacity = ARRAY_SIZE(follow)};
		struct plan none = {0};
		struct control_context x = rig_context(r, &next);
		int outcome = carry_out(r, &p->steps[i]);

		control_applied(&r->c, &p->steps[i], outcome, &x);
		x.plan = &none;
		for (size_t f = 0; f < next.count; f++) {
			outcome = carry_out(r, &follow[f]);
			control_applied(&r->c, &follow[f], outcome, &x);
		}
	}
}

static void note_reads(struct rig *r, uint32_t have)
{
	for (; have != 0; have &= have - 1)
		r->reads[__builtin_ctz(have)]++;
}

/* What a pass reads: asked for in stages, or given. */
static void pass(struct rig *r, uint32_t given, const struct control_context *x)
{
	struct usage all, u = {0};
	uint32_t want = given, tried = 0, have;

	sim_observe(&r->sim, &all);
	have = all.have;
	while ((want = given != 0 ? given & ~tried : control_reflex_wants(&r->c, &u) & ~tried) !=
	       0) {
		all.have = have & want;
		usage_merge(&u, &all);
		tried |= want;
	}
	note_reads(r, u.have);
	control_reflex_pass(&r->c, &u, x);
}

/* memory.events speaks: at once, and not more often than the kernel does. */
static void wake(struct rig *r)
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);
	const struct mem_events *e = &r->sim.u.events;

	if (e->max == r->woken.max && e->high == r->woken.high && e->oom_kill == r->woken.oom_kill)
		return;
	r->woken = *e;
	pass(r, USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_EVENTS, &x);
	rig_apply(r, &p);
}

void rig_pass(struct rig *r)
{
	usec_t end = r->sim.now + r->tick_usec;

	if (!r->wakes) {
		sim_run(&r->sim, r->tick_usec);
		r->now_real += r->tick_usec;
		return;
	}
	while (r->sim.now < end) {
		usec_t piece = MIN(10 * USEC_PER_MSEC, end - r->sim.now);

		sim_run(&r->sim, piece);
		r->now_real += piece;
		if (r->sim.now < end)
			wake(r);
	}
}

void rig_decide(struct rig *r)
{
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);
	struct usage u;

	control_boost(&r->c, &x);
	if (r->sim.now >= r->next_sample) {
		r->next_sample = r->sim.now + r->sample_usec;
		sim_observe(&r->sim, &u);
		note_reads(r, u.have);
		control_observe(&r->c, &u, &x);
	} else {
		pass(r, 0, &x);
	}
	if (r->sim.now >= r->next_review) {
		r->next_review = r->sim.now + r->review_usec;
		control_review(&r->c, &x);
	}
	rig_apply(r, &p);
}

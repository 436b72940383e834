/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by control.c and control_*.c only. */
#pragma once

#include "policy/control/control.h"

/* The laws of memory need all of these. */
#define MEM_USAGE (USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_LIMIT)

/* Why the resource may not be changed at all now, or BLOCKED_NONE. */
enum blocked_reason control_blocked(const struct control *c, enum resource r);
/* Why what is held stays, but for memory that use would fill; BLOCKED_NONE: it does not. */
enum blocked_reason control_frozen(const struct control *c, enum resource r);
/* Applies the bounds of the resource to a desired limit. trace may be NULL. */
uint64_t control_bound(struct control *c, const struct control_context *x, enum resource r,
		       uint64_t desired, struct bound_trace *trace);
/* The same for a raise of memory that is about to be planned: the ledger grants it, and keeps the
 * desired limit as denied when it grants less. */
uint64_t control_bound_raise(struct control *c, const struct control_context *x, uint64_t desired,
			     enum reason reason);
/* The same for the end of a shrink trial: a refusal by the API server does not bound it. */
uint64_t control_bound_back(struct control *c, const struct control_context *x, enum resource r,
			    uint64_t desired);
/* The highest limit that the API server accepts after a refusal; LIMIT_MAX: no refusal applies. */
uint64_t control_refused(const struct control *c, enum resource r);
/* Mode Initial has sized it: sets its final requests. Limits are set by the plan. */
void control_fix_requests(struct control *c, const struct control_context *x);
/* At a review: how long the requests have been apart from those of the spec. */
void control_note_requests(struct control *c, const struct control_context *x);
/* The minimum to which a lower limit is raised; 0: there is none. */
uint64_t control_minimum(const struct control *c, const struct control_context *x, enum resource r);
/* Fills resource->pending, the decision behind the step that is about to be planned. */
void control_decide(struct control *c, enum resource r, uint64_t to, enum reason reason,
		    const struct control_context *x);

void control_plan_cpu(struct control *c, const struct control_context *x, uint64_t milli,
		      enum reason reason);
/* Lowers neither file below use: memory.max stops at use + margin. */
void control_plan_mem(struct control *c, const struct control_context *x, enum knob knob,
		      uint64_t bytes, enum reason reason);
/* The highest use of the last minutes, with headroom: else the growth law raises at once. */
uint64_t control_mem_needed(const struct control *c, const struct tuning_memory *t);
/* Which ceiling the memory limit has reached. */
enum blocked_reason control_ceiling_reason(const struct control *c, const struct tuning *t);
/* press: more than the ceiling is desired. ease: it is not; a minute of that ends at_ceiling. */
void control_press_ceiling(struct control_resource *res, usec_t now);
void control_ease_ceiling(struct control_resource *res, usec_t now);

/* Record: the CPU demand of a sample. Reflex: the raise, at a sample or a reflex pass. */
void control_record_cpu(struct control *c, const struct control_context *x);
/* algorithm threshold: the limit as it is, or the next one when the rule asks for it. */
uint64_t control_threshold_limit(const struct control *c, const struct control_context *x,
				 enum resource r);
/* From its own history, with the percentile that its goal has for the CPU limit. */
void control_recommend(struct control *c, const struct control_context *x);
/* Takes throttled periods that say nothing about the demand off a new reading. */
void control_weigh_throttling(struct control *c, const struct control_context *x);
void control_note_periods(struct control *c, const struct control_context *x);
void control_reflex_cpu(struct control *c, const struct control_context *x);
/* A sample. prev: the one before it, NULL: none. newest: the newest values before this one. */
void control_observe_mem(struct control *c, const struct usage *prev, const struct usage *newest,
			 const struct control_context *x);
/* A reflex pass that read the groups in have. */
void control_reflex_mem(struct control *c, uint32_t have, const struct usage *before,
			const struct control_context *x);
/* May the limit be raised at all? */
bool control_grows_mem(const struct control *c);
bool control_grows_cpu(const struct control *c);
/* The desired limit after an OOM kill since `prev`, or an earlier ungranted one; 0: none. have:
 * what was read since. */
uint64_t control_oom_desired(struct control *c, const struct usage *prev, uint32_t have,
			     const struct control_context *x);
/* Records whether the run ended under an external writer's lower limit. Before it is cleared. */
void control_oom_ended(struct control *c, usec_t now);
/* Applies the kill to the held limit, once, before a successor's limit is written. */
void control_oom_apply(struct control *c, const struct tuning *t);
/* The highest memory need between two samples; prev NULL: the need now. */
uint64_t control_mem_need(const struct usage *prev, const struct usage *u);
/* A memory.max in place of a lower `max`: while memory grows, above use by the growth of the time
 * until the next look, and no higher than it is. */
uint64_t control_above_growth(const struct control *c, const struct control_context *x,
			      uint64_t max);
/* The factor of the kubelet that set the original memory.high; 0: it did not. */
uint32_t control_qos_factor(const struct control *c);
/* memory.high for a memory.max of `max`, the brake included. */
uint64_t control_braked_high(const struct control *c, uint64_t mem_max);
/* What the brake is given now, with mem_max as memory.max. */
struct mem_brake_input control_brake_input(const struct control *c, const struct control_context *x,
					   uint64_t mem_max);
/* Arms, holds and lifts the brake. hit: memory.high slowed growth. */
void control_brake(struct control *c, const struct control_context *x, bool hit);
/* Is it boosted? Then a review changes only the limit that returns afterwards. */
bool control_boost_holds(struct control *c, const struct control_context *x);
void control_review_cpu(struct control *c, const struct control_context *x);
void control_review_mem(struct control *c, const struct control_context *x);
/* Plans the raise that an OOM kill of the predecessor showed; false: not needed or not allowed. */
bool control_mem_due(struct control *c, const struct control_context *x);
/* A memory step (of a trial, or the brake) was refused or had only a partial effect. */
void control_mem_step_failed(struct control *c, const struct change *step,
			     const struct control_context *x);

/* --- control_ledger.c */
/* Books and returns as much of a desired memory limit as the node grants; all of it without a
 * ledger. What is denied is kept: as present need for growth and OOM kills, else ahead of
 * need. */
uint64_t control_grant(struct control *c, const struct control_context *x, uint64_t desired,
		       enum reason reason);
/* Grants the held limit: a successor asks anew; what is granted already costs nothing. */
void control_grant_held(struct control *c, const struct control_context *x);
/* At the first sample: lowers memory.max to the held limit. systemd starts a successor with the
 * stored property, whose headroom was not granted. */
void control_drop_ungranted(struct control *c, const struct control_context *x);
/* It waits for memory that was denied a moment ago. */
bool control_awaits_grant(const struct control *c, const struct control_context *x);
/* An answer of the ledger, through the tape of the call. */
uint64_t control_taped(const struct control_context *x, uint64_t answer);
/* Updates the use in the ledger. */
void control_ledger_use(const struct control *c, const struct control_context *x);
/* The limit that the ledger asks for by a trial; 0: it does not ask. */
uint64_t control_shrink_asked(const struct control *c, usec_t now);

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by control.c and control_*.c only. */
#pragma once

#include "policy/control/control.h"

/* Without these nothing is said about memory. */
#define MEM_USAGE (USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_LIMIT)

/* Why the resource may not be changed at all now, or HOLD_NONE. */
enum hold control_blocked(const struct control *c, enum resource r);
/* Applies the bounds of the resource to a wish; the trace stays with the resource. */
uint64_t control_bound(struct control *c, const struct control_context *x, enum resource r,
		       uint64_t wish);
/* The same for a raise of memory that is about to be planned: it is booked in the node's ledger,
 * and what that does not grant is a claim. */
uint64_t control_bound_raise(struct control *c, const struct control_context *x, uint64_t wish,
			     enum reason reason);
/* Puts back what was taken away: a refusal by the API server is no reason not to. */
uint64_t control_bound_back(struct control *c, const struct control_context *x, enum resource r,
			    uint64_t wish);
/* The API server refused as much as we hold; the highest that it takes, or LIMIT_MAX. */
uint64_t control_refused(const struct control *c, enum resource r);
/* Mode Initial has sized it: what it requests from now on. Leaves limits to the plan. */
void control_fix_requests(struct control *c, const struct control_context *x);
/* Minimum that raises a limit which stands below it; 0: there is none. */
uint64_t control_minimum(const struct control *c, const struct control_context *x, enum resource r);
/* Fills resource->pending: the decision that the step about to be planned carries out. */
void control_decide(struct control *c, enum resource r, uint64_t to, enum reason reason,
		    const struct control_context *x);

void control_plan_cpu(struct control *c, const struct control_context *x, uint64_t milli,
		      enum reason reason);
/* Lowers neither file below what is in use: memory.max stops at use + margin. */
void control_plan_mem(struct control *c, const struct control_context *x, enum knob knob,
		      uint64_t bytes, enum reason reason);
/* Raises memory.max, and memory.high with it. */
void control_raise_to(struct control *c, const struct control_context *x, uint64_t to,
		      enum reason reason);
/* What was in use at most in the last minutes, with room so that growth does not act at once. */
uint64_t control_mem_needed(const struct control *c, const struct tuning_memory *t);
struct mem_shrink_input control_shrink_input(const struct control *c,
					     const struct control_context *x);
void control_plan_mem_step(struct control *c, const struct control_context *x,
			   const struct mem_step *s);
/* Which ceiling it is that memory stands at. */
enum hold control_hold_at_ceiling(const struct control *c);
/* It asks for more than the ceiling; a minute without asking ends that. */
void control_press_ceiling(struct control_resource *res, usec_t now);
void control_ease_ceiling(struct control_resource *res, usec_t now);

/* What a sample tells of CPU demand, and what any look makes of it. */
void control_record_cpu(struct control *c, const struct control_context *x);
void control_reflex_cpu(struct control *c, const struct control_context *x);
/* A sample; prev is the one before it, NULL: there was none. newest is what was known until now. */
void control_observe_mem(struct control *c, const struct usage *prev, const struct usage *newest,
			 const struct control_context *x);
/* A look that read the groups in have. */
void control_look_mem(struct control *c, uint32_t have, const struct usage *before,
		      const struct control_context *x);
/* May the memory limit be raised at all? */
bool control_grows_mem(const struct control *c);
/* What a kill since `prev` asks for, or one that has not been granted yet; 0: nothing. */
uint64_t control_oom_wish(struct control *c, const struct usage *prev,
			  const struct control_context *x);
/* The run is over: did it end under a lowered limit? Before what is known of it goes. */
void control_oom_ended(struct control *c, usec_t now);
/* Once, before the size of a successor is written. */
void control_oom_apply(struct control *c, const struct tuning *t);
/* What was needed at the worst moment between two samples; prev NULL: now. */
uint64_t control_mem_need(const struct usage *prev, const struct usage *u);
/* memory.high for a memory.max of `max`, the brake included. */
uint64_t control_braked_high(const struct control *c, uint64_t mem_max);
/* Arms, holds and lifts the brake. hit: growth was stopped at memory.high. */
void control_brake(struct control *c, const struct control_context *x, bool hit);
/* A step of a boost has been carried out. */
void control_boost_applied(struct control *c, const struct change *done,
			   const struct control_context *x);
/* Is it boosted? Then a review moves what comes back afterwards, and nothing else. */
bool control_boost_holds(struct control *c, const struct control_context *x);
/* Is the use of this span the start's? */
bool control_boost_covers(const struct control *c, usec_t from, usec_t to);
void control_review_cpu(struct control *c, const struct control_context *x);
void control_review_mem(struct control *c, const struct control_context *x);
/* Plans what a kill of the predecessor asked for; false: nothing beyond what is held. */
bool control_mem_owed(struct control *c, const struct control_context *x);
/* A step of a running memory trial was refused or came up short. */
void control_mem_step_failed(struct control *c, const struct change *step,
			     const struct control_context *x);

/* --- control_ledger.c */
/* As much of a memory limit as the node grants, booked; in full where it is not counted. What is
 * denied to growth is a claim of now, else one ahead of need. */
uint64_t control_grant(struct control *c, const struct control_context *x, uint64_t wish,
		       enum reason reason);
/* What it is held at: a successor asks for it anew, what stands is granted already. */
void control_grant_held(struct control *c, const struct control_context *x);
/* At the first sample: systemd starts a successor with all the room that it holds for growth, which
 * nobody granted. */
void control_come_down(struct control *c, const struct control_context *x);
/* Less than was asked for, at this very look. */
bool control_denied_now(const struct control *c, const struct control_context *x);
/* It waits for memory that it asked for a moment ago. */
bool control_claims(const struct control *c, const struct control_context *x);
/* Tells the ledger of newer use than it knows. */
void control_ledger_use(const struct control *c, const struct control_context *x);
/* The limit that the ledger would have of it, where a trial is needed for that; 0: it does not ask.
 */
uint64_t control_asked(const struct control *c, usec_t now);

/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by control.c, control_cpu.c and control_mem.c only. */
#pragma once

#include "policy/control.h"

/* Why the resource may not be changed at all now, or HOLD_NONE. */
enum hold control_blocked(const struct control *c, enum resource r);
/* Applies the bounds of the resource to a wish; the trace stays with the resource. */
uint64_t control_bound(struct control *c, const struct control_context *x, enum resource r,
		       uint64_t wish);
/* Puts back what was taken away: a refusal by the API server is no reason not to. */
uint64_t control_bound_back(struct control *c, const struct control_context *x, enum resource r,
			    uint64_t wish);
/* The API server refused as much as we hold; the highest that it takes, or LIMIT_MAX. */
uint64_t control_refused(const struct control *c, enum resource r);
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
/* It asks for more than the ceiling; a minute without asking ends that. */
void control_press_ceiling(struct control_resource *res, usec_t now);
void control_ease_ceiling(struct control_resource *res, usec_t now);

void control_observe_cpu(struct control *c, const struct usage *u, const struct control_context *x);
void control_observe_mem(struct control *c, const struct usage *prev,
			 const struct control_context *x);
void control_review_cpu(struct control *c, const struct control_context *x);
void control_review_mem(struct control *c, const struct control_context *x);
/* Plans what a kill of the predecessor asked for; false: nothing beyond what is held. */
bool control_mem_owed(struct control *c, const struct control_context *x);
/* A step of a running memory trial was refused or came up short. */
void control_mem_step_failed(struct control *c, const struct change *step,
			     const struct control_context *x);

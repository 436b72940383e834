/* SPDX-License-Identifier: Apache-2.0 */
/* Releases a unit: suspends the laws and requests that its originals are restored. */
#pragma once

#include "policy/types/limits.h"
#include "policy/types/reason.h"
#include "policy/types/state.h"
#include <stdbool.h>

struct managed;
struct unit_table;

/* Puts pause, restore and release into effect for the laws. */
void unit_update_blocked(struct managed *m);
/* Hands a unit back. Tried again until it succeeds. */
void lifecycle_release(struct managed *m, enum state_reason why);
/* A try failed: the next one is not before next_at. reported: its failure is in the journal. */
void release_tried(struct managed *m, bool reported, usec_t next_at);
/* It is managed again. */
void release_end(struct managed *m);
/* It was handed back. */
void release_done(struct managed *m);
/* Nothing new is written until then. */
void release_settle(struct managed *m, usec_t until);
/* The laws do not raise it from here on: up to what others hold for it. */
void release_put_back(struct managed *m, enum resource r, uint64_t to, enum reason reason);
/* vscaled stops: up to what the pod's spec holds; memory of units to the original. */
void release_stopping(struct unit_table *t);

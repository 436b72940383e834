/* SPDX-License-Identifier: Apache-2.0 */
/* Releases a unit: suspends the laws and requests that its originals are restored. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct managed;

/* Puts pause, restore and release into effect for the laws. */
void unit_update_blocked(struct managed *m);
/* Hands a unit back; why is static text. Tried again until it succeeds. */
void lifecycle_release(struct managed *m, const char *why);
/* A try failed: the next one is not before next_at. reported: its failure is in the journal. */
void release_tried(struct managed *m, bool reported, usec_t next_at);
/* It is managed again. */
void release_end(struct managed *m);
/* It was handed back. */
void release_done(struct managed *m);
/* Nothing new is written until then. */
void release_settle(struct managed *m, usec_t until);

/* SPDX-License-Identifier: Apache-2.0 */
/* The passes over all units. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

struct managed;
struct unit_table;

/* Takes a sample of everything; review: with the review, which is due. */
void tick(struct unit_table *t, bool review);
/* On the reflex clock, between two samples. */
void tick_reflex(struct unit_table *t);
/* One unit at once, after an event of its memory.events. */
void tick_unit(struct managed *m);
/* One unit at once, within the period in which it has used its quota. */
void tick_throttled(struct managed *m, usec_t period_end_monotonic);

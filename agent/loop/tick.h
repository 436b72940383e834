/* SPDX-License-Identifier: Apache-2.0 */
/* The passes over all units. */
#pragma once

#include <stdbool.h>

struct managed;
struct unit_table;

/* Takes a sample of everything; review: with the review, which is due. */
void tick(struct unit_table *t, bool review);
/* On the reflex clock, between two samples. */
void tick_reflex(struct unit_table *t);
/* One unit at once, after an event of its memory.events. */
void tick_unit(struct managed *m);

/* SPDX-License-Identifier: Apache-2.0 */
/* The reflex pass between two samples. */
#pragma once

struct managed;
struct unit_table;

/* On the reflex clock, between two samples. */
void tick_reflex(struct unit_table *t);
/* One unit at once, after an event of its memory.events. */
void tick_unit(struct managed *m);

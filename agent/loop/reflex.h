/* SPDX-License-Identifier: Apache-2.0 */
/* The reflex pass between two samples. */
#pragma once

struct daemon;
struct managed;

/* On the reflex clock, between two samples. */
void tick_reflex(struct daemon *d);
/* One unit at once, after an event of its memory.events. */
void tick_unit(struct managed *m);

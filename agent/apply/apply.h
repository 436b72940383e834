/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out a plan: writes its steps to cgroups, raises first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct managed;
struct plan;
struct unit_table;

/* No further pass will read the unit: releases the brake, which nothing would release later. */
void unit_brake_off(struct managed *m);
/* Carries out a plan: writes, outcomes, journal; then sends what properties are due. */
void plan_apply(struct unit_table *t, struct plan *p);
/* Writes the raises from step `from` on at once and removes them. True: there were some. */
bool plan_raise(struct unit_table *t, struct plan *p, size_t from);
/* Raises the level of a pod so that the original of its container can be restored. */
void pod_make_room(struct managed *m);

/* Memory that is granted and not used goes back to the node. */
/* After the pass over all: unused grants that others need. */
void take_back_unused(struct unit_table *t, struct plan *plan);
/* A limit above the held one, as far as use allows, before it is classified. */
void take_back_unclassified(struct managed *m);

/* A writer of memory.max that is blocked in the kernel. */

/* Releases a PID 1 stuck in a write of memory.max. At every wake-up by memory.events. */
void stuck_check(struct managed *m);
/* A new cgroup has new counters. */
void stuck_forget(struct managed *m);

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan: what to write, in the order in which it is safe to write it.
 *
 *	raise memory.max, then memory.high	parents first
 *	raise cpu.max, then cpu.max.burst	parents first
 *	lower cpu.max.burst, then cpu.max	children first
 *	memory.reclaim, lower memory.high, then memory.max	children first
 *
 * Memory raises come first because they can prevent an OOM kill.
 */
#pragma once

#include "policy/types/limits.h"

struct plan {
	struct change *steps; /* borrowed */
	size_t count;
	size_t capacity;
};

/* -ENOSPC when full; a step that changes nothing is left out. */
int plan_add(struct plan *p, const struct change *c);
/* Puts the steps into the order above; steps of the same rank keep theirs. */
void plan_sort(struct plan *p);
/* Before: true when a must be written before b. */
bool plan_before(const struct change *a, const struct change *b);
/* Does the step give the cgroup less than it has? memory.reclaim does. */
bool change_lowers(const struct change *c);

/* The limit of a parent whose children get the given limits (unmanaged ones at their present
 * values): their sum, LIMIT_MAX when one of them is; a parent that is `max` stays it. */
uint64_t plan_parent_limit(uint64_t present, const uint64_t *children, size_t count);

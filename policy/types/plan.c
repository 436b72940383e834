// SPDX-License-Identifier: Apache-2.0
#include "policy/types/plan.h"
#include "policy/base/arithmetic.h"
#include <errno.h>

/* Rank of a knob when it is raised and when it is lowered. */
static const struct {
	uint8_t raise;
	uint8_t lower;
} ranks[KNOB_COUNT] = {
	[KNOB_MEM_MAX] = {0, 8},   [KNOB_MEM_HIGH] = {1, 7},    [KNOB_CPU_MAX] = {2, 5},
	[KNOB_CPU_BURST] = {3, 4}, [KNOB_MEM_RECLAIM] = {6, 6},
};

bool change_lowers(const struct change *c)
{
	return c->knob == KNOB_MEM_RECLAIM || c->to < c->from;
}

static uint8_t rank(const struct change *c)
{
	return change_lowers(c) ? ranks[c->knob].lower : ranks[c->knob].raise;
}

/* Levels of one direction must not mix: with two levels all raises of the parent, then the child's.
 * Memory raises of every level stand before the CPU raises of any, see plan.h. */
bool plan_before(const struct change *a, const struct change *b)
{
	bool memory_a = knobs[a->knob].resource == RESOURCE_MEMORY;
	bool memory_b = knobs[b->knob].resource == RESOURCE_MEMORY;
	bool lowers_a = change_lowers(a), lowers_b = change_lowers(b);

	if (lowers_a != lowers_b)
		return lowers_b;
	if (memory_a != memory_b)
		return lowers_a ? memory_b : memory_a;
	if (a->depth != b->depth)
		return lowers_a ? a->depth > b->depth : a->depth < b->depth;
	return rank(a) < rank(b);
}

int plan_add(struct plan *p, const struct change *c)
{
	if (c->from == c->to && c->knob != KNOB_MEM_RECLAIM)
		return 0;
	if (p->count == p->capacity)
		return -ENOSPC;
	p->steps[p->count++] = *c;
	return 0;
}

void plan_sort(struct plan *p)
{
	/* Insertion sort: stable, and a plan is short and nearly sorted. */
	for (size_t i = 1; i < p->count; i++) {
		struct change step = p->steps[i];
		size_t at = i;

		for (; at > 0 && plan_before(&step, &p->steps[at - 1]); at--)
			p->steps[at] = p->steps[at - 1];
		p->steps[at] = step;
	}
}

uint64_t plan_parent_limit(uint64_t present, const uint64_t *children, size_t count)
{
	uint64_t sum = 0;

	if (present == LIMIT_MAX)
		return LIMIT_MAX;
	for (size_t i = 0; i < count; i++)
		sum = add_sat(sum, children[i]);
	return sum;
}

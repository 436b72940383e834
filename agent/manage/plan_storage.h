/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "policy/types/plan.h"

/* A step of every kind for every resource at most, and a failed step may ask for two more. */
#define PLAN_STEPS_PER_UNIT 8

/* Where plans are made; kept for the next one. */
struct plan_storage {
	struct change *steps; /* owned */
	size_t capacity;
};

struct unit_table;

/* An empty plan in the memory of the table, which one plan at a time may use. */
void plan_begin(struct unit_table *t, struct plan *ret);
void plan_storage_free(struct plan_storage *s);

// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/plan_storage.h"
#include "agent/manage/managed.h"
#include <stdlib.h>

void plan_begin(struct unit_table *t, struct plan *ret)
{
	struct plan_storage *s = &t->plans;
	size_t want = (t->count + 1) * PLAN_STEPS_PER_UNIT;

	if (want > s->capacity) {
		void *steps = malloc(want * sizeof *s->steps);

		/* Not reallocated: no content is kept, and untouched pages take no memory. */
		if (steps != NULL) {
			free(s->steps);
			s->steps = steps;
			s->capacity = want;
		}
	}
	*ret = (struct plan){.steps = s->steps, .capacity = s->capacity};
}

void plan_storage_free(struct plan_storage *s)
{
	free(s->steps);
	*s = (struct plan_storage){0};
}

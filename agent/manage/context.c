// SPDX-License-Identifier: Apache-2.0
#include "agent/manage/context.h"
#include "agent/config/config.h"
#include "agent/manage/host.h"
#include "agent/manage/managed.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/wake.h"
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

struct control_context daemon_context(struct unit_table *t, struct plan *plan)
{
	return (struct control_context){
		.tuning = &t->config->tuning,
		.node_milli = t->host->cpu_milli,
		.tick_usec = MIN(t->config->clocks.reflex_usec, t->config->clocks.sample_usec),
		.now = t->wake->now,
		.now_real = t->wake->now_real,
		.plan = plan,
		.ledger = node_memory_is_open(t->memory) ? &t->memory->ledger : NULL,
	};
}

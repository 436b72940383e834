// SPDX-License-Identifier: Apache-2.0
#include "agent/apply/take_back.h"
#include "agent/config/config.h"
#include "agent/manage/drift_state.h"
#include "agent/manage/managed.h"
#include "agent/manage/messages.h"
#include "agent/manage/node_memory.h"
#include "agent/manage/table.h"
#include "cgroup/writer.h"
#include "policy/control/control.h"

/* The most entries that return unused grants in one wake-up. */
#define ASKS_MAX 16

void take_back_unclassified(struct managed *m)
{
	struct control *c = &m->control;
	const struct change lower = {
		.target = c->target,
		.knob = KNOB_MEM_MAX,
		.from = c->unclassified_bytes,
		.to = c->kernel.mem_max,
		.margin_bytes = mem_write_margin(&m->config->tuning.memory, c->kernel.mem_max),
	};

	if (m->cgroup.cg == NULL || cg_write(m->cgroup.cg, &lower) != APPLY_DONE)
		return; /* in use: it stays in the ledger */
	drift_replaced_early(m, c->unclassified_bytes);
	/* PID 1 writes what it stores at every call: that is ordinary. */
	if (m->drift.early == DRIFT_EARLY_REPLACED)
		message_taken_back(m, lower.from, lower.to);
	control_set_unclassified(c, 0);
}

void take_back_unused(struct unit_table *t, struct plan *plan)
{
	struct control_context x = daemon_context(t, plan);
	struct ledger_ask asks[ASKS_MAX];
	uint32_t count = node_memory_asks(t->memory, asks, ASKS_MAX);

	for (uint32_t i = 0; i < count; i++) {
		struct managed *m = managed_by_id(t, asks[i].entry);

		if (m == NULL)
			continue;
		if (m->control.unclassified_bytes != 0)
			take_back_unclassified(m);
		else if (managed_has_laws(m) && m->cgroup.cg != NULL)
			control_give_back(&m->control, &x, asks[i].to);
	}
}

// SPDX-License-Identifier: Apache-2.0
/* A unit's history: taken from the store, or from a sibling, at its start; put back for the next
 * save. */
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/wake.h"
#include "policy/control/control_state.h"
#include <string.h>

static usec_t later(usec_t wait_usec, usec_t now)
{
	return wait_usec == 0 ? 0 : now + wait_usec;
}

static usec_t left(usec_t until, usec_t now)
{
	return until > now ? until - now : 0;
}

/* Of the live copies of one workload's history the one with most samples is kept: each began as a
 * copy, so that adding them up would count the common part several times. */
static const struct managed *best_sibling(const struct managed *m)
{
	const struct managed *best = NULL;

	for (size_t i = 0; m->kind == UNIT_KIND_CONTAINER && i < m->table->count; i++) {
		const struct managed *s = m->table->items[i];

		if (s == m || s->cgroup.cg == NULL || s->history_key == NULL ||
		    s->control.history.samples == 0 || strcmp(s->history_key, m->history_key) != 0)
			continue;
		if (best == NULL ||
		    s->control.history.observed_usec > best->control.history.observed_usec)
			best = s;
	}
	return best;
}

/* A further pod of a workload begins with what is known of the others on this node. */
static bool adopt_sibling(struct managed *m)
{
	const struct managed *s = best_sibling(m);
	struct control_past past;

	if (s == NULL || m->control.history.samples > 0 ||
	    history_copy(&s->control.history, &past.history) < 0)
		return false;
	past.cpu_floor = s->control.cpu.floor;
	past.mem_floor = s->control.mem.floor;
	past.backoff_usec = s->control.mem.backoff_usec;
	past.backoff_until = s->control.mem.backoff_until;
	control_set_past(&m->control, &past);
	return true;
}

void persist_adopt_history(struct managed *m)
{
	struct control *c = &m->control;
	struct history_record rec;
	struct control_past past;

	if (m->history_key == NULL)
		return;
	if (adopt_sibling(m) || history_store_get(&m->records->histories, m->history_key,
						  &m->config->tuning.history, &rec) < 0)
		return;
	past = (struct control_past){
		.history = rec.history,
		.cpu_floor = rec.floor[RESOURCE_CPU],
		.mem_floor = rec.floor[RESOURCE_MEMORY],
		.backoff_usec = rec.backoff[RESOURCE_MEMORY].span_usec,
		.backoff_until = later(
			left(rec.backoff[RESOURCE_MEMORY].until_realtime_usec, m->wake->now_real),
			m->wake->now),
	};
	control_set_past(c, &past);
	/* Saved under a wall clock that ran ahead of today's. */
	if (rec.seen_realtime_usec > m->wake->now_real + USEC_PER_HOUR)
		control_shift_clock(c, (int64_t)(m->wake->now_real - rec.seen_realtime_usec));
}

void persist_keep_history(const struct managed *m)
{
	const struct control *c = &m->control;
	struct history_record rec = {
		.seen_realtime_usec = m->wake->now_real,
		.history = c->history,
		.floor = {[RESOURCE_CPU] = c->cpu.floor, [RESOURCE_MEMORY] = c->mem.floor},
		.backoff[RESOURCE_MEMORY] =
			{
				.span_usec = c->mem.backoff_usec,
				.until_realtime_usec =
					later(left(c->mem.backoff_until, m->wake->now),
					      m->wake->now_real),
			},
	};
	OWN(history_record_drop) struct history_record old = {0};

	if (c->history.samples == 0 || m->history_key == NULL)
		return;
	/* Another pod of the workload may have left more. */
	if (m->kind == UNIT_KIND_CONTAINER &&
	    history_store_get(&m->records->histories, m->history_key, &m->config->tuning.history,
			      &old) == 0 &&
	    old.history.observed_usec > c->history.observed_usec) {
		rec = old;
		rec.seen_realtime_usec = m->wake->now_real;
	}
	history_store_put(&m->records->histories, m->history_key, &rec);
}

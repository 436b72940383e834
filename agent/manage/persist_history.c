// SPDX-License-Identifier: Apache-2.0
/* A unit's history: taken from the store, or from a sibling, at its start; put back for the next
 * save. */
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "policy/control/control_state.h"
#include <stdio.h>
#include <string.h>

/* So long does mode Initial wait for an answer of the API server (cluster_kin.c,
 * cluster_autoscalers.c). */
#define FACTS_WAIT_USEC (30 * USEC_PER_SEC)

static usec_t later(usec_t wait_usec, usec_t now)
{
	return wait_usec == 0 ? 0 : now + wait_usec;
}

static usec_t left(usec_t until, usec_t now)
{
	return until > now ? until - now : 0;
}

void persist_history_key(const struct kube_pod *pod, const char *container, char *ret)
{
	snprintf(ret, RECORD_NAME_MAX, "%s/%s/%s", pod->namespace,
		 pod->workload != NULL ? pod->workload : pod->name, container);
}

/* Of the live copies of one workload's history the one with most samples is kept: each began as a
 * copy, so that adding them up would count the common part several times. */
static const struct managed *best_of(const struct unit_table *t, const char *history_key,
				     const struct managed *but)
{
	const struct managed *best = NULL;

	for (size_t i = 0; i < t->count; i++) {
		const struct managed *s = t->items[i];

		if (s == but || s->cgroup.cg == NULL || s->history_key == NULL ||
		    s->control.history.samples == 0 || strcmp(s->history_key, history_key) != 0)
			continue;
		if (best == NULL ||
		    s->control.history.observed_usec > best->control.history.observed_usec)
			best = s;
	}
	return best;
}

const struct managed *persist_best_live(const struct unit_table *t, const char *history_key)
{
	return best_of(t, history_key, NULL);
}

int persist_recommend(const struct records *records, const char *history_key,
		      struct recommendation *ret, uint64_t *ret_samples)
{
	const struct tuning_history *t = &records->units->config->tuning.history;
	OWN(history_record_drop) struct history_record rec = {0};
	int r = history_store_get(&records->histories, history_key, t, &rec);

	if (r < 0)
		return r;
	history_recommend(&rec.history, t, 1, ret);
	*ret_samples = rec.history.samples;
	return 0;
}

/* A further pod of a workload begins with what is known of the others on this node. */
static bool adopt_sibling(struct managed *m)
{
	const struct managed *s =
		m->kind == UNIT_KIND_CONTAINER ? best_of(m->table, m->history_key, m) : NULL;
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
	if (m->kind == UNIT_KIND_CONTAINER && m->pod->spec->owned)
		control_await_facts(c, m->wake->now + FACTS_WAIT_USEC);
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

	/* A kill before the first sample is known, too. */
	if (c->history.first_real == 0 || m->history_key == NULL)
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

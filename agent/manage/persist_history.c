// SPDX-License-Identifier: Apache-2.0
/* A unit's history: taken from the store, or from a sibling, at its start; put back for the next
 * save. */
#include "agent/config/config.h"
#include "agent/manage/managed.h"
#include "agent/manage/persist.h"
#include "agent/manage/pod_table.h"
#include "agent/manage/wake.h"
#include "policy/base/arithmetic.h"
#include "policy/control/control_state.h"
#include <errno.h>
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
	snprintf(ret, RECORD_NAME_MAX, "%s/%s/%s/%s", pod->namespace, kube_pod_kind(pod),
		 pod->workload != NULL ? pod->workload : pod->name, container);
}

/* Runs of a Job are observed now and then. */
static bool is_of_runs(const struct history *h)
{
	return h->observed_usec[RESOURCE_CPU] < (h->last_real - h->first_real) / 5;
}

/* The keys of earlier releases have no kind: the record tells whether it is of runs of a Job or of
 * anything else. *ret_key: where it was found. */
static int find_record(const struct records *records, const char *key, struct history_record *ret,
		       char ret_key[static RECORD_NAME_MAX])
{
	const struct tuning_history *t = &records->units->config->tuning.history;
	const char *kind = strchr(key, '/'), *rest = kind != NULL ? strchr(kind + 1, '/') : NULL;
	int r = history_store_get(&records->histories, key, t, ret);
	bool runs;

	snprintf(ret_key, RECORD_NAME_MAX, "%s", key);
	if (r != -ENOENT || rest == NULL)
		return r;
	snprintf(ret_key, RECORD_NAME_MAX, "%.*s%s", (int)(kind - key), key, rest);
	runs = strncmp(kind, "/Job/", 5) == 0 || strncmp(kind, "/CronJob/", 9) == 0;
	r = history_store_get(&records->histories, ret_key, t, ret);
	if (r < 0 || is_of_runs(&ret->history) == runs)
		return r;
	history_record_drop(ret);
	return -ENOENT;
}

static usec_t observed(const struct history *h)
{
	return add_sat(h->observed_usec[RESOURCE_CPU], h->observed_usec[RESOURCE_MEMORY]);
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
		    observed(&s->control.history) > observed(&best->control.history))
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
	char key[RECORD_NAME_MAX];
	int r = find_record(records, history_key, &rec, key);

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
	char key[RECORD_NAME_MAX];
	struct history_record rec;
	struct control_past past;

	if (m->history_key == NULL)
		return;
	if (m->kind == UNIT_KIND_CONTAINER && m->pod->spec->owned)
		control_await_facts(c, m->wake->now + FACTS_WAIT_USEC);
	if (adopt_sibling(m) || find_record(m->records, m->history_key, &rec, key) < 0)
		return;
	/* It is this workload's from now on, and no other kind's. */
	if (strcmp(key, m->history_key) != 0)
		history_store_remove(&m->records->histories, key);
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
	    observed(&old.history) > observed(&c->history)) {
		rec = old;
		rec.seen_realtime_usec = m->wake->now_real;
	}
	history_store_put(&m->records->histories, m->history_key, &rec);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/report/report_impl.h"
#include <string.h>

/* A request was made from an object that is not the newest: the watch is about to deliver that one.
 * After this many conflicts in a row the pause is longer. */
#define CONFLICTS_MAX  3
#define CONFLICT_SOON  (500 * USEC_PER_MSEC)
#define CONFLICT_PAUSE (10 * USEC_PER_SEC)
/* After a failed request; the queue has a back-off of its own, and obeys a Retry-After. While the
 * server works this doubles up to a minute. */
#define FAILURE_PAUSE USEC_PER_SEC
/* A lead has no more time than the kubelet's delay: its first pauses; then as above. */
static const usec_t lead_pause[] = {100 * USEC_PER_MSEC, 300 * USEC_PER_MSEC};
/* The API server ends a request 30 s after it came (reporter.c). */
#define UNANSWERED_USEC USEC_PER_MIN

/* A request for more memory has an answer: it restarts the container, unless the answer proves that
 * nothing was changed. */
static void restart_answered(struct report_state *s, enum report_answer_kind kind)
{
	for (size_t i = 0; i < s->count; i++) {
		struct report_memory *m = &s->container[i];

		if (!report_answer_undone(kind) &&
		    m->want[0].limit[RESOURCE_MEMORY] > m->from.limit[RESOURCE_MEMORY])
			m->restart_at = s->since;
	}
}

bool report_answer_undone(enum report_answer_kind kind)
{
	return kind != REPORT_ANSWER_OK && kind != REPORT_ANSWER_FAILED;
}

/* --- requests and their answers --- */

struct report_state *report_state_new(size_t container_count)
{
	struct report_state *s = calloc(1, sizeof *s + container_count * sizeof s->container[0]);

	if (s != NULL)
		s->count = container_count;
	return s;
}

bool report_may_land(const struct report_request *e, usec_t now)
{
	return e->lost_at != 0 && now < add_sat(e->lost_at, UNANSWERED_USEC);
}

bool report_is_late(const struct report_state *s, const struct report_memory *m,
		    const struct report_values *spec, size_t r, usec_t now)
{
	for (size_t k = 0; k < REPORT_LOG_MAX; k++)
		if (report_may_land(&s->log[k], now) && report_equal(spec, &m->want[k], r))
			return true;
	return false;
}

/* What a request changes of the spec that it is made from. */
static void fill_want(struct report_values *want, const struct report_values *from,
		      const struct report_item *item)
{
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (!((item->limits | item->requests) & (1u << r)))
			continue;
		want->limit[r] = item->limits & (1u << r) ? item->limit[r] : from->limit[r];
		want->request[r] = item->requests & (1u << r) ? item->request[r] : from->request[r];
	}
}

/* Is this what the last request changes? Then that one is renewed. Otherwise it makes room in the
 * log, where it has had no answer. */
static bool repeats(struct report_state *s, const struct report_values *want)
{
	bool same = true;

	for (size_t i = 0; i < s->count; i++)
		same &= memcmp(&want[i], &s->container[i].want[0], sizeof want[i]) == 0;
	if (same || s->log[0].lost_at == 0)
		return same;
	memmove(s->log + 1, s->log, sizeof s->log - sizeof s->log[0]);
	for (size_t i = 0; i < s->count; i++)
		memmove(s->container[i].want + 1, s->container[i].want,
			sizeof s->container[i].want - sizeof want[i]);
	return false;
}

void report_sent(struct report_state *s, const struct report_facts *f,
		 const struct report_patch *patch, usec_t now)
{
	struct report_values want[REPORT_CONTAINERS_MAX] = {0};
	bool same;

	for (size_t i = 0; i < report_count_of(s, f); i++)
		s->container[i].known = s->container[i].from = report_spec_of(f, i);
	for (size_t k = 0; k < patch->count; k++) {
		uint32_t i = patch->item[k].container;

		if (i < s->count)
			fill_want(&want[i], &s->container[i].from, &patch->item[k]);
	}
	same = repeats(s, want);
	s->log[0] = (struct report_request){
		.lost_at = same ? s->log[0].lost_at : 0,
		.settled = same && s->log[0].settled,
		.leads = patch->leads || s->carry == CARRY_WAITS,
		.restores = f->restoring,
		.level = patch->count == 0,
		.base = f->generation,
	};
	for (size_t i = 0; i < s->count; i++)
		s->container[i].want[0] = want[i];
	contest_answered(s, patch, now);
	s->under_way = true;
	s->since = now;
}

bool report_refuse_value(struct report_memory *m, size_t r, const struct report_values *want,
			 const struct report_values *from, bool requests, usec_t until)
{
	bool request = want->request[r] > from->request[r];
	bool limit = want->limit[r] > from->limit[r] && !requests;

	if (!limit && !request)
		return false;
	m->ceiling.limit[r] = limit ? from->limit[r] : LIMIT_MAX;
	m->ceiling.request[r] = request ? from->request[r] : LIMIT_MAX;
	m->ceiling_until[r] = until;
	return true;
}

static bool refuse(struct report_state *s, const struct refusal *why, usec_t until)
{
	bool any = false;

	for (size_t i = 0; i < s->count; i++) {
		struct report_memory *m = &s->container[i];
		const struct report_values *from = why->from_good ? &m->good : &m->known;
		const struct report_values *want = why->from_good ? &m->known : &m->want[0];

		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			if ((why->resources & (1u << r)) &&
			    !(why->from_good && (m->theirs & (1u << r))))
				any |= report_refuse_value(m, r, want, from, why->requests, until);
	}
	s->requests_refused = why->requests && any;
	return any;
}

bool report_refuse_first(struct report_state *s, const struct refusal *rows, size_t count,
			 usec_t until)
{
	for (size_t i = 0; i < count; i++)
		if (refuse(s, &rows[i], until))
			return true;
	return false;
}

static uint32_t refused(const struct report_tuning *t, struct report_state *s,
			const struct report_facts *f, const struct report_answer *a, usec_t now)
{
	uint32_t resources = a->resources ? a->resources : RESOURCES_BOTH;
	usec_t until = add_sat(now, t->refusal_usec);
	/* First the resources that the refusal names; if the request raised none of them, both. If
	 * it raised nothing, no value is the cause. */
	const struct refusal rows[] = {{a->requests ? resources : 0, true, false},
				       {resources, false, false},
				       {RESOURCES_BOTH, false, false}};

	s->log[0].settled = true;
	if (report_lead_refused(t, s, f, now))
		return REPORT_CHANGE_RETRY;
	/* A refusal of a former spec, of the originals or of the pod's own values only causes a
	 * pause. */
	if (f->restoring || s->back != BACK_NONE || s->log[0].level)
		s->back_until = add_sat(now, t->small_usec);
	else if (!report_refuse_first(s, rows, ARRAY_SIZE(rows), until))
		s->refused_until = until;
	if (!f->restoring && s->back == BACK_NONE && report_can_withdraw(s))
		s->back = BACK_WITHDRAW;
	return REPORT_CHANGE_REFUSED | REPORT_CHANGE_RETRY;
}

void report_recall(const struct report_tuning *t, struct report_state *s,
		   const struct report_facts *f, const struct report_answer *a, usec_t now)
{
	uint32_t resources = a->resources ? a->resources : RESOURCES_BOTH;
	const usec_t lasts[RESOURCE_COUNT] = {t->refusal_usec, MIN(t->refusal_usec, t->small_usec)};

	for (size_t i = 0; i < report_count_of(s, f); i++) {
		const struct report_values spec = report_spec_of(f, i);
		struct report_values want = {0};

		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			want.limit[r] = f->containers[i].resource[r].unstored ? LIMIT_MAX : 0;
			want.request[r] = a->requests ? LIMIT_MAX : 0;
			if (resources & (1u << r))
				(void)report_refuse_value(&s->container[i], r, &want, &spec,
							  a->requests, add_sat(now, lasts[r]));
		}
	}
}

/* One container of a 200: the object's values count, not those asked for. others: an external
 * writer changed the spec in between. Sets m->foreign. True: admission changed what was sent; what
 * it raised would be raised again, so only leads are sent for a while. */
static bool take_answer(const struct report_tuning *t, struct report_state *s,
			const struct report_facts *f, size_t i, bool others, usec_t now)
{
	const struct report_container *c = &f->containers[i];
	const struct report_values spec = report_spec_of(f, i);
	struct report_memory *m = &s->container[i];
	const struct report_values *want = &m->want[0];
	bool changed = false;

	m->foreign = report_foreign_values(s, m, c, &spec, now);
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (want->limit[r] == 0)
			continue;
		/* Without owners: what was asked for, unless others wrote meanwhile, is vscaled's,
		 * whatever admission made of it. */
		if (c->resource[r].limit_owner == OWNER_UNKNOWN && !others)
			m->foreign &= ~(1u << r);
		if (m->foreign & (1u << r))
			continue;
		m->theirs &= ~(1u << r);
		if (spec.limit[r] > want->limit[r] || spec.request[r] > want->request[r])
			s->back_until = add_sat(now, t->small_usec);
		(void)report_refuse_value(m, r, want, &spec, false, add_sat(now, t->refusal_usec));
		changed |= !report_equal(&spec, want, r);
	}
	m->theirs |= m->foreign;
	m->known = spec;
	return changed;
}

/* The ceilings end. No higher memory limit is accepted yet: leads stay refused. */
static void forget_ceilings(struct report_state *s, struct report_memory *m)
{
	usec_t until = m->ceiling_until[RESOURCE_MEMORY];

	memset(m->ceiling_until, 0, sizeof m->ceiling_until);
	if (until == 0 || m->ceiling.limit[RESOURCE_MEMORY] == LIMIT_MAX)
		return;
	s->lead_refused = true;
	s->lead_until = MAX(s->lead_until, until);
}

void report_forget_refusals(struct report_state *s, bool memory)
{
	for (size_t i = 0; i < s->count; i++)
		forget_ceilings(s, &s->container[i]);
	s->refused_until = 0;
	s->requests_refused = false;
	/* A change of CPU alone says nothing about memory. */
	if (memory)
		report_lead_forget(s);
}

static bool is_refused(const struct report_state *s, usec_t now)
{
	for (size_t i = 0; i < s->count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			if (s->container[i].ceiling_until[r] > now)
				return true;
	return s->refused_until > now;
}

bool report_retry(struct report_state *s, usec_t now)
{
	if (s->infeasible_since == 0 || !is_refused(s, now))
		return false;
	report_forget_refusals(s, true);
	return true;
}

/* What the request changed and no external writer has changed since. */
static void take_stored(struct report_memory *m)
{
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (m->want[0].limit[r] == 0 || !report_equal(&m->known, &m->from, r))
			continue;
		m->known.limit[r] = m->want[0].limit[r];
		m->known.request[r] = m->want[0].request[r];
	}
}

static uint32_t accepted(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	uint64_t base = s->log[0].base;
	bool changed = f->generation != base;
	/* A request of vscaled is one generation. */
	bool others = base != 0 && f->generation > MAX(base, s->generation) + 1;
	uint32_t foreign = 0;
	bool lowered = false;

	s->conflicts = s->failures = 0;
	s->log[0].settled = true;
	report_lead_accepted(s, now);
	for (size_t i = 0; i < s->count; i++)
		if (s->container[i].want[0].limit[RESOURCE_MEMORY] >
		    s->container[i].from.limit[RESOURCE_MEMORY])
			report_lead_raised(t, s, &s->container[i], now);
	s->sent_at = s->since = now;
	/* Another resize has a time limit of its own. A lead repeats what is pending. */
	if (!s->log[0].leads)
		s->deferred_since = 0;
	/* The watch was faster and has delivered a later change. */
	if (f->generation < s->generation) {
		for (size_t i = 0; i < s->count; i++)
			take_stored(&s->container[i]);
		return REPORT_CHANGE_VERIFY | REPORT_CHANGE_RETRY;
	}
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];
		struct report_values spec = report_spec_of(f, i);

		changed |= !report_equal(&spec, &m->known, RESOURCE_CPU) ||
			   !report_equal(&spec, &m->known, RESOURCE_MEMORY);
		lowered |= take_answer(t, s, f, i, others, now);
		foreign |= m->foreign;
	}
	if (others)
		report_forget_refusals(s, foreign & RESOURCES_MEMORY);
	s->back = BACK_NONE;
	s->restored = s->log[0].restores;
	s->ours |= changed;
	if (changed)
		s->carry = CARRY_WAITS;
	s->generation = f->generation;
	/* Nothing changed: the kubelet will do nothing, whatever the cgroup holds. */
	return (changed ? 0 : REPORT_CHANGE_VERIFY) | (others ? REPORT_CHANGE_VERIFY : 0) |
	       (foreign || others ? REPORT_CHANGE_FOREIGN : 0) |
	       (lowered ? REPORT_CHANGE_LOWERED | REPORT_CHANGE_REFUSED : 0);
}

static void conflict(struct report_state *s, usec_t now)
{
	if (++s->conflicts > CONFLICTS_MAX) {
		s->conflicts = 0;
		s->wait_until = add_sat(now, CONFLICT_PAUSE);
	} else if (!s->log[0].leads) {
		s->wait_until = add_sat(now, CONFLICT_SOON);
	} else if (s->carry != CARRY_WAITS) {
		s->wait_until = add_sat(now, lead_pause[0]);
	}
}

bool report_late(const struct report_state *s, usec_t now)
{
	for (size_t k = 0; k < REPORT_LOG_MAX; k++)
		if (report_may_land(&s->log[k], now))
			return true;
	return now < add_sat(s->seen_at, UNANSWERED_USEC);
}

static void lost(struct report_request *last, usec_t now)
{
	last->lost_at = now;
	last->settled = false;
}

void report_abandoned(struct report_state *s, usec_t now)
{
	if (!s->under_way)
		return;
	restart_answered(s, REPORT_ANSWER_FAILED);
	lost(&s->log[0], now);
	s->under_way = false;
}

static void failed(struct report_state *s, const struct report_answer *a, usec_t now)
{
	usec_t pause = FAILURE_PAUSE << (a->server_works ? MIN(s->failures, 6u) : 0);

	if (s->log[0].leads && s->failures < ARRAY_SIZE(lead_pause))
		pause = lead_pause[s->failures];

	s->failures++;
	lost(&s->log[0], now);
	s->wait_until = add_sat(now, pause);
}

uint32_t report_answered(const struct report_tuning *t, struct report_node *n,
			 struct report_state *s, const struct report_facts *f,
			 const struct report_answer *a, usec_t now)
{
	uint32_t changes = REPORT_CHANGE_RETRY;

	if (!s->under_way)
		return 0;
	restart_answered(s, a->kind);
	switch (a->kind) {
	case REPORT_ANSWER_OK:
		changes = accepted(t, s, f, now);
		break;
	case REPORT_ANSWER_REFUSED:
		changes = refused(t, s, f, a, now);
		break;
	case REPORT_ANSWER_CONFLICT:
		conflict(s, now);
		break;
	case REPORT_ANSWER_UNSUPPORTED:
		s->refused_until = s->wait_until = add_sat(now, t->small_usec);
		break;
	case REPORT_ANSWER_NO_DECREASE:
		n->no_decrease_until = add_sat(now, t->refusal_usec);
		break;
	case REPORT_ANSWER_FORBIDDEN:
		break;
	case REPORT_ANSWER_GONE:
		changes = REPORT_CHANGE_GONE;
		break;
	case REPORT_ANSWER_SLOW_DOWN:
		s->wait_until = add_sat(now, FAILURE_PAUSE);
		break;
	default:
		failed(s, a, now);
	}
	s->under_way = false;
	return changes;
}

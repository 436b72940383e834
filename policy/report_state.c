// SPDX-License-Identifier: Apache-2.0
#include "policy/bounds.h"
#include "policy/report_impl.h"
#include <string.h>

/* What was sent was made from an object that is not the newest: the watch is about to tell of that
 * one. After this many in a row it takes longer. */
#define CONFLICTS_MAX  3
#define CONFLICT_SOON  (500 * USEC_PER_MSEC)
#define CONFLICT_PAUSE (10 * USEC_PER_SEC)
/* Without a word from the server; the queue backs off on its own. */
#define FAILURE_PAUSE USEC_PER_SEC
/* The kubelet's delay is all there is for what leads: then as above. */
static const usec_t lead_pause[] = {100 * USEC_PER_MSEC, 300 * USEC_PER_MSEC};
#define FORBIDDEN_FOR (10 * USEC_PER_MIN)

enum { BIT_DEFERRED = 1, BIT_INFEASIBLE = 2, BIT_PROGRESS = 4, BIT_ERROR = 8, BIT_ECHOED = 16 };

struct report_state *report_state_new(size_t container_count)
{
	struct report_state *s;

	if (container_count > REPORT_CONTAINERS_MAX)
		return NULL;
	s = calloc(1, sizeof *s + container_count * sizeof s->container[0]);
	if (s != NULL)
		s->count = container_count;
	return s;
}

static struct report_values spec_of(const struct report_facts *f, size_t i)
{
	struct report_values v;

	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		v.limit[r] = f->containers[i].resource[r].spec_limit;
		v.request[r] = f->containers[i].resource[r].spec_request;
	}
	return v;
}

static size_t count_of(const struct report_state *s, const struct report_facts *f)
{
	return MIN(s->count, f->container_count);
}

void report_sent(struct report_state *s, const struct report_facts *f,
		 const struct report_patch *patch, usec_t now)
{
	for (size_t i = 0; i < count_of(s, f); i++)
		s->container[i].asked = s->container[i].known = spec_of(f, i);
	for (size_t i = 0; i < patch->count; i++) {
		const struct report_item *item = &patch->item[i];

		if (item->container >= s->count)
			continue;
		restart_sent(&s->container[item->container], &f->containers[item->container], item,
			     now);
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_values *asked = &s->container[item->container].asked;

			if (item->limits & (1u << r))
				asked->limit[r] = item->limit[r];
			if (item->requests & (1u << r))
				asked->request[r] = item->request[r];
		}
	}
	s->leading = patch->leads || s->phase == REPORT_WAITING;
	s->phase = REPORT_SENT;
	s->base = f->generation;
	s->since = now;
}

/* What was asked beyond `from` is refused: `from` is what is left. Returns how many values. */
static uint32_t refuse(const struct report_tuning *t, struct report_state *s, uint32_t resources,
		       bool from_good, usec_t now)
{
	uint32_t count = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct report_memory *m = &s->container[i];
		const struct report_values *from = from_good ? &m->good : &m->known;

		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			if (!(resources & (1u << r)) || (m->asked.limit[r] <= from->limit[r] &&
							 m->asked.request[r] <= from->request[r]))
				continue;
			m->ceiling.limit[r] =
				m->asked.limit[r] > from->limit[r] ? from->limit[r] : LIMIT_MAX;
			m->ceiling.request[r] = m->asked.request[r] > from->request[r]
							? from->request[r]
							: LIMIT_MAX;
			m->ceiling_until[r] = add_sat(now, t->refusal_usec);
			count++;
		}
	}
	return count;
}

/* After an answer: what was asked before may still be on its way. */
static void back_to(struct report_state *s)
{
	s->phase = s->carrying ? REPORT_WAITING : REPORT_IDLE;
}

/*
 * Memory may not be raised past a resize of ours that the kubelet is about to carry out: with all
 * values of the container, the old limit among them. Taken back in time, it carries out nothing.
 */
bool report_can_withdraw(const struct report_state *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->container[i].good.limit[RESOURCE_MEMORY] !=
		    s->container[i].known.limit[RESOURCE_MEMORY])
			return false;
	return s->carrying && s->ours;
}

static uint32_t refused(const struct report_tuning *t, struct report_state *s,
			const struct report_facts *f, const struct report_answer *a, usec_t now)
{
	uint32_t resources = a->resources ? a->resources : RESOURCES_BOTH;

	back_to(s);
	if (report_lead_refused(t, s, f, now))
		return REPORT_NEWS_RETRY;
	/* On the way back every refusal is only a pause. */
	if (f->restoring || s->put_back)
		s->wait_until = add_sat(now, t->small_usec);
	/* What the text names was not raised, or nothing was: no value is to blame. */
	else if (refuse(t, s, resources, false, now) == 0 &&
		 refuse(t, s, RESOURCES_BOTH, false, now) == 0)
		s->refused_until = add_sat(now, t->refusal_usec);
	if (!f->restoring && !s->put_back && report_can_withdraw(s))
		s->put_back = s->withdraw = true;
	return REPORT_NEWS_REFUSED | REPORT_NEWS_RETRY;
}

/* Every value is as known or as asked: nobody else had a hand in it. */
static bool is_ours(const struct report_values *spec, const struct report_memory *m, size_t r)
{
	return (spec->limit[r] == m->known.limit[r] || spec->limit[r] == m->asked.limit[r]) &&
	       (spec->request[r] == m->known.request[r] || spec->request[r] == m->asked.request[r]);
}

static bool equal(const struct report_values *a, const struct report_values *b, size_t r)
{
	return a->limit[r] == b->limit[r] && a->request[r] == b->request[r];
}

/* One container of a 200: what the object says counts, not what was asked. RESOURCES_* that
 * somebody else set in between; others: somebody else changed the spec in between. */
static uint32_t take_answer(const struct report_tuning *t, struct report_memory *m,
			    const struct report_values *spec, bool others, usec_t now)
{
	m->foreign = 0;
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (equal(&m->asked, &m->known, r) || (others && !equal(spec, &m->asked, r))) {
			if (!equal(spec, &m->known, r))
				m->foreign |= 1u << r;
			continue;
		}
		/* Admission made less of it than was asked: asking again gives the same. */
		if (spec->limit[r] < m->asked.limit[r]) {
			m->ceiling.limit[r] = spec->limit[r];
			m->ceiling.request[r] = LIMIT_MAX;
			m->ceiling_until[r] = add_sat(now, t->refusal_usec);
		}
	}
	m->known = *spec;
	return m->foreign;
}

/* Somebody else changed the spec: what was refused before may be accepted now. */
static void forget_refusals(struct report_state *s)
{
	for (size_t i = 0; i < s->count; i++)
		memset(s->container[i].ceiling_until, 0, sizeof s->container[i].ceiling_until);
	s->refused_until = s->lead_until = 0;
	s->lead_cuts = 0;
}

static uint32_t accepted(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	bool changed = f->generation != s->base;
	/* A request of ours is one generation. */
	bool others = s->base != 0 && f->generation > MAX(s->base, s->generation) + 1;
	uint32_t foreign = 0;

	s->conflicts = s->failures = 0;
	s->uncertain = false;
	s->led = s->leading;
	if (s->leading && now >= s->lead_until)
		s->lead_cuts = 0;
	s->sent_at = s->since = now;
	/* The watch was faster and knows of a later change. */
	if (f->generation < s->generation) {
		back_to(s);
		return REPORT_NEWS_VERIFY | REPORT_NEWS_RETRY;
	}
	for (size_t i = 0; i < count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];
		struct report_values spec = spec_of(f, i);

		changed |= !equal(&spec, &m->known, RESOURCE_CPU) ||
			   !equal(&spec, &m->known, RESOURCE_MEMORY);
		foreign |= take_answer(t, m, &spec, others, now);
	}
	if (others)
		forget_refusals(s);
	s->put_back = s->withdraw = false;
	s->restored = f->restoring;
	s->ours |= changed;
	s->carrying |= changed;
	s->generation = f->generation;
	back_to(s);
	/* Nothing changed: the kubelet will do nothing, whatever the cgroup holds. */
	return (changed ? 0 : REPORT_NEWS_VERIFY) | (others ? REPORT_NEWS_VERIFY : 0) |
	       (foreign || others ? REPORT_NEWS_FOREIGN : 0);
}

static uint32_t conflict(struct report_state *s, usec_t now)
{
	back_to(s);
	if (++s->conflicts > CONFLICTS_MAX) {
		s->conflicts = 0;
		s->wait_until = add_sat(now, CONFLICT_PAUSE);
	} else if (!s->leading) {
		s->wait_until = add_sat(now, CONFLICT_SOON);
	} else if (s->phase == REPORT_IDLE) {
		s->wait_until = add_sat(now, lead_pause[0]);
	}
	return REPORT_NEWS_RETRY;
}

static uint32_t failed(struct report_state *s, const struct report_answer *a, usec_t now)
{
	usec_t pause = s->leading && s->failures < ARRAY_SIZE(lead_pause) ? lead_pause[s->failures]
									  : FAILURE_PAUSE;

	s->failures++;
	s->uncertain = true;
	s->wait_until = add_sat(now, MAX(a->retry_after_usec, pause));
	back_to(s);
	return REPORT_NEWS_RETRY;
}

uint32_t report_answered(const struct report_tuning *t, struct report_node *n,
			 struct report_state *s, const struct report_facts *f,
			 const struct report_answer *a, usec_t now)
{
	if (s->phase != REPORT_SENT)
		return 0;
	restart_answered(s, a->kind);
	switch (a->kind) {
	case REPORT_ANSWER_OK:
		return accepted(t, s, f, now);
	case REPORT_ANSWER_REFUSED:
		return refused(t, s, f, a, now);
	case REPORT_ANSWER_CONFLICT:
		return conflict(s, now);
	case REPORT_ANSWER_UNSUPPORTED:
		s->refused_until = s->wait_until = add_sat(now, t->small_usec);
		break;
	case REPORT_ANSWER_NO_DECREASE:
		n->no_decrease_until = add_sat(now, t->refusal_usec);
		break;
	case REPORT_ANSWER_FORBIDDEN:
		n->forbidden_until = add_sat(now, FORBIDDEN_FOR);
		break;
	case REPORT_ANSWER_GONE:
		s->phase = REPORT_IDLE;
		return REPORT_NEWS_GONE;
	case REPORT_ANSWER_SLOW_DOWN:
		s->wait_until = add_sat(now, MAX(a->retry_after_usec, USEC_PER_SEC));
		break;
	default:
		return failed(s, a, now);
	}
	back_to(s);
	return REPORT_NEWS_RETRY;
}

static uint32_t bits_of(const struct report_facts *f)
{
	return (f->pending_deferred ? BIT_DEFERRED : 0u) |
	       (f->pending_infeasible ? BIT_INFEASIBLE : 0u) |
	       (f->in_progress ? BIT_PROGRESS : 0u) | (f->progress_error ? BIT_ERROR : 0u) |
	       (f->echoed ? BIT_ECHOED : 0u);
}

/* The pod for the first time. Of an agent's earlier life only managedFields tell. */
static uint32_t first_seen(struct report_state *s, const struct report_facts *f, usec_t now)
{
	for (size_t i = 0; i < count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];

		m->known = m->asked = m->good = spec_of(f, i);
		for (size_t r = 0; f->ours && r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &f->containers[i].resource[r];

			/* What restarts a container is not guessed: its value stays. */
			if (!ratifiable(x))
				continue;
			m->good.limit[r] = x->original_limit;
			m->good.request[r] = x->original_request;
		}
	}
	s->seen = true;
	s->seen_at = now;
	s->ours = f->ours;
	s->generation = f->generation;
	s->since = now;
	s->carrying = f->ours;
	back_to(s);
	return REPORT_NEWS_VERIFY;
}

/* Which resources of a container changed; of these m->foreign were set by somebody else. */
static uint32_t compare(const struct report_state *s, struct report_memory *m,
			const struct report_values *spec)
{
	uint32_t moved = 0;

	m->foreign = 0;
	if (s->phase != REPORT_SENT && !s->uncertain)
		m->asked = m->known;
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (equal(spec, &m->known, r))
			continue;
		moved |= 1u << r;
		if (!is_ours(spec, m, r))
			m->foreign |= 1u << r;
	}
	return moved;
}

/* A new wish of somebody else: what was refused before may go now. */
static uint32_t begin_anew(struct report_state *s)
{
	forget_refusals(s);
	s->put_back = s->withdraw = s->carrying = s->uncertain = s->ours = false;
	if (s->phase == REPORT_WAITING)
		s->phase = REPORT_IDLE;
	return REPORT_NEWS_FOREIGN | REPORT_NEWS_VERIFY;
}

/* The spec changed: by us, by us without our knowing yet, or by somebody else. */
static uint32_t new_spec(struct report_state *s, const struct report_facts *f, usec_t now)
{
	uint32_t foreign = 0, moved = 0;

	for (size_t i = 0; i < count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];
		struct report_values spec = spec_of(f, i);

		moved |= compare(s, m, &spec);
		foreign |= m->foreign;
		/* While a request is under way `known` stays what it was made from. */
		if (s->phase != REPORT_SENT || m->foreign)
			m->known = spec;
	}
	s->generation = f->generation;
	if (!moved)
		return 0;
	if (foreign & RESOURCES_MEMORY)
		s->led = false; /* answered at once */
	if (foreign)
		return begin_anew(s);
	s->ours = s->carrying = true;
	if (s->phase == REPORT_SENT)
		return 0;
	s->uncertain = false;
	s->phase = REPORT_WAITING;
	s->since = s->sent_at = now;
	return REPORT_NEWS_VERIFY;
}

static bool spec_moved(const struct report_state *s, const struct report_facts *f)
{
	if (f->generation != s->generation)
		return true;
	for (size_t i = 0; f->generation == 0 && i < count_of(s, f); i++) {
		struct report_values spec = spec_of(f, i);

		if (!equal(&spec, &s->container[i].known, RESOURCE_CPU) ||
		    !equal(&spec, &s->container[i].known, RESOURCE_MEMORY))
			return true;
	}
	return false;
}

static bool carried_out(const struct report_state *s, const struct report_facts *f)
{
	return (f->observed_generation == 0 || f->observed_generation >= s->generation) &&
	       f->echoed && !f->pending_deferred && !f->pending_infeasible && !f->in_progress &&
	       !f->progress_error;
}

/* A condition of the generation before says nothing of this one; a server that does not tell which
 * one it means gets a moment. */
static bool condemned(const struct report_tuning *t, const struct report_state *s,
		      const struct report_facts *f, usec_t now)
{
	if (!f->pending_infeasible && !f->progress_error)
		return false;
	if (f->observed_generation == 0)
		return now - s->since >= t->up_interval_usec;
	return f->observed_generation >= s->generation;
}

/* No ceiling is lower than what the way back leaves: the use, and the room of a limit in a body. */
static void keep_used(const struct report_tuning *t, struct report_state *s,
		      const struct report_facts *f)
{
	for (size_t i = 0; i < count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];
		uint64_t *ceiling = &m->ceiling.limit[RESOURCE_MEMORY];
		uint64_t left = report_memory_floor(t, t->ahead_usec, &f->containers[i]);

		left = MIN(left, m->asked.limit[RESOURCE_MEMORY]);
		*ceiling = MAX(*ceiling, left);
	}
}

/* A condition stands on what we asked: what it names is refused, and all of it goes back. */
static uint32_t condemn(const struct report_tuning *t, struct report_state *s,
			const struct report_facts *f, usec_t now)
{
	uint32_t resources = f->condition_resources ? f->condition_resources : RESOURCES_BOTH;

	s->phase = REPORT_IDLE;
	s->put_back = true;
	s->carrying = false;
	for (size_t i = 0; i < s->count; i++)
		s->container[i].asked = s->container[i].known;
	/* Not raised by us: no value is to blame, and growth of another is not to end for it. */
	if (refuse(t, s, resources, true, now) == 0 && f->pending_infeasible)
		s->refused_until = add_sat(now, t->refusal_usec);
	if (resources & RESOURCES_MEMORY)
		keep_used(t, s, f);
	return REPORT_NEWS_VERIFY | REPORT_NEWS_REFUSED | REPORT_NEWS_RETRY;
}

/* What the kubelet makes of the spec as it is. */
static uint32_t follow(const struct report_tuning *t, struct report_state *s,
		       const struct report_facts *f, usec_t now)
{
	bool waiting = s->phase == REPORT_WAITING;

	if (carried_out(s, f)) {
		for (size_t i = 0; i < count_of(s, f); i++)
			s->container[i].good = s->container[i].known;
		s->put_back = s->withdraw = s->carrying = false;
		if (!waiting)
			return 0;
		s->phase = REPORT_IDLE;
		return REPORT_NEWS_VERIFY | (s->ours ? REPORT_NEWS_RATIFIED : 0);
	}
	if (s->ours && !s->put_back && condemned(t, s, f, now))
		return condemn(t, s, f, now);
	/* Deferred is waited for as long as it takes; what follows has its own time. */
	if (waiting && f->pending_deferred)
		s->since = now;
	if (waiting && now - s->since >= t->settle_max_usec) {
		s->phase = REPORT_IDLE;
		s->carrying = false;
		return REPORT_NEWS_VERIFY;
	}
	return 0;
}

uint32_t report_observed(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	uint32_t news = 0, bits = bits_of(f);

	/* A watch that lags behind an answer. */
	if (f->generation < s->generation)
		return 0;
	if (!s->seen)
		news |= first_seen(s, f, now);
	else if (spec_moved(s, f))
		news |= new_spec(s, f, now);
	/* Each step of the kubelet may have replaced values, old ones among them. */
	if (s->phase == REPORT_WAITING &&
	    (bits != s->fact_bits || f->observed_generation != s->observed))
		news |= REPORT_NEWS_VERIFY;
	s->fact_bits = bits;
	s->observed = f->observed_generation;
	if (s->phase != REPORT_SENT)
		news |= follow(t, s, f, now);
	return news;
}

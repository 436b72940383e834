// SPDX-License-Identifier: Apache-2.0
/* The pod's object: what the kubelet has carried out of the spec, and who changed it. */
#include "policy/report/report_impl.h"

/* Was the limit vscaled's, and is another writer's now? Applied as it stood, it has the same value,
 * and the object the same generation. */
static bool taken_over(const struct report_memory *m, const struct report_resource *x, size_t r)
{
	return (m->ours & (1u << r)) != 0 && x->limit_owner == OWNER_OTHER;
}

/* Has an external writer set this value? sent: by the request under way, or by a late one. */
static bool is_foreign(enum value_owner owner, uint64_t value, uint64_t known, bool sent)
{
	if (value == known || owner == OWNER_VSCALED)
		return false;
	return owner == OWNER_OTHER || !sent;
}

uint32_t report_foreign_values(const struct report_state *s, const struct report_memory *m,
			       const struct report_container *c, const struct report_values *spec,
			       usec_t now)
{
	uint32_t foreign = 0;

	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		const struct report_resource *x = &c->resource[r];
		bool late = report_is_late(s, m, spec, r, now);
		bool limit = s->under_way && spec->limit[r] == m->want[0].limit[r];
		bool request = s->under_way && spec->request[r] == m->want[0].request[r];

		if (is_foreign(x->limit_owner, spec->limit[r], m->known.limit[r], limit || late) ||
		    is_foreign(x->request_owner, spec->request[r], m->known.request[r],
			       request || late) ||
		    taken_over(m, x, r))
			foreign |= 1u << r;
	}
	return foreign;
}

/* --- an external writer that keeps lowering the spec's memory limit below what is needed --- */

/* At most this many leads answer it at once within this time. */
#define ANSWERS_MAX  3
#define ANSWERS_USEC (10 * USEC_PER_MIN)
/* After each pause one lead is sent. Without a further change for this long the contest is over. */
#define CONTEST_QUIET (10 * USEC_PER_MIN)

bool report_contested(const struct report_state *s, usec_t now)
{
	return now < s->contest.until;
}

void contest_answered(struct report_state *s, const struct report_patch *patch, usec_t now)
{
	struct report_contest *c = &s->contest;

	if (!c->lowered || !patch->leads)
		return;
	c->lowered = false;
	if (c->answers == 0 || now - c->since >= ANSWERS_USEC) {
		c->answers = 0;
		c->since = now;
	}
	c->answers++;
}

/* An external writer lowered a memory limit. Returns REPORT_CHANGE_CONTESTED when that is too
 * often.
 */
static uint32_t contest_lowered(const struct report_tuning *t, struct report_state *s, usec_t now)
{
	struct report_contest *c = &s->contest;
	bool first;

	if (c->pause_usec != 0 && now >= add_sat(c->until, CONTEST_QUIET))
		*c = (struct report_contest){0};
	c->lowered = true;
	if (now < c->until ||
	    (c->pause_usec == 0 && (c->answers < ANSWERS_MAX || now - c->since >= ANSWERS_USEC)))
		return 0;
	first = c->pause_usec == 0;
	c->pause_usec = first ? t->up_interval_usec : MIN(2 * c->pause_usec, t->small_usec);
	c->until = add_sat(now, c->pause_usec);
	return first ? REPORT_CHANGE_CONTESTED : 0;
}

/* Is its memory limit in the spec still too low for the pause to end? Headroom is enough until half
 * of it is used. */
static bool contest_low(const struct report_tuning *t, const struct report_memory *m,
			const struct report_container *c, usec_t now)
{
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
	usec_t covers = report_covers(t, m, c, t->ahead_usec, now);

	return ratifiable(x) && x->spec_limit < report_memory_floor(t, covers / 2, c);
}

/* --- what is seen --- */

/* The kubelet computes CPU from quota and shares, which may be a millicore off. */
static uint64_t carried_value(size_t r, uint64_t reported, uint64_t spec, uint64_t unreported)
{
	uint64_t off = MAX(reported, spec) - MIN(reported, spec);

	if (reported == 0)
		return unreported;
	return off <= (r == RESOURCE_CPU ? 1 : 0) ? spec : reported;
}

/* What the kubelet has carried out of a spec that an earlier agent process may have written, and
 * whether an external writer set what it has not. */
static void first_good(struct report_memory *m, const struct report_facts *f, size_t i, size_t r)
{
	const struct report_resource *x = &f->containers[i].resource[r];
	struct report_values *good = &m->good;

	/* A value that restarts the container is not guessed: it stays. */
	if (!ratifiable(x))
		return;
	good->limit[r] = carried_value(r, x->reported, x->spec_limit,
				       f->ours ? x->original_limit : x->spec_limit);
	good->request[r] = carried_value(r, x->reported_request, x->spec_request,
					 f->ours ? x->original_request : x->spec_request);
	if (r == RESOURCE_MEMORY)
		good->limit[r] = MIN(good->limit[r], x->spec_limit);
	if (x->external && !report_equal(&m->known, good, r))
		m->theirs |= 1u << r;
}

static void note_owners(struct report_memory *m, const struct report_container *c)
{
	m->ours = 0;
	for (size_t r = 0; r < RESOURCE_COUNT; r++)
		if (c->resource[r].limit_owner == OWNER_VSCALED)
			m->ours |= 1u << r;
}

/* The pod is seen for the first time. Only managedFields show what an earlier agent process wrote.
 */
static uint32_t first_seen(struct report_state *s, const struct report_facts *f, usec_t now)
{
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];

		m->known = m->good = report_spec_of(f, i);
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			first_good(m, f, i, r);
	}
	s->seen_at = now;
	s->ours = f->ours;
	if (f->ours)
		s->lead = LEAD_PENDING; /* a pending value may be headroom */
	s->generation = f->generation;
	s->since = now;
	s->carry = f->ours ? CARRY_WAITS : CARRY_DONE;
	return REPORT_CHANGE_VERIFY;
}

/* Returns the RESOURCES_* of a container that changed; an external writer set m->foreign of them.
 * *lowered: admission has changed a value of vscaled's, and no answer is awaited that says so. */
static uint32_t report_observe_compare(const struct report_tuning *t, struct report_state *s,
				       const struct report_facts *f, size_t i, bool *lowered,
				       usec_t now)
{
	const struct report_container *c = &f->containers[i];
	const struct report_values spec = report_spec_of(f, i);
	struct report_memory *m = &s->container[i];
	uint32_t moved = 0;

	m->foreign = report_foreign_values(s, m, c, &spec, now);
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (report_equal(&spec, &m->known, r))
			continue;
		moved |= 1u << r;
		m->theirs &= ~(1u << r);
		if (!s->under_way && !(m->foreign & (1u << r)) &&
		    c->resource[r].limit_owner == OWNER_VSCALED && !report_late(s, now))
			*lowered |= report_refuse_value(m, r, &m->known, &spec, false,
							add_sat(now, t->refusal_usec));
	}
	m->theirs |= m->foreign;
	return moved | m->foreign;
}

/* An external writer set new values: what was refused before may be accepted now. */
static uint32_t begin_anew(struct report_state *s, uint32_t foreign)
{
	report_forget_refusals(s, foreign & RESOURCES_MEMORY);
	s->ours = false;
	s->carry = CARRY_DONE;
	s->log[0].settled |= !s->under_way;
	s->infeasible_since = s->back_until = 0;
	s->back = BACK_NONE;
	if (s->lead == LEAD_CUT_DUE)
		s->lead = LEAD_CUT_TRIED;
	return REPORT_CHANGE_FOREIGN | REPORT_CHANGE_VERIFY;
}

/* The spec changed: by vscaled (maybe by a request whose answer is still missing) or by an external
 * writer. */
static uint32_t new_spec(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	uint32_t foreign = 0, moved = 0;
	bool lowered = false, low = false, less = false, refused = false;

	for (size_t i = 0; i < report_count_of(s, f); i++) {
		const struct report_container *c = &f->containers[i];
		struct report_memory *m = &s->container[i];
		struct report_values spec = report_spec_of(f, i);
		usec_t covers = report_covers(t, m, c, t->ahead_usec, now);
		bool down = spec.limit[RESOURCE_MEMORY] < m->known.limit[RESOURCE_MEMORY];
		bool up = spec.limit[RESOURCE_MEMORY] > m->known.limit[RESOURCE_MEMORY];

		moved |= report_observe_compare(t, s, f, i, &refused, now);
		foreign |= m->foreign;
		if (up && !s->under_way && !(m->foreign & RESOURCES_MEMORY))
			report_lead_raised(t, s, m, now);
		less |= down;
		lowered |= down && (m->foreign & RESOURCES_MEMORY) != 0 &&
			   spec.limit[RESOURCE_MEMORY] < report_memory_floor(t, covers, c);
		low |= contest_low(t, m, c, now);
		/* While a request is under way `known` stays what it was made from. */
		if (!s->under_way || m->foreign)
			m->known = spec;
	}
	s->generation = f->generation;
	if (!moved)
		return 0;
	/* The external writer gave in: no memory limit of the spec is low. The pause ends; the next
	 * one is longer all the same. */
	if (!low && !lowered) {
		s->contest.until = MIN(s->contest.until, now);
		s->contest.lowered = false;
	}
	if (foreign & RESOURCES_MEMORY)
		s->lead_at = 0; /* the next lead goes at once */
	if (foreign)
		return begin_anew(s, foreign) | (lowered ? contest_lowered(t, s, now) : 0);
	s->ours = true;
	s->carry = CARRY_WAITS;
	if (s->under_way)
		return 0;
	s->since = s->sent_at = now;
	report_lead_accepted(s, now);
	/* Stored late, over a higher limit. */
	if (less)
		s->lead_at = 0;
	return REPORT_CHANGE_VERIFY | (refused ? REPORT_CHANGE_LOWERED | REPORT_CHANGE_REFUSED : 0);
}

static bool spec_moved(const struct report_state *s, const struct report_facts *f)
{
	if (f->generation != s->generation)
		return true;
	/* Before 1.33 pods have no generation; and a request that ended without an answer has left
	 * `known` behind, though its generation was seen. */
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		const struct report_memory *m = &s->container[i];
		struct report_values spec = report_spec_of(f, i);

		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			if (!report_equal(&spec, &m->known, r) ||
			    taken_over(m, &f->containers[i].resource[r], r))
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

/* Are values of an external writer pending, and none of vscaled? Then no condition is caused by a
 * value of vscaled. */
static bool theirs_alone_wait(const struct report_state *s)
{
	uint32_t theirs = 0;

	for (size_t i = 0; i < s->count; i++) {
		const struct report_memory *m = &s->container[i];

		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			if (!(m->theirs & (1u << r)) && !report_equal(&m->known, &m->good, r))
				return false;
		theirs |= m->theirs;
	}
	return theirs != 0;
}

/* Is a resize of vscaled deferred for too long? Its requests keep other pods off the node. */
static bool is_overdue(const struct report_tuning *t, const struct report_state *s, usec_t now)
{
	return s->deferred_since != 0 && now - s->deferred_since >= t->deferred_usec;
}

/* Is a condition set on the last request, which is to go back? */
static bool condemned(const struct report_tuning *t, const struct report_state *s,
		      const struct report_facts *f, usec_t now)
{
	/* A deferred resize may wait for a while, unless headroom is pending with a CPU value of
	 * vscaled. */
	bool waits = f->pending_deferred &&
		     ((report_lead_waits(s, f) && report_cpu_waits(s)) || is_overdue(t, s, now));

	return (f->pending_infeasible || f->progress_error || waits) &&
	       report_is_current(t, s, f, now);
}

/* No ceiling is below what the former spec is raised to: use, and the room of a limit in a request.
 */
static void keep_used(const struct report_tuning *t, struct report_state *s,
		      const struct report_facts *f, usec_t now)
{
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];
		uint64_t *ceiling = &m->ceiling.limit[RESOURCE_MEMORY];
		const struct report_container *c = &f->containers[i];
		usec_t covers = report_covers(t, m, c, t->ahead_usec, now);
		uint64_t left = report_memory_floor(t, covers, c);

		left = MIN(left, m->known.limit[RESOURCE_MEMORY]);
		*ceiling = MAX(*ceiling, left);
	}
}

/* A condition is set on a request of vscaled: what it names is refused, and goes back. Where the
 * node lacks room, that is what was requested: the limits stay. */
static uint32_t condemn(const struct report_tuning *t, struct report_state *s,
			const struct report_facts *f, usec_t now)
{
	bool named = f->condition_resources != 0 && (!f->pending_deferred || is_overdue(t, s, now));
	bool for_room = f->pending_deferred || (f->pending_infeasible && f->no_room);
	uint32_t resources = named ? f->condition_resources : RESOURCES_BOTH;
	usec_t until = add_sat(now, t->refusal_usec);
	struct refusal rows[] = {{for_room ? resources : 0, true, true}, {resources, false, true}};

	/* The cgroup does not hold headroom: the CPU value goes back first, then a condition on
	 * the headroom is handled by itself. */
	if (report_lead_waits(s, f)) {
		if (s->lead == LEAD_PENDING)
			s->lead = LEAD_STUCK;
		rows[1].resources = RESOURCES_CPU;
	}
	if (s->infeasible_since == 0 &&
	    ((f->pending_infeasible && f->no_room) || is_overdue(t, s, now)))
		s->infeasible_since = now;
	s->carry = CARRY_DONE;
	/* vscaled raised none of it: no value is the cause, and growth of another must not end. */
	if (!report_refuse_first(s, rows, ARRAY_SIZE(rows), until) && f->pending_infeasible)
		s->refused_until = until;
	s->back = s->requests_refused && !f->guaranteed ? BACK_REQUESTS : BACK_FORMER;
	if (rows[1].resources & RESOURCES_MEMORY)
		keep_used(t, s, f, now);
	return REPORT_CHANGE_VERIFY | REPORT_CHANGE_REFUSED | REPORT_CHANGE_RETRY;
}

/* Is more in the spec than the kubelet had carried out before? A former spec that went back is not,
 * nor are the limits that stayed beside refused requests. */
static bool raises(const struct report_state *s)
{
	bool more = false;

	for (size_t i = 0; i < s->count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			more |= (!s->requests_refused &&
				 s->container[i].known.limit[r] > s->container[i].good.limit[r]) ||
				s->container[i].known.request[r] > s->container[i].good.request[r];
	return more;
}

static void note_deferred(struct report_state *s, const struct report_facts *f, usec_t now)
{
	if (!f->pending_deferred || !s->ours)
		s->deferred_since = 0;
	else if (s->deferred_since == 0)
		/* One that an earlier agent process sent has waited before. */
		s->deferred_since = now - (s->sent_at == 0 ? MIN(f->pending_usec, now - 1) : 0);
}

/* The kubelet has carried out the present spec. */
static uint32_t finish(struct report_state *s, const struct report_facts *f)
{
	bool awaited = s->carry != CARRY_DONE;

	/* The kubelet could do it after all. */
	if ((s->back == BACK_FORMER || s->back == BACK_REQUESTS) && s->ours && raises(s)) {
		report_forget_refusals(s, true);
		awaited = true;
	}
	report_lead_carried_out(s, f);
	if (s->ours && raises(s))
		s->infeasible_since = 0;
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		s->container[i].good = s->container[i].known;
		s->container[i].theirs = 0;
	}
	s->carry = CARRY_DONE;
	s->back = BACK_NONE;
	if (!awaited)
		return 0;
	return REPORT_CHANGE_VERIFY | (s->ours ? REPORT_CHANGE_RATIFIED : 0);
}

/* Follows what the kubelet has carried out of the present spec. */
static uint32_t follow(const struct report_tuning *t, struct report_state *s,
		       const struct report_facts *f, usec_t now)
{
	bool waiting = s->carry == CARRY_WAITS, stuck = report_lead_stuck(t, s, f, now);
	uint32_t changes;

	note_deferred(s, f, now);
	changes = stuck ? report_lead_cut(t, s, f, now) : 0;
	if (carried_out(s, f))
		return finish(s, f);
	if (s->ours && !goes_down(s) && !stuck && condemned(t, s, f, now)) {
		if (!theirs_alone_wait(s))
			return condemn(t, s, f, now);
		s->ours = false;
	}
	/* A deferred resize has a time limit of its own; this one begins after that. */
	if (waiting && f->pending_deferred)
		s->since = now;
	if (waiting && now - s->since >= t->settle_max_usec) {
		s->carry = CARRY_OVERDUE;
		changes |= REPORT_CHANGE_VERIFY;
	}
	return changes;
}

/* An object from before the last answer: does it have a change that the request overwrote, because
 * a lead names no resourceVersion? Reported once. */
static uint32_t overtaken(struct report_state *s, const struct report_facts *f, usec_t now)
{
	uint32_t any = 0;

	for (size_t i = 0; i < report_count_of(s, f); i++) {
		struct report_memory *m = &s->container[i];
		struct report_values spec = report_spec_of(f, i);
		uint32_t reported = m->overtaken;

		m->overtaken = 0;
		for (size_t r = 0; f->generation > s->log[0].base && r < RESOURCE_COUNT; r++)
			if (!report_equal(&m->from, &m->known, r) &&
			    !report_equal(&spec, &m->from, r) &&
			    !report_equal(&spec, &m->known, r) &&
			    !report_is_late(s, m, &spec, r, now))
				m->overtaken |= 1u << r;
		any |= m->overtaken & ~reported;
	}
	return any ? REPORT_CHANGE_FOREIGN : 0;
}

static void note_peak(const struct report_tuning *t, struct report_memory *m, uint64_t held_milli,
		      usec_t now)
{
	if (held_milli < m->peak_milli && now - m->peak_at < t->decrease_every_usec)
		return;
	m->peak_milli = held_milli;
	m->peak_at = now;
}

uint32_t report_observed(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	uint32_t changes = 0;
	uint64_t facts = f->observed_generation << 5 | f->pending_deferred |
			 f->pending_infeasible << 1 | f->in_progress << 2 | f->progress_error << 3 |
			 f->echoed << 4;

	/* The watch lags behind an answer. */
	if (f->generation < s->generation)
		return overtaken(s, f, now);
	for (size_t i = 0; i < s->count; i++)
		s->container[i].overtaken = 0;
	if (s->seen_at == 0)
		changes |= first_seen(s, f, now);
	else if (spec_moved(s, f))
		changes |= new_spec(t, s, f, now);
	/* Each step of the kubelet may have replaced values, old ones among them. */
	if (!s->under_way && s->carry == CARRY_WAITS && facts != s->facts)
		changes |= REPORT_CHANGE_VERIFY;
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		note_owners(&s->container[i], &f->containers[i]);
		note_peak(t, &s->container[i], f->containers[i].resource[RESOURCE_CPU].held, now);
	}
	s->facts = facts;
	if (!s->under_way)
		changes |= follow(t, s, f, now);
	return changes;
}

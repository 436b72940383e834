// SPDX-License-Identifier: Apache-2.0
/* Leads: when a memory limit in the spec must be raised before use gets there. */
#include "policy/report/report_impl.h"

/* A lead is due when use would pass the limit in the spec sooner than this: request, watch and
 * kubelet take up to 5 s. */
#define LEAD_AHEAD_USEC (10 * USEC_PER_SEC)
/* Below this share of the limit it is due only when use would pass it within LEAD_SOON_USEC: a
 * process that starts allocates fast, and then stops. */
#define LEAD_FROM_PERMILLE 500
#define LEAD_SOON_USEC     (2 * USEC_PER_SEC)
/* Growth that headroom covers where the server accepts no lower limit later: four times the
 * kubelet's longest delay, because headroom is renewed when half of it is used. */
#define FINAL_AHEAD_USEC (20 * USEC_PER_SEC)

/* These times are for a kubelet that carries a resize out within this; what it takes longer is
 * added twice to the time of a lead, and four times to its headroom. */
#define CARRY_USUAL_USEC (5 * USEC_PER_SEC)
/* A starved node needs 9 to 28 s, one pod may hang: so much counts of one and of several. */
#define CARRY_ALONE_USEC (15 * USEC_PER_SEC)
#define CARRY_MAX_USEC   (30 * USEC_PER_SEC)
/* The longest time that was seen halves in this time. */
#define CARRY_HALF_USEC (10 * USEC_PER_MIN)

/* A lowered limit reaches the cgroup 0.05 to 5 s after it was sent, 15 s later once more where the
 * kubelet failed: growth must have ended for longer than that. */
#define LOWER_QUIET_USEC (30 * USEC_PER_SEC)

/* The time that the kubelet gets to accept or refuse less headroom, also when a request would
 * change nothing. */
#define CUT_WAIT_USEC (3 * USEC_PER_SEC)

static usec_t carry_usec(const struct report_node *n, usec_t now)
{
	return n->carry_usec >> MIN((now - n->carry_at) / CARRY_HALF_USEC, (usec_t)63);
}

void report_node_learn(struct report_node *n, const struct report_state *s, usec_t now)
{
	usec_t longest = carry_usec(n, now);
	bool alone = n->carry_of == s || longest < CARRY_ALONE_USEC;
	usec_t took = MIN(now - s->since, alone ? CARRY_ALONE_USEC : CARRY_MAX_USEC);

	/* What the kubelet has no room for is no measure of its speed. */
	if (s->under_way || s->carry != CARRY_WAITS || s->deferred_since != 0 ||
	    s->lead > LEAD_PENDING || took < longest)
		return;
	n->carry_usec = took;
	n->carry_at = now;
	n->carry_of = s;
}

struct report_tuning report_tuned(const struct report_tuning *t, const struct report_node *n,
				  usec_t now)
{
	struct report_tuning ret = *t;

	ret.late_usec = MAX(carry_usec(n, now), CARRY_USUAL_USEC) - CARRY_USUAL_USEC;
	ret.ahead_usec = add_sat(t->ahead_usec, 4 * ret.late_usec);
	ret.first_ahead_usec = add_sat(t->first_ahead_usec, 4 * ret.late_usec);
	return ret;
}

usec_t report_lower_at(const struct report_state *s, const struct report_facts *f)
{
	/* Growth before the first observation is not known. */
	usec_t newest = s->seen_at;

	for (size_t i = 0; i < f->container_count; i++)
		newest = MAX(newest, f->containers[i].grew_at);
	return add_sat(newest, LOWER_QUIET_USEC);
}

/* Can a memory limit in the spec not be lowered again? The API server that accepts no lower limits
 * does not report the observed generation. */
static bool is_final(const struct report_node *n, const struct report_facts *f, usec_t now)
{
	return f->observed_generation == 0 || f->no_decrease || now < n->no_decrease_until;
}

usec_t report_ahead(const struct report_tuning *t, const struct report_node *n,
		    const struct report_facts *f, usec_t now)
{
	usec_t final = FINAL_AHEAD_USEC + 4 * t->late_usec;

	return is_final(n, f, now) ? MIN(t->ahead_usec, final) : t->ahead_usec;
}

/* Are leads paused after refusals? */
static bool is_paused(const struct report_state *s, usec_t now)
{
	return now < s->lead_until && s->lead_cuts > LEAD_CUTS_MAX;
}

/* Does a condition keep headroom from being carried out? */
static bool is_stuck(const struct report_state *s)
{
	return s->lead > LEAD_PENDING;
}

bool report_lead_denied(const struct report_state *s, usec_t now)
{
	/* The server takes no requests: as long as three cuts would have had. */
	bool overdue = s->lead == LEAD_CUT_DUE && now - s->cut_at >= 3 * CUT_WAIT_USEC;

	/* Refused even with the last cut: denied until a lead is accepted, or the limit would rise
	 * a step with each pause that ends. */
	return report_contested(s, now) || overdue || s->lead_cuts > LEAD_CUTS_MAX;
}

bool report_lead_tried(const struct report_state *s, usec_t now)
{
	/* One without an answer, after refusals, may be refused as well. */
	bool open = s->under_way && s->log[0].leads && s->lead_cuts != 0;
	bool refused = (s->lead_refused || open) && now < s->lead_until;

	return (refused || is_stuck(s)) && !report_lead_denied(s, now);
}

/* Half of the headroom of a lead is used later than this only by growth that has nearly ended. */
#define GROWTH_USEC (90 * USEC_PER_SEC)

static bool goes_on(const struct report_memory *m, usec_t now)
{
	return m->led_at != 0 && now - m->led_at < GROWTH_USEC;
}

usec_t report_covers(const struct report_tuning *t, const struct report_memory *m,
		     const struct report_container *c, usec_t ahead_usec, usec_t now)
{
	return c->replayed || goes_on(m, now) ? ahead_usec : MIN(ahead_usec, t->first_ahead_usec);
}

usec_t draft_ahead(const struct draft *d, size_t i)
{
	return report_covers(d->t, &d->s->container[i], &d->f->containers[i], d->ahead_usec,
			     d->now);
}

/* Could use pass the limit that the spec holds before a higher one stands there? */
static bool outgrows_spec(const struct draft *d, size_t i)
{
	const struct report_container *c = &d->f->containers[i];
	const struct report_memory *m = &d->s->container[i];
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
	uint64_t spec = x->spec_limit, use = c->use_bytes;
	uint64_t margin = MAX(scale_permille(use, d->t->margin_permille), d->t->margin_min_bytes);
	/* Headroom that vscaled sent is renewed when half of it is used. */
	bool ours = spec > x->original_limit || c->replayed;
	usec_t late = d->t->late_usec;
	usec_t led = m->led_ahead != 0 && !c->replayed ? m->led_ahead + 4 * late : d->ahead_usec;
	usec_t given = MIN(led, draft_ahead(d, i));
	usec_t ahead = ours ? given / 2 : MIN(given / 2, LEAD_AHEAD_USEC + 2 * late);
	uint64_t soon = mul_div(c->slope_bps, LEAD_SOON_USEC + 2 * late, USEC_PER_SEC);
	bool raised = spec < MAX(x->held, x->actual);
	/* Growth ends at the brake, which is set half of the margin below the spec. */
	bool tried = c->growing && report_lead_tried(d->s, d->now);
	uint64_t near = tried ? margin / 4 * 3 : margin / 2;

	if (spec >= add_sat(use, MAX(near, mul_div(c->slope_bps, ahead, USEC_PER_SEC))))
		return false;
	/* Denied memory does not grow, and there may be room for it again. */
	if (raised || (c->replayed && c->slope_bps > 0) || tried || d->s->lead_cuts > LEAD_CUTS_MAX)
		return true;
	/* Memory that does not grow may stay as near to the limit as it is. */
	return c->slope_bps > 0 &&
	       (use >= scale_permille(spec, LEAD_FROM_PERMILLE) || add_sat(use, soon) >= spec);
}

/* An external writer's limit, or one that restarts its container, is no headroom. */
static bool headroom_waits(const struct report_state *s, const struct report_facts *f)
{
	for (size_t i = 0; i < report_count_of(s, f); i++) {
		const struct report_memory *m = &s->container[i];

		if (!(m->theirs & RESOURCES_MEMORY) &&
		    !f->containers[i].resource[RESOURCE_MEMORY].restart &&
		    m->known.limit[RESOURCE_MEMORY] > m->good.limit[RESOURCE_MEMORY])
			return true;
	}
	return false;
}

/* May the kubelet still write the limit in the spec later, when use has passed it? Then the pause
 * does not hold back a lead with the least headroom, unless the server refused that too. */
static bool may_land_later(const struct report_state *s, const struct report_facts *f, usec_t now)
{
	return is_stuck(s) && headroom_waits(s, f) && now >= s->least_until &&
	       (f->pending_deferred || f->progress_error);
}

bool draft_bound(const struct draft *d, size_t i)
{
	const struct report_memory *m = &d->s->container[i];
	bool paused = is_paused(d->s, d->now) && !may_land_later(d->s, d->f, d->now);
	/* A refused request is no bound of the limit. */
	bool refused = d->now < m->ceiling_until[RESOURCE_MEMORY] &&
		       m->ceiling.limit[RESOURCE_MEMORY] != LIMIT_MAX;

	return !d->f->restoring && (paused || refused || draft_lacks_room(d, i));
}

/* May a lead name the container, as one that has no answer did? */
static bool may_lead(const struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];

	return !x->back && ratifiable(x) && x->spec_limit != LIMIT_MAX && !draft_bound(d, i);
}

/* A replay writes every limit of the spec, so the limit there must be raised before use comes near
 * it. To wait while memory grows would be the greater danger. */
bool draft_leads(const struct draft *d, size_t i)
{
	uint64_t spec = d->f->containers[i].resource[RESOURCE_MEMORY].spec_limit;

	return may_lead(d, i) && limits_ours(d->f) && spec < draft_floor(d, i) &&
	       outgrows_spec(d, i);
}

/* Memory must not be raised while the kubelet is about to carry out a pending resize, which has the
 * old memory limit. When it is withdrawn in time, the kubelet writes nothing. */
bool report_can_withdraw(const struct report_state *s)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->container[i].theirs != 0 ||
		    s->container[i].good.limit[RESOURCE_MEMORY] !=
			    s->container[i].known.limit[RESOURCE_MEMORY])
			return false;
	return s->carry == CARRY_WAITS && s->ours;
}

static void cut(const struct report_tuning *t, struct report_state *s, usec_t now)
{
	s->lead_cuts = MIN(s->lead_cuts + 1, (uint32_t)LEAD_CUTS_MAX + 1);
	s->lead_refused = true;
	s->lead_until = add_sat(now, MIN(t->refusal_usec, t->small_usec));
}

bool report_lead_refused(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	bool cutting = s->lead == LEAD_CUT_DUE;
	bool back = s->back != BACK_NONE && now >= s->back_until;

	if (f->restoring || (!cutting && (!s->log[0].leads || back || report_can_withdraw(s))))
		return false;
	cut(t, s, now);
	if (cutting) {
		/* What is in the spec stays there until the pause is over. */
		s->lead = LEAD_STUCK;
		s->lead_cuts = LEAD_CUTS_MAX + 1;
		s->wait_until = add_sat(now, t->up_interval_usec);
	} else if (s->lead_cuts > LEAD_CUTS_MAX) {
		s->least_until = s->lead_until;
	}
	return true;
}

bool report_lead_waits(const struct report_state *s, const struct report_facts *f)
{
	return s->lead != LEAD_NONE && headroom_waits(s, f);
}

bool report_cpu_waits(const struct report_state *s)
{
	for (size_t i = 0; i < s->count; i++) {
		const struct report_memory *m = &s->container[i];

		if (m->theirs & RESOURCES_CPU)
			continue;
		if (m->known.limit[RESOURCE_CPU] > m->good.limit[RESOURCE_CPU] ||
		    m->known.request[RESOURCE_CPU] > m->good.request[RESOURCE_CPU])
			return s->ours;
	}
	return false;
}

bool report_is_current(const struct report_tuning *t, const struct report_state *s,
		       const struct report_facts *f, usec_t now)
{
	if (f->observed_generation == 0)
		return now - MAX(s->sent_at, s->seen_at) >= t->up_interval_usec;
	return f->observed_generation >= s->generation;
}

bool report_lead_stuck(const struct report_tuning *t, const struct report_state *s,
		       const struct report_facts *f, usec_t now)
{
	bool condition = f->pending_deferred || f->pending_infeasible || f->progress_error;

	return condition && report_is_current(t, s, f, now) && report_lead_waits(s, f) &&
	       (f->condition_resources == RESOURCES_MEMORY || !report_cpu_waits(s));
}

/* The next cut: sent, unless less headroom does not help; then it gets its time all the same. */
static void begin_cut(struct report_state *s, bool send, usec_t now)
{
	s->lead = send ? LEAD_CUT_DUE : LEAD_CUT_TRIED;
	s->back = BACK_NONE;
	s->cut_at = now;
	s->cut_generation = s->generation;
}

/* Is there no result of the last cut yet? whole: the kubelet may still have room, so the condition
 * on the new spec is no result. */
static bool cut_goes_on(const struct report_state *s, bool whole, usec_t now)
{
	if (s->lead == LEAD_CUT_DUE)
		return true;
	return s->lead == LEAD_CUT_TRIED && now - s->cut_at < CUT_WAIT_USEC &&
	       (whole || s->cut_generation == s->generation);
}

uint32_t report_lead_cut(const struct report_tuning *t, struct report_state *s,
			 const struct report_facts *f, usec_t now)
{
	bool denied = report_lead_denied(s, now);
	/* Less headroom helps only where vscaled made the spec and memory may be the cause. A
	 * kubelet that failed to write the limit has room for it, and tries again. */
	bool hopeless = !s->ours || f->condition_resources == RESOURCES_CPU || f->progress_error;

	if (s->lead == LEAD_PENDING)
		s->lead = LEAD_STUCK;
	if (is_paused(s, now) || cut_goes_on(s, hopeless || s->lead_cuts >= LEAD_CUTS_MAX, now))
		return 0;
	/* After the pause the least headroom is tried once. */
	if (s->lead_cuts > LEAD_CUTS_MAX && s->lead == LEAD_STUCK && !hopeless) {
		begin_cut(s, true, now);
		return REPORT_CHANGE_RETRY;
	}
	cut(t, s, now);
	if (s->lead_cuts <= LEAD_CUTS_MAX) {
		begin_cut(s, !hopeless, now);
	} else {
		s->lead = LEAD_STUCK;
		/* A deferred or failed resize may be carried out later; an infeasible one never
		 * will be, and is withdrawn. */
		s->back = s->ours && !f->pending_deferred && !f->progress_error ? BACK_FORMER
										: BACK_NONE;
	}
	return REPORT_CHANGE_RETRY | (denied ? 0 : REPORT_CHANGE_VERIFY);
}

void report_cut_moot(struct report_state *s, usec_t now)
{
	if (s->lead != LEAD_CUT_DUE)
		return;
	s->lead = LEAD_CUT_TRIED;
	s->cut_at = now;
}

void report_lead_raised(const struct report_tuning *t, struct report_state *s,
			struct report_memory *m, usec_t now)
{
	s->lead_refused = false;
	if (now >= s->lead_until && !is_stuck(s))
		s->lead_cuts = 0;
	if (!s->log[0].leads)
		return;
	m->led_ahead = goes_on(m, now) ? t->ahead_usec : t->first_ahead_usec;
	m->led_ahead -= 4 * t->late_usec;
	m->led_at = now;
}

void report_lead_accepted(struct report_state *s, usec_t now)
{
	report_cut_moot(s, now); /* what was due is in the spec */
	if (!s->log[0].leads)
		return;
	s->lead_at = now;
	if (s->lead == LEAD_NONE)
		s->lead = LEAD_PENDING;
}

void report_lead_carried_out(struct report_state *s, const struct report_facts *f)
{
	/* Not when the spec went back to what the kubelet held before. */
	if (is_stuck(s) && headroom_waits(s, f)) {
		s->lead_cuts = MIN(s->lead_cuts, (uint32_t)LEAD_CUTS_MAX);
		s->lead_refused = false;
	}
	s->lead = LEAD_NONE;
}

void report_lead_forget(struct report_state *s)
{
	s->lead_until = s->least_until = 0;
	s->lead_cuts = 0;
	s->lead_refused = false;
	if (is_stuck(s))
		s->lead = LEAD_PENDING;
}

usec_t report_lead_again(const struct report_state *s, bool moot, usec_t now)
{
	usec_t at = moot ? now : s->cut_at;

	if (s->lead == LEAD_STUCK)
		at = s->lead_until;
	else if (moot || s->lead == LEAD_CUT_TRIED)
		at = add_sat(at, CUT_WAIT_USEC);
	else
		at = 0;
	return at > now ? at : 0;
}

/* The higher memory limit that the last request, which had no answer, may still store; 0: none. */
static uint64_t promised(const struct draft *d, size_t i)
{
	uint64_t limit = d->s->container[i].want[0].limit[RESOURCE_MEMORY];

	if (d->s->log[0].settled || !report_may_land(&d->s->log[0], d->now))
		return 0;
	return limit > d->f->containers[i].resource[RESOURCE_MEMORY].spec_limit ? limit : 0;
}

/* What follows a value that has no answer: it covers growth that goes on, and at least twice as
 * much as that value did, so that few of them cover the time for which one may be stored late. */
static uint64_t after(const struct draft *d, size_t i, uint64_t unanswered)
{
	const struct report_container *c = &d->f->containers[i];
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
	uint64_t covers = report_memory_floor(d->t, d->ahead_usec, c);
	uint64_t twice = add_sat(unanswered, unanswered - x->spec_limit);

	if (unanswered == 0)
		return 0;
	if (is_final(d->n, d->f, d->now))
		return covers;
	return MAX(covers, x->ceiling != 0 ? MIN(twice, x->ceiling) : twice);
}

/* The memory limit of a lead. One that has no answer is sent again as it was until half of its
 * headroom is used: it may still be stored, and must then be known as vscaled's. */
static uint64_t lead_limit(const struct draft *d, size_t i, uint64_t unanswered)
{
	const struct report_container *c = &d->f->containers[i];
	uint64_t held = round_up(c->resource[RESOURCE_MEMORY].held, d->t->page_bytes);
	uint64_t enough = report_memory_floor(d->t, draft_ahead(d, i) / 2, c);

	/* Not below the held limit, or another lead would be due right away. */
	if (unanswered >= MAX(enough, held))
		return unanswered;
	return highest((uint64_t[]){unanswered, draft_floor(d, i), held, after(d, i, unanswered)},
		       4);
}

void draft_lead(struct draft *d)
{
	const struct report_facts *f = d->f;

	d->any = d->big = d->up = d->memory_up = false;
	for (size_t i = 0; i < f->container_count; i++)
		d->want[i] = report_spec_of(f, i);
	for (size_t i = 0; i < f->container_count; i++) {
		const struct report_resource *x = &f->containers[i].resource[RESOURCE_MEMORY];
		uint64_t to = promised(d, i);

		if (!draft_leads(d, i) && (to == 0 || !may_lead(d, i)))
			continue;
		if (draft_leads(d, i))
			to = MIN(lead_limit(d, i, to), draft_most(d, i, RESOURCE_MEMORY));
		draft_note(d, RESOURCE_MEMORY, x->spec_limit, to);
		d->want[i].limit[RESOURCE_MEMORY] = to;
		draft_follow(d, x, &d->want[i]);
	}
}

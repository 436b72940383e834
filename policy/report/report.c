// SPDX-License-Identifier: Apache-2.0
#include "policy/report/report_impl.h"

/* Between two leads; each covers the growth of ahead_usec. */
#define LEAD_EVERY_USEC USEC_PER_SEC

/* An ordinary resize that has no answer after this time is given up for a lead: use passes the
 * limit in the spec in 2 s or later (report_lead.c), an answer takes tens of milliseconds. */
#define OVERTAKE_USEC (500 * USEC_PER_MSEC)

/* In this time all pods of a node send their decreases. */
#define WINDOW_USEC (15 * USEC_PER_MIN)

/* Why these: design and docs/performance.md. The margin is that of a shrink, doubled at the low
 * end, because the kubelet writes later than vscaled does. */
const struct report_tuning report_tuning_default = {
	.page_bytes = PAGE_DEFAULT_BYTES,
	.lease_usec = USEC_PER_MIN,
	.memory_lease_usec = USEC_PER_MIN,
	.ahead_usec = USEC_PER_MIN,
	.first_ahead_usec = 20 * USEC_PER_SEC, /* as FINAL_AHEAD_USEC (report_lead.c) */
	.margin_permille = 100,
	.margin_min_bytes = 16 * MIB,
	.at_once_permille = 100,
	.small_usec = 10 * USEC_PER_MIN,
	.up_interval_usec = 10 * USEC_PER_SEC,
	.down_interval_usec = 5 * USEC_PER_MIN,
	/* While it is pending the scheduler counts the higher request; VPA evicts after as long. */
	.deferred_usec = 5 * USEC_PER_MIN,
	.refusal_usec = USEC_PER_HOUR,
	.restart_every_usec = USEC_PER_HOUR,
	.settle_max_usec = 5 * USEC_PER_MIN,
	/* The scheduler, quotas and autoscalers follow requests: no change for a passing load. */
	.request_up_usec = 10 * USEC_PER_MIN,
	.request_down_usec = 30 * USEC_PER_MIN,
	/* A start that works on after it was Ready; as long as nothing shrinks after a start. */
	.startup_lease_usec = 5 * USEC_PER_MIN,
	.decrease_every_usec = 4 * USEC_PER_HOUR,
};

const char *report_block_name(enum report_block h)
{
	static const char *const names[REPORT_BLOCK_COUNT] = {
		[REPORT_BLOCK_NONE] = "none",
		[REPORT_BLOCK_OFFERED] = "not offered",
		[REPORT_BLOCK_INACTIVE] = "not active",
		[REPORT_BLOCK_SENT] = "sent, no answer yet",
		[REPORT_BLOCK_WAIT] = "waiting before the next request",
		[REPORT_BLOCK_ECHO] = "the kubelet has not carried out the last resize",
		[REPORT_BLOCK_CONDITION] = "the kubelet cannot carry out a resize",
		[REPORT_BLOCK_REFUSED] = "refused",
		[REPORT_BLOCK_UNSAFE] = "memory limit below use",
		[REPORT_BLOCK_MEMORY] = "memory is sent first",
		[REPORT_BLOCK_LEASE] = "the value has not held long enough",
		[REPORT_BLOCK_SMALL] = "the change is small",
		[REPORT_BLOCK_INTERVAL] = "the last change was too recent",
		[REPORT_BLOCK_CONTESTED] = "another writer lowers the memory limit",
		[REPORT_BLOCK_ROOM] = "the node has no room for a higher request",
		[REPORT_BLOCK_NODE] = "no request is raised: the Node is not known (nodes, get)",
		[REPORT_BLOCK_DECREASE] =
			"the release takes no lower memory limit (1.33, or kubernetes#141100)",
		[REPORT_BLOCK_WINDOW] = "a decrease waits for the node's window",
	};

	return h < REPORT_BLOCK_COUNT ? names[h] : "?";
}

static void block(struct draft *d, enum report_block why, usec_t again)
{
	d->ret->block = why;
	d->ret->again = again;
}

/* Does the room that the node lacks hold back a lead of memory that is managed? */
static bool lacks_room(const struct draft *d)
{
	for (size_t i = 0; i < d->f->container_count && !d->f->restoring; i++)
		if (draft_lacks_room(d, i) && limits_ours(d->f) &&
		    ratifiable(&d->f->containers[i].resource[RESOURCE_MEMORY]))
			return true;
	return false;
}

/* When a lead may have the request under way given up; UINT64_MAX: not at all. Another lead waits
 * for its answer: on a slow server none would ever get one. */
static usec_t overtake_at(const struct draft *d)
{
	return d->leads && !d->s->log[0].leads ? add_sat(d->s->since, OVERTAKE_USEC) : UINT64_MAX;
}

/* When the wait for the kubelet ends; 0: with a change of the object. */
static usec_t echo_again(const struct draft *d)
{
	usec_t withdrawn = add_sat(d->s->deferred_since, d->t->deferred_usec);

	if (!d->f->pending_deferred)
		return add_sat(d->s->since, d->t->settle_max_usec);
	return d->s->deferred_since != 0 && withdrawn > d->now ? withdrawn : 0;
}

/* Holds that do not depend on the values. True: nothing is sent. */
static bool held_back(struct draft *d)
{
	const struct report_state *s = d->s;
	const struct report_facts *f = d->f;
	bool stuck = f->pending_infeasible || f->progress_error;
	bool sent = s->under_way && d->now < overtake_at(d);
	const struct {
		bool applies;
		enum report_block block;
		usec_t again;
	} rows[] = {
		{!f->offered, REPORT_BLOCK_OFFERED, 0},
		{d->now < f->forbidden_until, REPORT_BLOCK_OFFERED, f->forbidden_until},
		{!f->active && !f->restoring, REPORT_BLOCK_INACTIVE, 0},
		{f->adopting && !d->leads, REPORT_BLOCK_INACTIVE, 0},
		{sent, REPORT_BLOCK_SENT, overtake_at(d) != UINT64_MAX ? overtake_at(d) : 0},
		/* The facts are older than the last answer. */
		{f->generation < s->generation, REPORT_BLOCK_ECHO, 0},
		{d->now < s->wait_until, REPORT_BLOCK_WAIT, s->wait_until},
		{d->now < s->back_until && !d->leads, REPORT_BLOCK_WAIT, s->back_until},
		{report_contested(s, d->now) && !d->back, REPORT_BLOCK_CONTESTED, s->contest.until},
		{s->carry == CARRY_WAITS && !d->leads && !d->back, REPORT_BLOCK_ECHO,
		 echo_again(d)},
		{stuck && !s->ours && !d->leads && !d->back, REPORT_BLOCK_CONDITION, 0},
		{d->now < s->refused_until && !d->back, REPORT_BLOCK_REFUSED, s->refused_until},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].applies) {
			block(d, rows[i].block, rows[i].again);
			return true;
		}
	return false;
}

/* The spec has the value, the kubelet has nothing left to do, and the cgroup has another value. */
static void find_traps(struct draft *d)
{
	if (report_pending(d->s) || d->growing || !d->f->echoed)
		return;
	for (size_t i = 0; i < d->f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &d->f->containers[i].resource[r];
			uint64_t should = d->f->restoring ? x->original_limit : x->held;

			if (ratifiable(x) && !x->back && !x->limit_stays && x->actual != 0 &&
			    x->spec_limit == should && d->want[i].limit[r] == should &&
			    limit_kept(r, x->actual, d->t->page_bytes) !=
				    limit_kept(r, should, d->t->page_bytes))
				d->ret->write = true;
		}
}

/* The intervals between two resizes of a pod. True: too soon. */
static bool within_interval(struct draft *d)
{
	const struct report_tuning *t = d->t;
	usec_t last = d->s->sent_at, again;
	/* A value that goes back is not held for the interval of small changes and decreases. */
	bool soon = goes_down(d->s) || d->handed_back;

	/* The originals go back at once; what could not go then keeps the intervals. */
	if (last == 0 || (d->f->restoring && !d->s->restored) || d->s->back == BACK_WITHDRAW)
		return false;
	if (is_cut(d))
		again = add_sat(last, MIN(t->up_interval_usec, LEAD_EVERY_USEC));
	else if (d->leads)
		again = d->s->lead_at != 0
				? add_sat(d->s->lead_at, MIN(t->up_interval_usec, LEAD_EVERY_USEC))
				: last;
	else
		again = add_sat(last, d->up || soon ? t->up_interval_usec : t->down_interval_usec);
	if (d->now < again) {
		block(d, REPORT_BLOCK_INTERVAL, again);
		return true;
	}
	again = add_sat(last, t->small_usec);
	if (!d->big && !d->leads && !soon && d->now < again) {
		block(d, REPORT_BLOCK_SMALL, again);
		return true;
	}
	return false;
}

/* Must the spec still get an original memory limit, which use holds back? A server that accepts no
 * lower limit keeps the higher one for good. */
static bool original_is_due(const struct draft *d)
{
	if (d->now < d->n->no_decrease_until || d->f->no_decrease)
		return false;
	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];

		if (ratifiable(x) && (d->f->restoring || x->back) && x->spec_limit != LIMIT_MAX &&
		    x->spec_limit > x->original_limit)
			return true;
	}
	return false;
}

static void send_nothing(struct draft *d)
{
	usec_t window = d->window_waits ? d->window_at : 0;
	usec_t again = sooner(window, sooner(d->later, d->asked_again));

	d->ret->moot = is_cut(d);
	if (d->memory_later)
		block(d, REPORT_BLOCK_MEMORY, again);
	else if (d->later)
		block(d, REPORT_BLOCK_LEASE, again);
	else if (original_is_due(d))
		block(d, REPORT_BLOCK_UNSAFE,
		      sooner(again, add_sat(d->now, d->t->up_interval_usec)));
	else if (d->short_of_room && !d->asked_again)
		block(d, d->f->room_unknown ? REPORT_BLOCK_NODE : REPORT_BLOCK_ROOM, again);
	else if (d->kept_high && !d->asked_again)
		block(d, REPORT_BLOCK_DECREASE, again);
	else if (d->window_waits && !d->asked_again)
		block(d, REPORT_BLOCK_WINDOW, again);
	else
		block(d, d->asked_again ? REPORT_BLOCK_REFUSED : REPORT_BLOCK_NONE, again);
}

/* Drafts the values. True: they are sent now. */
static bool drafted(struct draft *d)
{
	for (size_t i = 0; i < d->f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			draft_resource(d, i, r);
	if (d->leads && !d->back)
		draft_lead(d);
	else if (d->memory_later)
		draft_leave_cpu(d);
	draft_level(d);
	find_traps(d);
	if (!d->any && !d->leads) {
		send_nothing(d);
		return false;
	}
	if (!draft_make_safe(d)) {
		d->ret->blocked = d->leads;
		block(d, REPORT_BLOCK_UNSAFE, add_sat(d->now, d->t->up_interval_usec));
		return false;
	}
	draft_keep_class(d);
	draft_level(d);
	if (!draft_build(d)) {
		send_nothing(d);
		return false;
	}
	return !within_interval(d);
}

/* The request under way stays, unless a lead is sent as soon as that one is given up. */
static void decide_beside(struct draft *d, bool sends)
{
	usec_t again = d->ret->again;

	*d->ret = (struct report_decision){
		.urgency = REPORT_ORDINARY, .overtakes = sends, .blocked = d->ret->blocked};
	block(d, REPORT_BLOCK_SENT, sends ? 0 : again);
}

static void find_window(struct draft *d)
{
	usec_t every = d->t->decrease_every_usec;
	usec_t into = every != 0 ? (d->now + d->t->decrease_phase_usec % every) % every : 0;

	d->window_open = into < WINDOW_USEC || d->n->short_of_room;
	d->window_at = d->now - into + every;
}

void report_decide(const struct report_tuning *t, const struct report_node *n,
		   const struct report_state *s, const struct report_facts *f, usec_t now,
		   struct report_decision *ret)
{
	struct draft d = {.t = t, .n = n, .s = s, .f = f, .now = now, .ret = ret};
	bool sends, at_once;

	*ret = (struct report_decision){.urgency = REPORT_ORDINARY};
	if (s->seen_at == 0 || f->container_count > s->count) {
		block(&d, REPORT_BLOCK_INACTIVE, 0);
		return;
	}
	d.back = f->restoring || (goes_down(s) && now >= s->back_until);
	d.lower_at = report_lower_at(s, f);
	find_window(&d);
	d.ahead_usec = report_ahead(t, n, f, now);
	d.ahead_usec >>= 2 * MIN(s->lead_cuts, (uint32_t)LEAD_CUTS_MAX);
	for (size_t i = 0; i < f->container_count; i++) {
		d.growing |= f->containers[i].growing;
		d.leads |= !f->restoring && draft_leads(&d, i);
	}
	ret->drafted = !held_back(&d);
	sends = ret->drafted && drafted(&d);
	ret->short_of_room = d.short_of_room && !f->room_unknown;
	ret->blocked |= lacks_room(&d);
	if (!sends) {
		ret->again = sooner(ret->again, report_lead_again(s, ret->moot, now));
		ret->patch.count = 0;
	}
	if (s->under_way)
		decide_beside(&d, sends);
	if (!sends || s->under_way)
		return;
	at_once = d.leads || (s->carry == CARRY_WAITS && s->back == BACK_WITHDRAW);
	ret->send = true;
	/* A lead has no time for a conflict. While less headroom is tried growth is held, and a
	 * request without an answer must not be stored late, over a higher limit. */
	ret->exact = !at_once || (d.leads && s->lead_cuts > 0 && s->conflicts == 0);
	ret->patch.leads = d.leads;
	ret->urgency = at_once       ? REPORT_LEADS
		       : d.back      ? REPORT_AT_ONCE
		       : d.memory_up ? REPORT_MEMORY_RAISE
				     : REPORT_ORDINARY;
}

bool report_expects(const struct report_state *s)
{
	return s->seen_at != 0 && s->ours;
}

bool report_pending(const struct report_state *s)
{
	return s->under_way || s->carry == CARRY_WAITS;
}

usec_t report_refused_until(const struct report_state *s)
{
	return MAX(s->refused_until, s->wait_until);
}

bool report_ratifies(const struct report_state *s, usec_t now)
{
	return s->failures == 0 && now >= s->refused_until && !report_lead_denied(s, now);
}

uint32_t report_foreign(const struct report_state *s, size_t container)
{
	return container < s->count
		       ? s->container[container].foreign | s->container[container].overtaken
		       : 0;
}

uint64_t report_allows(const struct report_state *s, size_t container, enum resource r, usec_t now,
		       usec_t *ret_until)
{
	*ret_until = 0;
	if (container >= s->count || now >= s->container[container].ceiling_until[r])
		return LIMIT_MAX;
	*ret_until = s->container[container].ceiling_until[r];
	return s->container[container].ceiling.limit[r];
}

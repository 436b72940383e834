// SPDX-License-Identifier: Apache-2.0
#include "policy/report/report_impl.h"
#include "policy/types/reason.h"

uint64_t report_memory_floor(const struct report_tuning *t, usec_t ahead_usec,
			     const struct report_container *c)
{
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
	uint64_t margin =
		MAX(scale_permille(c->use_bytes, t->margin_permille), t->margin_min_bytes);
	uint64_t ahead = mul_div(c->slope_bps, ahead_usec, USEC_PER_SEC);
	uint64_t floor = round_up(add_sat(add_sat(c->use_bytes, ahead), margin), t->page_bytes);

	/* Use cannot pass the highest held limit. */
	if (x->ceiling != 0) {
		uint64_t most = highest((uint64_t[]){x->ceiling, x->held, c->use_bytes}, 3);

		floor = MIN(floor, most);
	}
	return floor;
}

/* Are the pod's own requests its limits, which are its containers' together? */
static bool level_requests(const struct draft *d, size_t r)
{
	return d->f->level.guaranteed && (d->f->level.follows & (1u << r));
}

/* By how much this request may still rise: as the node has room beside the raises of the pod's
 * other containers, and to what was not refused. What goes back is allocated already. */
static uint64_t draft_room(const struct draft *d, size_t i, size_t r)
{
	const struct report_memory *m = &d->s->container[i];
	uint64_t room = d->f->room_counted ? d->f->room[r] : LIMIT_MAX;
	uint64_t spec = d->f->containers[i].resource[r].spec_request;

	if (r == RESOURCE_MEMORY && d->f->containers[i].swaps)
		return 0;
	if (d->back && d->s->back != BACK_NONE)
		return LIMIT_MAX;
	for (size_t k = 0; room != LIMIT_MAX && k < d->f->container_count; k++) {
		const struct report_resource *x = &d->f->containers[k].resource[r];
		bool limit = level_requests(d, r);
		uint64_t from = limit ? x->spec_limit : x->spec_request;
		uint64_t to = k == i ? from : limit ? d->want[k].limit[r] : d->want[k].request[r];
		uint64_t raise = to > from ? to - from : 0;

		room -= MIN(room, raise);
	}
	if (d->now < m->ceiling_until[r] && m->ceiling.request[r] != LIMIT_MAX)
		room = MIN(room, m->ceiling.request[r] - MIN(m->ceiling.request[r], spec));
	return room;
}

/* A request as far as there is room for it. */
static uint64_t within_room(struct draft *d, size_t i, size_t r, uint64_t want)
{
	uint64_t spec = d->f->containers[i].resource[r].spec_request;
	uint64_t most = add_sat(spec, draft_room(d, i, r));

	if (want <= MAX(spec, most))
		return want;
	most = MAX(spec, round_down(most, quantum_of(r, d->t->page_bytes)));
	d->short_of_room |= want - most >= scale_permille(spec, REQUEST_APART_PERMILLE);
	return most;
}

uint64_t draft_most(const struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	uint64_t room = draft_room(d, i, r), most;

	if (room == LIMIT_MAX || x->spec_request == 0)
		return LIMIT_MAX;
	if (d->f->guaranteed || level_requests(d, r))
		most = add_sat(x->spec_limit, room);
	else if (x->ratio_permille != 0)
		most = mul_div(add_sat(x->spec_request, room), x->ratio_permille, 1000);
	else
		return LIMIT_MAX;
	return MAX(x->spec_limit, round_down(most, quantum_of(r, d->t->page_bytes)));
}

bool draft_lacks_room(const struct draft *d, size_t i)
{
	const struct report_container *c = &d->f->containers[i];
	usec_t least = draft_ahead(d, i) >> (2 * LEAD_CUTS_MAX);

	return report_memory_floor(d->t, least, c) > draft_most(d, i, RESOURCE_MEMORY);
}

uint64_t draft_floor(const struct draft *d, size_t i)
{
	uint64_t floor = report_memory_floor(d->t, draft_ahead(d, i), &d->f->containers[i]);

	return draft_lacks_room(d, i) ? floor : MIN(floor, draft_most(d, i, RESOURCE_MEMORY));
}

/* LimitsOnly in a Guaranteed pod (policy/laws/pod_bounds.h): CPU is sized in the cgroup alone;
 * memory above the spec is sent with its request, since the class allows nothing else, and neither
 * goes below the original request. */
static uint64_t keep_request(const struct draft *d, size_t i, size_t r, uint64_t want)
{
	const struct report_container *c = &d->f->containers[i];
	const struct report_resource *x = &c->resource[r];

	if (!d->f->guaranteed || x->original_request == 0 ||
	    (d->f->controlled != CONTROLLED_LIMITS && !c->limits_only))
		return want;
	return r == RESOURCE_CPU ? x->original_request : MAX(want, x->original_request);
}

/* The value to go back to: the original, or the last one that the kubelet carried out. What an
 * external writer set stays. */
static struct report_values way_back(const struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	const struct report_values *good = &d->s->container[i].good;
	struct report_values v;

	if (!d->f->restoring && (d->s->container[i].theirs & (1u << r)))
		return report_spec_of(d->f, i);
	v.limit[r] = d->f->restoring ? x->original_limit : good->limit[r];
	/* A limit needs no room: it stays. */
	if (!d->f->restoring && d->s->back == BACK_REQUESTS)
		v.limit[r] = x->spec_limit;
	v.request[r] = d->f->restoring ? x->original_request : good->request[r];
	return v;
}

/* What a refusal leaves of a wanted value above the spec. Notes when to ask again. */
static uint64_t report_draft_allowed(struct draft *d, usec_t until, uint64_t ceiling, uint64_t spec,
				     uint64_t want)
{
	uint64_t present = MIN(spec, want);

	if (d->now >= until || want <= ceiling)
		return want;
	if (want > spec)
		d->asked_again = sooner(d->asked_again, until);
	return MAX(ceiling, present);
}

/* Rounds up to the quantum: 833m and 840m are the same to a kubelet under systemd. */
static uint64_t rounded(size_t r, uint64_t spec, uint64_t want, uint64_t page_bytes)
{
	return limit_kept(r, want, page_bytes) == limit_kept(r, spec, page_bytes)
		       ? spec
		       : round_up(want, quantum_of(r, page_bytes));
}

/* The lowest memory limit that API server and kubelet take. Above what the kubelet has carried out
 * a lower one is no decrease to it. */
static uint64_t draft_lowest(const struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];

	if (d->now < d->n->no_decrease_until)
		return x->spec_limit;
	if (!d->f->no_decrease)
		return 0;
	return x->reported != 0 ? MIN(x->reported, x->spec_limit) : x->spec_limit;
}

/* Memory: room for the kubelet's delay, and whether the limit may be lowered now. Notes when. */
static uint64_t wanted_memory(struct draft *d, size_t i, uint64_t spec, uint64_t want)
{
	bool back = d->back || goes_back(&d->f->containers[i].resource[RESOURCE_MEMORY]);
	uint64_t floor = draft_floor(d, i);
	uint64_t least = MIN(spec, floor), taken = draft_lowest(d, i);

	if (want > spec)
		return MAX(want, floor);
	/* No cgroup holds headroom that is being cut: it may be lowered while memory grows. */
	if (d->growing && !is_cut(d))
		return spec;
	/* Missing room alone is no reason for a change. */
	want = MAX(want, least);
	d->kept_high |= want < taken;
	want = MAX(want, taken);
	/* When a value goes back, the cgroup was lowered first. */
	if (want == spec || back || d->now >= d->lower_at)
		return want;
	d->later = sooner(d->later, d->lower_at);
	return spec;
}

/* What a CPU limit or a request in the spec should become, if that is lower. peak: of the limit. */
static uint64_t in_window(struct draft *d, const struct report_resource *x, uint64_t spec,
			  uint64_t want, uint64_t peak)
{
	uint64_t big = scale_permille(spec, d->t->at_once_permille);
	uint64_t least = MIN(spec, MAX(want, peak));
	bool above = x->ceiling != 0 && spec > x->ceiling;

	if (want >= spec || d->t->decrease_every_usec == 0 || d->back || goes_back(x) || above)
		return want;
	/* A small decrease of a request goes along. */
	if (d->window_open && (peak == 0 || spec - least >= big))
		return least;
	d->window_waits |= spec - want >= big;
	return spec;
}

/* What the limit should become, before leases and intervals. */
static uint64_t wanted_limit(struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	const struct report_memory *m = &d->s->container[i];
	uint64_t spec = x->spec_limit, peak = m->peak_milli, want;

	if (spec == LIMIT_MAX || !ratifiable(x) || x->limit_stays ||
	    (!limits_ours(d->f) && !d->back && !goes_back(x)))
		return spec;
	want = d->back ? way_back(d, i, r).limit[r] : x->held;
	if (want == LIMIT_MAX)
		return spec;
	if (!d->back && !goes_back(x)) {
		want = keep_request(d, i, r, want);
		peak = keep_request(d, i, r, peak);
	}
	if (!d->back)
		want = report_draft_allowed(d, m->ceiling_until[r], m->ceiling.limit[r], spec,
					    rounded(r, spec, want, d->t->page_bytes));
	if (want > draft_most(d, i, r)) {
		d->short_of_room = true;
		want = draft_most(d, i, r);
	}
	if (r == RESOURCE_MEMORY)
		return wanted_memory(d, i, spec, want);
	return x->held_since != 0 ? in_window(d, x, spec, want, peak) : want;
}

/* The least request beside this limit; 0: no such bound. */
static uint64_t draft_ratio(const struct report_resource *x, uint64_t limit)
{
	bool bound = x->ratio_permille != 0 && x->spec_request != 0 && limit != LIMIT_MAX;

	return bound ? request_of_ratio(limit, x->ratio_permille) : 0;
}

void draft_follow(const struct draft *d, const struct report_resource *memory,
		  struct report_values *v)
{
	uint64_t limit = v->limit[RESOURCE_MEMORY], *request = &v->request[RESOURCE_MEMORY];

	*request = d->f->guaranteed ? limit : MAX(*request, draft_ratio(memory, limit));
}

/* The request: only where the spec has one, never above the limit. */
static uint64_t wanted_request(struct draft *d, size_t i, size_t r, uint64_t limit)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	const struct report_memory *m = &d->s->container[i];
	uint64_t want = x->spec_request;

	if (want == 0 || !ratifiable(x) || (r == RESOURCE_MEMORY && d->f->containers[i].swaps))
		return want;
	if (d->f->guaranteed)
		return limit;
	if (d->back)
		want = way_back(d, i, r).request[r] ?: want;
	else if (goes_back(x) || x->request_back)
		want = x->original_request ?: want;
	else if (d->f->controlled == CONTROLLED_LIMITS)
		return want;
	else if (x->request != 0)
		want = x->request;
	if (!d->back)
		want = report_draft_allowed(d, m->ceiling_until[r], m->ceiling.request[r],
					    x->spec_request, want);
	if (!d->back && !goes_back(x))
		want = MAX(want, draft_ratio(x, limit));
	want = within_room(d, i, r, MIN(want, limit));
	return x->request_since != 0 ? in_window(d, x, x->spec_request, want, 0) : want;
}

void draft_note(struct draft *d, size_t r, uint64_t from, uint64_t to)
{
	uint64_t apart = MAX(from, to) - MIN(from, to);

	d->any = true;
	d->big |= from == 0 || mul_div(apart, 1000, from) >= d->t->at_once_permille;
	d->up |= to > from;
	d->memory_up |= r == RESOURCE_MEMORY && to > from;
}

/* A request whose limit stays waits until it has been apart for a while. */
static bool request_waits(struct draft *d, const struct report_resource *x, uint64_t to)
{
	uint64_t apart = MAX(to, x->spec_request) - MIN(to, x->spec_request);
	usec_t wait = to > x->spec_request ? d->t->request_up_usec : d->t->request_down_usec;
	usec_t due = x->request_since == 0 ? d->now : add_sat(x->request_since, wait);

	if (d->back || goes_back(x) || x->request_back || d->f->guaranteed || to == x->spec_request)
		return false;
	if (apart < scale_permille(x->spec_request, REQUEST_APART_PERMILLE))
		return true;
	d->later = d->now < due ? sooner(d->later, due) : d->later;
	return d->now < due;
}

/* May a container with resizePolicy RestartContainer be restarted now, for the limit that its facts
 * ask for? */
static bool restart_due(const struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];
	usec_t last = d->s->container[i].restart_at;

	/* Only the spec shows a restart that an earlier agent process asked for. */
	if (last == 0 && x->spec_limit != x->original_limit)
		last = d->s->seen_at;
	return x->restart && x->managed && x->restart_to > x->spec_limit && !d->back && !x->back &&
	       limits_ours(d->f) &&
	       (last == 0 || d->now >= add_sat(last, d->t->restart_every_usec));
}

/* The kubelet restarts the container for it: no lease, and room for the time until the next one. */
static bool draft_restart(struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];
	const struct report_memory *m = &d->s->container[i];
	struct report_values *v = &d->want[i];
	uint64_t to;

	if (!restart_due(d, i))
		return false;
	to = round_up(x->restart_to, d->t->page_bytes);
	/* A lower value is not worth a restart. */
	if (report_draft_allowed(d, m->ceiling_until[RESOURCE_MEMORY],
				 m->ceiling.limit[RESOURCE_MEMORY], x->spec_limit, to) < to)
		return false;
	if (to > draft_most(d, i, RESOURCE_MEMORY)) {
		d->short_of_room = true;
		return false;
	}
	draft_note(d, RESOURCE_MEMORY, x->spec_limit, to);
	v->limit[RESOURCE_MEMORY] = to;
	v->request[RESOURCE_MEMORY] = d->f->guaranteed ? to : x->spec_request;
	return true;
}

/* The limit goes back only after the kubelet reported a higher one as infeasible: it did not
 * restart the container then, and does not for exactly the value that it has carried out before. */
static bool draft_restart_undone(struct draft *d, size_t i)
{
	const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];
	const struct report_values *good = &d->s->container[i].good;

	if (!goes_down(d->s) || !d->f->pending_infeasible || !x->restart || !x->managed ||
	    !limits_ours(d->f) || (d->s->container[i].theirs & RESOURCES_MEMORY) ||
	    good->limit[RESOURCE_MEMORY] >= x->spec_limit)
		return false;
	draft_note(d, RESOURCE_MEMORY, x->spec_limit, good->limit[RESOURCE_MEMORY]);
	d->want[i].limit[RESOURCE_MEMORY] = good->limit[RESOURCE_MEMORY];
	d->want[i].request[RESOURCE_MEMORY] = good->request[RESOURCE_MEMORY];
	return true;
}

/* Until when the limit of the spec stays. */
static usec_t lease_end(const struct draft *d, const struct report_resource *x, size_t r,
			uint64_t wanted)
{
	usec_t lease = r == RESOURCE_CPU ? d->t->lease_usec : d->t->memory_lease_usec;
	usec_t end = add_sat(x->held_since, lease);

	if (d->back || goes_back(x))
		return 0;
	if (x->startup_until != 0 && wanted > x->spec_limit)
		end = MAX(end, add_sat(x->startup_until, d->t->startup_lease_usec));
	return end;
}

/* The limit never goes below the request, unless the request is lowered too. */
static uint64_t limit_beside(const struct draft *d, const struct report_resource *x, uint64_t limit,
			     uint64_t request)
{
	if (limit != LIMIT_MAX)
		limit = MAX(limit, request);
	if (request == x->spec_request && !d->f->guaranteed)
		limit = MAX(limit, x->spec_request);
	return limit;
}

static void draft_set(struct draft *d, size_t i, size_t r, uint64_t limit, uint64_t request)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];

	if (limit != x->spec_limit)
		draft_note(d, r, x->spec_limit, limit);
	/* A request makes no memory grow: it does not go before other writes. */
	if (request != x->spec_request)
		draft_note(d, RESOURCE_CPU, x->spec_request, request);
	d->want[i].limit[r] = limit;
	d->want[i].request[r] = request;
}

void draft_resource(struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	uint64_t wanted = wanted_limit(d, i, r), limit, request;
	usec_t due = lease_end(d, x, r, wanted);

	if (r == RESOURCE_MEMORY && (draft_restart_undone(d, i) || draft_restart(d, i)))
		return;
	if (r == RESOURCE_CPU && is_cut(d)) {
		draft_set(d, i, r, x->spec_limit, x->spec_request);
		return;
	}
	request = wanted_request(d, i, r, wanted);
	limit = limit_beside(d, x, wanted, request);
	if (d->now < due && limit != x->spec_limit) {
		d->later = sooner(d->later, due);
		d->memory_later |= r == RESOURCE_MEMORY && limit > x->spec_limit;
		limit = x->spec_limit;
		request = d->f->guaranteed || x->spec_request == 0 ? x->spec_request
								   : MIN(request, limit);
	}
	d->handed_back |= (goes_back(x) || (d->f->restoring && limit == x->original_limit)) &&
			  (limit != x->spec_limit || request != x->spec_request);
	if (limit == x->spec_limit && request_waits(d, x, request))
		request = x->spec_request;
	draft_set(d, i, r, limit, request);
}

/* By how much the sum of the limits in the request is below what the pod's containers need. */
static uint64_t draft_lack(const struct draft *d)
{
	uint64_t need = 0, have = 0;

	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_container *c = &d->f->containers[i];
		const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
		uint64_t want = d->want[i].limit[RESOURCE_MEMORY], least = draft_floor(d, i);

		if (want == LIMIT_MAX)
			continue;
		/* A container that is not named uses no more than its cgroup allows; what a lead
		 * names is enough. */
		if (want == x->spec_limit)
			least = MIN(least,
				    highest((uint64_t[]){x->held, x->actual, c->use_bytes}, 3));
		else
			least = MIN(least, want);
		need = add_sat(need, least);
		have = add_sat(have, want);
	}
	return need > have ? need - have : 0;
}

/* The kubelet writes the sum of the spec's limits as the pod's limit. What a container that the
 * lead does not name needs above its own limit is added to one that it names. False: there is no
 * room for it. */
static bool draft_covers_pod(struct draft *d)
{
	uint64_t lack = draft_lack(d);

	for (size_t i = 0; lack != 0 && i < d->f->container_count; i++) {
		const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];
		uint64_t *want = &d->want[i].limit[RESOURCE_MEMORY];
		uint64_t to = add_sat(*want, lack), most = to;

		if (*want == LIMIT_MAX || *want == x->spec_limit)
			continue;
		if (x->ceiling != 0)
			most = MIN(to, x->ceiling);
		most = MIN(most, draft_most(d, i, RESOURCE_MEMORY));
		*want = MAX(*want, most);
		lack = to - *want;
		draft_follow(d, x, &d->want[i]);
	}
	return lack == 0;
}

/* Is the request what the kubelet has carried out already, so that it writes nothing? */
static bool restart_replays_nothing(const struct draft *d)
{
	for (size_t i = 0; i < d->f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			if (!report_equal(&d->want[i], &d->s->container[i].good, r))
				return false;
	return goes_down(d->s) && d->f->pending_infeasible;
}

/* No memory limit in the request may land below use: a replay writes all of them. */
bool draft_make_safe(struct draft *d)
{
	bool low = false;

	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_container *c = &d->f->containers[i];
		const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
		struct report_values *v = &d->want[i];
		uint64_t *want = &v->limit[RESOURCE_MEMORY];
		uint64_t floor = draft_floor(d, i);

		if (*want == LIMIT_MAX || *want >= floor)
			continue;
		/* As lead_limit() has it. */
		if (d->leads && !d->back && *want > x->spec_limit)
			continue;
		if (ratifiable(x) && !x->limit_stays && limits_ours(d->f) && !draft_bound(d, i)) {
			d->up = d->memory_up = d->any = true;
			*want = floor;
			draft_follow(d, x, v);
			continue;
		}
		/* The kubelet has nothing to do then, and replays nothing. */
		if (d->s->back == BACK_WITHDRAW && *want == x->spec_limit)
			continue;
		/* A request that does not name the limit leaves its cgroup alone. */
		if (d->leads && !d->back)
			continue;
		/* The limit may stay only where the cgroup does not hold more. */
		if (*want < c->use_bytes || x->held > *want) {
			low = true;
			if (!x->restart)
				return false;
		}
	}
	if (low && !restart_replays_nothing(d))
		return false;
	return !d->leads || d->back || draft_covers_pod(d);
}

void draft_keep_class(struct draft *d)
{
	const struct report_facts *f = d->f;
	struct report_values *free_one = NULL;
	size_t resource = 0;

	if (f->guaranteed)
		return;
	for (size_t i = 0; i < f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT && !f->containers[i].equal; r++) {
			struct report_values *v = &d->want[i];
			const struct report_resource *x = &f->containers[i].resource[r];

			if (v->limit[r] != v->request[r])
				return;
			if (v->limit[r] != x->spec_limit || v->request[r] != x->spec_request) {
				free_one = v;
				resource = r;
			}
		}
	if (free_one == NULL)
		return;
	if (limits_ours(f))
		free_one->limit[resource] += quantum_of(resource, d->t->page_bytes);
	else
		free_one->request[resource] -=
			MIN(free_one->request[resource], quantum_of(resource, d->t->page_bytes));
}

/* One limit of the pod itself. */
static uint64_t level_limit(const struct draft *d, size_t r)
{
	const struct report_level *l = &d->f->level;
	uint64_t sum = 0, back = l->original[r], spec = l->spec.limit[r], to;
	bool stays = (d->leads && !d->back) || d->memory_later;

	for (size_t i = 0; i < d->f->container_count; i++) {
		uint64_t want = d->want[i].limit[r];

		if (want == LIMIT_MAX)
			continue;
		sum = add_sat(sum, want);
		back += sub_sat(want, d->f->containers[i].resource[r].original_limit);
	}
	/* Back as far as its containers are. */
	to = l->follows & (1u << r) ? sum : MAX(l->original[r], MIN(spec, back));
	to = MAX(to, l->least[r]);
	if (l->guaranteed && d->f->room_counted)
		to = MIN(to, add_sat(spec, d->f->room[r]));
	/* Equal to both requests they would make another class of it. */
	else if (!l->guaranteed)
		to = MAX(to, l->spec.request[r] +
				     (l->follows != 0) * quantum_of(r, PAGE_DEFAULT_BYTES));
	if (r == RESOURCE_MEMORY)
		stays |= (d->growing && !is_cut(d)) || d->f->no_decrease ||
			 d->now < d->n->no_decrease_until;
	return stays ? MAX(to, spec) : to;
}

void draft_level(struct draft *d)
{
	const struct report_level *l = &d->f->level;
	struct report_item *v = &d->ret->patch.level;

	*v = (struct report_item){0};
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		if (!((l->follows | l->backs) & (1u << r)))
			continue;
		v->limit[r] = v->request[r] = level_limit(d, r);
		if (v->limit[r] == l->spec.limit[r])
			continue;
		v->limits |= 1u << r;
		v->requests |= l->guaranteed ? 1u << r : 0;
		draft_note(d, r, l->spec.limit[r], v->limit[r]);
	}
}

bool draft_build(struct draft *d)
{
	struct report_patch *p = &d->ret->patch;

	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_values *v = &d->want[i];
		struct report_item item = {.container = (uint32_t)i};

		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &d->f->containers[i].resource[r];

			item.limit[r] = v->limit[r];
			item.request[r] = v->request[r];
			if (v->limit[r] != x->spec_limit)
				item.limits |= 1u << r;
			if (v->request[r] != x->spec_request)
				item.requests |= 1u << r;
		}
		if (item.limits || item.requests)
			p->item[p->count++] = item;
	}
	return p->count != 0 || p->level.limits != 0;
}

void draft_leave_cpu(struct draft *d)
{
	d->any = d->big = d->up = d->memory_up = false;
	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_values v = d->want[i];

		d->want[i] = report_spec_of(d->f, i);
		draft_set(d, i, RESOURCE_MEMORY, v.limit[RESOURCE_MEMORY],
			  v.request[RESOURCE_MEMORY]);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/report.h"
#include "policy/bounds.h"
#include <string.h>

/* Why these: design and docs/scalability.md. The margin is that of a shrink, doubled at the low
 * end, because the kubelet is late where a write of ours is not. */
const struct report_tuning report_tuning_default = {
	.lease_usec = USEC_PER_MIN,
	.memory_lease_usec = USEC_PER_MIN,
	.ahead_usec = USEC_PER_MIN,
	.margin_permille = 100,
	.margin_min_bytes = 16 * MIB,
	.at_once_permille = 100,
	.small_usec = 10 * USEC_PER_MIN,
	.up_interval_usec = 10 * USEC_PER_SEC,
	.down_interval_usec = 5 * USEC_PER_MIN,
	.refusal_usec = USEC_PER_HOUR,
	.settle_max_usec = 5 * USEC_PER_MIN,
};

const char *report_hold_name(enum report_hold h)
{
	static const char *const names[REPORT_HOLD_COUNT] = {
		[REPORT_HOLD_NONE] = "none",
		[REPORT_HOLD_OFFERED] = "not offered",
		[REPORT_HOLD_INACTIVE] = "not active",
		[REPORT_HOLD_SENT] = "on its way",
		[REPORT_HOLD_WAIT] = "server busy",
		[REPORT_HOLD_ECHO] = "kubelet not done",
		[REPORT_HOLD_CONDITION] = "another resize is stuck",
		[REPORT_HOLD_REFUSED] = "refused",
		[REPORT_HOLD_GROWING] = "memory grows",
		[REPORT_HOLD_UNSAFE] = "memory limit below use",
		[REPORT_HOLD_MEMORY] = "memory first",
		[REPORT_HOLD_LEASE] = "not held long enough",
		[REPORT_HOLD_SMALL] = "small change",
		[REPORT_HOLD_INTERVAL] = "too soon",
	};

	return h < REPORT_HOLD_COUNT ? names[h] : "?";
}

/* What decide works on, and the answer it builds. */
struct draft {
	const struct report_tuning *t;
	const struct report_node *n;
	const struct report_state *s;
	const struct report_facts *f;
	usec_t now;
	bool back;    /* restoring, or taking back what a condition stands on: at once */
	bool growing; /* memory of the pod */
	bool big, up, down, memory_up, memory_later, any;
	usec_t later; /* when the first lease ends; 0: none runs */
	struct report_values want[REPORT_CONTAINERS_MAX];
	struct report_decision *ret;
};

uint64_t report_memory_floor(const struct report_tuning *t, const struct report_container *c)
{
	const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
	uint64_t margin =
		MAX(scale_permille(c->use_bytes, t->margin_permille), t->margin_min_bytes);
	uint64_t ahead = mul_div(c->slope_bps, t->ahead_usec, USEC_PER_SEC);
	uint64_t floor = round_up(add_sat(add_sat(c->use_bytes, ahead), margin), MEM_PAGE_BYTES);

	/* It cannot come to use more than it is ever held at. */
	if (x->ceiling != 0)
		floor = MIN(floor, MAX(x->ceiling, MAX(x->held, c->use_bytes)));
	return floor;
}

static bool limits_ours(const struct report_facts *f)
{
	return f->controlled != CONTROLLED_REQUESTS;
}

/* A Guaranteed pod's request is its limit. */
static bool requests_ours(const struct report_facts *f)
{
	return f->guaranteed ? limits_ours(f) : f->controlled != CONTROLLED_LIMITS;
}

/* Does the API ever hear of this resource from us? */
static bool ratifiable(const struct report_resource *x)
{
	return x->managed && !x->restart;
}

static uint64_t quantum_of(size_t r)
{
	return r == RESOURCE_CPU ? CPU_QUANTUM_MILLI : MEM_PAGE_BYTES;
}

/* The value to go back to: the original, or what stood before a condition. */
static struct report_values way_back(const struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	const struct report_values *good = &d->s->container[i].good;
	struct report_values v;

	v.limit[r] = d->f->restoring ? x->original_limit : good->limit[r];
	v.request[r] = d->f->restoring ? x->original_request : good->request[r];
	return v;
}

/* What the limit should become, before leases and intervals. */
static uint64_t wanted_limit(const struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	const struct report_memory *m = &d->s->container[i];
	uint64_t spec = x->spec_limit, want, floor = 0;

	if (spec == LIMIT_MAX || !ratifiable(x) || (!limits_ours(d->f) && !d->back))
		return spec;
	if (r == RESOURCE_MEMORY)
		floor = report_memory_floor(d->t, &d->f->containers[i]);
	want = d->back ? way_back(d, i, r).limit[r] : x->held;
	if (want == LIMIT_MAX)
		return spec;
	if (!d->back) {
		want = round_up(want, quantum_of(r));
		/* 833m and 840m are the same to a kubelet under systemd. */
		if (want == round_up(spec, quantum_of(r)))
			want = spec;
		if (d->now < m->ceiling_until[r])
			want = MIN(want, MAX(m->ceiling.limit[r], MIN(spec, want)));
	}
	/* Room for the kubelet's delay belongs to a change: alone it makes none. */
	if (r == RESOURCE_MEMORY && want < floor)
		want = want > spec ? floor : MAX(want, MIN(spec, floor));
	if (r == RESOURCE_MEMORY && want < spec && d->now < d->n->no_decrease_until)
		want = spec;
	if (r == RESOURCE_MEMORY && want < spec && d->growing)
		want = spec;
	return want;
}

/* Requests: never without one before, never above the limit. */
static uint64_t wanted_request(const struct draft *d, size_t i, size_t r, uint64_t limit)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	const struct report_memory *m = &d->s->container[i];
	uint64_t want = x->spec_request;

	if (want == 0 || !ratifiable(x))
		return want;
	if (d->f->guaranteed)
		return limit;
	if (d->back)
		want = way_back(d, i, r).request[r] ? way_back(d, i, r).request[r] : want;
	else if (!requests_ours(d->f))
		return want;
	else if (x->request != 0)
		want = x->request;
	if (!d->back && d->now < m->ceiling_until[r] && want > m->ceiling.request[r])
		want = MAX(m->ceiling.request[r], MIN(want, x->spec_request));
	return MIN(want, limit);
}

/* Share of the change, in permille of what is there. */
static bool is_big(const struct draft *d, uint64_t from, uint64_t to)
{
	uint64_t span = from > to ? from - to : to - from;

	return from == 0 || mul_div(span, 1000, from) >= d->t->at_once_permille;
}

static void note_change(struct draft *d, size_t r, uint64_t from, uint64_t to)
{
	d->any = true;
	d->big |= is_big(d, from, to);
	d->up |= to > from;
	d->down |= to < from;
	d->memory_up |= r == RESOURCE_MEMORY && to > from;
}

/* One resource of one container: what it becomes now, and what has to wait. */
static void draft_resource(struct draft *d, size_t i, size_t r)
{
	const struct report_resource *x = &d->f->containers[i].resource[r];
	usec_t lease = r == RESOURCE_CPU ? d->t->lease_usec : d->t->memory_lease_usec;
	uint64_t limit = wanted_limit(d, i, r), request;
	bool early = !d->back && d->now < add_sat(x->held_since, lease);

	/* The limit never goes below what is requested, unless that moves too. */
	request = wanted_request(d, i, r, limit);
	if (limit != LIMIT_MAX && request > limit)
		limit = request;
	if (limit < x->spec_request && request == x->spec_request && !d->f->guaranteed)
		limit = x->spec_request;
	if (early && limit != x->spec_limit) {
		usec_t end = add_sat(x->held_since, lease);

		d->later = d->later ? MIN(d->later, end) : end;
		d->memory_later |= r == RESOURCE_MEMORY && limit > x->spec_limit;
		limit = x->spec_limit;
		request = d->f->guaranteed || x->spec_request == 0 ? x->spec_request
								   : MIN(request, limit);
	}
	if (limit != x->spec_limit)
		note_change(d, r, x->spec_limit, limit);
	if (request != x->spec_request)
		note_change(d, r, x->spec_request, request);
	d->want[i].limit[r] = limit;
	d->want[i].request[r] = request;
}

/* No body with a memory limit that could land below use: whoever replays it replays all of it. */
static bool make_safe(struct draft *d)
{
	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_container *c = &d->f->containers[i];
		const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
		struct report_values *v = &d->want[i];
		uint64_t *want = &v->limit[RESOURCE_MEMORY];
		uint64_t floor = report_memory_floor(d->t, c);
		bool bound = d->now < d->s->container[i].ceiling_until[RESOURCE_MEMORY] &&
			     !d->f->restoring;

		if (*want == LIMIT_MAX || *want >= floor)
			continue;
		if (ratifiable(x) && limits_ours(d->f) && !bound) {
			d->up = d->memory_up = d->any = true;
			*want = floor;
			if (d->f->guaranteed)
				v->request[RESOURCE_MEMORY] = floor;
			continue;
		}
		/* It may stay as it is only where nothing more is held. */
		if (*want < c->use_bytes || x->held > *want)
			return false;
	}
	return true;
}

/* Every limit equal to its request would make another class of the pod: one quantum apart. */
static void keep_class(struct draft *d)
{
	const struct report_facts *f = d->f;
	struct report_values *free_one = NULL;
	size_t resource = 0;

	if (f->guaranteed)
		return;
	for (size_t i = 0; i < f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
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
		free_one->limit[resource] += quantum_of(resource);
	else
		free_one->request[resource] -=
			MIN(free_one->request[resource], quantum_of(resource));
}

static void build(struct draft *d)
{
	struct report_patch *p = &d->ret->patch;

	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_values *v = &d->want[i];
		struct report_item item = {.container = (uint32_t)i};

		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &d->f->containers[i].resource[r];
			bool explicit = r == RESOURCE_MEMORY && x->spec_limit != LIMIT_MAX;

			item.limit[r] = v->limit[r];
			item.request[r] = v->request[r];
			if (explicit || v->limit[r] != x->spec_limit)
				item.limits |= 1u << r;
			if (v->request[r] != x->spec_request)
				item.requests |= 1u << r;
		}
		if (item.limits || item.requests)
			p->item[p->count++] = item;
	}
}

static bool changes_anything(const struct draft *d)
{
	for (size_t i = 0; i < d->f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &d->f->containers[i].resource[r];

			if (d->want[i].limit[r] != x->spec_limit ||
			    d->want[i].request[r] != x->spec_request)
				return true;
		}
	return false;
}

static void hold(struct draft *d, enum report_hold why, usec_t again)
{
	d->ret->hold = why;
	d->ret->again = again;
}

/*
 * What was asked and is still to come could land below what is used by now. Waiting, or keeping
 * quiet while memory grows, would be the greater danger: a higher value has to overtake it.
 */
static bool overtaken(const struct draft *d)
{
	if (d->s->phase != REPORT_WAITING || d->f->restoring)
		return false;
	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_container *c = &d->f->containers[i];
		const struct report_resource *x = &c->resource[RESOURCE_MEMORY];
		uint64_t margin = MAX(scale_permille(c->use_bytes, d->t->margin_permille),
				      d->t->margin_min_bytes);

		if (ratifiable(x) && limits_ours(d->f) && x->spec_limit < x->held &&
		    x->spec_limit < add_sat(c->use_bytes, margin / 2))
			return true;
	}
	return false;
}

/* Holds that need no look at the values. True: nothing is sent. */
static bool held_back(struct draft *d, bool urgent)
{
	const struct report_state *s = d->s;
	const struct report_facts *f = d->f;
	bool stuck = f->pending_infeasible || f->progress_error;
	const struct {
		bool holds;
		enum report_hold hold;
		usec_t again;
	} rows[] = {
		{!f->offered, REPORT_HOLD_OFFERED, 0},
		{d->now < d->n->forbidden_until, REPORT_HOLD_OFFERED, d->n->forbidden_until},
		{!f->active && !f->restoring, REPORT_HOLD_INACTIVE, 0},
		{s->phase == REPORT_SENT, REPORT_HOLD_SENT, 0},
		{d->now < s->wait_until, REPORT_HOLD_WAIT, s->wait_until},
		{s->phase == REPORT_WAITING && !urgent && !d->back, REPORT_HOLD_ECHO,
		 f->pending_deferred ? 0 : add_sat(s->since, d->t->settle_max_usec)},
		{stuck && !s->ours && !d->back, REPORT_HOLD_CONDITION, 0},
		{d->now < s->refused_until && !d->back, REPORT_HOLD_REFUSED, s->refused_until},
		{d->growing && !urgent && !d->back, REPORT_HOLD_GROWING, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (rows[i].holds) {
			hold(d, rows[i].hold, rows[i].again);
			return true;
		}
	return false;
}

/* Memory before CPU: a CPU resize replays a memory limit that is about to be raised. */
static void leave_cpu(struct draft *d)
{
	d->any = d->big = d->up = d->down = d->memory_up = false;
	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_resource *cpu = &d->f->containers[i].resource[RESOURCE_CPU];

		d->want[i].limit[RESOURCE_CPU] = cpu->spec_limit;
		d->want[i].request[RESOURCE_CPU] = cpu->spec_request;
	}
	for (size_t i = 0; i < d->f->container_count; i++) {
		const struct report_resource *x = &d->f->containers[i].resource[RESOURCE_MEMORY];
		const struct report_values *v = &d->want[i];

		if (v->limit[RESOURCE_MEMORY] != x->spec_limit)
			note_change(d, RESOURCE_MEMORY, x->spec_limit, v->limit[RESOURCE_MEMORY]);
		if (v->request[RESOURCE_MEMORY] != x->spec_request)
			note_change(d, RESOURCE_MEMORY, x->spec_request,
				    v->request[RESOURCE_MEMORY]);
	}
}

/* The trap: the spec says it, the kubelet thinks it is done, and the cgroup is another. */
static void find_traps(struct draft *d)
{
	if (d->s->phase != REPORT_IDLE || d->growing || !d->f->echoed)
		return;
	for (size_t i = 0; i < d->f->container_count && i < 64; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &d->f->containers[i].resource[r];
			uint64_t should = d->f->restoring ? x->original_limit : x->held;

			if (ratifiable(x) && x->actual != 0 && x->spec_limit == should &&
			    d->want[i].limit[r] == should &&
			    round_up(x->actual, quantum_of(r)) != round_up(should, quantum_of(r)))
				d->ret->write[r] |= 1ULL << i;
		}
}

/* The intervals between two resizes of a pod. True: too soon. */
static bool too_soon(struct draft *d, bool urgent)
{
	const struct report_tuning *t = d->t;
	usec_t last = d->s->sent_at, again;

	/* The originals go back at once; what could not go then follows in its time. */
	if (last == 0 || (d->f->restoring && !d->s->restored))
		return false;
	again = add_sat(last, d->up || urgent || d->s->put_back ? t->up_interval_usec
								: t->down_interval_usec);
	if (d->now < again) {
		hold(d, REPORT_HOLD_INTERVAL, again);
		return true;
	}
	again = add_sat(last, t->small_usec);
	if (!d->big && !urgent && !d->s->put_back && d->now < again) {
		hold(d, REPORT_HOLD_SMALL, again);
		return true;
	}
	return false;
}

static bool any_growing(const struct report_facts *f)
{
	for (size_t i = 0; i < f->container_count; i++)
		if (f->containers[i].growing)
			return true;
	return false;
}

/* What the values are to be. True: there is something to send, now. */
static bool drafted(struct draft *d, bool urgent)
{
	for (size_t i = 0; i < d->f->container_count; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			draft_resource(d, i, r);
	if (d->memory_later || (urgent && d->growing))
		leave_cpu(d);
	find_traps(d);
	if (!d->any && !urgent) {
		hold(d,
		     d->memory_later ? REPORT_HOLD_MEMORY
		     : d->later      ? REPORT_HOLD_LEASE
				     : REPORT_HOLD_NONE,
		     d->later);
		return false;
	}
	if (!make_safe(d)) {
		hold(d, REPORT_HOLD_UNSAFE, add_sat(d->now, d->t->up_interval_usec));
		return false;
	}
	keep_class(d);
	if (!changes_anything(d)) {
		hold(d, urgent ? REPORT_HOLD_ECHO : REPORT_HOLD_NONE, d->later);
		return false;
	}
	return !too_soon(d, urgent);
}

void report_decide(const struct report_tuning *t, const struct report_node *n,
		   const struct report_state *s, const struct report_facts *f, usec_t now,
		   struct report_decision *ret)
{
	struct draft d = {.t = t, .n = n, .s = s, .f = f, .now = now, .ret = ret};
	bool urgent;

	*ret = (struct report_decision){.urgency = REPORT_ORDINARY};
	if (!s->seen || f->container_count > s->count) {
		hold(&d, REPORT_HOLD_INACTIVE, 0);
		return;
	}
	d.back = f->restoring || s->put_back;
	d.growing = any_growing(f);
	urgent = overtaken(&d);
	if (held_back(&d, urgent) || !drafted(&d, urgent))
		return;
	build(&d);
	ret->send = true;
	ret->urgency = d.back || urgent ? REPORT_AT_ONCE
		       : d.memory_up    ? REPORT_MEMORY_RAISE
					: REPORT_ORDINARY;
}

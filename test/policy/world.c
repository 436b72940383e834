// SPDX-License-Identifier: Apache-2.0
#include "test/policy/world.h"
#include "policy/laws/pod_bounds.h"
#include "policy/report/report_impl.h"

uint64_t rnd(struct world *w, uint64_t below)
{
	w->random ^= w->random << 13;
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return w->random % below;
}

bool one_in(struct world *w, uint64_t n)
{
	return rnd(w, n) == 0;
}

/* --- the log of a single run */

void world_tell(const struct world *w, const char *what)
{
	if (!w->shows)
		return;
	printf("%9.1f %-20s", (double)w->g.now / S, what);
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		const struct report_values *v = &w->api.spec.v[i];

		printf(" [%zu] use %3llu held %llu/%llu spec %llu/%llu request %llu/%llu", i,
		       (unsigned long long)(w->process[i].use / MIB),
		       (unsigned long long)w->g.c[i].resource[CPU].held,
		       (unsigned long long)(w->g.c[i].resource[MEM].held / MIB),
		       (unsigned long long)v->limit[CPU], (unsigned long long)(v->limit[MEM] / MIB),
		       (unsigned long long)v->request[CPU],
		       (unsigned long long)(v->request[MEM] / MIB));
	}
	printf(" generation %llu%s%s cuts %u phase %d\n", (unsigned long long)w->api.generation,
	       w->api.deferred ? " deferred" : "", w->api.infeasible ? " infeasible" : "",
	       w->g.s->lead_cuts, (int)w->g.s->lead);
}

/* --- the object, and what vscaled sees of it */

static bool same(const struct spec *a, const struct spec *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static void take(struct world *w, const struct object *o)
{
	struct report_facts *f = &w->g.f;

	f->generation = o->generation;
	f->observed_generation = o->observed;
	f->pending_deferred = o->deferred;
	f->pending_infeasible = o->infeasible;
	f->in_progress = o->progress;
	f->echoed = same(&o->spec, &o->status);
	f->ours = o->ours;
	w->seen_version = o->version;
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(&w->g, i, r);

			x->spec_limit = o->spec.v[i].limit[r];
			x->spec_request = o->spec.v[i].request[r];
			x->reported = o->status.v[i].limit[r];
			x->reported_request = o->status.v[i].request[r];
			x->original_limit = w->original.v[i].limit[r];
			x->original_request = w->original.v[i].request[r];
		}
}

void world_sample(struct world *w)
{
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		struct process *p = &w->process[i];
		struct report_container *c = &w->g.c[i];

		c->use_bytes = p->use;
		c->grew_at = p->grew_at;
		c->slope_bps = w->g.now - p->grew_at < S && p->grew_at != 0 ? p->slope : 0;
		c->growing = p->grew_at != 0 && w->g.now - p->grew_at < 10 * S;
	}
}

void world_follow(struct world *w, uint32_t changes)
{
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(&w->g, i, r);
			usec_t until;
			uint64_t most =
				report_allows(w->g.s, i, (enum resource)r, w->g.now, &until);

			if ((changes & REPORT_CHANGE_FOREIGN) &&
			    (report_foreign(w->g.s, i) & (1u << r))) {
				w->original.v[i].limit[r] = x->spec_limit;
				if (w->g.f.guaranteed)
					w->original.v[i].request[r] = x->spec_request;
				rig_set_held(
					&w->g, i, r,
					r == MEM ? MAX(x->spec_limit, w->process[i].use + 16 * MIB)
						 : x->spec_limit);
			}
			if ((changes & REPORT_CHANGE_REFUSED) && r == CPU && x->held > most)
				rig_set_held(&w->g, i, r, most);
		}
	if (w->g.f.restoring)
		return;
	for (size_t i = 0; (changes & REPORT_CHANGE_VERIFY) && i < RIG_CONTAINERS; i++)
		rig_res(&w->g, i, MEM)->actual =
			MAX(rig_res(&w->g, i, MEM)->held, w->process[i].use);
}

static void show(struct world *w)
{
	struct object o;

	CHECK(w->lags < LAGS);
	w->api.version++;
	o = w->api;
	o.at = w->g.now + 20 * MS + rnd(w, one_in(w, 10) ? 3 * S : 200 * MS);
	if (w->lags > 0)
		o.at = MAX(o.at, w->lag[w->lags - 1].at);
	w->lag[w->lags++] = o;
}

static void watch(struct world *w)
{
	while (w->lags > 0 && w->lag[0].at <= w->g.now) {
		take(w, &w->lag[0]);
		memmove(w->lag, w->lag + 1, --w->lags * sizeof w->lag[0]);
		world_follow(w, rig_observe(&w->g));
	}
}

/* --- the server */

static void set_spec(struct world *w, const struct spec *s, bool ours)
{
	if (same(s, &w->api.spec))
		return;
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		if (s->v[i].limit[MEM] != w->api.spec.v[i].limit[MEM])
			w->last_ours[i] = ours;
	w->api.spec = *s;
	w->api.generation++;
	w->api.ours = ours;
	show(w);
	if (w->reads_at == 0 || w->reads_at > w->g.now + 2500 * MS)
		w->reads_at = w->g.now + 50 * MS + rnd(w, 1500 * MS);
}

static struct spec patched(const struct world *w, const struct report_patch *p)
{
	struct spec s = w->api.spec;

	for (size_t k = 0; k < p->count; k++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_item *item = &p->item[k];

			if (item->limits & (1u << r))
				s.v[item->container].limit[r] = item->limit[r];
			if (item->requests & (1u << r))
				s.v[item->container].request[r] = item->request[r];
		}
	return s;
}

static bool is_valid(const struct world *w, const struct spec *s)
{
	bool equal = true;
	uint64_t sum = 0;

	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			if (s->v[i].request[r] > s->v[i].limit[r])
				return false;
			equal &= s->v[i].request[r] == s->v[i].limit[r];
			sum += r == MEM ? s->v[i].limit[r] : 0;
		}
	return equal == w->g.f.guaranteed && (w->quota == 0 || sum <= w->quota);
}

static void store(struct world *w, struct call *c, bool late)
{
	struct spec s = patched(w, &c->patch);

	c->done = true;
	if (c->exact && c->version != w->api.version)
		c->fate = CONFLICT;
	else if (!is_valid(w, &s))
		c->fate = REFUSED;
	else if (late || c->fate == KEPT || c->fate == LOST_STORED)
		set_spec(w, &s, true);
	if (late || c->fate != LOST_LATE)
		return;
	w->late = *c;
	w->late.under_way = true;
	w->late.store_at = w->g.now + rnd(w, 30 * S);
}

static void server(struct world *w)
{
	static const enum report_answer_kind kinds[] = {
		REPORT_ANSWER_OK,     REPORT_ANSWER_FAILED,  REPORT_ANSWER_FAILED,
		REPORT_ANSWER_FAILED, REPORT_ANSWER_REFUSED, REPORT_ANSWER_CONFLICT,
	};
	struct report_rig seen = w->g;
	enum report_answer_kind kind;
	uint64_t version = w->seen_version;

	if (w->late.under_way && w->g.now >= w->late.store_at) {
		store(w, &w->late, true);
		w->late.under_way = false;
		world_tell(w, "stored late");
	}
	if (w->call.under_way && !w->call.done && w->g.now >= w->call.store_at) {
		store(w, &w->call, false);
		world_tell(w, w->call.fate == REFUSED ? "refused" : "taken");
	}
	if (!w->call.under_way || w->g.now < w->call.answer_at)
		return;
	w->call.under_way = false;
	kind = kinds[w->call.fate];
	w->t->refused += kind == REPORT_ANSWER_REFUSED;
	if (kind == REPORT_ANSWER_OK)
		take(w, &w->api);
	world_follow(w, rig_answer(&w->g, kind, RESOURCES_MEMORY));
	if (kind != REPORT_ANSWER_OK)
		return;
	/* The watch is behind the answer. */
	w->g.f = seen.f;
	w->seen_version = version;
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(&w->g, i, r);
			const struct report_resource *was = &seen.c[i].resource[r];

			x->spec_limit = was->spec_limit;
			x->spec_request = was->spec_request;
			x->reported = was->reported;
			x->reported_request = was->reported_request;
		}
}

/* --- the kubelet */

static void kill_one(struct world *w, size_t i)
{
	bool ours = w->last_ours[i], apart = ours && w->process[i].above;

	w->t->theirs += !ours;
	w->t->apart += apart;
	w->t->kills += ours && !apart;
	world_tell(w, !ours ? "kill by the owner" : apart ? "kill from above" : "KILL");
	w->process[i] = (struct process){.use = 20 * MIB};
}

static bool same_values(const struct report_values *a, const struct report_values *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

/* What a container uses above the limit that is written. */
static uint64_t over(const struct world *w, size_t i)
{
	uint64_t limit = w->reads.spec.v[i].limit[MEM];

	return w->process[i].use - MIN(limit, w->process[i].use);
}

/* All values of a container whose values change, and the sum as the pod's limit. */
static void kubelet_writes(struct world *w)
{
	uint64_t limits = 0, use = 0;
	size_t most = 0;

	w->writes_at = 0;
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		const struct report_values *v = &w->reads.spec.v[i];

		limits += v->limit[MEM];
		if (same_values(v, &w->api.status.v[i]))
			continue;
		if (v->limit[MEM] < w->process[i].use)
			kill_one(w, i);
		if (!w->g.f.restoring)
			rig_res(&w->g, i, MEM)->actual = v->limit[MEM];
	}
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		use += w->process[i].use;
		most = over(w, i) > over(w, most) ? i : most;
	}
	if (limits < use)
		kill_one(w, most);
	w->api.status = w->reads.spec;
	w->api.progress = false;
	show(w);
	world_tell(w, "carried out");
}

static void kubelet(struct world *w)
{
	if (w->writes_at != 0 && w->g.now >= w->writes_at)
		kubelet_writes(w);
	if (w->writes_at != 0 || w->reads_at == 0 || w->g.now < w->reads_at)
		return;
	w->reads_at = 0;
	w->api.observed = w->api.generation;
	w->api.deferred = w->api.infeasible = false;
	/* What it holds already is no resize. */
	if (w->busy && (w->faults & ROOM) && !same(&w->api.spec, &w->api.status) && one_in(w, 8)) {
		w->t->no_room++;
		w->api.deferred = one_in(w, 2);
		w->api.infeasible = !w->api.deferred; /* not tried again */
		if (w->api.deferred)
			w->reads_at = w->g.now + 5 * S + rnd(w, 20 * S);
	} else {
		w->reads = w->api;
		w->api.progress = true;
		w->writes_at = w->g.now + 30 * MS + rnd(w, 1000 * MS);
	}
	show(w);
	world_tell(w, w->api.progress ? "kubelet reads" : "no room");
}

/* --- the owner, and the node */

static void owner(struct world *w)
{
	struct spec s = w->api.spec;
	size_t i = rnd(w, RIG_CONTAINERS), r = rnd(w, RESOURCE_COUNT);
	uint64_t use = w->process[i].use;

	if (!w->busy || w->g.now < w->owner_at)
		return;
	w->owner_at = w->g.now + rnd(w, 300 * S);
	if (r == CPU)
		s.v[i].limit[r] = MAX(s.v[i].request[r], (1 + rnd(w, 300)) * 10);
	else /* never below use */
		s.v[i].limit[r] =
			MAX(s.v[i].request[r],
			    round_up(use + use / 8 + (16 + rnd(w, 400)) * MIB, PAGE_DEFAULT_BYTES));
	if (w->g.f.guaranteed)
		s.v[i].request[r] = s.v[i].limit[r];
	if (!is_valid(w, &s))
		return;
	w->t->resizes++;
	set_spec(w, &s, false);
	world_tell(w, "owner");
}

/* What bounds growth until more is accepted, as pod_set_bounds() has it. */
static struct pod_bounds bounds_of(const struct world *w, size_t i)
{
	const struct report_resource *x = &w->g.c[i].resource[MEM];
	bool stands = w->g.f.pending_deferred || w->g.f.pending_infeasible;
	bool ratifies = !w->blocked && report_ratifies(w->g.s, w->g.now);

	return (struct pod_bounds){
		.unratified_permille = ratifies ? 0 : 2000,
		.growth_held = report_lead_tried(w->g.s, w->g.now),
		.replay_mem_bytes = x->spec_limit < x->reported ? x->spec_limit : 0,
		.resource[MEM].accepted = stands ? MIN(x->spec_limit, x->reported) : x->spec_limit,
	};
}

static void reflex(struct world *w, size_t i)
{
	struct report_resource *x = rig_res(&w->g, i, MEM);
	struct process *p = &w->process[i];
	uint64_t to = MAX(p->use + 3 * p->slope + p->use / 8, x->held * 115 / 100);
	struct pod_bounds b = bounds_of(w, i);
	usec_t until;

	if (p->use + p->use / 10 + 2 * p->slope <= x->held)
		return;
	to = round_up(to, PAGE_DEFAULT_BYTES);
	to = MIN(to, report_allows(w->g.s, i, RESOURCE_MEMORY, w->g.now, &until));
	to = MIN(to, pod_unratified_max(&b, x->original_limit));
	if (to > x->held)
		rig_set_held(&w->g, i, MEM, to);
}

/* Is no higher limit of the container accepted, so that growth ends at what it holds? */
static bool is_refused(const struct world *w, size_t i)
{
	usec_t until;

	return report_allows(w->g.s, i, RESOURCE_MEMORY, w->g.now, &until) != LIMIT_MAX;
}

static void process(struct world *w, size_t i, usec_t dt)
{
	struct process *p = &w->process[i];
	struct report_resource *x = rig_res(&w->g, i, MEM);
	struct pod_bounds b = bounds_of(w, i);
	uint64_t before = p->use, most;

	if (p->slope > 0 && w->g.now < p->grows_until) {
		p->use = MIN(p->use + mul_div(p->slope, dt, S), (uint64_t)4 * GIB);
		p->grew_at = w->g.now;
	} else if (p->slope > 0) {
		p->slope = 0;
	} else if (w->busy && one_in(w, 3000)) {
		p->slope = (1 + rnd(w, 20)) * MIB;
		p->grows_until = w->g.now + S + rnd(w, 20 * S);
	} else if (one_in(w, 2000) && p->use > 60 * MIB) {
		p->use -= rnd(w, p->use / 2);
	}
	if (w->g.f.restoring)
		return;
	reflex(w, i);
	/* The brake ends growth, or the container's own limit. */
	most = pod_replay_max(&b);
	most = MIN(MAX(x->held, x->actual), before <= most ? most : LIMIT_MAX);
	w->t->braked += p->use > MAX(before, most) && b.growth_held;
	p->use = MIN(p->use, MAX(before, most));
	x->actual = MAX(x->actual, x->held);
	if (before <= x->spec_limit && p->use > x->spec_limit)
		p->above = !b.growth_held && (b.unratified_permille != 0 || is_refused(w, i));
}

/* What reviews move: CPU and requests; memory that shrinks by trial. */
static void review(struct world *w, size_t i)
{
	struct report_resource *m = rig_res(&w->g, i, MEM), *p = rig_res(&w->g, i, CPU);
	uint64_t use = w->process[i].use;

	if (!w->busy)
		return;
	if (one_in(w, 4000)) {
		rig_set_held(&w->g, i, CPU, (2 + rnd(w, 200)) * 10);
		if (!w->g.f.guaranteed && w->g.f.controlled != CONTROLLED_LIMITS) {
			p->request = 10 + rnd(w, p->held);
			m->request = MIN(m->held, use + rnd(w, 64 * MIB));
		}
	}
	if (one_in(w, 6000) && w->process[i].slope == 0)
		rig_set_held(&w->g, i, MEM,
			     round_up(MAX(use * 5 / 4 + 16 * MIB, m->held * 9 / 10),
				      PAGE_DEFAULT_BYTES));
}

void world_step(struct world *w, usec_t dt)
{
	w->g.now += dt;
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		process(w, i, dt);
		review(w, i);
	}
	owner(w);
	kubelet(w);
	server(w);
	watch(w);
	world_sample(w);
}

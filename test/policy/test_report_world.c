// SPDX-License-Identifier: Apache-2.0
/*
 * Half an hour in a world full of faults (world.h), then two hours of rest, then the originals go
 * back. Shown: no spec of vscaled takes memory in use; what it sends is valid; at rest the spec has
 * what the cgroups hold, and nothing more is sent; a restore ends in the originals.
 *
 * A resize of the owner may take memory where use is above a spec whose raise was refused for good
 * (MemoryAboveSpec says so): such kills are counted apart.
 *
 * Argument: runs per set of faults (test_report_world_long: 3,000). VSCALED_SEED: that run alone,
 * of the faults VSCALED_FAULTS (the sum of enum fault), with all that happens.
 */
#include "test/policy/world.h"

#define BUSY (1800 * S)
#define REST (2 * USEC_PER_HOUR)

static void check_sent(struct world *w, const struct report_decision *d)
{
	bool equal = true;

	for (uint32_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = rig_res(&w->g, i, r);
			uint64_t limit = rig_limit(&w->g, i, r), request = rig_request(&w->g, i, r);

			CHECK(r != MEM || limit == 0 || limit == x->spec_limit ||
			      limit >= w->process[i].use);
			limit = limit ? limit : x->spec_limit;
			request = request ? request : x->spec_request;
			CHECK(request <= limit);
			equal &= request == limit;
		}
	CHECK_EQ(equal, w->g.f.guaranteed);
	CHECK(d->patch.count > 0);
}

static void give_up(struct world *w)
{
	/* It may be stored all the same. */
	if (!w->call.done && (w->faults & ANSWERS) && one_in(w, 2)) {
		w->late = w->call;
		w->late.store_at = w->g.now + rnd(w, 2 * S);
	}
	w->call.under_way = false;
	report_abandoned(w->g.s, w->g.now);
}

static void vscaled(struct world *w)
{
	struct report_rig *g = &w->g;
	bool send;

	world_follow(w, rig_observe(g));
	send = rig_decide(g);
	w->blocked = g->d.blocked;
	if (w->call.under_way && g->d.overtakes) {
		give_up(w);
		send = rig_decide(g);
	}
	if (w->call.under_way || !send)
		return;
	check_sent(w, &g->d);
	rig_sent(g);
	w->t->sent++;
	w->call = (struct call){
		.patch = g->d.patch,
		.under_way = true,
		.exact = g->d.exact,
		.version = w->seen_version,
		.store_at = g->now + 5 * MS + rnd(w, 100 * MS),
	};
	w->call.answer_at =
		w->call.store_at + 5 * MS + rnd(w, w->busy && one_in(w, 10) ? 3 * S : 100 * MS);
	if (w->busy && (w->faults & ANSWERS) && one_in(w, 6))
		w->call.fate = LOST + rnd(w, 3);
	world_tell(w, "sent");
}

static void run_for(struct world *w, usec_t time, usec_t dt)
{
	for (usec_t end = w->g.now + time; w->g.now < end;) {
		world_step(w, dt);
		vscaled(w);
	}
}

static void world_init(struct world *w, uint64_t seed)
{
	struct report_facts *f = &w->g.f;

	rig_init(&w->g);
	w->g.t = report_tuning_default;
	w->g.t.decrease_every_usec = 0; /* or decreases would still wait in the end */
	w->random = seed * 0x9e3779b97f4a7c15ULL | 1;
	for (int i = 0; i < 8; i++)
		rnd(w, 2);
	w->busy = true;
	f->controlled = one_in(w, 2) ? CONTROLLED_LIMITS : CONTROLLED_REQUESTS_AND_LIMITS;
	f->guaranteed = one_in(w, 4);
	w->quota = (w->faults & QUOTA) ? (1024 + rnd(w, 2048)) * MIB : 0;
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		w->process[i].use = 100 * MIB;
		w->g.c[i].limits_only = f->controlled == CONTROLLED_LIMITS;
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(&w->g, i, r);

			x->request_since = 1;
			if (f->guaranteed)
				x->spec_request = x->original_request = x->spec_limit;
			w->api.spec.v[i].limit[r] = x->spec_limit;
			w->api.spec.v[i].request[r] = x->spec_request;
		}
	}
	w->api.status = w->original = w->api.spec;
	w->api.generation = w->api.observed = w->api.version = w->seen_version = 1;
	free(w->g.s);
	w->g.s = report_state_new(RIG_CONTAINERS);
	rig_observe(&w->g);
}

/* A resize of the owner that the kubelet cannot carry out is the owner's to correct: vscaled sends
 * leads alone. */
static bool is_owners(const struct world *w)
{
	return w->g.d.block == REPORT_BLOCK_CONDITION && w->api.infeasible;
}

static bool is_reported(const struct world *w)
{
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		const struct report_resource *cpu = &w->g.c[i].resource[CPU];
		const struct report_values *v = &w->api.spec.v[i];
		uint64_t least = MAX(cpu->held, v->request[CPU]);
		uint64_t apart = MAX(v->limit[CPU], least) - MIN(v->limit[CPU], least);

		if (v->limit[MEM] < w->process[i].use)
			return false;
		/* Its CPU is sized in the cgroup alone. */
		if (w->g.f.guaranteed && w->g.f.controlled == CONTROLLED_LIMITS)
			continue;
		if (apart > CPU_QUANTUM_MILLI)
			return false;
	}
	return true;
}

static bool is_restored(const struct world *w)
{
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_values *v = &w->api.spec.v[i], *o = &w->original.v[i];

			if (v->limit[r] != o->limit[r] ||
			    v->request[r] != MIN(o->request[r], o->limit[r]))
				return false;
		}
	return true;
}

static void restore(struct world *w)
{
	w->g.f.restoring = true;
	w->g.f.active = false;
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		uint64_t use = MIN(w->process[i].use, w->original.v[i].limit[MEM] / 2);

		w->process[i] = (struct process){.use = use};
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(&w->g, i, r);

			x->held = x->actual = w->original.v[i].limit[r];
		}
	}
	run_for(w, USEC_PER_HOUR, S);
	if (!is_restored(w))
		world_tell(w, "NOT RESTORED");
}

/* True: all is as it should be. */
static bool run(struct tally *t, uint32_t faults, uint64_t seed, bool shows)
{
	struct world w = {.faults = faults, .shows = shows, .t = t};
	uint64_t sent, kills = t->kills;
	int failures = check_failures;

	world_init(&w, seed);
	run_for(&w, BUSY, 100 * MS);
	w.busy = false;
	w.quota = 0;
	run_for(&w, REST, S);
	sent = t->sent;
	run_for(&w, USEC_PER_HOUR, S);
	CHECK(t->sent - sent <= 2);
	if (!is_owners(&w) && !is_reported(&w))
		world_tell(&w, "NOT REPORTED");
	CHECK(is_owners(&w) || is_reported(&w));
	restore(&w);
	CHECK(is_restored(&w));
	CHECK_EQ(t->kills, kills);
	rig_free(&w.g);
	if (check_failures != failures)
		printf("VSCALED_FAULTS=%u VSCALED_SEED=%llu\n", faults, (unsigned long long)seed);
	return check_failures == failures;
}

static void runs(const char *name, uint32_t faults, uint64_t count)
{
	struct tally t = {0};
	uint64_t good = 0;

	for (uint64_t seed = 1; seed <= count; seed++)
		good += run(&t, faults, seed, false);
	printf("%-24s %llu of %llu runs; sent %llu, owner's resizes %llu, refused %llu, no room "
	       "%llu; kills by a spec of vscaled %llu, by the owner's resize from above the spec "
	       "%llu, by the owner's limit %llu; growth held for %llu s\n",
	       name, (unsigned long long)good, (unsigned long long)count,
	       (unsigned long long)t.sent, (unsigned long long)t.resizes,
	       (unsigned long long)t.refused, (unsigned long long)t.no_room,
	       (unsigned long long)t.kills, (unsigned long long)t.apart,
	       (unsigned long long)t.theirs, (unsigned long long)t.braked / 10);
	/* The runs reach what they are to show. */
	CHECK(t.sent > count && t.resizes > count);
	CHECK((t.refused > 0) == ((faults & QUOTA) != 0));
	CHECK((t.no_room > 0) == ((faults & ROOM) != 0));
}

int main(int argc, char **argv)
{
	const char *seed = getenv("VSCALED_SEED"), *faults = getenv("VSCALED_FAULTS");
	const char *few = getenv("VSCALED_RUNS");
	uint64_t count = strtoull(argc > 1 ? argv[1] : few ? few : "40", NULL, 10);
	struct tally t = {0};

	if (seed != NULL) {
		run(&t, faults ? (uint32_t)strtoul(faults, NULL, 10) : 0, strtoull(seed, NULL, 10),
		    true);
		return check_result();
	}
	runs("no faults", 0, count);
	runs("a quota", QUOTA, count);
	runs("no room", ROOM, count);
	runs("lost and late answers", ANSWERS, count);
	runs("all", QUOTA | ROOM | ANSWERS, count);
	return check_result();
}

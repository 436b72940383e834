// SPDX-License-Identifier: Apache-2.0
/*
 * Random histories of use, limits, answers, conditions and users: no request ever carries a memory
 * limit below use, none leaves the bounds, and none goes out while another one is on its way.
 * VSCALED_SEED and VSCALED_STEPS repeat and lengthen it.
 */
#include "test/policy/report_rig.h"

static uint64_t random_state;

static uint64_t rnd(uint64_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state % below;
}

static bool one_in(uint64_t n)
{
	return rnd(n) == 0;
}

struct tally {
	uint64_t restarted, undone;
	usec_t restarted_at[RIG_CONTAINERS]; /* of this pod */
	usec_t answered_at[RIG_CONTAINERS];  /* the same, as of the last answer */
	uint64_t sent, refused, ratified, raised, lowered, unsafe, overtook;
};

/* A restart that its owner allows: memory alone, upwards, no further than what is worth it. */
static bool restarts(const struct report_rig *g, const struct report_item *item, size_t r)
{
	const struct report_resource *x = &g->c[item->container].resource[r];

	return r == MEM && x->managed && x->restart && item->limit[r] > x->spec_limit &&
	       item->limit[r] <= round_up(x->restart_to, PAGE_DEFAULT_BYTES) && !g->f.restoring;
}

/* The kubelet refused a restart as infeasible: what it has carried out goes back. */
static bool undoes_restart(const struct report_rig *g, const struct report_item *item, size_t r)
{
	return r == MEM && g->c[item->container].resource[r].restart &&
	       (g->s->back != BACK_NONE || g->s->lead == LEAD_CUT_DUE) && g->f.pending_infeasible &&
	       item->limit[r] == g->s->container[item->container].good.limit[r];
}

/* The kubelet has nothing to do for the request: it is what it has carried out. */
static bool changes_nothing(const struct report_rig *g)
{
	for (uint32_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &g->c[i].resource[r];
			const struct report_values *good = &g->s->container[i].good;
			uint64_t limit = rig_limit(g, i, r), request = rig_request(g, i, r);

			if ((limit ? limit : x->spec_limit) != good->limit[r] ||
			    (request ? request : x->spec_request) != good->request[r])
				return false;
		}
	return true;
}

/* What must hold for everything that is sent. */
static void check_answer(const struct report_rig *g, struct tally *t)
{
	CHECK(!g->s->under_way);
	CHECK(g->d.patch.count > 0);
	for (size_t k = 0; k < g->d.patch.count; k++) {
		const struct report_item *item = &g->d.patch.item[k];
		const struct report_container *c = &g->c[item->container];
		uint64_t limit = item->limit[MEM];

		/* What takes a resize back changes no memory: there is nothing to replay. */
		bool as_is =
			(g->s->back == BACK_WITHDRAW && limit == c->resource[MEM].spec_limit) ||
			(undoes_restart(g, item, MEM) && changes_nothing(g));

		CHECK(limit >= c->use_bytes || as_is);
		/* Below use and margin only what is not held higher. */
		CHECK(limit == LIMIT_MAX || limit >= report_memory_floor(&g->t, S, c) ||
		      c->resource[MEM].held <= limit || as_is);
		if (g->f.guaranteed && !g->f.restoring && g->s->back == BACK_NONE &&
		    g->s->lead != LEAD_CUT_DUE &&
		    (g->f.controlled == CONTROLLED_LIMITS || c->limits_only)) {
			CHECK_EQ(item->limit[CPU], c->resource[CPU].original_request);
			CHECK(limit >= c->resource[MEM].original_request);
		}
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			const struct report_resource *x = &c->resource[r];

			t->undone += limit < x->spec_limit && undoes_restart(g, item, r);
			CHECK(item->request[r] <= item->limit[r]);
			CHECK((item->limit[r] == LIMIT_MAX) == (x->spec_limit == LIMIT_MAX));
			CHECK((item->request[r] == 0) == (x->spec_request == 0));
			CHECK(item->limit[r] == x->spec_limit || (x->managed && !x->restart) ||
			      restarts(g, item, r) || undoes_restart(g, item, r));
			if (g->f.guaranteed)
				CHECK_EQ(item->request[r], item->limit[r]);
			t->raised += item->limit[r] > x->spec_limit;
			t->lowered += item->limit[r] < x->spec_limit;
		}
	}
	for (uint32_t i = 0; i < RIG_CONTAINERS; i++) {
		const struct report_item *item = rig_item(g, i);

		if (item == NULL || !restarts(g, item, MEM))
			continue;
		CHECK(t->restarted_at[i] == 0 || g->now - t->restarted_at[i] >= 3600 * S);
		t->restarted_at[i] = g->now;
		t->restarted++;
	}
	/* A value that does not change is not named: named in other words it changes hands. */
	for (uint32_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			CHECK(rig_limit(g, i, r) != g->c[i].resource[r].spec_limit);
			CHECK(rig_request(g, i, r) == 0 ||
			      rig_request(g, i, r) != g->c[i].resource[r].spec_request);
		}
	t->overtook += g->d.urgency == REPORT_LEADS;
}

static void random_pod(struct report_rig *g)
{
	static const enum controlled_values ways[] = {CONTROLLED_LIMITS, CONTROLLED_LIMITS,
						      CONTROLLED_REQUESTS_AND_LIMITS,
						      CONTROLLED_REQUESTS};

	rig_init(g);
	g->f.controlled = ways[rnd(ARRAY_SIZE(ways))];
	g->f.guaranteed = one_in(4);
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		g->c[i].limits_only = one_in(3);
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(g, i, r);

			x->managed = !one_in(6);
			x->restart = one_in(6);
			if (g->f.guaranteed)
				x->spec_request = x->original_request = x->spec_limit;
			else if (one_in(8))
				x->spec_limit = x->original_limit = x->held = LIMIT_MAX;
		}
	/* Seen for the first time as it is now. */
	free(g->s);
	g->s = report_state_new(RIG_CONTAINERS);
	rig_observe(g);
}

/* The node: use moves, the reflex follows it, what the API refused is kept to where use allows. */
static void live(struct report_rig *g)
{
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		struct report_container *c = &g->c[i];
		struct report_resource *m = rig_res(g, i, MEM), *p = rig_res(g, i, CPU);

		c->growing = one_in(5);
		c->slope_bps = c->growing ? rnd(20 * MIB) : 0;
		if (c->growing || one_in(3))
			c->use_bytes += rnd(64 * MIB);
		else if (one_in(2))
			c->use_bytes -= rnd(c->use_bytes / 2 + 1);
		if (!m->managed || g->f.controlled == CONTROLLED_REQUESTS)
			c->use_bytes = MIN(c->use_bytes, MIN(m->spec_limit, m->held));
		if (m->held != LIMIT_MAX && c->use_bytes > m->held)
			rig_set_held(g, i, MEM, c->use_bytes + rnd(64 * MIB));
		else if (m->held != LIMIT_MAX && m->managed && one_in(20))
			rig_set_held(g, i, MEM, c->use_bytes + 10 * MIB + rnd(32 * MIB));
		if (p->held != LIMIT_MAX && p->managed && one_in(15))
			rig_set_held(g, i, CPU, 20 + rnd(4000));
		p->request = one_in(2) ? 10 + rnd(2000) : 0;
		m->restart_to = m->restart && m->held != LIMIT_MAX && one_in(3)
					? m->held + rnd(64 * MIB)
					: 0;
		m->request = one_in(2) ? MIB + rnd(512 * MIB) : 0;
	}
}

static void kubelet(struct report_rig *g, struct tally *t)
{
	switch (rnd(8)) {
	case 0:
		g->f.pending_deferred = !g->f.pending_deferred;
		break;
	case 1:
		g->f.observed_generation = g->f.generation;
		g->f.in_progress = true;
		break;
	case 2:
		g->f.progress_error = g->f.in_progress && one_in(2);
		g->f.pending_infeasible = one_in(6);
		g->f.condition_resources = (uint32_t)rnd(4);
		break;
	case 3:
	case 4:
		g->f.observed_generation = g->f.generation;
		g->f.echoed = true;
		g->f.pending_deferred = g->f.in_progress = g->f.progress_error =
			g->f.pending_infeasible = false;
		break;
	case 5:
		if (one_in(20)) { /* a user */
			struct report_resource *x = rig_res(g, rnd(RIG_CONTAINERS), CPU);

			if (x->spec_limit != LIMIT_MAX && !g->f.guaranteed) {
				x->spec_limit = x->spec_request + rnd(3000);
				g->f.generation++;
			}
		}
		break;
	}
	t->ratified += !!(rig_observe(g) & REPORT_CHANGE_RATIFIED);
}

static void server(struct report_rig *g, struct tally *t)
{
	enum report_answer_kind kind =
		one_in(3) ? (enum report_answer_kind)rnd(REPORT_ANSWER_KINDS) : REPORT_ANSWER_OK;

	rig_sent(g);
	t->sent++;
	t->refused += kind == REPORT_ANSWER_REFUSED;
	if (one_in(4))
		live(g);
	if (kind == REPORT_ANSWER_OK || (kind == REPORT_ANSWER_FAILED && one_in(2)))
		rig_store(g);
	if (one_in(3))
		rig_observe(g);
	rig_answer(g, kind, (uint32_t)rnd(4));
	/* Nothing was stored: nothing was restarted. */
	if (kind == REPORT_ANSWER_OK || kind == REPORT_ANSWER_FAILED)
		memcpy(t->answered_at, t->restarted_at, sizeof t->answered_at);
	else
		memcpy(t->restarted_at, t->answered_at, sizeof t->restarted_at);
}

static void history(uint64_t steps, struct tally *t)
{
	OWN(rig_free) struct report_rig g;

	random_pod(&g);
	memset(t->restarted_at, 0, sizeof t->restarted_at);
	memset(t->answered_at, 0, sizeof t->answered_at);
	for (uint64_t i = 0; i < steps; i++) {
		g.now += rnd(one_in(10) ? 600 * S : 20 * S);
		live(&g);
		kubelet(&g, t);
		if (one_in(60))
			g.f.restoring = !g.f.restoring;
		if (rig_decide(&g)) {
			check_answer(&g, t);
			server(&g, t);
		} else {
			CHECK(g.d.block < REPORT_BLOCK_COUNT && g.d.patch.count == 0);
			CHECK(g.d.again == 0 || g.d.again > g.now);
			t->unsafe += g.d.block == REPORT_BLOCK_UNSAFE;
		}
	}
}

int main(void)
{
	const char *seed = getenv("VSCALED_SEED"), *steps = getenv("VSCALED_STEPS");
	uint64_t count = steps ? strtoull(steps, NULL, 10) : 200000;
	struct tally t = {0};

	random_state = seed ? strtoull(seed, NULL, 10) : 20261120;
	printf("seed %llu, %llu steps\n", (unsigned long long)random_state,
	       (unsigned long long)count);
	for (uint64_t i = 0; i < count; i += 400)
		history(400, &t);
	printf("sent %llu (%llu values up, %llu down), refused %llu, ratified %llu, overtook %llu,"
	       " held back as unsafe %llu\n",
	       (unsigned long long)t.sent, (unsigned long long)t.raised,
	       (unsigned long long)t.lowered, (unsigned long long)t.refused,
	       (unsigned long long)t.ratified, (unsigned long long)t.overtook,
	       (unsigned long long)t.unsafe);
	/* The histories reach what they are to show. */
	CHECK(t.sent > count / 200 && t.ratified > count / 1000);
	CHECK(t.restarted > 0 && t.undone > 0 && t.raised > 0 && t.lowered > 0 && t.refused > 0 &&
	      t.unsafe > 0 && t.overtook > 0);
	return check_result();
}

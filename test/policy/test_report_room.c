// SPDX-License-Identifier: Apache-2.0
/* A request that does not fit: what is asked for, what is not, and that no limit suffers for it. */
#include "test/policy/report_rig.h"

/* Requests move as well: the first container wants 900m beside 800m, and has 500m beside 200m. */
static void want_more(struct report_rig *g)
{
	g->f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	rig_set_held(g, 0, CPU, 900);
	rig_res(g, 0, CPU)->request = 800;
	g->now += 60 * S;
}

static void bound(struct report_rig *g, uint64_t milli, uint64_t bytes)
{
	g->f.room_counted = true;
	g->f.room[CPU] = milli;
	g->f.room[MEM] = bytes;
}

/* The limit goes out whatever the node holds; the request takes what fits. */
TEST(takes_what_fits)
{
	static const struct {
		uint64_t room, request; /* 0: not named */
	} rows[] = {{LIMIT_MAX, 800}, {600, 800}, {599, 790}, {105, 300}, {9, 0}, {0, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		WITH(g)
		{
			want_more(&g);
			bound(&g, rows[i].room, 0);
			CHECK(rig_decide(&g));
			CHECK_EQ(rig_limit(&g, 0, CPU), 900);
			CHECK_EQ(rig_request(&g, 0, CPU), rows[i].request);
			/* The last 10m are not worth a wait. */
			CHECK_EQ(g.d.short_of_room, rows[i].room < 599);
		}
}

/* A request alone waits, says why, and goes out when there is room. */
TEST_RIG(request_waits)
{
	g->f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	rig_res(g, 0, CPU)->request = 400;
	bound(g, 0, 0);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_ROOM);
	g->f.room_unknown = true;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NODE);
	CHECK(!g->d.short_of_room); /* no reason to evict it */
	g->f.room_unknown = false;
	bound(g, 200, 0);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, CPU), 400);
	/* A decrease needs no room. */
	rig_res(g, 0, CPU)->request = 100;
	bound(g, 0, 0);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, CPU), 100);
}

/* The kubelet takes no other memory request of a container that may swap: its limit goes alone, in
 * no case further than a LimitRange's ratio lets it without the request. */
TEST_RIG(swaps)
{
	want_more(g);
	g->c[0].swaps = true;
	rig_set_held(g, 0, MEM, 512 * MIB);
	rig_res(g, 0, MEM)->request = 300 * MIB;
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 512 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 0);
	CHECK_EQ(rig_request(g, 0, CPU), 800);
	rig_res(g, 0, MEM)->request = 64 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, MEM), 0);
	rig_res(g, 0, MEM)->ratio_permille = 3000;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 384 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 0);
	/* A lead, and the way back. */
	g->c[0].use_bytes = 250 * MIB;
	g->c[0].slope_bps = 10 * MIB;
	g->c[0].growing = true;
	CHECK(rig_decide(g));
	CHECK(rig_limit(g, 0, MEM) > 256 * MIB && rig_limit(g, 0, MEM) <= 384 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 0);
	g->c[0].growing = false;
	g->c[0].slope_bps = 0;
	g->f.restoring = true;
	rig_res(g, 0, MEM)->spec_limit = 512 * MIB;
	rig_res(g, 0, MEM)->original_request = 64 * MIB;
	CHECK(rig_decide(g));
	CHECK(rig_limit(g, 0, MEM) != 0);
	CHECK_EQ(rig_request(g, 0, MEM), 0);
}

enum how { DEFERRED, INFEASIBLE, NODE_CAPACITY, QUOTA };

static void refuse(struct report_rig *g, enum how how)
{
	struct report_answer a = {.kind = REPORT_ANSWER_REFUSED, .requests = true};

	want_more(g);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, CPU), 800);
	rig_sent(g);
	if (how >= NODE_CAPACITY) {
		a.resources = how == QUOTA ? RESOURCES_CPU : 0;
		CHECK(report_answered(&g->t, &g->n, g->s, &g->f, &a, g->now) &
		      REPORT_CHANGE_REFUSED);
		return;
	}
	rig_store(g);
	rig_answer(g, REPORT_ANSWER_OK, 0);
	g->f.observed_generation = g->f.generation;
	g->f.pending_deferred = how == DEFERRED;
	g->f.pending_infeasible = g->f.no_room = how == INFEASIBLE;
	g->f.condition_resources = RESOURCES_CPU;
	rig_observe(g);
	g->now += how == DEFERRED ? 300 * S : 10 * S;
	if (how == DEFERRED)
		CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
	CHECK_EQ(g->s->back, BACK_REQUESTS);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, CPU), 200);
	CHECK_EQ(rig_limit(g, 0, CPU), 0); /* it stays */
	rig_accept(g);
	g->f.pending_deferred = g->f.pending_infeasible = g->f.no_room = false;
	g->f.condition_resources = 0;
	CHECK(rig_echo(g) & REPORT_CHANGE_RATIFIED);
	CHECK(g->s->infeasible_since != 0); /* a reason to move the pod */
}

/* Refused for its request: the limit is not bound, and stands in the spec or goes there alone. */
static void test_refused_request_alone(enum how how)
{
	WITH(g)
	{
		refuse(&g, how);
		CHECK_EQ(allows(&g, CPU), LIMIT_MAX);
		g.now += 20 * S;
		if (how >= NODE_CAPACITY) {
			CHECK(rig_decide(&g));
			CHECK_EQ(rig_limit(&g, 0, CPU), 900);
			CHECK_EQ(rig_request(&g, 0, CPU), 0);
			rig_fulfil(&g);
		}
		CHECK_EQ(rig_res(&g, 0, CPU)->spec_limit, 900);
		CHECK_EQ(rig_res(&g, 0, CPU)->spec_request, 200);
		/* It may go on rising, and the request is not asked for again before its time. */
		rig_set_held(&g, 0, CPU, 1500);
		CHECK(rig_later(&g, 600 * S));
		CHECK_EQ(rig_limit(&g, 0, CPU), 1500);
		CHECK_EQ(rig_request(&g, 0, CPU), 0);
		rig_fulfil(&g);
		CHECK(rig_later(&g, g.t.refusal_usec));
		CHECK_EQ(rig_request(&g, 0, CPU), 800);
	}
}

/* A quota of limits: as before, the limit is the cause. */
TEST_RIG(refused_limit)
{
	want_more(g);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_CPU);
	CHECK_EQ(allows(g, CPU), 500);
}

/* A Guaranteed pod's limit is its request: the lead takes what fits, and no more is sent than
 * that. What is above it is growth that no one ratifies. */
TEST(guaranteed)
{
	static const struct {
		uint64_t room_mib;
		bool sent;
	} rows[] = {{1000, true}, {40, true}, {8, false}, {0, false}};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		WITH(g)
		{
			uint64_t most = (256 + rows[i].room_mib) * MIB;

			g.f.guaranteed = true;
			for (size_t k = 0; k < RIG_CONTAINERS; k++)
				for (size_t r = 0; r < RESOURCE_COUNT; r++) {
					struct report_resource *x = rig_res(&g, k, r);

					x->spec_request = x->original_request = x->spec_limit;
				}
			g.f.generation++;
			g.f.observed_generation++;
			rig_observe(&g);
			bound(&g, 0, rows[i].room_mib * MIB);
			g.c[0].use_bytes = 250 * MIB;
			g.c[0].slope_bps = 4 * MIB;
			g.c[0].growing = true;
			g.c[0].grew_at = g.now;
			rig_set_held(&g, 0, MEM, 400 * MIB);
			CHECK_EQ(rig_decide(&g), rows[i].sent);
			if (rows[i].sent) {
				CHECK(rig_limit(&g, 0, MEM) > 256 * MIB);
				CHECK(rig_limit(&g, 0, MEM) <= most);
				CHECK_EQ(rig_request(&g, 0, MEM), rig_limit(&g, 0, MEM));
			}
			CHECK_EQ(g.d.short_of_room, rows[i].room_mib < 1000);
			CHECK_EQ(rig_limit(&g, 0, CPU), 0);
		}
}

/* The originals of a lowered request are a raise like any other; their limits are not. */
TEST_RIG(restore)
{
	g->f.restoring = true;
	g->f.active = false;
	rig_res(g, 0, CPU)->spec_limit = 300;
	rig_res(g, 0, CPU)->spec_request = 50;
	g->f.generation++;
	g->s->ours = true;
	rig_observe(g);
	bound(g, 100, 0);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	CHECK_EQ(rig_request(g, 0, CPU), 150);
}

TEST(with_parameters)
{
	for (enum how how = DEFERRED; how <= QUOTA; how++)
		test_refused_request_alone(how);
}

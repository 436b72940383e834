// SPDX-License-Identifier: Apache-2.0
/* Which values stand in a resize: requests, classes, what is never reported, rounding. */
#include "test/policy/report_rig.h"

/* A CPU limit raised in start-up is sent when it still holds five minutes after it. */
TEST_RIG(startup)
{
	rig_set_held(g, 0, CPU, 900);
	rig_res(g, 0, CPU)->startup_until = g->now + 60 * S;
	CHECK(!rig_later(g, 5 * 60 * S));
	CHECK_EQ(g->d.block, REPORT_BLOCK_LEASE);
	CHECK_EQ(g->d.again, g->now + 60 * S);
	/* A limit below the spec's does not count as raised. */
	rig_res(g, 0, CPU)->held = 300;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 300);
	rig_res(g, 0, CPU)->held = 900;
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
}

/* A request without a limit: alone, a tenth apart, for ten minutes up and thirty down. */
TEST_RIG(request_alone)
{
	struct report_resource *x = rig_res(g, 0, CPU);

	g->f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	x->spec_limit = x->original_limit = x->held = x->actual = LIMIT_MAX;
	x->request = 219;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NONE);
	x->request = 300;
	x->request_since = g->now;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_LEASE);
	CHECK_EQ(g->d.again, g->now + 600 * S);
	CHECK(rig_later(g, 600 * S));
	CHECK_EQ(rig_request(g, 0, CPU), 300);
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	CHECK_EQ(g->d.urgency, REPORT_ORDINARY);
	x->request = 100;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + 1200 * S);
	CHECK(rig_later(g, 1200 * S));
	CHECK_EQ(rig_request(g, 0, CPU), 100);
	/* Mode Initial: at once, however short the node has been up. */
	x->spec_request = 200;
	x->request = 300;
	x->request_since = 0;
	g->now = 60 * S;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, CPU), 300);
	/* A higher memory request alone is not urgent: no limit waits for it. */
	x->request = 0;
	rig_res(g, 0, MEM)->request = 200 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(g->d.urgency, REPORT_ORDINARY);
	/* Handed back: at once. */
	x->back = true;
	x->spec_request = 300;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_request(g, 0, CPU), 200);
}

static void make_guaranteed(struct report_rig *g, enum controlled_values controlled)
{
	g->f.guaranteed = true;
	g->f.controlled = controlled;
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(g, i, r);

			x->spec_request = x->original_request = x->spec_limit;
		}
}

/* LimitsOnly: memory above the spec goes out with its request; both come back, and no further. */
TEST_RIG(guaranteed_memory)
{
	make_guaranteed(g, CONTROLLED_LIMITS);
	rig_set_held(g, 0, MEM, 400 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 400 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 400 * MIB);
	rig_fulfil(g);
	/* Handed back, it is the originals, as for every other pod. */
	g->f.restoring = true;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 256 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 256 * MIB);
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	g->f.restoring = false;
	rig_set_held(g, 0, MEM, 300 * MIB);
	CHECK(rig_later(g, 600 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 300 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 300 * MIB);
	rig_fulfil(g);
	/* Held below the original: the request is not ours to lower. */
	rig_set_held(g, 0, MEM, 200 * MIB);
	CHECK(rig_later(g, 600 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 256 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 256 * MIB);
	rig_fulfil(g);
	CHECK(!rig_later(g, 6000 * S));
}

/* One container LimitsOnly, the other RequestsAndLimits: each by its own rule. */
TEST_RIG(guaranteed_mixed)
{
	make_guaranteed(g, CONTROLLED_REQUESTS_AND_LIMITS);
	g->c[0].limits_only = true;
	rig_set_held(g, 0, CPU, 900);
	rig_set_held(g, 1, CPU, 300);
	rig_set_held(g, 1, MEM, 200 * MIB);
	CHECK(rig_later(g, 600 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	CHECK_EQ(rig_request(g, 0, CPU), 0);
	CHECK_EQ(rig_limit(g, 1, CPU), 300);
	CHECK_EQ(rig_request(g, 1, CPU), 300);
	CHECK_EQ(rig_request(g, 1, MEM), 200 * MIB);
}

TEST_RIG(burstable_stays_burstable)
{
	g->f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++)
			rig_res(g, i, r)->spec_request = rig_res(g, i, r)->spec_limit;
	rig_res(g, 0, CPU)->spec_request = 200;
	rig_res(g, 0, CPU)->request = 900;
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
	CHECK(rig_limit(g, 0, CPU) > rig_request(g, 0, CPU));
	/* An init container whose limits are its requests keeps no class. */
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		rig_res(g, 1, r)->managed = false;
		rig_res(g, 1, r)->spec_limit = rig_res(g, 1, r)->held = LIMIT_MAX;
		rig_res(g, 1, r)->original_limit = LIMIT_MAX;
		rig_res(g, 1, r)->spec_request = rig_res(g, 1, r)->original_request = 0;
	}
	g->c[1].equal = true;
	CHECK(rig_decide(g));
	CHECK(rig_limit(g, 0, CPU) > rig_request(g, 0, CPU));
}

TEST_RIG(requests_only)
{
	g->f.controlled = CONTROLLED_REQUESTS;
	rig_res(g, 0, CPU)->request = 300;
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	CHECK_EQ(rig_request(g, 0, CPU), 300);
	CHECK_EQ(rig_after(g, 0, MEM), 256 * MIB);
}

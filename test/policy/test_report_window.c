// SPDX-License-Identifier: Apache-2.0
/* Decreases of requests and of CPU limits wait for the node's window; nothing else does. */
#include "test/policy/report_rig.h"

#define HOUR   USEC_PER_HOUR
#define WINDOW (900 * S)

/* The default: windows of 15 min, the first one over at 1000 s. The request of the first container
 * and its CPU limit should be lower, for long. */
static void lower(struct report_rig *g)
{
	struct report_resource *x = rig_res(g, 0, CPU);

	g->f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	x->held = x->actual = 300;
	x->request = 100;
	x->request_since = 1;
	rig_observe(g);
	g->t.decrease_every_usec = report_tuning_default.decrease_every_usec;
}

static void check_waits(struct report_rig *g, usec_t until)
{
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_WINDOW);
	CHECK_EQ(g->d.again, until);
}

static void check_lowers(struct report_rig *g)
{
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 300);
	CHECK_EQ(rig_request(g, 0, CPU), 100);
}

/* Both in one resize, from the first moment of the window to its last. */
TEST_RIG(waits)
{
	lower(g);
	check_waits(g, 4 * HOUR);
	CHECK_STR(report_block_name(g->d.block), "a decrease waits for the node's window");
	g->now = 4 * HOUR - 1;
	check_waits(g, 4 * HOUR);
	g->now = 4 * HOUR;
	check_lowers(g);
	g->now = 4 * HOUR + WINDOW - 1;
	check_lowers(g);
	g->now = 4 * HOUR + WINDOW;
	check_waits(g, 8 * HOUR);
}

/* All pods of a node in the same window, and another node's in its own. */
TEST_EACH(by_node, unsigned, pod, 2)
{
	WITH(g)
	{
		lower(&g);
		g.now += pod * HOUR;
		rig_observe(&g);
		check_waits(&g, 4 * HOUR);
		g.t.decrease_phase_usec = 41 * HOUR;
		check_waits(&g, 3 * HOUR);
		g.now = 7 * HOUR;
		check_lowers(&g);
	}
}

/* A resize with a raise leaves the decreases where they are. */
TEST_RIG(raises_at_once)
{
	lower(g);
	rig_set_held(g, 1, CPU, 900);
	rig_res(g, 1, MEM)->request = 200 * MIB;
	rig_res(g, 1, MEM)->request_since = 1;
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 1, CPU), 900);
	CHECK_EQ(rig_request(g, 1, MEM), 200 * MIB);
	CHECK(rig_item(g, 0) == NULL);
	rig_fulfil(g);
	check_waits(g, 4 * HOUR);
}

/* Memory limits go down at once: quotas count them, and leads raise them far. */
TEST_RIG(memory_limit)
{
	lower(g);
	rig_set_held(g, 0, MEM, 192 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 192 * MIB);
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	CHECK_EQ(rig_request(g, 0, CPU), 0);
}

/* An agent that is started again, or a machine that slept through a window, finds the next one. */
TEST_RIG(restart)
{
	lower(g);
	free(g->s);
	g->s = report_state_new(RIG_CONTAINERS);
	rig_observe(g);
	check_waits(g, 4 * HOUR);
	g->now = 9 * HOUR;
	rig_observe(g);
	check_waits(g, 12 * HOUR);
	free(g->s);
	g->now = 12 * HOUR;
	g->s = report_state_new(RIG_CONTAINERS);
	rig_observe(g);
	check_lowers(g);
}

/* 0: at any time, to what is held now, however little that is. */
TEST_RIG(off)
{
	lower(g);
	g->t.decrease_every_usec = 0;
	rig_observe(g);
	check_lowers(g);
	rig_set_held(g, 0, CPU, 480);
	rig_observe(g);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 480);
}

/* A limit that comes and goes between two windows: the highest stays, as does what is less than a
 * tenth above it. */
TEST_RIG(highest_held)
{
	lower(g);
	g->now = HOUR;
	rig_res(g, 0, CPU)->held = 450;
	rig_observe(g);
	g->now = 2 * HOUR;
	rig_res(g, 0, CPU)->held = 300;
	rig_observe(g);
	g->now = 4 * HOUR;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 450);
	rig_res(g, 0, CPU)->held = 451;
	rig_observe(g);
	rig_res(g, 0, CPU)->held = 300;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	/* The request goes alone. */
	CHECK_EQ(rig_request(g, 0, CPU), 100);
	/* It was held for the last time more than four hours ago. */
	g->now = 8 * HOUR + 1;
	rig_observe(g);
	check_lowers(g);
	/* Nothing waits for a window that would change nothing. */
	g->now = 9 * HOUR;
	rig_res(g, 0, CPU)->held = 451;
	rig_res(g, 0, CPU)->request = 181;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NONE);
}

/* A Guaranteed pod whose limits alone are sized: CPU is sized in its cgroup, and the spec goes back
 * to the original, whatever the cgroup held. */
TEST_EACH(guaranteed, unsigned, round, 3)
{
	WITH(g)
	{
		struct report_resource *x = rig_res(&g, 0, CPU);

		lower(&g);
		g.f.guaranteed = true;
		g.f.controlled = CONTROLLED_LIMITS;
		for (size_t i = 0; i < RIG_CONTAINERS * RESOURCE_COUNT; i++) {
			struct report_resource *y =
				rig_res(&g, i / RESOURCE_COUNT, i % RESOURCE_COUNT);

			y->spec_request = y->original_request = y->spec_limit;
		}
		x->original_request = x->original_limit = 200;
		x->held = 300 + 200 * round;
		rig_observe(&g);
		check_waits(&g, 4 * HOUR);
		g.now = 4 * HOUR;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 200);
		CHECK_EQ(rig_request(&g, 0, CPU), 200);
	}
}

/* Restored, handed back, above what the owner allows now, known from history at the start, or room
 * for others of a full node: at once. */
TEST(at_once)
{
	WITH(g)
	{
		lower(&g);
		g.f.restoring = true;
		rig_res(&g, 0, CPU)->original_limit = 300;
		rig_res(&g, 0, CPU)->original_request = 100;
		check_lowers(&g);
	}
	WITH(g)
	{
		lower(&g);
		rig_res(&g, 0, CPU)->back = true;
		rig_res(&g, 0, CPU)->original_limit = 300;
		rig_res(&g, 0, CPU)->original_request = 100;
		check_lowers(&g);
	}
	WITH(g)
	{
		lower(&g);
		rig_res(&g, 0, CPU)->ceiling = 499;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 300);
		CHECK_EQ(rig_request(&g, 0, CPU), 0);
		rig_res(&g, 0, CPU)->ceiling = 500;
		check_waits(&g, 4 * HOUR);
		rig_res(&g, 0, CPU)->spec_limit = LIMIT_MAX;
		check_waits(&g, 4 * HOUR);
		rig_res(&g, 0, CPU)->ceiling = 199;
		g.now = HOUR;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_request(&g, 0, CPU), 100);
	}
	WITH(g)
	{
		lower(&g);
		rig_res(&g, 0, CPU)->held_since = 0;
		rig_res(&g, 0, CPU)->request_since = 0;
		check_lowers(&g);
	}
	WITH(g)
	{
		lower(&g);
		g.now = 5 * HOUR;
		rig_observe(&g);
		check_waits(&g, 8 * HOUR);
		g.n.short_of_room = true;
		check_lowers(&g);
	}
}

/* A CPU limit that the kubelet refused goes back without a window. */
TEST_RIG(refused)
{
	g->t.decrease_every_usec = report_tuning_default.decrease_every_usec;
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
	rig_accept(g);
	g->f.observed_generation = g->f.generation;
	g->f.pending_infeasible = true;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
}

// SPDX-License-Identifier: Apache-2.0
/* Memory with resizePolicy RestartContainer whose owner allows the restart. */
#include "test/policy/report_rig.h"

#define HOUR (3600 * S)

/* The first container: RestartContainer, held at the most that is allowed without ratification. */
static void full(struct report_rig *g)
{
	rig_res(g, 0, MEM)->restart = true;
	rig_set_held(g, 0, MEM, 512 * MIB);
	g->c[0].use_bytes = 500 * MIB;
	rig_res(g, 0, MEM)->restart_to = 768 * MIB;
}

TEST_RIG(at_once_and_hourly)
{
	full(g);
	/* No lease. */
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 768 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 0);
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	CHECK_EQ(rig_after(g, 1, MEM), 256 * MIB);
	rig_fulfil(g);
	rig_set_held(g, 0, MEM, 768 * MIB);
	rig_res(g, 0, MEM)->restart_to = 1152 * MIB;
	for (usec_t waited = 0; waited < HOUR; waited += 60 * S) {
		CHECK(!rig_decide(g));
		g->now += 60 * S;
	}
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 1152 * MIB);
}

TEST_RIG(only_up)
{
	full(g);
	rig_res(g, 0, MEM)->spec_limit = 768 * MIB;
	CHECK(!rig_decide(g));
	rig_res(g, 0, MEM)->restart_to = 600 * MIB;
	CHECK(!rig_later(g, 2 * HOUR));
	/* Held lower for as long as it may be. */
	rig_res(g, 0, MEM)->restart_to = 0;
	rig_set_held(g, 0, MEM, 100 * MIB);
	g->c[0].use_bytes = 50 * MIB;
	CHECK(!rig_later(g, 2 * HOUR));
	/* Nor on the way back. */
	g->f.restoring = true;
	CHECK(!rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 0);
}

/* Not allowed (restart_to is 0), or not ours to move. */
TEST_RIG(not_allowed)
{
	full(g);
	rig_res(g, 0, MEM)->restart_to = 0;
	CHECK(!rig_later(g, 2 * HOUR));
	full(g);
	g->f.controlled = CONTROLLED_REQUESTS;
	CHECK(!rig_decide(g));
	g->f.controlled = CONTROLLED_LIMITS;
	rig_res(g, 0, MEM)->managed = false;
	CHECK(!rig_decide(g));
}

/* An agent that was started again does not know when the last restart was. */
TEST_RIG(earlier_life)
{
	full(g);
	rig_res(g, 0, MEM)->spec_limit = 384 * MIB;
	g->f.ours = true;
	free(g->s);
	g->s = report_state_new(RIG_CONTAINERS);
	rig_observe(g);
	CHECK(!rig_later(g, HOUR - S));
	CHECK(rig_later(g, S));
	CHECK_EQ(rig_limit(g, 0, MEM), 768 * MIB);
}

TEST_RIG(guaranteed)
{
	full(g);
	g->f.guaranteed = true;
	for (size_t i = 0; i < RIG_CONTAINERS; i++)
		for (size_t r = 0; r < RESOURCE_COUNT; r++) {
			struct report_resource *x = rig_res(g, i, r);

			x->spec_request = x->original_request = x->spec_limit;
		}
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 768 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), 768 * MIB);
}

/* The kubelet cannot carry it out, and has not restarted the container: what it has is sent back.
 */
TEST_RIG(infeasible)
{
	full(g);
	CHECK(rig_decide(g));
	rig_accept(g);
	CHECK_EQ(rig_res(g, 0, MEM)->spec_limit, 768 * MIB);
	g->now += 100 * S;
	g->f.observed_generation = g->f.generation;
	g->f.pending_infeasible = true;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
	g->now += g->t.up_interval_usec;
	/* No lower than before and no higher: both would restart it. */
	CHECK(rig_decide(g));
	CHECK_EQ(g->d.urgency, REPORT_AT_ONCE);
	CHECK_EQ(rig_limit(g, 0, MEM), 256 * MIB);
	CHECK_EQ(rig_after(g, 1, MEM), 256 * MIB);
	CHECK_EQ(rig_limit(g, 0, CPU), 0);
	rig_accept(g);
	CHECK_EQ(g->s->container[0].restart_at, 1000 * S);
	g->f.pending_infeasible = false;
	CHECK(rig_echo(g) & REPORT_CHANGE_RATIFIED);
	/* An hour from the refusal, not from the request; nothing between the two. */
	for (; g->now < 1100 * S + HOUR; g->now += 10 * S)
		CHECK(!rig_decide(g));
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 768 * MIB);
}

/* What the kubelet has is not known to an agent that was started again: any value may restart it.
 */
TEST_RIG(infeasible_earlier_life)
{
	full(g);
	rig_res(g, 0, MEM)->spec_limit = 768 * MIB;
	rig_res(g, 0, MEM)->original_limit = 384 * MIB;
	rig_res(g, 0, MEM)->reported = 512 * MIB;
	g->f.ours = true;
	g->f.pending_infeasible = true;
	free(g->s);
	g->s = report_state_new(RIG_CONTAINERS);
	rig_observe(g);
	CHECK(!rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 0);
}

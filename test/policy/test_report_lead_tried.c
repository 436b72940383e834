// SPDX-License-Identifier: Apache-2.0
/* Headroom was refused, and less of it is tried: growth is held at the spec until that is decided.
 */
#include "policy/report/report_impl.h"
#include "test/policy/report_lead_rig.h"

static void refuse(struct report_rig *g)
{
	CHECK(rig_decide(g));
	CHECK(g->d.patch.leads);
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
}

/* By the kubelet: while there are cuts left, whether or not one is under way. */
TEST_RIG(by_the_kubelet)
{
	grow(g, 250 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_accept(g);
	CHECK(!report_lead_tried(g->s, g->now));
	for (uint32_t i = 0; i < 3; i++) {
		g->now += 3 * S;
		g->f.observed_generation = g->f.generation;
		g->f.pending_deferred = true;
		g->f.condition_resources = RESOURCES_MEMORY;
		rig_observe(g);
		CHECK_EQ(report_lead_tried(g->s, g->now), i < LEAD_CUTS_MAX);
		if (rig_decide(g))
			rig_accept(g);
	}
	CHECK(report_lead_denied(g->s, g->now));
	g->f.pending_deferred = false;
	rig_echo(g);
	CHECK(!report_lead_tried(g->s, g->now));
}

/* What is tried has resourceVersion: a request without an answer cannot be stored late, over a
 * limit that is higher. After a conflict there is no time for another one. */
TEST_RIG(is_exact)
{
	grow(g, 250 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	CHECK(!g->d.exact);
	refuse(g);
	CHECK(rig_decide(g));
	CHECK(g->d.exact);
	CHECK_EQ(g->d.urgency, REPORT_LEADS);
	CHECK_EQ(rig_limit(g, 1, MEM), 0);
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_CONFLICT, 0);
	CHECK(rig_later(g, S));
	CHECK(!g->d.exact);
}

/* Growth that has ended is not held for longer than a refusal of headroom counts. */
TEST_RIG(ends)
{
	grow(g, 170 * MIB, 10 * MIB);
	refuse(g);
	CHECK(!rig_decide(g)); /* a quarter is not due yet */
	g->now += 600 * S - 1;
	CHECK(report_lead_tried(g->s, g->now));
	g->now++;
	CHECK(!report_lead_tried(g->s, g->now));
}

/* A raise was refused, and the owner changes CPU: memory is held until more is accepted. */
TEST_RIG(owner_changes_cpu)
{
	send_raise(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
	CHECK_EQ(allows(g, MEM), 256 * MIB);
	rig_res(g, 1, CPU)->spec_limit = 700;
	g->f.generation++;
	rig_observe(g);
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
	CHECK(report_lead_tried(g->s, g->now));
	grow(g, 250 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_accept(g);
	CHECK(!report_lead_tried(g->s, g->now));
}

/* By the server: until less is accepted, or it is refused for good. */
static void test_by_the_server(uint32_t refusals)
{
	WITH(g)
	{
		grow(&g, 250 * MIB, 10 * MIB);
		CHECK(!report_lead_tried(g.s, g.now));
		for (uint32_t i = 0; i < refusals; i++) {
			refuse(&g);
			CHECK_EQ(report_lead_tried(g.s, g.now), i < LEAD_CUTS_MAX);
			CHECK_EQ(report_lead_denied(g.s, g.now), i >= LEAD_CUTS_MAX);
		}
		if (refusals > LEAD_CUTS_MAX) {
			CHECK(!rig_decide(&g));
			continue;
		}
		CHECK(rig_decide(&g));
		rig_accept(&g);
		CHECK(!report_lead_tried(g.s, g.now));
		CHECK(!report_lead_denied(g.s, g.now));
		rig_echo(&g);
		grow(&g, rig_res(&g, 0, MEM)->spec_limit - 8 * MIB, 10 * MIB);
		CHECK(rig_later(&g, 10 * S));
		CHECK(g.d.patch.leads);
		rig_sent(&g);
		/* After a refusal it may be the next that is refused. */
		CHECK_EQ(report_lead_tried(g.s, g.now), refusals > 0);
	}
}

TEST(with_parameters)
{
	for (uint32_t refusals = 1; refusals <= LEAD_CUTS_MAX + 1; refusals++)
		test_by_the_server(refusals);
}

// SPDX-License-Identifier: Apache-2.0
/* The object, the answer and the kubelet's result in other orders than the usual one. */
#include "test/policy/report_rig.h"

static void condemn(struct report_rig *g)
{
	g->f.observed_generation = g->f.generation;
	g->f.progress_error = true;
	g->now += 2 * S;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
	CHECK(allows(g, CPU) != LIMIT_MAX);
}

/* The kubelet reports an error, tries again and succeeds before the former spec is sent. */
TEST(succeeds_after_an_error)
{
	WITH(g)
	{
		accept_raise(&g);
		condemn(&g);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INTERVAL);
		g.now += 4 * S;
		g.f.progress_error = false;
		CHECK(rig_echo(&g) & REPORT_CHANGE_RATIFIED);
		CHECK_EQ(allows(&g, CPU), LIMIT_MAX);
		CHECK_EQ(allows(&g, MEM), LIMIT_MAX);
		CHECK(!rig_decide(&g)); /* nothing goes back */
	}
	/* The former spec is carried out: that is no success. */
	WITH(g)
	{
		accept_raise(&g);
		condemn(&g);
		CHECK(rig_later(&g, 60 * S));
		rig_accept(&g);
		g.f.progress_error = false;
		rig_echo(&g);
		CHECK(allows(&g, CPU) != LIMIT_MAX);
	}
}

/* The watch shows what was stored, then the answer is lost. */
TEST_RIG(object_then_no_answer)
{
	send_raise(g);
	uint64_t raised = rig_limit(g, 0, CPU);

	rig_store(g);
	rig_observe(g);
	rig_answer(g, REPORT_ANSWER_FAILED, 0);
	CHECK(rig_echo(g) & REPORT_CHANGE_RATIFIED);
	CHECK(g->s->sent_at != 0);
	CHECK_EQ(g->s->container[0].good.limit[CPU], raised);
	/* A later refusal by the kubelet allows the value that it carried out before. */
	rig_set_held(g, 0, CPU, raised + 300);
	CHECK(rig_later(g, 60 * S));
	rig_accept(g);
	g->f.observed_generation = g->f.generation;
	g->f.pending_infeasible = true;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
	CHECK_EQ(allows(g, CPU), raised);
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
}

/* The watch shows a later change of an external writer before the answer comes. */
TEST_RIG(answer_after_a_later_change)
{
	struct report_facts before;

	send_raise(g);
	rig_store(g);
	before = g->f;
	rig_res(g, 1, CPU)->spec_limit = 1700;
	g->f.generation++;
	CHECK(rig_observe(g) & REPORT_CHANGE_FOREIGN);
	report_answered(&g->t, &g->n, g->s, &before,
			&(struct report_answer){.kind = REPORT_ANSWER_OK}, g->now);
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_FOREIGN, 0);
	CHECK_EQ(g->s->container[0].theirs, 0);
	CHECK_EQ(g->s->container[0].known.limit[CPU], rig_res(g, 0, CPU)->spec_limit);
}

/* A request that failed may be stored for a minute; the same value later is its owner's. */
TEST(equal_value_much_later)
{
	for (unsigned late = 0; late < 2; late++)
		WITH(g)
		{
			send_raise(&g);
			uint64_t raised = rig_limit(&g, 0, CPU);

			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
			g.now += late ? 61 * S : 30 * S;
			rig_observe(&g);
			rig_res(&g, 0, CPU)->spec_limit = raised;
			g.f.generation++;
			CHECK_EQ(!!(rig_observe(&g) & REPORT_CHANGE_FOREIGN), late);
		}
}

/* The answer to a raise comes after the pod was given back: the originals still go at once. */
TEST_RIG(restore_after_an_answer)
{
	send_raise(g);
	rig_store(g);
	g->f.restoring = true;
	rig_answer(g, REPORT_ANSWER_OK, 0);
	rig_echo(g);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	rig_accept(g);
	CHECK(g->s->restored);
}

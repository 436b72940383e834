// SPDX-License-Identifier: Apache-2.0
/* The effect of answers, conditions and external resizes on the reports of a pod. */
#include "test/policy/report_rig.h"

/* The watch may report the change before the answer arrives. */
TEST_RIG(watch_before_answer)
{
	send_raise(g);
	rig_store(g);
	CHECK_EQ(rig_observe(g), 0);
	CHECK(report_expects(g->s));
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
	CHECK(report_pending(g->s));
	CHECK(rig_echo(g) & REPORT_CHANGE_RATIFIED);
}

/* A server without observedGeneration (1.33): conditions and the runtime's record decide. */
TEST_RIG(server_without_observed_generation)
{
	g->f.observed_generation = 0;
	accept_raise(g);
	rig_observe(g);
	CHECK(report_pending(g->s));
	g->f.echoed = true;
	CHECK(rig_observe(g) & REPORT_CHANGE_RATIFIED);
}

TEST(refused_without_a_word)
{
	WITH(g)
	{
		send_raise(&g);
		rig_answer(&g, REPORT_ANSWER_REFUSED, 0);
		CHECK_EQ(allows(&g, CPU), 500);
		CHECK_EQ(allows(&g, MEM), 256 * MIB);
		CHECK(!rig_decide(&g));
	}
	WITH(g)
	{ /* it blames what was not raised */
		rig_set_held(&g, 0, CPU, 900);
		CHECK(rig_later(&g, 60 * S));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
		CHECK_EQ(allows(&g, CPU), 500);
	}
	WITH(g)
	{ /* nothing was raised at all */
		rig_set_held(&g, 0, CPU, 300);
		CHECK(rig_later(&g, 60 * S));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_REFUSED, 0);
		CHECK_EQ(allows(&g, CPU), LIMIT_MAX);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_REFUSED);
		CHECK_EQ(g.d.again, g.now + 3600 * S);
	}
}

TEST_RIG(no_decrease_is_learnt)
{
	rig_set_held(g, 0, CPU, 900);
	rig_set_held(g, 0, MEM, 200 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 200 * MIB);
	rig_sent(g);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_NO_DECREASE, 0), REPORT_CHANGE_RETRY);
	CHECK_EQ(g->n.no_decrease_until, g->now + 3600 * S);
	CHECK(rig_decide(g)); /* the CPU part goes at once */
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
	CHECK_EQ(rig_after(g, 0, MEM), 256 * MIB);
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
}

TEST_RIG(conflict)
{
	send_raise(g);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(rig_answer(g, REPORT_ANSWER_CONFLICT, 0), REPORT_CHANGE_RETRY);
		CHECK(!rig_decide(g)); /* the watch has a moment to report the newest */
		CHECK_EQ(g->d.again, g->now + S / 2);
		CHECK(rig_later(g, S / 2));
		rig_sent(g);
	}
	rig_answer(g, REPORT_ANSWER_CONFLICT, 0);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_WAIT);
	CHECK_EQ(g->d.again, g->now + 10 * S);
}

TEST(gone_and_forbidden)
{
	WITH(g)
	{
		send_raise(&g);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_GONE, 0), REPORT_CHANGE_GONE);
	}
	WITH(g)
	{
		send_raise(&g);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_FORBIDDEN, 0), REPORT_CHANGE_RETRY);
		CHECK(rig_decide(&g)); /* held back by report_facts.forbidden_until */
	}
}

TEST_RIG(slow_down)
{
	struct report_answer a = {.kind = REPORT_ANSWER_SLOW_DOWN, .retry_after_usec = 7 * S};

	send_raise(g);
	report_answered(&g->t, &g->n, g->s, &g->f, &a, g->now);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + S); /* the queue waits for the rest */
	CHECK(rig_later(g, S));
	/* An answer without a pending request changes nothing. */
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_REFUSED, 0), 0);
	CHECK(rig_decide(g));
}

TEST(users_resize)
{
	WITH(g)
	{
		rig_res(&g, 0, CPU)->spec_limit = 700;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK(!report_expects(g.s));
		CHECK_EQ(report_foreign(g.s, 0), RESOURCES_CPU);
		CHECK_EQ(report_foreign(g.s, 1), 0);
		CHECK_EQ(report_foreign(g.s, 9), 0);
	}
	WITH(g)
	{ /* ours first, then another value of a user */
		accept_raise(&g);
		rig_echo(&g);
		rig_res(&g, 0, CPU)->spec_limit = 700;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK_EQ(report_foreign(g.s, 0), RESOURCES_CPU);
	}
	WITH(g)
	{ /* right back to what we had changed */
		accept_raise(&g);
		rig_echo(&g);
		rig_res(&g, 0, CPU)->spec_limit = 500;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
	}
	WITH(g)
	{ /* between request and answer */
		send_raise(&g);
		rig_store(&g);
		rig_res(&g, 1, CPU)->spec_limit = 100;
		g.f.generation++;
		CHECK(rig_answer(&g, REPORT_ANSWER_OK, 0) & REPORT_CHANGE_FOREIGN);
		CHECK_EQ(report_foreign(g.s, 0), 0);
		CHECK_EQ(report_foreign(g.s, 1), RESOURCES_CPU);
	}
	WITH(g)
	{ /* something else of the spec */
		g.f.generation++;
		CHECK_EQ(rig_observe(&g), 0);
	}
}

/* 200 and the same generation: admission has left what stood, and the kubelet will do nothing. */
TEST_RIG(no_op)
{
	send_raise(g);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0),
		 REPORT_CHANGE_VERIFY | REPORT_CHANGE_REFUSED | REPORT_CHANGE_LOWERED);
	CHECK(!report_pending(g->s));
}

/* A kubelet that may fail on a decrease: nothing goes below what it has carried out. What it has
 * not is taken back. */
TEST_RIG(no_decrease_by_kubelet)
{
	g->f.no_decrease = true;
	rig_set_held(g, 0, MEM, 200 * MIB);
	CHECK(!rig_later(g, 60 * S));
	CHECK_EQ(g->d.block, REPORT_BLOCK_DECREASE);
	CHECK(report_ahead(&g->t, &g->n, &g->f, g->now) < g->t.ahead_usec);
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S)); /* CPU is not held back */
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
	CHECK_EQ(rig_after(g, 0, MEM), 256 * MIB);
	rig_res(g, 0, MEM)->reported = 240 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 240 * MIB);
	g->f.restoring = true;
	rig_res(g, 0, MEM)->original_limit = 128 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 240 * MIB);
	g->f.no_decrease = false;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 128 * MIB);
}

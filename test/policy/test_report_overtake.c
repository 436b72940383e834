// SPDX-License-Identifier: Apache-2.0
/* Memory that starts to grow while the kubelet is about to carry out a resize of ours: it replays
 * the memory limit of the body, too. */
#include "test/policy/report_rig.h"

/* A CPU raise is accepted; then the first container grows at 50 MiB a second, and the cgroup is
 * raised for it. */
static void begin(struct report_rig *g)
{
	rig_set_held(g, 0, CPU, 900);
	g->now += 60 * S;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_after(g, 0, MEM), 256 * MIB);
	rig_accept(g);
	rig_observe(g);
	g->now += S / 2;
	g->c[0].slope_bps = 50 * MIB;
	g->c[0].growing = true;
	rig_set_held(g, 0, MEM, 400 * MIB);
}

/* Long before the old limit is reached: request, server and watch take their time. */
static void test_growth_is_seen_ahead(void)
{
	WITH(g)
	{
		begin(&g);
		CHECK(rig_decide(&g)); /* at once: not after the ten seconds of ordinary raises */
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		CHECK_EQ(rig_limit(&g, 0, MEM), 3116 * MIB);
		CHECK_EQ(rig_limit(&g, 0, CPU), 0);
	}
}

/* Each has room for a minute of growth: more than one in a second would be a storm. */
static void test_one_a_second(void)
{
	WITH(g)
	{
		begin(&g);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		g.c[0].slope_bps = 500 * MIB;
		rig_set_held(&g, 0, MEM, 4000 * MIB);
		g.now += S / 2;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INTERVAL);
		g.now += S / 2;
		CHECK(rig_decide(&g));
	}
}

/* systemd's headroom may stand in the file before anything had to be decided. */
static void test_headroom_is_growth_too(void)
{
	WITH(g)
	{
		begin(&g);
		g.now += S;
		rig_set_held(&g, 0, MEM, 256 * MIB);
		rig_res(&g, 0, MEM)->actual = 400 * MIB;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 3116 * MIB);
	}
}

static void test_one_allocation_is_no_ramp(void)
{
	WITH(g)
	{
		begin(&g);
		g.now += S;
		rig_set_held(&g, 0, MEM, 256 * MIB); /* nothing had to be raised */
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_ECHO);
	}
}

/* A failure does not make the earlier resize less under way. */
static void test_failure_is_tried_again(void)
{
	static const enum report_answer_kind kinds[] = {
		REPORT_ANSWER_SLOW_DOWN, REPORT_ANSWER_FAILED, REPORT_ANSWER_CONFLICT};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		WITH(g)
		{
			begin(&g);
			g.now += S;
			CHECK(rig_decide(&g));
			rig_sent(&g);
			CHECK_EQ(rig_answer(&g, kinds[i], 0), REPORT_CHANGE_RETRY);
			CHECK(report_pending(g.s));
			g.now += S;
			CHECK(rig_decide(&g));
			CHECK_EQ(g.d.urgency, REPORT_LEADS);
			rig_accept(&g);
			CHECK_EQ(rig_echo(&g) & REPORT_CHANGE_RATIFIED, REPORT_CHANGE_RATIFIED);
			CHECK(!report_pending(g.s));
		}
}

/* The kubelet's delay is short: two more tries in half a second, then one a second. */
static void test_tried_again_within_the_delay(void)
{
	static const usec_t after[] = {S / 10, 3 * S / 10, S, S};

	WITH(g)
	{
		begin(&g);
		for (size_t i = 0; i < ARRAY_SIZE(after); i++) {
			CHECK(rig_decide(&g));
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
			CHECK(!rig_decide(&g));
			CHECK_EQ(g.d.again, g.now + after[i]);
			g.now += after[i];
		}
		CHECK(rig_decide(&g));
		rig_accept(&g);
		CHECK_EQ(g.s->failures, 0);
	}
}

/* What nothing waits for has time. */
static void test_ordinary_failures_have_time(void)
{
	WITH(g)
	{
		send_raise(&g);
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.again, g.now + S);
	}
}

/* Done while the request was under way: nothing is waited for after its failure. */
static void test_echo_beside_a_failure(void)
{
	WITH(g)
	{
		begin(&g);
		g.now += S;
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_echo(&g);
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		CHECK_EQ(rig_observe(&g), REPORT_CHANGE_VERIFY | REPORT_CHANGE_RATIFIED);
		CHECK(!report_pending(g.s));
	}
}

/* Memory may not be raised: then the kubelet must not get to replay the old limit. */
static void test_refusal_takes_the_resize_back(void)
{
	WITH(g)
	{
		begin(&g);
		g.now += S;
		CHECK(rig_decide(&g));
		rig_sent(&g);
		CHECK(rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY) &
		      REPORT_CHANGE_REFUSED);
		CHECK_EQ(allows(&g, MEM), 256 * MIB);
		g.c[0].use_bytes = 300 * MIB;
		CHECK(rig_decide(&g)); /* at once */
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
		CHECK_EQ(rig_limit(&g, 0, MEM), 0); /* as it was: no value to carry out */
		rig_accept(&g);
		rig_echo(&g);
		/* And CPU waits for memory from now on. */
		g.now += 120 * S;
		g.c[0].slope_bps = 0;
		g.c[0].growing = false;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
	}
}

/* A memory limit that may be carried out already is not lowered by taking it back. */
static void test_memory_is_not_taken_back(void)
{
	WITH(g)
	{
		accept_raise(&g);
		g.now += S;
		g.c[0].use_bytes = 450 * MIB;
		g.c[0].slope_bps = 50 * MIB;
		g.c[0].growing = true;
		rig_set_held(&g, 0, MEM, 700 * MIB);
		for (size_t i = 0; i < 3; i++) {
			CHECK(rig_decide(&g)); /* less headroom each time */
			CHECK(rig_limit(&g, 0, MEM) > 512 * MIB);
			CHECK_EQ(rig_limit(&g, 0, CPU), 0);
			rig_sent(&g);
			CHECK_EQ(rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY),
				 REPORT_CHANGE_RETRY);
		}
		CHECK(g.s->back != BACK_WITHDRAW);
		CHECK(!rig_decide(&g));
	}
}

/* An ordinary resize has no answer for half a second, and the first container grows. */
static void slow_resize(struct report_rig *g)
{
	rig_set_held(g, 0, CPU, 900);
	g->now += 60 * S;
	CHECK(rig_decide(g));
	rig_sent(g);
	g->c[0].use_bytes = 245 * MIB;
	g->c[0].slope_bps = 20 * MIB;
	g->c[0].growing = true;
	g->now += S / 2;
}

static void no_rights(struct report_rig *g)
{
	g->f.forbidden_until = g->now + 600 * S; /* as another pod's answer says */
}

static void paused(struct report_rig *g)
{
	g->f.active = false;
}

static void contested(struct report_rig *g)
{
	g->s->contest.until = g->now + 10 * S;
}

/* A sibling that a resize would restart uses more than its limit in the spec. */
static void no_room(struct report_rig *g)
{
	rig_res(g, 0, MEM)->ceiling = 300 * MIB;
	g->c[1].use_bytes = 400 * MIB;
	rig_res(g, 1, MEM)->restart = true;
	rig_res(g, 1, MEM)->held = rig_res(g, 1, MEM)->actual = 512 * MIB;
}

/* A request is given up for a lead only if the lead can be sent then. */
static void test_nothing_to_overtake_with(void)
{
	static void (*const cases[])(struct report_rig *g) = {
		NULL, no_rights, paused, contested, no_room,
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		WITH(g)
		{
			slow_resize(&g);
			if (cases[i] != NULL)
				cases[i](&g);
			CHECK(!rig_decide(&g));
			CHECK_EQ(g.d.overtakes, cases[i] == NULL);
			CHECK(g.d.block != REPORT_BLOCK_NONE);
			report_abandoned(g.s, g.now);
			CHECK_EQ(rig_decide(&g), cases[i] == NULL);
		}
}

/* An owner lowers CPU while a lead is under way. The answer has less CPU than the spec that the
 * lead was made from: that is no refusal of what vscaled sent. */
static void test_owner_lowers_cpu_beside(void)
{
	WITH(g)
	{
		g.c[0].slope_bps = 50 * MIB;
		g.c[0].growing = true;
		rig_set_held(&g, 0, MEM, 400 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_res(&g, 0, CPU)->spec_limit = 300;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		rig_store(&g);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0), 0);
		CHECK_EQ(allows(&g, CPU), LIMIT_MAX);
	}
}

int main(void)
{
	test_growth_is_seen_ahead();
	test_one_a_second();
	test_headroom_is_growth_too();
	test_one_allocation_is_no_ramp();
	test_failure_is_tried_again();
	test_tried_again_within_the_delay();
	test_ordinary_failures_have_time();
	test_echo_beside_a_failure();
	test_refusal_takes_the_resize_back();
	test_memory_is_not_taken_back();
	test_nothing_to_overtake_with();
	test_owner_lowers_cpu_beside();
	return check_result();
}

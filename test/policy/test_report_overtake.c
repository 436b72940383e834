// SPDX-License-Identifier: Apache-2.0
/* Memory that starts to grow while the kubelet is about to carry out a resize of ours: it replays
 * the memory limit of the body, too. */
#include "test/policy/report_rig.h"

/* A CPU raise is accepted; then the first container grows at 50 MiB a second, and the cgroup is
 * raised for it. */
static void begin(struct report_rig *g)
{
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_after(g, 0, MEM), 256 * MIB);
	rig_accept(g);
	rig_observe(g);
	g->now += S / 2;
	g->c[0].slope_bps = 50 * MIB;
	g->c[0].growing = true;
	rig_set_held(g, 0, MEM, 400 * MIB);
}

/* Memory may not be raised: then the kubelet must not get to replay the old limit. */
TEST_RIG(refusal_takes_the_resize_back)
{
	begin(g);
	CHECK(rig_later(g, S));
	rig_sent(g);
	CHECK(rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY) & REPORT_CHANGE_REFUSED);
	CHECK_EQ(allows(g, MEM), 256 * MIB);
	g->c[0].use_bytes = 300 * MIB;
	CHECK(rig_decide(g)); /* at once */
	CHECK_EQ(g->d.urgency, REPORT_LEADS);
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	CHECK_EQ(rig_limit(g, 0, MEM), 0); /* as it was: no value to carry out */
	rig_fulfil(g);
	/* And CPU waits for memory from now on. */
	g->now += 120 * S;
	g->c[0].slope_bps = 0;
	g->c[0].growing = false;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_UNSAFE);
}

/* An ordinary resize has no answer for half a second, and the first container grows. */
static void slow_resize(struct report_rig *g)
{
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
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
TEST(nothing_to_overtake_with)
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
TEST_RIG(owner_lowers_cpu_beside)
{
	g->c[0].slope_bps = 50 * MIB;
	g->c[0].growing = true;
	rig_set_held(g, 0, MEM, 400 * MIB);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_res(g, 0, CPU)->spec_limit = 300;
	g->f.generation++;
	CHECK(rig_observe(g) & REPORT_CHANGE_FOREIGN);
	rig_store(g);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
	CHECK_EQ(allows(g, CPU), LIMIT_MAX);
}

/* Done while the request was under way: nothing is waited for after its failure. */
TEST_RIG(echo_beside_a_failure)
{
	begin(g);
	CHECK(rig_later(g, S));
	rig_sent(g);
	rig_echo(g);
	rig_answer(g, REPORT_ANSWER_FAILED, 0);
	CHECK_EQ(rig_observe(g), REPORT_CHANGE_VERIFY | REPORT_CHANGE_RATIFIED);
	CHECK(!report_pending(g->s));
}

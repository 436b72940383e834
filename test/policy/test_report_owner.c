// SPDX-License-Identifier: Apache-2.0
/* Owners of values by managedFields: what admission made of ours, and what an owner applies. */
#include "test/policy/report_lead_rig.h"

static void send_900(struct report_rig *g)
{
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 100 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
	rig_sent(g);
}

/* The object as it is stored: another value, by another owner. */
static uint32_t stored(struct report_rig *g, uint64_t milli, enum value_owner owner)
{
	struct report_resource *x = rig_res(g, 0, CPU);

	g->f.generation += x->spec_limit != milli;
	x->spec_limit = milli;
	x->limit_owner = owner;
	x->request_owner = OWNER_OTHER;
	g->f.echoed = false;
	return rig_observe(g);
}

static uint64_t allowed(const struct report_rig *g)
{
	usec_t until;

	return report_allows(g->s, 0, CPU, g->now, &until);
}

#define LOWERED (REPORT_CHANGE_REFUSED | REPORT_CHANGE_LOWERED)

/* Before the answer, and in it: told once. */
TEST(lowered)
{
	WITH(g)
	{
		send_900(&g);
		CHECK_EQ(stored(&g, 600, OWNER_VSCALED), 0);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0), LOWERED);
		CHECK_EQ(allowed(&g), 600);
		CHECK(report_expects(g.s));
		CHECK_EQ(report_foreign(g.s, 0), 0);
	}
	WITH(g)
	{
		send_900(&g);
		rig_res(&g, 0, CPU)->spec_limit = 600;
		rig_res(&g, 0, CPU)->limit_owner = OWNER_VSCALED;
		g.f.generation++;
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0), LOWERED);
		CHECK_EQ(allowed(&g), 600);
		CHECK_EQ(rig_observe(&g) & LOWERED, 0);
	}
}

/* Like what is lowered, but that there is no more to bound: the higher value stays for a while. A
 * lead does not wait for that. */
TEST(raised)
{
	WITH(g)
	{
		send_900(&g);
		CHECK_EQ(stored(&g, 1200, OWNER_VSCALED), 0);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0), LOWERED);
		CHECK_EQ(allowed(&g), LIMIT_MAX);
		CHECK_EQ(report_foreign(g.s, 0), 0);
		rig_echo(&g);
		CHECK(!rig_later(&g, 500 * S));
		CHECK(rig_later(&g, 200 * S));
		CHECK_EQ(rig_limit(&g, 0, CPU), 900);
	}
	WITH(g)
	{
		send_900(&g);
		CHECK_EQ(stored(&g, 1200, OWNER_VSCALED), 0);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0), LOWERED);
		rig_echo(&g);
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
	}
}

/* In another writer's request, about another value. */
TEST_RIG(lowered_later)
{
	send_900(g);
	CHECK_EQ(stored(g, 900, OWNER_VSCALED), 0);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
	rig_echo(g);
	g->now += 120 * S;
	CHECK_EQ(stored(g, 700, OWNER_VSCALED), REPORT_CHANGE_VERIFY | LOWERED);
	CHECK_EQ(allowed(g), 700);
	CHECK_EQ(report_foreign(g->s, 0), 0);
}

/* The owner asks for the value that our request has, which is under way. */
TEST_RIG(same_value)
{
	send_900(g);
	CHECK(stored(g, 900, OWNER_OTHER) & REPORT_CHANGE_FOREIGN);
	CHECK_EQ(report_foreign(g->s, 0), RESOURCES_CPU);
}

/* The owner applies the value that stands there: shared, so the owner's. early: the watch has
 * delivered our resize before its answer. */
TEST_RIG_BOTH(applied, early)
{
	send_900(g);
	if (early)
		CHECK_EQ(stored(g, 900, OWNER_VSCALED), 0);
	else
		rig_store(g);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
	CHECK_EQ(stored(g, 900, OWNER_VSCALED) & REPORT_CHANGE_FOREIGN, 0);
	rig_echo(g);
	CHECK(stored(g, 900, OWNER_OTHER) & REPORT_CHANGE_FOREIGN);
	CHECK_EQ(report_foreign(g->s, 0), RESOURCES_CPU);
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_FOREIGN, 0); /* once */
}

/* Entries were cleared: the comparison of values stays. */
TEST_RIG(unknown)
{
	send_900(g);
	CHECK_EQ(stored(g, 900, OWNER_UNKNOWN), 0);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
	rig_echo(g);
	CHECK(stored(g, 600, OWNER_UNKNOWN) & REPORT_CHANGE_FOREIGN);
}

/* A request without an answer is stored late: ours, and no admission's. */
TEST_RIG(late)
{
	send_900(g);
	rig_answer(g, REPORT_ANSWER_FAILED, 0);
	g->now += 5 * S;
	CHECK_EQ(stored(g, 900, OWNER_VSCALED) & (REPORT_CHANGE_FOREIGN | LOWERED), 0);
	CHECK_EQ(allowed(g), LIMIT_MAX);
}

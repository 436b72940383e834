// SPDX-License-Identifier: Apache-2.0
/* The spec leads, and the server, the kubelet or an owner comes in between. */
#include "test/policy/report_lead_rig.h"

/* Refused once, taken with a quarter, refused again after the pause: a sixteenth is tried before
 * nothing is sent. */
TEST_RIG(cuts_count_on_after_pause)
{
	grow(g, 250 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
	CHECK(rig_decide(g));
	rig_fulfil(g);
	g->now += 601 * S;
	grow(g, 420 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
	CHECK(!report_lead_denied(g->s, g->now));
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), round_up(420 * MIB + 42 * MIB + 600 * MIB / 16, 4096));
}

/* An external writer stored a lower limit after ours: a foreign value, not a refusal of ours. */
TEST_RIG(own_value_changed_in_between)
{
	grow(g, 210 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_store(g);
	rig_res(g, 0, MEM)->spec_limit = 300 * MIB;
	g->f.generation++;
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), REPORT_CHANGE_VERIFY | REPORT_CHANGE_FOREIGN);
	CHECK_EQ(report_foreign(g->s, 0), RESOURCES_MEMORY);
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
}

/* A lead without an answer may still be stored: what is sent meanwhile is no lower, and names the
 * same containers. */
TEST_RIG(unanswered_may_be_stored)
{
	uint64_t first;

	g->c[1].use_bytes = 255 * MIB;
	grow(g, 210 * MIB, 50 * MIB);
	CHECK(rig_decide(g));
	first = rig_limit(g, 0, MEM);
	CHECK_EQ(first, with_margin(210 * MIB) + 3000 * MIB);
	CHECK_EQ(rig_limit(g, 1, MEM), with_margin(255 * MIB));
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_FAILED, 0);
	g->c[1].use_bytes = 100 * MIB;
	grow(g, 225 * MIB, 10 * MIB);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(rig_later(g, S));
		CHECK_EQ(rig_limit(g, 0, MEM), first);
		CHECK_EQ(rig_limit(g, 1, MEM), with_margin(255 * MIB));
		rig_sent(g);
		rig_answer(g, REPORT_ANSWER_FAILED, 0);
	}
	/* An answer shows what was stored. */
	CHECK(rig_later(g, S));
	CHECK_EQ(rig_limit(g, 0, MEM), first);
	rig_fulfil(g);
	g->now += S;
	grow(g, first - 10 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	CHECK(rig_limit(g, 0, MEM) > first);
	CHECK_EQ(rig_limit(g, 1, MEM), 0);
}

/* An ordinary resize gets no answer: it is given up, and may be stored all the same. The lead that
 * follows waits for its own answer. */
TEST_RIG(overtakes_an_unanswered_one)
{
	rig_set_held(g, 0, MEM, 4096 * MIB);
	g->now += 60 * S;
	grow(g, 200 * MIB, 0);
	g->t.ahead_usec = S;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 4096 * MIB);
	g->d.patch.leads = false; /* as an ordinary raise */
	rig_sent(g);
	rig_set_held(g, 0, MEM, 256 * MIB);
	grow(g, 245 * MIB, 20 * MIB);
	CHECK(!rig_later(g, S / 2));
	CHECK(g->d.overtakes);
	report_abandoned(g->s, g->now);
	CHECK(rig_decide(g));
	CHECK(g->d.patch.leads);
	CHECK_EQ(rig_limit(g, 0, MEM), 4096 * MIB);
	rig_sent(g);
	CHECK(!rig_later(g, 10 * S));
	CHECK(!g->d.overtakes);
	CHECK_EQ(g->d.again, 0);
}

/* The quota has no room for all of the headroom: less of it, then none for ten minutes. */
TEST(refusal_cuts_headroom)
{
	static const uint64_t room[] = {600 * MIB, 150 * MIB, 600 * MIB / 16};

	WITH(g)
	{
		grow(&g, 250 * MIB, 10 * MIB);
		for (size_t i = 0; i < ARRAY_SIZE(room); i++) {
			CHECK(rig_decide(&g));
			CHECK_EQ(rig_limit(&g, 0, MEM),
				 round_up(250 * MIB + 25 * MIB + room[i], 4096));
			rig_sent(&g);
			CHECK_EQ(rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY),
				 REPORT_CHANGE_RETRY);
		}
		CHECK(!rig_decide(&g));
		CHECK_EQ(allows(&g, MEM), LIMIT_MAX); /* the cgroup loses nothing */
		CHECK(report_lead_denied(g.s, g.now));
		/* Nor does a CPU limit go out that would replay the memory limit. */
		rig_set_held(&g, 0, CPU, 900);
		g.now += 599 * S;
		rig_set_held(&g, 0, MEM, 400 * MIB);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_MEMORY);
		g.now += S;
		CHECK(report_lead_denied(g.s, g.now)); /* until a lead is accepted */
		CHECK(rig_decide(&g)); /* there may be room again: the least is asked for, once */
		CHECK_EQ(rig_limit(&g, 0, MEM), 400 * MIB);
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
		CHECK(!rig_decide(&g));
		g.now += 600 * S;
		rig_set_held(&g, 0, MEM, 400 * MIB);
		CHECK(rig_decide(&g));
		CHECK(report_lead_denied(g.s, g.now));
		rig_accept(&g);
		CHECK(!report_lead_denied(g.s, g.now));
		rig_echo(&g);
		grow(&g, 390 * MIB, 10 * MIB);
		CHECK(rig_later(&g, S));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(390 * MIB) + 600 * MIB);
	}
}

/* A lead that has no answer is sent again as it was while it leaves enough: then there is one value
 * that may be stored late, however often the server fails. */
TEST_RIG(sent_again_as_it_was)
{
	uint64_t limit = 0;
	unsigned values = 0;

	for (size_t i = 0; i < 25; i++) {
		grow(g, (210 + 10 * i) * MIB, 10 * MIB);
		CHECK(rig_decide(g));
		values += rig_limit(g, 0, MEM) != limit;
		limit = rig_limit(g, 0, MEM);
		CHECK(limit >= with_margin(g->c[0].use_bytes) + 300 * MIB);
		rig_sent(g);
		rig_answer(g, REPORT_ANSWER_FAILED, 0);
		g->now += S;
	}
	CHECK_EQ(values, 1);
	grow(g, 560 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	/* The next one leaves twice as much. */
	CHECK_EQ(rig_limit(g, 0, MEM), 2 * limit - 256 * MIB);
}

/* What an earlier agent was refused: no lead for 10 min, of what it sent; requests of a quota. */
TEST_BOTH(recalled, requests)
{
	const struct report_answer text = {.kind = REPORT_ANSWER_REFUSED, .requests = requests};

	WITH(g)
	{
		rig_res(&g, 0, MEM)->unstored = true;
		report_recall(&g.t, g.s, &g.f, &text, g.now);
		grow(&g, 250 * MIB, 10 * MIB);
		CHECK_EQ(rig_decide(&g), requests);
		CHECK_EQ(allows(&g, MEM), requests ? LIMIT_MAX : 256 * MIB);
		g.now += 601 * S;
		grow(&g, 250 * MIB, 10 * MIB);
		CHECK(rig_decide(&g) && g.d.patch.leads);
	}
	WITH(g)
	{
		report_recall(&g.t, g.s, &g.f, &text, g.now);
		CHECK_EQ(allows(&g, MEM), LIMIT_MAX);
		CHECK_EQ(allows(&g, CPU), LIMIT_MAX);
	}
}

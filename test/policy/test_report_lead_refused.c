// SPDX-License-Identifier: Apache-2.0
/* The spec leads, and the server, the kubelet or an owner comes in between. */
#include "test/policy/report_lead_rig.h"

/* The kubelet has not carried out the first lead when the second one is refused: its headroom is
 * cut, and the cgroup keeps what it has. */
static void test_refusal_while_a_lead_is_carried_out(void)
{
	static const uint64_t use[] = {600 * MIB, 780 * MIB, 800 * MIB};
	static const uint64_t room[] = {600 * MIB, 150 * MIB, 600 * MIB / 16};

	WITH(g)
	{
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		g.now += S;
		for (size_t i = 0; i < ARRAY_SIZE(room); i++) {
			grow(&g, use[i], 10 * MIB);
			CHECK(rig_decide(&g));
			CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(use[i]) + room[i]);
			rig_sent(&g);
			CHECK_EQ(rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY),
				 REPORT_CHANGE_RETRY);
			CHECK_EQ(allows(&g, MEM), LIMIT_MAX);
		}
		CHECK(report_lead_denied(g.s, g.now));
		CHECK(!rig_decide(&g));
	}
}

/* An owner's new spec: a value refused before may be sent again. */
static void test_owner_ends_refusal(void)
{
	WITH(g)
	{
		grow(&g, 250 * MIB, 10 * MIB);
		for (size_t i = 0; i < 3; i++) {
			CHECK(rig_decide(&g));
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
		}
		CHECK(report_lead_denied(g.s, g.now));
		rig_res(&g, 0, MEM)->spec_limit = 255 * MIB;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK(!report_lead_denied(g.s, g.now));
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(250 * MIB) + 600 * MIB);
	}
}

/* Refused once, taken with a quarter, refused again after the pause: a sixteenth is tried before
 * nothing is sent. */
static void test_cuts_count_on_after_pause(void)
{
	WITH(g)
	{
		grow(&g, 250 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		g.now += 601 * S;
		grow(&g, 420 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
		CHECK(!report_lead_denied(g.s, g.now));
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM),
			 round_up(420 * MIB + 42 * MIB + 600 * MIB / 16, 4096));
	}
}

/* It is sent without resourceVersion: an owner's newer limit of another container stays, and is
 * seen as one. A managed container whose own limit is too low is raised along with it. */
static void test_sibling_changed_in_between(void)
{
	WITH(g)
	{
		rig_res(&g, 1, MEM)->managed = false;
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_res(&g, 1, MEM)->spec_limit = 512 * MIB;
		g.f.generation++;
		rig_store(&g);
		CHECK_EQ(rig_res(&g, 1, MEM)->spec_limit, 512 * MIB);
		CHECK_EQ(rig_res(&g, 0, MEM)->spec_limit, with_margin(210 * MIB) + 600 * MIB);
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0),
			 REPORT_CHANGE_VERIFY | REPORT_CHANGE_FOREIGN);
		CHECK_EQ(report_foreign(g.s, 0), 0);
		CHECK_EQ(report_foreign(g.s, 1), RESOURCES_MEMORY);
		CHECK_EQ(rig_echo(&g) & REPORT_CHANGE_RATIFIED, REPORT_CHANGE_RATIFIED);
	}
	WITH(g)
	{
		g.c[1].use_bytes = 255 * MIB;
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 1, MEM), with_margin(255 * MIB));
	}
}

/* An external writer stored a lower limit after ours: a foreign value, not a refusal of ours. */
static void test_own_value_changed_in_between(void)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_store(&g);
		rig_res(&g, 0, MEM)->spec_limit = 300 * MIB;
		g.f.generation++;
		CHECK_EQ(rig_answer(&g, REPORT_ANSWER_OK, 0),
			 REPORT_CHANGE_VERIFY | REPORT_CHANGE_FOREIGN);
		CHECK_EQ(report_foreign(g.s, 0), RESOURCES_MEMORY);
		CHECK_EQ(allows(&g, MEM), LIMIT_MAX);
	}
}

/* A lead without an answer may still be stored: what is sent meanwhile is no lower, and names the
 * same containers. */
static void test_unanswered_may_be_stored(void)
{
	WITH(g)
	{
		uint64_t first;

		g.c[1].use_bytes = 255 * MIB;
		grow(&g, 210 * MIB, 50 * MIB);
		CHECK(rig_decide(&g));
		first = rig_limit(&g, 0, MEM);
		CHECK_EQ(first, with_margin(210 * MIB) + 3000 * MIB);
		CHECK_EQ(rig_limit(&g, 1, MEM), with_margin(255 * MIB));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		g.c[1].use_bytes = 100 * MIB;
		grow(&g, 225 * MIB, 10 * MIB);
		for (unsigned i = 0; i < 3; i++) {
			g.now += S;
			CHECK(rig_decide(&g));
			CHECK_EQ(rig_limit(&g, 0, MEM), first);
			CHECK_EQ(rig_limit(&g, 1, MEM), with_margin(255 * MIB));
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		}
		/* An answer shows what was stored. */
		g.now += S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), first);
		rig_accept(&g);
		rig_echo(&g);
		g.now += S;
		grow(&g, first - 10 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK(rig_limit(&g, 0, MEM) > first);
		CHECK_EQ(rig_limit(&g, 1, MEM), 0);
	}
}

/* The server refuses what it had not answered: then less is sent. After a minute no server works on
 * it any more. */
static void test_unanswered_ends(bool refused)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 50 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		grow(&g, 225 * MIB, 10 * MIB);
		g.now += refused ? S : 61 * S;
		CHECK(rig_decide(&g));
		if (refused) {
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
			CHECK(rig_decide(&g));
		}
		CHECK_EQ(rig_limit(&g, 0, MEM),
			 with_margin(225 * MIB) + (refused ? 150 * MIB : 600 * MIB));
	}
}

/* An ordinary resize gets no answer: it is given up, and may be stored all the same. The lead that
 * follows waits for its own answer. */
static void test_overtakes_an_unanswered_one(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, MEM, 4096 * MIB);
		g.now += 60 * S;
		grow(&g, 200 * MIB, 0);
		g.t.ahead_usec = S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 4096 * MIB);
		g.d.patch.leads = false; /* as an ordinary raise */
		rig_sent(&g);
		rig_set_held(&g, 0, MEM, 256 * MIB);
		grow(&g, 245 * MIB, 20 * MIB);
		g.now += S / 2;
		CHECK(!rig_decide(&g));
		CHECK(g.d.overtakes);
		report_abandoned(g.s, g.now);
		CHECK(rig_decide(&g));
		CHECK(g.d.patch.leads);
		CHECK_EQ(rig_limit(&g, 0, MEM), 4096 * MIB);
		rig_sent(&g);
		g.now += 10 * S;
		CHECK(!rig_decide(&g));
		CHECK(!g.d.overtakes);
		CHECK_EQ(g.d.again, 0);
	}
}

/* The quota has no room for all of the headroom: less of it, then none for ten minutes. */
static void test_refusal_cuts_headroom(void)
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
		g.now += S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(390 * MIB) + 600 * MIB);
	}
}

/* The lead and both cuts of it. */
static void refuse_all_headroom(struct report_rig *g)
{
	for (int i = 0; i < 3; i++) {
		CHECK(rig_decide(g));
		rig_sent(g);
		rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
	}
}

/* Use is at the limit of the spec, because growth is denied: the lead is still requested again. */
static void test_denied_growth_is_asked_for_again(void)
{
	WITH(g)
	{
		grow(&g, 245 * MIB, 10 * MIB);
		refuse_all_headroom(&g);
		grow(&g, 250 * MIB, 0);
		CHECK(!rig_decide(&g));
		g.now += g.t.small_usec;
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		rig_accept(&g);
		CHECK(!report_lead_denied(g.s, g.now));
	}
}

/* The quota has room again, and an ordinary raise of memory shows it. */
static void test_ordinary_raise_ends_denial(void)
{
	WITH(g)
	{
		grow(&g, 245 * MIB, 10 * MIB);
		refuse_all_headroom(&g);
		grow(&g, 100 * MIB, 0);
		rig_set_held(&g, 0, MEM, 300 * MIB);
		g.now += g.t.small_usec + g.t.lease_usec;
		CHECK(rig_decide(&g));
		CHECK(!g.d.patch.leads);
		CHECK(rig_limit(&g, 0, MEM) >= 300 * MIB);
		rig_accept(&g);
		CHECK(!report_lead_denied(g.s, g.now));
	}
}

/* The resize that was given up is stored after all, just before the lead: it is no external
 * writer's, in whichever order the watch and the lead's answer show it. */
static void test_given_up_is_stored_late(bool watch_first)
{
	WITH(g)
	{
		struct report_memory *m = &g.s->container[0];
		struct report_facts old;

		rig_set_held(&g, 0, CPU, 900);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 900);
		rig_sent(&g);
		grow(&g, 245 * MIB, 20 * MIB);
		g.now += S / 2;
		CHECK(!rig_decide(&g));
		report_abandoned(g.s, g.now);
		CHECK(rig_decide(&g));
		CHECK(g.d.patch.leads);
		rig_sent(&g);
		rig_res(&g, 0, CPU)->spec_limit = 900;
		g.f.generation++;
		old = g.f;
		if (watch_first)
			CHECK(!(rig_observe(&g) & REPORT_CHANGE_FOREIGN));
		rig_store(&g);
		rig_answer(&g, REPORT_ANSWER_OK, 0);
		CHECK_EQ(m->foreign, 0);
		if (!watch_first)
			report_observed(&g.t, g.s, &old, g.now);
		rig_observe(&g);
		CHECK_EQ(m->foreign, 0);
		CHECK_EQ(m->theirs, 0);
		CHECK_EQ(m->overtaken, 0);
	}
}

/* The same with two leads: the late one's memory limit is not the owner's. */
static void test_late_lead(void)
{
	WITH(g)
	{
		struct report_container then[RIG_CONTAINERS];
		struct report_facts old;

		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		old = g.f;
		memcpy(then, g.c, sizeof then);
		then[0].resource[MEM].spec_limit = rig_limit(&g, 0, MEM);
		old.containers = then;
		old.generation++;
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		grow(&g, 240 * MIB, 50 * MIB);
		g.now += S;
		CHECK(rig_decide(&g));
		rig_sent(&g);
		g.f.generation++; /* the late one */
		rig_store(&g);
		rig_answer(&g, REPORT_ANSWER_OK, 0);
		CHECK(!(report_observed(&g.t, g.s, &old, g.now) & REPORT_CHANGE_FOREIGN));
		CHECK_EQ(g.s->container[0].overtaken, 0);
		CHECK_EQ(g.s->container[0].theirs, 0);
	}
}

/* Two requests have no answer, and the one that is stored at last is the first, or the second. */
static void test_either_is_stored_late(bool first)
{
	WITH(g)
	{
		uint64_t limit[2];

		for (size_t i = 0; i < 2; i++) {
			grow(&g, (210 + 30 * i) * MIB, (10 + 40 * i) * MIB);
			CHECK(rig_decide(&g));
			limit[i] = rig_limit(&g, 0, MEM);
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
			g.now += S;
		}
		CHECK(limit[0] < limit[1]);
		rig_res(&g, 0, MEM)->spec_limit = limit[first ? 0 : 1];
		g.f.generation++;
		CHECK(!(rig_observe(&g) & REPORT_CHANGE_FOREIGN));
		CHECK_EQ(g.s->container[0].theirs, 0);
	}
}

/* But not a value sent long ago. */
static void test_late_ends(void)
{
	WITH(g)
	{
		uint64_t limit;

		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		limit = rig_limit(&g, 0, MEM);
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		g.now += 61 * S;
		grow(&g, 240 * MIB, 50 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_FAILED, 0);
		rig_res(&g, 0, MEM)->spec_limit = limit;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
	}
}

/* A lead that has no answer is sent again as it was while it leaves enough: then there is one value
 * that may be stored late, however often the server fails. */
static void test_sent_again_as_it_was(void)
{
	WITH(g)
	{
		uint64_t limit = 0;
		unsigned values = 0;

		for (size_t i = 0; i < 25; i++) {
			grow(&g, (210 + 10 * i) * MIB, 10 * MIB);
			CHECK(rig_decide(&g));
			values += rig_limit(&g, 0, MEM) != limit;
			limit = rig_limit(&g, 0, MEM);
			CHECK(limit >= with_margin(g.c[0].use_bytes) + 300 * MIB);
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
			g.now += S;
		}
		CHECK_EQ(values, 1);
		grow(&g, 560 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		/* The next one leaves twice as much. */
		CHECK_EQ(rig_limit(&g, 0, MEM), 2 * limit - 256 * MIB);
	}
}

int main(void)
{
	test_refusal_while_a_lead_is_carried_out();
	test_owner_ends_refusal();
	test_cuts_count_on_after_pause();
	test_sibling_changed_in_between();
	test_own_value_changed_in_between();
	test_overtakes_an_unanswered_one();
	test_refusal_cuts_headroom();
	test_denied_growth_is_asked_for_again();
	test_ordinary_raise_ends_denial();
	test_given_up_is_stored_late(true);
	test_given_up_is_stored_late(false);
	test_late_lead();
	test_either_is_stored_late(true);
	test_either_is_stored_late(false);
	test_late_ends();
	test_sent_again_as_it_was();
	test_unanswered_may_be_stored();
	test_unanswered_ends(true);
	test_unanswered_ends(false);
	return check_result();
}

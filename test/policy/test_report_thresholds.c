// SPDX-License-Identifier: Apache-2.0
/* Every number that decides about a lead, with a value on either side of it. */
#include "test/policy/report_lead_rig.h"

#define JUST 1 /* microsecond */

static bool leads(struct report_rig *g, uint64_t use, uint64_t slope)
{
	grow(g, use, slope);
	return rig_decide(g) && g->d.patch.leads;
}

static void lead(struct report_rig *g, uint64_t use, uint64_t slope)
{
	CHECK(leads(g, use, slope));
	rig_fulfil(g);
}

/* The container's limit in the spec, as its owner made it. */
static void original(struct report_rig *g, uint64_t limit)
{
	struct report_resource *x = rig_res(g, 0, MEM);

	x->spec_limit = x->original_limit = x->held = x->actual = limit;
	g->f.observed_generation = ++g->f.generation;
	rig_observe(g);
}

static uint32_t refuse(struct report_rig *g)
{
	rig_sent(g);
	return rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
}

/* Above half of the limit: growth of 10 s decides. */
TEST_RIG(ten_seconds)
{
	CHECK(!leads(g, 206 * MIB, 5 * MIB)); /* 10.0 s from the limit */
	CHECK(leads(g, 206 * MIB, 5 * MIB + 1));
	CHECK(!leads(g, 206 * MIB - 1, 5 * MIB));
	CHECK(leads(g, 206 * MIB + 1, 5 * MIB));
}

/* Less than 10 s from the limit: half of it must be in use, or the limit be 2 s away. */
TEST_RIG(half_of_the_limit_or_two_seconds)
{
	CHECK(!leads(g, 128 * MIB - 1, 13 * MIB));
	CHECK(leads(g, 128 * MIB, 13 * MIB));
	CHECK(!leads(g, 100 * MIB, 78 * MIB - 1));
	CHECK(leads(g, 100 * MIB, 78 * MIB));
}

/* Slow growth: half of the margin stays free, 5 % of use or 8 MiB. */
TEST(half_of_the_margin)
{
	WITH(g)
	{
		uint64_t at = 256 * MIB / 21 * 20; /* and a twentieth of it: the limit */

		CHECK(!leads(&g, at - 4096, 1));
		CHECK(leads(&g, at + 4096, 1));
	}
	WITH(g)
	{
		original(&g, 64 * MIB);
		CHECK(!leads(&g, 56 * MIB, 1));
		CHECK(leads(&g, 56 * MIB + 1, 1));
	}
}

/* Without growth only what the cgroup holds or has above the spec asks for a lead. */
TEST_RIG(no_growth)
{
	g->c[0].replayed = true;
	CHECK(!leads(g, 250 * MIB, 0));
	CHECK(leads(g, 250 * MIB, 1));
	g->c[0].replayed = false;
	rig_res(g, 0, MEM)->held = 256 * MIB + 4096;
	CHECK(leads(g, 250 * MIB, 0));
	rig_res(g, 0, MEM)->held = 256 * MIB;
	CHECK(!leads(g, 250 * MIB, 0));
	rig_res(g, 0, MEM)->actual = 256 * MIB + 4096;
	CHECK(leads(g, 250 * MIB, 0));
}

/* Headroom of a minute is renewed when 30 s of it are left. */
TEST_RIG(half_of_the_headroom)
{
	uint64_t spec;

	lead(g, 206 * MIB, 10 * MIB);
	spec = rig_res(g, 0, MEM)->spec_limit;
	g->now += 2 * S;
	CHECK(!leads(g, spec - 300 * MIB, 10 * MIB));
	CHECK(leads(g, spec - 300 * MIB + 1, 10 * MIB));
}

/* The first headroom covers 20 s, and 10 s of it are left at the renewal. That one and later ones
 * cover a minute, if they come within 90 s: growth that goes on. */
TEST(first_headroom)
{
	static const struct {
		usec_t after;
		uint64_t room;
	} renewals[] = {{2 * S, 600 * MIB}, {90 * S - JUST, 600 * MIB}, {90 * S, 200 * MIB}};

	for (size_t i = 0; i < ARRAY_SIZE(renewals); i++)
		WITH(g)
		{
			uint64_t spec;

			g.t = report_tuning_default;
			CHECK(leads(&g, 210 * MIB, 10 * MIB));
			CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(210 * MIB) + 200 * MIB);
			lead(&g, 210 * MIB, 10 * MIB);
			spec = rig_res(&g, 0, MEM)->spec_limit;
			g.now += renewals[i].after;
			CHECK(!leads(&g, spec - 100 * MIB, 10 * MIB));
			CHECK(leads(&g, spec - 100 * MIB + 1, 10 * MIB));
			CHECK_EQ(rig_limit(&g, 0, MEM),
				 with_margin(spec - 100 * MIB + 1) + renewals[i].room);
		}
	WITH(g)
	{
		g.t = report_tuning_default;
		g.c[0].replayed = true;
		CHECK(leads(&g, 210 * MIB, 10 * MIB));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(210 * MIB) + 600 * MIB);
	}
}

/* What was sent during growth had a minute of room, and is renewed at 30 s of it. After 90 s
 * without a lead it is renewed as the first one is. */
TEST_RIG(growth_that_goes_on)
{
	uint64_t spec;

	g->t = report_tuning_default;
	lead(g, 210 * MIB, 10 * MIB);
	g->now += 20 * S;
	lead(g, rig_res(g, 0, MEM)->spec_limit, 10 * MIB);
	spec = rig_res(g, 0, MEM)->spec_limit;
	g->now += 90 * S - JUST;
	CHECK(!leads(g, spec - 300 * MIB, 10 * MIB));
	CHECK(leads(g, spec - 300 * MIB + 1, 10 * MIB));
	g->now += JUST;
	CHECK(!leads(g, spec - 100 * MIB, 10 * MIB));
	CHECK(leads(g, spec - 100 * MIB + 1, 10 * MIB));
}

/* A cut leaves 15 s, so the next lead is due at 7.5 s; the second cut a quarter of that; the third
 * refusal denies. */
TEST_RIG(after_cuts)
{
	CHECK(leads(g, 206 * MIB, 10 * MIB));
	CHECK_EQ(refuse(g), REPORT_CHANGE_RETRY);
	CHECK(!leads(g, 181 * MIB, 10 * MIB));
	CHECK(leads(g, 181 * MIB + 1, 10 * MIB));
	CHECK_EQ(rig_limit(g, 0, MEM), with_margin(181 * MIB + 1) + 150 * MIB);
	refuse(g);
	CHECK(!leads(g, 256 * MIB - 75 * MIB / 4, 10 * MIB));
	CHECK(leads(g, 256 * MIB - 75 * MIB / 4 + 1, 10 * MIB));
	CHECK(!report_lead_denied(g->s, g->now));
	refuse(g);
	CHECK(report_lead_denied(g->s, g->now));
	g->now += 600 * S - JUST;
	CHECK(!leads(g, 250 * MIB, 10 * MIB));
	g->now += JUST;
	CHECK(leads(g, 250 * MIB, 10 * MIB));
}

/* A cut that is due and cannot be sent denies growth after 9 s. */
TEST_RIG(cut_that_cannot_be_sent)
{
	CHECK(leads(g, 300 * MIB, 10 * MIB));
	rig_accept(g);
	g->f.observed_generation = g->f.generation;
	g->f.pending_infeasible = true;
	g->f.condition_resources = RESOURCES_MEMORY;
	CHECK(rig_observe(g) & REPORT_CHANGE_RETRY);
	CHECK_EQ(g->s->lead, LEAD_CUT_DUE);
	g->now += 9 * S - JUST;
	CHECK(!report_lead_denied(g->s, g->now));
	g->now += JUST;
	CHECK(report_lead_denied(g->s, g->now));
}

/* A second between two leads. */
TEST_RIG(interval)
{
	lead(g, 210 * MIB, 10 * MIB);
	g->now += S - JUST;
	CHECK(!leads(g, 1000 * MIB, 10 * MIB));
	CHECK_EQ(g->d.block, REPORT_BLOCK_INTERVAL);
	CHECK_EQ(g->d.again, g->now + JUST);
	g->now += JUST;
	CHECK(leads(g, 1000 * MIB, 10 * MIB));
}

/* A lead without an answer may be stored for a minute: the next one is no lower until then. */
TEST(unanswered)
{
	for (unsigned i = 0; i < 2; i++)
		WITH(g)
		{
			CHECK(leads(&g, 210 * MIB, 20 * MIB));
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
			g.now += i == 0 ? 60 * S - JUST : 60 * S;
			CHECK(leads(&g, 220 * MIB, 5 * MIB));
			CHECK_EQ(rig_limit(&g, 0, MEM),
				 i == 0 ? with_margin(210 * MIB) + 1200 * MIB
					: with_margin(220 * MIB) + 300 * MIB);
		}
}

/* A lead without an answer is sent again as it was while half of its headroom is left. */
TEST(sent_again)
{
	for (unsigned i = 0; i < 2; i++)
		WITH(g)
		{
			uint64_t first = with_margin(210 * MIB) + 600 * MIB;
			uint64_t use = (first - 300 * MIB) / 11 * 10;

			use = i == 0 ? use - 8192 : use + 8192;
			CHECK(leads(&g, 210 * MIB, 10 * MIB));
			rig_sent(&g);
			rig_answer(&g, REPORT_ANSWER_FAILED, 0);
			g.now += S;
			CHECK(leads(&g, use, 10 * MIB));
			CHECK_EQ(rig_limit(&g, 0, MEM), i == 0 ? first : 2 * first - 256 * MIB);
		}
}

/* A raise that the kubelet finds infeasible: what use and its headroom need stays allowed. */
TEST_RIG(allowed_after_refusal)
{
	rig_set_held(g, 0, MEM, 512 * MIB);
	grow(g, 150 * MIB, 5 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK(!g->d.patch.leads);
	CHECK_EQ(rig_limit(g, 0, MEM), 512 * MIB);
	rig_accept(g);
	g->f.observed_generation = g->f.generation;
	g->f.pending_infeasible = true;
	g->f.condition_resources = RESOURCES_MEMORY;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
	CHECK_EQ(allows(g, MEM), with_margin(150 * MIB) + 300 * MIB);
}

/* Another writer's limit is answered at once when use and growth of 10 s, or half of the margin,
 * do not fit; above the original when 30 s of growth do not. */
TEST(external_limit)
{
	WITH(g)
	{
		g.f.adopting = true;
		grow(&g, 150 * MIB, 2 * MIB);
		CHECK(foreign(&g, 170 * MIB) & REPORT_CHANGE_FOREIGN);
		CHECK(!rig_decide(&g));
		CHECK(foreign(&g, 170 * MIB - 4096) & REPORT_CHANGE_FOREIGN);
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(150 * MIB) + 120 * MIB);
	}
	WITH(g)
	{
		g.f.adopting = true;
		grow(&g, 150 * MIB, 1);
		foreign(&g, 158 * MIB + 4096);
		CHECK(!rig_decide(&g));
		foreign(&g, 158 * MIB - 4096);
		CHECK(rig_decide(&g));
	}
	WITH(g)
	{
		g.f.adopting = true;
		grow(&g, 400 * MIB, 10 * MIB);
		foreign(&g, 700 * MIB);
		CHECK(!rig_decide(&g));
		foreign(&g, 700 * MIB - 4096);
		CHECK(rig_decide(&g));
	}
}

/* Lowers the limit to what is too low, and is answered. */
static void lower_and_answer(struct report_rig *g, uint64_t limit)
{
	CHECK(!(foreign(g, limit) & REPORT_CHANGE_CONTESTED));
	CHECK(rig_decide(g));
	CHECK(g->d.patch.leads);
	rig_fulfil(g);
}

/* Use of 300 MiB, which grows by 2 MiB a second, and headroom in the spec. */
static void begin_contest(struct report_rig *g)
{
	rig_set_held(g, 0, MEM, 400 * MIB);
	lead(g, 300 * MIB, 2 * MIB);
	g->now += S;
}

/* Three answers within ten minutes are sent at once, the fourth waits. */
TEST(three_answers_in_ten_minutes)
{
	for (unsigned i = 0; i < 2; i++)
		WITH(g)
		{
			uint32_t changes;

			begin_contest(&g);
			for (unsigned k = 0; k < 3; k++)
				lower_and_answer(&g, 256 * MIB - k * 4096);
			g.now += i == 0 ? 600 * S - JUST : 600 * S;
			changes = foreign(&g, 256 * MIB - 3 * 4096);
			CHECK_EQ((changes & REPORT_CHANGE_CONTESTED) != 0, i == 0);
			CHECK_EQ(rig_decide(&g), i == 1);
		}
}

/* Into the first pause. */
static void contest(struct report_rig *g)
{
	begin_contest(g);
	for (unsigned k = 0; k < 3; k++)
		lower_and_answer(g, 256 * MIB - k * 4096);
	CHECK(foreign(g, 256 * MIB - 3 * 4096) & REPORT_CHANGE_CONTESTED);
	CHECK(report_contested(g->s, g->now));
}

/* The pauses: 10 s, then twice as long; ten quiet minutes after one end the contest. */
TEST(pauses)
{
	for (unsigned i = 0; i < 2; i++)
		WITH(g)
		{
			contest(&g);
			CHECK(!rig_later(&g, 10 * S - JUST));
			CHECK_EQ(g.d.block, REPORT_BLOCK_CONTESTED);
			CHECK(rig_later(&g, JUST));
			rig_fulfil(&g);
			g.now += i == 0 ? 600 * S - JUST : 600 * S;
			foreign(&g, 256 * MIB);
			CHECK_EQ(report_contested(g.s, g.now), i == 0);
			CHECK_EQ(report_contested(g.s, g.now + 20 * S - JUST), i == 0);
			CHECK(!report_contested(g.s, g.now + 20 * S));
			CHECK_EQ(rig_decide(&g), i == 1);
		}
}

/* A limit with 30 s of growth ends a pause, also where the first lead covered 20 s. */
TEST(limit_that_ends_a_pause)
{
	uint64_t enough = with_margin(300 * MIB) + 60 * MIB;

	for (unsigned i = 0; i < 2; i++)
		WITH(g)
		{
			if (i == 1)
				g.t = report_tuning_default;
			contest(&g);
			g.now += S;
			foreign(&g, enough - 4096);
			CHECK(report_contested(g.s, g.now));
			foreign(&g, enough);
			CHECK(!report_contested(g.s, g.now));
		}
}

/* A lowered limit that keeps a minute of growth begins none. */
TEST(limit_that_is_no_contest)
{
	uint64_t enough = with_margin(300 * MIB) + 120 * MIB;

	for (unsigned i = 0; i < 2; i++)
		WITH(g)
		{
			begin_contest(&g);
			for (unsigned k = 0; k < 3; k++)
				lower_and_answer(&g, 256 * MIB - k * 4096);
			foreign(&g, 2 * enough);
			CHECK_EQ((foreign(&g, enough - i * 4096) & REPORT_CHANGE_CONTESTED) != 0,
				 i == 1);
		}
}

// SPDX-License-Identifier: Apache-2.0
/* Leads: the spec gets a memory limit with headroom before use gets near the present one. */
#include "test/policy/report_lead_rig.h"

/* The first lead is sent at once, alone and first in the queue: before any raise, without a lease.
 */
static void test_goes_before_use_gets_there(void)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900); /* not held for long enough */
		grow(&g, 150 * MIB, 5 * MIB);
		CHECK(!rig_decide(&g)); /* 21 s from the limit */
		grow(&g, 208 * MIB, 5 * MIB);
		CHECK(rig_decide(&g)); /* and now less than 10 s */
		CHECK(g.d.patch.leads);
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(208 * MIB) + 300 * MIB);
		CHECK_EQ(rig_limit(&g, 0, CPU), 0);
		CHECK(rig_item(&g, 1) == NULL);
	}
}

/* A process that starts allocates fast far below its limit, and stops: no resize for that. */
static void test_start_is_no_ramp(void)
{
	WITH(g)
	{
		grow(&g, 60 * MIB, 50 * MIB);
		CHECK(!rig_decide(&g));
		grow(&g, 60 * MIB, 120 * MIB); /* there in less than two seconds */
		CHECK(rig_decide(&g));
	}
}

/* Use that does not grow may be near the limit, unless the cgroup has more than the spec. */
static void test_standstill(void)
{
	WITH(g)
	{
		grow(&g, 250 * MIB, 0);
		CHECK(!rig_decide(&g));
		rig_set_held(&g, 0, MEM, 300 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 300 * MIB); /* no lower than what is held */
	}
}

/* A LimitRange's ratio of limit to request: where the request follows, headroom takes it along, in
 * a lead and in an ordinary resize. */
static void test_ratio(bool leads)
{
	WITH(g)
	{
		uint64_t limit;

		g.f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
		rig_res(&g, 0, MEM)->ratio_permille = 2000;
		rig_res(&g, 0, MEM)->request = 128 * MIB;
		grow(&g, leads ? 208 * MIB : 240 * MIB, leads ? 5 * MIB : 0);
		if (!leads)
			rig_set_held(&g, 0, MEM, 257 * MIB);
		g.now += leads ? 0 : 600 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.patch.leads, leads);
		limit = rig_limit(&g, 0, MEM);
		CHECK(limit > 256 * MIB);
		CHECK_EQ(rig_request(&g, 0, MEM), limit / 2);
		CHECK(rig_item(&g, 1) == NULL || rig_request(&g, 1, MEM) == 0);
	}
}

static void test_ceiling(void)
{
	WITH(g)
	{
		rig_res(&g, 0, MEM)->ceiling = 400 * MIB;
		grow(&g, 200 * MIB, 20 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 400 * MIB);
		rig_accept(&g);
		rig_observe(&g);
		rig_set_held(&g, 0, MEM, 400 * MIB);
		grow(&g, 390 * MIB, 20 * MIB);
		g.now += 20 * S;
		CHECK(!rig_decide(&g)); /* there is no more */
	}
}

/* Renewed when half of the headroom is used, not before, and one a second at most. */
static void test_renewal(void)
{
	WITH(g)
	{
		uint64_t first = with_margin(210 * MIB) + 600 * MIB;

		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		CHECK_EQ(rig_res(&g, 0, MEM)->spec_limit, first);
		rig_set_held(&g, 0, MEM, 500 * MIB);
		g.now += 25 * S;
		grow(&g, 460 * MIB, 10 * MIB);
		CHECK(!rig_decide(&g));
		g.now += 8 * S;
		grow(&g, 540 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(540 * MIB) + 600 * MIB);
		rig_accept(&g);
		rig_echo(&g);
		g.now += S / 2;
		grow(&g, 1100 * MIB, 10 * MIB);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_INTERVAL);
		g.now += S / 2;
		CHECK(rig_decide(&g));
	}
}

/* The server accepts no lower limit afterwards: as little ahead as the kubelet's delay allows. */
static void test_headroom_that_cannot_come_back(void)
{
	WITH(g)
	{
		g.f.observed_generation = 0; /* 1.33 */
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(210 * MIB) + 200 * MIB);
		CHECK_EQ(report_ahead(&g.t, &g.n, &g.f, g.now), 20 * S);
	}
}

/* Growth has ended: the excess is removed after the ordinary lease, down to use and margin. */
static void test_comes_down_by_lease(void)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		rig_set_held(&g, 0, MEM, 270 * MIB);
		grow(&g, 260 * MIB, 0);
		g.now += 59 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_LEASE);
		g.now += 241 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_ORDINARY);
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(260 * MIB));
		rig_accept(&g);
		rig_echo(&g);
		g.now += 600 * S;
		CHECK(!rig_decide(&g)); /* and stays there */
	}
}

/* The lease is over and growth pauses: what is lowered now, the kubelet may write when use has gone
 * on. */
static void test_pause_in_growth(void)
{
	WITH(g)
	{
		g.t.memory_lease_usec = 4 * S;
		g.t.down_interval_usec = g.t.small_usec = 8 * S;
		g.now += 60 * S;
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		rig_set_held(&g, 0, MEM, 400 * MIB);
		grow(&g, 355 * MIB, 10 * MIB);
		grow(&g, 355 * MIB, 0);
		g.now += 29 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_LEASE);
		CHECK_EQ(g.d.again, g.now + S);
		g.now += S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 400 * MIB);
	}
}

/* Growth that another container of the pod has had counts, too: a resize writes all of them. */
static void test_pause_of_a_neighbour(void)
{
	WITH(g)
	{
		g.now += 60 * S;
		rig_res(&g, 0, MEM)->spec_limit = 512 * MIB;
		g.c[1].grew_at = g.now - 20 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.again, g.now + 10 * S);
		g.now += 10 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), 256 * MIB);
	}
}

/* Growth from before the agent's start is not known. */
static void test_fresh_agent_lowers_nothing(void)
{
	WITH(g)
	{
		rig_res(&g, 0, MEM)->spec_limit = 512 * MIB;
		g.now += 29 * S;
		CHECK(!rig_decide(&g));
		g.now += S;
		CHECK(rig_decide(&g));
	}
}

/* A decrease was sent and growth continues: overtaken as soon as it is answered. */
static void test_overtakes_a_lowering(void)
{
	WITH(g)
	{
		g.now += 600 * S;
		rig_res(&g, 0, MEM)->spec_limit = 512 * MIB;
		rig_set_held(&g, 0, MEM, 250 * MIB);
		grow(&g, 245 * MIB, 0);
		g.now += 60 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(245 * MIB));
		rig_sent(&g);
		rig_store(&g);
		grow(&g, 250 * MIB, 20 * MIB);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_SENT);
		CHECK_EQ(g.d.again, g.now + S / 2);
		CHECK(!g.d.overtakes);
		rig_answer(&g, REPORT_ANSWER_OK, 0);
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(250 * MIB) + 1200 * MIB);
	}
}

/* The owner resizes CPU alone: that value is not adopted yet, the memory limit is ours. */
static void test_owner_who_resizes_cpu(void)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_res(&g, 0, CPU)->spec_limit = 700;
		g.f.generation++;
		g.f.adopting = true;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK(!rig_decide(&g)); /* the spec is ahead */
		CHECK_EQ(g.d.block, REPORT_BLOCK_INACTIVE);
		grow(&g, 600 * MIB, 10 * MIB);
		g.now += 2 * S;
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, CPU), 0); /* stays the owner's */
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(600 * MIB) + 600 * MIB);
	}
}

/* The owner's memory limit is too low: answered at once, even right after a resize of ours. */
static void test_owner_who_lowers_memory(void)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_accept(&g);
		rig_echo(&g);
		rig_set_held(&g, 0, MEM, 300 * MIB);
		grow(&g, 215 * MIB, 10 * MIB);
		rig_res(&g, 0, MEM)->spec_limit = 220 * MIB;
		g.f.generation++;
		g.f.adopting = true;
		g.now += S / 10;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK_EQ(report_foreign(g.s, 0), RESOURCES_MEMORY);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(215 * MIB) + 600 * MIB);
		rig_accept(&g);
		CHECK_EQ(report_foreign(g.s, 0), 0); /* our own answer is no external value */
	}
}

/* A value of the owner's that is enough stays. */
static void test_owner_who_raises_memory(void)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 2 * MIB);
		rig_res(&g, 0, MEM)->spec_limit = 512 * MIB;
		g.f.generation++;
		g.f.adopting = true;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK(!rig_decide(&g));
	}
}

/* After a conflict the newer object is about to be seen: retried in a tenth of a second. */
static void test_conflict(void)
{
	WITH(g)
	{
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		rig_sent(&g);
		rig_answer(&g, REPORT_ANSWER_CONFLICT, 0);
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.again, g.now + S / 10);
		g.now += S / 10;
		CHECK(rig_decide(&g));
	}
}

/* A resize of the memory would restart the container: no lead, and nothing else is sent that would
 * replay it. */
static void test_what_may_not_lead(void)
{
	WITH(g)
	{
		rig_res(&g, 0, MEM)->restart = true;
		rig_set_held(&g, 0, MEM, 400 * MIB);
		rig_set_held(&g, 0, CPU, 900);
		grow(&g, 250 * MIB, 10 * MIB);
		g.now += 60 * S;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
	}
}

/* A sibling that a resize would restart uses more than its spec allows. The body leaves it alone,
 * so nothing of it is replayed, and the pod's limit, the sum of the spec, covers both. */
static void test_sibling_above_its_spec(void)
{
	WITH(g)
	{
		uint64_t extra = with_margin(400 * MIB) - 256 * MIB;

		rig_res(&g, 1, MEM)->restart = true;
		rig_set_held(&g, 1, MEM, 512 * MIB);
		g.c[1].use_bytes = 400 * MIB;
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK(rig_item(&g, 1) == NULL);
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(210 * MIB) + 600 * MIB + extra);
		/* Its cgroup allows it no more than it uses. */
		rig_set_held(&g, 1, MEM, 400 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_limit(&g, 0, MEM), with_margin(210 * MIB) + 600 * MIB + 144 * MIB);
		/* Nor has the pod's limit room for both: nothing is sent, and growth is denied. */
		rig_res(&g, 0, MEM)->ceiling = 300 * MIB;
		CHECK(!rig_decide(&g));
		CHECK_EQ(g.d.block, REPORT_BLOCK_UNSAFE);
		CHECK(g.d.blocked);
	}
}

/* A CPU manager may replay at any moment: half of a minute of growth ahead, wherever use stands. */
static void test_replayed(void)
{
	WITH(g)
	{
		g.c[0].replayed = true;
		grow(&g, 60 * MIB, 5 * MIB);
		CHECK(!rig_decide(&g));
		grow(&g, 60 * MIB, 8 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(g.d.urgency, REPORT_LEADS);
	}
}

static void test_guaranteed(void)
{
	WITH(g)
	{
		g.f.guaranteed = true;
		for (size_t i = 0; i < RIG_CONTAINERS; i++)
			for (size_t r = 0; r < RESOURCE_COUNT; r++)
				rig_res(&g, i, r)->spec_request = rig_res(&g, i, r)->spec_limit;
		grow(&g, 210 * MIB, 10 * MIB);
		CHECK(rig_decide(&g));
		CHECK_EQ(rig_request(&g, 0, MEM), rig_limit(&g, 0, MEM));
	}
}

/* A ramp in steps of a tenth of a second, a kubelet that writes the spec 0.1 to 2 s after each
 * change of it, and an owner who changes the CPU limit every 2 s: use never passes what the spec
 * held when the kubelet began to write. */
static void ramp(uint64_t rate, bool replayed)
{
	uint64_t seed = rate, runtime = 64 * MIB;
	usec_t act_at = 0, owner_at = 1000 * S;
	uint64_t ceiling = 1024 * MIB;

	WITH(g)
	{
		struct report_resource *x = rig_res(&g, 0, MEM);

		x->spec_limit = x->original_limit = x->held = x->actual = 64 * MIB;
		x->ceiling = ceiling;
		g.c[0].replayed = replayed;
		rig_observe(&g);
		for (uint64_t use = 4 * MIB; use < 900 * MIB; use += rate / 10) {
			usec_t before = g.f.generation;

			g.now += S / 10;
			grow(&g, use, rate);
			if (use + rate >= x->held)
				rig_set_held(&g, 0, MEM, MIN(use + 3 * rate, ceiling));
			if (g.now >= owner_at) {
				rig_res(&g, 0, CPU)->spec_limit ^= 512;
				g.f.generation++;
				g.f.echoed = false;
				owner_at = g.now + 2 * S;
			}
			rig_observe(&g);
			if (rig_decide(&g))
				rig_accept(&g);
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			if (g.f.generation != before && act_at == 0)
				act_at = g.now + S / 10 + (seed >> 33) % (2 * S);
			if (act_at != 0 && g.now >= act_at) {
				runtime = x->spec_limit; /* the newest, when it acts */
				act_at = 0;
				CHECK(runtime >= use);
				rig_echo(&g);
			}
			CHECK(x->spec_limit >= use + rate / 10);
		}
	}
}

int main(void)
{
	test_goes_before_use_gets_there();
	test_start_is_no_ramp();
	test_standstill();
	test_ratio(true);
	test_ratio(false);
	test_ceiling();
	test_renewal();
	test_headroom_that_cannot_come_back();
	test_comes_down_by_lease();
	test_pause_in_growth();
	test_pause_of_a_neighbour();
	test_fresh_agent_lowers_nothing();
	test_overtakes_a_lowering();
	test_owner_who_resizes_cpu();
	test_owner_who_lowers_memory();
	test_owner_who_raises_memory();
	test_conflict();
	test_what_may_not_lead();
	test_sibling_above_its_spec();
	test_replayed();
	test_guaranteed();
	for (uint64_t rate = 2 * MIB; rate <= 200 * MIB; rate = rate * 5 / 2) {
		ramp(rate, false);
		ramp(rate, true);
	}
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* Leads: the spec gets a memory limit with headroom before use gets near the present one. */
#include "test/policy/report_lead_rig.h"

/* A LimitRange's ratio of limit to request: where the request follows, headroom takes it along, in
 * a lead and in an ordinary resize. */
TEST_RIG_BOTH(ratio, leads)
{
	uint64_t limit;

	g->f.controlled = CONTROLLED_REQUESTS_AND_LIMITS;
	rig_res(g, 0, MEM)->ratio_permille = 2000;
	rig_res(g, 0, MEM)->request = 128 * MIB;
	grow(g, leads ? 208 * MIB : 240 * MIB, leads ? 5 * MIB : 0);
	if (!leads)
		rig_set_held(g, 0, MEM, 257 * MIB);
	CHECK(rig_later(g, leads ? 0 : 600 * S));
	CHECK_EQ(g->d.patch.leads, leads);
	limit = rig_limit(g, 0, MEM);
	CHECK(limit > 256 * MIB);
	CHECK_EQ(rig_request(g, 0, MEM), limit / 2);
	CHECK(rig_item(g, 1) == NULL || rig_request(g, 1, MEM) == 0);
}

/* A decrease was sent and growth continues: overtaken as soon as it is answered. */
TEST_RIG(overtakes_a_lowering)
{
	g->now += 600 * S;
	rig_res(g, 0, MEM)->spec_limit = 512 * MIB;
	rig_set_held(g, 0, MEM, 250 * MIB);
	grow(g, 245 * MIB, 0);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), with_margin(245 * MIB));
	rig_sent(g);
	rig_store(g);
	grow(g, 250 * MIB, 20 * MIB);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_SENT);
	CHECK_EQ(g->d.again, g->now + S / 2);
	CHECK(!g->d.overtakes);
	rig_answer(g, REPORT_ANSWER_OK, 0);
	CHECK(rig_decide(g));
	CHECK_EQ(g->d.urgency, REPORT_LEADS);
	CHECK_EQ(rig_limit(g, 0, MEM), with_margin(250 * MIB) + 1200 * MIB);
}

/* After a conflict the newer object is about to be seen: retried in a tenth of a second. */
TEST_RIG(conflict)
{
	grow(g, 210 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_CONFLICT, 0);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + S / 10);
	CHECK(rig_later(g, S / 10));
}

/* A sibling that a resize would restart uses more than its spec allows. The body leaves it alone,
 * so nothing of it is replayed, and the pod's limit, the sum of the spec, covers both. */
TEST_RIG(sibling_above_its_spec)
{
	uint64_t extra = with_margin(400 * MIB) - 256 * MIB;

	rig_res(g, 1, MEM)->restart = true;
	rig_set_held(g, 1, MEM, 512 * MIB);
	g->c[1].use_bytes = 400 * MIB;
	grow(g, 210 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	CHECK(rig_item(g, 1) == NULL);
	CHECK_EQ(rig_limit(g, 0, MEM), with_margin(210 * MIB) + 600 * MIB + extra);
	/* Its cgroup allows it no more than it uses. */
	rig_set_held(g, 1, MEM, 400 * MIB);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), with_margin(210 * MIB) + 600 * MIB + 144 * MIB);
	/* Nor has the pod's limit room for both: nothing is sent, and growth is denied. */
	rig_res(g, 0, MEM)->ceiling = 300 * MIB;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_UNSAFE);
	CHECK(g->d.blocked);
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

/* A pod whose resize waits for 200 s. */
static void test_hung(struct report_rig *g)
{
	struct report_state other = *g->s;
	struct report_node n = g->n;

	/* A second one shows that it is the node. */
	other.since += 201 * S;
	report_node_learn(&n, &other, g->now + 221 * S);
	CHECK_EQ(n.carry_usec, 20 * S);
	report_node_learn(&n, g->s, g->now + 222 * S);
	CHECK_EQ(n.carry_usec, 30 * S);
}

/* What is measured: the longest time, while it lasts already; half of it counts after 10 min. Lack
 * of room is no slowness. */
TEST(measured)
{
	WITH(g)
	{
		struct report_node *n = &g.n;

		report_node_learn(n, g.s, g.now);
		CHECK_EQ(n->carry_usec, 0);
		accept_raise(&g);
		CHECK_EQ(report_tuned(&g.t, n, g.now).late_usec, 0);
		g.now += 5 * S;
		report_node_learn(n, g.s, g.now);
		CHECK_EQ(report_tuned(&g.t, n, g.now).late_usec, 0);
		g.now += 9 * S;
		report_node_learn(n, g.s, g.now);
		rig_echo(&g);
		CHECK_EQ(report_tuned(&g.t, n, g.now).late_usec, 9 * S);
		CHECK_EQ(report_tuned(&g.t, n, g.now).ahead_usec, 96 * S);
		report_node_learn(n, g.s, g.now + 60 * S);
		CHECK_EQ(n->carry_usec, 14 * S);
		CHECK_EQ(report_tuned(&g.t, n, g.now + 600 * S).late_usec, 2 * S);
		CHECK_EQ(report_tuned(&g.t, n, g.now + 1200 * S).late_usec, 0);
		/* A pod that hangs. */
		rig_set_held(&g, 0, CPU, 1200);
		CHECK(rig_later(&g, 60 * S));
		rig_accept(&g);
		report_node_learn(n, g.s, g.now + S);
		CHECK_EQ(n->carry_usec, 14 * S);
		report_node_learn(n, g.s, g.now + 200 * S);
		CHECK_EQ(n->carry_usec, 15 * S);
		test_hung(&g);
	}
	WITH(g)
	{
		accept_raise(&g);
		g.f.observed_generation = g.f.generation;
		g.f.pending_deferred = true;
		rig_observe(&g);
		report_node_learn(&g.n, g.s, g.now + 100 * S);
		CHECK_EQ(g.n.carry_usec, 0);
	}
}

/* Growth that another container of the pod has had counts, too: a resize writes all of them. */
TEST_RIG(pause_of_a_neighbour)
{
	g->now += 60 * S;
	rig_res(g, 0, MEM)->spec_limit = 512 * MIB;
	g->c[1].grew_at = g->now - 20 * S;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + 10 * S);
	CHECK(rig_later(g, 10 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 256 * MIB);
}

TEST(with_parameters)
{
	for (uint64_t rate = 2 * MIB; rate <= 200 * MIB; rate = rate * 5 / 2) {
		ramp(rate, false);
		ramp(rate, true);
	}
}

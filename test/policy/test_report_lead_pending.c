// SPDX-License-Identifier: Apache-2.0
/* The spec leads, and the kubelet defers the resize, finds it infeasible or fails to carry it out.
 */
#include "test/policy/report_lead_rig.h"

/* The kubelet has observed the newest spec and does not carry it out. */
static uint32_t pend(struct report_rig *g, bool deferred, uint32_t resources)
{
	g->f.observed_generation = g->f.generation;
	g->f.pending_deferred = deferred;
	g->f.pending_infeasible = !deferred;
	g->f.condition_resources = resources;
	return rig_observe(g);
}

static void lead(struct report_rig *g, uint64_t use, uint64_t slope)
{
	grow(g, use, slope);
	CHECK(rig_decide(g));
	CHECK(g->d.patch.leads);
	rig_accept(g);
}

/* The kubelet has no room for the headroom: a quarter, a sixteenth, then growth counts as denied.
 * The cgroup loses nothing, and the third answer is the last for ten minutes. */
TEST_RIG_BOTH(kubelet_refuses_headroom, deferred)
{
	lead(g, 300 * MIB, 10 * MIB);
	for (unsigned i = 1; i <= 2; i++) {
		g->now += S;
		CHECK(pend(g, deferred, RESOURCES_MEMORY) & REPORT_CHANGE_RETRY);
		CHECK(!report_lead_denied(g->s, g->now));
		CHECK(rig_decide(g));
		CHECK_EQ(rig_limit(g, 0, MEM), round_up(330 * MIB + (600 * MIB >> 2 * i), 4096));
		CHECK_EQ(rig_limit(g, 0, CPU), 0);
		rig_accept(g);
		/* A condition of the generation before. */
		CHECK_EQ(rig_observe(g) & ~(uint32_t)REPORT_CHANGE_VERIFY, 0);
		CHECK_EQ(allows(g, MEM), LIMIT_MAX);
	}
	g->now += 2 * S;
	pend(g, deferred, RESOURCES_MEMORY);
	CHECK(!report_lead_denied(g->s, g->now)); /* it may yet have room */
	g->now += S;
	pend(g, deferred, RESOURCES_MEMORY);
	CHECK(report_lead_denied(g->s, g->now));
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
	grow(g, 420 * MIB, 10 * MIB);
	/* What is deferred may be written later: it stays above use. */
	CHECK_EQ(rig_decide(g), deferred);
	if (deferred)
		rig_accept(g);
	for (unsigned i = 0; i < 599; i++) {
		CHECK(!rig_decide(g));
		CHECK_EQ(rig_observe(g) & ~(uint32_t)REPORT_CHANGE_VERIFY, 0);
		g->now += S;
	}
	/* The least is tried once; until the kubelet has it, growth is denied. */
	g->now += S;
	rig_observe(g);
	CHECK(report_lead_denied(g->s, g->now));
	if (rig_decide(g))
		rig_accept(g);
	CHECK_EQ(rig_res(g, 0, MEM)->spec_limit, round_up(462 * MIB + (600 * MIB >> 4), 4096));
	CHECK(report_lead_denied(g->s, g->now));
	g->f.pending_deferred = g->f.pending_infeasible = false;
	rig_echo(g);
	CHECK(!report_lead_denied(g->s, g->now));
}

/* Requests that the server refuses in so many seconds. */
static unsigned refuse_all(struct report_rig *g, bool deferred, unsigned seconds)
{
	unsigned requests = 0;

	for (unsigned i = 0; i < seconds * 10; i++) {
		pend(g, deferred, RESOURCES_MEMORY);
		if (rig_decide(g)) {
			rig_sent(g);
			rig_answer(g, REPORT_ANSWER_REFUSED, RESOURCES_MEMORY);
			requests++;
		}
		g->now += S / 10;
	}
	return requests;
}

/* A LimitRange allows the headroom and no less: the cut is refused each time. */
TEST_RIG_BOTH(server_refuses_cut, deferred)
{
	lead(g, 300 * MIB, 10 * MIB);
	g->now += S;
	CHECK(refuse_all(g, deferred, 60) <= 3);
	CHECK(report_lead_denied(g->s, g->now));
	CHECK(refuse_all(g, deferred, 3600) <= 6);
}

/* Growth has ended, so less headroom is the same value, and there is nothing to send: the kubelet
 * still does not hold what is in use. */
TEST_RIG_BOTH(stuck_without_growth, deferred)
{
	lead(g, 300 * MIB, 10 * MIB);
	grow(g, 300 * MIB, 0);
	g->now += S;
	pend(g, deferred, 0);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), with_margin(300 * MIB));
	rig_accept(g);
	g->now += S;
	pend(g, deferred, 0);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + 3 * S);
	CHECK(!report_lead_denied(g->s, g->now));
	g->now += 3 * S;
	rig_observe(g);
	CHECK(report_lead_denied(g->s, g->now));
	/* For as long as it stands, tried again every ten minutes without a request. */
	for (unsigned i = 0; i < 3000; i++) {
		g->now += S;
		rig_observe(g);
		CHECK(report_lead_denied(g->s, g->now));
		CHECK(!rig_decide(g));
		CHECK(g->d.again == 0 || g->d.again > g->now);
	}
	g->f.pending_deferred = g->f.pending_infeasible = false;
	rig_echo(g);
	CHECK(!report_lead_denied(g->s, g->now));
}

/* A raise of CPU is pending together with the headroom: CPU is withdrawn first, and the headroom
 * counts as denied only if it stays pending alone. */
static void test_cpu_may_be_the_cause(bool deferred, uint32_t named)
{
	WITH(g)
	{
		rig_set_held(&g, 0, CPU, 900);
		CHECK(rig_later(&g, 60 * S));
		rig_accept(&g);
		g.now += S;
		lead(&g, 300 * MIB, 10 * MIB);
		g.now += S;
		CHECK(pend(&g, deferred, named) & REPORT_CHANGE_REFUSED);
		CHECK_EQ(allows(&g, CPU), 500);
		CHECK_EQ(allows(&g, MEM), LIMIT_MAX);
		CHECK(!report_lead_denied(g.s, g.now));
		rig_set_held(&g, 0, CPU, 500);
		CHECK(rig_later(&g, 10 * S));
		CHECK_EQ(rig_limit(&g, 0, CPU), 500);
		CHECK_EQ(rig_after(&g, 0, MEM), with_margin(300 * MIB) + 600 * MIB);
		rig_accept(&g);
		for (unsigned i = 0; i < 3; i++) {
			CHECK(!report_lead_denied(g.s, g.now));
			g.now += 3 * S;
			pend(&g, deferred, 0);
			if (rig_decide(&g))
				rig_accept(&g);
		}
		CHECK(report_lead_denied(g.s, g.now));
	}
}

/* The owner's memory limit of another container is pending together with the headroom: memory that
 * grows is still above what the kubelet holds, and growth is denied. */
TEST_RIG(owners_memory_is_deferred)
{
	lead(g, 300 * MIB, 10 * MIB);
	rig_res(g, 1, MEM)->spec_limit = 64 * GIB;
	g->f.generation++;
	CHECK(rig_observe(g) & REPORT_CHANGE_FOREIGN);
	for (unsigned i = 0; i < 3; i++) {
		CHECK(!report_lead_denied(g->s, g->now));
		g->now += 3 * S;
		pend(g, true, RESOURCES_MEMORY);
		rig_decide(g);
		CHECK(!g->d.send);
	}
	CHECK(report_lead_denied(g->s, g->now));
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
	g->f.pending_deferred = false;
	rig_echo(g);
	CHECK(!report_lead_denied(g->s, g->now));
}

/* Less headroom is due, and the server takes no requests for a minute: the next cut waits for the
 * answer to this one, and meanwhile growth is denied. */
TEST_RIG_BOTH(cut_waits_for_its_answer, sent)
{
	struct report_answer busy = {.kind = REPORT_ANSWER_SLOW_DOWN, .retry_after_usec = 60 * S};

	lead(g, 300 * MIB, 10 * MIB);
	g->now += S;
	pend(g, true, RESOURCES_MEMORY);
	for (unsigned i = 0; i < 60; i++) {
		if (sent && rig_decide(g)) {
			rig_sent(g);
			report_answered(&g->t, &g->n, g->s, &g->f, &busy, g->now);
		}
		CHECK(i < 10 || report_lead_denied(g->s, g->now));
		g->now += S;
		pend(g, true, RESOURCES_MEMORY);
	}
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 330 * MIB + 150 * MIB);
	rig_accept(g);
	CHECK(!report_lead_denied(g->s, g->now));
	g->now += S;
	pend(g, true, RESOURCES_MEMORY);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), round_up(330 * MIB + 600 * MIB / 16, 4096));
}

/* A value withdrawn to what the kubelet holds ends the condition, but not the pause. */
TEST_RIG(pause_outlives_condition)
{
	lead(g, 220 * MIB, 10 * MIB);
	for (unsigned i = 0; i < 2; i++) {
		g->now += S;
		pend(g, false, RESOURCES_MEMORY);
		CHECK(rig_decide(g));
		rig_accept(g);
	}
	g->now += 3 * S;
	pend(g, false, RESOURCES_MEMORY);
	CHECK(report_lead_denied(g->s, g->now));
	grow(g, 150 * MIB, 0);
	CHECK(rig_later(g, 10 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 256 * MIB);
	rig_accept(g);
	g->f.pending_infeasible = false;
	rig_echo(g);
	grow(g, 240 * MIB, 10 * MIB);
	CHECK(!rig_later(g, 60 * S));
	CHECK(report_lead_denied(g->s, g->now));
	CHECK(rig_later(g, 600 * S));
}

/* A new agent finds headroom of its predecessor's that the kubelet has deferred. */
TEST_RIG(new_life_finds_headroom)
{
	struct report_state *s = report_state_new(RIG_CONTAINERS);

	rig_res(g, 0, MEM)->spec_limit = 512 * MIB;
	rig_res(g, 0, MEM)->reported = 300 * MIB;
	g->f.ours = true;
	g->f.generation = g->f.observed_generation = 5;
	g->f.pending_deferred = true;
	g->f.condition_resources = RESOURCES_MEMORY;
	g->f.echoed = false;
	grow(g, 300 * MIB, 0);
	for (unsigned i = 0; i < 4; i++) {
		report_observed(&g->t, s, &g->f, g->now);
		g->now += 3 * S;
	}
	CHECK(report_lead_denied(s, g->now));
	CHECK_EQ(s->container[0].good.limit[MEM], 300 * MIB);
	free(s);
}

static void raise_owners_request(struct report_rig *g)
{
	rig_res(g, 0, CPU)->spec_limit = rig_res(g, 0, CPU)->held = 4000;
	g->f.generation++;
	rig_observe(g);
	rig_echo(g);
	g->f.controlled = CONTROLLED_LIMITS;
	rig_res(g, 0, CPU)->spec_request = 2000;
	g->f.generation++;
	g->f.echoed = false;
	CHECK(rig_observe(g) & REPORT_CHANGE_FOREIGN);
}

/* An owner's CPU request is pending, and a lead follows it: the request cannot be withdrawn, and
 * growth does not end for it. */
static void owner_waits_first(bool deferred, bool error, uint32_t resources)
{
	WITH(g)
	{
		raise_owners_request(&g);
		pend(&g, deferred, resources);
		g.now += 5 * S;
		lead(&g, 210 * MIB, 10 * MIB);
		for (unsigned i = 0; i < 60; i++) {
			g.now += S;
			pend(&g, deferred, resources);
			g.f.progress_error = error;
			g.f.pending_infeasible &= !error;
			rig_observe(&g);
			CHECK_EQ(allows(&g, CPU), LIMIT_MAX);
			if (rig_decide(&g)) {
				CHECK_EQ(rig_limit(&g, 0, CPU), 0);
				CHECK_EQ(rig_request(&g, 0, CPU), 0);
				rig_accept(&g);
			}
		}
		CHECK_EQ(rig_res(&g, 0, CPU)->spec_request, 2000);
		CHECK(report_lead_denied(g.s, g.now));
		/* The kubelet has carried it out: what follows is ours again. */
		g.f.pending_deferred = g.f.pending_infeasible = g.f.progress_error = false;
		rig_echo(&g);
		CHECK_EQ(g.s->container[0].theirs, 0);
	}
}

TEST(owner_was_deferred_before)
{
	owner_waits_first(true, false, RESOURCES_CPU);
	owner_waits_first(false, false, RESOURCES_CPU);
	owner_waits_first(false, true, 0);
}

TEST(with_parameters)
{
	test_cpu_may_be_the_cause(true, 0);
	test_cpu_may_be_the_cause(true, RESOURCES_CPU);
	test_cpu_may_be_the_cause(false, 0);
}

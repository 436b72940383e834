// SPDX-License-Identifier: Apache-2.0
/* What the kubelet makes of a resize, step by step. */
#include "test/policy/report_rig.h"

static void defer(struct report_rig *g, uint32_t resources)
{
	accept_raise(g);
	g->f.observed_generation = 2;
	g->f.pending_deferred = true;
	g->f.condition_resources = resources;
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_REFUSED, 0);
}

/* Where the server does not report the observed generation (1.33), a resize that stays deferred is
 * withdrawn as well, however often the pod is seen. */
TEST_RIG(deferred_on_an_old_server)
{
	unsigned seconds = 0;

	defer(g, RESOURCES_CPU);
	g->f.observed_generation = 0;
	do {
		g->now += S;
		seconds++;
	} while (!(rig_observe(g) & REPORT_CHANGE_REFUSED) && seconds < 600);
	CHECK_EQ(seconds, 300);
}

/* The pending request keeps other pods off the node: after five minutes the former spec goes back,
 * this is reported once, and it is tried again when the refusal ends, or the node has room. */
TEST_RIG_BOTH(deferred_is_withdrawn, room)
{
	defer(g, RESOURCES_CPU);
	g->now += 299 * S;
	CHECK_EQ(rig_observe(g), 0);
	g->now += S;
	CHECK_EQ(rig_observe(g),
		 REPORT_CHANGE_VERIFY | REPORT_CHANGE_REFUSED | REPORT_CHANGE_RETRY);
	CHECK_EQ(allows(g, CPU), 500);
	CHECK_EQ(allows(g, MEM), LIMIT_MAX); /* it was not named */
	CHECK_EQ(rig_observe(g), 0);         /* said once */
	CHECK(rig_decide(g));
	CHECK_EQ(g->d.urgency, REPORT_AT_ONCE);
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	rig_accept(g);
	g->f.pending_deferred = false;
	rig_echo(g);
	CHECK_EQ(g->s->back, BACK_NONE);
	g->now += room ? 20 * S : g->t.refusal_usec + S;
	rig_observe(g);
	CHECK_EQ(allows(g, CPU), room ? 500 : LIMIT_MAX);
	CHECK_EQ(report_retry(g->s, g->now), room);
	CHECK_EQ(report_retry(g->s, g->now), false);
	CHECK_EQ(allows(g, CPU), LIMIT_MAX);
	CHECK(rig_decide(g));
	CHECK(rig_limit(g, 0, CPU) > 500);
}

/* An owner's own resize is not withdrawn. */
TEST_RIG(deferred_of_others)
{
	g->f.generation = g->f.observed_generation = 2;
	rig_res(g, 0, CPU)->spec_limit = 1700;
	g->f.echoed = false;
	g->f.pending_deferred = true;
	rig_observe(g);
	g->now += 3600 * S;
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_REFUSED, 0);
	CHECK_EQ(g->s->back, BACK_NONE);
}

static uint32_t condemn(struct report_rig *g, uint32_t resources)
{
	g->f.observed_generation = g->f.generation;
	g->f.pending_infeasible = true;
	g->f.condition_resources = resources;
	return rig_observe(g) & REPORT_CHANGE_REFUSED;
}

/* Growth that overtook a CPU raise is not to end for want of CPU. */
TEST_RIG(infeasible_for_cpu_alone)
{
	accept_raise(g);
	g->c[0].use_bytes = 400 * MIB;
	CHECK(condemn(g, RESOURCES_CPU));
	CHECK_EQ(allows(g, CPU), 500);
	CHECK_EQ(allows(g, MEM), LIMIT_MAX);
	/* The way back ends above use, and so it does for what has grown meanwhile. */
	rig_set_held(g, 0, MEM, 1024 * MIB);
	g->c[0].use_bytes = 800 * MIB;
	g->c[0].growing = true;
	CHECK(rig_later(g, 10 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	CHECK_EQ(rig_limit(g, 0, MEM), 880 * MIB);
	rig_accept(g);
	/* A kubelet that says it of the old CPU too: no value is to blame, and what the
	 * cgroup holds stays. The memory that went along is not carried out either. */
	for (unsigned i = 0; i < 3; i++) {
		CHECK(!report_lead_denied(g->s, g->now));
		CHECK(!condemn(g, RESOURCES_CPU));
		CHECK_EQ(allows(g, MEM), LIMIT_MAX);
		g->now += 3 * S;
	}
	CHECK(report_lead_denied(g->s, g->now));
	g->c[0].growing = false;
	CHECK(!rig_later(g, 10 * S)); /* it is back as far as use lets it */
	g->f.pending_infeasible = false;
	rig_echo(g);
	CHECK(!report_lead_denied(g->s, g->now));
	CHECK(!rig_decide(g));
}

/* A predecessor's spec as a new agent finds it: CPU 900m, of which the kubelet reports so much, and
 * a pending resize. */
static struct report_state *new_life(struct report_rig *g, uint64_t reported_milli, bool external)
{
	struct report_resource *cpu = rig_res(g, 0, CPU), *memory = rig_res(g, 0, MEM);
	struct report_state *s = report_state_new(RIG_CONTAINERS);

	cpu->spec_limit = cpu->held = cpu->actual = 900;
	cpu->spec_request = 300;
	cpu->reported = reported_milli;
	cpu->reported_request = reported_milli == 900 ? 301 : 200; /* from shares */
	cpu->external = external;
	memory->spec_limit = 512 * MIB;
	memory->reported = 256 * MIB;
	memory->reported_request = memory->spec_request;
	g->f.ours = true;
	g->f.generation = g->f.observed_generation = 5;
	g->f.echoed = false;
	return s;
}

/* The kubelet has carried out the CPU limit long ago: a condition on memory leaves it alone. */
TEST_RIG_BOTH(new_life_keeps_cpu, deferred)
{
	struct report_state *s = new_life(g, 900, false);
	usec_t until;

	g->f.pending_deferred = deferred;
	g->f.pending_infeasible = !deferred;
	for (unsigned i = 0; i < 20; i++) {
		report_observed(&g->t, s, &g->f, g->now);
		CHECK_EQ(report_allows(s, 0, CPU, g->now, &until), LIMIT_MAX);
		report_decide(&g->t, &g->n, s, &g->f, g->now, &g->d);
		CHECK_EQ(rig_limit(g, 0, CPU), 0);
		CHECK_EQ(rig_request(g, 0, CPU), 0);
		g->now += S;
	}
	CHECK_EQ(s->container[0].good.limit[CPU], 900);
	CHECK_EQ(s->container[0].good.request[CPU], 300);
	CHECK_EQ(s->container[0].good.limit[MEM], 256 * MIB);
	free(s);
}

/* It has not: what vscaled sent goes back to what the kubelet reports, which need not be the
 * original; an owner's value stays. */
TEST_RIG_BOTH(new_life_cpu_waits, external)
{
	struct report_state *s = new_life(g, 700, external);

	g->f.pending_infeasible = true;
	g->f.condition_resources = RESOURCES_CPU;
	rig_res(g, 0, MEM)->spec_limit = 256 * MIB;
	report_observed(&g->t, s, &g->f, g->now);
	CHECK_EQ(s->container[0].theirs, external ? RESOURCES_CPU : 0);
	report_decide(&g->t, &g->n, s, &g->f, g->now, &g->d);
	CHECK_EQ(g->d.send, !external);
	CHECK_EQ(rig_limit(g, 0, CPU), external ? 0 : 700);
	free(s);
}

/* CPU does not go back for want of memory; memory ends no lower than the spec does. */
TEST_RIG(infeasible_for_memory_alone)
{
	accept_raise(g);
	g->c[0].use_bytes = 400 * MIB;
	CHECK(condemn(g, RESOURCES_MEMORY));
	CHECK_EQ(allows(g, CPU), LIMIT_MAX);
	CHECK_EQ(allows(g, MEM), 440 * MIB);
	CHECK(rig_later(g, 10 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 440 * MIB);
	rig_accept(g);
	g->f.pending_infeasible = false;
	rig_echo(g);
	CHECK_EQ(allows(g, MEM), 440 * MIB);
	/* CPU is asked for again, memory is not. */
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
	CHECK_EQ(rig_after(g, 0, MEM), 440 * MIB);
}

/* 1.33 does not say which generation a condition means: it gets a moment. */
TEST_RIG(error_without_observed_generation)
{
	g->f.observed_generation = 0;
	accept_raise(g);
	g->f.progress_error = true;
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_REFUSED, 0);
	g->now += 10 * S;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
}

TEST_RIG(admission_makes_less_of_it)
{
	send_raise(g);
	rig_store(g);
	rig_res(g, 0, CPU)->spec_limit = 800;
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), REPORT_CHANGE_REFUSED | REPORT_CHANGE_LOWERED);
	CHECK_EQ(allows(g, CPU), 800);
	rig_echo(g);
	CHECK(!rig_later(g, 60 * S));
}

TEST_RIG(restore_after_refusals)
{
	send_raise(g);
	rig_store(g);
	rig_answer(g, REPORT_ANSWER_OK, 0);
	rig_echo(g);
	g->s->refused_until = g->now + 3600 * S;
	g->f.restoring = true;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	rig_sent(g);
	rig_answer(g, REPORT_ANSWER_REFUSED, 0); /* a pause, then again */
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + 600 * S);
	CHECK(rig_later(g, 600 * S));
}

TEST_RIG(condition_on_a_users_resize)
{
	rig_set_held(g, 0, CPU, 900);
	g->now += 60 * S;
	rig_res(g, 1, CPU)->spec_limit = 20000;
	g->f.generation = g->f.observed_generation = 2;
	g->f.pending_infeasible = true;
	g->f.echoed = false;
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_REFUSED, 0);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_CONDITION);
}

TEST_RIG(deferred_is_waited_for)
{
	defer(g, 0);
	for (int i = 0; i < 4; i++) {
		g->now += 60 * S;
		CHECK_EQ(rig_observe(g), 0);
		CHECK(!rig_decide(g));
		CHECK_EQ(g->d.block, REPORT_BLOCK_ECHO);
		CHECK_EQ(g->d.again, g->s->deferred_since + 300 * S);
	}
	g->f.pending_deferred = false;
	CHECK(rig_echo(g) & REPORT_CHANGE_RATIFIED);
	CHECK_EQ(g->s->deferred_since, 0);
}

/* A deferred resize is replaced by another one, which is deferred too: it has a time of its own. */
TEST_RIG(deferred_again)
{
	defer(g, RESOURCES_CPU);
	rig_set_held(g, 0, CPU, 1200);
	g->now += 290 * S;
	CHECK_EQ(rig_observe(g), 0);
	CHECK(g->s->deferred_since != 0);
	g->s->carry = CARRY_DONE;
	CHECK(rig_decide(g));
	rig_accept(g);
	g->f.observed_generation = g->f.generation;
	g->now += 20 * S;
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_REFUSED, 0);
	g->now += 300 * S;
	CHECK(rig_observe(g) & REPORT_CHANGE_REFUSED);
}

/* A kubelet that is down for longer than vscaled waits, as in an upgrade of the node: the next
 * resize is no longer held back, and the first one is reported when the kubelet has carried it out.
 */
TEST(carried_out_late)
{
	WITH(g)
	{
		accept_raise(&g);
		g.now += g.t.settle_max_usec;
		CHECK_EQ(rig_observe(&g), REPORT_CHANGE_VERIFY);
		CHECK_EQ(rig_observe(&g), 0);
		CHECK(!report_pending(g.s));
		g.now += 600 * S;
		CHECK_EQ(rig_echo(&g), REPORT_CHANGE_VERIFY | REPORT_CHANGE_RATIFIED);
		CHECK_EQ(rig_observe(&g), 0);
	}
	/* An external writer replaces it meanwhile: that is carried out, and not ours. */
	WITH(g)
	{
		accept_raise(&g);
		g.now += g.t.settle_max_usec;
		rig_observe(&g);
		rig_res(&g, 0, CPU)->spec_limit = 1700;
		g.f.generation++;
		CHECK(rig_observe(&g) & REPORT_CHANGE_FOREIGN);
		CHECK_EQ(rig_echo(&g) & REPORT_CHANGE_RATIFIED, 0);
	}
}

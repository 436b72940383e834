// SPDX-License-Identifier: Apache-2.0
/* The rules of policy/report/report.h, one by one, in virtual time. */
#include "test/policy/report_rig.h"

TEST_RIG(lease_starts_anew)
{
	rig_set_held(g, 0, CPU, 900);
	g->now += 59 * S;
	rig_set_held(g, 0, CPU, 1100);
	CHECK(!rig_later(g, 59 * S));
	CHECK(rig_later(g, S));
	CHECK_EQ(rig_limit(g, 0, CPU), 1100);
}

TEST_RIG(room_alone_is_no_change)
{
	g->c[0].use_bytes = 250 * MIB;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NONE);
}

/* A decrease of memory that may come later does not delay other changes. */
TEST_RIG(lower_memory_does_not_block_cpu)
{
	rig_set_held(g, 0, CPU, 900);
	g->now += 59 * S;
	rig_set_held(g, 1, MEM, 200 * MIB);
	CHECK(rig_later(g, S));
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
	CHECK_EQ(rig_after(g, 1, MEM), 256 * MIB);
}

static void ratify(struct report_rig *g, uint64_t cpu)
{
	rig_set_held(g, 0, CPU, cpu);
	CHECK(rig_later(g, 60 * S));
	rig_fulfil(g);
}

TEST_RIG(intervals)
{
	g->t.lease_usec = 0;
	ratify(g, 900);
	rig_set_held(g, 0, CPU, 1200);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_INTERVAL);
	CHECK_EQ(g->d.again, g->now + 10 * S);
	rig_set_held(g, 0, CPU, 600);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + 300 * S);
	CHECK(!rig_later(g, 299 * S));
	CHECK(rig_later(g, S));
	CHECK_EQ(rig_limit(g, 0, CPU), 600);
}

TEST_RIG(small_changes)
{
	g->t.lease_usec = 0;
	ratify(g, 900);
	rig_set_held(g, 0, CPU, 950);
	CHECK(!rig_later(g, 599 * S));
	CHECK_EQ(g->d.block, REPORT_BLOCK_SMALL);
	CHECK_EQ(g->d.again, g->now + S);
	rig_set_held(g, 0, CPU, 990); /* 10 % */
	CHECK(rig_decide(g));
	rig_set_held(g, 0, CPU, 950);
	CHECK(rig_later(g, S));
}

TEST_RIG(one_at_a_time)
{
	rig_set_held(g, 0, CPU, 900);
	CHECK(rig_later(g, 60 * S));
	rig_sent(g);
	rig_store(g);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_SENT);
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), 0);
	rig_set_held(g, 0, CPU, 1500);
	CHECK(!rig_later(g, 60 * S));
	CHECK_EQ(g->d.block, REPORT_BLOCK_ECHO);
	rig_echo(g);
	CHECK(rig_decide(g));
}

TEST_RIG(restoring)
{
	ratify(g, 900);
	g->f.active = false;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_INACTIVE);
	g->f.restoring = true;
	CHECK(rig_decide(g)); /* at once: no lease, no interval */
	CHECK_EQ(g->d.urgency, REPORT_AT_ONCE);
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	rig_fulfil(g);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NONE);
	/* The spec is back and the cgroup is not: ours to write. */
	CHECK(g->d.write);
}

/* One container is no longer managed, the other one is: its originals are sent without a lease, and
 * without the five minutes after the last resize that other decreases wait. */
TEST_RIG(one_is_handed_back)
{
	rig_set_held(g, 0, CPU, 900);
	rig_set_held(g, 1, CPU, 800);
	CHECK(rig_later(g, 60 * S));
	rig_fulfil(g);
	g->now += S;
	for (size_t r = 0; r < RESOURCE_COUNT; r++) {
		rig_res(g, 0, r)->back = true;
		rig_set_held(g, 0, r, rig_res(g, 0, r)->original_limit);
	}
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_INTERVAL);
	CHECK(g->d.again <= g->now + 10 * S);
	CHECK(rig_later(g, 10 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 500);
	CHECK_EQ(rig_after(g, 0, MEM), 256 * MIB);
	CHECK_EQ(rig_limit(g, 1, CPU), 0);
	CHECK_EQ(rig_after(g, 1, MEM), 256 * MIB);
	rig_fulfil(g);
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NONE);
}

TEST_RIG(restoring_keeps_memory_above_use)
{
	rig_set_held(g, 0, MEM, 512 * MIB);
	CHECK(rig_later(g, 60 * S));
	rig_fulfil(g);
	g->f.restoring = true;
	g->c[0].use_bytes = 300 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 330 * MIB);
	rig_fulfil(g);
	/* The original is still owed, also when use grows again. */
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_UNSAFE);
	CHECK_EQ(g->d.again, g->now + g->t.up_interval_usec);
	g->c[0].use_bytes = 320 * MIB;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_UNSAFE);
	/* Not where the server takes no lower limit: it will never stand there. */
	g->n.no_decrease_until = g->now + S;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_NONE);
	g->n.no_decrease_until = 0;
	/* The rest follows when use sinks, and not with every page of it. */
	g->c[0].use_bytes = 299 * MIB;
	CHECK(!rig_decide(g));
	CHECK(!rig_later(g, 300 * S));
	g->c[0].use_bytes = 100 * MIB;
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 256 * MIB);
}

TEST_RIG(not_offered_not_active)
{
	rig_set_held(g, 0, CPU, 900);
	g->now += 60 * S;
	g->f.offered = false;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_OFFERED);
	g->f.offered = true;
	g->f.active = false;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_INACTIVE);
	g->f.active = true;
	g->f.forbidden_until = g->now + S;
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.again, g->now + S);
	CHECK(rig_later(g, S));
}

TEST_RIG(room_ends_at_the_ceiling)
{
	g->c[0].use_bytes = 300 * MIB;
	g->c[0].slope_bps = 100 * MIB;
	rig_res(g, 0, MEM)->ceiling = 400 * MIB;
	rig_set_held(g, 0, MEM, 390 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 400 * MIB);
}

/* Spec and checkpoint have the value, the cgroup does not: no request would change that. */
TEST_RIG(trap)
{
	rig_res(g, 0, CPU)->actual = 300;
	CHECK(!rig_decide(g));
	CHECK(g->d.write);
	rig_res(g, 0, CPU)->actual = 497; /* one percent rounds */
	CHECK(!rig_decide(g));
	CHECK(!g->d.write);
	rig_res(g, 1, MEM)->actual = 128 * MIB;
	CHECK(!rig_decide(g));
	CHECK(g->d.write);
	g->f.echoed = false; /* the kubelet is still at it */
	CHECK(!rig_decide(g));
	CHECK(!g->d.write);
}

// SPDX-License-Identifier: Apache-2.0
/* External writers of the memory limit: one that lowers it again and again, and one that wrote once
 * in between. */
#include "test/policy/report_lead_rig.h"

/* Is the lower limit answered now? */
static bool answers(struct report_rig *g)
{
	if (!rig_decide(g))
		return false;
	CHECK(g->d.patch.leads);
	CHECK(rig_limit(g, 0, MEM) >= with_margin(g->c[0].use_bytes));
	rig_fulfil(g);
	return true;
}

/* Into the first pause: three leads answered a lower limit, the fourth one stays. */
static void contest(struct report_rig *g)
{
	rig_set_held(g, 0, MEM, 400 * MIB);
	grow(g, 300 * MIB, 0);
	CHECK(answers(g));
	for (unsigned i = 0; i < 3; i++) {
		g->now += S;
		foreign(g, 256 * MIB);
		CHECK(answers(g));
	}
	g->now += S;
	CHECK(foreign(g, 256 * MIB) & REPORT_CHANGE_CONTESTED);
	CHECK(report_lead_denied(g->s, g->now));
}

/* The writer sets a limit that is enough: the pause ends with it, growth is no longer denied, and
 * CPU is ratified again. When it lowers the limit again, the next pause is longer. */
TEST_RIG(writer_gives_in)
{
	contest(g);
	g->now += S;
	foreign(g, 280 * MIB); /* not enough */
	CHECK(report_lead_denied(g->s, g->now));
	g->now += S;
	foreign(g, 512 * MIB);
	CHECK(!report_lead_denied(g->s, g->now));
	rig_echo(g);
	rig_set_held(g, 0, CPU, 900);
	rig_set_held(g, 0, MEM, 512 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, CPU), 900);
	rig_fulfil(g);
	CHECK_EQ(foreign(g, 256 * MIB) & REPORT_CHANGE_CONTESTED, 0);
	CHECK(report_lead_denied(g->s, g->now));
	CHECK(!rig_decide(g));
	CHECK_EQ(g->d.block, REPORT_BLOCK_CONTESTED);
	CHECK_EQ(g->d.again, g->now + 20 * S);
}

/* Enough is half of what the next lead covers: of the first one of a growth 20 s. Each lead here is
 * the first of its growth, since they are minutes apart. */
TEST_RIG(first_headroom_is_enough)
{
	g->t.first_ahead_usec = 20 * S;
	grow(g, 240 * MIB, 10 * MIB);
	CHECK(answers(g));
	for (unsigned i = 0; i < 3; i++) {
		g->now += 100 * S;
		foreign(g, 256 * MIB);
		CHECK(answers(g));
		CHECK_EQ(rig_res(g, 0, MEM)->spec_limit, with_margin(240 * MIB) + 200 * MIB);
	}
	g->now += 100 * S;
	CHECK(foreign(g, 256 * MIB) & REPORT_CHANGE_CONTESTED);
	g->now += S;
	foreign(g, with_margin(240 * MIB) + 90 * MIB);
	CHECK(report_lead_denied(g->s, g->now));
	g->now += S;
	foreign(g, with_margin(240 * MIB) + 110 * MIB);
	CHECK(!report_lead_denied(g->s, g->now));
}

/* Four changes within more than ten minutes, and changes that leave enough, are no contest. */
TEST_RIG(seldom)
{
	rig_set_held(g, 0, MEM, 400 * MIB);
	grow(g, 300 * MIB, 0);
	CHECK(answers(g));
	for (unsigned i = 0; i < 20; i++) {
		g->now += 210 * S;
		CHECK(!(foreign(g, 256 * MIB + i * 4096) & REPORT_CHANGE_CONTESTED));
		CHECK(answers(g));
	}
	for (unsigned i = 0; i < 20; i++) {
		g->now += S;
		CHECK(!(foreign(g, (900 - i) * MIB) & REPORT_CHANGE_CONTESTED));
		CHECK(!report_lead_denied(g->s, g->now));
	}
}

/* A lead overwrites an owner's limit that it did not know of. The watch shows that one afterwards,
 * and then ours. */
TEST_RIG(owner_is_overtaken)
{
	uint64_t ours;

	grow(g, 210 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	rig_sent(g);
	g->f.generation++; /* the owner's 2 GiB */
	rig_store(g);
	ours = rig_res(g, 0, MEM)->spec_limit;
	CHECK_EQ(rig_answer(g, REPORT_ANSWER_OK, 0), REPORT_CHANGE_VERIFY | REPORT_CHANGE_FOREIGN);
	CHECK_EQ(report_foreign(g->s, 0), 0);
	/* An object older than both changes is ignored. */
	rig_res(g, 0, MEM)->spec_limit = 256 * MIB;
	g->f.generation -= 2;
	CHECK_EQ(rig_observe(g), 0);
	rig_res(g, 0, MEM)->spec_limit = 2048 * MIB;
	g->f.generation++;
	CHECK_EQ(rig_observe(g), REPORT_CHANGE_FOREIGN);
	CHECK_EQ(rig_observe(g), 0); /* said once */
	CHECK_EQ(report_foreign(g->s, 0), RESOURCES_MEMORY);
	CHECK_EQ(report_foreign(g->s, 1), 0);
	rig_res(g, 0, MEM)->spec_limit = ours;
	g->f.generation++;
	CHECK_EQ(rig_observe(g) & REPORT_CHANGE_FOREIGN, 0);
	CHECK_EQ(report_foreign(g->s, 0), 0); /* our own value */
	/* Adopted, it is what the cgroup holds, and goes into the spec by the lease. */
	rig_echo(g);
	grow(g, 300 * MIB, 0);
	rig_set_held(g, 0, MEM, 2048 * MIB);
	CHECK(rig_later(g, 60 * S));
	CHECK_EQ(rig_limit(g, 0, MEM), 2048 * MIB);
}

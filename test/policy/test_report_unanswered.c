// SPDX-License-Identifier: Apache-2.0
/* Requests without an answer, any of which may be stored later: it must be known as vscaled's. */
#include "test/policy/report_rig.h"

#define FAILS_FOR 58 /* seconds: as long as the first of them may still be stored */

static void grow(struct report_rig *g, uint64_t use, uint64_t slope)
{
	g->c[0].use_bytes = use;
	g->c[0].slope_bps = slope;
	g->c[0].growing = true;
	g->now += S;
}

/* The server fails beside growth; the limits that it was sent. Returns their number. */
static size_t fail(struct report_rig *g, uint64_t slope, uint64_t faster, uint64_t limit[FAILS_FOR])
{
	uint64_t use = 210 * MIB;
	size_t count = 0;

	g->t.first_ahead_usec = report_tuning_default.first_ahead_usec;
	for (uint64_t i = 0; i < FAILS_FOR; i++) {
		use += slope + i * faster;
		grow(g, use, slope + i * faster);
		if (!rig_decide(g))
			continue;
		CHECK(rig_limit(g, 0, MEM) > use);
		if (count == 0 || rig_limit(g, 0, MEM) != limit[count - 1])
			limit[count++] = rig_limit(g, 0, MEM);
		rig_sent(g);
		rig_answer(g, REPORT_ANSWER_FAILED, 0);
	}
	return count;
}

/* Growth of this rate, which gets faster by that much a second. */
static void test_any_is_stored_late(uint64_t slope, uint64_t faster)
{
	uint64_t limit[FAILS_FOR];
	size_t count = 1;

	for (size_t pick = 0; pick < count; pick++)
		WITH(g)
		{
			count = fail(&g, slope, faster, limit);
			CHECK(count > pick && count <= REPORT_LOG_MAX);
			rig_res(&g, 0, MEM)->spec_limit = limit[pick];
			g.f.generation++;
			CHECK(!(rig_observe(&g) & REPORT_CHANGE_FOREIGN));
			CHECK_EQ(g.s->container[0].theirs, 0);
		}
	printf("growth of %llu MiB a second, faster by %llu: %zu values\n",
	       (unsigned long long)(slope / MIB), (unsigned long long)(faster / MIB), count);
}

/* An owner lowers what a lead has raised, and the container grows on. */
static void lowered_by_owner(struct report_rig *g, size_t i, uint64_t to)
{
	struct report_resource *x = rig_res(g, i, MEM);

	x->spec_limit = x->original_limit = x->held = x->actual = to;
	x->limit_owner = OWNER_OTHER;
	g->f.generation++;
	g->now += S;
	CHECK(rig_observe(g) & REPORT_CHANGE_FOREIGN);
	g->f.observed_generation = g->f.generation;
	g->now += S;
	rig_observe(g);
}

static void lead_again(struct report_rig *g)
{
	bool sent = false;

	for (int k = 0; k < 25 && !sent; k++) {
		g->c[0].use_bytes += 2 * MIB;
		g->now += S;
		rig_observe(g);
		sent = rig_decide(g);
	}
	CHECK(sent);
}

/* Once a lead or its copy is stored, a copy without an answer is no reason to undo its owner. */
TEST_RIG_BOTH(owner_after_it_is_stored, copy)
{
	for (size_t i = 0; i < RIG_CONTAINERS; i++) {
		g->c[i].use_bytes = 230 * MIB;
		g->c[i].slope_bps = 5 * MIB;
		g->c[i].growing = true;
	}
	CHECK(rig_later(g, 60 * S));
	rig_sent(g);
	if (!copy)
		rig_store(g);
	rig_answer(g, REPORT_ANSWER_FAILED, 0);
	g->now += 2 * S;
	if (copy) {
		CHECK(rig_decide(g));
		rig_accept(g);
	} else {
		rig_observe(g);
	}
	g->now += S;
	rig_echo(g);
	CHECK(rig_res(g, 1, MEM)->spec_limit > 500 * MIB);
	g->c[0].slope_bps = MIB;
	g->c[1].slope_bps = 0;
	g->c[1].growing = false;
	g->c[1].use_bytes = 120 * MIB;
	lowered_by_owner(g, 1, 300 * MIB);
	lowered_by_owner(g, 0, 240 * MIB);
	lead_again(g);
	CHECK(rig_limit(g, 0, MEM) < 400 * MIB);
	CHECK_EQ(rig_after(g, 1, MEM), 300 * MIB);
}

/* It was stored, as the watch shows: no lead follows what had no answer, but the first of a growth.
 */
TEST_RIG(stored_without_an_answer)
{
	g->t.first_ahead_usec = report_tuning_default.first_ahead_usec;
	rig_set_held(g, 0, MEM, 320 * MIB);
	CHECK(rig_later(g, 60 * S));
	rig_sent(g);
	rig_store(g);
	rig_answer(g, REPORT_ANSWER_FAILED, 0);
	rig_echo(g);
	g->now += 10 * S;
	grow(g, 300 * MIB, 10 * MIB);
	CHECK(rig_decide(g));
	CHECK_EQ(rig_limit(g, 0, MEM), 330 * MIB + 200 * MIB);
}

TEST(with_parameters)
{
	test_any_is_stored_late(MIB, 0);
	test_any_is_stored_late(10 * MIB, 0);
	test_any_is_stored_late(100 * MIB, 0);
	test_any_is_stored_late(500 * MIB, 0);
	test_any_is_stored_late(10 * MIB, MIB);
	test_any_is_stored_late(10 * MIB, 10 * MIB);
}

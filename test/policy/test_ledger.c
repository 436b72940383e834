// SPDX-License-Identifier: Apache-2.0
/* The ledger, rule by rule. Numbers are MiB unless they say otherwise. */
#include "policy/types/reason.h"
#include "test/policy/ledger_world.h"

static uint64_t most(struct world *w, uint32_t entry)
{
	return ledger_most(&w->l, entry, LIMIT_MAX) / MIB;
}

static uint64_t reserve(uint64_t total, uint64_t eviction)
{
	struct tuning_node t = tuning_default.node;

	t.eviction = eviction;
	return ledger_reserve(&t, total);
}

TEST(reserve)
{
	CHECK_EQ(reserve(100 * GIB, 100 * MIB), 5 * GIB);
	CHECK_EQ(reserve(GIB, 100 * MIB), 256 * MIB);
	CHECK_EQ(reserve(GIB, 300 * MIB), 300 * MIB);
	CHECK_EQ(reserve(0, 0), 256 * MIB);
}

/* One call, all that is desired. */
TEST(fits)
{
	struct world w = world(2000);
	struct ledger_verdict v;

	add(&w, 100, 100, 90);
	begin(&w);
	ledger_weigh(&w.l, 0, 400 * MIB, &v);
	CHECK_EQ(v.allowed, 400 * MIB);
	CHECK_EQ(v.room, 1488 * MIB);
	CHECK_EQ(v.kept_for, LEDGER_NO_ENTRY);
	CHECK_EQ(v.holder, LEDGER_NO_ENTRY);
	CHECK_EQ(w.l.outstanding, 0); /* ledger_weigh() grants nothing */
	CHECK_EQ(grant(&w, 0, 400), 400);
	CHECK_EQ(w.l.outstanding, 310 * MIB); /* what it could take from now on */
	CHECK_EQ(w.e[0].denied, 0);
	/* The rest of the room, to the page. */
	CHECK_EQ(ledger_most(&w.l, 0, LIMIT_MAX), (90 + 1488) * MIB);
}

/* Use of a grant is no longer in MemAvailable: it counts once. */
TEST(used_counts_once)
{
	struct world w = world(2000);
	uint64_t before;

	add(&w, 100, 1100, 100);
	add(&w, 100, 100, 90);
	begin(&w);
	CHECK_EQ(w.l.outstanding, 1000 * MIB);
	before = most(&w, 1);
	CHECK_EQ(before, 90 + 488);
	w.e[0].use = 900 * MIB;
	w.node.available = 1200 * MIB;
	begin(&w);
	CHECK_EQ(w.l.outstanding, 200 * MIB);
	CHECK_EQ(most(&w, 1), before);
}

/* The originals exceed the node's memory. Only increases above them count as grants. */
TEST(overcommit)
{
	struct world w = world(1000);

	for (int i = 0; i < 7; i++)
		add(&w, 8000, 8000, 100);
	add(&w, 100, 100, 95);
	begin(&w);
	CHECK_EQ(w.l.outstanding, 0);
	CHECK_EQ(grant(&w, 7, 300), 300);
	CHECK_EQ(w.l.outstanding, 205 * MIB);
	/* A limit above the original of 8000 would have to grant all of it. */
	CHECK_EQ(most(&w, 0), 8000);
	CHECK_EQ(grant(&w, 0, 8001), 8000);
	CHECK_EQ(w.e[0].denied, 8001 * MIB);
}

/* Lowered, then raised again: up to the original no grant is needed. */
TEST(back_to_original)
{
	struct world w = world(400);

	add(&w, 2000, 500, 450);
	begin(&w);
	CHECK_EQ(most(&w, 0), 2000);
	CHECK_EQ(grant(&w, 0, 2000), 2000);
	CHECK_EQ(w.l.outstanding, 0);
	CHECK_EQ(grant(&w, 0, 2500), 2000);
	/* And a desired limit below the held one needs no grant. */
	CHECK_EQ(grant(&w, 0, 300), 300);
	CHECK_EQ(w.e[0].limit, 2000 * MIB);
	CHECK_EQ(w.e[0].denied, 0);
}

TEST(partial)
{
	struct world w = world(812);
	struct ledger_verdict v;

	add(&w, 100, 100, 100);
	add(&w, 100, 350, 150);
	begin(&w);
	/* 812 - 512 - 200 */
	ledger_weigh(&w.l, 0, 900 * MIB, &v);
	CHECK_EQ(v.allowed, 200 * MIB);
	CHECK_EQ(v.available, 812 * MIB);
	CHECK_EQ(v.reserve, 512 * MIB);
	CHECK_EQ(v.outstanding, 200 * MIB);
	CHECK_EQ(v.room, 100 * MIB);
	CHECK_EQ(v.kept, 0);
	CHECK_EQ(v.holder, 1);
	CHECK_EQ(v.holder_bytes, 200 * MIB);
	CHECK_EQ(grant(&w, 0, 900), 200);
	CHECK_EQ(w.e[0].denied, 900 * MIB);
	/* Nothing is left, and less than 1 MiB is not granted. */
	CHECK_EQ(grant(&w, 1, 900), 350);
	w.node.available += MIB / 2;
	w.e[0].denied = w.e[1].denied = 0;
	begin(&w);
	CHECK_EQ(grant(&w, 1, 900), 350);
	w.node.available += MIB;
	w.e[1].denied = 0;
	begin(&w);
	CHECK_EQ(ledger_grant(&w.l, 1, 900 * MIB), 351 * MIB + MIB / 2);
}

/* Below the reserve already: no more than the originals. */
TEST(nothing_left)
{
	struct world w = world(100);

	add(&w, 100, 100, 90);
	add(&w, 300, 200, 150);
	begin(&w);
	CHECK_EQ(grant(&w, 0, 200), 100);
	CHECK_EQ(grant(&w, 1, 900), 300);
	CHECK_EQ(w.l.outstanding, 0);
}

/* Several grants in one tick share the room: no memory is granted twice. */
TEST(one_tick)
{
	struct world w = world(1012);

	for (int i = 0; i < 4; i++)
		add(&w, 100, 100, 100);
	begin(&w);
	CHECK_EQ(grant(&w, 0, 300), 300);
	CHECK_EQ(grant(&w, 1, 300), 300);
	CHECK_EQ(grant(&w, 2, 300), 200);
	CHECK_EQ(grant(&w, 3, 300), 100);
	CHECK_EQ(w.l.outstanding, 500 * MIB);
}

/* Use that is newer than MemAvailable. */
TEST(use_between_reads)
{
	struct world w = world(1512);

	add(&w, 100, 600, 100);
	add(&w, 100, 100, 80);
	begin(&w);
	CHECK_EQ(most(&w, 1), 80 + 500);
	/* Growth within a grant changes nothing for the others, even before the next read. */
	ledger_use(&w.l, 0, 400 * MIB);
	CHECK_EQ(w.l.outstanding, 200 * MIB);
	CHECK_EQ(most(&w, 1), 80 + 500);
	/* What is given back may be gone elsewhere by now. */
	ledger_use(&w.l, 0, 200 * MIB);
	CHECK_EQ(most(&w, 1), 80 + 300);
	/* Below its original limit it takes what was free. */
	ledger_use(&w.l, 1, 100 * MIB);
	CHECK_EQ(most(&w, 1), 100 + 280);
}

/* A container without a limit never gets one, and takes no room. */
TEST(unlimited)
{
	struct world w = world(1000);
	struct ledger_entry *e = add(&w, 0, 0, 300);

	e->limit = e->original = LIMIT_MAX;
	add(&w, 100, 100, 90);
	begin(&w);
	CHECK_EQ(w.l.outstanding, 0);
	CHECK_EQ(ledger_most(&w.l, 0, LIMIT_MAX), LIMIT_MAX);
	CHECK_EQ(most(&w, 1), 90 + 488);
	CHECK(ledger_most(&w.l, 1, LIMIT_MAX) != LIMIT_MAX);
}

/* A grant ends with its container. The successor has to ask again; that much is kept for it from
 * lower ranks. */
TEST(between_lives)
{
	struct world w = world(1512);

	add(&w, 100, 100, 0)->priority = 5;
	w.e[0].denied = 600 * MIB;
	add(&w, 100, 100, 100);
	add(&w, 100, 100, 100)->priority = 9;
	begin(&w);
	CHECK_EQ(w.l.outstanding, 0);
	CHECK_EQ(most(&w, 1), 100 + 400);
	CHECK_EQ(most(&w, 2), 100 + 1000);
	CHECK_EQ(grant(&w, 0, 600), 600);
	CHECK_EQ(w.l.outstanding, 600 * MIB);
	CHECK_EQ(w.l.demand_total, 0);
}

TEST(rank)
{
	struct ledger_entry a = {.priority = 10, .qos = 2, .use = 900}, b = {.qos = 0, .use = 1};

	CHECK(ledger_before(&a, &b) && !ledger_before(&b, &a));
	b.priority = 10;
	CHECK(ledger_before(&b, &a) && !ledger_before(&a, &b));
	b.qos = 2;
	CHECK(ledger_before(&b, &a));
	a.request = 900; /* within its request: no overdraft */
	CHECK(ledger_before(&a, &b));
	b.request = 1;
	CHECK(!ledger_before(&a, &b) && !ledger_before(&b, &a));
	/* Among equals, and only there, an entry that needs memory now comes first. */
	b.priority = 10;
	a.needs = true;
	a.use = 2000;
	CHECK(ledger_before(&a, &b) && !ledger_before(&b, &a));
	a.qos = 3;
	CHECK(ledger_before(&b, &a));
	b.priority = -1;
	CHECK(ledger_before(&a, &b));
}

/* A higher rank was denied: memory that is freed is kept for it, whichever entry asks first. */
TEST(kept_for_denied)
{
	struct world w = world(700);
	struct ledger_verdict v;

	add(&w, 100, 100, 100)->priority = 1;
	add(&w, 100, 100, 100)->priority = 5;
	begin(&w);
	CHECK_EQ(grant(&w, 1, 400), 288);
	w.node.available = 800 * MIB; /* memory was freed */
	begin(&w);
	ledger_weigh(&w.l, 0, 150 * MIB, &v);
	CHECK_EQ(v.allowed, 100 * MIB);
	CHECK_EQ(v.room, 100 * MIB);
	CHECK_EQ(v.kept, 100 * MIB);
	CHECK_EQ(v.kept_for, 1);
	CHECK_EQ(v.holder, 1);
	CHECK_EQ(grant(&w, 1, 400), 388);
	CHECK_EQ(grant(&w, 0, 150), 100);
	/* Nothing is kept for a lower rank that was denied. */
	w.node.available = 850 * MIB;
	begin(&w);
	CHECK_EQ(w.e[0].denied, 150 * MIB);
	CHECK_EQ(grant(&w, 1, 450), 438);
	w.e[1].denied = 0;
	w.node.available = 950 * MIB;
	begin(&w);
	CHECK_EQ(grant(&w, 0, 150), 150);
}

/* The projected growth of a higher rank is kept for it, before any entry is denied. */
TEST(growers_first)
{
	struct world w = world(1012);
	struct ledger_verdict v;

	add(&w, 100, 200, 200);
	add(&w, 100, 200, 200)->priority = 5;
	w.e[1].projected = 600 * MIB;
	begin(&w);
	ledger_weigh(&w.l, 0, 500 * MIB, &v);
	CHECK_EQ(v.allowed, 300 * MIB);
	CHECK_EQ(v.kept, 400 * MIB);
	CHECK_EQ(v.kept_for, 1);
	CHECK_EQ(most(&w, 1), 700);
	/* Among equals nothing is kept. */
	w.e[1].priority = 0;
	w.e[1].request = 150 * MIB;
	begin(&w);
	CHECK_EQ(grant(&w, 0, 500), 500);
}

TEST(equal_rank)
{
	struct world w = world(812);

	add(&w, 100, 200, 200)->request = 200 * MIB;
	add(&w, 100, 200, 200)->request = 100 * MIB;
	w.e[0].denied = 300 * MIB;
	w.e[1].denied = 600 * MIB;
	begin(&w);
	/* Neither needs its denied limit now: nothing is kept. */
	CHECK_EQ(most(&w, 1), 500);
	CHECK_EQ(most(&w, 0), 500);
	/* The second has the larger overdraft: 100 are kept for the first. */
	w.e[0].needs = w.e[1].needs = true;
	w.e[0].urgent = 300 * MIB;
	w.e[1].urgent = 600 * MIB;
	begin(&w);
	CHECK_EQ(most(&w, 1), 400);
	CHECK_EQ(most(&w, 0), 500);
	/* A denied limit that is not needed now is not kept from equals. */
	w.e[0].urgent = 0;
	begin(&w);
	CHECK_EQ(most(&w, 1), 500);
	w.e[0].needs = false;
	begin(&w);
	CHECK_EQ(most(&w, 0), 200);
	w.e[1].needs = false;
	w.e[1].urgent = 0;
	w.e[1].qos = 0;
	begin(&w);
	CHECK_EQ(most(&w, 1), 500);
	CHECK_EQ(most(&w, 0), 200);
}

TEST(soon)
{
	const struct tuning_memory *t = &tuning_default.memory; /* 3 s, 15 % */

	CHECK_EQ(ledger_projected(t, 200 * MIB, 100 * MIB, 0), 0);
	CHECK_EQ(ledger_projected(t, LIMIT_MAX, 100 * MIB, MIB), 0);
	/* Its limit is enough for longer. */
	CHECK_EQ(ledger_projected(t, 200 * MIB, 100 * MIB, MIB), 0);
	CHECK_EQ(ledger_projected(t, 200 * MIB, 196 * MIB, MIB), 230 * MIB);
	CHECK_EQ(ledger_projected(t, 200 * MIB, 100 * MIB, 50 * MIB), 400 * MIB);
	CHECK_EQ(ledger_projected(t, 200, LIMIT_MAX - 2, LIMIT_MAX - 1), LIMIT_MAX - 1);
}

TEST(claims_lapse)
{
	struct ledger_denied c = {0};

	CHECK_EQ(ledger_denied_limit(&c, 100, 0, USEC_PER_SEC), 0);
	c = (struct ledger_denied){.limit = 500, .use = 80, .at = 5 * USEC_PER_SEC};
	CHECK_EQ(ledger_denied_limit(&c, 100, 80, 5 * USEC_PER_SEC), 500);
	CHECK_EQ(ledger_denied_limit(&c, 100, 80, 15 * USEC_PER_SEC - 1), 500);
	CHECK_EQ(ledger_denied_limit(&c, 100, 80, 15 * USEC_PER_SEC), 0);
	CHECK_EQ(ledger_denied_limit(&c, 500, 80, 6 * USEC_PER_SEC), 0);
}

/* An entry whose use has fallen no longer waits. */
TEST(claims_met_by_what_is_freed)
{
	struct ledger_denied c = {.limit = 300, .use = 200, .at = USEC_PER_SEC};

	CHECK_EQ(ledger_denied_limit(&c, 250, 240, USEC_PER_SEC), 300);
	CHECK_EQ(ledger_denied_limit(&c, 250, 151, USEC_PER_SEC), 300);
	CHECK_EQ(ledger_denied_limit(&c, 250, 150, USEC_PER_SEC), 0);
	CHECK_EQ(ledger_denied_limit(&c, 250, 1, USEC_PER_SEC), 0);
	/* A successor begins with nothing, and asks for all of it. */
	c.use = 0;
	CHECK_EQ(ledger_denied_limit(&c, 64, 0, USEC_PER_SEC), 300);
}

/* As a row of enum bound: never below what stands, and cut to it. */
TEST(as_bound)
{
	struct world w = world(612);
	struct bounds b = {.quantum = PAGE_DEFAULT_BYTES};
	struct bound_trace trace;

	add(&w, 100, 100, 100);
	begin(&w);
	b.value[BOUND_LEDGER] = ledger_most(&w.l, 0, 900 * MIB);
	CHECK_EQ(bounds_apply(&b, 900 * MIB, &trace), 200 * MIB);
	CHECK_EQ(trace.count, 1);
	CHECK_EQ(bound_trace_step(&trace, 0).bound, BOUND_LEDGER);
	CHECK_EQ(bound_trace_step(&trace, 0).before, 900 * MIB);
	b.value[BOUND_LEDGER] = ledger_most(&w.l, 0, 150 * MIB);
	CHECK_EQ(bounds_apply(&b, 150 * MIB, &trace), 150 * MIB);
	CHECK_EQ(trace.count, 0);
}

/* Values that no caller should pass. */
TEST(odd)
{
	struct world w = world(2000);

	add(&w, 100, 100, 90);
	add(&w, 100, 0, 90)->limit = LIMIT_MAX - 1;
	add(&w, 100, 100, 0)->use = LIMIT_MAX - 1;
	add(&w, 0, 0, 0)->request = LIMIT_MAX - 1;
	begin(&w);
	CHECK_EQ(w.l.outstanding, w.node.total);
	CHECK_EQ(most(&w, 0), 100);
	CHECK_EQ(ledger_most(&w.l, 1, LIMIT_MAX - 1), LIMIT_MAX - 1);
	ledger_use(&w.l, 1, LIMIT_MAX - 1);
	CHECK_EQ(w.l.node.available, 0);
	CHECK_EQ(most(&w, 3), 0);
	w.count = 0;
	begin(&w);
	CHECK_EQ(w.l.outstanding, 0);
}

/* The limits of the cgroups above bind as well: the one that leaves least, shared by all in it;
 * what it does not leave is not kept of the node's room, and asked of those alone that are in it.
 */
TEST(groups)
{
	struct ledger_group groups[] = {
		{0}, {.available = 500 * MIB}, {.available = 300 * MIB, .above = 1}};
	struct world w = world(4000);
	struct ledger_verdict v;
	struct ledger_ask ask[3];

	w.node.groups = groups;
	add(&w, 100, 100, 100)->above = 2;
	add(&w, 100, 100, 100)->above = 1;
	add(&w, 100, 100, 100);
	w.e[0].priority = 1;
	begin(&w);
	CHECK_EQ(most(&w, 0), 400);
	CHECK_EQ(most(&w, 1), 600);
	CHECK_EQ(grant(&w, 1, 250), 250);
	CHECK_EQ(groups[1].outstanding, 150 * MIB);
	CHECK_EQ(groups[2].outstanding, 0);
	CHECK_EQ(grant(&w, 0, 250), 250);
	CHECK_EQ(groups[1].outstanding, 300 * MIB);
	CHECK_EQ(most(&w, 0), 400);
	CHECK_EQ(grant(&w, 1, 400), 400);
	CHECK_EQ(most(&w, 0), 300);
	ledger_weigh(&w.l, 0, 900 * MIB, &v);
	CHECK_EQ(v.above, 1);
	CHECK_EQ(v.available, 500 * MIB);
	CHECK_EQ(v.outstanding, 450 * MIB);
	CHECK_EQ(v.room, 50 * MIB);
	CHECK_EQ(v.allowed, 300 * MIB);
	w.e[0].needs = true;
	CHECK_EQ(grant(&w, 0, 900), 300);
	CHECK_EQ(w.e[0].denied, 0);
	CHECK_EQ(w.l.demand_total, 0);
	CHECK_EQ(grant(&w, 2, 600), 600);
	CHECK_EQ(ledger_cancel(&w.l, ask, ARRAY_SIZE(ask)), 1);
	CHECK_EQ(ask[0].entry, 1);
	CHECK_EQ(ask[0].to, 100 * MIB);
	w.e[2].limit = 100 * MIB;
	w.e[0].withheld = 0;
	begin(&w);
	groups[2].outstanding = 200 * MIB;
	groups[1].outstanding = 500 * MIB;
	CHECK_EQ(ledger_cancel(&w.l, ask, ARRAY_SIZE(ask)), 0);
	CHECK_EQ(most(&w, 2), 4000 - 512 - 500 + 100);
	/* Use of a grant goes from both. */
	ledger_use(&w.l, 0, 200 * MIB);
	CHECK_EQ(groups[2].available, 200 * MIB);
	CHECK_EQ(groups[1].available, 400 * MIB);
	CHECK_EQ(groups[2].outstanding, 100 * MIB);
	CHECK_EQ(most(&w, 0), 300);
	/* The node's own room is the lower one. */
	w.node.available = 600 * MIB;
	groups[1].outstanding = groups[2].outstanding = 0;
	groups[1].available = groups[2].available = GIB;
	begin(&w);
	ledger_weigh(&w.l, 1, GIB, &v);
	CHECK_EQ(v.above, 0);
}

/* The limits of a pod with a budget add up to no more: also one that returns to its original, which
 * takes nothing of the node. */
TEST(budget)
{
	struct ledger_group groups[] = {{0}, {.available = LIMIT_MAX, .budget = 400 * MIB}};
	struct world w = world(4000);
	struct ledger_verdict v;

	w.node.groups = groups;
	add(&w, 200, 100, 90)->above = 1; /* it has given half of its original back ... */
	add(&w, 100, 250, 40)->above = 1; /* ... which another one was granted */
	add(&w, 100, 100, 100);
	w.e[2].original = w.e[2].limit = LIMIT_MAX; /* it has no limit of its own */
	w.e[2].above = 1;
	begin(&w);
	CHECK_EQ(groups[1].limits, 350 * MIB);
	CHECK_EQ(most(&w, 0), 150);
	CHECK_EQ(grant(&w, 0, 200), 150);
	CHECK_EQ(w.e[0].denied, 0);
	CHECK_EQ(w.e[0].withheld, 200 * MIB);
	CHECK_EQ(groups[1].limits, 400 * MIB);
	CHECK_EQ(most(&w, 1), 250);
	/* A limit that stands is not taken back. */
	groups[1].budget = 300 * MIB;
	CHECK_EQ(most(&w, 1), 250);
	ledger_weigh(&w.l, 0, 200 * MIB, &v);
	CHECK_EQ(v.allowed, 150 * MIB);
	CHECK_EQ(v.above, 1);
	CHECK_EQ(v.room, 0);
}

/* Of two that want more than the budget has, the first by rank gets it; what the other one was
 * granted and does not use is asked back, down to its original. */
TEST(budget_order)
{
	struct ledger_group groups[] = {{0}, {.available = LIMIT_MAX, .budget = 400 * MIB}};
	struct world w = world(4000);
	struct ledger_ask ask[3];

	w.node.groups = groups;
	add(&w, 100, 100, 95)->above = 1;
	add(&w, 100, 200, 60)->above = 1;
	add(&w, 50, 50, 45)->above = 1; /* the whole of the budget but 50 is given */
	w.e[0].needs = w.e[2].needs = true;
	w.e[0].request = 95 * MIB;
	begin(&w);
	CHECK_EQ(grant(&w, 0, 220), 150);
	CHECK_EQ(grant(&w, 2, 80), 50);
	CHECK_EQ(ledger_cancel(&w.l, ask, ARRAY_SIZE(ask)), 1);
	CHECK_EQ(ask[0].entry, 1);
	CHECK_EQ(ask[0].to, 100 * MIB);
	w.e[1].limit = ask[0].to;
	w.e[0].limit = 150 * MIB;
	w.e[0].projected = 220 * MIB;
	groups[1].limits = 0;
	begin(&w);
	/* 70 of the 100 that are free are kept for the first. */
	CHECK_EQ(most(&w, 2), 80);
	CHECK_EQ(most(&w, 0), 250);
}

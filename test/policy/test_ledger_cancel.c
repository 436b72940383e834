// SPDX-License-Identifier: Apache-2.0
/* Which entries the ledger asks to shrink when others were denied. Numbers are MiB unless they say
 * otherwise. */
#include "test/policy/ledger_world.h"

TEST(cancel_unused)
{
	struct world w = world(1000);
	struct ledger_ask asks[ENTRIES];

	add(&w, 100, 100, 100);
	add(&w, 100, 588, 100)->priority = 9; /* holds 488 and does not use it */
	w.e[0].needs = true;
	begin(&w);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 0); /* no entry was denied */
	CHECK_EQ(grant(&w, 0, 300), 100);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 1);
	CHECK_EQ(asks[0].entry, 1);
	CHECK_EQ(asks[0].to, 388 * MIB); /* no more than is missing */
	w.e[1].limit = asks[0].to;
	begin(&w);
	CHECK_EQ(grant(&w, 0, 300), 300);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 0);
}

TEST(cancel_order)
{
	struct world w = world(512);
	struct ledger_ask asks[ENTRIES];

	add(&w, 100, 100, 100)->priority = 5;
	add(&w, 100, 300, 200)->priority = 3;
	add(&w, 100, 300, 200)->priority = 1;
	add(&w, 100, 300, 200)->priority = 9;
	add(&w, 400, 400, 200); /* nothing was granted to it */
	w.e[0].needs = true;
	begin(&w);
	CHECK_EQ(grant(&w, 0, 350), 100);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 3);
	CHECK_EQ(asks[0].entry, 2);
	CHECK_EQ(asks[0].to, 200 * MIB);
	CHECK_EQ(asks[1].entry, 1);
	CHECK_EQ(asks[1].to, 200 * MIB);
	CHECK_EQ(asks[2].entry, 3);
	CHECK_EQ(asks[2].to, 250 * MIB);
	CHECK_EQ(ledger_cancel(&w.l, asks, 1), 1);
	CHECK_EQ(asks[0].entry, 2);
}

/* Never below use, never below the original, never below what it needs. */
TEST(cancel_floor)
{
	struct world w = world(512);
	struct ledger_ask asks[ENTRIES];

	add(&w, 100, 100, 100)->priority = 5;
	add(&w, 300, 400, 150);
	add(&w, 100, 400, 350)->min_limit = 0;
	add(&w, 100, 400, 200)->min_limit = 380 * MIB;
	begin(&w);
	grant(&w, 0, 5000);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 3);
	for (int i = 0; i < 3; i++) {
		static const uint64_t want[] = {0, 300, 350, 380};

		CHECK_EQ(asks[i].to, want[asks[i].entry] * MIB);
	}
}

/* The projected growth of an entry counts as used, except for entries that come before it. */
TEST(cancel_grower)
{
	struct world w = world(512);
	struct ledger_ask asks[ENTRIES];

	add(&w, 100, 100, 100)->priority = 5;
	add(&w, 100, 500, 200);
	w.e[1].projected = 450 * MIB;
	begin(&w);
	grant(&w, 0, 5000);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 1);
	CHECK_EQ(asks[0].to, 200 * MIB);
	w.e[0].needs = w.e[1].needs = true;
	w.e[0].urgent = w.e[0].denied;
	w.e[1].priority = 5;
	w.e[0].request = 0;
	w.e[1].request = 200 * MIB;
	begin(&w);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 1);
	CHECK_EQ(asks[0].to, 450 * MIB);
	/* An entry that was denied itself has nothing to give. */
	w.e[1].denied = 700 * MIB;
	begin(&w);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 0);
}

/* An entry is not asked to shrink below its original. */
TEST(cancel_to_original)
{
	struct world w = world(1000);
	struct ledger_ask asks[ENTRIES];

	add(&w, 1000, 1100, 612); /* 488 outstanding, 100 of it above the original */
	add(&w, 100, 100, 100)->priority = 5;
	begin(&w);
	CHECK_EQ(grant(&w, 1, 500), 100);
	CHECK_EQ(ledger_cancel(&w.l, asks, ENTRIES), 1);
	CHECK_EQ(asks[0].to, 1000 * MIB);
	w.e[0].limit = asks[0].to;
	begin(&w);
	CHECK_EQ(grant(&w, 1, 500), 500);
}

static uint64_t asked_of(struct world *w, uint32_t entry)
{
	struct ledger_ask asks[ENTRIES];
	uint32_t count;

	begin(w);
	count = ledger_cancel(&w->l, asks, ENTRIES);
	for (uint32_t i = 0; i < count; i++)
		if (asks[i].entry == entry)
			return asks[i].to / MIB;
	return 0;
}

/* An entry with urgent need takes an equal's recent peak if that is calm, but not what that needs
 * next. A higher rank takes both, without need; a lower one takes neither. */
TEST(cancel_equal)
{
	struct world w = world(512);

	add(&w, 100, 300, 300)->denied = 5000 * MIB;
	add(&w, 100, 500, 100)->recent_peak = 400 * MIB;
	CHECK_EQ(asked_of(&w, 1), 0);
	w.e[0].needs = true;
	CHECK_EQ(asked_of(&w, 1), 0);
	w.e[0].urgent = 5000 * MIB;
	CHECK_EQ(asked_of(&w, 1), 100);
	w.e[1].next = 250 * MIB;
	CHECK_EQ(asked_of(&w, 1), 250);
	/* Both need memory: the smaller overdraft comes first. */
	w.e[1].needs = true;
	CHECK_EQ(asked_of(&w, 1), 400);
	w.e[0].request = 250 * MIB;
	CHECK_EQ(asked_of(&w, 1), 250);
	w.e[0].priority = 5;
	CHECK_EQ(asked_of(&w, 1), 100);
	w.e[0].needs = false;
	w.e[0].urgent = 0;
	CHECK_EQ(asked_of(&w, 1), 100);
	/* A lower rank with urgent need takes what is above the recent peak. */
	w.e[0].priority = -5;
	CHECK_EQ(asked_of(&w, 1), 0);
	w.e[0].needs = true;
	w.e[0].urgent = 5000 * MIB;
	CHECK_EQ(asked_of(&w, 1), 400);
}

/* All room is kept for an entry that has ended: another one that needs memory gets it from unused
 * grants. */
TEST(cancel_behind_the_ended)
{
	struct world w = world(1512);

	add(&w, 100, 100, 100)->denied = 300 * MIB;
	w.e[0].needs = true;
	w.e[0].urgent = 300 * MIB;
	add(&w, 100, 600, 100)->priority = 5;
	add(&w, 0, 0, 0)->priority = 5;
	w.e[2].denied = 500 * MIB;
	CHECK_EQ(asked_of(&w, 1), 400);
}

/* Entries that have nothing to give take no place on the list. */
TEST(cancel_places)
{
	struct world w = world(1000);
	struct ledger_ask asks[2];

	add(&w, 100, 100, 100)->denied = 2000 * MIB;
	w.e[0].needs = true;
	w.e[0].urgent = 2000 * MIB;
	for (int i = 0; i < 3; i++) {
		struct ledger_entry *e = add(&w, 100, 200, 100);

		e->next = 200 * MIB;
		e->request = i * MIB;
	}
	add(&w, 100, 700, 100)->request = 100 * MIB;
	begin(&w);
	CHECK_EQ(ledger_cancel(&w.l, asks, 2), 1);
	CHECK_EQ(asks[0].entry, 4);
}

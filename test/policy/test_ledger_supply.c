// SPDX-License-Identifier: Apache-2.0
/* What a node has to grant from: MemAvailable, or what the kubelet counts as available. */
#include "test/policy/ledger_world.h"

static struct ledger_node supply(uint64_t total, uint64_t available, uint64_t kubelet,
				 uint64_t eviction)
{
	struct tuning_node t = tuning_default.node;
	struct ledger_node n;

	t.eviction = eviction;
	ledger_supply(&t, total * MIB, available * MIB,
		      kubelet == LIMIT_MAX ? LIMIT_MAX : kubelet * MIB, &n);
	return n;
}

/* The lower of MemAvailable - reserve and the kubelet's figure - (threshold + margin). */
static void test_supply(void)
{
	static const struct {
		uint64_t total, available, kubelet, eviction; /* MiB, or a share */
		uint64_t room, binds;                         /* MiB */
	} rows[] = {
		/* 10 GiB: 512 reserved, 100 + 256 for the kubelet. */
		{10240, 4000, LIMIT_MAX, 100 * MIB, 3488, 0},
		{10240, 4000, 4000, 100 * MIB, 3488, 0},
		{10240, 4000, 3844, 100 * MIB, 3488, 0}, /* the same room */
		{10240, 4000, 3843, 100 * MIB, 3487, 356},
		{10240, 4000, 1000, 100 * MIB, 644, 356},
		{10240, 4000, 356, 100 * MIB, 0, 356},
		{10240, 4000, 0, 100 * MIB, 0, 356},
		{10240, 4000, 1000, 0, 744, 256},
		/* A share is of all memory: 1024 + 256, and the reserve is that, too. */
		{10240, 4000, 4000, AMOUNT_SHARE | 100, 2720, 1280},
		{10240, 1100, 4000, AMOUNT_SHARE | 100, 76, 0},
		/* 2 GiB: 256 reserved, 100 + 128 for the kubelet. */
		{2048, 900, 700, 100 * MIB, 472, 228},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct ledger_node n =
			supply(rows[i].total, rows[i].available, rows[i].kubelet, rows[i].eviction);

		CHECK_EQ(n.total, rows[i].total * MIB);
		CHECK_EQ(n.available - MIN(n.available, n.reserve), rows[i].room * MIB);
		CHECK_EQ(n.eviction, rows[i].binds * MIB);
	}
	CHECK_EQ(supply(10240, 4000, 4000, AMOUNT_SHARE | 100).reserve, GIB);
	CHECK_EQ(supply(2048, 900, 700, 100 * MIB).reserve, 256 * MIB);
}

/* A refusal is reported with the figures of the bound that made it. */
static void test_kubelet_bound(void)
{
	struct world w = world(4000);
	struct ledger_verdict v;

	add(&w, 100, 100, 90);
	w.node = supply(10240, 4000, 1000, 100 * MIB);
	begin(&w);
	ledger_weigh(&w.l, 0, 2000 * MIB, &v);
	CHECK(v.kubelet);
	CHECK_EQ(v.available, 1000 * MIB);
	CHECK_EQ(v.reserve, 356 * MIB);
	CHECK_EQ(v.room, 644 * MIB);
	CHECK_EQ(v.allowed, (90 + 644) * MIB);
	CHECK_EQ(grant(&w, 0, 2000), 90 + 644);
	w.node = supply(10240, 700, 1000, 100 * MIB);
	w.e[0].limit = 100 * MIB;
	begin(&w);
	ledger_weigh(&w.l, 0, 2000 * MIB, &v);
	CHECK(!v.kubelet);
	CHECK_EQ(v.available, 700 * MIB);
	CHECK_EQ(v.reserve, 512 * MIB);
}

int main(void)
{
	test_supply();
	test_kubelet_bound();
	return check_result();
}

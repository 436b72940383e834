// SPDX-License-Identifier: Apache-2.0
/* What a node has to grant from: MemAvailable, or what the kubelet counts as available. */
#include "test/policy/ledger_world.h"

static struct ledger_node supply(uint64_t total, uint64_t available, uint64_t kubelet,
				 uint64_t eviction)
{
	struct tuning_node t = tuning_default.node;
	struct ledger_node n;
	const struct ledger_kubelet k = {kubelet == LIMIT_MAX ? LIMIT_MAX : kubelet * MIB,
					 LIMIT_MAX};

	t.eviction = eviction;
	ledger_supply(&t, total * MIB, available * MIB, &k, &n);
	return n;
}

/* The lower of MemAvailable - reserve and the kubelet's figure - (threshold + margin). */
TEST(supply)
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
TEST(kubelet_bound)
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

/* The limit of all pods bounds them alone: what the node has besides is for its units. */
TEST(pods_bound)
{
	static const struct {
		uint64_t available, kubelet, pods; /* MiB */
		uint64_t for_pods, for_units;
		bool kubelets;
	} rows[] = {
		{4000, LIMIT_MAX, LIMIT_MAX, 3488, 3488, false},
		{4000, 4000, 4000, 3488, 3488, false},
		{4000, 4000, 1000, 644, 3488, true},
		{4000, 2000, 1000, 644, 1644, true},
		{4000, 1000, 2000, 644, 644, true},
		{4000, 4000, 356, 0, 3488, true},
		{4000, 4000, 0, 0, 3488, true},
		{700, 4000, 1000, 188, 188, false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct ledger_kubelet k = {
			rows[i].kubelet == LIMIT_MAX ? LIMIT_MAX : rows[i].kubelet * MIB,
			rows[i].pods == LIMIT_MAX ? LIMIT_MAX : rows[i].pods * MIB};
		struct world w = world(4000);
		struct ledger_verdict v;

		add(&w, 100, 100, 100);
		add(&w, 100, 100, 100);
		w.e[0].pod = true;
		ledger_supply(&tuning_default.node, 10240 * MIB, rows[i].available * MIB, &k,
			      &w.node);
		begin(&w);
		ledger_weigh(&w.l, 0, 9000 * MIB, &v);
		CHECK_EQ(v.room, rows[i].for_pods * MIB);
		CHECK_EQ(v.available - v.reserve, rows[i].for_pods * MIB);
		CHECK_EQ(v.allowed, (100 + rows[i].for_pods) * MIB);
		CHECK_EQ(v.kubelet, rows[i].kubelets);
		CHECK_EQ(ledger_evicts(&w.node), rows[i].kubelets);
		ledger_weigh(&w.l, 1, 9000 * MIB, &v);
		CHECK_EQ(v.allowed, (100 + rows[i].for_units) * MIB);
	}
}

/* A unit's grants are not the pods', and it is asked for nothing when pods are short. */
TEST(pods_apart)
{
	const struct ledger_kubelet k = {4000 * MIB, 1000 * MIB};
	struct ledger_ask ask[4];
	struct world w = world(4000);

	add(&w, 100, 1100, 100); /* a unit, a pod, and one that grows */
	add(&w, 100, 500, 100);
	add(&w, 100, 100, 100);
	w.e[1].pod = w.e[2].pod = true;
	w.e[2].needs = true;
	ledger_supply(&tuning_default.node, 10240 * MIB, 4000 * MIB, &k, &w.node);
	begin(&w);
	CHECK_EQ(w.l.pods_outstanding, 400 * MIB);
	CHECK_EQ(grant(&w, 2, 500), 100 + 644 - 400);
	CHECK_EQ(w.l.pods_outstanding, 644 * MIB);
	CHECK_EQ(ledger_cancel(&w.l, ask, ARRAY_SIZE(ask)), 1);
	CHECK_EQ(ask[0].entry, 1);
	CHECK_EQ(ask[0].to, (500 - 156) * MIB);
	/* What it uses is taken from what is left to pods at once. */
	ledger_use(&w.l, 2, 300 * MIB);
	CHECK_EQ(w.l.node.pods, 444 * MIB);
	CHECK_EQ(w.l.pods_outstanding, 444 * MIB);
	ledger_use(&w.l, 0, 200 * MIB);
	CHECK_EQ(w.l.node.pods, 444 * MIB);
}

/* What a unit waits for takes nothing of what is left to pods. */
TEST(pods_beside_a_unit)
{
	const struct ledger_kubelet k = {9000 * MIB, 1000 * MIB};
	struct world w = world(9000);
	struct ledger_verdict v;

	add(&w, 100, 100, 100); /* a unit, of higher rank, and a pod */
	add(&w, 100, 100, 100);
	w.e[0].qos = 0;
	w.e[0].projected = 2100 * MIB;
	w.e[0].needs = true;
	w.e[1].pod = true;
	ledger_supply(&tuning_default.node, 10240 * MIB, 9000 * MIB, &k, &w.node);
	begin(&w);
	CHECK_EQ(ledger_most(&w.l, 1, 200 * MIB), 200 * MIB);
	ledger_weigh(&w.l, 1, 9000 * MIB, &v);
	CHECK_EQ(v.allowed, (100 + 644) * MIB);
	CHECK_EQ(v.kept, 0);
	CHECK_EQ(v.kept_for, LEDGER_NO_ENTRY);
	/* Another pod's does. */
	w.e[0].pod = true;
	w.e[0].projected = 400 * MIB;
	begin(&w);
	ledger_weigh(&w.l, 1, 9000 * MIB, &v);
	CHECK_EQ(v.allowed, (100 + 644 - 300) * MIB);
	CHECK_EQ(v.kept, 300 * MIB);
	CHECK_EQ(v.kept_for, 0);
}

/* What a pod waits for is kept from a unit as far as pods can be given it. */
TEST(unit_beside_a_pod)
{
	const struct ledger_kubelet k = {9000 * MIB, 1000 * MIB};
	struct world w = world(9000);
	struct ledger_verdict v;
	uint64_t room;

	add(&w, 100, 100, 100); /* a unit, and a pod of higher rank */
	add(&w, 100, 100, 100);
	w.e[1].pod = true;
	w.e[1].qos = 0;
	ledger_supply(&tuning_default.node, 10240 * MIB, 9000 * MIB, &k, &w.node);
	begin(&w);
	ledger_weigh(&w.l, 0, 20000 * MIB, &v);
	room = v.allowed - 100 * MIB;
	w.e[1].projected = 5100 * MIB;
	w.e[1].needs = true;
	begin(&w);
	ledger_weigh(&w.l, 0, 20000 * MIB, &v);
	CHECK_EQ(v.allowed, 100 * MIB + room - 644 * MIB);
	CHECK_EQ(v.kept, 644 * MIB);
	CHECK_EQ(v.kept_for, 1);
	/* Nothing is left to pods. */
	w.node.pods = 0;
	begin(&w);
	ledger_weigh(&w.l, 0, 20000 * MIB, &v);
	CHECK_EQ(v.allowed, 100 * MIB + room);
	CHECK_EQ(v.kept_for, LEDGER_NO_ENTRY);
}

// SPDX-License-Identifier: Apache-2.0
/* The laws of several containers over one node's ledger, in virtual time. */
#include "test/check.h"
#include "test/policy/node.h"

#define TOTAL (4 * GIB)

static struct node n;

/* Four of different priority; the first one is read first and has the lowest. */
static void start(uint64_t bps, uint64_t goal)
{
	static const int32_t priorities[] = {0, 10, 100, 1000};
	static const struct policy_rule rule = {.mode = MODE_AUTO,
						.resources = RESOURCES_BOTH,
						.scale_down = true,
						.mem_bytes = {.max = 3 * GIB}};

	node_init(&n, TOTAL, 700 * MIB);
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		const struct pod_bounds pod = {.priority = priorities[i], .qos = 1};
		struct rig *r = node_add(&n, 128 * MIB, 60 * MIB);

		r->sim.load = sim_steady(1, 200);
		sim_grow(&r->sim, bps, goal);
		r->wakes = true;
		control_set_rule(&r->c, &rule);
		control_set_pod(&r->c, &pod);
	}
}

static void show(const char *name)
{
	printf("%s: MemAvailable - reserve never below %lld MiB, %u gave back\n", name,
	       ((long long)n.lowest - (long long)n.reserve) / (long long)MIB, n.gave_back);
	for (uint32_t i = n.count; i-- > 0;) {
		const struct rig *r = &n.rig[i];

		printf("  priority %4d: use %4llu limit %4llu kills %u full after %.1f\n",
		       r->c.pod.priority, (unsigned long long)sim_unreclaimable(&r->sim) / MIB,
		       (unsigned long long)r->c.kernel.mem_max / MIB, n.life[i].kills,
		       n.life[i].full_at ? (double)(n.life[i].full_at - USEC_PER_HOUR) / 1e6 : 0);
	}
}

TEST(enough)
{
	start(50 * MIB, 500 * MIB);
	node_run(&n, USEC_PER_MIN);
	show("enough for all");
	CHECK(n.lowest >= n.reserve);
	for (uint32_t i = 0; i < n.count; i++) {
		CHECK(n.life[i].kills == 0 && n.life[i].full_at != 0);
		CHECK(n.rig[i].c.denial.since == 0);
	}
}

/* Containers are OOM-killed at their limits in the order of the ranks, from the lowest. */
static void test_short(uint64_t bps, const char *name)
{
	start(bps, 1200 * MIB);
	node_run(&n, 10 * USEC_PER_MIN);
	show(name);
	CHECK(n.lowest >= n.reserve);
	CHECK(n.rig[0].c.denial.since != 0);
	CHECK_EQ(n.life[n.count - 1].kills, 0);
	CHECK(n.life[n.count - 1].full_at != 0);
	for (uint32_t i = 1; i < n.count; i++) {
		CHECK(n.life[i].kills <= n.life[i - 1].kills);
		CHECK(n.life[i - 1].full_at == 0 || n.life[i].full_at <= n.life[i - 1].full_at);
	}
}

/* A denied increase is reported, and granted as soon as the memory is free. */
TEST(reported)
{
	struct control *c = &n.rig[0].c;
	struct control_resource *res = &c->resource[RESOURCE_MEMORY];
	const struct ledger_verdict *v = &c->denial.verdict;

	start(0, 60 * MIB);
	n.system = TOTAL - 4 * 60 * MIB - n.reserve - 100 * MIB;
	sim_grow(&n.rig[0].sim, 10 * MIB, 110 * MIB);
	node_run(&n, 10 * USEC_PER_SEC);
	CHECK_EQ(n.life[0].kills, 0);
	sim_grow(&n.rig[0].sim, MIB, 500 * MIB);
	for (int i = 0; i < 900 && res->blocked != BLOCKED_LEDGER; i++)
		node_tick(&n);
	CHECK_EQ(res->blocked, BLOCKED_LEDGER);
	CHECK(!res->at_ceiling);
	CHECK(traced(res, BOUND_LEDGER));
	CHECK(control_denied(c, n.rig[0].sim.now));
	CHECK(v->allowed < v->desired && v->room < v->desired && v->reserve == n.reserve);
	CHECK(c->denied.limit > c->kernel.mem_max);
	n.system -= 600 * MIB;
	node_run(&n, 2 * USEC_PER_MIN);
	CHECK(res->blocked != BLOCKED_LEDGER && c->kernel.mem_max > 200 * MIB);
	CHECK(!control_denied(c, n.rig[0].sim.now));
	CHECK_EQ(n.life[0].kills, 0);
}

/* A container with a large unused grant gives it back once another one needs it, and no sooner. */
static void hoard(struct rig *r, uint64_t limit)
{
	struct limits *l = &r->sim.u.limits;

	l->mem_max = limit;
	r->c.kernel = *l;
	r->c.resource[RESOURCE_MEMORY].limit = limit;
}

TEST(hoarder)
{
	start(0, 60 * MIB);
	node_run(&n, 2 * USEC_PER_SEC);
	hoard(&n.rig[3], 2600 * MIB);
	node_run(&n, USEC_PER_MIN);
	CHECK_EQ(n.rig[3].c.kernel.mem_max, 2600 * MIB);
	sim_grow(&n.rig[0].sim, 20 * MIB, 1000 * MIB);
	node_run(&n, 2 * USEC_PER_MIN);
	show("a higher rank that does not use its grant");
	CHECK(n.gave_back > 0);
	CHECK(n.rig[3].c.kernel.mem_max < 2000 * MIB);
	CHECK_EQ(n.rig[3].c.resource[RESOURCE_MEMORY].last.reason, REASON_GIVEN_BACK);
	CHECK(n.life[0].full_at != 0 && n.life[0].kills == 0);
	CHECK(n.lowest >= n.reserve);
}

/* Page cache fills what it was granted: taking it back needs a shrink trial, and
 * no container is OOM-killed. */
TEST(cached)
{
	uint64_t before;

	start(0, 60 * MIB);
	n.rig[3].t.memory.shrink_quiet_usec = n.rig[3].t.memory.shrink_interval_usec = USEC_PER_SEC;
	n.rig[3].t.common.start_quiet_usec = 0;
	n.rig[3].t.memory.high_watch_usec = n.rig[3].t.memory.verdict_usec = USEC_PER_SEC;
	node_run(&n, 2 * USEC_PER_SEC);
	hoard(&n.rig[3], 2600 * MIB);
	n.rig[3].sim.load.cache_bps = 100 * MIB;
	n.rig[3].sim.load.cache_set = 2530 * MIB;
	node_run(&n, USEC_PER_MIN);
	n.rig[3].sim.load.cache_bps = 0;
	before = n.rig[3].c.kernel.mem_max;
	sim_grow(&n.rig[0].sim, MIB, 1000 * MIB);
	node_run(&n, 10 * USEC_PER_MIN);
	show("a higher rank full of page cache");
	CHECK(n.rig[3].c.kernel.mem_max < before);
	CHECK(n.rig[3].sim.m.file < 2530 * MIB);
	CHECK_EQ(n.rig[3].sim.write_kills, 0);
	CHECK_EQ(n.life[0].kills, 0);
	CHECK(n.lowest >= n.reserve);
}

/* scale-down: false applies to grants, too. */
TEST(keeps)
{
	struct policy_rule rule;

	start(0, 60 * MIB);
	rule = n.rig[3].c.rule;
	rule.scale_down = false;
	control_set_rule(&n.rig[3].c, &rule);
	node_run(&n, 2 * USEC_PER_SEC);
	hoard(&n.rig[3], 2600 * MIB);
	sim_grow(&n.rig[0].sim, 20 * MIB, 1000 * MIB);
	node_run(&n, USEC_PER_MIN);
	CHECK_EQ(n.rig[3].c.kernel.mem_max, 2600 * MIB);
	CHECK(n.lowest >= n.reserve);
}

/* A grant ends with its container: the successor of one that dies on a full node waits. */
TEST(successor)
{
	struct rig *r = &n.rig[0];
	uint64_t held;

	start(0, 60 * MIB);
	node_run(&n, 2 * USEC_PER_SEC);
	hoard(r, 1500 * MIB);
	r->sim.m.anon = r->sim.load.anon_goal = 1000 * MIB;
	node_tick(&n);
	r->sim.load.anon_goal = 60 * MIB;
	held = r->c.resource[RESOURCE_MEMORY].limit;
	CHECK(held >= 1500 * MIB);
	control_lost(&r->c, r->sim.now);
	n.life[0].back_at = r->sim.now + USEC_PER_SEC;
	r->sim.m.anon = 0;
	node_tick(&n);
	CHECK_EQ(n.entry[0].limit, 128 * MIB);
	CHECK(n.entry[0].denied >= 1000 * MIB && n.entry[0].denied < 1010 * MIB);
	CHECK(!n.entry[0].needs);
	n.system = TOTAL - n.reserve - 3 * 60 * MIB - 700 * MIB;
	node_run(&n, 2 * USEC_PER_SEC);
	CHECK(r->c.kernel.mem_max <= 700 * MIB);
	CHECK(r->c.kernel.mem_max > 500 * MIB);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].limit, r->c.kernel.mem_max);
	CHECK(control_denied(&r->c, r->sim.now));
	CHECK_EQ(n.entry[0].denied, held);
	CHECK(!n.entry[0].needs);
	CHECK(node_slack(&n) >= 0);
}

/* A container that has ended leaves what it used to the ledger, also where a pass saw the memory
 * freed before the cgroup was gone. */
TEST(ended)
{
	struct rig *r = &n.rig[0];
	struct control *c = &r->c;
	struct ledger_entry e;

	start(0, 60 * MIB);
	node_run(&n, 2 * USEC_PER_SEC);
	hoard(r, 1500 * MIB);
	r->sim.m.anon = r->sim.load.anon_goal = 1000 * MIB;
	node_tick(&n);
	r->sim.m.anon = r->sim.load.anon_goal = 0;
	node_tick(&n);
	CHECK_EQ(n.entry[0].use, 0);
	control_lost(c, r->sim.now);
	control_ledger_waiting(c, r->sim.now, &e);
	CHECK(e.denied >= 1000 * MIB && e.denied < 1100 * MIB);
	CHECK(!e.needs && e.use == 0 && e.limit == 128 * MIB);
	/* The API server reports the kill later. */
	c->mem.oom_record = 1800 * MIB;
	control_ledger_waiting(c, r->sim.now, &e);
	CHECK_EQ(e.denied, 1800 * MIB);
	c->mem.oom_record = 0;
	/* A successor that ends before it was seen leaves what its predecessor left. */
	control_restarted(c, &c->original, r->sim.now);
	rig_resume(r);
	control_lost(c, r->sim.now + USEC_PER_SEC);
	control_ledger_waiting(c, r->sim.now + USEC_PER_SEC, &e);
	CHECK(e.denied >= 1000 * MIB);
	control_ledger_waiting(c, r->sim.now + 10 * USEC_PER_SEC, &e);
	CHECK_EQ(e.denied, 0);
}

/* Denied growth needs memory for as long as it stands where it was stopped, and not for ever. */
TEST(stands_denied)
{
	struct control *c = &n.rig[0].c;
	struct ledger_entry e;
	usec_t now;

	start(0, 60 * MIB);
	node_run(&n, 2 * USEC_PER_SEC);
	now = n.rig[0].sim.now;
	c->denied = (struct ledger_denied){.limit = 400 * MIB, .use = 60 * MIB, .at = now};
	control_ledger_entry(c, &n.rig[0].t, now, &e);
	CHECK_EQ(e.denied, 400 * MIB);
	CHECK(!e.needs); /* 60 of 128 */
	c->kernel.mem_high = 64 * MIB;
	control_ledger_entry(c, &n.rig[0].t, now, &e);
	CHECK(e.needs);
	control_ledger_entry(c, &n.rig[0].t, now + 3 * USEC_PER_SEC, &e);
	CHECK(!e.needs && e.denied == 400 * MIB);
	c->denied.ahead = true;
	control_ledger_entry(c, &n.rig[0].t, now, &e);
	CHECK(!e.needs && e.denied == 400 * MIB);
}

TEST(with_parameters)
{
	test_short(10 * MIB, "10 MiB/s");
	test_short(50 * MIB, "50 MiB/s");
	test_short(100 * MIB, "100 MiB/s");
}

// SPDX-License-Identifier: Apache-2.0
/* The laws of four containers over one node's ledger, in virtual time. */
#include "policy/bounds.h"
#include "test/check.h"
#include "test/policy/rig.h"

#define RIGS  4
#define TOTAL (4 * GIB)

struct node {
	struct rig rig[RIGS];
	struct ledger ledger;
	struct ledger_entry entry[RIGS];
	uint64_t system;
	uint64_t reserve;
	uint64_t lowest;
	uint32_t kills[RIGS];
	usec_t full_at[RIGS];
	uint64_t oom_seen[RIGS];
};

static uint64_t available(const struct node *n)
{
	uint64_t used = n->system;

	for (int i = 0; i < RIGS; i++)
		used += sim_unreclaimable(&n->rig[i].sim);
	return used < TOTAL ? TOTAL - used : 0;
}

static void begin(struct node *n)
{
	struct ledger_node figures = {
		.total = TOTAL, .available = available(n), .reserve = n->reserve};

	for (int i = 0; i < RIGS; i++)
		control_ledger_entry(&n->rig[i].c, &n->rig[i].t, n->rig[i].sim.now, &n->entry[i]);
	ledger_begin(&n->ledger, &figures, n->entry, RIGS);
}

static void restart(struct node *n, int i)
{
	struct rig *r = &n->rig[i];
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x = rig_context(r, &p);

	n->kills[i]++;
	r->sim.u.limits.mem_max = r->c.resource[RESOURCE_MEMORY].original;
	rig_restart(r);
	begin(n);
	x.ledger = &n->ledger;
	control_reassert(&r->c, &r->sim.u.limits, RESOURCE_MEMORY, &x);
	rig_apply(r, &p);
	n->oom_seen[i] = 0;
}

static void give_back(struct node *n)
{
	struct ledger_ask asks[RIGS];
	uint32_t count;

	begin(n);
	count = ledger_cancel(&n->ledger, asks, RIGS);
	for (uint32_t i = 0; i < count; i++) {
		struct rig *r = &n->rig[asks[i].entry];
		struct change steps[RIG_STEPS];
		struct plan p = {.steps = steps, .capacity = RIG_STEPS};
		struct control_context x = rig_context(r, &p);

		CHECK(asks[i].to >= n->entry[asks[i].entry].use);
		control_give_back(&r->c, &x, asks[i].to);
		rig_apply(r, &p);
	}
}

static void tick(struct node *n, usec_t tick_usec)
{
	for (int i = 0; i < RIGS; i++) {
		struct rig *r = &n->rig[i];

		sim_run(&r->sim, tick_usec);
		r->now_real += tick_usec;
		r->tick_usec = tick_usec;
	}
	CHECK(available(n) >= n->reserve);
	n->lowest = MIN(n->lowest, available(n) - MIN(available(n), n->reserve));
	begin(n);
	for (int i = 0; i < RIGS; i++) {
		struct rig *r = &n->rig[i];
		struct change steps[RIG_STEPS];
		struct plan p = {.steps = steps, .capacity = RIG_STEPS};
		struct control_context x = rig_context(r, &p);
		struct usage u;

		x.ledger = &n->ledger;
		sim_observe(&r->sim, &u);
		control_observe(&r->c, &u, &x);
		if (r->sim.now >= r->next_review) {
			r->next_review = r->sim.now + r->review_usec;
			control_review(&r->c, &x);
		}
		rig_apply(r, &p);
		if (r->sim.m.anon >= r->sim.load.anon_goal && n->full_at[i] == 0)
			n->full_at[i] = r->sim.now;
	}
	for (int i = 0; i < RIGS; i++)
		if (n->rig[i].sim.u.events.oom_kill > n->oom_seen[i])
			restart(n, i);
	give_back(n);
}

static void start(struct node *n, uint64_t bps, uint64_t goal)
{
	static const int32_t priorities[RIGS] = {0, 10, 100, 1000};
	static const struct policy_rule rule = {.mode = MODE_AUTO,
						.resources = RESOURCES_BOTH,
						.scale_down = true,
						.mem_bytes = {.max = 3 * GIB}};

	memset(n, 0, sizeof *n);
	n->system = 700 * MIB;
	n->lowest = UINT64_MAX;
	n->reserve = ledger_reserve(TOTAL, 100 * MIB);
	for (int i = 0; i < RIGS; i++) {
		struct rig *r = &n->rig[i];
		const struct pod_bounds pod = {.priority = priorities[i], .qos = 1};

		rig_init(r, 1000, 128 * MIB, 4);
		r->c.target = (uint32_t)i;
		r->sim.m.anon = 60 * MIB;
		r->sim.load.anon_bps = bps;
		r->sim.load.anon_goal = goal;
		control_set_rule(&r->c, &rule);
		control_set_pod(&r->c, &pod);
	}
}

static void show(const struct node *n, const char *name)
{
	printf("%s: lowest %llu MiB\n", name, (unsigned long long)n->lowest / MIB);
	for (int i = RIGS - 1; i >= 0; i--)
		printf("  priority %4d: use %4llu limit %4llu kills %u full after %.1f\n",
		       n->rig[i].c.pod.priority,
		       (unsigned long long)sim_unreclaimable(&n->rig[i].sim) / MIB,
		       (unsigned long long)n->rig[i].c.kernel.mem_max / MIB, n->kills[i],
		       n->full_at[i] ? (double)(n->full_at[i] - n->rig[i].c.started_at) / 1e6 : 0);
}

static struct node n;

static void run(usec_t span)
{
	for (usec_t t = 0; t < span; t += 100 * USEC_PER_MSEC)
		tick(&n, 100 * USEC_PER_MSEC);
}

static void test_enough(void)
{
	start(&n, 50 * MIB, 500 * MIB);
	run(USEC_PER_MIN);
	show(&n, "enough for all");
	for (int i = 0; i < RIGS; i++)
		CHECK(n.kills[i] == 0 && n.full_at[i] != 0);
}

/* The simulated kernel kills at the limit at once: there is no brake. */
static void test_short(uint64_t bps, const char *name)
{
	start(&n, bps, 1200 * MIB);
	run(10 * USEC_PER_MIN);
	show(&n, name);
	CHECK_EQ(n.kills[RIGS - 1], 0);
	CHECK(n.full_at[RIGS - 1] != 0);
	for (int i = 1; i < RIGS; i++)
		CHECK(n.kills[i] <= n.kills[i - 1]);
}

/* What is refused is said, and given as soon as it is there. */
static void test_told(void)
{
	struct control_resource *res = &n.rig[0].c.resource[RESOURCE_MEMORY];
	bool traced = false;

	start(&n, 0, 60 * MIB);
	n.system = TOTAL - 4 * 60 * MIB - n.reserve - 100 * MIB;
	n.rig[0].sim.load.anon_bps = 10 * MIB;
	n.rig[0].sim.load.anon_goal = 140 * MIB;
	run(10 * USEC_PER_SEC);
	CHECK_EQ(n.kills[0], 0);
	n.rig[0].sim.load.anon_goal = 500 * MIB;
	n.rig[0].sim.load.anon_bps = MIB;
	for (int i = 0; i < 600 && !res->at_ceiling; i++)
		run(100 * USEC_PER_MSEC);
	CHECK(res->at_ceiling);
	for (uint32_t i = 0; i < res->trace.count; i++)
		traced = traced || res->trace.step[i].bound == BOUND_LEDGER;
	CHECK(traced);
	CHECK(n.rig[0].c.claim.limit > n.rig[0].c.kernel.mem_max);
	n.system -= 600 * MIB;
	run(USEC_PER_MIN);
	CHECK(!res->at_ceiling && n.rig[0].c.kernel.mem_max > 200 * MIB);
	CHECK_EQ(n.kills[0], 0);
}

int main(void)
{
	test_enough();
	test_short(10 * MIB, "10 MiB/s");
	test_short(50 * MIB, "50 MiB/s");
	test_short(250 * MIB, "250 MiB/s");
	test_told();
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/*
 * Four greedy containers of different priority on a node of 4 GiB that holds two of them, in
 * virtual time: the laws, the ledger and a simulated kernel. The same figures on every machine. A
 * name ends in the growth of each in MiB a second.
 */
#include "test/policy/node.h"
#include <stdio.h>

#define TOTAL (4 * GIB)
#define GOAL  (1200 * MIB)
#define SPAN  (10 * USEC_PER_MIN)

static const int32_t priorities[] = {0, 10, 100, 1000};
static struct node n;
static usec_t began;

static void start(uint64_t rate)
{
	struct policy_rule rule = policy_rule_default;

	rule.mem_bytes.max = 3 * GIB;
	node_init(&n, TOTAL, 700 * MIB);
	for (size_t i = 0; i < ARRAY_SIZE(priorities); i++) {
		const struct pod_bounds pod = {.priority = priorities[i], .qos = 1};
		struct rig *r = node_add(&n, 128 * MIB, 60 * MIB);

		r->sim.load = sim_steady(1, 200);
		r->sim.load.anon_bps = rate * MIB;
		r->sim.load.anon_goal = GOAL;
		r->wakes = true;
		control_set_rule(&r->c, &rule);
		control_set_pod(&r->c, &pod);
		began = r->sim.now;
	}
}

static void figure(const char *what, uint64_t rate, double value, const char *unit)
{
	printf("{\"name\":\"ledger_greedy_%s_%u\",\"value\":%.1f,\"unit\":\"%s\"}\n", what,
	       (unsigned)rate, value, unit);
}

static void show(uint64_t rate)
{
	char name[48];

	figure("lowest_above_reserve", rate, ((double)n.lowest - (double)n.reserve) / (double)MIB,
	       "MiB");
	for (uint32_t i = 0; i < n.count; i++) {
		snprintf(name, sizeof name, "kills_priority%d", priorities[i]);
		figure(name, rate, n.life[i].kills, "kills");
		snprintf(name, sizeof name, "full_priority%d", priorities[i]);
		if (n.life[i].full_at != 0)
			figure(name, rate,
			       (double)(n.life[i].full_at - began) / (double)USEC_PER_SEC, "s");
	}
}

int main(void)
{
	static const uint64_t rates[] = {10, 50, 100};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++) {
		start(rates[i]);
		node_run(&n, SPAN);
		show(rates[i]);
	}
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "test/policy/node.h"
#include <string.h>

#define TICK_USEC (100 * USEC_PER_MSEC)

void node_init(struct node *n, uint64_t total, uint64_t system)
{
	memset(n, 0, sizeof *n);
	n->total = total;
	n->system = system;
	n->reserve = ledger_reserve(&tuning_default.node, total);
	n->down_usec = 3 * USEC_PER_SEC;
	n->lowest = n->reads.base = LIMIT_MAX;
}

static struct ledger *fresh(struct rig *r)
{
	struct node *n = r->user;

	node_begin(n);
	return &n->ledger;
}

struct rig *node_add(struct node *n, uint64_t mem_max, uint64_t use)
{
	struct rig *r = &n->rig[n->count];

	rig_init(r, 1000, mem_max, 4);
	r->c.target = n->count++;
	r->tick_usec = TICK_USEC;
	r->sim.m.anon = r->sim.load.anon_goal = use;
	r->ledger = fresh;
	r->user = n;
	return r;
}

static uint64_t used(const struct node *n)
{
	uint64_t sum = n->system;

	for (uint32_t i = 0; i < n->count; i++)
		sum += sim_unreclaimable(&n->rig[i].sim);
	return sum;
}

uint64_t node_available(const struct node *n)
{
	return n->total - MIN(n->total, used(n));
}

static void fill(const struct node *n, uint32_t i, struct ledger_entry *ret)
{
	const struct rig *r = &n->rig[i];

	if (n->life[i].back_at != 0)
		control_ledger_waiting(&r->c, r->sim.now, ret);
	else
		control_ledger_entry(&r->c, &r->t, r->sim.now, ret);
}

int64_t node_slack(const struct node *n)
{
	int64_t slack = (int64_t)n->total - (int64_t)used(n) - (int64_t)n->reserve;

	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t use = sim_unreclaimable(&n->rig[i].sim);
		struct ledger_entry e;

		fill(n, i, &e);
		if (e.limit != LIMIT_MAX && e.limit > e.original && e.limit > use)
			slack -= (int64_t)(e.limit - use);
	}
	return slack;
}

void node_begin(struct node *n)
{
	struct ledger_node figures = {
		.page_bytes = PAGE_DEFAULT_BYTES,
		.total = n->total,
		.available = ledger_read(&n->reads, n->ledger.node.available, node_available(n)),
		.reserve = n->reserve,
	};

	for (uint32_t i = 0; i < n->count; i++)
		fill(n, i, &n->entry[i]);
	ledger_begin(&n->ledger, &figures, n->entry, n->count);
}

void node_end(struct node *n, uint32_t i)
{
	struct rig *r = &n->rig[i];

	n->life[i].back_at = r->sim.now + n->down_usec;
	r->sim.m.anon = r->sim.m.file = r->sim.m.kernel = 0;
	control_lost(&r->c, r->sim.now);
}

static void die(struct node *n, uint32_t i)
{
	n->life[i].kills++;
	if (n->life[i].first_kill == 0)
		n->life[i].first_kill = n->rig[i].sim.now;
	node_end(n, i);
}

static void revive(struct node *n, uint32_t i)
{
	struct rig *r = &n->rig[i];

	n->life[i].back_at = 0;
	n->life[i].kills_seen = 0;
	r->sim.u.limits.mem_max = r->c.original.mem_max;
	r->sim.u.limits.mem_high = r->c.original.mem_high;
	rig_restart(r);
	rig_resume(r);
}

static void pass(struct node *n, uint32_t i)
{
	struct rig *r = &n->rig[i];

	if (n->life[i].back_at == 0) {
		rig_pass(r);
		return;
	}
	r->sim.now += TICK_USEC;
	r->now_real += TICK_USEC;
}

static void reflex(struct node *n, uint32_t i)
{
	struct rig *r = &n->rig[i];

	if (n->life[i].back_at != 0) {
		if (r->sim.now >= n->life[i].back_at)
			revive(n, i);
		return;
	}
	rig_decide(r);
	if (r->sim.load.anon_goal > 0 && r->sim.m.anon >= r->sim.load.anon_goal &&
	    n->life[i].full_at == 0)
		n->life[i].full_at = r->sim.now;
	if (r->sim.u.events.oom_kill > n->life[i].kills_seen)
		die(n, i);
	n->life[i].kills_seen = r->sim.u.events.oom_kill;
}

static void give_back(struct node *n)
{
	struct ledger_ask asks[NODE_RIGS];
	uint32_t count;

	node_begin(n);
	count = ledger_cancel(&n->ledger, asks, NODE_RIGS);
	for (uint32_t i = 0; i < count; i++) {
		struct rig *r = &n->rig[asks[i].entry];
		struct change steps[RIG_STEPS];
		struct plan p = {.steps = steps, .capacity = RIG_STEPS};
		struct control_context x = rig_context(r, &p);

		if (n->life[asks[i].entry].back_at != 0)
			continue;
		control_give_back(&r->c, &x, asks[i].to);
		n->gave_back += p.count > 0;
		rig_apply(r, &p);
	}
}

void node_tick(struct node *n)
{
	uint64_t now;

	for (uint32_t i = 0; i < n->count; i++)
		pass(n, i);
	now = node_available(n);
	n->lowest = MIN(n->lowest, now);
	for (uint32_t i = 0; i < n->count; i++)
		reflex(n, i);
	ledger_passed(&n->reads, n->ledger.node.available, now);
	give_back(n);
}

void node_run(struct node *n, usec_t span)
{
	for (usec_t t = 0; t < span; t += TICK_USEC)
		node_tick(n);
}

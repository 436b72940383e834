// SPDX-License-Identifier: Apache-2.0
/*
 * Random nodes under the laws: storms of growth, kills, successors, overcommitted originals, and
 * memory of other processes that varies. Grants never drive the node below its reserve; and a unit
 * that is granted everything behaves as without a ledger: the ledger delays no reflex.
 *
 * VSCALED_SEED repeats a run, VSCALED_ROUNDS makes it longer.
 */
#include "test/check.h"
#include "test/policy/node.h"
#include <inttypes.h>

#define TICKS 1500

static uint64_t random_state;
static uint64_t grants, denied, kills, below, gave_back, reached, equals_gave_back;
static int64_t slack_before;
static bool cached;
static struct node n;

static uint64_t pick(uint64_t under)
{
	return random_next(&random_state) % under;
}

static bool chance(uint64_t permille)
{
	return pick(1000) < permille;
}

static void random_load(struct sim *s)
{
	static const uint64_t rates[] = {1, 5, 20, 50, 100, 300};

	s->load = sim_steady(1, 100 + pick(500));
	s->load.anon_bps = rates[pick(ARRAY_SIZE(rates))] * MIB;
	s->load.anon_goal = pick(chance(300) ? 3000 : 600) * MIB;
	/* Page cache that replaces freed memory hides the decrease until the next sample. */
	s->load.cache_bps = cached && chance(500) ? pick(100) * MIB : 0;
	s->load.cache_set = pick(1000) * MIB;
}

/* ---- what was granted ---- */

static void before(struct rig *, const struct change *)
{
	slack_before = node_slack(&n);
}

/* A grant is covered by free memory; with the reserve in use already, nothing is granted. */
static void after(struct rig *r, const struct change *c, int outcome)
{
	const struct control_resource *res = &r->c.resource[RESOURCE_MEMORY];

	if (c->knob != KNOB_MEM_MAX || change_lowers(c) || outcome != APPLY_DONE ||
	    c->to <= res->original)
		return;
	grants++;
	CHECK(node_slack(&n) >= MIN(slack_before, 0));
}

static void random_rig(uint64_t original)
{
	static const int32_t priorities[] = {-10, 0, 0, 1000, 2000000000};
	struct rig *r = node_add(&n, original, pick(original));
	const struct pod_bounds pod = {
		.priority = priorities[pick(ARRAY_SIZE(priorities))],
		.qos = (uint8_t)pick(3),
		.resource[RESOURCE_MEMORY].request = chance(500) ? pick(original) : 0,
	};
	struct policy_rule rule = policy_rule_default;

	rule.scale_down = chance(800);
	rule.mem_bytes.max = chance(700) ? 4 * GIB : 0;
	control_set_rule(&r->c, &rule);
	control_set_pod(&r->c, &pod);
	/* Trials too. */
	r->t.common.start_quiet_usec = pick(60) * USEC_PER_SEC;
	r->t.memory.shrink_quiet_usec = r->t.memory.shrink_interval_usec = USEC_PER_SEC;
	r->t.memory.shrink_history_usec = pick(60) * USEC_PER_SEC;
	r->t.memory.verdict_usec = r->t.memory.high_watch_usec = 5 * USEC_PER_SEC;
	r->wakes = chance(500);
	r->sim.step_usec = 20 * USEC_PER_MSEC;
	r->before = before;
	r->after = after;
	random_load(&r->sim);
}

/* Memory of other processes: within what is left, so that the node does not run out of it. */
static void others(void)
{
	uint64_t bytes = pick(300) * MIB;

	if (chance(500))
		n.system -= MIN(n.system, bytes);
	else
		n.system += MIN(bytes, node_available(&n) / 2);
}

/* An external writer lowers the limit, and it is put back. */
static void foreign(struct rig *r)
{
	uint64_t use = sim_unreclaimable(&r->sim), max = r->sim.u.limits.mem_max;

	if (use + 20 * MIB >= max)
		return;
	sim_write(&r->sim, KNOB_MEM_MAX, use + 20 * MIB + pick(max - use - 20 * MIB));
	rig_reassert(r, RESOURCE_MEMORY);
}

static void random_event(void)
{
	uint32_t i = (uint32_t)pick(n.count);
	struct rig *r = &n.rig[i];

	switch (pick(4)) {
	case 0:
		others();
		break;
	case 1:
		if (n.life[i].back_at == 0)
			foreign(r);
		break;
	default:
		random_load(&r->sim);
	}
}

/* The node falls below its reserve only by growth that needs no grant. */
static void checked_tick(void)
{
	uint64_t use[NODE_RIGS] = {0};
	int64_t slack, uncovered = 0;

	node_begin(&n);
	slack = node_slack(&n);
	for (uint32_t i = 0; i < n.count; i++)
		if (n.entry[i].limit <= n.entry[i].original)
			use[i] = sim_unreclaimable(&n.rig[i].sim);
		else
			use[i] = LIMIT_MAX;
	node_tick(&n);
	for (uint32_t i = 0; i < n.count; i++) {
		uint64_t now = sim_unreclaimable(&n.rig[i].sim);

		uncovered += now > use[i] ? (int64_t)(now - use[i]) : 0;
	}
	CHECK(cached || node_slack(&n) >= MIN(slack, 0) - uncovered);
	below += node_available(&n) < n.reserve;
}

static void node_life(void)
{
	uint32_t count = (uint32_t)(2 + pick(NODE_RIGS - 1));
	uint64_t total = (1 + pick(8)) * GIB, most = total / (1 + pick(count));

	cached = chance(300);
	node_init(&n, total, pick(total / 2));
	n.down_usec = 1 + pick(4 * USEC_PER_SEC);
	for (uint32_t i = 0; i < count; i++)
		random_rig((16 + pick(most / MIB)) * MIB);
	for (int t = 0; t < TICKS; t++) {
		checked_tick();
		if (chance(60))
			random_event();
	}
	gave_back += n.gave_back;
	for (uint32_t i = 0; i < n.count; i++) {
		kills += n.life[i].kills;
		denied += n.rig[i].c.denial.since != 0;
	}
}

/* ---- equals that the node can hold ---- */

#define CALM    (30 * MIB)
#define GROWERS 2

static void rest(uint32_t i)
{
	n.rig[i].sim.load.anon_goal = CALM;
}

/* The use of a calm unit varies a little. */
static void breathe(uint32_t i)
{
	n.rig[i].sim.load.anon_goal = CALM - pick(2 * MIB);
}

static bool grows(uint32_t i)
{
	return n.life[i].back_at == 0 && n.rig[i].sim.load.anon_goal > CALM;
}

static uint32_t growers(void)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n.count; i++)
		sum += grows(i);
	return sum;
}

/* A unit begins to grow, or one that has grown frees its memory or ends. */
static void turn(uint64_t share)
{
	static const uint64_t rates[] = {20, 50, 100, 200};
	uint32_t i = (uint32_t)pick(n.count);
	struct sim *s = &n.rig[i].sim;

	if (n.life[i].back_at != 0)
		return;
	if (!grows(i) && growers() < GROWERS) {
		s->load.anon_bps = rates[pick(ARRAY_SIZE(rates))] * MIB;
		s->load.anon_goal = share / 2 + pick(share / 2);
	} else if (grows(i) && s->m.anon >= s->load.anon_goal) {
		reached++;
		if (chance(500))
			node_end(&n, i);
		rest(i);
	}
}

/*
 * All running units fit with their margins and what they are granted ahead, but not together with
 * what has ended or was freed. A unit that grows is not OOM-killed for the past use of its equals.
 */
static void fitting_life(void)
{
	uint64_t total = (3 + pick(6)) * GIB, share;
	uint32_t killed = 0;

	node_init(&n, total, pick(total / 4));
	n.down_usec = 1 + pick(12 * USEC_PER_SEC);
	share = (total - n.system - n.reserve - NODE_RIGS * 2 * CALM) / GROWERS;
	share = share * 10 / 14 - 200 * MIB;
	for (uint32_t i = 0; i < NODE_RIGS; i++) {
		struct rig *r = node_add(&n, 64 * MIB, CALM);
		struct policy_rule rule = policy_rule_default;
		const struct pod_bounds pod = {
			.qos = 1,
			.resource[RESOURCE_MEMORY].request = chance(500) ? pick(64) * MIB : 0,
		};

		r->wakes = true;
		rule.mem_bytes.max = total;
		control_set_rule(&r->c, &rule);
		control_set_pod(&r->c, &pod);
		r->sim.load = sim_steady(1, 100);
		rest(i);
	}
	for (int t = 0; t < TICKS; t++) {
		for (uint32_t i = 0; i < n.count; i++)
			if (!grows(i) && chance(300))
				breathe(i);
		node_tick(&n);
		turn(share);
	}
	for (uint32_t i = 0; i < n.count; i++)
		killed += n.life[i].kills;
	equals_gave_back += n.gave_back;
	CHECK_EQ(killed, 0);
}

/* ---- no reflex waits ---- */

static uint64_t trace;

static void note(struct rig *r, const struct change *c, int outcome)
{
	const uint64_t words[] = {r->sim.now, c->knob,    c->from,          c->to,
				  c->reason,  r->changes, (uint64_t)outcome};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		uint64_t mixed = trace ^ words[i];

		trace = random_next(&mixed);
	}
}

/* A hash of all changes during a life. */
static uint64_t trace_life(uint64_t seed, bool counted)
{
	random_state = seed;
	trace = 0;
	node_init(&n, 1024 * GIB, 0);
	random_rig((16 + pick(1000)) * MIB);
	n.rig[0].before = NULL;
	n.rig[0].after = note;
	if (!counted)
		n.rig[0].ledger = NULL;
	for (int t = 0; t < TICKS; t++) {
		node_tick(&n);
		if (chance(20))
			random_load(&n.rig[0].sim);
	}
	return trace;
}

int main(void)
{
	uint64_t seed = rig_number_from("VSCALED_SEED", 20260101);
	uint64_t rounds = rig_number_from("VSCALED_ROUNDS", 60);

	fprintf(stderr, "VSCALED_SEED=%" PRIu64 " VSCALED_ROUNDS=%" PRIu64 "\n", seed, rounds);
	for (uint64_t i = 0; i < rounds && check_failures < 20; i++) {
		int failed = check_failures;

		random_state = seed + i;
		node_life();
		if (i % 2 == 0)
			fitting_life();
		CHECK_EQ(trace_life(seed + i, true), trace_life(seed + i, false));
		if (check_failures > failed)
			fprintf(stderr,
				"in the life of VSCALED_SEED=%" PRIu64 " VSCALED_ROUNDS=1\n",
				seed + i);
	}
	fprintf(stderr,
		"%" PRIu64 " grants, %" PRIu64 " denied, %" PRIu64 " kills, %" PRIu64
		" gave back, %" PRIu64 " ticks below the reserve by others; %" PRIu64
		" equals came to their goals, %" PRIu64 " gave back\n",
		grants, denied, kills, gave_back, below, reached, equals_gave_back);
	CHECK(rounds < 50 || (grants > 0 && denied > 0 && gave_back > 0 && below > 0 &&
			      reached > 0 && equals_gave_back > 0));
	return check_result();
}

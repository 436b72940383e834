// SPDX-License-Identifier: Apache-2.0
/*
 * Four greedy pods of different priority on a node that cannot hold them, in virtual time: real
 * growth laws, MemAvailable read once a tick, the lowest priority read first. Each grows to its
 * goal, holds it, and ends. A pod that gets no more stays at its limit for the time of a brake, if
 * there is one, and is then OOM-killed by the kernel.
 */
#include "policy/laws/ledger.h"
#include "policy/laws/mem_law.h"
#include "test/check.h"

#define PODS       4
#define STEP_USEC  (10 * USEC_PER_MSEC)
#define TICK_USEC  (100 * USEC_PER_MSEC)
#define BRAKE_USEC (2 * USEC_PER_SEC)
#define DOWN_USEC  (3 * USEC_PER_SEC)
#define KEEP_USEC  (20 * USEC_PER_SEC)
#define TOTAL      (4 * GIB)

struct pod {
	int32_t priority;
	uint64_t rate_bps;
	uint64_t goal;
	uint64_t original, limit, use;
	uint64_t held; /* by the life before; 0: nothing to ask for */
	uint64_t max_events;
	struct mem_law mem;
	struct usage prev;
	bool observed;
	struct ledger_denied denied;
	usec_t stuck_since;
	usec_t back_at; /* killed: next life */
	usec_t full_at; /* the goal was reached */
	usec_t done_at;
	uint32_t kills;
	usec_t first_kill;
};

struct world {
	usec_t now;
	usec_t brake;
	uint64_t system;
	uint64_t active;  /* page cache that the kubelet counts as used */
	bool reported;    /* the kubelet's figure is respected */
	uint64_t evicted; /* passes at which it was below its threshold */
	struct pod pod[PODS];
	struct ledger ledger;
	struct ledger_entry entry[PODS];
	uint64_t lowest; /* of MemAvailable - reserve */
	uint64_t reserve;
	uint32_t grants, cut;
	bool contested; /* an increase was denied in this world */
};

static uint64_t available(const struct world *w)
{
	uint64_t used = w->system;

	for (int i = 0; i < PODS; i++)
		used += w->pod[i].use;
	return used < TOTAL ? TOTAL - used : 0;
}

/* --- the node */

static void kill_pod(struct world *w, struct pod *p)
{
	if (p->kills++ == 0)
		p->first_kill = w->now;
	/* The grant ends here. */
	p->held = p->limit;
	p->denied = (struct ledger_denied){.limit = p->use, .at = w->now, .ahead = true};
	p->use = 0;
	p->limit = p->original;
	p->mem = (struct mem_law){0};
	p->observed = false;
	p->stuck_since = 0;
	p->back_at = w->now + DOWN_USEC;
}

static void allocate(struct world *w, struct pod *p)
{
	uint64_t bytes = p->rate_bps * STEP_USEC / USEC_PER_SEC;

	if (p->done_at != 0 || w->now < p->back_at)
		return;
	bytes = MIN(bytes, p->goal - p->use);
	if (bytes == 0) {
		if (p->full_at == 0)
			p->full_at = w->now;
		if (w->now - p->full_at < KEEP_USEC)
			return;
		p->done_at = w->now;
		p->use = 0;
		p->limit = p->original;
		return;
	}
	if (p->use + bytes <= p->limit) {
		p->use += bytes;
		p->stuck_since = 0;
		return;
	}
	p->max_events++;
	if (p->stuck_since == 0)
		p->stuck_since = w->now;
	if (w->now - p->stuck_since >= w->brake)
		kill_pod(w, p);
}

/* --- the daemon */

/* memory.available of the kubelet. */
static uint64_t kubelet_available(const struct world *w)
{
	uint64_t a = available(w);

	return a - MIN(a, w->active);
}

static void begin(struct world *w)
{
	const struct ledger_kubelet k = {w->reported ? kubelet_available(w) : LIMIT_MAX, LIMIT_MAX};
	struct ledger_node node;

	ledger_supply(&tuning_default.node, TOTAL, available(w), &k, &node);
	node.page_bytes = PAGE_DEFAULT_BYTES;
	for (int i = 0; i < PODS; i++) {
		const struct pod *p = &w->pod[i];

		w->entry[i] = (struct ledger_entry){
			.limit = p->limit,
			.original = p->original,
			.use = p->observed ? p->prev.mem_current : 0,
			.min_limit = mem_with_margin(&tuning_default.memory,
						     recent_max_get(&p->mem.recent)),
			.projected = ledger_projected(&tuning_default.memory, p->limit,
						      p->prev.mem_current, p->mem.steady_bps),
			.denied = ledger_denied_limit(&p->denied, p->limit, p->use, w->now),
			.needs = !p->denied.ahead,
			.priority = p->priority,
			.qos = 1,
		};
	}
	for (int i = 0; i < PODS; i++)
		w->entry[i].urgent = w->entry[i].needs ? w->entry[i].denied : 0;
	ledger_begin(&w->ledger, &node, w->entry, PODS);
}

/* A grant leaves enough room for the denied limits of higher ranks. */
static void check_order(const struct world *w, uint32_t i, uint64_t to)
{
	uint64_t room = 0, above = 0;
	uint64_t cost = to - MAX(w->pod[i].limit, w->entry[i].use);

	for (uint32_t j = 0; j < PODS; j++)
		if (w->pod[j].priority > w->pod[i].priority && w->entry[j].denied != 0)
			above += w->entry[j].denied - w->entry[j].limit;
	room = w->ledger.node.available -
	       MIN(w->ledger.node.available, w->reserve + w->ledger.outstanding);
	if (to > w->pod[i].limit && to > w->pod[i].original)
		CHECK(room >= cost + above);
}

static void want(struct world *w, uint32_t i, uint64_t desired)
{
	struct pod *p = &w->pod[i];
	uint64_t to;

	if (desired <= p->limit)
		return;
	check_order(w, i, ledger_most(&w->ledger, i, desired));
	to = ledger_grant(&w->ledger, i, desired);
	p->denied =
		(struct ledger_denied){.limit = w->entry[i].denied, .use = p->use, .at = w->now};
	w->grants++;
	w->cut += to < desired;
	p->limit = to;
}

static void observe(struct world *w, uint32_t i)
{
	const struct tuning_memory *t = &tuning_default.memory;
	struct pod *p = &w->pod[i];
	enum reason reason;
	struct usage u = {.have = USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_EVENTS,
			  .mem_current = p->use,
			  .stat.anon = p->use,
			  .events.max = p->max_events};
	struct mem_growth_input in = {.prev = p->observed ? &p->prev : NULL,
				      .u = &u,
				      .limit = p->limit,
				      .original = p->original,
				      .tick_usec = TICK_USEC};

	if (w->now < p->back_at)
		return;
	ledger_use(&w->ledger, i, p->use);
	want(w, i, p->held);
	p->held = 0;
	in.limit = p->limit;
	mem_observe(t, &p->mem, in.prev, &u, w->now);
	if (p->done_at == 0)
		want(w, i, mem_growth_desired(t, &p->mem, &in, &reason));
	p->prev = u;
	p->observed = true;
}

/* A grant that is not charged is taken back at once. */
static void give_back(struct world *w)
{
	struct ledger_ask asks[PODS];
	uint32_t count;

	begin(w);
	count = ledger_cancel(&w->ledger, asks, PODS);

	for (uint32_t i = 0; i < count; i++) {
		struct pod *p = &w->pod[asks[i].entry];

		CHECK(asks[i].to >= w->entry[asks[i].entry].use && asks[i].to >= p->original);
		p->limit = MIN(p->limit, MAX(asks[i].to, p->use + 8 * MIB));
	}
}

static void run(struct world *w, usec_t span)
{
	usec_t end = w->now + span;

	for (; w->now < end; w->now += STEP_USEC) {
		for (int i = 0; i < PODS; i++)
			allocate(w, &w->pod[i]);
		CHECK(available(w) >= w->reserve);
		w->lowest = MIN(w->lowest, available(w) - w->reserve);
		if (w->now % TICK_USEC != 0)
			continue;
		w->evicted += kubelet_available(w) < ledger_eviction(&tuning_default.node, TOTAL);
		begin(w);
		for (uint32_t i = 0; i < PODS; i++)
			observe(w, i);
		give_back(w);
	}
}

static struct world world(uint64_t rate_bps, uint64_t goal)
{
	static const int32_t priorities[PODS] = {0, 10, 100, 1000};
	struct world w = {.now = 1000 * USEC_PER_SEC,
			  .system = 700 * MIB,
			  .lowest = UINT64_MAX,
			  .reserve = ledger_reserve(&tuning_default.node, TOTAL)};

	for (int i = 0; i < PODS; i++)
		w.pod[i] = (struct pod){.priority = priorities[i],
					.rate_bps = rate_bps,
					.goal = goal,
					.original = 128 * MIB,
					.limit = 128 * MIB,
					.use = 60 * MIB};
	return w;
}

static void show(const struct world *w, const char *name)
{
	printf("%s: %u grants, %u cut short, MemAvailable - reserve never below %llu MiB\n", name,
	       w->grants, w->cut, w->lowest / MIB);
	for (int i = PODS - 1; i >= 0; i--) {
		const struct pod *p = &w->pod[i];

		printf("  priority %4d: full after %6.1f s, ended after %6.1f s, kills %u, "
		       "use %4llu MiB, limit %4llu MiB\n",
		       p->priority,
		       p->full_at ? (double)(p->full_at - 1000 * USEC_PER_SEC) / 1e6 : 0,
		       p->done_at ? (double)(p->done_at - 1000 * USEC_PER_SEC) / 1e6 : 0, p->kills,
		       p->use / MIB, p->limit / MIB);
	}
}

/* Pods are OOM-killed in the order of the ranks, from the lowest; they reach their goals in the
 * reverse order. */
static void test_greedy(uint64_t rate_bps, usec_t brake, const char *name)
{
	struct world w = world(rate_bps, 1200 * MIB);
	const struct pod *p = w.pod;

	w.brake = brake;
	run(&w, 10 * USEC_PER_MIN);
	show(&w, name);
	CHECK(w.cut > 0);
	CHECK_EQ(p[PODS - 1].kills, 0);
	CHECK(p[0].kills > 0);
	for (int i = 0; i < PODS; i++)
		CHECK(p[i].done_at != 0); /* every pod completes in the end */
	for (int i = 1; i < PODS; i++) {
		CHECK(p[i].kills <= p[i - 1].kills);
		CHECK(p[i].kills == 0 || p[i].first_kill >= p[i - 1].first_kill);
		/* Killed right before there was enough for both, it is behind by the time of that.
		 */
		CHECK(p[i].full_at <= p[i - 1].full_at + DOWN_USEC + BRAKE_USEC);
	}
}

/* All fit: no pod is denied, whatever its rank. */
static void test_enough(void)
{
	struct world w = world(50 * MIB, 500 * MIB);

	run(&w, 2 * USEC_PER_MIN);
	show(&w, "enough for all");
	CHECK_EQ(w.cut, 0);
	for (int i = 0; i < PODS; i++)
		CHECK(w.pod[i].kills == 0 && w.pod[i].done_at != 0);
}

/* 800 MiB of active page cache: the kubelet evicts long before MemAvailable is short. */
static void test_kubelet(uint64_t rate_bps, bool reported)
{
	struct world w = world(rate_bps, 1200 * MIB);

	w.brake = BRAKE_USEC;
	w.active = 800 * MIB;
	w.reported = reported;
	run(&w, 10 * USEC_PER_MIN);
	show(&w, reported ? "active page cache, with the kubelet's bound" : "without it");
	printf("  below the eviction threshold for %.1f s\n", (double)w.evicted / 10);
	CHECK((w.evicted == 0) == reported);
	CHECK_EQ(w.pod[PODS - 1].kills, 0);
	for (int i = 0; i < PODS; i++)
		CHECK(w.pod[i].done_at != 0);
}

/* A large unused grant, held before the others grow: the others get it. */
static void test_hoarder(void)
{
	struct world w = world(50 * MIB, 1000 * MIB);

	w.pod[3].goal = 60 * MIB; /* calm */
	w.pod[3].limit = 2800 * MIB;
	w.pod[2].done_at = w.pod[1].done_at = 1;
	w.pod[2].use = w.pod[1].use = 0;
	run(&w, 15 * USEC_PER_SEC);
	CHECK(w.cut > 0);
	run(&w, USEC_PER_MIN);
	show(&w, "a higher rank that does not use its grant");
	CHECK(w.pod[0].full_at != 0);
}

int main(void)
{
	test_greedy(10 * MIB, BRAKE_USEC, "10 MiB/s");
	test_greedy(50 * MIB, BRAKE_USEC, "50 MiB/s");
	test_greedy(200 * MIB, BRAKE_USEC, "200 MiB/s");
	test_greedy(10 * MIB, 0, "10 MiB/s without a brake");
	test_greedy(50 * MIB, 0, "50 MiB/s without a brake");
	test_greedy(200 * MIB, 0, "200 MiB/s without a brake");
	for (int reported = 0; reported < 2; reported++) {
		test_kubelet(10 * MIB, reported);
		test_kubelet(50 * MIB, reported);
		test_kubelet(200 * MIB, reported);
	}
	test_enough();
	test_hoarder();
	return check_result();
}

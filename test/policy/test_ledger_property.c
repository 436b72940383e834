// SPDX-License-Identifier: Apache-2.0
/*
 * Random nodes: overcommitted originals, storms of growth, exits, and use that moves between reads.
 * What the ledger granted never drives the node below its reserve, scarce memory is granted by
 * rank, and unused grants are taken back when an entry is denied.
 *
 * VSCALED_SEED repeats a run, VSCALED_ROUNDS makes it longer.
 */
#include "policy/backtest/rig.h"
#include "test/check.h"
#include <inttypes.h>

#define ENTRIES_MAX 60
#define ROUNDS      600
#define STEPS       500
/* The smallest grant; covers the rounding to pages, too. */
#define STEP_MIN MIB

static uint64_t random_state;
static uint64_t steps, grants, partial, refused, asked, cancelled, low_seen;

/* The node's true state; the ledger gets it only at reads. */
struct node {
	struct ledger l;
	struct ledger_node figures;
	struct ledger_entry e[ENTRIES_MAX];
	uint64_t use[ENTRIES_MAX]; /* true now */
	bool dead[ENTRIES_MAX];    /* the next read finds another one in its place */
	uint32_t count;
	uint64_t system; /* used by everything else */
	bool tame;       /* nothing grows but what was granted */
	uint64_t unseen; /* growth since the last read that no grant covers */
};

static uint64_t pick(uint64_t below)
{
	return random_next(&random_state) % below;
}

static bool chance(uint64_t permille)
{
	return pick(1000) < permille;
}

static uint64_t granted(const struct node *n, uint32_t i)
{
	const struct ledger_entry *e = &n->e[i];

	return e->limit != LIMIT_MAX && e->limit > e->original && e->limit > n->use[i]
		       ? e->limit - n->use[i]
		       : 0;
}

static int64_t available(const struct node *n)
{
	uint64_t used = n->system;

	for (uint32_t i = 0; i < n->count; i++)
		used += n->use[i];
	return (int64_t)n->figures.total - (int64_t)used;
}

/* What is left if every grant is used up. */
static int64_t slack(const struct node *n)
{
	int64_t s = available(n) - (int64_t)n->figures.reserve;

	for (uint32_t i = 0; i < n->count; i++)
		s -= (int64_t)granted(n, i);
	return s;
}

static void arrive(struct node *n, uint32_t i)
{
	static const int32_t priorities[] = {-100, 0, 0, 0, 1000, 100000, 2000001000};
	uint64_t original = chance(50) ? LIMIT_MAX : (1 + pick(4096)) * MIB;

	n->e[i] = (struct ledger_entry){
		.limit = original,
		.original = original,
		.request = chance(700) ? pick(1024) * MIB : 0,
		.priority = priorities[pick(ARRAY_SIZE(priorities))],
		.qos = (uint8_t)pick(3),
	};
	n->dead[i] = false;
}

static void read_anew(struct node *n)
{
	int64_t now = available(n);

	for (uint32_t i = 0; i < n->count; i++) {
		struct ledger_entry *e = &n->e[i];

		if (n->dead[i])
			arrive(n, i);
		e->use = n->use[i];
		e->min_limit = e->use + pick(32) * MIB;
		e->projected = chance(200) ? e->use + pick(300) * MIB : 0;
		e->next = chance(200) ? e->use + pick(100) * MIB : 0;
		e->needs = chance(300);
		e->urgent = e->needs && chance(700) ? e->denied : 0;
		if (chance(30))
			e->denied = e->urgent = 0;
	}
	n->figures.available = now > 0 ? (uint64_t)now : 0;
	n->unseen = 0;
	ledger_begin(&n->l, &n->figures, n->e, n->count);
}

static void start(struct node *n)
{
	struct tuning_node t = tuning_default.node;

	*n = (struct node){.tame = chance(500), .count = (uint32_t)(1 + pick(ENTRIES_MAX))};
	n->figures.total = (1 + pick(64)) * GIB;
	t.eviction = pick(400) * MIB;
	n->figures.page_bytes = PAGE_DEFAULT_BYTES;
	n->figures.reserve = ledger_reserve(&t, n->figures.total);
	n->system = pick(n->figures.total / 2);
	for (uint32_t i = 0; i < n->count; i++) {
		uint64_t left;

		arrive(n, i);
		left = (uint64_t)MAX(available(n), (int64_t)0) / 2;
		n->use[i] = MIN(pick(2048) * MIB, left);
		if (n->e[i].limit != LIMIT_MAX)
			n->use[i] = MIN(n->use[i], n->e[i].limit);
	}
	read_anew(n);
}

/* --- what happens on the node */

static void grow(struct node *n, uint32_t i, uint64_t bytes)
{
	uint64_t room = n->e[i].limit == LIMIT_MAX ? bytes : n->e[i].limit - n->use[i];
	bool covered = granted(n, i) > 0;

	/* The kernel stops it at its limit, and at the end of all memory. */
	bytes = MIN(bytes, room);
	bytes = MIN(bytes, (uint64_t)MAX(available(n), (int64_t)0));
	if ((!covered && n->tame) || n->dead[i])
		return;
	n->use[i] += bytes;
	if (!covered)
		n->unseen += bytes;
}

static void happen(struct node *n)
{
	uint32_t i = (uint32_t)pick(n->count);
	uint64_t bytes = pick(chance(100) ? 4096 : 200) * MIB;

	switch (pick(5)) {
	case 0: /* frees; what was below the original is no grant */
		n->use[i] -= MIN(n->use[i], bytes);
		break;
	case 1: /* ends, and another one comes at once or is the same again */
		if (!chance(100))
			break;
		n->dead[i] |= chance(500);
		n->use[i] = 0;
		break;
	case 2: /* everything else on the node */
		if (chance(500))
			n->system -= MIN(n->system, bytes);
		else if (!n->tame && available(n) > (int64_t)bytes) {
			n->system += bytes;
			n->unseen += bytes;
		}
		break;
	default:
		grow(n, i, bytes);
	}
}

/* --- what the ledger does */

/* As the ledger counts it: outstanding growth of this limit. */
static uint64_t short_of(const struct ledger_entry *e, uint64_t limit)
{
	uint64_t have, want;

	if (limit <= e->limit || limit <= e->original)
		return 0;
	have = e->limit > e->original && e->limit > e->use ? e->limit - e->use : 0;
	want = limit > e->use ? limit - e->use : 0;
	return want > have ? want - have : 0;
}

/* No grant of contested memory leaves a higher rank's denied limit uncovered, nor what an equal
 * before it needs now. */
static void check_rank(const struct node *n, uint32_t i, const struct ledger_verdict *v)
{
	const struct ledger_entry *self = &n->e[i];
	uint64_t above = 0;

	if (short_of(self, v->allowed) == 0)
		return;
	for (uint32_t j = 0; j < n->count; j++) {
		const struct ledger_entry *e = &n->e[j];
		bool equal = e->priority == self->priority && e->qos == self->qos;

		if (j != i && ledger_before(e, self))
			above += short_of(e, equal ? e->urgent : e->denied);
	}
	CHECK(v->room >= short_of(self, v->allowed) + above);
}

static void check_verdict(const struct node *n, uint32_t i, const struct ledger_verdict *v)
{
	const struct ledger_entry *e = &n->e[i];

	CHECK(v->allowed <= v->desired);
	CHECK(v->allowed >= MIN(v->desired, MAX(e->limit, e->original)));
	CHECK(v->kept <= v->room);
	if (v->allowed == v->desired)
		return;
	/* An increase is denied only for lack of room. */
	CHECK(short_of(e, v->desired) > v->room - v->kept);
	CHECK(v->allowed + STEP_MIN + PAGE_DEFAULT_BYTES > e->use + (v->room - v->kept) ||
	      short_of(e, v->allowed) + PAGE_DEFAULT_BYTES >= v->room - v->kept);
	CHECK((v->kept == 0) == (v->kept_for == LEDGER_NO_ENTRY) || v->room == 0);
	refused += v->allowed <= MAX(e->limit, e->original);
	partial += v->allowed > MAX(e->limit, e->original);
}

static void ask_for_more(struct node *n, uint32_t i)
{
	struct ledger_entry *e = &n->e[i];
	uint64_t desired = MAX(e->limit, n->use[i]) + (1 + pick(chance(100) ? 8192 : 300)) * MIB;
	int64_t before, after;
	struct ledger_verdict v;

	if (e->limit == LIMIT_MAX || n->dead[i])
		return;
	/* The entry that asks has just been read. */
	ledger_use(&n->l, i, n->use[i]);
	before = slack(n);
	ledger_weigh(&n->l, i, desired, &v);
	check_verdict(n, i, &v);
	check_rank(n, i, &v);
	CHECK_EQ(ledger_grant(&n->l, i, desired), v.allowed);
	CHECK_EQ(e->denied, v.allowed < desired ? desired : 0);
	after = slack(n);
	grants += v.allowed > MAX(e->original, v.desired - 1);
	/* A grant is covered by free memory, except for growth since the last read. */
	if (after < before)
		CHECK(after >= -(int64_t)n->unseen);
}

/* The sums that grants and reads update are those that ledger_begin() computes. */
static void check_sums(const struct node *n)
{
	struct ledger_entry copy[ENTRIES_MAX];
	struct ledger fresh;

	memcpy(copy, n->e, sizeof copy);
	ledger_begin(&fresh, &n->l.node, copy, n->count);
	CHECK_EQ(n->l.outstanding, fresh.outstanding);
	CHECK_EQ(n->l.demand_total, fresh.demand_total);
}

/* Was an entry of higher rank denied? */
static bool above_it(const struct node *n, const struct ledger_entry *than)
{
	for (uint32_t i = 0; i < n->count; i++) {
		const struct ledger_entry *e = &n->e[i];
		bool equal = e->priority == than->priority && e->qos == than->qos;

		if (!equal && ledger_before(e, than) && short_of(e, e->denied) > 0)
			return true;
	}
	return false;
}

/* Asks are within their bounds, and together enough or all there is. */
static void cancel(struct node *n)
{
	struct ledger_ask asks[ENTRIES_MAX];
	uint32_t count = ledger_cancel(&n->l, asks, ENTRIES_MAX);
	uint64_t need = 0, freed = 0, all = 0, room;
	bool now = false;

	for (uint32_t i = 0; i < n->count; i++) {
		const struct ledger_entry *e = &n->e[i];
		uint64_t floor = MAX(MAX(e->min_limit, e->use), e->original);

		need += short_of(e, e->denied);
		now |= e->urgent != 0 && short_of(e, e->denied) > 0;
		if (e->limit != LIMIT_MAX && short_of(e, e->denied) == 0 &&
		    MAX(e->projected, e->next) == 0 && e->limit > e->original &&
		    floor + STEP_MIN + PAGE_DEFAULT_BYTES < e->limit)
			all += floor == e->original ? e->limit - e->use : e->limit - floor;
	}
	room = n->l.node.available > n->l.node.reserve + n->l.outstanding
		       ? n->l.node.available - n->l.node.reserve - n->l.outstanding
		       : 0;
	need = need > room ? need - room : 0;
	CHECK(need > 0 || count == 0);
	for (uint32_t i = 0; i < count; i++) {
		struct ledger_entry *e = &n->e[asks[i].entry];

		asked++;
		CHECK(asks[i].to >= MAX(MAX(e->min_limit, e->use), e->original));
		CHECK(asks[i].to < e->limit);
		CHECK(i == 0 || !ledger_before(&n->e[asks[i - 1].entry], e));
		CHECK(above_it(n, e) || (now && asks[i].to >= e->next));
		freed += asks[i].to > e->original ? e->limit - asks[i].to : e->limit - e->use;
	}
	CHECK(freed + (uint64_t)ENTRIES_MAX * PAGE_DEFAULT_BYTES >= (now ? MIN(need, all) : 0));
	/* A trial ends well where use has not grown meanwhile; the books follow at the next read.
	 */
	for (uint32_t i = 0; i < count; i++) {
		if (n->use[asks[i].entry] > asks[i].to || !chance(700))
			continue;
		n->e[asks[i].entry].limit = asks[i].to;
		cancelled++;
	}
	read_anew(n);
}

static void live(uint64_t seed)
{
	struct node n;
	bool started_low;

	random_state = seed;
	start(&n);
	started_low = available(&n) < (int64_t)n.figures.reserve;
	for (uint64_t i = 0; i < STEPS; i++) {
		steps++;
		for (uint64_t k = pick(6); k > 0; k--)
			happen(&n);
		if (chance(300))
			read_anew(&n);
		for (uint64_t storm = chance(100) ? pick(n.count) : 1; storm > 0; storm--)
			ask_for_more(&n, (uint32_t)pick(n.count));
		if (chance(20))
			check_sums(&n);
		if (chance(100))
			cancel(&n);
		low_seen += available(&n) < (int64_t)n.figures.reserve;
		if (n.tame && !started_low)
			CHECK(available(&n) >= (int64_t)n.figures.reserve);
	}
}

int main(void)
{
	const char *s = getenv("VSCALED_SEED"), *r = getenv("VSCALED_ROUNDS");
	uint64_t seed = s ? strtoull(s, NULL, 0) : 1, rounds = r ? strtoull(r, NULL, 0) : ROUNDS;

	printf("seed %" PRIu64 ", %" PRIu64 " rounds of %d steps\n", seed, rounds, STEPS);
	for (uint64_t i = 0; i < rounds; i++) {
		int failed = check_failures;

		live(seed + i);
		if (check_failures == failed)
			continue;
		printf("failed with VSCALED_SEED=%" PRIu64 " VSCALED_ROUNDS=1\n", seed + i);
		break;
	}
	printf("%" PRIu64 " steps, %" PRIu64 " grants in whole, %" PRIu64 " in part, %" PRIu64
	       " refused, %" PRIu64 " asked to shrink, %" PRIu64 " did, %" PRIu64
	       " steps below the reserve by others' growth\n",
	       steps, grants, partial, refused, asked, cancelled, low_seen);
	CHECK(s != NULL || (steps >= 200000 && grants > 1000 && partial > 1000 && refused > 1000 &&
			    cancelled > 1000 && low_seen > 1000));
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/ledger.h"
#include <assert.h>

/* A smaller partial grant is not worth a write, a journal entry and the next raise a tick later. */
#define STEP_MIN_BYTES MIB
/* A container that the brake holds asks again within 2 s, the most that a brake holds; an
 * OOM-killed one when its successor grows. */
#define DENIED_LIMIT_USEC (10 * USEC_PER_SEC)

/* --- one entry */

/* An entry cannot use more than the node has; so no sum of these overflows. */
static uint64_t outstanding_at(const struct ledger *l, const struct ledger_entry *e, uint64_t limit)
{
	if (limit == LIMIT_MAX || limit <= e->original)
		return 0;
	return MIN(sub_sat(limit, e->use), l->node.total);
}

static uint64_t outstanding(const struct ledger *l, const struct ledger_entry *e)
{
	return outstanding_at(l, e, e->limit);
}

/* How much a limit would add to outstanding. */
static uint64_t cost(const struct ledger *l, const struct ledger_entry *e, uint64_t limit)
{
	return limit > e->limit ? sub_sat(outstanding_at(l, e, limit), outstanding(l, e)) : 0;
}

static uint64_t demand(const struct ledger *l, const struct ledger_entry *e)
{
	return cost(l, e, MAX(e->denied, e->projected));
}

/* One that the ledger counts: else it may use what its pod has. */
static bool has_limit(const struct ledger_entry *e)
{
	return e->limit != LIMIT_MAX && e->original != LIMIT_MAX;
}

/* sign: 1, or -1 to take it out again. */
static void add_entry(struct ledger *l, const struct ledger_entry *e, int sign)
{
	uint64_t unused = outstanding(l, e) * (uint64_t)sign, asks = demand(l, e) * (uint64_t)sign;

	l->outstanding += unused;
	l->pods_outstanding += e->pod ? unused : 0;
	l->demand_total += asks;
	l->pods_demand += e->pod ? asks : 0;
	for (uint32_t g = e->above; g != 0; g = l->node.groups[g].above)
		l->node.groups[g].outstanding += unused;
	if (e->above != 0 && has_limit(e))
		l->node.groups[e->above].limits += MIN(e->limit, l->node.total) * (uint64_t)sign;
}

void ledger_begin(struct ledger *l, const struct ledger_node *node, struct ledger_entry *entries,
		  uint32_t count)
{
	*l = (struct ledger){.node = *node, .entries = entries, .count = count};
	l->node.available = MIN(node->available, node->total);
	for (uint32_t i = 0; i < count; i++)
		add_entry(l, &entries[i], 1);
}

void ledger_use(struct ledger *l, uint32_t entry, uint64_t use)
{
	struct ledger_entry *e = &l->entries[entry];

	assert(entry < l->count);
	l->node.available = sub_sat(l->node.available, sub_sat(use, e->use));
	if (e->pod && l->node.pods != LIMIT_MAX)
		l->node.pods = sub_sat(l->node.pods, sub_sat(use, e->use));
	for (uint32_t g = e->above; g != 0; g = l->node.groups[g].above)
		if (l->node.groups[g].available != LIMIT_MAX)
			l->node.groups[g].available =
				sub_sat(l->node.groups[g].available, sub_sat(use, e->use));
	add_entry(l, e, -1);
	e->use = use;
	add_entry(l, e, 1);
}

/* --- ranks */

static uint64_t overdraft(const struct ledger_entry *e)
{
	return sub_sat(e->use, e->request);
}

bool ledger_before(const struct ledger_entry *a, const struct ledger_entry *b)
{
	if (a->priority != b->priority)
		return a->priority > b->priority;
	if (a->qos != b->qos)
		return a->qos < b->qos;
	if (a->needs != b->needs)
		return a->needs;
	return overdraft(a) < overdraft(b);
}

static bool same_rank(const struct ledger_entry *a, const struct ledger_entry *b)
{
	return a->priority == b->priority && a->qos == b->qos;
}

/* How much of the limit that e waits for is kept from other: for an equal e what it needs now, for
 * a higher rank all of it. */
static uint64_t kept_from(const struct ledger *l, const struct ledger_entry *e, uint64_t limit,
			  const struct ledger_entry *other)
{
	if (!ledger_before(e, other))
		return 0;
	return cost(l, e, same_rank(e, other) ? e->urgent : limit);
}

static uint64_t room(const struct ledger *l)
{
	return sub_sat(l->node.available, add_sat(l->node.reserve, l->outstanding));
}

static uint64_t pods_room(const struct ledger *l)
{
	return l->node.pods != LIMIT_MAX ? sub_sat(l->node.pods, l->pods_outstanding) : LIMIT_MAX;
}

/* What the limits of all groups above leave to it; *ret: the one that leaves least, 0: none. */
static uint64_t room_above(const struct ledger *l, const struct ledger_entry *e, uint32_t *ret)
{
	uint64_t least = LIMIT_MAX;

	*ret = 0;
	for (uint32_t g = e->above; g != 0; g = l->node.groups[g].above) {
		const struct ledger_group *group = &l->node.groups[g];
		uint64_t bytes = sub_sat(group->available, group->outstanding);

		if (group->available == LIMIT_MAX || bytes >= least)
			continue;
		least = bytes;
		*ret = g;
	}
	return least;
}

/* The highest limit that the budget of its pod leaves to it, beside what entries before it wait
 * for; LIMIT_MAX: none binds. */
static uint64_t budget_most(const struct ledger *l, const struct ledger_entry *e)
{
	const struct ledger_group *g = e->above != 0 ? &l->node.groups[e->above] : NULL;
	uint64_t kept = 0;

	if (g == NULL || g->budget == 0 || !has_limit(e))
		return LIMIT_MAX;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct ledger_entry *o = &l->entries[i];
		uint64_t waits = MAX(o->withheld, o->projected);

		if (o != e && o->above == e->above && o->needs && ledger_before(o, e))
			kept = add_sat(kept, sub_sat(waits, o->limit));
	}
	return round_down(add_sat(e->limit, sub_sat(g->budget, add_sat(g->limits, kept))),
			  l->node.page_bytes);
}

/* What entries that come first wait for, and the first of them. */
struct kept {
	uint64_t bytes;
	uint32_t first;
};

/* Of the room, and of what is left to pods, which units take nothing of. */
struct kept_of {
	struct kept node, pods;
};

static const struct kept_of kept_none = {
	.node.first = LEDGER_NO_ENTRY,
	.pods.first = LEDGER_NO_ENTRY,
};

static void keep_for(const struct ledger *l, uint32_t entry, uint64_t bytes, struct kept *k)
{
	k->bytes += bytes;
	if (k->first == LEDGER_NO_ENTRY || ledger_before(&l->entries[entry], &l->entries[k->first]))
		k->first = entry;
}

static struct kept_of kept_above(const struct ledger *l, uint32_t entry)
{
	const struct ledger_entry *self = &l->entries[entry];
	struct kept_of k = kept_none;
	uint64_t pods;

	/* Most of the time no other entry waits. */
	if (l->demand_total == demand(l, self))
		return k;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct ledger_entry *e = &l->entries[i];
		uint64_t waits = kept_from(l, e, MAX(e->denied, e->projected), self);

		if (i == entry || waits == 0)
			continue;
		keep_for(l, i, waits, e->pod ? &k.pods : &k.node);
	}
	/* What pods wait for is kept of the room as well: of it as much as pods can be given. */
	pods = MIN(k.pods.bytes, pods_room(l));
	if (pods > 0)
		keep_for(l, k.pods.first, pods, &k.node);
	return k;
}

/* --- deciding */

/* What is left beside these amounts, kept of the room and of what is left to pods. */
static uint64_t room_beside(const struct ledger *l, const struct ledger_entry *e, uint64_t kept,
			    uint64_t kept_pods)
{
	uint32_t group;
	uint64_t bytes = MIN(sub_sat(room(l), kept), room_above(l, e, &group));

	return e->pod ? MIN(bytes, sub_sat(pods_room(l), kept_pods)) : bytes;
}

/* The limit of an entry when it adds at most `bytes` to outstanding. */
static uint64_t limit_with(const struct ledger *l, const struct ledger_entry *e, uint64_t bytes,
			   uint64_t desired)
{
	uint64_t given = MAX(e->limit, e->original); /* needs no grant */
	uint64_t from = outstanding(l, e) > 0 ? e->limit : e->use;
	uint64_t limit = round_down(add_sat(from, bytes), l->node.page_bytes);

	if (desired <= given || limit >= desired)
		return desired;
	return limit < add_sat(given, STEP_MIN_BYTES) ? given : limit;
}

static uint64_t ledger_decide(const struct ledger *l, uint32_t entry, uint64_t desired,
			      struct kept_of *ret_kept)
{
	const struct ledger_entry *e = &l->entries[entry];

	assert(entry < l->count);
	*ret_kept = kept_none;
	if (desired == LIMIT_MAX && e->original != LIMIT_MAX)
		desired--; /* LIMIT_MAX costs nothing, as it is never granted */
	if (desired > e->limit)
		desired = MIN(desired, MAX(e->limit, budget_most(l, e)));
	/* It needs no grant, or fits beside all that others wait for. */
	if (cost(l, e, desired) <= room_beside(l, e, l->demand_total, l->pods_demand))
		return desired;
	*ret_kept = kept_above(l, entry);
	return limit_with(l, e, room_beside(l, e, ret_kept->node.bytes, ret_kept->pods.bytes),
			  desired);
}

uint64_t ledger_most(const struct ledger *l, uint32_t entry, uint64_t desired)
{
	struct kept_of kept;

	return ledger_decide(l, entry, desired, &kept);
}

static void find_holder(const struct ledger *l, uint32_t entry, bool by_pods,
			struct ledger_verdict *v)
{
	for (uint32_t i = 0; i < l->count; i++) {
		uint64_t bytes = i == entry ? 0 : outstanding(l, &l->entries[i]);

		/* What bounds pods alone, only they hold. */
		if (bytes <= v->holder_bytes || (by_pods && !l->entries[i].pod))
			continue;
		v->holder = i;
		v->holder_bytes = bytes;
	}
}

void ledger_weigh(const struct ledger *l, uint32_t entry, uint64_t desired,
		  struct ledger_verdict *ret)
{
	const struct ledger_entry *e = &l->entries[entry];
	struct kept_of kept;
	uint32_t group;
	uint64_t allowed = ledger_decide(l, entry, desired, &kept);
	uint64_t above = room_above(l, e, &group);
	/* It ends at the budget of its pod. */
	bool spent = allowed < desired && allowed == MAX(e->limit, budget_most(l, e));
	uint32_t by = spent ? e->above : group;
	bool by_pods = e->pod &&
		       sub_sat(pods_room(l), kept.pods.bytes) < sub_sat(room(l), kept.node.bytes);
	const struct kept *k = by_pods ? &kept.pods : &kept.node;
	struct ledger_verdict v = {
		.desired = desired,
		.allowed = allowed,
		.available = l->node.available,
		.reserve = l->node.reserve,
		.kubelet = l->node.eviction != 0,
		.outstanding = l->outstanding,
		.room = by_pods ? pods_room(l) : room(l),
		.kept = MIN(k->bytes, by_pods ? pods_room(l) : room(l)),
		.kept_for = k->first,
		.holder = LEDGER_NO_ENTRY,
	};

	if (by_pods) {
		v.kubelet = true;
		v.available = add_sat(l->node.pods, l->node.pods_eviction);
		v.reserve = l->node.pods_eviction;
		v.outstanding = l->pods_outstanding;
	} else if (v.kubelet) {
		v.available = sub_sat(add_sat(v.available, l->node.eviction), l->node.reserve);
		v.reserve = l->node.eviction;
	}
	if (spent || (above <= v.room - v.kept && group != 0))
		v = (struct ledger_verdict){
			.desired = desired,
			.allowed = allowed,
			.above = by,
			.available =
				spent ? l->node.groups[by].budget : l->node.groups[by].available,
			.outstanding =
				spent ? l->node.groups[by].limits : l->node.groups[by].outstanding,
			.room = spent ? allowed - e->limit : above,
			.kept_for = LEDGER_NO_ENTRY,
			.holder = LEDGER_NO_ENTRY,
		};
	else if (v.allowed < desired)
		find_holder(l, entry, by_pods, &v);
	*ret = v;
}

uint64_t ledger_grant(struct ledger *l, uint32_t entry, uint64_t desired)
{
	uint64_t allowed = ledger_most(l, entry, desired);
	struct ledger_entry *e = &l->entries[entry];
	uint32_t group;
	/* For what a limit above does not leave, only those in it need to give something back. */
	uint64_t waits = limit_with(l, e, room_above(l, e, &group),
				    MIN(desired, MAX(e->limit, budget_most(l, e))));

	add_entry(l, e, -1);
	e->denied = allowed < waits ? waits : 0;
	e->urgent = e->needs ? e->denied : 0;
	e->withheld = waits < desired ? desired : 0;
	e->limit = MAX(e->limit, allowed);
	add_entry(l, e, 1);
	return allowed;
}

/* --- cancelling */

/* Which waiting entries ask a holder for its unused grant: by this, how far it shrinks. */
enum asker {
	ASKER_ANY,         /* all that wait, if one of them needs memory now */
	ASKER_BEFORE,      /* those that ledger_before() puts before the holder */
	ASKER_HIGHER_RANK, /* those of higher priority or QoS class */
	ASKER_COUNT,
};

/* The sum of denied limits, and the first entry that waits. */
struct wanted {
	bool pods;      /* for pods alone, which others cannot make room for */
	uint32_t group; /* below its limit, which only those in it make room for; 0: none */
	uint64_t all;
	bool now; /* growth needs some of it */
	const struct ledger_entry *first;
};

static bool takes_part(const struct ledger *l, const struct wanted *w, const struct ledger_entry *e)
{
	uint32_t g = e->above;

	while (w->group != 0 && g != 0 && g != w->group)
		g = l->node.groups[g].above;
	return w->group != 0 ? g == w->group : !w->pods || e->pod;
}

/* In a budget every limit counts. group 0: the node. */
static bool counts_all(const struct ledger *l, uint32_t group, const struct ledger_entry *e)
{
	return group != 0 && l->node.groups[group].budget != 0 && has_limit(e);
}

static uint64_t cost_in(const struct ledger *l, uint32_t group, const struct ledger_entry *e,
			uint64_t limit)
{
	return counts_all(l, group, e) ? sub_sat(limit, e->limit) : cost(l, e, limit);
}

/* room_above(), or what a budget leaves where that is less. */
static uint64_t room_in(const struct ledger *l, const struct ledger_entry *e, uint32_t *ret)
{
	uint64_t bytes = room_above(l, e, ret);
	const struct ledger_group *g = e->above != 0 ? &l->node.groups[e->above] : NULL;

	if (g == NULL || g->budget == 0 || sub_sat(g->budget, g->limits) > bytes)
		return bytes;
	*ret = e->above;
	return sub_sat(g->budget, g->limits);
}

static uint64_t cost_denied(const struct ledger *l, const struct wanted *w,
			    const struct ledger_entry *e)
{
	if (!takes_part(l, w, e))
		return 0;
	return w->group != 0 ? cost_in(l, w->group, e, e->withheld) : cost(l, e, e->denied);
}

/* kept_from(), of what w asks for. */
static uint64_t kept_from_in(const struct ledger *l, const struct wanted *w,
			     const struct ledger_entry *e, const struct ledger_entry *other)
{
	if (w->group == 0)
		return kept_from(l, e, e->denied, other);
	return ledger_before(e, other) && (e->needs || !same_rank(e, other)) ? cost_denied(l, w, e)
									     : 0;
}

/* How far a holder could shrink. What it will need or needed recently counts as used for claims
 * that come after it; what it grows to now also for its equals. */
static uint64_t lowest_for(const struct ledger_entry *e, enum asker asker)
{
	uint64_t to = MAX(MAX(e->min_limit, e->use), e->original);

	if (asker <= ASKER_BEFORE)
		to = MAX(to, e->next);
	if (asker == ASKER_ANY)
		to = MAX(to, MAX(e->projected, e->recent_peak));
	return to;
}

/* Keeps the lowest ranks, lowest first. */
static uint32_t insert(const struct ledger *l, struct ledger_ask *list, uint32_t count,
		       uint32_t max, uint32_t entry)
{
	const struct ledger_entry *e = &l->entries[entry];
	uint32_t at = count;

	while (at > 0 && ledger_before(&l->entries[list[at - 1].entry], e))
		at--;
	if (at == max)
		return count;
	count = MIN(count + 1, max);
	for (uint32_t i = count - 1; i > at; i--)
		list[i] = list[i - 1];
	list[at].entry = entry;
	return count;
}

/* How much such askers ask of the holder. */
static uint64_t wanted_of(const struct ledger *l, const struct wanted *w, enum asker asker,
			  const struct ledger_entry *holder)
{
	uint64_t sum = 0;

	if (asker == ASKER_ANY)
		return w->now ? w->all : 0;
	for (uint32_t i = 0; i < l->count; i++) {
		const struct ledger_entry *e = &l->entries[i];

		if ((asker == ASKER_BEFORE || !same_rank(e, holder)) && takes_part(l, w, e))
			sum += kept_from_in(l, w, e, holder);
	}
	return sum;
}

/* How far an entry is to shrink, no further than necessary. have: the room, and what entries asked
 * before will add to it.
 */
static uint64_t ask_for(const struct ledger *l, const struct wanted *w,
			const struct ledger_entry *e, uint64_t have)
{
	/* An entry that waits itself makes room only for those before it. */
	enum asker asker = cost_denied(l, w, e) == 0 ? ASKER_ANY : ASKER_BEFORE;
	uint64_t to = e->limit;

	for (; asker < ASKER_COUNT; asker++) {
		uint64_t missing = sub_sat(wanted_of(l, w, asker, e), have);
		uint64_t enough = round_down(sub_sat(e->limit, missing), l->node.page_bytes);
		uint64_t goal = MAX(enough, round_up(lowest_for(e, asker), l->node.page_bytes));

		to = MIN(to, goal);
	}
	return to;
}

static struct wanted ledger_wanted(const struct ledger *l, struct wanted w)
{
	for (uint32_t i = 0; i < l->count; i++) {
		const struct ledger_entry *e = &l->entries[i];
		uint64_t denied = cost_denied(l, &w, e);

		if (denied > 0 && (w.first == NULL || ledger_before(e, w.first)))
			w.first = e;
		w.all += denied;
		w.now |= denied > 0 && (w.group != 0 ? e->needs : cost(l, e, e->urgent) > 0);
	}
	return w;
}

/* Can it give anything to waiting entries? The first of them may take most. */
static bool can_give(const struct ledger *l, const struct ledger_entry *e, const struct wanted *w)
{
	enum asker asker = ASKER_ANY;

	if (!takes_part(l, w, e))
		return false;
	if (kept_from_in(l, w, w->first, e) > 0)
		asker = same_rank(w->first, e) ? ASKER_BEFORE : ASKER_HIGHER_RANK;
	return outstanding(l, e) > 0 && add_sat(lowest_for(e, asker), STEP_MIN_BYTES) <= e->limit;
}

uint32_t ledger_cancel(const struct ledger *l, struct ledger_ask *ret, uint32_t max)
{
	struct wanted w = ledger_wanted(l, (struct wanted){0});
	uint64_t have = room(l);
	uint32_t count = 0, asked = 0;

	if (w.all <= have) {
		w = ledger_wanted(l, (struct wanted){.pods = true});
		have = pods_room(l);
	}
	for (uint32_t i = 0; w.all <= have && i < l->count; i++) {
		uint32_t group;

		if (l->entries[i].withheld == 0)
			continue;
		have = room_in(l, &l->entries[i], &group);
		w = ledger_wanted(l, (struct wanted){.group = group});
	}
	if (w.all <= have)
		return 0;
	for (uint32_t i = 0; i < l->count; i++)
		if (can_give(l, &l->entries[i], &w))
			count = insert(l, ret, count, max, i);
	for (uint32_t i = 0; i < count && w.all > have; i++) {
		const struct ledger_entry *e = &l->entries[ret[i].entry];
		uint64_t to = ask_for(l, &w, e, have);

		if (add_sat(to, STEP_MIN_BYTES) > e->limit)
			continue;
		ret[asked++] = (struct ledger_ask){.entry = ret[i].entry, .to = to};
		/* Its limit a moment after it was asked. */
		to = MAX(to, e->charged);
		to = MIN(to, e->limit);
		have += counts_all(l, w.group, e) ? e->limit - to
						  : outstanding(l, e) - outstanding_at(l, e, to);
	}
	return asked;
}

/* --- growth and denied limits */

/* An entry of lower rank that is granted no more goes on for a step of growth, 2 s of brake, and a
 * second until it is OOM-killed and MemAvailable shows it. Less is too late for the higher rank;
 * twice as much stops a lower rank where there is enough for all (test_control_ledger.c). */
uint64_t ledger_projected(const struct tuning_memory *t, uint64_t limit, uint64_t use,
			  uint64_t slope_bps)
{
	usec_t ahead = add_sat(t->slope_ahead_usec, t->slope_ahead_usec);
	uint64_t step = scale_permille(limit, t->raise_permille);
	uint64_t grown = add_sat(use, mul_div(slope_bps, ahead, USEC_PER_SEC));

	/* Use that only fluctuates below its limit must not stop all others. */
	return slope_bps == 0 || limit == LIMIT_MAX || grown < limit ? 0 : MAX(step, grown);
}

uint64_t ledger_denied_limit(const struct ledger_denied *c, uint64_t limit, uint64_t use,
			     usec_t now)
{
	uint64_t missing = sub_sat(c->limit, limit), freed = sub_sat(c->use, use);

	return missing > freed && now - c->at < DENIED_LIMIT_USEC ? c->limit : 0;
}

/* --- MemAvailable */

/* Accounts for what ledger_use() subtracted. */
static void ledger_settle(struct ledger_reads *r, uint64_t left)
{
	uint64_t grown = sub_sat(r->given, left);

	r->given -= grown;
	r->taken += grown;
	if (r->base != LIMIT_MAX)
		r->base = sub_sat(r->base, grown);
}

uint64_t ledger_read(struct ledger_reads *r, uint64_t left, uint64_t available)
{
	ledger_settle(r, left);
	r->given = MIN(available, r->base);
	return r->given;
}

void ledger_passed(struct ledger_reads *r, uint64_t left, uint64_t available)
{
	ledger_settle(r, left);
	r->base = sub_sat(available, r->taken);
	r->taken = 0;
}

/* What the node can grant, before any grant. */

static uint64_t reserve_of(const struct tuning_node *t, uint64_t total)
{
	return MAX(scale_permille(total, t->reserve_permille), t->reserve_min_bytes);
}

/* The kubelet's eviction threshold. */
static uint64_t eviction_of(const struct tuning_node *t, uint64_t total)
{
	return t->eviction & AMOUNT_SHARE ? scale_permille(total, t->eviction & ~AMOUNT_SHARE)
					  : t->eviction;
}

uint64_t ledger_reserve(const struct tuning_node *t, uint64_t total)
{
	return MAX(reserve_of(t, total), eviction_of(t, total));
}

void ledger_supply(const struct tuning_node *t, uint64_t total, uint64_t available,
		   const struct ledger_kubelet *k, struct ledger_node *ret)
{
	uint64_t reserve = ledger_reserve(t, total);
	/* The margin covers growth that no read shows yet, as the reserve does. Half as much: page
	 * cache that the kubelet counts as used can still be reclaimed. */
	uint64_t eviction = add_sat(eviction_of(t, total), reserve_of(t, total) / 2);
	/* The MemAvailable that would leave the same room. */
	uint64_t same = sub_sat(add_sat(k->available, reserve), eviction);
	bool kubelet = k->available != LIMIT_MAX && same < available;

	*ret = (struct ledger_node){
		.total = total,
		.available = kubelet ? same : available,
		.reserve = reserve,
		.eviction = kubelet ? eviction : 0,
		.pods = k->pods_available != LIMIT_MAX ? sub_sat(k->pods_available, eviction)
						       : LIMIT_MAX,
		.pods_eviction = eviction,
	};
}

bool ledger_evicts(const struct ledger_node *n)
{
	return n->eviction != 0 || n->pods < sub_sat(n->available, n->reserve);
}

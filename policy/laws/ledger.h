/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the node can still grant: growth of memory limits above what they were at first sight.
 *
 *	outstanding = sum of max(0, limit - use) over the limits that stand above their original
 *	room	    = MemAvailable - reserve - outstanding, or what the kubelet's bound leaves
 *		      where that is less: ledger_supply()
 *	A grant makes outstanding grow by no more than the room.
 *
 * What is used of a grant has left MemAvailable and is not outstanding any more: it counts once.
 * So growing into a grant never changes the room, and a limit that was granted can be used up at
 * any moment, by all at once, without the node sinking below its reserve.
 *
 * Use is unreclaimable memory. Page cache fills a limit too, but MemAvailable still counts it as
 *	free: as use it would free the grant while nothing had been taken.
 * An original limit was given by the owner, however many of them the node could not hold together.
 *	Nothing of it is outstanding, and going back up to it is no grant. One byte above it, and
 *	all that the container does not use is: from then on we have vouched for the whole limit.
 * A limit on trial counts as the one it may go back to. A grant ends with its container: the
 *	successor asks for its size anew, and until then what was freed is its claim.
 * Swap is no room: MemAvailable has none of it. Huge pages are in neither of the figures.
 * A pod's own limit is the sum of its containers' and is not entered a second time.
 *
 * Between two reads: what an entry is seen to use more is taken off MemAvailable, what it uses less
 * is not put back. Memory of the dead is granted once the next read shows it. What an entry has
 * freed since its use was read must not be in MemAvailable yet, or it counts twice: the caller
 *gives the lower one of two reads. Growth of others that nobody has seen yet is not in any figure:
 *that, and growth below original limits, is what the reserve is for.
 *
 * Who gets it: whoever asks, but not before a higher rank. What one of those was denied lately (its
 *	claim) is left to it, and what its growth takes soon: used memory is never taken back, so a
 *	low rank has to be stopped before a high one is short. A higher rank is a higher priority,
 *	then the better QoS class. Among equals nobody steps back for what others may take soon or
 *	ask for ahead of need: one who grows would die of it while there is memory. Of those who
 *	need memory now, the smaller overdraft (use above request) goes first.
 * What is short then is looked for in the grants that others do not use, lowest ranks first:
 *	ledger_cancel() names whom to ask for how much, never below use nor below the original. What
 *	is not even charged can go back at once and without a trial, or an equally fast grower of
 *	higher rank that was looked at later dies waiting for it; only the page cache needs one.
 * Requests that are not used are no reservation: what nobody uses is granted to whoever asks.
 *
 * Pure and without memory of its own: the entries are the caller's. A growth that fits is granted
 * in one step when nobody waits, else in one pass over the entries.
 */
#pragma once

#include "policy/types/profile.h"

#define LEDGER_NOBODY UINT32_MAX

struct ledger_node {
	uint64_t total;     /* MemTotal */
	uint64_t available; /* ledger_supply() now or at the last read, whatever is less; newer uses
			       come by ledger_use() */
	uint64_t reserve;   /* ledger_reserve() */
	uint64_t eviction;  /* the kubelet's bound is the lower one: what must stay available to it;
			       0: MemAvailable is */
};

/* One container or unit; limits are memory.max in bytes. */
struct ledger_entry {
	uint64_t limit;    /* or the higher one that a trial goes back to; LIMIT_MAX: none */
	uint64_t original; /* LIMIT_MAX: none, nothing is ever granted */
	uint64_t use;      /* unreclaimable */
	uint64_t request;  /* 0: none */
	uint64_t least;    /* it may be asked to shrink to this: use and margin */
	uint64_t lately;   /* what it needed in the last minutes */
	uint64_t next;     /* it grows to this within slope_ahead; 0: it does not grow */
	uint64_t charged;  /* to this at once: page cache takes a trial; 0: to the least */
	uint64_t soon;     /* ledger_soon() */
	uint64_t claim;    /* the limit it asked for and did not get; 0: none */
	uint64_t urgent;   /* of the claim, what denied growth needs now */
	bool needs;        /* its growth reaches its limit soon, or stands denied at it */
	int32_t priority;  /* of the pod; a unit: 0 */
	uint8_t qos;       /* 0 Guaranteed or a unit, 1 Burstable, 2 BestEffort */
};

/* Over borrowed entries: every answer is as good as they are. */
struct ledger {
	struct ledger_node node;
	struct ledger_entry *entries;
	uint32_t count;
	uint64_t outstanding;
	uint64_t awaited; /* what all claims and growers together ask beyond their limits */
};

/* The answer to a wish, with what led to it. Amounts as they were before it. */
struct ledger_verdict {
	uint64_t wish;
	uint64_t allowed;   /* never below the limit that stands, unless the wish is */
	uint64_t available; /* MemAvailable, or the kubelet's memory.available */
	uint64_t reserve;   /* of it */
	bool kubelet;       /* which of the two */
	uint64_t outstanding;
	uint64_t room;
	uint64_t kept;         /* of the room, for higher ranks ... */
	uint32_t kept_for;     /* ... first of all for this entry, or LEDGER_NOBODY */
	uint32_t holder;       /* the largest unused grant of another, or LEDGER_NOBODY */
	uint64_t holder_bytes; /* how large */
};

/* Somebody who is to shrink: a wish, never an order. */
struct ledger_ask {
	uint32_t entry;
	uint64_t to;
};

/* A share of the node, at least some MiB and where the kubelet begins to evict. */
uint64_t ledger_reserve(const struct tuning_node *t, uint64_t total);
/* Where the kubelet begins to evict. */
uint64_t ledger_eviction(const struct tuning_node *t, uint64_t total);
/*
 * What the node has to grant from is the lower one of two bounds:
 *
 *	MemAvailable - reserve
 *	memory.available of the kubelet - (its hard eviction threshold + margin)
 *
 * The kubelet counts active page cache and slab as used and evicts by that, a long time before the
 * kernel would run out. kubelet_available: LIMIT_MAX where there is no kubelet. Fills all of *ret;
 * available is given in terms of MemAvailable in either case.
 */
void ledger_supply(const struct tuning_node *t, uint64_t total, uint64_t available,
		   uint64_t kubelet_available, struct ledger_node *ret);

/* Once per tick. entries: in any order, but that of the indices from now on. */
void ledger_begin(struct ledger *l, const struct ledger_node *node, struct ledger_entry *entries,
		  uint32_t count);
/* Newer use of an entry than MemAvailable knows. */
void ledger_use(struct ledger *l, uint32_t entry, uint64_t use);
/* What a wish would get; changes nothing. */
void ledger_weigh(const struct ledger *l, uint32_t entry, uint64_t wish,
		  struct ledger_verdict *ret);
/* The same without the explanation. LIMIT_MAX as wish: the most there is. */
uint64_t ledger_most(const struct ledger *l, uint32_t entry, uint64_t wish);
/* Books what a wish gets; the rest is the entry's claim, urgent where it needs it. Returns the
 * limit.
 */
uint64_t ledger_grant(struct ledger *l, uint32_t entry, uint64_t wish);
/* Whom to ask, so that the claims could be met: lowest ranks first, at most `max` of them. On every
 * tick with claims. Who can give at once only a part of what he is asked for counts for that part.
 */
uint32_t ledger_cancel(const struct ledger *l, struct ledger_ask *ret, uint32_t max);
/* The limit that a grower needs until somebody of lower rank, stopped now, has made way; 0 for one
 * that has room until then. slope_bps: the steady one. */
uint64_t ledger_soon(const struct tuning_memory *t, uint64_t limit, uint64_t use,
		     uint64_t slope_bps);
/* Does a come before b when memory is short? */
bool ledger_before(const struct ledger_entry *a, const struct ledger_entry *b);

/* A claim is kept for a while by whoever keeps the entry: one who is held asks again. */
struct ledger_claim {
	uint64_t limit; /* 0: there is none */
	uint64_t use;   /* as it was made */
	usec_t at;
	bool ahead; /* of need */
};
/* 0: there is none any more, or `limit` has met it, or what was freed since. */
uint64_t ledger_claim_value(const struct ledger_claim *c, uint64_t limit, uint64_t use, usec_t now);

/* MemAvailable over several reads. base: begin with LIMIT_MAX. */
struct ledger_reads {
	uint64_t base;  /* as of the last pass, less what was seen to grow since */
	uint64_t given; /* to the ledger at its begin */
	uint64_t taken; /* seen to grow since the last pass */
};
/* For ledger_begin(), with the ledger as it was left: MemAvailable without what was freed since all
 * entries were looked at. */
uint64_t ledger_read(struct ledger_reads *r, const struct ledger *l, uint64_t available);
/* All entries have been looked at since `available` was read. */
void ledger_passed(struct ledger_reads *r, const struct ledger *l, uint64_t available);

/* SPDX-License-Identifier: Apache-2.0 */
/* What the node can still grant: growth of memory limits above their originals. The rules, and who
 * is granted and gives back first: docs/control-laws.md, "The node's memory".
 *
 * 	outstanding = sum of max(0, limit - use) over the limits that are above their original
 * 	room	    = ledger_supply() - outstanding; a grant makes outstanding grow by at most that
 * 	rank	    = priority, then QoS class; within a rank who needs memory now, then who uses
 * 		      least above its request
 *
 *  - Grant: an entry gets what fits in the room that is left beside what entries before it wait
 * for. What it does not get is stored as denied.
 *  - Cancel: while something is denied, entries with unused grants are asked to shrink, the lowest
 * rank first.
 *  - A group is a cgroup above with a limit of its own: it bounds a grant as the node does. One
 * with a budget also bounds a limit that returns to its original: another entry may have that
 * memory.
 *  - Use is unreclaimable memory: MemAvailable still counts page cache as free, so counting it as
 * use would release a grant although no memory had been taken.
 *  - One byte above its original, all that a container does not use is outstanding.
 *  - A limit on trial counts as the limit that the trial may restore. A grant ends with its
 * container: the successor asks anew, and until then the freed memory is kept for it.
 *  - A pod's own limit is the sum of its containers' limits and is not entered a second time.
 *  - Between two reads an increase of use is subtracted from MemAvailable; a decrease is not added,
 * or it would count twice: the caller passes the lower of two reads.
 *  - A request that is not used reserves nothing. Memory that is not charged is given back without
 * a trial: a container of higher rank is OOM-killed while it waits.
 *
 * Pure: the entries belong to the caller. Growth outside the entries is covered by the reserve. */
#pragma once

#include "policy/types/profile.h"

#define LEDGER_NO_ENTRY UINT32_MAX

/* A cgroup above entries that has a limit of its own, or is in one that has. */
struct ledger_group {
	uint64_t available;   /* below its limit; LIMIT_MAX: it has none */
	uint64_t outstanding; /* of the entries in it */
	uint64_t budget;      /* of the pod that it is: its limits add up to no more; 0: no bound */
	uint64_t limits;      /* of the entries right in it, originals too */
	uint32_t above;       /* index of the group that it is in; 0: none */
};

struct ledger_node {
	uint64_t page_bytes;
	uint64_t total;     /* MemTotal */
	uint64_t available; /* ledger_supply() now or at the last read, whichever is less; newer use
			       is added by ledger_use() */
	uint64_t reserve;   /* ledger_reserve() */
	uint64_t eviction;  /* what must stay available to the kubelet where its bound is the lower
			       one; 0: MemAvailable is the lower one */
	/* What containers of pods may use beside what they have been granted, whatever the node
	 * has; LIMIT_MAX: no such bound. */
	uint64_t pods;
	uint64_t pods_eviction; /* what must stay below the limit of all pods besides */
	/* The caller's, used from now on; the first is none. May be NULL where no entry has one. */
	struct ledger_group *groups;
};

/* One container or unit; limits are memory.max in bytes. */
struct ledger_entry {
	uint64_t limit;       /* or the higher one that a trial may restore; LIMIT_MAX: none */
	uint64_t original;    /* LIMIT_MAX: none, nothing is ever granted */
	uint64_t use;         /* unreclaimable */
	uint64_t request;     /* 0: none */
	uint64_t min_limit;   /* it may be asked to shrink to this: use and margin */
	uint64_t recent_peak; /* what it needed in the last minutes */
	uint64_t next;        /* it grows to this within slope_ahead; 0: it does not grow */
	uint64_t charged;   /* it can shrink to this at once, further by a trial; 0: to min_limit at
			     * once
			     */
	uint64_t projected; /* ledger_projected() */
	uint64_t denied;    /* the limit that it asked for and was denied; 0: none */
	uint64_t withheld;  /* likewise, for lack of room below a limit above; since begun */
	uint64_t urgent;    /* the part of denied that growth needs now */
	bool needs; /* its growth reaches its limit soon, or was denied and use is at the limit */
	int32_t priority; /* of the pod; a unit: 0 */
	uint8_t qos;      /* 0 Guaranteed or a unit, 1 Burstable, 2 BestEffort */
	bool pod;         /* a container of a pod: what is left to all pods bounds it */
	uint32_t above;   /* index of the group that it is in; 0: none */
};

/* The entries belong to the caller and must be current. */
struct ledger {
	struct ledger_node node;
	struct ledger_entry *entries;
	uint32_t count;
	uint64_t outstanding;
	uint64_t pods_outstanding; /* the part of pods */
	uint64_t demand_total; /* sum over all entries of what the higher of denied and projected
			     adds to outstanding */
	uint64_t pods_demand;  /* the part of pods */
};

/* The answer to a desired limit, and its reasons. Amounts as they were before the grant. */
struct ledger_verdict {
	uint64_t desired;
	uint64_t allowed;   /* never below the current limit, unless the desired limit is */
	uint32_t above;     /* the group whose limit bounds it; 0: the node */
	uint64_t available; /* in it; or MemAvailable, or the kubelet's memory.available */
	uint64_t reserve;   /* of it */
	bool kubelet;       /* which of the two */
	uint64_t outstanding;
	uint64_t room;
	uint64_t kept;         /* of the room, for higher ranks ... */
	uint32_t kept_for;     /* ... first of all for this entry, or LEDGER_NO_ENTRY */
	uint32_t holder;       /* the largest unused grant of another, or LEDGER_NO_ENTRY */
	uint64_t holder_bytes; /* how large */
};

/* An entry that is asked to shrink; the caller may decline. */
struct ledger_ask {
	uint32_t entry;
	uint64_t to;
};

/* A share of the node's memory, but at least some MiB and the kubelet's eviction threshold. */
uint64_t ledger_reserve(const struct tuning_node *t, uint64_t total);
/* What the kubelet evicts by; LIMIT_MAX: no such bound. */
struct ledger_kubelet {
	uint64_t available;      /* memory.available */
	uint64_t pods_available; /* allocatableMemory.available: below the limit of all pods */
};
/* The node grants from the lower of two bounds: MemAvailable - reserve, and the kubelet's
 * memory.available - (its hard eviction threshold + margin), since the kubelet counts active page
 * cache and slab as used. Pods get no more than allocatableMemory.available less the same.
 * available is given in terms of MemAvailable in either case. */
void ledger_supply(const struct tuning_node *t, uint64_t total, uint64_t available,
		   const struct ledger_kubelet *kubelet, struct ledger_node *ret);

/* Do the kubelet's thresholds leave less to pods than the reserve does, before any grant? */
bool ledger_evicts(const struct ledger_node *n);

/* Once per tick. The entries may be in any order; their indices are used from now on. */
void ledger_begin(struct ledger *l, const struct ledger_node *node, struct ledger_entry *entries,
		  uint32_t count);
/* Sets the use of an entry, read after MemAvailable was. */
void ledger_use(struct ledger *l, uint32_t entry, uint64_t use);
/* What would be granted of a desired limit; changes nothing. */
void ledger_weigh(const struct ledger *l, uint32_t entry, uint64_t desired,
		  struct ledger_verdict *ret);
/* The same without the reasons. desired LIMIT_MAX: the most that can be granted. */
uint64_t ledger_most(const struct ledger *l, uint32_t entry, uint64_t desired);
/* Grants what it can of a desired limit and returns the granted limit. When that is less, the
 * desired limit is stored as denied, and urgent if the entry needs it now.
 */
uint64_t ledger_grant(struct ledger *l, uint32_t entry, uint64_t desired);
/* Which entries to ask to shrink so that denied limits can be granted: lowest ranks first, at most
 * `max` of them. For every tick with denied entries. An entry that can give back only a part at
 * once counts for that part.
 */
uint32_t ledger_cancel(const struct ledger *l, struct ledger_ask *ret, uint32_t max);
/* The limit that growth needs until a lower rank, stopped now, has freed memory; 0: the current
 * limit is enough until then. slope_bps: the steady one. */
uint64_t ledger_projected(const struct tuning_memory *t, uint64_t limit, uint64_t use,
			  uint64_t slope_bps);
/* Does a come before b when memory is short? */
bool ledger_before(const struct ledger_entry *a, const struct ledger_entry *b);

/* A denied limit, kept for a while by the owner of the entry. A container that is still short asks
 * again. */
struct ledger_denied {
	uint64_t limit; /* 0: there is none */
	uint64_t use;   /* at the denial */
	usec_t at;
	bool ahead; /* of need */
};
/* 0: it has expired, or `limit` or the memory freed since then covers it. */
uint64_t ledger_denied_limit(const struct ledger_denied *c, uint64_t limit, uint64_t use,
			     usec_t now);

/* MemAvailable, or what is left to pods, over several reads. base starts as LIMIT_MAX. */
struct ledger_reads {
	uint64_t base;  /* at the last pass, less the growth seen since */
	uint64_t given; /* passed to ledger_begin() */
	uint64_t taken; /* growth seen since the last pass */
};
/* The value for ledger_begin(): without what was freed since all entries were read. left: as the
 * last pass left it in the ledger. */
uint64_t ledger_read(struct ledger_reads *r, uint64_t left, uint64_t available);
/* All entries have been read since `available` was read. */
void ledger_passed(struct ledger_reads *r, uint64_t left, uint64_t available);

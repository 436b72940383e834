/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one node has to tell the API server, and at what rate: level-triggered, one slot per pod, so
 * that an outage of any length ends in one report per changed pod, with the newest state.
 *
 *	tokens	  one in interval_usec, at most burst: every write takes one, Events too;
 *		  annotations alone leave half of the burst to what may come
 *	order	  what leads (policy/report/report.h), what was refused or goes back, then memory
 *that
 *rises, other resizes, and annotations alone; the oldest first 429	  nothing of this node goes
 *out before Retry-After outage	  one try at a time, 1 s to 60 s apart; what leads cannot wait for
 *it and has a budget of its own after it  every slot waits its own part of spread_usec
 *
 * Pure; random choices come from the seed.
 */
#pragma once

#include "policy/report/report.h"

#define REPORT_UID_MAX 64

struct report_rate {
	usec_t interval_usec;
	uint32_t burst;
	usec_t spread_usec;
};

struct report_slot {
	char uid[REPORT_UID_MAX];
	enum report_urgency urgency;
	usec_t since; /* the oldest thing that is not told yet */
	usec_t not_before;
};

struct report_bucket {
	usec_t interval_usec;
	uint32_t burst;
	uint64_t permille; /* tokens at filled_at */
	usec_t filled_at;
};

struct report_queue {
	struct report_rate rate;
	uint64_t seed;
	struct report_bucket writes;
	struct report_bucket leading; /* when `writes` or an outage would make it wait */
	usec_t slow_until;
	bool outage;
	usec_t outage_step;  /* between two tries */
	usec_t try_at;       /* the next one */
	usec_t spread_until; /* what comes new before goes into the spread as well */
	struct report_slot *slots;
	size_t count;
	size_t capacity;
};

void report_queue_init(struct report_queue *q, const struct report_rate *rate, uint64_t seed,
		       usec_t now);
void report_queue_free(struct report_queue *q);

/* Something is to be told of this pod. What waits already keeps its age; its urgency is that of the
 * newest state, or what grew once would go out of turn long after. -ENOMEM; -ENAMETOOLONG. */
int report_queue_mark(struct report_queue *q, const char *uid, enum report_urgency urgency,
		      usec_t now);
/* There is nothing to tell any more, or the pod is gone. */
void report_queue_drop(struct report_queue *q, const char *uid);
/* Does something of this pod wait? */
bool report_queue_holds(const struct report_queue *q, const char *uid);
/* The next one that may go now, borrowed until the next call; NULL: none. It stays in the queue
 * until it is dropped, and takes no token yet. */
const struct report_slot *report_queue_next(const struct report_queue *q, usec_t now);
/* May a write go out now, slot or Event? */
bool report_queue_open(const struct report_queue *q, usec_t now);
/* Takes a token: a write goes out. False: out of its turn, because it leads. */
bool report_queue_take(struct report_queue *q, enum report_urgency urgency, usec_t now);
/* When report_queue_next() may give something at the earliest; 0: nothing waits. */
usec_t report_queue_due(const struct report_queue *q, usec_t now);
/* When report_queue_open() is true at the earliest; now: it is. */
usec_t report_queue_opens(const struct report_queue *q, usec_t now);

/* How the last write ended. */
void report_queue_slow(struct report_queue *q, usec_t retry_after_usec, usec_t now);
void report_queue_failed(struct report_queue *q, usec_t now);
/* Also from any other sign of life: the watch is back. */
void report_queue_healthy(struct report_queue *q, usec_t now);

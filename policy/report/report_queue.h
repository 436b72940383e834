/* SPDX-License-Identifier: Apache-2.0 */
/* What one node writes to the API server, and at what rate. Level-triggered with one slot per pod:
 * an outage of any length ends in one report per changed pod, with the newest state.
 *
 * Tokens: one in interval_usec, at most burst, for every write; annotations leave half of the burst
 * to others, leads (which have a bucket of their own besides) and Events a quarter. Order: leads,
 * what was refused or goes back, memory raises, other resizes, annotations; the oldest first. After
 * a 429 nothing is written before Retry-After, cut to a minute, leads to 5 s. In an outage one try
 * at a time, 1 s to 60 s apart; a lead cannot wait for it and has a token bucket of its own; those
 * after a failed request have that bucket alone, and leave half of it to the others. After an
 * outage each kind waits its own part of spread_usec. Pure; random choices come from the seed. */
#pragma once

#include "policy/report/report.h"

struct report_rate {
	usec_t interval_usec;
	uint32_t burst;
	usec_t spread_usec;
};

/* A pod's place in the queue: part of its entry. */
struct report_slot {
	const char *uid; /* borrowed; its part of a spread depends on it */
	struct report_slot *next;
	bool waits; /* in the queue */
	enum report_urgency urgency;
	usec_t since; /* of the oldest change that is not sent yet */
	usec_t not_before;
	bool held; /* by the caller, until report_queue_release() or another urgency */
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
	struct report_bucket leading;       /* when `writes` or an outage would make it wait */
	usec_t slow_until, lead_slow_until; /* after a 429 */
	bool outage;
	usec_t outage_step;        /* between two tries */
	usec_t try_at;             /* the next one */
	usec_t spread_until;       /* a slot marked before this is spread as well */
	struct report_slot *first; /* the newest */
	size_t count;
};

void report_queue_init(struct report_queue *q, const struct report_rate *rate, uint64_t seed,
		       usec_t now);

/* Marks that this pod has something to send. A slot that waits already keeps its age. Its urgency
 * is that of the newest state; else a pod that grew once would go out of turn long afterwards. */
void report_queue_mark(struct report_queue *q, struct report_slot *s, enum report_urgency urgency,
		       usec_t now);
/* There is nothing to send any more, or the pod is gone. */
void report_queue_drop(struct report_queue *q, struct report_slot *s);
/* Of slots that the caller held back: the others go on. */
void report_queue_release(struct report_queue *q);
/* The next one that may go now, borrowed until the next call; NULL: none. It stays in the queue
 * until it is dropped, and takes no token yet. */
struct report_slot *report_queue_next(const struct report_queue *q, usec_t now);
/* Takes a token: a write goes out. False: it goes out of turn, because it is a lead. */
bool report_queue_take(struct report_queue *q, enum report_urgency urgency, usec_t now);
/* When report_queue_next() may return a slot, at the earliest; 0: nothing waits. */
usec_t report_queue_due(const struct report_queue *q, usec_t now);
/* When an Event may go out at the earliest; now: it may. turn: it is its turn among reports that
 * wait. Else it leaves a quarter of the burst to them. */
usec_t report_queue_opens_event(const struct report_queue *q, bool turn, usec_t now);

/* How the last write ended. in_turn: it waited for its turn; during an outage only the failure of
 * such a one counts. */
void report_queue_answered(struct report_queue *q, const struct report_answer *a, bool in_turn,
			   usec_t now);
void report_queue_slow(struct report_queue *q, usec_t retry_after_usec, usec_t now);
void report_queue_failed(struct report_queue *q, usec_t now);
/* Also called when something else shows that the server answers: the watch is back. */
void report_queue_healthy(struct report_queue *q, usec_t now);

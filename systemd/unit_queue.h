/* SPDX-License-Identifier: Apache-2.0 */
/* When each property call is made: at most one in flight per unit, a later call replaces or joins
 * the waiting one, a pause between two calls of a unit unless urgent, a deadline for each. It uses
 * no clock and no bus: the caller passes `now`, which never goes backwards. */
#pragma once

#include "systemd/unit_props.h"

struct unit_queue_config {
	usec_t interval_usec; /* between two calls for the same unit */
	usec_t deadline_usec; /* an unanswered call is given up after this */
	unsigned window;      /* calls in flight over all units */
};

/* A call to make now. The name is borrowed until the next call of any function here. */
struct unit_call {
	const char *unit;
	struct unit_props props;
	uint32_t mask;
};

struct unit_queue;

int unit_queue_new(const struct unit_queue_config *config, struct unit_queue **ret);
void unit_queue_free(struct unit_queue *q);

/* Queues the values in mask for this unit; joins or replaces what still waits. */
int unit_queue_put(struct unit_queue *q, const struct unit_call *want, bool urgent, usec_t now);
/* Hands out the next call that may go (urgent ones first, then the longest waiting) and counts it
 * as in flight. False: nothing may go now. */
bool unit_queue_take(struct unit_queue *q, usec_t now, struct unit_call *ret);
/* The call of this unit has ended; the time it took, or 0 when none was in flight. */
usec_t unit_queue_done(struct unit_queue *q, const char *unit, usec_t now);
/* A call past its deadline, now no longer in flight; NULL: none. Borrowed like unit_call.unit. */
const char *unit_queue_expire(struct unit_queue *q, usec_t now);
/* Forgets one unit that waits or is in flight and returns its name (owned); NULL: none left. */
char *unit_queue_drop(struct unit_queue *q);
/* Drops what waits for this unit; what is in flight stays. */
void unit_queue_forget(struct unit_queue *q, const char *unit);
bool unit_queue_pending(const struct unit_queue *q, const char *unit);
/* When take or expire has something to do next; UINT64_MAX: not before a put or done. */
usec_t unit_queue_next(const struct unit_queue *q);

/* SPDX-License-Identifier: Apache-2.0 */
/* Pause, resume, restore, and hand-back of originals. */
#pragma once

#include "agent/control_api/control_api.h"

struct restore_units;
struct unit_table;

/* Units whose originals are to be restored because they are no longer managed. */
struct hand_back {
	struct unit_table *units;
	const struct restore_units *port; /* tests; NULL: PID 1 */
	usec_t not_before;                /* PID 1 did not answer */
	bool strays_reported;
	usec_t strays_at; /* when to hand them back, UINT64_MAX: none */
};

int lifecycle_pause(struct unit_table *t, const char *name);
int lifecycle_resume(struct unit_table *t, const char *name);
/* What cannot be restored now is RESTORE_PENDING. -ENOTSUP: the node is not supported. */
int lifecycle_restore(struct hand_back *h, const char *name, bool force, control_result_fn *each,
		      void *arg);
/* At each review: tries again to restore what could not be restored yet. */
void lifecycle_tick(struct hand_back *h);

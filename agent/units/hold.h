/* SPDX-License-Identifier: Apache-2.0 */
/* Pause, resume, restore, and hand-back of originals. */
#pragma once

#include "agent/control/control.h"

struct daemon;

int hold_pause(struct daemon *d, const char *name);
int hold_resume(struct daemon *d, const char *name);
/* What cannot be restored at this moment is reported as RESTORE_PENDING. -ENOTSUP: the node is not
 * supported, and no record was read. */
int hold_restore(struct daemon *d, const char *name, bool force, control_result_fn *each,
		 void *arg);
/* At each review: tries again to restore what could not be restored yet. */
void hold_tick(struct daemon *d);

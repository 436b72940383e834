// SPDX-License-Identifier: Apache-2.0
#include "agent/view/restore_result.h"

const char *const restore_outcome_names[RESTORE_OUTCOME_COUNT] = {
	[RESTORE_RESTORED] = "restored", [RESTORE_LEFT] = "left",       [RESTORE_GONE] = "gone",
	[RESTORE_FAILED] = "failed",     [RESTORE_PENDING] = "pending",
};

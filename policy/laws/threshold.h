/* SPDX-License-Identifier: Apache-2.0 */
/* The threshold rule: use above a share of the limit for a time multiplies the limit. Nothing is
 * ever lowered. Amounts are millicores or bytes; 0 microseconds: use is not above. */
#pragma once

#include "policy/types/profile.h"
#include <stdbool.h>

/* One observation: *since is when use went above the threshold. */
void threshold_note(const struct tuning_threshold *t, usec_t *since, uint64_t used, uint64_t limit,
		    usec_t now);
/* It has been above for long enough. */
bool threshold_due(const struct tuning_threshold *t, usec_t since, usec_t now);
/* The next limit: at most the ceiling's share of the original, never less than the present one. */
uint64_t threshold_limit(const struct tuning_threshold *t, uint64_t limit, uint64_t original);

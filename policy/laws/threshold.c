// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/threshold.h"

void threshold_note(const struct tuning_threshold *t, usec_t *since, uint64_t used, uint64_t limit,
		    usec_t now)
{
	if (used <= scale_permille(limit, t->above_permille))
		*since = 0;
	else if (*since == 0)
		*since = now;
}

bool threshold_due(const struct tuning_threshold *t, usec_t since, usec_t now)
{
	return since != 0 && now - since >= t->for_usec;
}

uint64_t threshold_limit(const struct tuning_threshold *t, uint64_t limit, uint64_t original)
{
	uint64_t most = scale_permille(original, t->ceiling_permille);

	return MAX(limit, MIN(scale_permille(limit, t->factor_permille), most));
}

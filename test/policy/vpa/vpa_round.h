/* SPDX-License-Identifier: Apache-2.0 */
/* What VPA's updater does with the pods of a controller in one round, which the backtest, with one
 * container, has no need of. */
#pragma once

#include "test/policy/vpa/vpa_limits.h"

struct vpa_round_rules {
	double disruption;     /* share of the replicas that may be away */
	uint32_t min_replicas; /* fewer: never disrupted */
};

extern const struct vpa_round_rules vpa_round_rules_default;

/* < 0 when a is updated first, > 0 when b is, 0 when they have the same priority. */
int vpa_priority_compare(const struct vpa_priority *a, const struct vpa_priority *b);
/* How many of a controller's running pods may be changed in one round. */
uint32_t vpa_disruption_budget(uint32_t configured, uint32_t running,
			       const struct vpa_round_rules *rules);
/* Several LimitRanges: the narrowest bounds, the last default. */
void vpa_limit_range_merge(struct vpa_limit_range *range, const struct vpa_limit_range *other);

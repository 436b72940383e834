// SPDX-License-Identifier: Apache-2.0
#include "test/policy/vpa/vpa_round.h"

const struct vpa_round_rules vpa_round_rules_default = {
	.disruption = 0.5,
	.min_replicas = 2,
};

int vpa_priority_compare(const struct vpa_priority *a, const struct vpa_priority *b)
{
	if (a->scale_up != b->scale_up)
		return a->scale_up ? -1 : 1;
	return (a->resource_diff < b->resource_diff) - (a->resource_diff > b->resource_diff);
}

uint32_t vpa_disruption_budget(uint32_t configured, uint32_t running,
			       const struct vpa_round_rules *rules)
{
	uint32_t tolerance = (uint32_t)((double)configured * rules->disruption);
	uint32_t stay = configured - MIN(tolerance, configured);

	if (running < rules->min_replicas)
		return 0;
	if (running > stay)
		return running - stay;
	return running == configured && tolerance == 0 ? 1 : 0;
}

void vpa_limit_range_merge(struct vpa_limit_range *range, const struct vpa_limit_range *other)
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		range->min[r] = MAX(range->min[r], other->min[r]);
		if (range->max[r] == 0 || (other->max[r] > 0 && other->max[r] < range->max[r]))
			range->max[r] = other->max[r];
		if (other->default_limit[r] > 0)
			range->default_limit[r] = other->default_limit[r];
	}
}

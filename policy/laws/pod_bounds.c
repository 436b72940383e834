// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/pod_bounds.h"

uint64_t pod_unratified_max(const struct pod_bounds *p, uint64_t original)
{
	const struct pod_resource_bounds *m = &p->resource[RESOURCE_MEMORY];
	uint64_t grown = scale_permille(original, p->unratified_permille);

	if (p->unratified_permille == 0 || original == LIMIT_MAX || m->admin.max != 0)
		return LIMIT_MAX;
	return MAX(MAX(m->accepted, original), grown);
}

uint64_t pod_replay_max(const struct pod_bounds *p)
{
	uint64_t replay = p->replay_mem_bytes != 0 ? p->replay_mem_bytes : LIMIT_MAX;

	return p->growth_held ? MIN(replay, p->resource[RESOURCE_MEMORY].accepted) : replay;
}

uint64_t pod_qos_high(uint64_t request, uint64_t limit, uint32_t factor_permille,
		      uint64_t page_bytes)
{
	if (factor_permille == 0 || limit == LIMIT_MAX || request >= limit)
		return LIMIT_MAX;
	return round_down(request + scale_permille(limit - request, factor_permille), page_bytes);
}

uint32_t pod_qos_factor(uint64_t request, uint64_t limit, uint64_t high, uint64_t page_bytes)
{
	uint64_t least, most;

	if (limit == LIMIT_MAX || request >= limit || high < request || high > limit)
		return 0;
	least = mul_div(high - request, 1000, limit - request);
	most = mul_div(high + page_bytes - request, 1000, limit - request);
	for (uint64_t f = MAX(least, 1u); f <= MIN(most, 1000u); f++)
		if (pod_qos_high(request, limit, (uint32_t)f, page_bytes) == high)
			return (uint32_t)f;
	return 0;
}

bool pod_qos_near(const struct pod_qos_part *parts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct pod_qos_part *p = &parts[i];

		if (p->limit == LIMIT_MAX || p->request == 0 ||
		    (p->limit != p->request && !p->moves))
			return false;
	}
	return count > 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/pod_bounds.h"
#include "policy/base/arithmetic.h"

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

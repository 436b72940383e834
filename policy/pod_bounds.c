// SPDX-License-Identifier: Apache-2.0
#include "policy/pod_bounds.h"

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

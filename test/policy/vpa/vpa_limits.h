/* SPDX-License-Identifier: Apache-2.0 */
/*
 * VPA's limits in proportion to requests, and the caps on a recommendation: LimitRange of the pod,
 * LimitRange of the container, minAllowed and maxAllowed, the present limit with RequestsOnly.
 * Millicores and bytes; 0 = not set.
 */
#pragma once

#include "policy/backtest/backtest_policy.h"

/* One LimitRange item. */
struct vpa_limit_range {
	int64_t min[RESOURCE_COUNT];
	int64_t max[RESOURCE_COUNT];
	int64_t default_limit[RESOURCE_COUNT];
};

/*
 * The limit that goes with a recommended request: the ratio of old limit and request is kept,
 * rounded down, at most INT64_MAX. 0 when none is to be set.
 */
int64_t vpa_proportional_limit(int64_t limit, int64_t request, int64_t recommended,
			       int64_t default_limit);

/* Caps the recommendations of a pod's containers in place. The ranges may be NULL. */
void vpa_cap_pod(struct vpa_pod_container *containers, size_t count,
		 const struct vpa_limit_range *pod, const struct vpa_limit_range *container);
/* min first, then max, so that max wins. */
int64_t vpa_cap(int64_t v, int64_t min, int64_t max);

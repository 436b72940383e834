/* SPDX-License-Identifier: Apache-2.0 */
/* From history to a recommendation: percentile, margin, confidence, pod minimum, rounding. */
#pragma once

#include "policy/history/vpa.h"

struct vpa_recommendation {
	uint32_t resources; /* bit per enum resource: what is recommended */
	int64_t amount[VPA_BOUND_COUNT][RESOURCE_COUNT]; /* millicores, bytes */
};

/* containers: how many of the pod have a recommendation, >= 1; resources: bits of what is
 * controlled. Not capped. */
void vpa_estimate(const struct vpa_aggregate *a, const struct vpa_rules *rules, uint32_t containers,
		  uint32_t resources, struct vpa_recommendation *ret);

/* The steps of it. */

/* History in confidence intervals: the lesser of its span and its samples at one a minute. */
double vpa_confidence(const struct vpa_aggregate *a, usec_t confidence_usec);
/* v * (1 + multiplier / confidence) ^ exponent */
int64_t vpa_with_confidence(int64_t v, double confidence, double multiplier, double exponent);
int64_t vpa_with_margin(int64_t v, double margin);
int64_t vpa_with_minimum(int64_t v, int64_t pod_minimum, uint32_t containers);
/* Smallest multiple of step that is not below v; -EINVAL without a positive step. */
int vpa_round_up(int64_t v, int64_t step, int64_t *ret);

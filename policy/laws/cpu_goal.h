/* SPDX-License-Identifier: Apache-2.0 */
/* What a goal asks of a CPU limit: the share of throttled periods that it holds. Fewer cost limit
 * area, more cost time. docs/tuning.md has the measurements. */
#pragma once

#include "policy/types/profile.h"
#include <stdbool.h>

struct cpu_goal {
	uint32_t throttle_ppm; /* of the periods: theta */
	uint32_t aim_permille; /* of theta: what the limit is set for, so that chance stays below
				  theta */
	/* So many throttled periods do not raise the limit, as long as the last minute had few of
	 * them (cpu_law.h). */
	uint32_t pass_ppm;      /* of the periods of the last second, or ... */
	uint32_t pass_periods;  /* ... so many of them, ... */
	uint32_t pass_run;      /* ... and at most so many without a free one in between */
	uint32_t peak_permille; /* percentile of the demand of all time that bounds the limit from
				   below */
	bool holds_recent;      /* the highest demand of recentWindow holds a decrease back */
	usec_t floor_half_life_usec;
};

/* What is 0 in the table comes from the configuration: theta of balanced, the percentile of
 * latency, the half-life of both. */
struct cpu_goal cpu_goal_of(const struct tuning *t, enum goal goal);

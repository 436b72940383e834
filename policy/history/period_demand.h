/* SPDX-License-Identifier: Apache-2.0 */
/* How CPU demand is spread over single periods: which limit would have throttled which share of
 * them. Average demand of a second says nothing about that. Recent periods count most: the weight
 * of a period halves every half life.
 *
 * Eight buckets per power of two, so a value is known to 7 to 12 %. Plain data, 0.5 KiB: it may be
 * copied, and all zeros are an empty one. Not kept on disk: an hour after a restart it is as good.
 */
#pragma once

#include "policy/base/base.h"

#define PERIOD_DEMAND_BUCKETS 120

struct period_demand {
	float weight[PERIOD_DEMAND_BUCKETS];
	double total;
	double newest;    /* weight of the newest period */
	usec_t reference; /* of the weights: boottime at which one counts as itself; 0: empty */
};

/* So many periods wanted so many millicores each. */
void period_demand_add(struct period_demand *d, uint64_t milli, uint64_t periods,
		       usec_t half_life_usec, usec_t now);
/* The lowest limit in millicores below which all periods but this share of them stayed; 0: nothing
 * known. */
uint64_t period_demand_limit(const struct period_demand *d, uint32_t above_ppm);
/* The number of periods that it stands for, as of the newest one. */
double period_demand_periods(const struct period_demand *d);

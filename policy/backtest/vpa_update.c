// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/vpa_update.h"
#include <math.h>

const struct vpa_update_rules vpa_update_rules_default = {
	.min_change = 0.1,
	.lifetime_usec = 12 * USEC_PER_HOUR,
	.quick_oom_usec = 10 * USEC_PER_MIN,
};

/* VPA compares in thousandths of a unit: CPU amounts are so already, bytes are not. */
static const double milli_per_amount[RESOURCE_COUNT] = {
	[RESOURCE_CPU] = 1,
	[RESOURCE_MEMORY] = 1000,
};

/* One resource of one container; returns false when it has no recommendation. */
static bool rate_container(const struct vpa_pod_container *c, enum resource r,
			   struct vpa_priority *p)
{
	int64_t request = c->now.request[r], upper = c->rec.amount[VPA_UPPER][r];

	if (!c->recommended || !(c->rec.resources & (1u << r)))
		return false;
	if (request == 0) {
		p->scale_up = true;
		p->outside_range = true;
		return true;
	}
	if (c->rec.amount[VPA_TARGET][r] > request)
		p->scale_up = true;
	/* An upper bound of 0 is one that is not there. */
	if (request < c->rec.amount[VPA_LOWER][r] || (upper > 0 && request > upper))
		p->outside_range = true;
	return true;
}

struct vpa_priority vpa_update_priority(const struct vpa_pod_container *containers, size_t count)
{
	struct vpa_priority p = {0};

	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		double request = 0, target = 0;
		bool any = false;

		for (size_t i = 0; i < count; i++) {
			if (!rate_container(&containers[i], r, &p))
				continue;
			any = true;
			request += (double)containers[i].now.request[r] * milli_per_amount[r];
			target += (double)containers[i].rec.amount[VPA_TARGET][r] *
				  milli_per_amount[r];
		}
		if (!any)
			continue;
		request = MAX(request, 1.0);
		p.resource_diff += fabs(request - target) / request;
	}
	return p;
}

bool vpa_update_accepted(const struct vpa_priority *p, const struct vpa_pod_run *run,
			 const struct vpa_update_rules *rules)
{
	bool quick_oom = run->oom_killed && run->oom_run_usec < rules->quick_oom_usec;

	if (quick_oom)
		return p->resource_diff > 0;
	if (p->outside_range)
		return true;
	return run->age_usec >= rules->lifetime_usec && p->resource_diff >= rules->min_change;
}

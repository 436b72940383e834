// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/backtest_vpa.h"

void backtest_vpa_init(struct backtest_vpa *v, uint32_t resources, usec_t now)
{
	const struct vpa_rules *rules = &vpa_rules_default;

	*v = (struct backtest_vpa){.resources = resources, .changed = now};
	histogram_init(&v->aggregate.cpu, &histogram_cpu, rules->half_life_usec);
	histogram_init(&v->aggregate.memory, &histogram_memory, rules->half_life_usec);
	v->container = (struct vpa_container){.aggregate = &v->aggregate, .rules = rules};
}

void backtest_vpa_drop(struct backtest_vpa *v)
{
	histogram_drop(&v->aggregate.cpu);
	histogram_drop(&v->aggregate.memory);
}

enum vpa_sample backtest_vpa_killed(struct backtest_vpa *v, int64_t request_bytes, usec_t now)
{
	v->oom_killed = true;
	v->oom_run_usec = now - v->changed;
	v->changed = now;
	return vpa_add_oom(&v->container, request_bytes, now);
}

void backtest_vpa_estimate(const struct backtest_vpa *v, uint32_t containers,
			   struct vpa_recommendation *ret)
{
	vpa_estimate(&v->aggregate, &vpa_rules_default, containers, v->resources, ret);
}

bool backtest_vpa_update(struct backtest_vpa *v, const int64_t request[RESOURCE_COUNT],
			 const int64_t max[RESOURCE_COUNT], usec_t now, int64_t ret[RESOURCE_COUNT])
{
	struct vpa_pod_container c = {.recommended = true};
	struct vpa_pod_run run = {
		.age_usec = now - v->changed,
		.oom_killed = v->oom_killed,
		.oom_run_usec = v->oom_run_usec,
	};
	struct vpa_priority p;

	if (v->aggregate.samples == 0)
		return false;
	backtest_vpa_estimate(v, 1, &c.rec);
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		c.now.request[r] = c.now.limit[r] = request[r];
		for (int b = 0; max[r] > 0 && b < VPA_BOUND_COUNT; b++)
			c.rec.amount[b][r] = MIN(c.rec.amount[b][r], max[r]);
	}
	p = vpa_update_priority(&c, 1);
	if (!vpa_update_accepted(&p, &run, &vpa_update_rules_default))
		return false;
	for (int r = 0; r < RESOURCE_COUNT; r++)
		ret[r] = v->resources & 1u << r ? c.rec.amount[VPA_TARGET][r] : request[r];
	v->changed = now;
	v->oom_killed = false;
	return true;
}

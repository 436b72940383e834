// SPDX-License-Identifier: Apache-2.0
#include "policy/demand.h"
#include <assert.h>
#include <errno.h>

static uint64_t milli_of(uint64_t cpu_usec, usec_t span_usec)
{
	return (uint64_t)((unsigned __int128)cpu_usec * 1000 / span_usec);
}

static bool went_back(const struct usage *prev, const struct usage *cur)
{
	return cur->cpu_usage_usec < prev->cpu_usage_usec || cur->nr_periods < prev->nr_periods ||
	       cur->nr_throttled < prev->nr_throttled || cur->throttled_usec < prev->throttled_usec;
}

/* What the active part of the span asked for. */
static void fill_demand(struct cpu_rates *r, uint64_t used_usec, uint64_t waited_usec,
			uint64_t limit_milli, uint64_t node_milli)
{
	uint64_t per_active = milli_of(used_usec, r->active_usec);

	r->evidence_milli = MIN(milli_of(used_usec + waited_usec, r->active_usec), node_milli);
	if (r->throttled == 0) {
		/* Bandwidth control lets nobody use more than the limit in a period. */
		r->demand_milli = MIN(MIN(per_active, limit_milli), node_milli);
		return;
	}
	if (limit_milli == LIMIT_MAX)
		limit_milli = per_active;
	r->evidence_milli = MAX(r->evidence_milli, MIN(per_active, node_milli));
	r->demand_milli = MIN(MAX(r->evidence_milli, limit_milli), 2 * limit_milli);
}

int cpu_rates_between(const struct usage *prev, const struct usage *cur, usec_t span_usec,
		      uint64_t node_milli, struct cpu_rates *ret)
{
	const struct limits *l = &cur->limits;
	uint64_t used = cur->cpu_usage_usec - prev->cpu_usage_usec;
	uint64_t limit_milli = LIMIT_MAX;
	struct cpu_rates r = {.span_usec = span_usec};

	if (span_usec == 0 || went_back(prev, cur))
		return -EINVAL;

	r.used_milli = milli_of(used, span_usec);
	r.active_usec = span_usec;
	if (cur->have & prev->have & USAGE_THROTTLE) {
		r.periods = cur->nr_periods - prev->nr_periods;
		r.throttled = MIN(cur->nr_throttled - prev->nr_throttled, r.periods);
	}
	if (cur->have & USAGE_CPU_LIMIT)
		limit_milli = cpu_milli_of(l->cpu_quota_usec, l->cpu_period_usec);
	if (r.periods > 0) {
		r.throttle_ppm = (uint32_t)(r.throttled * 1000000 / r.periods);
		if (limit_milli != LIMIT_MAX)
			r.active_usec = MIN(span_usec, r.periods * l->cpu_period_usec);
	}
	fill_demand(&r, used, cur->throttled_usec - prev->throttled_usec, limit_milli, node_milli);
	*ret = r;
	return 0;
}

void recent_max_add(struct recent_max *r, uint64_t value, usec_t keep_usec, usec_t now)
{
	usec_t width = MAX(keep_usec / RECENT_SLOTS, (usec_t)1);

	assert(now >= r->slot_start);
	if (r->slot_start == 0)
		r->slot_start = now;
	for (uint32_t i = 0; now - r->slot_start >= width; i++) {
		/* After a long silence every slot is stale: no need to walk them one by one. */
		if (i == RECENT_SLOTS) {
			r->slot_start = now;
			break;
		}
		r->current = (r->current + 1) % RECENT_SLOTS;
		r->slot[r->current] = 0;
		r->slot_start += width;
	}
	r->slot[r->current] = MAX(r->slot[r->current], value);
}

uint64_t recent_max_get(const struct recent_max *r)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < RECENT_SLOTS; i++)
		max = MAX(max, r->slot[i]);
	return max;
}

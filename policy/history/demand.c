// SPDX-License-Identifier: Apache-2.0
#include "policy/history/demand.h"
#include <assert.h>
#include <errno.h>
#include <math.h>

#define PPM 1000000ULL

struct cpu_mark cpu_mark_of(const struct usage *u, usec_t at)
{
	return (struct cpu_mark){
		.at = at,
		.have = u->have,
		.used_usec = u->cpu_usage_usec,
		.periods = u->nr_periods,
		.throttled = u->nr_throttled,
		.waited_usec = u->throttled_usec,
	};
}

static bool went_back(const struct cpu_mark *then, const struct usage *cur)
{
	return cur->cpu_usage_usec < then->used_usec || cur->nr_periods < then->periods ||
	       cur->nr_throttled < then->throttled || cur->throttled_usec < then->waited_usec;
}

/* The demand of the active part of the span. */
static void fill_demand(struct cpu_rates *r, uint64_t used_usec, uint64_t waited_usec,
			uint64_t limit_milli, uint64_t node_milli)
{
	/* Divisions are dear, and this is the loop's most frequent call. */
	uint64_t per_active = r->active_usec == r->span_usec
				      ? r->used_milli
				      : mul_div(used_usec, 1000, r->active_usec);
	uint64_t evidence =
		waited_usec == 0 ? per_active
				 : mul_div(add_sat(used_usec, waited_usec), 1000, r->active_usec);
	uint64_t most;

	r->evidence_milli = MIN(evidence, node_milli);
	if (r->throttled == 0) {
		/* Bandwidth control allows no more than the limit in a period. */
		r->demand_milli = MIN(per_active, limit_milli);
		r->demand_milli = MIN(r->demand_milli, node_milli);
		return;
	}
	if (limit_milli == LIMIT_MAX)
		limit_milli = per_active;
	r->evidence_milli = MAX(r->evidence_milli, MIN(per_active, node_milli));
	most = add_sat(limit_milli, mul_div(limit_milli, r->throttle_ppm, 2 * PPM));
	r->demand_milli = MAX(r->evidence_milli, limit_milli);
	r->demand_milli = MIN(r->demand_milli, MIN(most, node_milli));
}

/* The part of the span in which the group wanted CPU; periods > 0. */
static usec_t active_part(const struct cpu_rates *r, usec_t period_usec)
{
	uint64_t in_span = r->span_usec / period_usec, active = r->periods;

	/* Well short of all periods: it fell idle, and the period that found it idle counted too.
	 * One period more or less is jitter of the observer. */
	if (active > 1 && active + 1 < in_span && active > r->throttled)
		active--;
	return active >= in_span + 1 ? r->span_usec : MIN(r->span_usec, active * period_usec);
}

/* before: the limits at the mark; NULL: the same. */
static int rates_of(const struct cpu_mark *then, const struct limits *before,
		    const struct usage *cur, usec_t span_usec, uint64_t node_milli,
		    struct cpu_rates *ret)
{
	const struct limits *l = &cur->limits;
	uint64_t used = cur->cpu_usage_usec - then->used_usec;
	uint64_t limit_milli = LIMIT_MAX;
	struct cpu_rates r = {.span_usec = span_usec};

	if (span_usec == 0 || !(cur->have & then->have & USAGE_CPU) || went_back(then, cur))
		return -EINVAL;

	r.used_milli = mul_div(used, 1000, span_usec);
	r.active_usec = span_usec;
	if (cur->have & then->have & USAGE_THROTTLE) {
		r.periods = cur->nr_periods - then->periods;
		r.throttled = MIN(cur->nr_throttled - then->throttled, r.periods);
	}
	if (cur->have & USAGE_CPU_LIMIT)
		limit_milli = cpu_milli_of(l->cpu_quota_usec, l->cpu_period_usec);
	if (r.periods > 0 && limit_milli != LIMIT_MAX)
		r.active_usec = active_part(&r, l->cpu_period_usec);
	if (r.throttled > 0) {
		r.throttle_ppm = (uint32_t)mul_div(r.throttled, PPM, r.periods);
		/* Throttling below the former limit is no evidence against the new one. */
		if (before != NULL && (then->have & USAGE_CPU_LIMIT))
			limit_milli = MIN(limit_milli, cpu_milli_of(before->cpu_quota_usec,
								    before->cpu_period_usec));
	}
	fill_demand(&r, used, cur->throttled_usec - then->waited_usec, limit_milli, node_milli);
	*ret = r;
	return 0;
}

int cpu_rates_between(const struct usage *prev, const struct usage *cur, usec_t span_usec,
		      uint64_t node_milli, struct cpu_rates *ret)
{
	const struct cpu_mark then = cpu_mark_of(prev, 0);

	return rates_of(&then, &prev->limits, cur, span_usec, node_milli, ret);
}

int cpu_rates_since(const struct cpu_mark *m, const struct usage *cur, usec_t now,
		    uint64_t node_milli, struct cpu_rates *ret)
{
	return rates_of(m, NULL, cur, now - m->at, node_milli, ret);
}

void recent_max_add(struct recent_max *r, uint64_t value, usec_t keep_usec, usec_t now)
{
	usec_t width = MAX(keep_usec / (RECENT_SLOTS - 1), (usec_t)1);

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

/* --- demand of single periods */

#define SUB_BITS    3 /* eight buckets per power of two */
#define SUB_BUCKETS (1u << SUB_BITS)
/* The weights are scaled down before a float's precision suffers. */
#define EXPONENT_MAX 20

static uint32_t log2_of(uint64_t value)
{
	return 63 - (uint32_t)__builtin_clzll(value);
}

/* Bucket 0 takes all below 8 millicores, the last one all from 246 cores on. */
static uint32_t bucket_of(uint64_t milli)
{
	uint32_t exponent, bucket;

	if (milli < SUB_BUCKETS)
		return 0;
	exponent = log2_of(milli) - SUB_BITS;
	bucket = exponent * SUB_BUCKETS + (uint32_t)(milli >> exponent) - SUB_BUCKETS;
	return MIN(bucket, PERIOD_DEMAND_BUCKETS - 1u);
}

/* The first value of a bucket. */
static uint64_t bucket_start(uint32_t bucket)
{
	if (bucket == 0)
		return 0;
	return (uint64_t)(SUB_BUCKETS + bucket % SUB_BUCKETS) << (bucket / SUB_BUCKETS);
}

static double exponent_of(const struct period_demand *d, usec_t half_life_usec, usec_t now)
{
	return (double)(now - MIN(d->reference, now)) / (double)half_life_usec;
}

static void rescale(struct period_demand *d, double exponent, usec_t now)
{
	double factor = exp2(-exponent);

	for (uint32_t i = 0; i < PERIOD_DEMAND_BUCKETS; i++)
		d->weight[i] = (float)(d->weight[i] * factor);
	d->total *= factor;
	d->reference = now;
}

void period_demand_add(struct period_demand *d, uint64_t milli, uint64_t periods,
		       usec_t half_life_usec, usec_t now)
{
	double exponent, weight;

	if (d->reference == 0)
		d->reference = now;
	exponent = exponent_of(d, half_life_usec, now);
	if (exponent > EXPONENT_MAX) {
		rescale(d, exponent, now);
		exponent = 0;
	}
	d->newest = exp2(exponent);
	weight = (double)periods * d->newest;
	d->weight[bucket_of(milli)] += (float)weight;
	d->total += weight;
}

uint64_t period_demand_limit(const struct period_demand *d, uint32_t above_ppm)
{
	double above = d->total * above_ppm / PPM, sum = 0;

	for (uint32_t i = PERIOD_DEMAND_BUCKETS; i-- > 0;) {
		uint64_t start = bucket_start(i), width = bucket_start(i + 1) - start;

		if (d->weight[i] > 0 && sum + d->weight[i] > above)
			return start + width -
			       (uint64_t)((double)width * (above - sum) / d->weight[i]);
		sum += d->weight[i];
	}
	return 0;
}

double period_demand_periods(const struct period_demand *d)
{
	return d->newest > 0 ? d->total / d->newest : 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/history/period_demand.h"
#include <math.h>

#define PPM         1000000.0
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

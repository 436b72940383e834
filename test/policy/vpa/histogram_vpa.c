// SPDX-License-Identifier: Apache-2.0
#include "test/policy/vpa/histogram_vpa.h"
#include <errno.h>
#include <math.h>

/*
 * ratio^n by square and multiply. pow() differs from VPA's values in the last bits of nearly every
 * bucket, and one bit can flip a truncated byte.
 */
static double power(double ratio, uint32_t n)
{
	double result = 1.0;

	for (; n > 0; n >>= 1) {
		if (n & 1)
			result *= ratio;
		ratio *= ratio;
	}
	return result;
}

/* Number of buckets from the highest index, which may be anything a caller computed. */
static int bucket_count(double last, uint32_t *ret)
{
	if (!(last >= 1))
		return -EINVAL;
	if (last > HISTOGRAM_BUCKETS - 1)
		return -ERANGE;
	*ret = (uint32_t)last + 1;
	return 0;
}

int histogram_options_linear(double max, double width, double epsilon,
			     struct histogram_options *ret)
{
	struct histogram_options o = {.linear = true, .first = width, .epsilon = epsilon};
	int r;

	if (!(width > 0) || !(epsilon > 0))
		return -EINVAL;
	r = bucket_count(ceil(max / width), &o.buckets);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < o.buckets; i++)
		o.start[i] = i * width;
	*ret = o;
	return 0;
}

int histogram_options_exponential(double max, double first, double ratio, double epsilon,
				  struct histogram_options *ret)
{
	struct histogram_options o = {
		.first = first,
		.growth = ratio - 1,
		.log_ratio = log(ratio),
		.epsilon = epsilon,
	};
	int r;

	if (!(first > 0) || !(ratio > 1) || !(epsilon > 0))
		return -EINVAL;
	r = bucket_count(ceil(log(max * o.growth / first + 1) / o.log_ratio), &o.buckets);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < o.buckets; i++)
		o.start[i] = first * (power(ratio, i) - 1) / o.growth;
	*ret = o;
	return 0;
}

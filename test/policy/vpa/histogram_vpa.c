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

/* (a - b) in half lives. Spans beyond 292 years saturate, as they do in VPA. */
static double half_lives(const struct histogram *h, int64_t a_usec, int64_t b_usec)
{
	int64_t nsec;

	if (__builtin_mul_overflow(a_usec - b_usec, 1000, &nsec))
		nsec = a_usec < b_usec ? INT64_MIN : INT64_MAX;
	return (double)nsec / ((double)h->half_life_usec * 1000);
}

/* Moves the reference to the multiple of the half life nearest to t, halves up. */
static void shift_reference(struct histogram *h, int64_t t_usec)
{
	int64_t since = t_usec - HISTOGRAM_YEAR_1_USEC;
	int64_t past = since % h->half_life_usec;
	int64_t to = t_usec - past + (past * 2 < h->half_life_usec ? 0 : h->half_life_usec);
	double exponent = floor(half_lives(h, h->reference_usec, to) + 0.5);

	histogram_scale(h, exp2(exponent));
	h->reference_usec = to;
}

static bool same_options(const struct histogram_options *a, const struct histogram_options *b)
{
	return a == b ||
	       (a->buckets == b->buckets && a->linear == b->linear && a->first == b->first &&
		a->growth == b->growth && a->epsilon == b->epsilon);
}

static void add_weights(struct histogram *h, const struct histogram *other)
{
	for (uint32_t i = other->min; i <= other->max; i++)
		h->weight[i - h->from] += histogram_weight(other, i);
	h->total += other->total;
	h->min = MIN(h->min, other->min);
	h->max = MAX(h->max, other->max);
}

int histogram_merge(struct histogram *h, const struct histogram *other)
{
	struct histogram shifted;
	int r;

	if (!same_options(h->options, other->options) || h->half_life_usec != other->half_life_usec)
		return -EINVAL;
	/* Both ends of what results: what lies between is walked through. */
	if (other->min <= other->max) {
		r = histogram_reserve(h, MIN(h->min, other->min), MAX(h->max, other->max));
		if (r < 0)
			return r;
	}
	if (h->half_life_usec == 0 || h->reference_usec == other->reference_usec) {
		add_weights(h, other);
		return 0;
	}
	if (h->reference_usec < other->reference_usec) {
		shift_reference(h, other->reference_usec);
		add_weights(h, other);
		return 0;
	}
	r = histogram_copy(other, &shifted);
	if (r < 0)
		return r;
	shift_reference(&shifted, h->reference_usec);
	add_weights(h, &shifted);
	histogram_drop(&shifted);
	return 0;
}

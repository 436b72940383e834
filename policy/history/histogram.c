// SPDX-License-Identifier: Apache-2.0
#include "policy/history/histogram.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* Beyond this many half lives the weights are scaled down before they overflow. */
#define DECAY_EXPONENT_MAX 100
/* Room is made for so many buckets at a time. */
#define ROOM_BUCKETS 4

uint32_t histogram_find(const struct histogram_options *o, double value)
{
	double bucket;

	/* Written so that a NaN ends here too. */
	if (!(value >= o->first))
		return 0;
	if (o->linear)
		bucket = value / o->first;
	else
		bucket = log(value * o->growth / o->first + 1) / o->log_ratio;
	return bucket < o->buckets - 1 ? (uint32_t)bucket : o->buckets - 1;
}

void histogram_init(struct histogram *h, const struct histogram_options *o, usec_t half_life_usec)
{
	*h = (struct histogram){
		.options = o,
		.half_life_usec = (int64_t)MIN(half_life_usec, HISTOGRAM_HALF_LIFE_MAX_USEC),
		.reference_usec = HISTOGRAM_YEAR_1_USEC,
		.min = (uint16_t)(o->buckets - 1),
	};
}

void histogram_drop(struct histogram *h)
{
	free(h->weight);
	if (h->options != NULL)
		histogram_init(h, h->options, (usec_t)h->half_life_usec);
}

int histogram_copy(const struct histogram *h, struct histogram *ret)
{
	struct histogram copy = *h;

	if (h->count > 0) {
		copy.weight = malloc(h->count * sizeof *copy.weight);
		if (copy.weight == NULL)
			return -ENOMEM;
		memcpy(copy.weight, h->weight, h->count * sizeof *copy.weight);
	}
	*ret = copy;
	return 0;
}

static bool has_room(const struct histogram *h, uint32_t bucket)
{
	return bucket - h->from < h->count; /* below `from` it wraps around */
}

int histogram_reserve(struct histogram *h, uint32_t first, uint32_t last)
{
	uint32_t from, end;
	double *weight;

	if (has_room(h, first) && has_room(h, last))
		return 0;
	from = first / ROOM_BUCKETS * ROOM_BUCKETS;
	end = last / ROOM_BUCKETS * ROOM_BUCKETS + ROOM_BUCKETS;
	if (h->count > 0) {
		from = MIN(from, (uint32_t)h->from);
		end = MAX(end, (uint32_t)h->from + h->count);
	}
	weight = calloc(end - from, sizeof *weight);
	if (weight == NULL)
		return -ENOMEM;
	if (h->count > 0)
		memcpy(weight + (h->from - from), h->weight, h->count * sizeof *weight);
	free(h->weight);
	h->weight = weight;
	h->from = (uint16_t)from;
	h->count = (uint16_t)(end - from);
	return 0;
}

double histogram_weight(const struct histogram *h, uint32_t bucket)
{
	return has_room(h, bucket) ? h->weight[bucket - h->from] : 0;
}

bool histogram_empty(const struct histogram *h)
{
	return histogram_weight(h, h->min) < h->options->epsilon;
}

void histogram_trim(struct histogram *h)
{
	double epsilon = h->options->epsilon;

	while (h->min < h->options->buckets - 1 && histogram_weight(h, h->min) < epsilon)
		h->min++;
	while (h->max > 0 && histogram_weight(h, h->max) < epsilon)
		h->max--;
}

void histogram_scale(struct histogram *h, double factor)
{
	for (uint32_t i = h->min; i <= h->max; i++)
		h->weight[i - h->from] *= factor;
	h->total *= factor;
	histogram_trim(h);
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

/* The factor that a weight at time t gets so that all weights fade alike. */
static double decay_factor(struct histogram *h, int64_t t_usec)
{
	if (h->half_life_usec == 0)
		return 1.0;
	if (t_usec > h->reference_usec + DECAY_EXPONENT_MAX * h->half_life_usec)
		shift_reference(h, t_usec);
	return exp2(half_lives(h, t_usec, h->reference_usec));
}

void histogram_add(struct histogram *h, double value, double weight, usec_t now)
{
	uint32_t bucket = histogram_find(h->options, value);
	double *w;

	if (histogram_reserve(h, bucket, bucket) < 0)
		return;
	weight *= decay_factor(h, (int64_t)now);
	w = &h->weight[bucket - h->from];
	*w += weight;
	h->total += weight;
	if (bucket >= h->min && bucket <= h->max)
		return;
	if (*w < h->options->epsilon)
		return;
	h->min = (uint16_t)MIN(h->min, bucket);
	h->max = (uint16_t)MAX(h->max, bucket);
}

/* Rounding must not leave a rest of what was subtracted. */
static double subtract(double from, double weight, double epsilon)
{
	from -= weight;
	return from < epsilon ? 0 : from;
}

void histogram_subtract(struct histogram *h, double value, double weight, usec_t now)
{
	uint32_t bucket = histogram_find(h->options, value);
	double epsilon = h->options->epsilon;

	weight *= decay_factor(h, (int64_t)now);
	h->total = subtract(h->total, weight, epsilon);
	if (has_room(h, bucket))
		h->weight[bucket - h->from] =
			subtract(h->weight[bucket - h->from], weight, epsilon);
	histogram_trim(h);
}

double histogram_percentile(const struct histogram *h, double p)
{
	double threshold = p * h->total, sum = 0;
	uint32_t bucket = h->min, last = h->options->buckets - 1;

	if (histogram_empty(h))
		return 0;
	for (; bucket < h->max; bucket++) {
		sum += h->weight[bucket - h->from];
		if (sum >= threshold)
			break;
	}
	return h->options->start[bucket < last ? bucket + 1 : last];
}

double histogram_percentile_interpolated(const struct histogram *h, double p, uint32_t first)
{
	const double *start = h->options->start;
	uint32_t bucket = MAX((uint32_t)h->min, first);
	double total = 0, below = 0, threshold, share, weight;

	for (uint32_t i = bucket; i <= h->max; i++)
		total += h->weight[i - h->from];
	if (total < h->options->epsilon)
		return 0;
	threshold = MAX(0.0, MIN(p, 1.0)) * total;
	while (bucket < h->max && below + h->weight[bucket - h->from] < threshold)
		below += h->weight[bucket++ - h->from];
	if (bucket == h->options->buckets - 1)
		return start[bucket];
	weight = histogram_weight(h, bucket);
	/* The last bucket can miss the threshold by a rounding error, never by more. */
	share = weight > 0 ? MIN((threshold - below) / weight, 1.0) : 0;
	return start[bucket] + share * (start[bucket + 1] - start[bucket]);
}

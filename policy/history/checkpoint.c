// SPDX-License-Identifier: Apache-2.0
#include "policy/history/checkpoint.h"
#include <errno.h>
#include <math.h>

/* 9999-12-31T23:59:59Z: beyond it the arithmetic of spans could overflow. */
#define REFERENCE_MAX_USEC (253402300799 * (int64_t)USEC_PER_SEC)

/* What would be loaded: the sum of its weights and the buckets around them. */
struct content {
	uint64_t sum;
	uint32_t first;
	uint32_t last;
};

static int check(const struct histogram *h, const struct checkpoint *c, struct content *ret)
{
	struct content content = {.first = UINT32_MAX};

	if (c == NULL || c->count > HISTOGRAM_BUCKETS)
		return -EINVAL;
	if (!(c->total >= 0) || !isfinite(c->total))
		return -EINVAL;
	if (c->reference_usec < HISTOGRAM_YEAR_1_USEC || c->reference_usec > REFERENCE_MAX_USEC)
		return -EINVAL;
	for (uint32_t i = 0; i < c->count; i++) {
		int32_t bucket = c->buckets[i].bucket;

		if (bucket < 0 || (uint32_t)bucket >= h->options->buckets)
			return -EINVAL;
		content.sum += c->buckets[i].weight;
		content.first = MIN(content.first, (uint32_t)bucket);
		content.last = MAX(content.last, (uint32_t)bucket);
	}
	*ret = content;
	return 0;
}

int checkpoint_load(struct histogram *h, const struct checkpoint *c)
{
	struct content content;
	double factor;
	int r = check(h, c, &content);

	if (r == 0 && content.sum > 0)
		r = histogram_reserve(h, MIN((uint32_t)h->min, content.first),
				      MAX((uint32_t)h->max, content.last));
	if (r < 0)
		return r;
	h->reference_usec = c->reference_usec;
	if (content.sum == 0)
		return 0;
	factor = c->total / (double)content.sum;
	for (uint32_t i = 0; i < c->count; i++) {
		uint32_t bucket = (uint32_t)c->buckets[i].bucket;

		h->weight[bucket - h->from] += c->buckets[i].weight * factor;
		h->min = (uint16_t)MIN(h->min, bucket);
		h->max = (uint16_t)MAX(h->max, bucket);
	}
	h->total += c->total;
	histogram_trim(h);
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "test/policy/vpa/checkpoint_save.h"
#include <math.h>

void checkpoint_save(const struct histogram *h, struct checkpoint *ret)
{
	double largest = 0, factor;

	ret->reference_usec = h->reference_usec;
	ret->total = h->total;
	ret->count = 0;
	for (uint32_t i = h->min; i <= h->max; i++)
		largest = MAX(largest, histogram_weight(h, i));
	if (!(largest > 0))
		return;
	/* The quotient first: w * (10000 / largest) rounds differently from w * 10000 / largest. */
	factor = CHECKPOINT_WEIGHT_MAX / largest;
	for (uint32_t i = h->min; i <= h->max; i++) {
		uint32_t weight = (uint32_t)floor(histogram_weight(h, i) * factor + 0.5);

		if (weight > 0)
			ret->buckets[ret->count++] = (struct checkpoint_bucket){(int32_t)i, weight};
	}
}

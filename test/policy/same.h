/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "policy/history/histogram.h"
#include <string.h>

/* To the bit, wherever there is room for weights. */
static inline bool same_histogram(const struct histogram *a, const struct histogram *b)
{
	bool same = a->options == b->options && a->reference_usec == b->reference_usec &&
		    a->half_life_usec == b->half_life_usec && a->min == b->min &&
		    a->max == b->max && memcmp(&a->total, &b->total, sizeof a->total) == 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		double x = histogram_weight(a, i), y = histogram_weight(b, i);

		same &= memcmp(&x, &y, sizeof x) == 0;
	}
	return same;
}

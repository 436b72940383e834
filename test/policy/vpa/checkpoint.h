/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved form of a histogram: integer shares of the largest bucket (10000) and the exact total,
 * as in a VerticalPodAutoscalerCheckpoint. Loading gives each bucket its share of the total back.
 */
#pragma once

#include "policy/history/histogram.h"

#define CHECKPOINT_WEIGHT_MAX 10000

struct checkpoint_bucket {
	int32_t bucket;
	uint32_t weight;
};

struct checkpoint {
	int64_t reference_usec; /* realtime; HISTOGRAM_YEAR_1_USEC before the first sample */
	double total;
	uint32_t count;
	struct checkpoint_bucket buckets[HISTOGRAM_BUCKETS];
};

void checkpoint_save(const struct histogram *h, struct checkpoint *ret);
/*
 * Adds the saved weights to h and takes the reference over as it is. -EINVAL: c is NULL, holds a
 * bucket that h has not, too many of them, a total that is negative or not finite, or a reference
 * outside the years 1 to 9999; -ENOMEM. Without any weight h stays as it is, but for the reference.
 */
int checkpoint_load(struct histogram *h, const struct checkpoint *c);

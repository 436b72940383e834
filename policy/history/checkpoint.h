/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The saved form of a histogram: integer shares of the largest bucket (10000) and the exact total,
 * as in a VerticalPodAutoscalerCheckpoint. Loading gives each bucket its share of the total back.
 */
#pragma once

#include "policy/history/histogram.h"
#include "policy/types/limits.h"

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

/* What one saved object says of a container. Times are realtime in microseconds. */
struct history_checkpoint {
	usec_t first_real;
	usec_t last_real;
	uint64_t samples; /* of CPU: one a minute and running instance */
	struct checkpoint histogram[RESOURCE_COUNT];
};

/*
 * Adds the saved weights to h and takes the reference over as it is. -EINVAL: c is NULL, holds a
 * bucket that h has not, too many of them, a total that is negative or not finite, or a reference
 * outside the years 1 to 9999; -ENOMEM. Without any weight h stays as it is, but for the reference.
 */
int checkpoint_load(struct histogram *h, const struct checkpoint *c);

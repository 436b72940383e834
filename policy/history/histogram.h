/* SPDX-License-Identifier: Apache-2.0 */
/* VPA's histogram: weights in linear or exponential buckets, old weights fading with a half life.
 *
 * Every operation gives the doubles that VPA 1.8.0-dev gives, so the order of the arithmetic is
 * part of the contract: no fused multiply-add, no reassociation, no table in place of the
 * logarithm. Values are cores or bytes. Times are realtime in microseconds; VPA counts nanoseconds,
 * and both give the same bits because the exponent is formed from nanoseconds here too. */
#pragma once

#include "policy/types/limits.h"
#include <stdbool.h>

#define HISTOGRAM_BUCKETS 176
/* Longer ones would not leave room for 100 half lives since year 1. */
#define HISTOGRAM_HALF_LIFE_MAX_USEC (3650 * USEC_PER_DAY)
/* 0001-01-01 UTC, the reference of a histogram without samples; multiples of the half life count
 * from here. */
#define HISTOGRAM_YEAR_1_USEC (-62135596800 * (int64_t)USEC_PER_SEC)

struct histogram_options {
	uint32_t buckets; /* 2..HISTOGRAM_BUCKETS */
	bool linear;
	double first;  /* width of the first bucket; linear: of every bucket */
	double growth; /* ratio - 1 */
	double log_ratio;
	double epsilon; /* a bucket with less counts as empty */
	double start[HISTOGRAM_BUCKETS];
};

/* VPA's defaults: cores and bytes, buckets growing by 5 %. */
extern const struct histogram_options histogram_cpu;
extern const struct histogram_options histogram_memory;

/* Bucket of a value; what lies outside goes to the first or the last one. */
uint32_t histogram_find(const struct histogram_options *o, double value);

/* Only the buckets that were ever used have room: a container touches a fifth of them. So it owns
 * memory: it may be moved by assignment, never copied so. A sample that there is no memory for is
 * lost. */
struct histogram {
	const struct histogram_options *options; /* borrowed */
	double *weight; /* owned: of `count` buckets from `from` on; all others weigh nothing */
	double total;
	int64_t reference_usec; /* realtime at which a weight counts as itself */
	int64_t half_life_usec; /* 0: no decay */
	uint16_t from;
	uint16_t count;
	uint16_t min; /* first and last bucket that reached epsilon; */
	uint16_t max; /* last bucket and 0 in an empty histogram */
};

/* Of what holds nothing: a new one, or one that was dropped. */
void histogram_init(struct histogram *h, const struct histogram_options *o, usec_t half_life_usec);
/* Frees what it owns: empty, and as if new but for options and half life. */
void histogram_drop(struct histogram *h);
/* ret holds nothing. -ENOMEM: still nothing. */
int histogram_copy(const struct histogram *h, struct histogram *ret);
/* Makes room for the buckets first..last. -ENOMEM: nothing has changed. */
int histogram_reserve(struct histogram *h, uint32_t first, uint32_t last);
bool histogram_empty(const struct histogram *h);
double histogram_weight(const struct histogram *h, uint32_t bucket);
/* weight >= 0. */
void histogram_add(struct histogram *h, double value, double weight, usec_t now);
void histogram_subtract(struct histogram *h, double value, double weight, usec_t now);
/* Multiplies what lies between min and max, and the total. factor >= 0. */
void histogram_scale(struct histogram *h, double factor);
/* Restores min <= max around the buckets that reach epsilon. */
void histogram_trim(struct histogram *h);

/* End of the bucket where the share p (0..1) of the weight is reached; 0 when empty. */
double histogram_percentile(const struct histogram *h, double p);
/* The same with interpolation inside the bucket; weights below bucket `first` do not count. */
double histogram_percentile_interpolated(const struct histogram *h, double p, uint32_t first);

/*
 * The saved form of a histogram: integer shares of the largest bucket (10000) and the exact total,
 * as in a VerticalPodAutoscalerCheckpoint. Loading gives each bucket its share of the total back.
 */

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

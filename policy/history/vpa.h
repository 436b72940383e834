/* SPDX-License-Identifier: Apache-2.0 */
/* What VPA keeps about a container, and how samples and OOM kills change it.
 *
 * Amounts are millicores or bytes in int64, as in VPA; a negative sample is refused. Times are
 * realtime in microseconds; 0 = never. */
#pragma once

#include "policy/history/histogram.h"

/* Every amount VPA computes is cut to 0..1e14. */
#define VPA_AMOUNT_MAX 100000000000000

/* Outcomes of a sample. */
enum vpa_sample { VPA_SAMPLE_ACCEPTED = 0, VPA_SAMPLE_REJECTED = 1 };

enum vpa_bound { VPA_LOWER, VPA_TARGET, VPA_UPPER, VPA_BOUND_COUNT };

struct vpa_rules {
	usec_t half_life_usec;
	usec_t window_usec; /* one memory peak is kept per window */
	uint32_t windows;   /* history without CPU samples expires after this many */
	double oom_ratio;   /* memory after an OOM kill: max(use * this, use + oom_min_bytes) */
	int64_t oom_min_bytes;
	usec_t confidence_usec;
	double percentile[VPA_BOUND_COUNT];
	double margin;
	int64_t pod_minimum[RESOURCE_COUNT]; /* shared by the containers of a pod */
	int64_t round_to[RESOURCE_COUNT];    /* recommendations are multiples of this */
	bool whole_cores;                    /* the integer-CPU post-processor */
};

/* The flags of VPA 1.8.0-dev at their defaults. */
extern const struct vpa_rules vpa_rules_default;

/* History of all instances of one container. Owns its histograms' weights: moved by assignment,
 * never copied so. */
struct vpa_aggregate {
	struct histogram cpu;
	struct histogram memory;
	usec_t first_sample; /* CPU samples alone count here */
	usec_t last_sample;
	uint64_t samples;
};

/* One running instance. */
struct vpa_container {
	struct vpa_aggregate *aggregate; /* borrowed, as are the rules */
	const struct vpa_rules *rules;
	usec_t last_cpu;
	usec_t last_memory;
	usec_t window_end;
	int64_t memory_peak; /* of the running window */
	int64_t oom_peak;
};

enum vpa_sample vpa_add_cpu(struct vpa_container *c, int64_t milli, usec_t now);
enum vpa_sample vpa_add_memory(struct vpa_container *c, int64_t bytes, usec_t now);
/* request_bytes: the container's memory request when it was killed. */
enum vpa_sample vpa_add_oom(struct vpa_container *c, int64_t request_bytes, usec_t now);
/* trunc(v * factor) within 0..VPA_AMOUNT_MAX. */
int64_t vpa_scale(int64_t v, double factor);
/* trunc(v) within 0..VPA_AMOUNT_MAX; NaN is 0. */
int64_t vpa_amount(double v);

/* From history to a recommendation: percentile, margin, confidence, pod minimum, rounding. */

struct vpa_recommendation {
	uint32_t resources; /* bit per enum resource: what is recommended */
	int64_t amount[VPA_BOUND_COUNT][RESOURCE_COUNT]; /* millicores, bytes */
};

/* containers: how many of the pod have a recommendation, >= 1; resources: bits of what is
 * controlled. Not capped. */
void vpa_estimate(const struct vpa_aggregate *a, const struct vpa_rules *rules, uint32_t containers,
		  uint32_t resources, struct vpa_recommendation *ret);

/* The steps of it. */

int64_t vpa_with_margin(int64_t v, double margin);
int64_t vpa_with_minimum(int64_t v, int64_t pod_minimum, uint32_t containers);
/* Smallest multiple of step that is not below v; -EINVAL without a positive step. */
int vpa_round_up(int64_t v, int64_t step, int64_t *ret);

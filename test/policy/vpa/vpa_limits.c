// SPDX-License-Identifier: Apache-2.0
#include "test/policy/vpa/vpa_limits.h"

enum rounding { ROUND_DOWN, ROUND_UP };

/* a * b / c with a product of 128 bits, cut to int64. c > 0, the others >= 0. */
static int64_t mul_div_rounding(int64_t a, int64_t b, int64_t c, enum rounding rounding)
{
	unsigned __int128 n = (unsigned __int128)a * (unsigned __int128)b;
	unsigned __int128 d = (unsigned __int128)c;

	n = (n + (rounding == ROUND_UP ? d - 1 : 0)) / d;
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static int64_t add_capped(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

int64_t vpa_proportional_limit(int64_t limit, int64_t request, int64_t recommended,
			       int64_t default_limit)
{
	if (limit == 0)
		limit = default_limit;
	if (limit == 0 || recommended == 0)
		return 0;
	/* A limit alone stands for both, so they stay equal. */
	if (request == 0 || request == limit)
		return recommended;
	return mul_div_rounding(limit, recommended, request, ROUND_DOWN);
}

int64_t vpa_cap(int64_t v, int64_t min, int64_t max)
{
	if (min > 0 && v < min)
		v = min;
	return max > 0 && v > max ? max : v;
}

static bool has(const struct vpa_pod_container *c, enum resource r)
{
	return c->recommended && (c->rec.resources & (1u << r));
}

/* Wanted request of a container: recommended, or as it is. */
static int64_t wanted(const struct vpa_pod_container *c, enum vpa_bound b, enum resource r)
{
	return has(c, r) ? c->rec.amount[b][r] : c->now.request[r];
}

struct pod_sum {
	int64_t limit;
	int64_t request;
};

static struct pod_sum sum_up(const struct vpa_pod_container *containers, size_t count,
			     const struct vpa_limit_range *range, enum vpa_bound b, enum resource r)
{
	struct pod_sum sum = {0};

	for (size_t i = 0; i < count; i++) {
		const struct vpa_pod_container *c = &containers[i];
		int64_t want = wanted(c, b, r);

		sum.request = add_capped(sum.request, want);
		sum.limit = add_capped(sum.limit,
				       vpa_proportional_limit(c->now.limit[r], c->now.request[r],
							      want, range->default_limit[r]));
	}
	return sum;
}

struct scale_by {
	int64_t to;
	int64_t from;
	enum rounding rounding;
};

static void scale_pod(struct vpa_pod_container *containers, size_t count, enum vpa_bound b,
		      enum resource r, const struct scale_by *by)
{
	for (size_t i = 0; i < count; i++)
		if (has(&containers[i], r))
			containers[i].rec.amount[b][r] = mul_div_rounding(
				containers[i].rec.amount[b][r], by->to, by->from, by->rounding);
}

/* Fits one bound of one resource of all containers into the LimitRange of the pod. */
static void cap_to_pod(struct vpa_pod_container *containers, size_t count,
		       const struct vpa_limit_range *range, enum vpa_bound b, enum resource r)
{
	struct pod_sum sum = sum_up(containers, count, range, b, r);
	int64_t min = range->min[r], max = range->max[r];
	struct scale_by by = {.from = sum.limit, .rounding = ROUND_DOWN};

	if (min <= sum.limit && min <= sum.request && (max == 0 || max >= sum.limit))
		return;
	if (sum.limit == 0)
		return;
	if (min > sum.request) {
		by.from = sum.request;
		by.to = min;
		by.rounding = r == RESOURCE_CPU ? ROUND_UP : ROUND_DOWN;
	} else {
		by.to = max > 0 && max < sum.limit ? max : min;
	}
	if (by.from > 0)
		scale_pod(containers, count, b, r, &by);
}

/* The bound on a limit as a bound on the request that leads to it; 0 = none. */
static int64_t boundary(const struct vpa_resources *now, enum resource r, int64_t bound,
			int64_t default_limit)
{
	int64_t limit = now->limit[r] > 0 ? now->limit[r] : default_limit;

	if (limit == 0 || bound == 0)
		return 0;
	if (now->request[r] == 0)
		return bound;
	return mul_div_rounding(bound, now->request[r], limit, ROUND_DOWN);
}

static void cap_container(struct vpa_pod_container *c, const struct vpa_limit_range *range,
			  enum vpa_bound b, enum resource r)
{
	int64_t *v = &c->rec.amount[b][r];

	if (range) {
		int64_t fallback = range->default_limit[r];
		int64_t min = boundary(&c->now, r, range->min[r], fallback);
		int64_t max = boundary(&c->now, r, range->max[r], fallback);

		/* The minimum holds for the request itself too. */
		*v = vpa_cap(*v, MAX(min, range->min[r]), max);
	}
	*v = vpa_cap(*v, c->min_allowed[r], c->max_allowed[r]);
	if (c->requests_only)
		*v = vpa_cap(*v, 0, c->now.limit[r]);
}

void vpa_cap_pod(struct vpa_pod_container *containers, size_t count,
		 const struct vpa_limit_range *pod, const struct vpa_limit_range *container)
{
	static const enum vpa_bound order[] = {VPA_UPPER, VPA_TARGET, VPA_LOWER};

	for (size_t o = 0; pod && o < ARRAY_SIZE(order); o++)
		for (enum resource r = 0; r < RESOURCE_COUNT; r++)
			cap_to_pod(containers, count, pod, order[o], r);
	for (size_t i = 0; i < count; i++)
		for (enum vpa_bound b = 0; b < VPA_BOUND_COUNT; b++)
			for (enum resource r = 0; r < RESOURCE_COUNT; r++)
				if (has(&containers[i], r))
					cap_container(&containers[i], container, b, r);
}

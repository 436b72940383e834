// SPDX-License-Identifier: Apache-2.0
#include "policy/history/vpa_estimate.h"
#include <errno.h>
#include <math.h>

#define CORE_MILLI 1000

/* How confidence widens the bounds: much upwards, little downwards. */
static const struct spread {
	double multiplier;
	double exponent;
} spreads[VPA_BOUND_COUNT] = {
	[VPA_LOWER] = {0.001, -2},
	[VPA_TARGET] = {0, 0},
	[VPA_UPPER] = {1, 1},
};

double vpa_confidence(const struct vpa_aggregate *a, usec_t confidence_usec)
{
	double span = (double)(a->last_sample - a->first_sample) / (double)confidence_usec;
	double minutes = (double)confidence_usec / USEC_PER_MIN;

	return MIN(span, (double)a->samples / minutes);
}

int64_t vpa_with_confidence(int64_t v, double confidence, double multiplier, double exponent)
{
	return vpa_scale(v, pow(1 + multiplier / confidence, exponent));
}

int64_t vpa_with_margin(int64_t v, double margin)
{
	return v + vpa_scale(v, margin);
}

int64_t vpa_with_minimum(int64_t v, int64_t pod_minimum, uint32_t containers)
{
	return MAX(v, vpa_scale(pod_minimum, 1.0 / containers));
}

int vpa_round_up(int64_t v, int64_t step, int64_t *ret)
{
	int64_t up;

	if (step <= 0)
		return -EINVAL;
	if (v % step == 0)
		up = v;
	else if (__builtin_add_overflow(v, step - v % step, &up))
		return -ERANGE;
	*ret = up;
	return 0;
}

/* The percentile as an integer amount. */
static int64_t observed(const struct vpa_aggregate *a, enum resource resource, double percentile)
{
	if (resource == RESOURCE_CPU)
		return vpa_amount(histogram_percentile(&a->cpu, percentile) * CORE_MILLI);
	return vpa_amount(histogram_percentile(&a->memory, percentile));
}

static int64_t estimate(const struct vpa_aggregate *a, const struct vpa_rules *rules,
			enum vpa_bound bound, enum resource resource)
{
	int64_t v = observed(a, resource, rules->percentile[bound]);

	v = vpa_with_margin(v, rules->margin);
	if (bound == VPA_TARGET)
		return v;
	return vpa_with_confidence(v, vpa_confidence(a, rules->confidence_usec),
				   spreads[bound].multiplier, spreads[bound].exponent);
}

void vpa_estimate(const struct vpa_aggregate *a, const struct vpa_rules *rules, uint32_t containers,
		  uint32_t resources, struct vpa_recommendation *ret)
{
	*ret = (struct vpa_recommendation){.resources = resources};
	for (enum vpa_bound b = 0; b < VPA_BOUND_COUNT; b++) {
		for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
			int64_t v;

			if (!(resources & (1u << r)))
				continue;
			v = estimate(a, rules, b, r);
			v = vpa_with_minimum(v, rules->pod_minimum[r], containers);
			/* An invalid step leaves the amount as it is, as in VPA. */
			vpa_round_up(v, rules->round_to[r], &v);
			if (r == RESOURCE_CPU && rules->whole_cores)
				vpa_round_up(v, CORE_MILLI, &v);
			ret->amount[b][r] = v;
		}
	}
}

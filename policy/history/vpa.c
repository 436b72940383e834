// SPDX-License-Identifier: Apache-2.0
#include "policy/history/vpa.h"
#include <errno.h>
#include <math.h>

/* Since VPA 1.4 every CPU sample counts alike, whatever the request. */
#define CPU_SAMPLE_WEIGHT    0.1
#define MEMORY_SAMPLE_WEIGHT 1.0

const struct vpa_rules vpa_rules_default = {
	.half_life_usec = 24 * USEC_PER_HOUR,
	.window_usec = 24 * USEC_PER_HOUR,
	.windows = 8,
	.oom_ratio = 1.2,
	.oom_min_bytes = 100 * MIB,
	.confidence_usec = 24 * USEC_PER_HOUR,
	.percentile = {[VPA_LOWER] = 0.5, [VPA_TARGET] = 0.9, [VPA_UPPER] = 0.95},
	.margin = 0.15,
	.pod_minimum = {[RESOURCE_CPU] = 25, [RESOURCE_MEMORY] = 250 * MIB},
	.round_to = {[RESOURCE_CPU] = 1, [RESOURCE_MEMORY] = 1},
};

int64_t vpa_amount(double v)
{
	if (!(v > 0))
		return 0;
	return v > VPA_AMOUNT_MAX ? VPA_AMOUNT_MAX : (int64_t)v;
}

int64_t vpa_scale(int64_t v, double factor)
{
	return vpa_amount((double)v * factor);
}

enum vpa_sample vpa_add_cpu(struct vpa_container *c, int64_t milli, usec_t now)
{
	struct vpa_aggregate *a = c->aggregate;

	if (milli < 0 || now <= c->last_cpu)
		return VPA_SAMPLE_REJECTED;
	c->last_cpu = now;
	histogram_add(&a->cpu, (double)milli / 1000, CPU_SAMPLE_WEIGHT, now);
	if (a->first_sample == 0 || now < a->first_sample)
		a->first_sample = now;
	a->last_sample = MAX(a->last_sample, now);
	a->samples++;
	return VPA_SAMPLE_ACCEPTED;
}

/* Opens the window that holds `now`; the peaks start anew. */
static void shift_window(struct vpa_container *c, usec_t now)
{
	usec_t window = c->rules->window_usec;

	c->window_end += (now - c->window_end) / window * window + window;
	c->memory_peak = 0;
	c->oom_peak = 0;
}

/* Counts a peak at the end of its window. In a window with a peak only a larger one counts, and in
 * place of the old; a first peak of exactly 0 keeps all later ones of its window out, as in VPA. */
static void add_peak(struct vpa_container *c, int64_t bytes, usec_t now, int64_t *peak)
{
	struct histogram *h = &c->aggregate->memory;
	int64_t old = MAX(c->memory_peak, c->oom_peak);

	c->last_memory = now;
	if (c->window_end == 0)
		c->window_end = now;
	if (now >= c->window_end)
		shift_window(c, now);
	else if (old != 0 && bytes > old)
		histogram_subtract(h, (double)old, MEMORY_SAMPLE_WEIGHT, c->window_end);
	else
		return;
	histogram_add(h, (double)bytes, MEMORY_SAMPLE_WEIGHT, c->window_end);
	*peak = bytes;
}

enum vpa_sample vpa_add_memory(struct vpa_container *c, int64_t bytes, usec_t now)
{
	if (bytes < 0 || now < c->last_memory)
		return VPA_SAMPLE_REJECTED;
	add_peak(c, bytes, now, &c->memory_peak);
	return VPA_SAMPLE_ACCEPTED;
}

enum vpa_sample vpa_add_oom(struct vpa_container *c, int64_t request_bytes, usec_t now)
{
	const struct vpa_rules *rules = c->rules;
	int64_t used, needed;

	if (now + rules->window_usec < c->last_memory)
		return VPA_SAMPLE_REJECTED;
	/* Without the OOM peak: kills at one and the same request must not add up. */
	used = MIN(MAX(request_bytes, c->memory_peak), VPA_AMOUNT_MAX);
	needed = MAX(used + rules->oom_min_bytes, vpa_scale(used, rules->oom_ratio));
	if (needed < 0)
		return VPA_SAMPLE_REJECTED;
	add_peak(c, needed, now, &c->oom_peak);
	return VPA_SAMPLE_ACCEPTED;
}

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

/* History in confidence intervals: the lesser of its span and its samples at one a minute. */
static double vpa_confidence(const struct vpa_aggregate *a, usec_t confidence_usec)
{
	double span = (double)(a->last_sample - a->first_sample) / (double)confidence_usec;
	double minutes = (double)confidence_usec / USEC_PER_MIN;

	return MIN(span, (double)a->samples / minutes);
}

/* v * (1 + multiplier / confidence) ^ exponent */
static int64_t vpa_with_confidence(int64_t v, double confidence, double multiplier, double exponent)
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

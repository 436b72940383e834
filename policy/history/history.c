// SPDX-License-Identifier: Apache-2.0
#include "policy/history/history.h"
#include "policy/base/arithmetic.h"
#include <math.h>

/* Idle time goes to bucket 0; a percentile of active time starts at the next one. */
#define FIRST_ACTIVE_BUCKET 1
/* A span between two samples weighs at most this much: the rest of a longer one (a suspended host,
 * a stopped agent) was not observed. */
#define SPAN_MAX_USEC (5 * USEC_PER_MIN)

void history_init(struct history *h, const struct tuning_history *t)
{
	*h = (struct history){0};
	histogram_init(&h->cpu, &histogram_cpu, t->half_life_usec);
	histogram_init(&h->memory, &histogram_memory, t->half_life_usec);
}

void history_drop(struct history *h)
{
	histogram_drop(&h->cpu);
	histogram_drop(&h->memory);
}

int history_copy(const struct history *h, struct history *ret)
{
	struct history copy = *h;
	int r = histogram_copy(&h->cpu, &copy.cpu);

	if (r < 0)
		return r;
	r = histogram_copy(&h->memory, &copy.memory);
	if (r < 0) {
		histogram_drop(&copy.cpu);
		return r;
	}
	*ret = copy;
	return 0;
}

static void seen(struct history *h, usec_t now_real)
{
	if (h->first_real == 0 || now_real < h->first_real)
		h->first_real = now_real;
	h->last_real = MAX(h->last_real, now_real);
}

static void count(struct history *h, usec_t span, usec_t now_real)
{
	seen(h, now_real);
	h->observed_usec[RESOURCE_CPU] = add_sat(h->observed_usec[RESOURCE_CPU], span);
	h->samples++;
}

usec_t history_add_startup(struct history *h, const struct cpu_rates *r, usec_t now_real)
{
	usec_t span = MIN(r->span_usec, SPAN_MAX_USEC);

	count(h, span, now_real);
	return span;
}

void history_add_cpu(struct history *h, const struct cpu_rates *r, usec_t now_real)
{
	usec_t span = MIN(r->span_usec, SPAN_MAX_USEC);
	usec_t active_usec = mul_div(r->active_usec, span, MAX(r->span_usec, (usec_t)1));
	double active = (double)active_usec / USEC_PER_SEC;
	double idle = (double)(span - active_usec) / USEC_PER_SEC;

	histogram_add(&h->cpu, (double)r->demand_milli / 1000.0, active, now_real);
	if (idle > 0)
		histogram_add(&h->cpu, 0.0, idle, now_real);
	count(h, span, now_real);
}

/* Opens the window that now belongs to; whole windows are skipped. */
static void roll_window(struct history *h, usec_t window, usec_t now_real)
{
	/* A window end beyond a window ahead: the wall clock stepped back. */
	bool ahead = h->window_end_real > now_real + window;

	if (h->window_end_real == 0 || ahead)
		h->window_end_real = now_real + window;
	else if (now_real >= h->window_end_real)
		h->window_end_real += (now_real - h->window_end_real) / window * window + window;
	else
		return;
	h->window_peak = 0;
	h->window_oom = 0;
}

void history_add_memory(struct history *h, const struct tuning_history *t, uint64_t bytes, bool oom,
			usec_t now_real)
{
	uint64_t before;

	roll_window(h, MAX(t->mem_window_usec, (usec_t)1), now_real);
	before = MAX(h->window_peak, h->window_oom);
	if (oom)
		h->window_oom = MAX(h->window_oom, bytes);
	else
		h->window_peak = MAX(h->window_peak, bytes);
	seen(h, now_real);
	if (bytes <= before)
		return;
	if (before > 0)
		histogram_subtract(&h->memory, (double)before, 1.0, h->window_end_real);
	histogram_add(&h->memory, (double)bytes, 1.0, h->window_end_real);
}

void history_observe_memory(struct history *h, usec_t span)
{
	h->observed_usec[RESOURCE_MEMORY] =
		add_sat(h->observed_usec[RESOURCE_MEMORY], MIN(span, SPAN_MAX_USEC));
}

usec_t history_observed_least(const struct history *h)
{
	return MIN(h->observed_usec[RESOURCE_CPU], h->observed_usec[RESOURCE_MEMORY]);
}

uint32_t history_confidence_permille(const struct history *h, const struct tuning_history *t,
				     enum resource r)
{
	uint64_t permille = mul_div(h->observed_usec[r], 1000, MAX(t->confidence_usec, (usec_t)1));

	return (uint32_t)MIN(permille, (uint64_t)1000000);
}

/* Of the windows' peaks: the highest one that has not faded. */
#define MEM_PEAK_PERMILLE 990

static uint64_t percentile(const struct histogram *h, uint32_t permille, uint32_t first,
			   double scale)
{
	return (uint64_t)(histogram_percentile_interpolated(h, permille / 1000.0, first) * scale);
}

/* Percentiles with margin; VPA's confidence multipliers on lower and upper. */
static struct range_of range_from(const struct histogram *h, const struct tuning_history *t,
				  uint32_t permille, double scale)
{
	/* With less than a permille the upper bound would be too high to be useful. */
	double confidence = MAX(permille, 1u) / 1000.0;
	uint64_t margin = 1000 + t->margin_permille;
	struct range_of r = {
		.lower = scale_permille(percentile(h, t->lower_permille, 0, scale), margin),
		.target = scale_permille(percentile(h, t->target_permille, 0, scale), margin),
		.upper = scale_permille(percentile(h, t->upper_permille, 0, scale), margin),
	};
	double narrow = 1.0 + 0.001 / confidence;

	r.lower = (uint64_t)((double)r.lower / (narrow * narrow));
	r.upper = (uint64_t)((double)r.upper * (1.0 + 1.0 / confidence));
	return r;
}

uint32_t recommendation_confidence(const struct recommendation *r)
{
	uint32_t least = UINT32_MAX;

	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		if (r->resource[i].target != 0)
			least = MIN(least, r->confidence_permille[i]);
	return least != UINT32_MAX ? least : 0;
}

void history_recommend(const struct history *h, const struct tuning_history *t, uint32_t containers,
		       struct recommendation *ret)
{
	uint64_t margin = 1000 + t->margin_permille;
	struct recommendation r = {0};
	uint32_t *permille = r.confidence_permille;

	if (t->algorithm == ALGORITHM_VPA) {
		history_vpa_recommend(h, t, containers, ret);
		return;
	}
	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		permille[i] = history_confidence_permille(h, t, i);
	if (!histogram_empty(&h->cpu)) {
		struct range_of *cpu = &r.resource[RESOURCE_CPU];

		*cpu = range_from(&h->cpu, t, permille[RESOURCE_CPU], 1000.0);
		cpu->peak = scale_permille(
			percentile(&h->cpu, t->peak_permille, FIRST_ACTIVE_BUCKET, 1000.0), margin);
		cpu->peak = MAX(cpu->peak, cpu->target);
	}
	if (!histogram_empty(&h->memory)) {
		struct range_of *mem = &r.resource[RESOURCE_MEMORY];

		*mem = range_from(&h->memory, t, permille[RESOURCE_MEMORY], 1.0);
		mem->peak =
			scale_permille(percentile(&h->memory, MEM_PEAK_PERMILLE, 0, 1.0), margin);
	}
	*ret = r;
}

static usec_t shifted(usec_t at, int64_t step_usec)
{
	int64_t moved = (int64_t)at + step_usec;

	/* 0 means never: neither made nor left by a shift. */
	return at == 0 ? 0 : (usec_t)MAX(moved, (int64_t)1);
}

void history_shift(struct history *h, int64_t step_usec)
{
	h->cpu.reference_usec += step_usec;
	h->memory.reference_usec += step_usec;
	h->first_real = shifted(h->first_real, step_usec);
	h->last_real = shifted(h->last_real, step_usec);
	h->window_end_real = shifted(h->window_end_real, step_usec);
	h->vpa.last_memory_real = shifted(h->vpa.last_memory_real, step_usec);
}

void history_add_past(struct history *h, const struct tuning_history *t,
		      const struct past_series *cpu, const struct past_series *memory)
{
	for (size_t i = 0; i < cpu->count; i++) {
		uint64_t milli = (uint64_t)(cpu->samples[i].value * 1000 + 0.5);
		struct cpu_rates r = {
			.span_usec = cpu->step_usec,
			.active_usec = milli > 0 ? cpu->step_usec : 0,
			.used_milli = milli,
			.demand_milli = milli,
		};

		history_add_cpu(h, &r, cpu->samples[i].at_real);
	}
	for (size_t i = 0; i < memory->count; i++) {
		history_add_memory(h, t, (uint64_t)memory->samples[i].value, false,
				   memory->samples[i].at_real);
		history_observe_memory(h, memory->step_usec);
	}
}

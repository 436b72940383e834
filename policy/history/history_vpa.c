// SPDX-License-Identifier: Apache-2.0
/* The same history fed and read by VPA's rules. */
#include "policy/history/history.h"
#include "policy/history/vpa.h"
#include <math.h>

/* VPA's recommender samples each container once a minute. */
#define SAMPLE_USEC USEC_PER_MIN

/* Weight of one of them in VPA, and in seconds, as algorithm default counts. */
#define SAMPLE_WEIGHT  0.1
#define SAMPLE_SECONDS 60.0

/* VPA's own types around the histograms of a history: copied in and, if changed, out again. */
struct view {
	struct vpa_rules rules;
	struct vpa_aggregate aggregate;
	struct vpa_container container;
};

static void view_open(struct view *v, const struct history *h, const struct tuning_history *t)
{
	v->rules = vpa_rules_default;
	v->rules.half_life_usec = t->half_life_usec;
	v->rules.window_usec = MAX(t->mem_window_usec, (usec_t)1);
	v->rules.confidence_usec = MAX(t->confidence_usec, (usec_t)1);
	v->rules.percentile[VPA_LOWER] = t->lower_permille / 1000.0;
	v->rules.percentile[VPA_TARGET] = t->target_permille / 1000.0;
	v->rules.percentile[VPA_UPPER] = t->upper_permille / 1000.0;
	v->rules.margin = t->margin_permille / 1000.0;
	v->aggregate = (struct vpa_aggregate){
		.cpu = h->cpu,
		.memory = h->memory,
		.first_sample = h->first_real,
		.last_sample = h->last_real,
		.samples = h->samples,
	};
	v->container = (struct vpa_container){
		.aggregate = &v->aggregate,
		.rules = &v->rules,
		.last_cpu = h->last_real,
		.last_memory = h->vpa.last_memory_real,
		.window_end = h->window_end_real,
		.memory_peak = (int64_t)h->window_peak,
		.oom_peak = (int64_t)h->window_oom,
	};
}

static void view_close(const struct view *v, struct history *h)
{
	h->cpu = v->aggregate.cpu;
	h->memory = v->aggregate.memory;
	h->first_real = v->aggregate.first_sample;
	h->last_real = v->aggregate.last_sample;
	h->samples = v->aggregate.samples;
	h->vpa.last_memory_real = v->container.last_memory;
	h->window_end_real = v->container.window_end;
	h->window_peak = (uint64_t)v->container.memory_peak;
	h->window_oom = (uint64_t)v->container.oom_peak;
}

void history_vpa_observe(struct history *h, const struct tuning_history *t,
			 const struct cpu_rates *r, uint64_t memory_bytes, usec_t now_real)
{
	struct view v;

	h->observed_usec[RESOURCE_CPU] += r->span_usec;
	h->vpa.span_usec += r->span_usec;
	h->vpa.used_usec += r->used_milli * r->span_usec / 1000;
	if (h->vpa.span_usec < SAMPLE_USEC)
		return;
	view_open(&v, h, t);
	/* Millicores are rounded up, as a metrics quantity is. */
	vpa_add_cpu(&v.container,
		    (int64_t)((h->vpa.used_usec * 1000 + h->vpa.span_usec - 1) / h->vpa.span_usec),
		    now_real);
	if (memory_bytes != 0)
		vpa_add_memory(&v.container, (int64_t)memory_bytes, now_real);
	view_close(&v, h);
	h->vpa.span_usec = 0;
	h->vpa.used_usec = 0;
}

void history_vpa_oom(struct history *h, const struct tuning_history *t, uint64_t request_bytes,
		     usec_t now_real)
{
	struct view v;

	view_open(&v, h, t);
	vpa_add_oom(&v.container, (int64_t)request_bytes, now_real);
	view_close(&v, h);
}

void history_vpa_recommend(const struct history *h, const struct tuning_history *t,
			   uint32_t containers, struct recommendation *ret)
{
	struct vpa_recommendation r;
	struct view v;

	view_open(&v, h, t);
	vpa_estimate(&v.aggregate, &v.rules, MAX(containers, 1u), RESOURCES_BOTH, &r);
	*ret = (struct recommendation){0};
	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		ret->confidence_permille[i] = history_confidence_permille(h, t, i);
		/* VPA knows no peak: its limit follows the target. */
		ret->resource[i] = (struct range_of){
			.lower = (uint64_t)r.amount[VPA_LOWER][i],
			.target = (uint64_t)r.amount[VPA_TARGET][i],
			.upper = (uint64_t)r.amount[VPA_UPPER][i],
			.peak = (uint64_t)r.amount[VPA_TARGET][i],
		};
		if (histogram_empty(i == RESOURCE_CPU ? &h->cpu : &h->memory))
			ret->resource[i] = (struct range_of){0};
	}
}

/* How long memory was seen at least, which a checkpoint does not say. A container adds a weight of
 * 1 at the end of each day's window, and the reference is the end of the first one, to the nearest
 * midnight: so the sum tells when the last one ended, which is not after CPU's last sample. What
 * ended long before that proves nothing. */
static usec_t memory_proven(const struct history *h)
{
	const double day = (double)h->memory.half_life_usec;
	double pods = (double)h->samples * SAMPLE_USEC / (double)(h->last_real - h->first_real + 1);
	/* In half lives after the reference. Windows without end weigh twice the last one. */
	double last = log2(h->memory.total / fmax(pods, 1.0)) - 1.0;
	double age = (double)((int64_t)h->last_real - h->memory.reference_usec) / day;

	if (histogram_empty(&h->memory) || !(fmin(last, age) > -0.5) || age - last > 2.0)
		return 0;
	last = fmin(last, age);
	return MIN((usec_t)((last + 0.5) * day), h->observed_usec[RESOURCE_CPU]);
}

int history_vpa_load(const struct history_checkpoint *c, const struct tuning_history *t,
		     struct history *ret)
{
	const struct tuning_history as_saved = {.half_life_usec = vpa_rules_default.half_life_usec};
	struct history h;
	int r;

	history_init(&h, &as_saved);
	r = checkpoint_load(&h.cpu, &c->histogram[RESOURCE_CPU]);
	if (r == 0)
		r = checkpoint_load(&h.memory, &c->histogram[RESOURCE_MEMORY]);
	if (r < 0) {
		history_drop(&h);
		return r;
	}
	if (t->algorithm != ALGORITHM_VPA)
		histogram_scale(&h.cpu, SAMPLE_SECONDS / SAMPLE_WEIGHT);
	h.first_real = c->first_real;
	h.last_real = c->last_real;
	h.samples = c->samples;
	/* As VPA's confidence: ten pods do not make a day of two hours. */
	h.observed_usec[RESOURCE_CPU] =
		MIN(c->last_real - c->first_real,
		    MIN(c->samples, UINT64_MAX / SAMPLE_USEC) * SAMPLE_USEC);
	h.observed_usec[RESOURCE_MEMORY] = memory_proven(&h);
	*ret = h;
	return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/history/history.h"
#include "policy/history/vpa.h"
#include <assert.h>
#include <math.h>
#include <stddef.h>

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

/* --- the same history fed and read by VPA's rules --- */

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
static usec_t memory_proven(const struct history *h, usec_t sampled)
{
	const double day = (double)h->memory.half_life_usec;
	double pods = (double)h->samples * SAMPLE_USEC / (double)(h->last_real - h->first_real + 1);
	/* In half lives after the reference. Windows without end weigh twice the last one. */
	double last = log2(h->memory.total / fmax(pods, 1.0)) - 1.0;
	double age = (double)((int64_t)h->last_real - h->memory.reference_usec) / day;

	if (histogram_empty(&h->memory) || !(fmin(last, age) > -0.5) || age - last > 2.0)
		return 0;
	last = fmin(last, age);
	return MIN((usec_t)((last + 0.5) * day), sampled);
}

int history_vpa_load(const struct history_checkpoint *c, const struct tuning_history *t,
		     struct history *ret)
{
	const struct tuning_history as_saved = {.half_life_usec = vpa_rules_default.half_life_usec};
	struct history h;
	usec_t sampled;
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
	sampled = MIN(c->last_real - c->first_real,
		      MIN(c->samples, UINT64_MAX / SAMPLE_USEC) * SAMPLE_USEC);
	h.observed_usec[RESOURCE_CPU] = histogram_empty(&h.cpu) ? 0 : sampled;
	h.observed_usec[RESOURCE_MEMORY] = memory_proven(&h, sampled);
	*ret = h;
	return 0;
}

/* --- what other pods need */

#define WHOLE 1000u
/* A container with less confidence (here 9 s of 24 h) still counts as one. */
#define WEIGHT_MIN 1u

/* The values of a range, from the lowest on; a peak is at least the target. */
static const size_t values[] = {
	offsetof(struct range_of, lower),
	offsetof(struct range_of, target),
	offsetof(struct range_of, upper),
	offsetof(struct range_of, peak),
};

static uint64_t *value_of(struct range_of *r, size_t i)
{
	return (uint64_t *)((char *)r + values[i]);
}

static uint64_t value(const struct range_of *r, size_t i)
{
	return *(const uint64_t *)((const char *)r + values[i]);
}

static bool range_is_possible(const struct range_of *r)
{
	bool unknown = r->lower == 0 && r->target == 0 && r->upper == 0 && r->peak == 0;

	return unknown || (r->target > 0 && r->lower <= r->target && r->target <= r->upper &&
			   r->target <= r->peak && r->upper < LIMIT_MAX && r->peak < LIMIT_MAX);
}

bool prior_is_possible(const struct recommendation *r)
{
	return range_is_possible(&r->resource[RESOURCE_CPU]) &&
	       range_is_possible(&r->resource[RESOURCE_MEMORY]);
}

struct weighted {
	uint64_t value;
	uint32_t weight;
};

/* The lowest value that half of the weight does not exceed; with an even split the higher one. */
static uint64_t median(struct weighted *items, size_t count)
{
	uint64_t total = 0, passed = 0;

	for (size_t i = 0; i < count; i++)
		total += items[i].weight;
	/* At most PRIOR_PODS_MAX: sorted by insertion. */
	for (size_t i = 1; i < count; i++)
		for (size_t k = i; k > 0 && items[k].value < items[k - 1].value; k--) {
			struct weighted t = items[k];

			items[k] = items[k - 1];
			items[k - 1] = t;
		}
	for (size_t i = 0; i < count; i++) {
		passed += items[i].weight;
		if (2 * passed > total)
			return items[i].value;
	}
	return 0;
}

static uint64_t merged(const struct recommendation *pods, size_t count, enum resource r, size_t v)
{
	struct weighted items[PRIOR_PODS_MAX];
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (pods[i].resource[r].target != 0)
			items[n++] = (struct weighted){
				value(&pods[i].resource[r], v),
				MAX(MIN(pods[i].confidence_permille[r], WHOLE), WEIGHT_MIN)};
	return median(items, n);
}

static uint32_t confidence(const struct recommendation *pods, size_t count, enum resource r)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < count; i++)
		if (pods[i].resource[r].target != 0)
			sum += MIN(pods[i].confidence_permille[r], WHOLE);
	return MIN(sum, WHOLE);
}

void prior_merge(const struct recommendation *pods, size_t count, struct prior *ret)
{
	struct prior p = {.pods = (uint32_t)count};

	assert(count <= PRIOR_PODS_MAX);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		p.of.confidence_permille[r] = confidence(pods, count, r);
		for (size_t v = 0; v < ARRAY_SIZE(values); v++)
			*value_of(&p.of.resource[r], v) = merged(pods, count, r, v);
	}
	*ret = p;
}

void prior_bound(struct prior *p, const uint64_t most[RESOURCE_COUNT])
{
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		for (size_t v = 0; most[r] != 0 && v < ARRAY_SIZE(values); v++) {
			uint64_t *value = value_of(&p->of.resource[r], v);

			*value = MIN(*value, most[r]);
		}
}

void prior_bound_upper(struct recommendation *r, const uint64_t most[RESOURCE_COUNT])
{
	for (size_t i = 0; i < RESOURCE_COUNT; i++)
		if (most[i] != 0 && r->resource[i].upper > most[i])
			r->resource[i].upper = MAX(r->resource[i].target, most[i]);
}

/* Moves an upper bound from one confidence to another: it has the factor 1 + 1 / confidence. */
static uint64_t widened(uint64_t upper, uint32_t from, uint32_t to)
{
	from = MAX(from, 1u);
	to = MAX(to, 1u);
	return mul_div(mul_div(upper, from, from + WHOLE), to + WHOLE, to);
}

static void blend(const struct prior *p, enum resource r, struct recommendation *own)
{
	const struct range_of *known = &p->of.resource[r];
	uint32_t *confidence = &own->confidence_permille[r], own_weight = MIN(*confidence, WHOLE);
	uint32_t weight = MIN(p->of.confidence_permille[r], WHOLE) * (WHOLE - own_weight) / WHOLE;
	uint32_t whole = own_weight + weight;
	struct range_of mine = own->resource[r], *to = &own->resource[r];

	if (weight == 0 || known->target == 0)
		return;
	if (mine.target == 0) {
		*to = *known;
	} else {
		mine.upper = widened(mine.upper, *confidence, whole);
		for (size_t v = 0; v < ARRAY_SIZE(values); v++)
			*value_of(to, v) = mul_div(value(&mine, v), own_weight, whole) +
					   mul_div(value(known, v), weight, whole);
		/* What was seen here is not doubted. */
		to->peak = MAX(to->peak, mine.peak);
	}
	*confidence = MIN(whole, WHOLE);
}

void prior_blend(const struct prior *p, const struct recommendation *own,
		 struct recommendation *ret)
{
	struct recommendation r = *own;

	for (enum resource i = 0; i < RESOURCE_COUNT; i++)
		blend(p, i, &r);
	*ret = r;
}

/* --- floors */

uint64_t floor_value(const struct shrink_floor *f, usec_t half_life_usec, usec_t now_real)
{
	/* A wall clock that stepped back must not make the floor grow. */
	usec_t age = now_real > f->since_real ? now_real - f->since_real : 0;
	usec_t half_life = MAX(half_life_usec, (usec_t)1);
	uint64_t halvings = age / half_life;
	uint64_t value;

	if (f->value == 0 || halvings >= 64)
		return 0;
	value = f->value >> halvings;
	return value - mul_div(value / 2, age % half_life, half_life);
}

void floor_learn(struct shrink_floor *f, uint64_t failed, uint64_t worked, usec_t now_real)
{
	uint64_t value = worked > failed ? failed + (worked - failed + 1) / 2 : failed;

	*f = (struct shrink_floor){.value = value, .since_real = now_real};
}

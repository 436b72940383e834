// SPDX-License-Identifier: Apache-2.0
#include "policy/history/prior.h"
#include "policy/base/arithmetic.h"
#include <assert.h>
#include <stddef.h>

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

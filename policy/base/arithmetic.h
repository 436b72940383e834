/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic of amounts that does not overflow. LIMIT_MAX means no limit, and stays; any other
 * result is below it. */
#pragma once

#include "policy/base/base.h"
#include <assert.h>

/* Multiples of quantum. */
static inline uint64_t round_down(uint64_t value, uint64_t quantum)
{
	return value == LIMIT_MAX ? LIMIT_MAX : value - value % quantum;
}

/* The highest multiple below LIMIT_MAX where there is none above value. */
static inline uint64_t round_up(uint64_t value, uint64_t quantum)
{
	uint64_t down = round_down(value, quantum);

	if (value == LIMIT_MAX || down == value)
		return value;
	return down > LIMIT_MAX - 1 - quantum ? down : down + quantum;
}

/* a - b, no less than 0. */
static inline uint64_t sub_sat(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* a x b / c, saturating. c > 0. */
static inline uint64_t mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 scaled;
	uint64_t product;

	assert(c > 0);
	/* The common case, and much the faster one. */
	if (!__builtin_mul_overflow(a, b, &product))
		return MIN(product / c, LIMIT_MAX - 1);
	scaled = (unsigned __int128)a * b / c;
	return scaled >= LIMIT_MAX ? LIMIT_MAX - 1 : (uint64_t)scaled;
}

/* value x permille / 1000, saturating. */
static inline uint64_t scale_permille(uint64_t value, uint64_t permille)
{
	return value == LIMIT_MAX ? LIMIT_MAX : mul_div(value, permille, 1000);
}

/* 1000 - permille, never below 0. */
static inline uint64_t rest_permille(uint64_t permille)
{
	return permille < 1000 ? 1000 - permille : 0;
}

/* a + b, saturating. */
static inline uint64_t add_sat(uint64_t a, uint64_t b)
{
	if (a == LIMIT_MAX || b == LIMIT_MAX)
		return LIMIT_MAX;
	return a > LIMIT_MAX - 1 - b ? LIMIT_MAX - 1 : a + b;
}

/* The largest of count values; 0 of none. */
static inline uint64_t highest(const uint64_t *values, size_t count)
{
	uint64_t max = 0;

	for (size_t i = 0; i < count; i++)
		max = MAX(max, values[i]);
	return max;
}

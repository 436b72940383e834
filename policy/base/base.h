/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership, time, arithmetic and small helpers that every layer shares. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

/* A point in time or a span in microseconds. Control uses boottime, records use realtime. */
typedef uint64_t usec_t;

#define USEC_PER_MSEC 1000ULL
#define USEC_PER_SEC  1000000ULL
#define USEC_PER_MIN  (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MIN)
#define USEC_PER_DAY  (24 * USEC_PER_HOUR)

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* "max" of a cgroup file, "infinity" of a unit property. */
#define LIMIT_MAX UINT64_MAX

/* Runs drop(&variable) when the variable leaves its scope. */
#define OWN(drop) __attribute__((__cleanup__(drop)))

/* Hands an owned value on: reads it and leaves the empty value behind. */
#define STEAL(p)                                                                                   \
	({                                                                                         \
		__typeof__(p) stolen_ = (p);                                                       \
		(p) = NULL;                                                                        \
		stolen_;                                                                           \
	})

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* Each argument is evaluated once; the counter keeps nested uses from shadowing each other. */
#define PASTE_(a, b) a##b
#define PASTE(a, b)  PASTE_(a, b)
#define CHOOSE_(a, op, b, x, y)                                                                    \
	({                                                                                         \
		__typeof__(a) x = (a);                                                             \
		__typeof__(b) y = (b);                                                             \
		x op y ? x : y;                                                                    \
	})
#define MIN(a, b) CHOOSE_(a, <, b, PASTE(lhs_, __COUNTER__), PASTE(rhs_, __COUNTER__))
#define MAX(a, b) CHOOSE_(a, >, b, PASTE(lhs_, __COUNTER__), PASTE(rhs_, __COUNTER__))

/* Of two times of which 0 means never. */
static inline usec_t sooner(usec_t a, usec_t b)
{
	return a == 0 || b == 0 ? MAX(a, b) : MIN(a, b);
}

static inline void drop_free(void *p)
{
	free(*(void **)p);
}

/* Arithmetic of amounts that does not overflow. LIMIT_MAX means no limit, and stays; any other
 * result is below it. */

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

/* splitmix64: good enough to spread load, and the same everywhere. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

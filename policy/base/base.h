/* SPDX-License-Identifier: Apache-2.0 */
/* Ownership, time and small helpers that every layer shares. */
#pragma once

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

/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before the next try: doubling from 800 ms to 30 s, each wait stretched by up to
 * itself at random, so that many nodes do not come back at once. The figures are client-go's. */
#pragma once

#include "policy/base/base.h"

#define BACKOFF_FIRST_USEC (800 * USEC_PER_MSEC)
#define BACKOFF_CAP_USEC   (30 * USEC_PER_SEC)
/* Without a failure for this long, the next one is the first again. */
#define BACKOFF_RESET_USEC (2 * USEC_PER_MIN)

/* xorshift64: good enough to spread load, and the same everywhere. Zero is no state of it. */
static inline uint64_t random_next(uint64_t *state)
{
	uint64_t x = *state != 0 ? *state : 0x9e3779b97f4a7c15;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x;
}

struct backoff {
	usec_t wait_usec;  /* of the next failure, unstretched; 0: the first */
	usec_t quiet_from; /* when the last wait was over */
	uint64_t random;
};

/* A try has just failed: the wait before the next one, never 0, at most twice the cap. */
usec_t backoff_next(struct backoff *b, usec_t now);

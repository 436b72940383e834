/* SPDX-License-Identifier: Apache-2.0 */
/* How long to wait before the next try: doubling from 800 ms to 30 s, each wait stretched by up to
 * itself at random, so that many nodes do not come back at once. The figures are client-go's. */
#pragma once

#include "policy/base/base.h"

#define BACKOFF_FIRST_USEC (800 * USEC_PER_MSEC)
#define BACKOFF_CAP_USEC   (30 * USEC_PER_SEC)
/* Without a failure for this long, the next one is the first again. */
#define BACKOFF_RESET_USEC (2 * USEC_PER_MIN)

struct backoff {
	usec_t wait_usec;  /* of the next failure, unstretched; 0: the first */
	usec_t quiet_from; /* when the last wait was over */
	uint64_t random;
};

/* A try has just failed: the wait before the next one, never 0, at most twice the cap. */
static inline usec_t backoff_next(struct backoff *b, usec_t now)
{
	usec_t wait = b->wait_usec, delay;

	if (wait == 0 || now >= b->quiet_from + BACKOFF_RESET_USEC)
		wait = BACKOFF_FIRST_USEC;
	delay = wait + random_next(&b->random) % (wait + 1);
	b->wait_usec = MIN(wait * 2, BACKOFF_CAP_USEC);
	b->quiet_from = now + delay;
	return delay;
}

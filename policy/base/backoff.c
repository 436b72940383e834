// SPDX-License-Identifier: Apache-2.0
#include "policy/base/backoff.h"

usec_t backoff_next(struct backoff *b, usec_t now)
{
	usec_t wait = b->wait_usec, delay;

	if (wait == 0 || now >= b->quiet_from + BACKOFF_RESET_USEC)
		wait = BACKOFF_FIRST_USEC;
	delay = wait + random_next(&b->random) % (wait + 1);
	b->wait_usec = MIN(wait * 2, BACKOFF_CAP_USEC);
	b->quiet_from = now + delay;
	return delay;
}

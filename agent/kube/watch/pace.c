// SPDX-License-Identifier: Apache-2.0
#include "agent/kube/watch/pace.h"
#include <errno.h>

#define STATUS_UNAUTHORIZED 401
#define STATUS_TIMEOUT      408
#define STATUS_GONE         410
#define STATUS_TOO_MANY     429

/* Codes that a retry will not change. */
static bool is_refusal(unsigned status)
{
	return status >= 300 && status < 500 && status != STATUS_UNAUTHORIZED &&
	       status != STATUS_TIMEOUT && status != STATUS_GONE && status != STATUS_TOO_MANY;
}

static bool is_good(const struct pace_end *end)
{
	return end->error == 0 && end->status >= 200 && end->status < 300;
}

struct pace_next pace_next(struct pace *p, const struct pace_end *end, usec_t now)
{
	bool gone = end->status == STATUS_GONE;
	/* For a stream that was open, its duration counts, not its status. */
	bool steady = end->step == STEP_STREAM && end->lasted >= PACE_STEADY_USEC;
	struct pace_next next = {.step = end->step, .trouble = !is_good(end) && !gone};

	/* A new watch would receive that long line again: only a list gets past it. */
	if (gone || (end->step == STEP_STREAM && end->error == -EMSGSIZE))
		next.step = STEP_LIST;
	if (end->step == STEP_LIST && is_good(end)) {
		p->refusals = 0;
		next.step = STEP_STREAM;
		return next;
	}
	if (is_refusal(end->status) && end->error == 0) {
		p->refusals = MIN(p->refusals + 1, (uint32_t)PACE_REFUSALS);
		next.delay = p->refusals < PACE_REFUSALS ? 0 : PACE_REFUSED_USEC;
	} else {
		p->refusals = 0;
	}
	if (steady && end->retry_after == 0) {
		/* A stream that a proxy or the network cut is not reported. */
		next.trouble = end->error == -ETIMEDOUT || (next.trouble && end->status >= 300);
		return next;
	}
	next.delay = MAX(next.delay, backoff_next(&p->backoff, now));
	next.delay = MAX(next.delay, MIN(end->retry_after, PACE_RETRY_MAX_USEC));
	return next;
}

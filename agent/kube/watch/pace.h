/* SPDX-License-Identifier: Apache-2.0 */
/* Which request follows the end of a list or a watch, and when. Pure, so that the number of
 * requests per minute can be shown to be bounded for every fault. */
#pragma once

#include "policy/base/backoff.h"
#include <stdbool.h>

enum watch_step { STEP_LIST, STEP_STREAM };

/* A watch that was open this long is begun again at once, whatever its end reports. A shorter one
 * waits, because a server that ends each watch at once would otherwise be asked without a pause. */
#define PACE_STEADY_USEC (30 * USEC_PER_SEC)
/* Refusals in a row before the long wait: rights may be granted after the pod starts. */
#define PACE_REFUSALS     5
#define PACE_REFUSED_USEC (10 * USEC_PER_MIN)
/* The longest delay that a server can ask for. */
#define PACE_RETRY_MAX_USEC (5 * USEC_PER_MIN)

struct pace {
	struct backoff backoff;
	uint32_t refusals;
};

struct pace_end {
	enum watch_step step;
	unsigned status; /* of HTTP, or the code of an ERROR event; 0: none */
	int error;       /* of the transport or of the text; 0: none */
	usec_t lasted;
	usec_t retry_after; /* 0: not said */
};

struct pace_next {
	enum watch_step step;
	usec_t delay; /* 0: at once */
	bool trouble; /* to be reported */
};

struct pace_next pace_next(struct pace *p, const struct pace_end *end, usec_t now);

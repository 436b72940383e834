// SPDX-License-Identifier: Apache-2.0
#include "agent/view/decision_text.h"
#include "agent/view/human.h"
#include <stdio.h>

static void text_throttled(const struct decision *d, enum resource, char *ret)
{
	snprintf(ret, DECISION_TEXT_BYTES, "throttled %u %% of the last second",
		 (d->throttle_ppm + 5000) / 10000);
}

static void text_growth(const struct decision *d, enum resource, char *ret)
{
	char use[HUMAN_SIZE], slope[HUMAN_SIZE];

	snprintf(ret, DECISION_TEXT_BYTES, "%s in use, growing by %s a second",
		 human_amount(RESOURCE_MEMORY, d->use, use),
		 human_amount(RESOURCE_MEMORY, d->slope_bps, slope));
}

static void text_plain(const struct decision *d, enum resource r, char *ret)
{
	char use[HUMAN_SIZE];

	snprintf(ret, DECISION_TEXT_BYTES, "%s; %s in use", reason_text(d->reason),
		 human_amount(r, d->use, use));
}

void decision_text(const struct decision *d, enum resource r, char ret[static DECISION_TEXT_BYTES])
{
	switch (d->reason) {
	case REASON_THROTTLED:
		text_throttled(d, r, ret);
		return;
	case REASON_MEMORY_GROWTH:
		text_growth(d, r, ret);
		return;
	case REASON_POD_LEVEL: /* it has no use of its own */
	case REASON_BOOST:     /* before the first sample */
	case REASON_RESUMED:
		snprintf(ret, DECISION_TEXT_BYTES, "%s", reason_text(d->reason));
		return;
	default:
		text_plain(d, r, ret);
		return;
	}
}

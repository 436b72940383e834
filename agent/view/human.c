// SPDX-License-Identifier: Apache-2.0
#include "agent/view/human.h"
#include "agent/view/view.h"
#include <inttypes.h>
#include <stdio.h>

/* Two digits after the point at most, and three that count: 3.60 GiB, 15.5 MiB, 512 MiB. */
static void print_bytes(uint64_t bytes, char *ret)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	unsigned unit = 0;
	int digits;

	while (value >= 1023.95 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	if (value == (double)(uint64_t)value)
		digits = 0;
	snprintf(ret, HUMAN_SIZE, "%.*f %s", digits, value, units[unit]);
}

/* As Kubernetes writes it: 380m, 2. */
static void print_cpu(uint64_t milli, char *ret)
{
	if (milli % 1000 == 0)
		snprintf(ret, HUMAN_SIZE, "%" PRIu64, milli / 1000);
	else
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 "m", milli);
}

const char *human_amount(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE])
{
	if (amount == VIEW_NONE)
		snprintf(ret, HUMAN_SIZE, "-");
	else if (amount == LIMIT_MAX)
		snprintf(ret, HUMAN_SIZE, "max");
	else if (which == RESOURCE_CPU)
		print_cpu(amount, ret);
	else
		print_bytes(amount, ret);
	return ret;
}

/* The unit and the one below it: 3 h 5 min. */
const char *human_span(usec_t span_usec, char ret[static HUMAN_SIZE])
{
	static const struct {
		usec_t usec;
		const char *name;
	} units[] = {
		{USEC_PER_DAY, "d"}, {USEC_PER_HOUR, "h"},  {USEC_PER_MIN, "min"},
		{USEC_PER_SEC, "s"}, {USEC_PER_MSEC, "ms"}, {1, "us"},
	};
	unsigned i = 0;
	uint64_t rest;

	if (span_usec == VIEW_NONE) {
		snprintf(ret, HUMAN_SIZE, "-");
		return ret;
	}
	while (i + 1 < ARRAY_SIZE(units) && span_usec < units[i].usec)
		i++;
	rest = i < 3 ? span_usec % units[i].usec / units[i + 1].usec : 0;
	if (rest > 0)
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 " %s %" PRIu64 " %s",
			 span_usec / units[i].usec, units[i].name, rest, units[i + 1].name);
	else
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 " %s", span_usec / units[i].usec,
			 units[i].name);
	return ret;
}

void decision_text(const struct decision *d, enum resource r, char ret[static DECISION_TEXT_BYTES])
{
	char use[HUMAN_SIZE], slope[HUMAN_SIZE];

	human_amount(r, d->use, use);
	switch (d->reason) {
	case REASON_THROTTLED:
		/* 0: it was answered before the period ended. */
		snprintf(ret, DECISION_TEXT_BYTES,
			 d->throttle_ppm != 0 ? "throttled %u %% of the last second"
					      : "its quota was used before the period ended",
			 (d->throttle_ppm + 5000) / 10000);
		return;
	case REASON_MEMORY_GROWTH:
		snprintf(ret, DECISION_TEXT_BYTES, "%s in use, growing by %s a second", use,
			 human_amount(RESOURCE_MEMORY, d->slope_bps, slope));
		return;
	case REASON_POD_LEVEL: /* it has no use of its own */
	case REASON_BOOST:     /* before the first sample */
	case REASON_RESUMED:
		snprintf(ret, DECISION_TEXT_BYTES, "%s", reason_text(d->reason));
		return;
	default:
		snprintf(ret, DECISION_TEXT_BYTES, "%s; %s in use", reason_text(d->reason), use);
		return;
	}
}

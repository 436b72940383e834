// SPDX-License-Identifier: Apache-2.0
#include "agent/base/time_text.h"
#include <stdio.h>
#include <time.h>

const char *time_text(usec_t real_usec, int decimals, char ret[static TIME_TEXT_SIZE])
{
	time_t seconds = (time_t)(real_usec / USEC_PER_SEC);
	char fraction[8];
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(ret, TIME_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(fraction, sizeof fraction, ".%06u", (unsigned)(real_usec % USEC_PER_SEC));
	snprintf(ret + n, TIME_TEXT_SIZE - n, "%.*sZ", decimals > 0 ? 1 + decimals : 0, fraction);
	return ret;
}

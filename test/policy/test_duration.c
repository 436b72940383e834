// SPDX-License-Identifier: Apache-2.0
#include "policy/base/quantity.h"
#include "test/check.h"
#include <errno.h>

static const struct {
	const char *text;
	usec_t usec;
	const char *canonical;
} good[] = {
	{"0s", 0, "0s"},
	{"0d0h0m0s0ms0us", 0, "0s"},
	{"1us", 1, "1us"},
	{"100ms", 100 * USEC_PER_MSEC, "100ms"},
	{"10s", 10 * USEC_PER_SEC, "10s"},
	{"5m", 5 * USEC_PER_MIN, "5m"},
	{"5min", 5 * USEC_PER_MIN, "5m"},
	{"60s", USEC_PER_MIN, "1m"},
	{"24h", USEC_PER_DAY, "1d"},
	{"7d", 7 * USEC_PER_DAY, "7d"},
	{"007d", 7 * USEC_PER_DAY, "7d"},
	{"1h30m", 90 * USEC_PER_MIN, "1h30m"},
	{"1h30min", 90 * USEC_PER_MIN, "1h30m"},
	{"90m", 90 * USEC_PER_MIN, "1h30m"},
	{"1m500ms", USEC_PER_MIN + 500 * USEC_PER_MSEC, "1m500ms"},
	{"1d2h3m4s5ms6us",
	 USEC_PER_DAY + 2 * USEC_PER_HOUR + 3 * USEC_PER_MIN + 4 * USEC_PER_SEC +
		 5 * USEC_PER_MSEC + 6,
	 "1d2h3m4s5ms6us"},
	{"18446744073709551615us", UINT64_MAX, "213503982d8h1m49s551ms615us"},
};

static const struct {
	const char *text;
	int error;
} bad[] = {
	{"", -EINVAL},
	{"0", -EINVAL},
	{"10", -EINVAL},
	{"s", -EINVAL},
	{"-1s", -EINVAL},
	{"+1s", -EINVAL},
	{" 1s", -EINVAL},
	{"1s ", -EINVAL},
	{"1 s", -EINVAL},
	{"1.5h", -EINVAL},
	{"1S", -EINVAL},
	{"1M", -EINVAL},
	{"1sec", -EINVAL},
	{"1w", -EINVAL},
	{"1y", -EINVAL},
	{"1h30", -EINVAL},
	{"30m1h", -EINVAL},
	{"1m1m", -EINVAL},
	{"1m1min", -EINVAL},
	{"1h 30m", -EINVAL},
	{"1hm", -EINVAL},
	{"1e3s", -EINVAL},
	{"0x1s", -EINVAL},
	{"infinity", -EINVAL},
	{"1s\n", -EINVAL},
	{"1\xc2\xb5s", -EINVAL},
	{"18446744073709551616us", -ERANGE},
	{"18446744073709551615ms", -ERANGE},
	{"213503983d", -ERANGE},
	{"213503982d9h", -ERANGE},
};

int main(void)
{
	char buf[DURATION_TEXT_SIZE], tiny[4];
	usec_t span;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		span = 42;
		CHECK_EQ(duration_parse(good[i].text, &span), 0);
		CHECK_EQ(span, good[i].usec);
		CHECK_STR(duration_format(span, buf, sizeof buf), good[i].canonical);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		span = 42;
		CHECK_EQ(duration_parse(bad[i].text, &span), bad[i].error);
		CHECK_EQ(span, 42);
	}
	CHECK_STR(duration_format(USEC_PER_MSEC, tiny, sizeof tiny), "1ms");
	CHECK_STR(duration_format(10 * USEC_PER_MSEC, tiny, sizeof tiny), "");
	return check_result();
}

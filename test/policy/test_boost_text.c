// SPDX-License-Identifier: Apache-2.0
/* The value of startup-boost. */
#include "policy/laws/boost.h"
#include "test/check.h"
#include <errno.h>

#define SEC USEC_PER_SEC

static const struct {
	const char *text;
	int want;
	struct boost_rule rule;
} texts[] = {
	{"2x 30s", 0, {.factor = 2, .after_usec = 30 * SEC}},
	{"1x 0s", 0, {.factor = 1}},
	{"100x 1m30s", 0, {.factor = 100, .after_usec = 90 * SEC}},
	{"+500m 30s", 0, {.add_milli = 500, .after_usec = 30 * SEC}},
	{"+1.5 1h", 0, {.add_milli = 1500, .after_usec = 3600 * SEC}},
	{"+1u 1ms", 0, {.add_milli = 1, .after_usec = USEC_PER_MSEC}},
	{"", -EINVAL, {0}},
	{" ", -EINVAL, {0}},
	{"2x", -EINVAL, {0}},
	{"2x ", -EINVAL, {0}},
	{"2x  30s", -EINVAL, {0}},
	{"2x 30", -EINVAL, {0}},
	{"2x 30s ", -EINVAL, {0}},
	{"2x\t30s", -EINVAL, {0}},
	{"x 30s", -EINVAL, {0}},
	{"0x 30s", -EINVAL, {0}},
	{"101x 30s", -EINVAL, {0}},
	{"1000x 30s", -EINVAL, {0}},
	{"0002x 30s", -EINVAL, {0}},
	{"18446744073709551617x 30s", -EINVAL, {0}},
	{"2X 30s", -EINVAL, {0}},
	{"1.5x 30s", -EINVAL, {0}},
	{"-2x 30s", -EINVAL, {0}},
	{"+2x 30s", -EINVAL, {0}},
	{"500m 30s", -EINVAL, {0}},
	{"+0 30s", -EINVAL, {0}},
	{"+ 30s", -EINVAL, {0}},
	{"+-1 30s", -EINVAL, {0}},
	{"+1000000000000000000000000000000000000000000 1s", -EINVAL, {0}},
	{"2x 99999999999999999999d", -ERANGE, {0}},
};

TEST(parse)
{
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		const struct boost_rule before = {7, 8, 9};
		struct boost_rule got = before, want = texts[i].want == 0 ? texts[i].rule : before;

		if (boost_parse(texts[i].text, &got) != texts[i].want)
			fprintf(stderr, "\"%s\":\n", texts[i].text);
		CHECK_EQ(boost_parse(texts[i].text, &got), texts[i].want);
		CHECK_EQ(got.factor, want.factor);
		CHECK_EQ(got.add_milli, want.add_milli);
		CHECK_EQ(got.after_usec, want.after_usec);
	}
}

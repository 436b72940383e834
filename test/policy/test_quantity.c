// SPDX-License-Identifier: Apache-2.0
#include "policy/base/quantity.h"
#include "test/check.h"
#include <errno.h>

/* The value of a text in nanos (whole + nano). */
static const struct {
	const char *text;
	int64_t whole;
	int64_t nano;
} good[] = {
	{"0", 0, 0},
	{"-0", 0, 0},
	{"0Ki", 0, 0},
	{"0e99999", 0, 0},
	{"1", 1, 0},
	{"+1", 1, 0},
	{"-1", -1, 0},
	{"007", 7, 0},
	{"0.1", 0, 100000000},
	{".5", 0, 500000000},
	{"5.", 5, 0},
	{"-.5", 0, -500000000},
	{"1.50", 1, 500000000},
	{"100m", 0, 100000000},
	{"1000m", 1, 0},
	{"1500m", 1, 500000000},
	{"250u", 0, 250000},
	{"1n", 0, 1},
	{"100000n", 0, 100000},
	{"0.1n", 0, 1},
	{"-0.1n", 0, -1},
	{"1.0000000001", 1, 1},
	{"0.0000000000000000000000000000001", 0, 1},
	{"1e-30", 0, 1},
	{"1e-99999999999", 0, 1},
	{"1e3", 1000, 0},
	{"1E3", 1000, 0},
	{"1e+3", 1000, 0},
	{"12e4", 120000, 0},
	{"12e1", 120, 0},
	{"5e-1", 0, 500000000},
	{"0.005e3", 5, 0},
	{"1000e-3", 1, 0},
	{"1E", 1000000000000000000, 0},
	{"1k", 1000, 0},
	{"1M", 1000000, 0},
	{"1G", 1000000000, 0},
	{"1T", 1000000000000, 0},
	{"1P", 1000000000000000, 0},
	{"2500M", 2500000000, 0},
	{"1.5k", 1500, 0},
	{"128974848", 128974848, 0},
	{"129e6", 129000000, 0},
	{"123Mi", 128974848, 0},
	{"1Ki", 1024, 0},
	{"1Mi", 1 << 20, 0},
	{"1Gi", 1 << 30, 0},
	{"1Ti", 1LL << 40, 0},
	{"1Pi", 1LL << 50, 0},
	{"1Ei", 1LL << 60, 0},
	{"1024Ki", 1 << 20, 0},
	{"1.5Ki", 1536, 0},
	{"1.5Gi", 1610612736, 0},
	{"0.5Ki", 512, 0},
	{"0.0001Ki", 0, 102400000},
	{"1000.5Ki", 1024512, 0},
	{"1.00001Ki", 1024, 10240000},
	{"-2Ki", -2048, 0},

	{"7.999999999999999999Ei", INT64_MAX - 1, 847078496},
	{"9223372036854775807", INT64_MAX, 0},
	{"-9223372036854775807", -INT64_MAX, 0},
	{"9223372036854775.807k", INT64_MAX, 0},
	{"9223372036854775806.999999999", INT64_MAX - 1, 999999999},
};

static const struct {
	const char *text;
	int error;
} bad[] = {
	{"", -EINVAL},
	{"-", -EINVAL},
	{"+", -EINVAL},
	{".", -EINVAL},
	{"-.", -EINVAL},
	{"m", -EINVAL},
	{"Ki", -EINVAL},
	{" 1", -EINVAL},
	{"1 ", -EINVAL},
	{"1 Ki", -EINVAL},
	{"--1", -EINVAL},
	{"+-1", -EINVAL},
	{"1.2.3", -EINVAL},
	{"1,5", -EINVAL},
	{"1K", -EINVAL},
	{"1ki", -EINVAL},
	{"1KI", -EINVAL},
	{"1mi", -EINVAL},
	{"1g", -EINVAL},
	{"1MB", -EINVAL},
	{"1Kib", -EINVAL},
	{"1e", -EINVAL},
	{"1e+", -EINVAL},
	{"1e-", -EINVAL},
	{"1e3.5", -EINVAL},
	{"1e3Ki", -EINVAL},
	{"1e3m", -EINVAL},
	{"1Ee3", -EINVAL},
	{"0x10", -EINVAL},
	{"1_000", -EINVAL},
	{"inf", -EINVAL},
	{"NaN", -EINVAL},
	{"max", -EINVAL},
	{"1\n", -EINVAL},
	{"\xc2\xbd", -EINVAL},
	{"1m ", -EINVAL},
	{"1mm", -EINVAL},
	{"m1", -EINVAL},
	{"1-", -EINVAL},
	{"1e--3", -EINVAL},
	{"9223372036854775808", -ERANGE},
	{"9223372036854775807.1", -ERANGE},
	{"8Ei", -ERANGE},
	{"10E", -ERANGE},
	{"1e19", -ERANGE},
	{"1e99999999999", -ERANGE},
	{"-1e19", -ERANGE},
	{"99999999999999999999999999999999999999999", -ERANGE},
	{"18446744073709551616", -ERANGE},
	{"18446744073709551617Ki", -ERANGE},
};

TEST(parse)
{
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		__int128 want = (__int128)good[i].whole * 1000000000 + good[i].nano, got = 42;

		CHECK_EQ(quantity_parse(good[i].text, &got), 0);
		CHECK(got == want);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		__int128 got = 42;

		CHECK_EQ(quantity_parse(bad[i].text, &got), bad[i].error);
		CHECK(got == 42);
	}
}

/* The longest number that is accepted, and one digit more. */
TEST(long)
{
	static char text[4200];
	__int128 q = 0;

	memset(text, '0', 4095);
	text[4095] = '1';
	CHECK_EQ(quantity_parse(text, &q), 0);
	CHECK(q == 1000000000);
	text[4096] = '0';
	CHECK_EQ(quantity_parse(text, &q), -EINVAL);
	text[1] = '.';
	text[4096] = '\0';
	CHECK_EQ(quantity_parse(text, &q), 0);
	CHECK(q == 1);
	memcpy(text + 4096, "e4094", 6);
	CHECK_EQ(quantity_parse(text, &q), 0);
	CHECK(q == 1000000000);
	memcpy(text + 4096, "e4113", 6);
	CHECK_EQ(quantity_parse(text, &q), -ERANGE);
}

TEST(units)
{
	static const struct {
		const char *text;
		int error_cpu;
		uint64_t milli;
		int error_bytes;
		uint64_t bytes;
	} cases[] = {
		{"1", 0, 1000, 0, 1},
		{"100m", 0, 100, 0, 1},
		{"0.1", 0, 100, 0, 1},
		{"1n", 0, 1, 0, 1},
		{"1500u", 0, 2, 0, 1},
		{"0.0005", 0, 1, 0, 1},
		{"1.0001", 0, 1001, 0, 2},
		{"2.5", 0, 2500, 0, 3},
		{"0", 0, 0, 0, 0},
		{"-0", 0, 0, 0, 0},
		{"1e3", 0, 1000000, 0, 1000},
		{"512Mi", 0, 536870912000, 0, 536870912},
		{"-1", -EINVAL, 7, -EINVAL, 7},
		{"-1n", -EINVAL, 7, -EINVAL, 7},
		{"1q", -EINVAL, 7, -EINVAL, 7},
		{"9223372036854775807", -ERANGE, 7, 0, INT64_MAX},
		{"8Ei", -ERANGE, 7, -ERANGE, 7},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t milli = 7, bytes = 7;

		CHECK_EQ(quantity_parse_cpu(cases[i].text, &milli), cases[i].error_cpu);
		CHECK_EQ(milli, cases[i].milli);
		CHECK_EQ(quantity_parse_bytes(cases[i].text, &bytes), cases[i].error_bytes);
		CHECK_EQ(bytes, cases[i].bytes);
	}
}

TEST(format)
{
	static const struct {
		uint64_t value;
		const char *cpu, *bytes, *human;
	} cases[] = {
		{0, "0", "0", "0"},
		{1, "1m", "1", "1"},
		{500, "500m", "500", "500"},
		{1000, "1", "1000", "1000"},
		{1023, "1023m", "1023", "1023"},
		{1024, "1024m", "1Ki", "1.00Ki"},
		{1152, "1152m", "1152", "1.12Ki"}, /* 1.125: tie to even */
		{1164, "1164m", "1164", "1.14Ki"},
		{1408, "1408m", "1408", "1.38Ki"}, /* 1.375: tie to even */
		{1500, "1500m", "1500", "1.46Ki"},
		{2000, "2", "2000", "1.95Ki"},
		{1048575, "1048575m", "1048575", "1024.00Ki"},
		{512 * MIB, "536870912m", "512Mi", "512.00Mi"},
		{1610612736, "1610612736m", "1536Mi", "1.50Gi"},
		{1ULL << 63, "9223372036854775808m", "8Ei", "8.00Ei"},
		{LIMIT_MAX - 1, "18446744073709551614m", "18446744073709551614", "16.00Ei"},
		{LIMIT_MAX, "max", "max", "max"},
	};
	char buf[QUANTITY_TEXT_SIZE], tiny[4];

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CHECK_STR(quantity_format_cpu(cases[i].value, buf, sizeof buf), cases[i].cpu);
		CHECK_STR(quantity_format_bytes(cases[i].value, buf, sizeof buf), cases[i].bytes);
		CHECK_STR(quantity_format_human(cases[i].value, buf, sizeof buf), cases[i].human);
	}
	CHECK_STR(quantity_format_cpu(999, tiny, sizeof tiny), "");
	CHECK_STR(quantity_format_cpu(99, tiny, sizeof tiny), "99m");
	CHECK_STR(quantity_format_human(GIB, tiny, sizeof tiny), "");
}

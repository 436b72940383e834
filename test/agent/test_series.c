// SPDX-License-Identifier: Apache-2.0
/* CSV series: what is read, and the line and reason of what is not. */
#include "agent/backtest/series.h"
#include "test/check.h"
#include <errno.h>

static int parse(const char *text, uint32_t cpus, struct series *s, struct series_error *e)
{
	return series_parse(text, strlen(text), cpus, s, e);
}

static void test_forms(void)
{
	struct series_error e;
	struct series s;

	CHECK_EQ(parse("time,cpu_cores\n0,0.25\n1.5,16\r\n", 0, &s, &e), 0);
	CHECK_EQ(s.count, 2);
	CHECK(!s.memory);
	CHECK_EQ(s.samples[0].micro_cores, 250000);
	CHECK_EQ(s.samples[1].micro_cores, 16000000);
	CHECK_EQ(s.samples[1].at, 1500000);
	series_drop(&s);
	CHECK_EQ(parse("time,cpu_cores,memory_bytes\n10,1,4096\n11,0.0000019,0", 0, &s, &e), 0);
	CHECK(s.memory);
	CHECK_EQ(s.samples[0].memory_bytes, 4096);
	CHECK_EQ(s.samples[1].micro_cores, 1);
	series_drop(&s);
	CHECK_EQ(parse("timestamp,value\n2024-02-28 23:59:00,44.568000000000005\n"
		       "2024-03-01T00:00:00Z,100\n",
		       4, &s, &e),
		 -EBADMSG);
	CHECK_EQ(e.line, 3); /* a day and a minute: 2024 has a 29 February */
	CHECK_EQ(parse("timestamp,value\n2023-02-28 23:59:00,44.568000000000005\n"
		       "2023-03-01T00:00:00Z,100\n",
		       4, &s, &e),
		 0);
	CHECK_EQ(s.samples[1].at - s.samples[0].at, USEC_PER_MIN);
	CHECK_EQ(s.samples[1].at, 1677628800 * USEC_PER_SEC);
	CHECK_EQ(s.samples[0].micro_cores, 1782720);
	CHECK_EQ(s.samples[1].micro_cores, 4000000);
	series_drop(&s);
}

/* Off for two days, and for three: as if those had not been. */
static void test_gaps(void)
{
	struct series_error e;
	struct series s;

	CHECK_EQ(parse("time,cpu_cores\n0,1\n60,1\n172860,2\n172920,2\n432120,3\n432180,3\n", 0, &s,
		       &e),
		 0);
	CHECK_EQ(s.count, 6);
	CHECK_EQ(s.gaps, 2);
	CHECK_EQ(s.left_out_usec, (5 * 24 * 60 - 2) * USEC_PER_MIN);
	for (size_t i = 0; i < 6; i++)
		CHECK_EQ(s.samples[i].at, i * USEC_PER_MIN);
	series_drop(&s);
	/* A recording began with one sample, and went on two days later. */
	CHECK_EQ(parse("time,cpu_cores\n0,1\n172800,2\n172860,3\n", 0, &s, &e), 0);
	CHECK_EQ(s.count, 2);
	CHECK_EQ(s.gaps, 1);
	CHECK_EQ(s.lone, 1);
	CHECK_EQ(s.samples[0].micro_cores, 2000000);
	CHECK_EQ(s.samples[1].at - s.samples[0].at, USEC_PER_MIN);
	series_drop(&s);
	CHECK_EQ(parse("time,cpu_cores\n0,1\n60,1\n172860,2\n172800,2\n", 0, &s, &e), -EBADMSG);
	CHECK_EQ(e.line, 5);
}

static void test_malformed(void)
{
	static const struct {
		const char *text, *what;
		size_t line;
		uint32_t cpus;
	} rows[] = {
		{"", "fewer than two", 1, 0},
		{"time,cpu_cores\n", "fewer than two", 2, 0},
		{"time,cpu_cores\n1,1\n", "fewer than two", 3, 0},
		{"time;cpu_cores\n", "first line", 1, 0},
		{"time,cpu_cores,memory\n", "first line", 1, 0},
		{"timestamp,value\n1,1\n2,1\n", "--cpus", 1, 0},
		{"timestamp,value\n1,100.1\n2,1\n", "above 100", 2, 4},
		{"timestamp,value\n1,nan\n", "the value is not", 2, 4},
		{"time,cpu_cores\n1,1,2\n", "columns", 2, 0},
		{"time,cpu_cores,memory_bytes\n1,1\n", "columns", 2, 0},
		{"time,cpu_cores,memory_bytes\n1,1,2,3\n", "columns", 2, 0},
		{"time,cpu_cores\n1,1\n\n2,1\n", "columns", 3, 0},
		{"time,cpu_cores\n-1,1\n", "the time is not", 2, 0},
		{"time,cpu_cores\n1.2345,1\n", "the time is not", 2, 0},
		{"time,cpu_cores\n2014-02-30 00:00:00,1\n", "the time is not", 2, 0},
		{"time,cpu_cores\n2014-13-01 00:00:00,1\n", "the time is not", 2, 0},
		{"time,cpu_cores\n2014-02-14 24:00:00,1\n", "the time is not", 2, 0},
		{"time,cpu_cores\n2014-02-14,1\n", "the time is not", 2, 0},
		{"time,cpu_cores\n5,1\n5,1\n", "0.1 s", 3, 0},
		{"time,cpu_cores\n5,1\n4,1\n", "0.1 s", 3, 0},
		{"time,cpu_cores\n5,1\n86406,1\n", "a day", 3, 0},
		{"time,cpu_cores\n1,1e3\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,1.\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,.5\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1, 1\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,2.000001\n", "number of CPUs", 2, 2},
		{"time,cpu_cores\n1,99999999999999999999\n", "cpu_cores is not", 2, 2},
		{"time,cpu_cores,memory_bytes\n1,1,1.5\n", "memory_bytes", 2, 0},
		{"time,cpu_cores,memory_bytes\n1,1,1125899906842625\n", "memory_bytes", 2, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct series s = {.count = 77};
		struct series_error e = {0};
		int r = parse(rows[i].text, rows[i].cpus, &s, &e);

		CHECK_EQ(r, -EBADMSG);
		CHECK_EQ(e.line, rows[i].line);
		CHECK(e.what != NULL && strstr(e.what, rows[i].what) != NULL);
		CHECK(s.count == 77 && s.samples == NULL);
	}
}

int main(void)
{
	test_forms();
	test_gaps();
	test_malformed();
	return check_result();
}

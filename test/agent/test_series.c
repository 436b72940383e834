// SPDX-License-Identifier: Apache-2.0
/* CSV series: what is read, and the line and reason of what is not. */
#include "agent/backtest/series.h"
#include "test/check.h"
#include <errno.h>

static int parse(const char *text, uint32_t cpus, struct series_file *f, struct series_error *e)
{
	OWN(drop_free) char *copy = strdup(text);

	return series_parse(copy, cpus, f, e);
}

#define SECOND(text) "2023-11-14 22:13:20" text
#define START        (1700000000 * USEC_PER_SEC)

/* As tools write them: the first two samples of one series. */
TEST(forms)
{
	static const struct {
		const char *text;
		uint32_t cpus;
		uint64_t at, micro[2], bytes;
	} rows[] = {
		{.micro = {250000, 16000000}, .text = "time,cpu_cores\n0,0.25\n1.5,16\r\n"},
		{.at = 10000000,
		 .micro = {1000000, 1},
		 .bytes = 4096,
		 .text = "time,cpu_cores,memory_bytes\n10,1,4096\n11,0.0000019,0"},
		{.cpus = 4,
		 .at = 1677628740 * USEC_PER_SEC,
		 .micro = {1782720, 4000000},
		 .text = "timestamp,value\n2023-02-28 "
			 "23:59:00,44.568000000000005\n2023-03-01T00:00:00Z,100\n"},
		/* A spreadsheet in a country with decimal commas. */
		{.at = START - 20 * USEC_PER_SEC,
		 .micro = {500000, 1000000},
		 .bytes = 1572864,
		 .text = "\xef\xbb\xbf\"Date\";\"CPU (cores)\";\"Memory (MiB)\"\r\n\"2023-11-14 "
			 "22:13\";\"0,5\";\"1,5\"\r\n"
			 "2023-11-14 22:14;1;2\r\n\r\n"},
		{.at = START,
		 .micro = {10, 250000},
		 .bytes = 4096,
		 .text = "ts\tcpu_usage\tmem_bytes\n1700000000\t1e-05\t4096\n1700000060\t2.5e-"
			 "1\t1"},
		/* Milliseconds and nanoseconds; the order of columns; what is not known. */
		{.at = START,
		 .micro = {250000, 1000000},
		 .bytes = 4096,
		 .text = "mem_usage,disk,cpu,Timestamp\n4Ki,x,250m,1700000000000\n1,y,1,"
			 "1700000001000\n"},
		{.at = START,
		 .micro = {1500000, 1000},
		 .text = "time,cpu_millicores\n1700000000000000000,1500\n1700000001000000000,1\n"},
		/* A suffix is the value's own unit. */
		{.at = START,
		 .micro = {250000, 250000},
		 .bytes = 512 * MIB,
		 .text = "time,cpu_millicores,memory_mib\n1700000000,250m,512Mi\n1700000001,250,"
			 "1\n"},
		{.cpus = 4,
		 .at = START + 250000,
		 .micro = {2000000, 1000000},
		 .text = "date,CPU %\n2023-11-14T23:13:20.250+01:00,50\n" SECOND(".5+0000") ",25"},
		/* Empty: the value before; all empty, or nothing before: no sample. */
		{.at = START,
		 .micro = {1000000, 1000000},
		 .bytes = 8192,
		 .text = "time,cpu,memory\n1699999990,,1\n1700000000,1,8192\n1700000010,NaN,"
			 "\n1700000015,+Inf,4096\n1700000020,3,null\n"},
		/* Grafana's CSV for Excel; the zone as BigQuery and Go write it. */
		{.at = START,
		 .micro = {250000, 1000000},
		 .text = "sep=,\r\n\"Time\",\"CPU (cores)\"\r\n" SECOND(" UTC") ",0.25\r\n" SECOND(
			 ".5 +0000 UTC") ",1\r\n"},
		/* A quote within quotes, and one series by name. */
		{.at = START,
		 .micro = {2000000, 3000000},
		 .text = "time,pod,value\n1700000000,\"a,\"\"b\"\"\",2\n1700000001,\"a,\"\"b\"\"\","
			 "3\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct series_error e = {0};
		struct series_file f = {0};

		CHECK_EQ(parse(rows[i].text, rows[i].cpus, &f, &e), 0);
		CHECK_STR(e.what, "");
		CHECK_EQ(f.count, 1);
		if (f.count != 1)
			continue;
		CHECK_EQ(f.memory, rows[i].bytes != 0);
		CHECK_EQ(f.series->samples[0].at, rows[i].at);
		CHECK_EQ(f.series->samples[0].micro_cores, rows[i].micro[0]);
		CHECK_EQ(f.series->samples[1].micro_cores, rows[i].micro[1]);
		CHECK_EQ(f.series->samples[0].memory_bytes, rows[i].bytes);
		series_drop(&f);
	}
}

/* Several series, in turn or one after the other. */
TEST(series)
{
	struct series_file f = {0};
	struct series_error e;

	CHECK_OK(parse("time,namespace,pod,cpu,node\n0,shop,a,1,n1\n0,shop,b,2,n1\n60,shop,a,3,n1\n"
		       "60,shop,b,4,n1\n120,shop,a,,n1\n60,shop,c,1,n1\n120,shop,b,5,n1\n",
		       0, &f, &e));
	CHECK_EQ(f.count, 2);
	CHECK_EQ(f.too_short, 1);
	CHECK_EQ(f.empty, 1);
	CHECK_STR(f.unused, "node");
	CHECK_STR(f.series[0].name, "shop/a");
	CHECK_STR(f.series[1].name, "shop/b");
	CHECK_EQ(f.series[0].count, 2);
	CHECK_EQ(f.series[0].samples[1].micro_cores, 3000000);
	CHECK_EQ(f.series[1].samples[2].micro_cores, 5000000);
	series_drop(&f);
}

/* Off for two days, and for three: as if those had not been. */
TEST(gaps)
{
	struct series_error e;
	struct series_file f;
	struct series *s;

	CHECK_OK(parse("time,cpu_cores\n0,1\n60,1\n172860,2\n172920,2\n432120,3\n432180,3\n", 0, &f,
		       &e));
	s = f.series;
	CHECK_EQ(s->count, 6);
	CHECK_EQ(s->gaps, 2);
	CHECK_EQ(s->left_out_usec, (5 * 24 * 60 - 2) * USEC_PER_MIN);
	for (size_t i = 0; i < 6; i++)
		CHECK_EQ(s->samples[i].at, i * USEC_PER_MIN);
	series_drop(&f);
	/* A recording began with one sample, and went on two days later. */
	CHECK_EQ(parse("time,cpu_cores\n0,1\n172800,2\n172860,3\n", 0, &f, &e), 0);
	s = f.series;
	CHECK_EQ(s->count, 2);
	CHECK_EQ(s->gaps, 1);
	CHECK_EQ(s->lone, 1);
	CHECK_EQ(s->samples[0].micro_cores, 2000000);
	CHECK_EQ(s->samples[1].at - s->samples[0].at, USEC_PER_MIN);
	series_drop(&f);
	CHECK_EQ(parse("time,cpu_cores\n0,1\n60,1\n172860,2\n172800,2\n", 0, &f, &e), -EBADMSG);
	CHECK_EQ(e.line, 5);
}

/* Off for a night, or for a part of each hour: a value does not hold for so long. */
TEST(short_gaps)
{
	static const struct {
		const char *text;
		size_t count, gaps;
		usec_t left_out_sec;
	} rows[] = {
		{"0,1\n60,1\n120,1\n43320,2\n43380,2\n", 5, 1, 43200 - 60},
		{"0,1\n30,1\n3600,2\n3630,2\n7200,3\n7230,3\n", 6, 2, 2 * 3540},
		/* A division by 0 while it is off. */
		{"0,1\n60,1\n120,NaN\n3600,NaN\n7260,2\n7320,2\n", 4, 1, 7200 - 60},
		/* Few samples, or samples that are late. */
		{"0,1\n3600,1\n36000,1\n", 3, 0, 0},
		{"0,1\n1,1\n600,1\n", 3, 0, 0},
		{"0,1\n43200,1\n43260,1\n", 3, 0, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[256];
		struct series_error e;
		struct series_file f;

		snprintf(text, sizeof text, "time,cpu_cores\n%s", rows[i].text);
		CHECK_OK(parse(text, 0, &f, &e));
		CHECK_EQ(f.series->count, rows[i].count);
		CHECK_EQ(f.series->gaps, rows[i].gaps);
		CHECK_EQ(f.series->left_out_usec, rows[i].left_out_sec * USEC_PER_SEC);
		series_drop(&f);
	}
}

TEST(malformed)
{
	static const struct {
		const char *text, *what;
		size_t line;
		uint32_t cpus;
	} rows[] = {
		{"", "fewer than two", 1, 0},
		{"time,cpu_cores\n", "fewer than two", 2, 0},
		{"time,cpu_cores\n1,1\n", "fewer than two", 3, 0},
		{"a,b\n",
		 "no column cpu_cores, cpu_millicores or cpu_percent; columns that are not known: "
		 "a, b",
		 1, 0},
		{"when;cpu\n", "no column time; columns that are not known: when", 1, 0},
		{"0,0.5\n1,0.5\n", "columns that are not known: 0, 0_5", 1, 0},
		{"\xff\xfet\n", "UTF-16", 1, 0},
		{"time,cpu,CPU_cores\n", "columns cpu and cpu_cores are of the same", 1, 0},
		{"timestamp,value\n1,1\n2,1\n",
		 "column value: percent need the number of CPUs: --cpus", 1, 0},
		{"timestamp,value\n1,100.1\n2,1\n", "value is above 100", 2, 4},
		{"timestamp,value\n1,x\n", "value is not a decimal number: x", 2, 4},
		{"time,cpu_cores\n1,1,2\n", "3 columns, but the first line has 2", 2, 0},
		{"time,cpu_cores,memory_bytes\n1,1\n", "2 columns, but", 2, 0},
		{"time,cpu_cores\n1,\"1\n", "column 2: a quote is not closed", 2, 0},
		{"time,cpu_cores\n\n\n-1,1\n", "time is not seconds", 4, 0},
		{"ts,cpu_cores\n2014-02-30 00:00:00,1\n",
		 "ts is not seconds or YYYY-MM-DD HH:MM:SS: 2014-02-30 00:00:00", 2, 0},
		{"time,cpu_cores\n2014-13-01 00:00:00,1\n", "time is not", 2, 0},
		{"time,cpu_cores\n2014-02-14 24:00:00,1\n", "time is not", 2, 0},
		{"time,cpu_cores\n2014-02-14 00:00:00 CET,1\n", "time is not", 2, 0},
		{"time,cpu_cores\n2014-02-14 00:00:00 UTC+1,1\n", "time is not", 2, 0},
		{"sep=,\n", "fewer than two", 2, 0},
		{"time,cpu_cores\n2014-02-14,1\n", "time is not", 2, 0},
		{"time,cpu_cores\n1,1\n5,1\n5,1\n", "0.1 s after the one before it; sort by time",
		 4, 0},
		{"time,cpu_cores\n2024-02-28 23:59:00,1\n2024-03-01T00:00:00Z,1\n", "a day", 3,
		 0}, /* 2024 has a 29 February */
		{"time,cpu_cores\n5,1\n86406,1\n", "a day", 3, 0},
		{"time,cpu_cores\n1,1 s\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,\"1,5\"\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,-1\n", "cpu_cores is not", 2, 0},
		{"time,cpu_cores\n1,2.000001\n", "cpu_cores is above 2, all CPUs", 2, 2},
		{"time,cpu_cores\n1,99999999999999999999\n", "cpu_cores is not", 2, 2},
		{"time,cpu_cores,memory_bytes\n1,1,1 2\n", "memory_bytes is not", 2, 0},
		{"time,cpu_cores,memory_bytes\n1,1,1125899906842625\n", "memory_bytes is above", 2,
		 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct series_file f = {.count = 77};
		struct series_error e = {0};
		int r = parse(rows[i].text, rows[i].cpus, &f, &e);

		CHECK_EQ(r, -EBADMSG);
		CHECK_EQ(e.line, rows[i].line);
		CHECK(strstr(e.what, rows[i].what) != NULL);
		if (strstr(e.what, rows[i].what) == NULL)
			fprintf(stderr, "%s: %s\n", rows[i].text, e.what);
		CHECK(f.count == 77 && f.series == NULL);
	}
}

// SPDX-License-Identifier: Apache-2.0
#include "test/check.h"
#include "test/policy/same.h"
#include "test/policy/vpa/checkpoint_save.h"
#include "test/policy/vpa/histogram_vpa.h"
#include <errno.h>
#include <math.h>

/* 2026-01-01T00:00:00Z */
#define NEW_YEAR_USEC (1767225600 * USEC_PER_SEC)

_Static_assert(sizeof(struct histogram) + HISTOGRAM_BUCKETS * sizeof(double) <= 1536,
	       "one histogram stays within 1.5 KiB");

static bool same(double a, double b)
{
	return memcmp(&a, &b, sizeof a) == 0;
}

static bool near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

static void check_table(const struct histogram_options *table, double max, double first)
{
	struct histogram_options o = {0};

	CHECK_EQ(histogram_options_exponential(max, first, 1.05, 1e-4, &o), 0);
	CHECK_EQ(table->buckets, o.buckets);
	CHECK(table->linear == o.linear);
	CHECK(same(table->first, o.first));
	CHECK(same(table->growth, o.growth));
	CHECK(same(table->log_ratio, o.log_ratio));
	CHECK(same(table->epsilon, o.epsilon));
	for (uint32_t i = 0; i < o.buckets; i++)
		CHECK(same(table->start[i], o.start[i]));
}

TEST(options)
{
	struct histogram_options o = {.buckets = 7};

	check_table(&histogram_cpu, 1000, 0.01);
	check_table(&histogram_memory, 1e12, 1e7);
	CHECK_EQ(histogram_options_linear(10, 0, 1e-4, &o), -EINVAL);
	CHECK_EQ(histogram_options_linear(10, NAN, 1e-4, &o), -EINVAL);
	CHECK_EQ(histogram_options_linear(NAN, 1, 1e-4, &o), -EINVAL);
	CHECK_EQ(histogram_options_linear(-1, 1, 1e-4, &o), -EINVAL);
	CHECK_EQ(histogram_options_linear(10, 1, 0, &o), -EINVAL);
	CHECK_EQ(histogram_options_linear(1000, 1, 1e-4, &o), -ERANGE);
	CHECK_EQ(histogram_options_linear(INFINITY, 1, 1e-4, &o), -ERANGE);
	CHECK_EQ(histogram_options_exponential(10, 1, 1, 1e-4, &o), -EINVAL);
	CHECK_EQ(histogram_options_exponential(10, 0, 2, 1e-4, &o), -EINVAL);
	CHECK_EQ(histogram_options_exponential(1e300, 1, 1.01, 1e-4, &o), -ERANGE);
	CHECK_EQ(o.buckets, 7);
}

TEST(find)
{
	CHECK_EQ(histogram_find(&histogram_cpu, -1), 0);
	CHECK_EQ(histogram_find(&histogram_cpu, NAN), 0);
	CHECK_EQ(histogram_find(&histogram_cpu, -INFINITY), 0);
	CHECK_EQ(histogram_find(&histogram_cpu, 0.0099), 0);
	CHECK_EQ(histogram_find(&histogram_cpu, 0.01), 1);
	CHECK_EQ(histogram_find(&histogram_cpu, 1100), 175); /* would be bucket 176 */
	CHECK_EQ(histogram_find(&histogram_cpu, 1e9), 175);
	CHECK_EQ(histogram_find(&histogram_cpu, INFINITY), 175);
	/* Two whole bytes where a search of the table would say one more. */
	CHECK_EQ(histogram_find(&histogram_memory, 20500000), 1);
	CHECK_EQ(histogram_find(&histogram_memory, 31525000), 2);
}

/* References lie on multiples of the half life since year 1, the nearest one, halves up. */
TEST(reference)
{
	static const struct {
		usec_t half_life, first, want;
	} cases[] = {
		{USEC_PER_DAY, NEW_YEAR_USEC, NEW_YEAR_USEC},
		{USEC_PER_DAY, NEW_YEAR_USEC + 12 * USEC_PER_HOUR - 1, NEW_YEAR_USEC},
		{USEC_PER_DAY, NEW_YEAR_USEC + 12 * USEC_PER_HOUR, NEW_YEAR_USEC + USEC_PER_DAY},
		/* 2026-01-05 is a Monday, as 0001-01-01 was. */
		{7 * USEC_PER_DAY, NEW_YEAR_USEC + 3 * USEC_PER_DAY,
		 NEW_YEAR_USEC + 4 * USEC_PER_DAY},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		OWN(histogram_drop) struct histogram h;

		histogram_init(&h, &histogram_cpu, cases[i].half_life);
		CHECK_EQ(h.reference_usec, HISTOGRAM_YEAR_1_USEC);
		histogram_add(&h, 1, 1, cases[i].first);
		CHECK_EQ(h.reference_usec, cases[i].want);
	}
}

/* A loaded reference need not lie on a multiple; the shift counts whole half lives, rounded. */
TEST(shift_rounds)
{
	static const struct {
		usec_t offset_h;
		double factor;
	} cases[] = {{0, 0.25}, {11, 0.25}, {12, 0.5}, {13, 0.5}, {35, 0.5}, {36, 1}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct checkpoint c = {
			.reference_usec =
				(int64_t)(NEW_YEAR_USEC + cases[i].offset_h * USEC_PER_HOUR),
			.total = 8,
			.count = 1,
			.buckets = {{30, 1}},
		};
		OWN(histogram_drop) struct histogram h;

		histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
		CHECK_EQ(checkpoint_load(&h, &c), 0);
		histogram_add(&h, 1, 0, NEW_YEAR_USEC + 102 * USEC_PER_DAY);
		CHECK_EQ(h.reference_usec, NEW_YEAR_USEC + 102 * USEC_PER_DAY);
		CHECK(h.total == ldexp(8 * cases[i].factor, -100));
	}
}

TEST(decay)
{
	OWN(histogram_drop) struct histogram h;

	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC + USEC_PER_DAY);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC - USEC_PER_DAY);
	CHECK(h.total == 1 + 2 + 0.5);
	/* Half a millisecond is not lost. */
	histogram_drop(&h);
	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC + 500);
	CHECK(h.total > 1);
	/* 100 half lives leave the reference, one second more moves it. */
	histogram_drop(&h);
	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC);
	histogram_add(&h, 2, 1, NEW_YEAR_USEC + 100 * USEC_PER_DAY);
	CHECK_EQ(h.reference_usec, NEW_YEAR_USEC);
	CHECK(near(h.total, 1 + 0x1p100));
	histogram_add(&h, 2, 1, NEW_YEAR_USEC + 100 * USEC_PER_DAY + USEC_PER_SEC);
	CHECK_EQ(h.reference_usec, NEW_YEAR_USEC + 100 * USEC_PER_DAY);
	CHECK(near(h.total, 1 + exp2(1.0 / 86400)));
	CHECK_EQ(h.min, histogram_find(&histogram_cpu, 2));
	/* Without half life the time does not matter. */
	histogram_drop(&h);
	histogram_init(&h, &histogram_cpu, 0);
	histogram_add(&h, 1, 1, 0);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC);
	CHECK(h.total == 2);
}

TEST(subtract)
{
	struct histogram_options o;
	OWN(histogram_drop) struct histogram h;

	/* Exactly epsilon is not yet nothing. */
	CHECK_EQ(histogram_options_linear(10, 1, 1, &o), 0);
	histogram_init(&h, &o, 0);
	histogram_add(&h, 5, 3, 0);
	histogram_subtract(&h, 5, 2, 0);
	CHECK(h.total == 1 && histogram_weight(&h, 5) == 1 && !histogram_empty(&h));
	histogram_drop(&h);
	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	histogram_subtract(&h, 1, 1, NEW_YEAR_USEC);
	CHECK(histogram_empty(&h));
	CHECK(h.total == 0);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC);
	histogram_add(&h, 4, 1, NEW_YEAR_USEC);
	histogram_subtract(&h, 4, 1, NEW_YEAR_USEC);
	CHECK_EQ(h.max, histogram_find(&histogram_cpu, 1));
	CHECK(h.total == 1);
	histogram_subtract(&h, 1, 5, NEW_YEAR_USEC);
	CHECK(histogram_empty(&h));
	CHECK(histogram_percentile(&h, 0.9) == 0);
}

TEST(interpolated)
{
	struct histogram_options o;
	OWN(histogram_drop) struct histogram h;

	CHECK_EQ(histogram_options_linear(10, 1, 1e-15, &o), 0);
	histogram_init(&h, &o, 0);
	CHECK(histogram_percentile_interpolated(&h, 0.9, 0) == 0);
	histogram_add(&h, 2, 4, 0);
	CHECK(near(histogram_percentile_interpolated(&h, 0, 0), 2));
	CHECK(near(histogram_percentile_interpolated(&h, 0.25, 0), 2.25));
	CHECK(near(histogram_percentile_interpolated(&h, 1, 0), 3));
	CHECK(near(histogram_percentile_interpolated(&h, 7, 0), 3));
	CHECK(near(histogram_percentile_interpolated(&h, -7, 0), 2));
	histogram_add(&h, 5, 4, 0);
	CHECK(near(histogram_percentile_interpolated(&h, 0.5, 0), 3));
	CHECK(near(histogram_percentile_interpolated(&h, 0.75, 0), 5.5));
	/* What lies below the first bucket that counts is as if it were not there. */
	CHECK(near(histogram_percentile_interpolated(&h, 0.5, 3), 5.5));
	CHECK(near(histogram_percentile_interpolated(&h, 0.5, 5), 5.5));
	CHECK(histogram_percentile_interpolated(&h, 0.5, 6) == 0);
	CHECK(histogram_percentile_interpolated(&h, 0.5, UINT32_MAX) == 0);
	/* The last bucket has no end. */
	histogram_add(&h, 99, 100, 0);
	CHECK(histogram_percentile_interpolated(&h, 1, 0) == 10);
}

/* The bucket that VPA answers is the one that the interpolation lies in. */
TEST(interpolated_agrees)
{
	uint64_t state = 20260101;
	OWN(histogram_drop) struct histogram h;

	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	for (usec_t i = 0; i < 5000; i++) {
		state = state * 6364136223846793005 + 1442695040888963407;
		histogram_add(&h, (double)((state >> 33) % 4000) / 1000, 0.1,
			      NEW_YEAR_USEC + i * USEC_PER_MIN);
	}
	for (int percent = 1; percent < 100; percent++) {
		double p = percent / 100.0;
		double end = histogram_percentile(&h, p);
		double inside = histogram_percentile_interpolated(&h, p, 0);
		double start = histogram_cpu.start[histogram_find(&histogram_cpu, end * 0.999)];

		CHECK(inside <= end * (1 + 1e-9));
		CHECK(inside >= start * (1 - 1e-9));
	}
}

TEST(checkpoint)
{
	const struct checkpoint good = {.reference_usec = NEW_YEAR_USEC,
					.total = 6,
					.count = 2,
					.buckets = {{0, 1}, {9, 2}}};
	struct checkpoint c = good;
	OWN(histogram_drop) struct histogram h;
	struct histogram kept;

	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	kept = h;
	c.buckets[1].bucket = -1;
	CHECK_EQ(checkpoint_load(&h, &c), -EINVAL);
	c.buckets[1].bucket = HISTOGRAM_BUCKETS;
	CHECK_EQ(checkpoint_load(&h, &c), -EINVAL);
	c = good;
	c.count = HISTOGRAM_BUCKETS + 1;
	CHECK_EQ(checkpoint_load(&h, &c), -EINVAL);
	for (int i = 0; i < 3; i++) {
		c = good;
		c.total = (double[]){-1, NAN, INFINITY}[i];
		CHECK_EQ(checkpoint_load(&h, &c), -EINVAL);
	}
	c = good;
	c.reference_usec = INT64_MAX;
	CHECK_EQ(checkpoint_load(&h, &c), -EINVAL);
	c.reference_usec = INT64_MIN;
	CHECK_EQ(checkpoint_load(&h, &c), -EINVAL);
	CHECK_EQ(checkpoint_load(&h, NULL), -EINVAL);
	CHECK(memcmp(&h, &kept, sizeof h) == 0);

	CHECK_EQ(checkpoint_load(&h, &good), 0);
	CHECK(histogram_weight(&h, 0) == 2 && histogram_weight(&h, 9) == 4 && h.total == 6);
	CHECK_EQ(h.reference_usec, NEW_YEAR_USEC);
	CHECK_EQ(h.min, 0);
	CHECK_EQ(h.max, 9);
	/* Loading adds. */
	CHECK_EQ(checkpoint_load(&h, &good), 0);
	CHECK(histogram_weight(&h, 9) == 8 && h.total == 12);
	/* Far apart times stay defined. */
	c = good;
	c.reference_usec = HISTOGRAM_YEAR_1_USEC;
	histogram_drop(&h);
	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	CHECK_EQ(checkpoint_load(&h, &c), 0);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC);
	CHECK(near(h.total, 1));
	c.reference_usec = 253402300799 * (int64_t)USEC_PER_SEC;
	histogram_drop(&h);
	histogram_init(&h, &histogram_cpu, USEC_PER_DAY);
	CHECK_EQ(checkpoint_load(&h, &c), 0);
	histogram_add(&h, 1, 1, NEW_YEAR_USEC);
	CHECK(near(h.total, 6));
}

/* Room is made around what is used, wherever that begins; nothing that was there moves. */
TEST(room)
{
	static const uint32_t order[] = {90, 91, 92, 88, 3, 0, 175, 40, 120};
	static const uint32_t room[] = {4, 4, 8, 8, 96, 96, 176, 176, 176};
	OWN(histogram_drop) struct histogram h, copy;
	double total = 0;

	histogram_init(&h, &histogram_cpu, 0);
	histogram_init(&copy, &histogram_cpu, 0);
	CHECK(h.weight == NULL && histogram_weight(&h, 0) == 0 && histogram_weight(&h, 175) == 0);
	histogram_subtract(&h, 5, 1, 0);
	CHECK(h.weight == NULL);
	for (uint32_t i = 0; i < ARRAY_SIZE(order); i++) {
		histogram_add(&h, histogram_cpu.start[order[i]] * 1.001, i + 1, 0);
		total += i + 1;
		for (uint32_t k = 0; k < ARRAY_SIZE(order); k++)
			CHECK(histogram_weight(&h, order[k]) == (k <= i ? k + 1 : 0));
		CHECK(h.total == total);
		CHECK_EQ(h.count, room[i]);
	}
	CHECK(histogram_weight(&h, HISTOGRAM_BUCKETS) == 0);
	CHECK(histogram_weight(&h, UINT32_MAX) == 0);
	CHECK_EQ(histogram_copy(&h, &copy), 0);
	histogram_add(&h, 1, 1, 0);
	CHECK(copy.total == total);
	histogram_drop(&h);
	CHECK(histogram_empty(&h) && h.total == 0 && h.weight == NULL);
	histogram_add(&h, 1, 1, 0);
	CHECK(h.total == 1);
	CHECK(histogram_percentile(&copy, 1) == histogram_cpu.start[175]);
}

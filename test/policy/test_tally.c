// SPDX-License-Identifier: Apache-2.0
/* Counts of a recent time. */
#include "policy/report/rollout.h"
#include "test/check.h"

#define HOUR USEC_PER_HOUR

static const struct tally one = {
	.time_usec = USEC_PER_MIN, .periods = 600, .throttled = 60, .kills = 1, .undos = 2};

TEST(window)
{
	struct tally_ring r = {0};
	struct tally sum = tally_sum(&r, HOUR, 5 * HOUR);

	CHECK_EQ(sum.time_usec, 0);
	CHECK_EQ(tally_throttled_ppm(&sum), 0);
	for (usec_t at = HOUR; at < 31 * HOUR; at += HOUR / 2)
		tally_add(&r, HOUR, &one, at);
	/* Two in each slot. */
	sum = tally_sum(&r, HOUR, 31 * HOUR - 1);
	CHECK_EQ(sum.kills, 2 * TALLY_SLOTS);
	CHECK_EQ(sum.undos, 4 * TALLY_SLOTS);
	CHECK_EQ(sum.time_usec, 2 * TALLY_SLOTS * USEC_PER_MIN);
	CHECK_EQ(tally_throttled_ppm(&sum), 100000);
	/* Nothing is added: a slot leaves with each hour. */
	CHECK_EQ(tally_sum(&r, HOUR, 31 * HOUR).kills, 2 * TALLY_SLOTS - 2);
	CHECK_EQ(tally_sum(&r, HOUR, (29 + TALLY_SLOTS) * HOUR).kills, 2);
	CHECK_EQ(tally_sum(&r, HOUR, (30 + TALLY_SLOTS) * HOUR).kills, 0);
	/* What is old does not come back after a gap. */
	tally_add(&r, HOUR, &one, 40 * HOUR);
	CHECK_EQ(tally_sum(&r, HOUR, 40 * HOUR).kills, 2 * (TALLY_SLOTS - 10) + 1);
	tally_add(&r, HOUR, &one, 400 * HOUR);
	CHECK_EQ(tally_sum(&r, HOUR, 400 * HOUR).kills, 1);
}

/* The first day of the clock has fewer slots than the ring. */
TEST(young)
{
	struct tally_ring r = {0};

	tally_add(&r, HOUR, &one, 10);
	CHECK_EQ(tally_sum(&r, HOUR, 10).kills, 1);
	tally_add(&r, HOUR, &one, 2 * HOUR);
	CHECK_EQ(tally_sum(&r, HOUR, 2 * HOUR).kills, 2);
	CHECK_EQ(tally_sum(&r, HOUR, TALLY_SLOTS * HOUR).kills, 1);
}

TEST(full)
{
	static const struct tally much = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
					  UINT64_MAX};
	struct tally_ring r = {0};

	tally_add(&r, HOUR, &much, HOUR);
	tally_add(&r, HOUR, &much, HOUR);
	CHECK_EQ(tally_sum(&r, HOUR, HOUR).kills, UINT16_MAX);
	CHECK_EQ(tally_sum(&r, HOUR, HOUR).periods, UINT32_MAX);
}

TEST(between)
{
	const struct tally_counters before = {100, 10, 3, 4}, after = {150, 30, 3, 5};
	const struct tally_counters restarted = {20, 1, 3, 5};
	struct tally t = tally_between(&before, &after, 7);

	CHECK_EQ(t.time_usec, 7);
	CHECK_EQ(t.periods, 50);
	CHECK_EQ(t.throttled, 20);
	CHECK_EQ(t.kills, 0);
	CHECK_EQ(t.undos, 1);
	t = tally_between(&after, &restarted, 7);
	CHECK_EQ(t.periods, 20);
	CHECK_EQ(t.throttled, 1);
	CHECK_EQ(t.undos, 0);
}

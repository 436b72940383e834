// SPDX-License-Identifier: Apache-2.0
/* The distribution of demand over single periods. */
#include "policy/history/demand.h"
#include "test/check.h"

#define HALF_LIFE USEC_PER_HOUR
#define PPM       1000000u

/* Within a bucket: an eighth of a power of two. */
static bool near(uint64_t got, uint64_t want)
{
	return got + want / 8 + 1 >= want && got <= want + want / 7 + 1;
}

TEST(empty)
{
	struct period_demand d = {0};

	CHECK_EQ(period_demand_limit(&d, 0), 0);
	CHECK_EQ(period_demand_limit(&d, PPM), 0);
	CHECK(period_demand_periods(&d) == 0);
}

/* Every value from a millicore to a thousand cores is found again. */
TEST(values)
{
	for (uint64_t milli = 1; milli < 1000000; milli += 1 + milli / 20) {
		struct period_demand d = {0};
		uint64_t most = MIN(milli, UINT64_C(262143));

		period_demand_add(&d, milli, 1, HALF_LIFE, USEC_PER_HOUR);
		CHECK(period_demand_limit(&d, 0) >= most);
		CHECK(near(period_demand_limit(&d, 0), most) || milli < 8);
		CHECK(period_demand_limit(&d, PPM / 2) <= period_demand_limit(&d, 0));
	}
}

/* One period in a hundred wants ten times as much. */
TEST(share)
{
	struct period_demand d = {0};
	uint64_t last = UINT64_MAX;

	for (int i = 0; i < 10000; i++)
		period_demand_add(&d, i % 100 == 0 ? 1000 : 100, 1, HALF_LIFE, USEC_PER_HOUR);
	CHECK(near(period_demand_limit(&d, 0), 1000));
	CHECK(near(period_demand_limit(&d, 9000), 1000));
	CHECK(near(period_demand_limit(&d, 11000), 100));
	CHECK(near(period_demand_limit(&d, PPM - 1), 100));
	CHECK_EQ(period_demand_limit(&d, PPM), 0);
	for (uint32_t above = 0; above <= PPM; above += 500) {
		CHECK(period_demand_limit(&d, above) <= last);
		last = period_demand_limit(&d, above);
	}
	CHECK(period_demand_periods(&d) > 9999 && period_demand_periods(&d) < 10001);
}

/* What is a half life old weighs half, over years too. */
TEST(decay)
{
	struct period_demand d = {0};
	usec_t now = USEC_PER_HOUR;

	period_demand_add(&d, 1000, 1000, HALF_LIFE, now);
	period_demand_add(&d, 100, 1000, HALF_LIFE, now + HALF_LIFE);
	CHECK(near(period_demand_limit(&d, 320000), 1000));
	CHECK(near(period_demand_limit(&d, 345000), 100));
	for (int day = 0; day < 1000; day++)
		period_demand_add(&d, 100, 10, HALF_LIFE, now += USEC_PER_DAY);
	CHECK(near(period_demand_limit(&d, 1), 100));
	CHECK(period_demand_periods(&d) < 11);
	/* The clock is monotonic; a time before the last one counts as now. */
	period_demand_add(&d, 5000, 10, HALF_LIFE, 1);
	CHECK(period_demand_limit(&d, 0) >= 100);
}

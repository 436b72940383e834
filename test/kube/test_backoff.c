// SPDX-License-Identifier: Apache-2.0
/* The back-off, in virtual time. */
#include "policy/base/backoff.h"
#include "test/check.h"

TEST(growth)
{
	static const usec_t waits_msec[] = {800,   1600,  3200,  6400, 12800,
					    25600, 30000, 30000, 30000};
	struct backoff b = {.random = 7};
	usec_t now = 5 * USEC_PER_SEC;

	for (size_t i = 0; i < ARRAY_SIZE(waits_msec); i++) {
		usec_t wait = waits_msec[i] * USEC_PER_MSEC, got = backoff_next(&b, now);

		CHECK(got >= wait && got <= 2 * wait);
		now += got;
	}
}

TEST(reset)
{
	struct backoff b = {.random = 7};
	usec_t now = 0;

	for (int i = 0; i < 8; i++)
		now += backoff_next(&b, now);
	/* Health of less than two minutes forgets nothing. */
	now += BACKOFF_RESET_USEC - 1;
	CHECK(backoff_next(&b, now) >= BACKOFF_CAP_USEC);
	now = b.quiet_from + BACKOFF_RESET_USEC;
	CHECK(backoff_next(&b, now) <= 2 * BACKOFF_FIRST_USEC);
	CHECK(backoff_next(&b, now) >= 2 * BACKOFF_FIRST_USEC);
}

/* The jitter fills its range evenly, and two seeds part. */
TEST(jitter)
{
	unsigned low = 0, part = 0;

	for (uint64_t seed = 1; seed <= 1000; seed++) {
		struct backoff b = {.random = seed * 0x9e3779b97f4a7c15}, c = {.random = seed};
		usec_t got = backoff_next(&b, 1);

		low += got < BACKOFF_FIRST_USEC * 3 / 2;
		part += got != backoff_next(&c, 1);
	}
	CHECK(low > 400 && low < 600);
	CHECK(part > 990);
}

TEST(zero_seed)
{
	struct backoff b = {0};
	usec_t first = backoff_next(&b, 0);

	CHECK(first >= BACKOFF_FIRST_USEC && first <= 2 * BACKOFF_FIRST_USEC);
	CHECK(b.random != 0);
}

/* For a whole day without an answer. */
TEST(rate)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct backoff b = {.random = seed};
		unsigned tries = 0, minute = 0;
		usec_t now = 0, minute_end = USEC_PER_MIN;

		while (now < USEC_PER_DAY) {
			for (; now >= minute_end; minute_end += USEC_PER_MIN)
				minute = 0;
			tries++;
			minute++;
			CHECK(minute <= 7);
			now += backoff_next(&b, now);
		}
		CHECK(tries < 24 * 60 * 2 && tries > 24 * 60);
	}
}

// SPDX-License-Identifier: Apache-2.0
/* A rollout: which pods are sized, and what stops it, in virtual time. */
#include "policy/report/rollout.h"
#include "test/check.h"

#define T    (1000 * USEC_PER_HOUR)
#define PODS 10000

/* --- the share */

static bool chooses(const char *workload, int pod, uint32_t percent)
{
	char name[64];

	snprintf(name, sizeof name, "0b54b34c-6f5e-4a1c-9d07-%012x", pod);
	return rollout_chooses("shop", workload, name, percent);
}

static unsigned chosen(const char *workload, uint32_t percent)
{
	unsigned n = 0;

	for (int i = 0; i < PODS; i++)
		n += chooses(workload, i, percent);
	return n;
}

TEST(share)
{
	static const uint32_t shares[] = {1, 5, 10, 25, 50, 75, 90, 99};

	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		CHECK(chosen("web", shares[i]) >= PODS / 100 * (shares[i] - 1));
		CHECK(chosen("web", shares[i]) <= PODS / 100 * (shares[i] + 1));
	}
	CHECK_EQ(chosen("web", 0), 0);
	CHECK_EQ(chosen("web", 100), PODS);
}

/* A pod of a share is of every larger one. */
TEST(grows)
{
	unsigned lost = 0;

	for (int i = 0; i < 1000; i++)
		for (uint32_t p = 1; p <= 100; p++)
			lost += chooses("web", i, p - 1) && !chooses("web", i, p);
	CHECK_EQ(lost, 0);
}

/* The same on every node and in every version; neighbours and workloads are independent. */
TEST(stable)
{
	unsigned both = 0, names = 0;

	for (int i = 0; i < 10; i++) {
		char name[] = {'w', 'e', 'b', '-', (char)('0' + i), '\0'};

		names |= (unsigned)rollout_chooses("default", "web", name, 50) << i;
	}
	CHECK_EQ(names, 0xd1);
	for (int i = 0; i < PODS; i++)
		both += chooses("web", i, 50) && chooses("api", i, 50);
	CHECK(both > PODS / 100 * 23 && both < PODS / 100 * 27);
}

/* --- harm */

struct load {
	unsigned containers;
	unsigned kills_hour, undos_hour; /* of each container */
	unsigned throttled_percent;
	unsigned periods_sec;
};

static void count(struct rollout *r, enum rollout_part part, const struct load *l, usec_t second)
{
	struct tally more = {
		.time_usec = l->containers * USEC_PER_SEC,
		.periods = (uint64_t)l->containers * l->periods_sec,
		.throttled = (uint64_t)l->containers * l->periods_sec * l->throttled_percent / 100,
		.kills = l->kills_hour > 0 && second % (3600 / l->kills_hour) == 1 ? l->containers
										   : 0,
		.undos = l->undos_hour > 0 && second % (3600 / l->undos_hour) == 1 ? l->containers
										   : 0,
	};

	if (l->containers > 0)
		rollout_count(r, part, &more, T + second * USEC_PER_SEC);
}

/* The second in which it is stopped; 0: it is not, within the time. */
static usec_t stopped(const struct load *sized, const struct load *others, usec_t seconds,
		      enum rollout_hurt *ret)
{
	struct rollout r = {0};

	for (usec_t s = 1; s <= seconds; s++) {
		count(&r, ROLLOUT_SIZED, sized, s);
		count(&r, ROLLOUT_UNSIZED, others, s);
		*ret = rollout_check(&r, T + s * USEC_PER_SEC);
		if (*ret != ROLLOUT_UNHURT)
			return s;
	}
	return 0;
}

#define DAY  (24 * 3600)
#define BUSY .containers = 2, .periods_sec = 10

TEST(unhurt)
{
	enum rollout_hurt why;

	CHECK_EQ(stopped(&(struct load){BUSY}, &(struct load){BUSY}, DAY, &why), 0);
	CHECK_EQ(stopped(&(struct load){0}, &(struct load){BUSY, .kills_hour = 6}, DAY, &why), 0);
	/* Both groups alike: the harm is not caused by sizing. */
	CHECK_EQ(stopped(&(struct load){BUSY, .kills_hour = 4, .throttled_percent = 30},
			 &(struct load){BUSY, .kills_hour = 4, .throttled_percent = 30}, DAY, &why),
		 0);
	/* Others are worse off. */
	CHECK_EQ(stopped(&(struct load){BUSY, .kills_hour = 2},
			 &(struct load){BUSY, .kills_hour = 6, .throttled_percent = 30}, DAY, &why),
		 0);
}

TEST(kills)
{
	enum rollout_hurt why;

	/* Of two containers at the same time: at once. */
	CHECK_EQ(stopped(&(struct load){BUSY, .kills_hour = 1}, &(struct load){BUSY}, DAY, &why),
		 1);
	CHECK_EQ(why, ROLLOUT_HURT_KILLS);
	/* One alone is no evidence; one an hour never is. */
	CHECK_EQ(stopped(&(struct load){.containers = 1, .kills_hour = 2}, &(struct load){BUSY},
			 DAY, &why),
		 1801);
	CHECK_EQ(stopped(&(struct load){.containers = 1, .kills_hour = 2}, &(struct load){0}, DAY,
			 &why),
		 1801);
	/* Per hour of a container: many unsized ones have many kills in all. */
	CHECK(stopped(&(struct load){.containers = 1, .kills_hour = 12},
		      &(struct load){.containers = 20, .kills_hour = 4}, DAY, &why) > 0);
	CHECK_EQ(stopped(&(struct load){.containers = 20, .kills_hour = 4},
			 &(struct load){.containers = 1, .kills_hour = 4}, DAY, &why),
		 0);
}

TEST(undos)
{
	enum rollout_hurt why;

	CHECK_EQ(stopped(&(struct load){.containers = 1, .undos_hour = 3}, &(struct load){BUSY},
			 DAY, &why),
		 0);
	CHECK(stopped(&(struct load){.containers = 1, .undos_hour = 6}, &(struct load){BUSY}, 3600,
		      &why) > 0);
	CHECK_EQ(why, ROLLOUT_HURT_UNDOS);
	/* Many containers: each may have some. */
	CHECK_EQ(stopped(&(struct load){.containers = 50, .undos_hour = 2}, &(struct load){BUSY},
			 3600, &why) > 3000,
		 0);
	CHECK(stopped(&(struct load){.containers = 50, .undos_hour = 12}, &(struct load){BUSY},
		      3600, &why) > 0);
}

TEST(throttled)
{
	enum rollout_hurt why;
	usec_t at;

	/* 3000 periods of the two are there after 150 s, and 5 min count. */
	at = stopped(&(struct load){BUSY, .throttled_percent = 20}, &(struct load){BUSY}, DAY,
		     &why);
	CHECK_EQ(at, 450);
	CHECK_EQ(why, ROLLOUT_HURT_THROTTLED);
	/* A few percent are what limits are for. */
	CHECK_EQ(stopped(&(struct load){BUSY, .throttled_percent = 5}, &(struct load){BUSY}, DAY,
			 &why),
		 0);
	CHECK_EQ(stopped(&(struct load){BUSY, .throttled_percent = 40},
			 &(struct load){BUSY, .throttled_percent = 20}, DAY, &why),
		 0);
	/* Nothing to compare with. */
	CHECK_EQ(stopped(&(struct load){BUSY, .throttled_percent = 60}, &(struct load){0}, DAY,
			 &why),
		 0);
	CHECK_EQ(stopped(&(struct load){BUSY, .throttled_percent = 60},
			 &(struct load){.containers = 2}, DAY, &why),
		 0);
}

/* 10 % until it begins, then none: the share is below the bound of 5 % from second 321 on, and
 * below 3/4 of it from 427 on. */
TEST(hysteresis)
{
	const struct load others = {BUSY}, hard = {BUSY, .throttled_percent = 10}, none = {BUSY};
	struct rollout r = {0};

	for (usec_t s = 1; s <= 600; s++) {
		count(&r, ROLLOUT_SIZED, s <= 160 ? &hard : &none, s);
		count(&r, ROLLOUT_UNSIZED, &others, s);
		CHECK_EQ(rollout_check(&r, T + s * USEC_PER_SEC), ROLLOUT_UNHURT);
		CHECK_EQ(r.throttled_since != 0, s >= 150 && s <= 426);
	}
}

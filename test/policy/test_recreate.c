// SPDX-License-Identifier: Apache-2.0
/* When a pod is evicted because it cannot be sized in place. */
#include "policy/report/recreate.h"
#include "test/check.h"

#define MIN_USEC USEC_PER_MIN
#define T        (1000 * USEC_PER_MIN)

static const struct recreate_pod base = {.wanted = true, .replicated = true};

static enum recreate_answer ask(const struct recreate_pod *p, usec_t now)
{
	usec_t again;

	return recreate_needed(p, now, &again);
}

TEST(needs)
{
	struct recreate_pod p = base;
	usec_t again;

	CHECK_EQ(ask(&p, T), RECREATE_NOT_NEEDED);
	p.infeasible_since = T;
	CHECK_EQ(recreate_needed(&p, T + 9 * MIN_USEC, &again), RECREATE_NOT_NEEDED);
	CHECK_EQ(again, T + 10 * MIN_USEC);
	CHECK_EQ(ask(&p, T + 10 * MIN_USEC), RECREATE_EVICT);
	CHECK(strstr(recreate_why(&p, T + 10 * MIN_USEC), "no room") != NULL);
	p = base;
	p.oom_kills = 2;
	CHECK_EQ(ask(&p, T), RECREATE_NOT_NEEDED);
	p.oom_kills = 3;
	CHECK_EQ(ask(&p, T), RECREATE_EVICT);
	CHECK(strstr(recreate_why(&p, T), "OOM-killed") != NULL);
}

TEST(bounds)
{
	struct recreate_pod p = base;
	usec_t again;

	p.oom_kills = 3;
	p.wanted = false;
	CHECK_EQ(ask(&p, T), RECREATE_NOT_WANTED);
	p.wanted = true;
	p.replicated = false;
	CHECK_EQ(ask(&p, T), RECREATE_NOT_REPLICATED);
	p.replicated = true;
	p.evicted_on_node = T - 9 * MIN_USEC;
	CHECK_EQ(recreate_needed(&p, T, &again), RECREATE_NODE_WAITS);
	CHECK_EQ(again, T + MIN_USEC);
	CHECK_EQ(ask(&p, T + MIN_USEC), RECREATE_EVICT);
	p.retry_at = T + 2 * MIN_USEC;
	CHECK_EQ(recreate_needed(&p, T + MIN_USEC, &again), RECREATE_REFUSED);
	CHECK_EQ(again, T + 2 * MIN_USEC);
	CHECK_EQ(ask(&p, T + 2 * MIN_USEC), RECREATE_EVICT);
}

TEST(workload)
{
	struct recreate_workload w = {.ready = 1, .youngest_usec = USEC_PER_DAY};

	CHECK_EQ(recreate_allowed(&w), RECREATE_ALONE);
	w.ready = 2;
	CHECK_EQ(recreate_allowed(&w), RECREATE_EVICT);
	w.youngest_usec = USEC_PER_HOUR - 1;
	CHECK_EQ(recreate_allowed(&w), RECREATE_YOUNG);
	w.youngest_usec = USEC_PER_HOUR;
	CHECK_EQ(recreate_allowed(&w), RECREATE_EVICT);
	for (enum recreate_answer i = 0; i < RECREATE_ANSWER_COUNT; i++)
		CHECK(recreate_texts[i] != NULL);
}

TEST(lease)
{
	CHECK_EQ(recreate_leased(false, T, T + USEC_PER_HOUR - 1), RECREATE_LEASED);
	CHECK_EQ(recreate_leased(false, T, T + USEC_PER_HOUR), RECREATE_EVICT);
	CHECK_EQ(recreate_leased(false, 0, T), RECREATE_EVICT);
	/* A clock that is ahead. */
	CHECK_EQ(recreate_leased(false, T + USEC_PER_DAY, T), RECREATE_LEASED);
	CHECK_EQ(recreate_leased(true, T, T + 1), RECREATE_EVICT);
}

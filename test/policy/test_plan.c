// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/rig.h"
#include "test/check.h"
#include <errno.h>

static struct change step(enum knob knob, uint32_t depth, uint64_t from, uint64_t to)
{
	return (struct change){.knob = knob, .depth = depth, .from = from, .to = to};
}

#define UP(knob, depth)   step(knob, depth, 10, 20)
#define DOWN(knob, depth) step(knob, depth, 20, 10)

/* The whole order: every way up and down, pod (depth 1) and container (depth 2). */
static size_t whole_order(struct change *ret)
{
	const struct change order[] = {
		UP(KNOB_MEM_MAX, 1),     UP(KNOB_MEM_HIGH, 1),    UP(KNOB_MEM_MAX, 2),
		UP(KNOB_MEM_HIGH, 2),    UP(KNOB_CPU_MAX, 1),     UP(KNOB_CPU_BURST, 1),
		UP(KNOB_CPU_MAX, 2),     UP(KNOB_CPU_BURST, 2),   DOWN(KNOB_CPU_BURST, 2),
		DOWN(KNOB_CPU_MAX, 2),   DOWN(KNOB_CPU_BURST, 1), DOWN(KNOB_CPU_MAX, 1),
		UP(KNOB_MEM_RECLAIM, 2), DOWN(KNOB_MEM_HIGH, 2),  DOWN(KNOB_MEM_MAX, 2),
		UP(KNOB_MEM_RECLAIM, 1), DOWN(KNOB_MEM_HIGH, 1),  DOWN(KNOB_MEM_MAX, 1),
	};

	memcpy(ret, order, sizeof order);
	return ARRAY_SIZE(order);
}

static bool same(const struct change *a, const struct change *b)
{
	return a->knob == b->knob && a->depth == b->depth && a->from == b->from && a->to == b->to;
}

static void test_order(void)
{
	struct change want[32], steps[32];
	size_t n = whole_order(want);
	uint64_t random = 11;

	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < n; k++) {
			CHECK(plan_before(&want[i], &want[k]) == (i < k));
		}
	}
	for (int round = 0; round < 200; round++) {
		struct plan p = {.steps = steps, .capacity = ARRAY_SIZE(steps)};

		for (size_t i = 0; i < n; i++)
			plan_add(&p, &want[i]);
		for (size_t i = n - 1; i > 0; i--) {
			size_t k = random_next(&random) % (i + 1);
			struct change t = steps[i];

			steps[i] = steps[k];
			steps[k] = t;
		}
		plan_sort(&p);
		for (size_t i = 0; i < n; i++)
			CHECK(same(&steps[i], &want[i]));
	}
}

static void test_stable(void)
{
	struct change steps[8];
	struct plan p = {.steps = steps, .capacity = ARRAY_SIZE(steps)};

	for (uint32_t target = 0; target < 6; target++) {
		struct change c = UP(KNOB_CPU_MAX, 2);

		c.target = target;
		plan_add(&p, &c);
	}
	plan_sort(&p);
	for (uint32_t target = 0; target < 6; target++)
		CHECK_EQ(steps[target].target, target);
}

static void test_add(void)
{
	struct change steps[2], same_value = step(KNOB_MEM_MAX, 0, 5, 5);
	struct change raise = UP(KNOB_MEM_MAX, 0), reclaim = step(KNOB_MEM_RECLAIM, 0, 5, 5);
	struct plan p = {.steps = steps, .capacity = ARRAY_SIZE(steps)};

	plan_add(&p, &same_value);
	CHECK_EQ(p.count, 0);
	plan_add(&p, &raise);
	plan_add(&p, &reclaim);
	CHECK_EQ(p.count, 2);
	plan_add(&p, &raise);
	CHECK_EQ(p.count, 2);
}

static void test_lowers(void)
{
	struct change up = UP(KNOB_CPU_MAX, 0), down = DOWN(KNOB_CPU_MAX, 0);
	struct change reclaim = step(KNOB_MEM_RECLAIM, 0, 1, 100);
	struct change to_max = step(KNOB_MEM_MAX, 0, 10, LIMIT_MAX);
	struct change from_max = step(KNOB_MEM_HIGH, 0, LIMIT_MAX, 10);

	CHECK(!change_lowers(&up));
	CHECK(change_lowers(&down));
	CHECK(change_lowers(&reclaim));
	CHECK(!change_lowers(&to_max));
	CHECK(change_lowers(&from_max));
}

int main(void)
{
	test_order();
	test_stable();
	test_add();
	test_lowers();
	return check_result();
}

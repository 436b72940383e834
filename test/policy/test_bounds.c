// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/rig.h"
#include "test/check.h"

/* name, rows in order, desired, result */
struct row {
	const char *name;
	struct bounds bounds;
	uint64_t desired;
	uint64_t want;
};

#define B(...)                                                                                     \
	{                                                                                          \
		.quantum = 10, .value = { __VA_ARGS__ }                                            \
	}

static const struct row rows[] = {
	{"no bounds", {.quantum = 10}, 130, 130},
	{"a desired value rounds up", {.quantum = 10}, 131, 140},
	{"nothing desired", {.quantum = 10}, 0, 0},
	{"minimum", B([BOUND_USER_MIN] = 200), 130, 200},
	{"a minimum rounds up", B([BOUND_USER_MIN] = 201), 130, 210},
	{"maximum", B([BOUND_USER_MAX] = 100), 130, 100},
	{"a maximum rounds down", B([BOUND_USER_MAX] = 109), 130, 100},
	{"rounding stays under the maximum", B([BOUND_USER_MAX] = 137), 131, 130},
	{"a desired value below an odd maximum", B([BOUND_USER_MAX] = 199), 150, 150},
	{"the maximum beats the minimum", B([BOUND_USER_MIN] = 300, [BOUND_USER_MAX] = 200), 10,
	 200},
	{"LimitRange beats the user", B([BOUND_USER_MAX] = 200, [BOUND_RANGE_MIN] = 300), 250, 300},
	{"its maximum beats its minimum", B([BOUND_RANGE_MIN] = 300, [BOUND_RANGE_MAX] = 250), 100,
	 250},
	{"never below the request", B([BOUND_USER_MAX] = 200, [BOUND_REQUEST] = 400), 100, 400},
	{"QoS is above the request", B([BOUND_REQUEST] = 400, [BOUND_QOS] = 405), 100, 410},
	{"the request beats the LimitRange", B([BOUND_RANGE_MAX] = 300, [BOUND_REQUEST] = 400), 500,
	 400},
	{"the administrator beats the user", B([BOUND_USER_MIN] = 900, [BOUND_ADMIN_MAX] = 500),
	 100, 500},
	{"and the other way round", B([BOUND_USER_MAX] = 100, [BOUND_ADMIN_MIN] = 200), 150, 200},
	{"a heap yields to the user", B([BOUND_HEAP] = 900, [BOUND_USER_MAX] = 500), 100, 500},
	{"a ratio is a ceiling", B([BOUND_RANGE_RATIO] = 444), 900, 440},
	{"a refusal beats all before it", B([BOUND_QOS] = 600, [BOUND_REFUSED] = 405), 500, 400},
	{"the ceiling beats all before", B([BOUND_REQUEST] = 400, [BOUND_CEILING] = 300), 500, 300},
	{"the ledger beats the ceiling", B([BOUND_CEILING] = 300, [BOUND_LEDGER] = 150), 500, 150},
	{"as much as allowed", B([BOUND_CEILING] = 305), LIMIT_MAX, 300},
	{"as much as there is", {.quantum = 10}, LIMIT_MAX, LIMIT_MAX},
	{"pages", {.quantum = 4096, .value = {[BOUND_USER_MAX] = 10000}}, 9000, 8192},
	{"a maximum below the quantum", B([BOUND_USER_MAX] = 9), 50, 0},
	{"quantum one", {.quantum = 1, .value = {[BOUND_USER_MAX] = 7}}, 9, 7},
};

TEST(rows)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		uint64_t got = bounds_apply(&rows[i].bounds, rows[i].desired, NULL);

		if (got != rows[i].want)
			fprintf(stderr, "row: %s\n", rows[i].name);
		CHECK_EQ(got, rows[i].want);
	}
}

TEST(trace)
{
	struct bounds b = B([BOUND_USER_MIN] = 300, [BOUND_USER_MAX] = 255);
	struct bound_trace t = {.count = 99};

	CHECK_EQ(bounds_apply(&b, 41, &t), 250);
	/* Contradicting bounds are reported once each, not once a pass. */
	CHECK_EQ(t.count, 2);
	CHECK_EQ(bound_trace_step(&t, 0).bound, BOUND_USER_MIN);
	CHECK_EQ(bound_trace_step(&t, 0).before, 41);
	CHECK_EQ(bound_trace_step(&t, 0).after, 300);
	CHECK_EQ(bound_trace_step(&t, 1).bound, BOUND_USER_MAX);
	CHECK_EQ(bound_trace_step(&t, 1).after, 250);

	b = (struct bounds){.quantum = 10};
	CHECK_EQ(bounds_apply(&b, 41, &t), 50);
	CHECK_EQ(t.count, 1);
	CHECK_EQ(bound_trace_step(&t, 0).bound, BOUND_QUANTUM);
	CHECK_EQ(bounds_apply(&b, 40, &t), 40);
	CHECK_EQ(t.count, 0);
}

/* A step never changes what the steps before it say. */
TEST(trace_keeps_steps)
{
	struct bound_trace t = {0};

	bound_trace_add(&t, BOUND_USER_MAX, 500, 300);
	bound_trace_add(&t, BOUND_USE, 290, 320);
	CHECK_EQ(t.count, 2);
	CHECK_EQ(bound_trace_step(&t, 0).before, 500);
	CHECK_EQ(bound_trace_step(&t, 0).after, 300);
	CHECK_EQ(bound_trace_step(&t, 1).before, 300);
	CHECK_EQ(bound_trace_step(&t, 1).after, 320);
}

/* The last step ends at the result: checking every bound again on the rounded value changes
 * nothing more. */
TEST(trace_ends_at_result)
{
	uint64_t seed = 1;

	for (int n = 0; n < 100000; n++) {
		struct bounds b = {.quantum = 10};
		struct bound_trace t;
		uint64_t desired, got;

		for (int i = 0; i < BOUND_QUANTUM + 1; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (i < BOUND_QUANTUM)
				b.value[i] = (seed >> 60) < 5 ? (seed >> 33) % 1000 : 0;
		}
		desired = (seed >> 33) % 1000;
		got = bounds_apply(&b, desired, &t);
		if (t.count > 0 && t.count < BOUND_TRACE_MAX)
			CHECK_EQ(t.value[t.count], got);
		CHECK(t.count > 0 || got == desired);
	}
}

TEST(ceiling)
{
	struct bounds b = B([BOUND_USER_MAX] = 1005, [BOUND_CEILING] = 2000);

	CHECK_EQ(bounds_ceiling(&b), 1000);
	b.value[BOUND_LEDGER] = 777;
	CHECK_EQ(bounds_ceiling(&b), 770);
	b = (struct bounds){.quantum = 10, .value = {[BOUND_USER_MIN] = 50}};
	CHECK(bounds_ceiling(&b) == LIMIT_MAX);
	CHECK_EQ(bounds_floor(&b), 50);
	b = (struct bounds)B([BOUND_USER_MAX] = 100, [BOUND_ADMIN_MIN] = 201);
	CHECK_EQ(bounds_ceiling(&b), 210);
	CHECK_EQ(bounds_floor(&b), 210);
}

TEST(rounding)
{
	CHECK_EQ(round_up(1, 4096), 4096);
	CHECK_EQ(round_up(4096, 4096), 4096);
	CHECK_EQ(round_down(4097, 4096), 4096);
	CHECK(round_up(LIMIT_MAX, 10) == LIMIT_MAX);
	CHECK(round_down(LIMIT_MAX, 10) == LIMIT_MAX);
	CHECK(round_up(LIMIT_MAX - 1, 10) < LIMIT_MAX);
	CHECK(round_up(LIMIT_MAX - 1, 10) % 10 == 0);
	CHECK(round_up(LIMIT_MAX - 1, LIMIT_MAX - 2) == LIMIT_MAX - 2);
}

TEST(arithmetic)
{
	CHECK_EQ(scale_permille(1000, 1150), 1150);
	CHECK_EQ(scale_permille(999, 1), 0);
	CHECK(scale_permille(LIMIT_MAX, 1) == LIMIT_MAX);
	CHECK(scale_permille(LIMIT_MAX - 1, 4000) == LIMIT_MAX - 1);
	CHECK(scale_permille(LIMIT_MAX - 1, UINT64_MAX) == LIMIT_MAX - 1);
	CHECK(mul_div(UINT64_MAX, UINT64_MAX, 1) == LIMIT_MAX - 1);
	CHECK_EQ(mul_div(7, 3, 2), 10);
	CHECK_EQ(rest_permille(100), 900);
	CHECK_EQ(rest_permille(1000), 0);
	CHECK_EQ(rest_permille(UINT64_MAX), 0);
	CHECK_EQ(add_sat(1, 2), 3);
	CHECK(add_sat(LIMIT_MAX - 1, 1) == LIMIT_MAX - 1);
	CHECK(add_sat(LIMIT_MAX - 5, LIMIT_MAX - 5) == LIMIT_MAX - 1);
	CHECK(add_sat(1, LIMIT_MAX) == LIMIT_MAX);
}

static uint64_t edge(uint64_t *random)
{
	static const uint64_t edges[] = {
		0, 1, 9, 10, 11, 4095, 4096, 4097, LIMIT_MAX, LIMIT_MAX - 1, LIMIT_MAX / 2};
	uint64_t n = random_next(random);

	return n % 4 == 0 ? edges[(n >> 8) % ARRAY_SIZE(edges)] : (n >> 8) % 100000;
}

/* Whatever the rows say: below the smallest ceiling that no later floor beats, a multiple of the
 * quantum, and applying it again changes nothing. */
TEST(any)
{
	uint64_t random = 7;

	for (int i = 0; i < 200000; i++) {
		struct bounds b = {.quantum = i % 3 == 0 ? 1 : i % 3 == 1 ? 10 : 4096};
		uint64_t desired = edge(&random), got;

		for (enum bound k = 0; k < BOUND_QUANTUM; k++)
			b.value[k] = random_next(&random) % 2 ? edge(&random) : 0;
		got = bounds_apply(&b, desired, NULL);
		for (enum bound k = BOUND_CEILING; k <= BOUND_LEDGER; k++)
			if (b.value[k] != 0)
				CHECK(got <= b.value[k]);
		CHECK(got <= bounds_ceiling(&b) && got >= bounds_floor(&b));
		CHECK(got == LIMIT_MAX || got % b.quantum == 0);
		CHECK(bounds_apply(&b, got, NULL) == got);
	}
}

// SPDX-License-Identifier: Apache-2.0
/* Cost of one review of 1,000 containers with a week of history each: the median of many. */
#include "policy/control/control.h"
#include <stdio.h>
#include <time.h>

#define CONTROLS 1000
#define ROUNDS   101
#define MINUTES  (7 * 24 * 60)
/* 2026-01-01T00:00:00Z */
#define START_REAL (1767225600 * USEC_PER_SEC)
#define NODE_MILLI 64000

static double now_msec(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static uint64_t next(uint64_t *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return *state >> 33;
}

static void fill(struct control *c, uint64_t number)
{
	uint64_t state = number;
	usec_t now = START_REAL;

	for (int i = 0; i < MINUTES; i++) {
		struct cpu_rates r = {.span_usec = USEC_PER_MIN,
				      .active_usec = USEC_PER_MIN / 2,
				      .demand_milli = 200 + next(&state) % 1800};

		now += USEC_PER_MIN;
		history_add_cpu(&c->history, &r, now);
		if (i % 10 == 0)
			history_add_memory(&c->history, &tuning_default.history,
					   (100 + next(&state) % 400) * MIB, false, now);
	}
}

static void observe(struct control *c, const struct control_context *x, uint64_t seconds)
{
	struct usage u = {
		.have = USAGE_CPU | USAGE_THROTTLE | USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_EVENTS |
			USAGE_PSI_MEM | USAGE_CPU_LIMIT | USAGE_MEM_LIMIT,
		.cpu_usage_usec = seconds * USEC_PER_SEC / 2,
		.nr_periods = seconds * 10,
		.mem_current = 300 * MIB,
		.stat = {.anon = 250 * MIB, .file = 50 * MIB, .inactive_file = 50 * MIB},
		.limits = c->kernel,
	};

	control_observe(c, &u, x);
}

static void start(struct control *c, uint64_t number)
{
	const struct limits l = {200000, 100000, 0, GIB, LIMIT_MAX};

	control_init(c, &tuning_default, &policy_rule_default, &l);
	control_restarted(c, &l, USEC_PER_HOUR);
	c->target = (uint32_t)number;
	fill(c, number);
}

int main(void)
{
	static struct control controls[CONTROLS];
	static struct change steps[CONTROLS * CONTROL_STEPS_MAX];
	struct plan plan = {.steps = steps, .capacity = ARRAY_SIZE(steps)};
	struct control_context x = {.tuning = &tuning_default,
				    .node_milli = NODE_MILLI,
				    .tick_usec = USEC_PER_SEC,
				    .now = USEC_PER_DAY,
				    .now_real = START_REAL + 8 * USEC_PER_DAY,
				    .plan = &plan};
	double msec[ROUNDS];

	for (uint64_t i = 0; i < CONTROLS; i++)
		start(&controls[i], i);
	for (int round = 0; round < ROUNDS; round++) {
		double begin;

		x.now += 10 * USEC_PER_SEC;
		x.now_real += 10 * USEC_PER_SEC;
		plan.count = 0;
		for (uint64_t i = 0; i < CONTROLS; i++)
			observe(&controls[i], &x, (uint64_t)round);
		begin = now_msec();
		for (uint64_t i = 0; i < CONTROLS; i++)
			control_review(&controls[i], &x);
		plan_sort(&plan);
		msec[round] = now_msec() - begin;
	}
	qsort(msec, ROUNDS, sizeof msec[0], by_size);
	printf("{\"name\":\"review_1000\",\"value\":%.2f,\"unit\":\"ms\"}\n", msec[ROUNDS / 2]);
	return 0;
}

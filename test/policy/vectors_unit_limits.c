// SPDX-License-Identifier: Apache-2.0
/* V112 to V162: rounding, limits, capping, update priority and decision, disruption. */
#include "policy/base/quantity.h"
#include "test/policy/vectors_unit.h"
#include "test/policy/vpa/vpa_round.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOTH (1u << RESOURCE_CPU | 1u << RESOURCE_MEMORY)

static void check_round_up(const struct unit_row *row)
{
	double steps[2], value = 0;
	uint32_t count = unit_numbers(row->setup, steps, 2);

	unit_numbers(row->input, &value, 1);
	for (uint32_t i = 0; i < count; i++) {
		int64_t got = (int64_t)value;
		int r = vpa_round_up(got, (int64_t)steps[i], &got);

		unit_expect(row, 0, (double)got);
		expect_int(row->at, "outcome", r, strstr(row->expected, "error") ? -EINVAL : 0);
	}
}

static void check_humanize(const struct unit_row *row)
{
	char buf[QUANTITY_TEXT_SIZE];

	expect_text(row->at, row->input,
		    quantity_format_human(strtoull(row->input, NULL, 10), buf, sizeof buf),
		    row->expected);
}

static void check_whole_cores(const struct unit_row *row)
{
	int64_t milli = llround(strtod(row->input, NULL) * 1000);

	expect_int(row->at, "outcome", vpa_round_up(milli, 1000, &milli), 0);
	unit_expect(row, 0, (double)milli / 1000);
}

/* CPU in millicores, shown in cores; memory in bytes. A fallback is the default of a LimitRange. */
static void check_proportional(const struct unit_row *row)
{
	static const struct {
		int id;
		int64_t limit, request, recommended, fallback;
		double unit;
	} cases[] = {
		{127, 2000, 1000, 10000, 0, 1000}, {128, 0, 1000, 10000, 2000, 1000},
		{129, 0, 1000, 10000, 0, 1000},    {130, 2000, 0, 10000, 0, 1000},
		{131, 1000, 1000, 10000, 0, 1000}, {132, 2000, 1500, 1000, 0, 1000},
		{133, 200, 150, 100, 0, 1},        {134, 10000000000, 1, 10000000000, 0, 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		int64_t got;

		if (cases[i].id != row->id)
			continue;
		got = vpa_proportional_limit(cases[i].limit, cases[i].request, cases[i].recommended,
					     cases[i].fallback);
		if (strncmp(row->expected, "int64 max", 9) == 0)
			expect_int(row->at, row->expected, got, INT64_MAX);
		else if (strcmp(row->expected, "no limit set") == 0)
			expect_int(row->at, row->expected, got, 0);
		else
			unit_expect(row, 0, (double)got / cases[i].unit);
	}
}

static void set_bound(struct vpa_pod_container *c, enum vpa_bound b, int64_t cpu, int64_t mem)
{
	c->recommended = true;
	c->rec.resources = BOTH;
	c->rec.amount[b][RESOURCE_CPU] = cpu;
	c->rec.amount[b][RESOURCE_MEMORY] = mem;
}

static void set_now(struct vpa_pod_container *c, int64_t cpu, int64_t mem)
{
	c->now = (struct vpa_resources){{cpu, mem}, {cpu, mem}};
}

static void check_policy_cap(const struct unit_row *row)
{
	struct vpa_pod_container c = {.min_allowed = {400, 40000}, .max_allowed = {450, 45000}};
	static const enum vpa_bound order[] = {VPA_TARGET, VPA_LOWER, VPA_UPPER};

	set_bound(&c, VPA_TARGET, 300, 50000);
	set_bound(&c, VPA_LOWER, 200, 43000);
	set_bound(&c, VPA_UPPER, 500, 55000);
	vpa_cap_pod(&c, 1, NULL, NULL);
	for (uint32_t i = 0; i < 3; i++) {
		unit_expect(row, 2 * i, (double)c.rec.amount[order[i]][RESOURCE_CPU]);
		unit_expect(row, 2 * i + 1, (double)c.rec.amount[order[i]][RESOURCE_MEMORY]);
	}
}

static void check_requests_only(const struct unit_row *row)
{
	struct vpa_pod_container c = {.requests_only = true, .now.limit = {30, 70000}};

	set_bound(&c, VPA_TARGET, 20, 80000);
	set_bound(&c, VPA_UPPER, 100, 90000);
	vpa_cap_pod(&c, 1, NULL, NULL);
	unit_expect(row, 0, (double)c.rec.amount[VPA_TARGET][RESOURCE_CPU]);
	unit_expect(row, 1, (double)c.rec.amount[VPA_TARGET][RESOURCE_MEMORY]);
	unit_expect(row, 2, (double)c.rec.amount[VPA_UPPER][RESOURCE_CPU]);
	unit_expect(row, 3, (double)c.rec.amount[VPA_UPPER][RESOURCE_MEMORY]);
}

static void check_container_range(const struct unit_row *row)
{
	struct vpa_limit_range range = {.max = {1000, 0}, .min = {0, 500000000}};
	struct vpa_pod_container c = {0};

	set_now(&c, 1000, 1000000000);
	set_bound(&c, VPA_TARGET, 2000, 200000000);
	vpa_cap_pod(&c, 1, NULL, &range);
	unit_expect(row, 0, (double)c.rec.amount[VPA_TARGET][RESOURCE_CPU]);
	unit_expect(row, 1, (double)c.rec.amount[VPA_TARGET][RESOURCE_MEMORY]);
}

static void check_pod_range(const struct unit_row *row)
{
	struct vpa_limit_range range = {0};
	struct vpa_pod_container c[2] = {0};

	if (row->id == 138)
		range.max[RESOURCE_MEMORY] = (int64_t)GIB;
	else
		range.min[RESOURCE_MEMORY] = 4 * (int64_t)GIB;
	for (int i = 0; i < 2; i++) {
		set_now(&c[i], 1000, 50000000);
		set_bound(&c[i], VPA_TARGET, 1000, (i + 1) * (int64_t)GIB);
	}
	vpa_cap_pod(c, 2, &range, NULL);
	unit_expect(row, 0, (double)c[0].rec.amount[VPA_TARGET][RESOURCE_MEMORY]);
	unit_expect(row, 1, (double)c[1].rec.amount[VPA_TARGET][RESOURCE_MEMORY]);
}

/* Per container: CPU request and target in millicores, memory request and target, CPU bounds. */
struct priority_case {
	int id;
	int64_t container[2][6];
};

static const struct priority_case priority_cases[] = {
	{140, {{2000, 10000}}},
	/* The request in the status counts; which one that is, is for the caller to know. */
	{141, {{2000, 10000}}},
	{142, {{4000, 2000}}},
	{143, {{2000, 2000}}},
	{144, {{10, 900}}},
	{145, {{4000, 10000, 0, 0, 6000, 14000}}},
	{146, {{8000, 2000, 0, 0, 1000, 3000}}},
	{147, {{3000, 6000, 10000000, 20000000}}},
	{148, {{4000, 2000, 10000000, 20000000}}},
	{149, {{4000, 2000, 20000000, 10000000}}},
	{150, {{1000, 4000}, {2000, 8000}}},
	{151, {{3000, 1000}, {7000, 2000}}},
	{152, {{6000, 8000, 10000000, 20000000}, {4000, 7000, 30000000, 30000000}}},
};

static struct vpa_pod_container priority_container(const int64_t *n)
{
	struct vpa_pod_container c = {.recommended = n[1] > 0};

	c.now.request[RESOURCE_CPU] = n[0];
	c.now.request[RESOURCE_MEMORY] = n[2];
	c.rec.resources = n[3] > 0 ? BOTH : 1u << RESOURCE_CPU;
	c.rec.amount[VPA_TARGET][RESOURCE_CPU] = n[1];
	c.rec.amount[VPA_TARGET][RESOURCE_MEMORY] = n[3];
	c.rec.amount[VPA_LOWER][RESOURCE_CPU] = n[4];
	c.rec.amount[VPA_UPPER][RESOURCE_CPU] = n[5];
	return c;
}

static void check_priority(const struct unit_row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(priority_cases); i++) {
		const struct priority_case *k = &priority_cases[i];
		struct vpa_pod_container c[2];
		struct vpa_priority p;

		if (k->id != row->id)
			continue;
		c[0] = priority_container(k->container[0]);
		c[1] = priority_container(k->container[1]);
		p = vpa_update_priority(c, 2);
		unit_expect_list(row, (double[]){p.outside_range, p.scale_up, p.resource_diff}, 3);
	}
}

struct named {
	struct vpa_priority p;
	double name;
};

static int compare_named(const void *a, const void *b)
{
	return vpa_priority_compare(&((const struct named *)a)->p, &((const struct named *)b)->p);
}

static void check_order(const struct unit_row *row)
{
	static const struct named up_and_down[] = {
		{{false, true, 0.25}, 1}, {{false, false, 0.25}, 2}, {{false, false, 0.5}, 3}};
	struct named pods[4];
	double numbers[4];
	uint32_t count = 3;

	if (row->id == 153) {
		memcpy(pods, up_and_down, sizeof up_and_down);
	} else {
		count = unit_numbers(row->input, numbers, 4);
		for (uint32_t i = 0; i < count; i++)
			pods[i] = (struct named){{false, true, numbers[i]}, numbers[i]};
	}
	qsort(pods, count, sizeof pods[0], compare_named);
	for (uint32_t i = 0; i < count; i++)
		unit_expect(row, i, pods[i].name);
}

static void check_decision(const struct unit_row *row)
{
	static const struct {
		int id;
		uint32_t number; /* which of the row's answers */
		bool outside;
		double diff;
		usec_t age_h;
		usec_t oom_run_min; /* 0: no OOM kill */
	} cases[] = {
		{155, 0, false, 0.25, 13, 0},  {155, 1, false, 4.0, 13, 0},
		{155, 2, true, 0.25, 13, 0},   {156, 0, false, 0.25, 11, 0},
		{156, 1, false, 0.0, 11, 0},   {156, 2, true, 0.9, 11, 0},
		{157, 0, false, 0.25, 11, 2},  {158, 0, false, 0.0, 11, 2},
		{159, 0, false, 0.25, 11, 57},
	};
	struct vpa_update_rules rules = vpa_update_rules_default;

	rules.min_change = 0.5;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct vpa_priority p = {cases[i].outside, false, cases[i].diff};
		struct vpa_pod_run run = {
			.age_usec = cases[i].age_h * USEC_PER_HOUR,
			.oom_killed = cases[i].oom_run_min > 0,
			.oom_run_usec = cases[i].oom_run_min * USEC_PER_MIN,
		};

		if (cases[i].id == row->id)
			unit_expect(row, cases[i].number, vpa_update_accepted(&p, &run, &rules));
	}
}

static void check_disruption(const struct unit_row *row)
{
	struct vpa_round_rules rules = vpa_round_rules_default;
	double n[3] = {0};

	unit_numbers(row->setup, n, 3);
	rules.min_replicas = (uint32_t)n[1];
	rules.disruption = n[2];
	unit_expect(row, 0, vpa_disruption_budget((uint32_t)n[0], (uint32_t)n[0], &rules));
}

const struct unit_check unit_limits_checks[] = {
	{112, 115, check_round_up, NULL},
	{116, 122, check_humanize, NULL},
	{123, 126, check_whole_cores, NULL},
	{127, 134, check_proportional, NULL},
	{135, 135, check_policy_cap, NULL},
	{136, 136, check_requests_only, NULL},
	{137, 137, check_container_range, NULL},
	{138, 139, check_pod_range, NULL},
	{140, 152, check_priority, NULL},
	{153, 154, check_order, NULL},
	{155, 159, check_decision, NULL},
	{160, 162, check_disruption, NULL},
	{0},
};

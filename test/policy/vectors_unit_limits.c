// SPDX-License-Identifier: Apache-2.0
/* V112 to V162: rounding, update priority and decision. */
#include "policy/base/quantity.h"
#include "test/policy/vectors_unit.h"
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

	c.request[RESOURCE_CPU] = n[0];
	c.request[RESOURCE_MEMORY] = n[2];
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

const struct unit_check unit_limits_checks[] = {
	{112, 115, check_round_up, NULL},
	{116, 122, check_humanize, NULL},
	{123, 126, check_whole_cores, NULL},
	{127, 139, NULL, "limits do not follow requests, and no recommendation is capped"},
	{140, 152, check_priority, NULL},
	{153, 154, NULL, "there is one container"},
	{155, 159, check_decision, NULL},
	{160, 162, NULL, "nothing is evicted in rounds"},
	{0},
};

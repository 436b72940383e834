// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/cpu_goal.h"
#include "policy/base/base.h"

/* Percentiles of all time: a load that comes once a day is throttled at its begin by the first two
 * goals. Floors of failed trials fade soon where the measured share of throttled periods decides
 * anyway. */
static const struct cpu_goal goals[GOAL_COUNT] = {
	[GOAL_SAVINGS] = {.throttle_ppm = 20000,
			  .aim_permille = 530,
			  .pass_ppm = 500000,
			  .pass_periods = 4,
			  .pass_run = 4,
			  .peak_permille = 500,
			  .floor_half_life_usec = 30 * USEC_PER_MIN},
	[GOAL_BALANCED] = {.aim_permille = 900,
			   .pass_ppm = 300000,
			   .pass_run = 1,
			   .peak_permille = 900,
			   .holds_recent = true},
	[GOAL_LATENCY] = {.throttle_ppm = 100, .aim_permille = 800, .holds_recent = true},
};

struct cpu_goal cpu_goal_of(const struct tuning *t, enum goal goal)
{
	struct cpu_goal g = goals[goal];

	if (g.throttle_ppm == 0)
		g.throttle_ppm = t->cpu.throttle_target_ppm;
	if (g.peak_permille == 0)
		g.peak_permille = t->history.peak_permille;
	if (g.floor_half_life_usec == 0)
		g.floor_half_life_usec = t->cpu.floor_half_life_usec;
	return g;
}

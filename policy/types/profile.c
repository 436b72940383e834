// SPDX-License-Identifier: Apache-2.0
#include "policy/types/profile.h"

const struct tuning tuning_default = {
	.history =
		{
			.algorithm = ALGORITHM_DEFAULT,
			/* VPA's values (vpa.md 1.4, 1.7), so that the bounds keep their meaning. */
			.half_life_usec = 24 * USEC_PER_HOUR,
			.confidence_usec = 24 * USEC_PER_HOUR,
			.lower_permille = 500,
			.target_permille = 900,
			.upper_permille = 950,
			/* Limits follow the peak: one active period in a hundred may be cut. */
			.peak_permille = 990,
			.margin_permille = 150,
			.mem_window_usec = 24 * USEC_PER_HOUR,
		},
	.cpu =
		{
			/* One period in five hundred throttled is what latency does not notice; a
			 * hundredth of a limit's area less throttles twice as often. */
			.throttle_target_ppm = 2000,
			.step_max_permille = 2000,
			/* What ran plus what waited bounds the demand from above; a tenth of room.
			 */
			.evidence_permille = 1100,
			.raise_interval_usec = 100 * USEC_PER_MSEC,
			.recent_usec = 10 * USEC_PER_MIN,
			.shrink_below_permille = 900,
			.shrink_step_permille = 500,
			.shrink_interval_usec = 60 * USEC_PER_SEC,
			.verdict_periods = 20,
			.floor_half_life_usec = 6 * USEC_PER_HOUR,
			/* Hourly jobs are missed by a trial of twenty periods. */
			.regret_usec = USEC_PER_HOUR,
		},
	.memory =
		{
			.page_bytes = PAGE_DEFAULT_BYTES,
			.time_to_limit_usec = USEC_PER_SEC,
			.slope_ahead_usec = 3 * USEC_PER_SEC,
			.raise_permille = 1150,
			.ceiling_permille = 4000,
			/* PID 1 lags by up to tens of seconds on a host that starts many units. */
			.property_ahead_usec = 30 * USEC_PER_SEC,
			/* Growth may begin while PID 1 is busy, and a reload that is under way
			 * writes the stored property from before it: 2.3 s in an emulated machine,
			 * at 100 MB/s. */
			.property_room_permille = 250,
			.property_room_min_bytes = 256 * MIB,
			.gap_permille = 50,
			.gap_min_bytes = 8 * MIB,
			/* VPA's OOM bump, on the true use at the kill. */
			.oom_permille = 1200,
			.oom_min_bytes = 100 * MIB,
			/* Covers what a process may allocate between the check and the write. */
			.margin_permille = 100,
			.margin_min_bytes = 8 * MIB,
			.working_set_permille = 1100,
			.shrink_history_usec = 24 * USEC_PER_HOUR,
			.shrink_quiet_usec = 5 * USEC_PER_MIN,
			.shrink_step_permille = 100,
			.shrink_interval_usec = 60 * USEC_PER_SEC,
			.high_watch_usec = 10 * USEC_PER_SEC,
			.verdict_usec = 60 * USEC_PER_SEC,
			.psi_ppm = 1000,
			.backoff_first_usec = 2 * USEC_PER_MIN,
			.backoff_max_usec = USEC_PER_DAY,
			/* 1 MiB a second: less is what any file reader does. */
			.refault_ps = 256,
			/* A stall of a twentieth of the time is noticeable. */
			.cache_psi_ppm = 50000,
			.cache_after_usec = 3 * USEC_PER_SEC,
			/* A reader of files larger than the limit would make it grow for ever. */
			.cache_ceiling_permille = 1500,
			.settle_usec = 60 * USEC_PER_SEC,
		},
	.startup =
		{
			/* Caches fill and just-in-time compilers work on for a while. */
			.ready_usec = 30 * USEC_PER_SEC,
			.unprobed_usec = 60 * USEC_PER_SEC,
		},
	.threshold =
		{
			.above_permille = 800,
			.factor_permille = 2000,
			.ceiling_permille = 8000,
			.for_usec = 2 * USEC_PER_MIN,
		},
	.common =
		{
			.start_quiet_usec = 5 * USEC_PER_MIN,
			.deadband_up_permille = 50,
			.deadband_down_permille = 100,
			.foreign_max = 3,
			.foreign_window_usec = 10 * USEC_PER_MIN,
		},
	.node =
		{
			.count = true,
			/* Growth within a second, before it can be read. */
			.reserve_permille = 50,
			.reserve_min_bytes = 256 * MIB,
			/* The kubelet's default of --eviction-hard memory.available. */
			.eviction = 100 * MIB,
		},
};

const struct policy_rule policy_rule_default = {
	.mode = MODE_AUTO,
	.resources = RESOURCES_BOTH,
	.scale_down = true,
};

static bool range_equal(const struct range *a, const struct range *b)
{
	return a->min == b->min && a->max == b->max;
}

bool policy_rule_equal(const struct policy_rule *a, const struct policy_rule *b)
{
	return a->mode == b->mode && a->goal == b->goal && a->priority == b->priority &&
	       a->resources == b->resources && a->requests == b->requests &&
	       a->scale_down == b->scale_down && a->freeze == b->freeze &&
	       a->cpu_percentile_permille == b->cpu_percentile_permille &&
	       a->mem_margin_permille == b->mem_margin_permille &&
	       range_equal(&a->cpu_milli, &b->cpu_milli) &&
	       range_equal(&a->mem_bytes, &b->mem_bytes) && a->boost.factor == b->boost.factor &&
	       a->boost.add_milli == b->boost.add_milli &&
	       a->boost.after_usec == b->boost.after_usec;
}

const char *const mode_names[MODE_COUNT + 1] = {
	[MODE_OFF] = "Off",
	[MODE_INITIAL] = "Initial",
	[MODE_AUTO] = "Auto",
};

const char *const goal_names[GOAL_COUNT + 1] = {
	[GOAL_BALANCED] = "balanced",
	[GOAL_SAVINGS] = "savings",
	[GOAL_LATENCY] = "latency",
};

const char *mode_name(enum mode m)
{
	return m < MODE_COUNT ? mode_names[m] : "?";
}

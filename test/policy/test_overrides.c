// SPDX-License-Identifier: Apache-2.0
/* cpu-percentile and memory-margin of a rule: what they change, by how much, and what they leave.
 */
#include "policy/backtest/rig.h"
#include "policy/control/control_impl.h"
#include "test/check.h"

/* Ten hours of 300m with an hour of 2 cores, 400 MiB with an hour of 800 MiB: the history that the
 * rule reads. */
static void recommend(uint32_t percentile, uint32_t margin, enum algorithm algorithm,
		      struct recommendation *ret)
{
	const struct limits l = {.cpu_quota_usec = 400000,
				 .cpu_period_usec = 100000,
				 .mem_max = 2 * GIB,
				 .mem_high = LIMIT_MAX};
	struct policy_rule rule = policy_rule_default;
	struct change steps[RIG_STEPS];
	struct plan p = {.steps = steps, .capacity = RIG_STEPS};
	struct control_context x;
	struct rig r;

	rule.cpu_percentile_permille = percentile;
	rule.mem_margin_permille = margin;
	rig_set_up(&r, &l, 4, 1);
	r.t.history.algorithm = algorithm;
	control_init(&r.c, &r.t, &rule, &l);
	control_restarted(&r.c, &l, r.sim.now);
	for (unsigned minute = 0; minute < 11 * 60; minute++) {
		struct cpu_rates rates = {
			.span_usec = USEC_PER_MIN,
			.active_usec = USEC_PER_MIN,
			.used_milli = minute % 11 == 0 ? 2000 : 300,
			.demand_milli = minute % 11 == 0 ? 2000 : 300,
		};
		usec_t at = r.now_real + minute * USEC_PER_MIN;

		if (algorithm == ALGORITHM_VPA) {
			history_vpa_observe(&r.c.history, &r.t.history, &rates, 400 * MIB, at);
			continue;
		}
		history_add_cpu(&r.c.history, &rates, at);
		history_add_memory(&r.c.history, &r.t.history, 400 * MIB, false, at);
	}
	x = rig_context(&r, &p);
	control_recommend(&r.c, &x);
	*ret = r.c.own;
	control_drop(&r.c);
}

static void check_algorithm(enum algorithm a)
{
	struct recommendation plain, percentile, low, margin, both;

	recommend(0, 0, a, &plain);
	recommend(950, 0, a, &percentile);
	recommend(500, 0, a, &low);
	recommend(0, 1000, a, &margin);
	recommend(950, 1000, a, &both);
	CHECK(plain.resource[RESOURCE_CPU].target < 500);
	CHECK(percentile.resource[RESOURCE_CPU].target > 2000);
	CHECK(percentile.resource[RESOURCE_CPU].peak > 2000);
	CHECK(percentile.resource[RESOURCE_CPU].upper >= percentile.resource[RESOURCE_CPU].target);
	CHECK(low.resource[RESOURCE_CPU].target < 500);
	CHECK(low.resource[RESOURCE_CPU].lower <= low.resource[RESOURCE_CPU].target);
	/* A percentile of CPU is none of memory, and a margin of memory none of CPU. */
	CHECK(memcmp(&percentile.resource[RESOURCE_MEMORY], &plain.resource[RESOURCE_MEMORY],
		     sizeof plain.resource[0]) == 0);
	CHECK(memcmp(&margin.resource[RESOURCE_CPU], &plain.resource[RESOURCE_CPU],
		     sizeof plain.resource[0]) == 0);
	/* 15 % became 100 %. */
	CHECK(margin.resource[RESOURCE_MEMORY].target * 115 >
	      plain.resource[RESOURCE_MEMORY].target * 199);
	CHECK(margin.resource[RESOURCE_MEMORY].target * 115 <
	      plain.resource[RESOURCE_MEMORY].target * 201);
	CHECK(memcmp(&both.resource[RESOURCE_MEMORY], &margin.resource[RESOURCE_MEMORY],
		     sizeof plain.resource[0]) == 0);
	CHECK(memcmp(&both.resource[RESOURCE_CPU], &percentile.resource[RESOURCE_CPU],
		     sizeof plain.resource[0]) == 0);
	CHECK_EQ(both.confidence_permille[RESOURCE_CPU], plain.confidence_permille[RESOURCE_CPU]);
}

/* A member that policy_rule_equal() does not compare would keep a changed rule from taking effect.
 * Each byte that is not padding is changed, in a bit that every type may have. */
TEST(check_equal)
{
#if __has_builtin(__builtin_clear_padding)
	struct policy_rule used, a = {.mode = MODE_OFF}, b;

	memset(&used, 0xff, sizeof used);
	__builtin_clear_padding(&used);
	for (size_t i = 0; i < sizeof a; i++) {
		memcpy(&b, &a, sizeof b);
		((unsigned char *)&b)[i] ^= 1;
		if (((unsigned char *)&used)[i] == 0)
			continue;
		if (policy_rule_equal(&a, &b))
			fprintf(stderr, "byte %zu of struct policy_rule is not compared\n", i);
		CHECK(!policy_rule_equal(&a, &b));
	}
#endif
}

TEST(with_parameters)
{
	check_algorithm(ALGORITHM_DEFAULT);
	check_algorithm(ALGORITHM_VPA);
}

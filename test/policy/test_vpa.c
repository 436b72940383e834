// SPDX-License-Identifier: Apache-2.0
/* What the recorded figures do not reach: edges, several containers. */
#include "policy/backtest/backtest_policy.h"
#include "test/check.h"
#include "test/policy/vpa/vpa_aggregate.h"
#include <errno.h>

/* 2026-01-01T00:00:00Z */
#define NEW_YEAR_USEC (1767225600 * USEC_PER_SEC)

#define CPU  RESOURCE_CPU
#define MEM  RESOURCE_MEMORY
#define BOTH (1u << RESOURCE_CPU | 1u << RESOURCE_MEMORY)

TEST(amounts)
{
	int64_t v = 7;

	CHECK_EQ(vpa_amount(-1), 0);
	CHECK_EQ(vpa_amount(__builtin_nan("")), 0);
	CHECK_EQ(vpa_amount(__builtin_inf()), VPA_AMOUNT_MAX);
	CHECK_EQ(vpa_amount(1.999), 1);
	CHECK_EQ(vpa_scale(VPA_AMOUNT_MAX, 2), VPA_AMOUNT_MAX);
	CHECK_EQ(vpa_scale(100, -1), 0);
	CHECK_EQ(vpa_round_up(INT64_MAX, 1000, &v), -ERANGE);
	CHECK_EQ(vpa_round_up(5, 0, &v), -EINVAL);
	CHECK_EQ(v, 7);
}

TEST(samples)
{
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;
	struct vpa_container c = {.aggregate = &a, .rules = &vpa_rules_default};
	usec_t t = NEW_YEAR_USEC;

	vpa_aggregate_init(&a, &vpa_rules_default);
	CHECK_EQ(vpa_add_cpu(&c, 100, t), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(vpa_add_cpu(&c, 100, t), VPA_SAMPLE_REJECTED);
	CHECK_EQ(vpa_add_cpu(&c, 100, t - 1), VPA_SAMPLE_REJECTED);
	CHECK_EQ(vpa_add_cpu(&c, 100, t + 1), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(a.samples, 2);
	CHECK_EQ(a.first_sample, t);
	CHECK_EQ(a.last_sample, t + 1);

	/* A first peak of 0 keeps its window to itself. */
	CHECK_EQ(vpa_add_memory(&c, 0, t), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(vpa_add_memory(&c, 1 << 30, t), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(c.memory_peak, 0);
	CHECK_EQ(a.memory.max, 0);
	/* The next window is open to all. */
	CHECK_EQ(vpa_add_memory(&c, 1 << 30, t + USEC_PER_DAY), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(c.memory_peak, 1 << 30);
	CHECK_EQ(c.window_end, t + 2 * USEC_PER_DAY);
	/* Memory samples count for nothing but memory. */
	CHECK_EQ(a.samples, 2);
	CHECK_EQ(a.last_sample, t + 1);
}

TEST(oom_extremes)
{
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;
	struct vpa_container c = {.aggregate = &a, .rules = &vpa_rules_default};

	vpa_aggregate_init(&a, &vpa_rules_default);
	CHECK_EQ(vpa_add_oom(&c, INT64_MAX, NEW_YEAR_USEC), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(c.oom_peak, VPA_AMOUNT_MAX + 100 * (int64_t)MIB);
	CHECK_EQ(a.memory.max, HISTOGRAM_BUCKETS - 1);
	/* One window back is still fresh, anything older is not. */
	CHECK_EQ(vpa_add_oom(&c, 0, NEW_YEAR_USEC - USEC_PER_DAY), VPA_SAMPLE_ACCEPTED);
	c.last_memory = NEW_YEAR_USEC;
	CHECK_EQ(vpa_add_oom(&c, 0, NEW_YEAR_USEC - USEC_PER_DAY - 1), VPA_SAMPLE_REJECTED);
	/* Repeated kills at one request do not add up. */
	c.oom_peak = 0;
	c.window_end = 0;
	CHECK_EQ(vpa_add_oom(&c, GIB, NEW_YEAR_USEC), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(vpa_add_oom(&c, GIB, NEW_YEAR_USEC + 1), VPA_SAMPLE_ACCEPTED);
	CHECK_EQ(c.oom_peak, vpa_scale(GIB, 1.2));
}

TEST(checkpoint)
{
	static const struct vpa_checkpoint empty = {.version = "v3"};
	struct vpa_checkpoint c;
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;
	struct vpa_aggregate kept;

	vpa_aggregate_init(&a, &vpa_rules_default);
	kept = a;
	/* A fault in the second histogram leaves the first as it was. */
	c = empty;
	c.cpu = (struct checkpoint){.total = 1, .count = 1, .buckets = {{1, 1}}};
	c.memory = (struct checkpoint){.total = -1};
	CHECK_EQ(vpa_aggregate_load(&a, &c), -EINVAL);
	CHECK(memcmp(&a, &kept, sizeof a) == 0);
	c = empty;
	memcpy(c.version, "v3v3v3v3", sizeof c.version);
	CHECK_EQ(vpa_aggregate_load(&a, &c), -EINVAL);
	memset(c.version, 0, sizeof c.version);
	CHECK_EQ(vpa_aggregate_load(&a, &c), -EINVAL);
}

TEST(estimate_empty)
{
	struct vpa_recommendation r;
	struct vpa_rules rules = vpa_rules_default;
	OWN(vpa_aggregate_drop) struct vpa_aggregate a;

	vpa_aggregate_init(&a, &rules);
	vpa_estimate(&a, &rules, 1, BOTH, &r);
	for (int b = 0; b < VPA_BOUND_COUNT; b++) {
		CHECK_EQ(r.amount[b][CPU], 25);
		CHECK_EQ(r.amount[b][MEM], 250 * MIB);
	}
	rules.whole_cores = true;
	rules.round_to[MEM] = (int64_t)GIB;
	vpa_estimate(&a, &rules, 1, BOTH, &r);
	CHECK_EQ(r.amount[VPA_TARGET][CPU], 1000);
	CHECK_EQ(r.amount[VPA_TARGET][MEM], GIB);
}

static struct vpa_priority priority(uint32_t resources, int64_t request, int64_t target)
{
	const int64_t requests[] = {request, request};
	struct vpa_recommendation rec = {.resources = resources,
					 .amount = {[VPA_TARGET] = {target, target}}};

	return vpa_update_priority(requests, &rec);
}

TEST(priority)
{
	struct vpa_pod_run run = {.age_usec = 12 * USEC_PER_HOUR};
	struct vpa_priority p = priority(1u << CPU, 0, 100);

	/* A missing request counts as 1 in the difference. */
	CHECK(p.outside_range && p.scale_up);
	CHECK(p.resource_diff == 99);
	/* Of memory it is a thousandth of a byte. */
	CHECK(priority(1u << MEM, 0, 5).resource_diff == 4999);
	p = priority(0, 100, 0);
	CHECK(!p.outside_range && !p.scale_up && p.resource_diff == 0);
	p.resource_diff = 0.1;
	CHECK(vpa_update_accepted(&p, &run));
	run.age_usec--;
	CHECK(!vpa_update_accepted(&p, &run));
	/* Outside its range, but killed and with nothing to change: left alone. */
	p = (struct vpa_priority){.outside_range = true};
	run.oom_killed = true;
	CHECK(!vpa_update_accepted(&p, &run));
	run.oom_run_usec = 10 * USEC_PER_MIN;
	CHECK(vpa_update_accepted(&p, &run));
}

// SPDX-License-Identifier: Apache-2.0
/* The limit of a runtime that counts cores crosses a whole core at most once an hour. */
#include "policy/base/backoff.h"
#include "test/check.h"
#include "test/policy/rig.h"

#define HOUR USEC_PER_HOUR

TEST(function)
{
	const struct {
		uint64_t limit, to, want;
		usec_t crossed, now;
	} rows[] = {
		/* never crossed, and long ago */
		{2400, 1800, 1800, 0, HOUR},
		{2400, 1800, 1800, 1, HOUR + 1},
		/* a moment ago */
		{2400, 1800, 2010, 1, HOUR},
		{2400, 300, 2010, 1, HOUR},
		{2400, 3100, 3000, 1, HOUR},
		{2400, 3000, 3000, 1, HOUR},
		{2000, 2010, 2000, 1, HOUR},
		{2000, 1000, 1010, 1, HOUR},
		{2000, 1500, 1500, 1, HOUR},
		{900, 100, 100, 1, HOUR},
		{900, 1100, 1000, 1, HOUR},
		{LIMIT_MAX, 1000, 1000, 1, HOUR},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK_EQ(whole_core_keep(rows[i].limit, rows[i].to, rows[i].crossed, rows[i].now),
			 rows[i].want);
	CHECK(whole_core_crossed(1000, 1010) && !whole_core_crossed(1010, 2000));
	CHECK(!whole_core_matters(&(struct heap_ceiling){0}));
	CHECK(whole_core_matters(&(struct heap_ceiling){HEAP_JVM, MIB, 0}));
	CHECK(whole_core_matters(&(struct heap_ceiling){HEAP_GO, MIB, 0}));
	CHECK(!whole_core_matters(&(struct heap_ceiling){HEAP_NODE, MIB, 0}));
}

struct result {
	unsigned crossings;
	uint64_t last;
	uint64_t throttled;
};

/* A load between 0.3 and 3 cores, another one every 15 min, for twelve hours. */
static struct result run(const struct heap_ceiling *heap)
{
	struct pod_bounds p = {.heap = *heap};
	struct result result = {0};
	uint64_t before, seed = 20261123;
	struct rig r;

	rig_init(&r, 1000, GIB, 4);
	p.resource[RESOURCE_CPU].accepted = 1000;
	control_set_pod(&r.c, &p);
	before = r.c.resource[RESOURCE_CPU].limit;
	for (unsigned minute = 0; minute < 720; minute++) {
		if (minute % 15 == 0)
			r.sim.load = sim_steady(4, 300 + random_next(&seed) % 2700);
		for (unsigned s = 0; s < 60; s++) {
			uint64_t limit;

			rig_run(&r, USEC_PER_SEC);
			limit = r.c.resource[RESOURCE_CPU].limit;
			result.crossings += whole_core_crossed(before, limit);
			before = limit;
		}
	}
	result.last = before;
	result.throttled = r.c.last.nr_throttled;
	return result;
}

TEST(flapping)
{
	struct result free_one = run(&(struct heap_ceiling){0});
	struct result jvm = run(&(struct heap_ceiling){HEAP_JVM, MIB, 0});

	fprintf(stderr, "twelve hours: %u crossings, %llu periods throttled; JVM: %u, %llu\n",
		free_one.crossings, (unsigned long long)free_one.throttled, jvm.crossings,
		(unsigned long long)jvm.throttled);
	CHECK(free_one.crossings > jvm.crossings);
	/* Throttling always raises: an hour has at most one crossing down, and one up after it. */
	CHECK(jvm.crossings <= 12);
	CHECK(jvm.throttled <= free_one.throttled);
}

static void set_range(struct rig *r, uint64_t min, uint64_t max)
{
	struct policy_rule rule = r->c.rule;

	rule.cpu_milli = (struct range){min, max};
	control_set_rule(&r->c, &rule);
}

/* Bounds that someone sets hold at once, on the other side of a whole core too. */
TEST_RIG(bounds)
{
	struct pod_bounds p = {.heap = {HEAP_JVM, MIB, 0}};

	rig_init(r, 1000, GIB, 4);
	p.resource[RESOURCE_CPU].accepted = 1000;
	control_set_pod(&r->c, &p);
	r->sim.load = sim_steady(4, 1500);
	rig_run(r, 30 * USEC_PER_MIN);
	CHECK(r->c.resource[RESOURCE_CPU].limit > 1000);
	r->sim.load = sim_steady(4, 300);
	set_range(r, 0, 800);
	rig_run(r, 15 * USEC_PER_MIN);
	CHECK(r->c.resource[RESOURCE_CPU].limit <= 800);
	set_range(r, 1600, 0);
	rig_run(r, 5 * USEC_PER_MIN);
	CHECK(r->c.resource[RESOURCE_CPU].limit >= 1600);
	CHECK(r->c.resource[RESOURCE_CPU].limit <= 2000);
	set_range(r, 2600, 0);
	rig_run(r, 5 * USEC_PER_MIN);
	CHECK(r->c.resource[RESOURCE_CPU].limit >= 2600);
}

// SPDX-License-Identifier: Apache-2.0
/* Requests of a container: what they follow, and since when they have been apart. */
#include "test/check.h"
#include "test/policy/rig.h"

static struct pod_resource_bounds *of(struct pod_bounds *p, enum resource r)
{
	return &p->resource[r];
}

/* A container without limits: its requests follow what it uses, and nothing is written. */
TEST_RIG(no_limits)
{
	struct pod_bounds p = {.requests_move = true};
	usec_t since;

	of(&p, RESOURCE_CPU)->request = 1000;
	of(&p, RESOURCE_MEMORY)->request = 10 * MIB;
	rig_init(r, LIMIT_MAX, LIMIT_MAX, 4);
	control_set_pod(&r->c, &p);
	r->sim.load = sim_steady(1, 300);
	r->sim.m.anon = r->sim.load.anon_goal = 100 * MIB;
	rig_run(r, 5 * USEC_PER_MIN);
	CHECK_EQ(r->changes, 0);
	CHECK_EQ(cpu(r)->blocked, BLOCKED_NO_LIMIT);
	CHECK(control_request(&r->c, RESOURCE_CPU) >= 300);
	CHECK(control_request(&r->c, RESOURCE_CPU) <= 400);
	CHECK(control_request(&r->c, RESOURCE_MEMORY) >= 100 * MIB);
	CHECK(control_request(&r->c, RESOURCE_MEMORY) <= 150 * MIB);
	/* One above, one below, both since the first minute. */
	since = control_request_since(&r->c, RESOURCE_CPU, r->sim.now);
	CHECK(r->sim.now - since >= 4 * USEC_PER_MIN);
	CHECK(r->sim.now - control_request_since(&r->c, RESOURCE_MEMORY, r->sim.now) >=
	      4 * USEC_PER_MIN);
	/* The direction changes: from now on. */
	of(&p, RESOURCE_CPU)->request = 100;
	control_set_pod(&r->c, &p);
	CHECK_EQ(control_request_since(&r->c, RESOURCE_CPU, r->sim.now), r->sim.now);
	rig_run(r, USEC_PER_MIN);
	CHECK(control_request_since(&r->c, RESOURCE_CPU, r->sim.now) > since);
	/* Minimum, maximum, LimitRange; memory above the maximum that it uses. */
	r->c.rule.cpu_milli = (struct range){.min = 600};
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 600);
	r->c.rule.cpu_milli = (struct range){.max = 200};
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 200);
	of(&p, RESOURCE_MEMORY)->namespace = (struct range){.min = GIB};
	control_set_pod(&r->c, &p);
	CHECK_EQ(control_request(&r->c, RESOURCE_MEMORY), GIB);
	of(&p, RESOURCE_CPU)->namespace = (struct range){.max = 150};
	control_set_pod(&r->c, &p);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 150);
	of(&p, RESOURCE_CPU)->namespace = (struct range){0};
	/* Within a tenth of the spec's it is not apart. */
	of(&p, RESOURCE_MEMORY)->request = GIB - 50 * MIB;
	control_set_pod(&r->c, &p);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(control_request_since(&r->c, RESOURCE_MEMORY, r->sim.now), r->sim.now);
	/* No request: none is given. LimitsOnly: left alone. */
	of(&p, RESOURCE_CPU)->request = 0;
	control_set_pod(&r->c, &p);
	CHECK_EQ(control_request(&r->c, RESOURCE_CPU), 0);
	p.requests_move = false;
	control_set_pod(&r->c, &p);
	CHECK_EQ(control_request(&r->c, RESOURCE_MEMORY), 0);
	/* No reflex pass reads it. */
	CHECK_EQ(control_reflex_wants(&r->c, &(struct usage){0}), 0);
}

static void check_range(const struct rig *r, enum resource res, uint64_t min, uint64_t max)
{
	struct range range = control_request_range(&r->c, res);

	CHECK_EQ(range.min, min);
	CHECK_EQ(range.max, max);
}

/* What a request may be, without a need that is known, and whether or not vscaled moves it. */
TEST_RIG(range)
{
	struct pod_bounds p = {0};

	rig_init(r, 1000, LIMIT_MAX, 4);
	control_set_pod(&r->c, &p);
	check_range(r, RESOURCE_CPU, 0, 0);
	check_range(r, RESOURCE_MEMORY, 0, 0);
	r->c.rule.cpu_milli = (struct range){.min = 105, .max = 805};
	r->c.rule.mem_bytes = (struct range){.min = 64 * MIB};
	check_range(r, RESOURCE_CPU, 110, 800);
	check_range(r, RESOURCE_MEMORY, 64 * MIB, 0);
	/* The later one wins. */
	of(&p, RESOURCE_CPU)->admin = (struct range){.min = 200, .max = 600};
	of(&p, RESOURCE_MEMORY)->container_range = (struct range){.max = 32 * MIB};
	/* What a LimitRange of the pod leaves is for limits. */
	of(&p, RESOURCE_CPU)->namespace = (struct range){.min = 300, .max = 400};
	control_set_pod(&r->c, &p);
	check_range(r, RESOURCE_CPU, 200, 600);
	check_range(r, RESOURCE_MEMORY, 32 * MIB, 32 * MIB);
	of(&p, RESOURCE_CPU)->container_range = (struct range){.min = 50, .max = 500};
	control_set_pod(&r->c, &p);
	check_range(r, RESOURCE_CPU, 200, 500);
	/* The limit of the template stays; that of a Guaranteed pod is its request. */
	of(&p, RESOURCE_CPU)->ratio_permille = of(&p, RESOURCE_MEMORY)->ratio_permille = 4000;
	control_set_pod(&r->c, &p);
	check_range(r, RESOURCE_CPU, 250, 500);
	check_range(r, RESOURCE_MEMORY, 32 * MIB, 32 * MIB);
	p.guaranteed = true;
	control_set_pod(&r->c, &p);
	check_range(r, RESOURCE_CPU, 200, 500);
}

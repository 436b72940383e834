// SPDX-License-Identifier: Apache-2.0
/* Growth of memory that the API server cannot accept, in virtual time. */
#include "test/check.h"
#include "test/policy/rig.h"

/* Growth that the API server cannot accept ends at twice the original, whatever its owner wrote,
 * and goes on as soon as it can. No limit is lowered by that below what is in use. */
TEST_RIG(unratified)
{
	struct policy_rule rule = policy_rule_default;
	struct pod_bounds p = {.unratified_permille = 2000};

	rule.mem_bytes = (struct range){.min = 900 * MIB, .max = 4 * GIB};
	p.resource[RESOURCE_MEMORY].accepted = 100 * MIB;
	rig_init(r, 200, 100 * MIB, 4);
	control_set_rule(&r->c, &rule);
	control_set_pod(&r->c, &p);
	sim_grow(&r->sim, 5 * MIB, 190 * MIB);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.u.limits.mem_max, 200 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].blocked, BLOCKED_UNRATIFIED);
	CHECK(traced(&r->c.resource[RESOURCE_MEMORY], BOUND_UNRATIFIED));
	CHECK_EQ(control_unratified(&r->c), 200 * MIB);
	/* Neither what PID 1 is sent nor what the API server may be asked for is the same. */
	CHECK_EQ(control_mem_property(&r->c, &tuning_default), 200 * MIB);
	CHECK_EQ(control_ceiling(&r->c, &tuning_default, RESOURCE_MEMORY, 0), 4 * GIB);

	/* What the API server accepted counts, also while it is away. */
	p.resource[RESOURCE_MEMORY].accepted = 300 * MIB + 1;
	control_set_pod(&r->c, &p);
	CHECK_EQ(control_unratified(&r->c), 300 * MIB); /* whole pages */
	r->sim.load.anon_goal = 280 * MIB;
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);

	/* It is back. */
	p.unratified_permille = 0;
	control_set_pod(&r->c, &p);
	rig_run(r, USEC_PER_MIN);
	CHECK(r->sim.u.limits.mem_max >= 900 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].blocked == BLOCKED_UNRATIFIED, false);

	/* The bound is set again: a limit above it is not lowered below use. */
	r->sim.load.anon_goal = 600 * MIB;
	rig_run(r, 2 * USEC_PER_MIN);
	p.unratified_permille = 2000;
	control_set_pod(&r->c, &p);
	rig_run(r, USEC_PER_HOUR);
	CHECK(r->sim.u.limits.mem_max >= 660 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

/* Where the held limit and the spec have reached the maximum, the API server is not the reason. */
TEST_RIG(ceiling_is_the_reason)
{
	struct policy_rule rule = policy_rule_default;
	struct pod_bounds p = {.unratified_permille = 2000};

	rule.mem_bytes.max = 300 * MIB;
	p.resource[RESOURCE_MEMORY].accepted = 300 * MIB;
	rig_init(r, 200, 100 * MIB, 4);
	control_set_rule(&r->c, &rule);
	control_set_pod(&r->c, &p);
	sim_grow(&r->sim, 5 * MIB, 290 * MIB);
	rig_run(r, USEC_PER_MIN);
	CHECK_EQ(r->sim.u.limits.mem_max, 300 * MIB);
	CHECK(r->c.resource[RESOURCE_MEMORY].at_ceiling);
	CHECK_EQ(r->c.resource[RESOURCE_MEMORY].blocked, BLOCKED_CEILING);
}

/* A raise was refused and less is tried: memory that is below the limit of the spec stays there,
 * also where memory.max was raised above it before. Refused for good, it grows on. */
TEST_RIG(growth_held)
{
	struct pod_bounds p = {0};

	p.resource[RESOURCE_MEMORY].accepted = 115 * MIB;
	rig_init(r, 200, 100 * MIB, 4);
	control_set_pod(&r->c, &p);
	sim_grow(&r->sim, 10 * MIB, 180 * MIB);
	while (r->sim.u.limits.mem_max <= 115 * MIB)
		rig_run(r, 100 * USEC_PER_MSEC);
	CHECK(mem_use(&r->c.last) < 100 * MIB);
	p.growth_held = true;
	control_set_pod(&r->c, &p);
	rig_run(r, 3 * USEC_PER_SEC);
	CHECK(mem_use(&r->c.last) < 115 * MIB);
	p.growth_held = false;
	p.unratified_permille = 2000;
	control_set_pod(&r->c, &p);
	rig_run(r, USEC_PER_MIN);
	CHECK(mem_use(&r->c.last) >= 180 * MIB);
	CHECK_EQ(r->sim.u.events.oom_kill, 0);
}

TEST(unratified_max)
{
	struct pod_bounds p = {.unratified_permille = 2000};
	struct pod_resource_bounds *m = &p.resource[RESOURCE_MEMORY];

	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), 200 * MIB);
	m->accepted = 100 * MIB;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), 200 * MIB);
	m->accepted = 201 * MIB;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), 201 * MIB);
	m->accepted = LIMIT_MAX;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), LIMIT_MAX);
	CHECK_EQ(pod_unratified_max(&p, LIMIT_MAX), LIMIT_MAX);
	m->accepted = 50 * MIB;
	p.unratified_permille = 1000;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), 100 * MIB);
	/* Only an administrator's maximum replaces the bound; a minimum does not. */
	m->admin.min = MIB;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), 100 * MIB);
	m->admin.max = 500 * MIB;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), LIMIT_MAX);
	m->admin.max = 0;
	p.unratified_permille = 0;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), LIMIT_MAX);
	/* A brake holds; a limit at the spec's would end a process that it cannot hold. */
	p.growth_held = true;
	CHECK_EQ(pod_unratified_max(&p, 100 * MIB), LIMIT_MAX);
	CHECK_EQ(pod_replay_max(&p), 50 * MIB);
	p.replay_mem_bytes = 40 * MIB;
	CHECK_EQ(pod_replay_max(&p), 40 * MIB);
	p.growth_held = false;
	m->admin.max = 0;
	CHECK_EQ(pod_replay_max(&p), 40 * MIB);
	p.replay_mem_bytes = 0;
	CHECK_EQ(pod_replay_max(&p), LIMIT_MAX);
}

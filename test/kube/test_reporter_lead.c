// SPDX-License-Identifier: Apache-2.0
/* A lead beside requests that a slow server has not answered yet. */
#include "test/kube/reporter_rig.h"

#define CPU RESOURCE_CPU
#define MEM RESOURCE_MEMORY
#define QUOTA                                                                                      \
	"{\"kind\":\"Status\",\"status\":\"Failure\",\"reason\":\"Forbidden\",\"code\":403,"       \
	"\"message\":\"pods \\\"u0\\\" is forbidden: exceeded quota: q\"}"
/* The server takes this long for each answer. */
#define SLOW (8 * S)

/* Every pod's first annotation is written, and the server gets slow. */
static void start(struct rig *g, size_t pods)
{
	rig_start(g, pods);
	rig_run(g, 400 * S);
	g->log[0] = '\0';
	g->latency = SLOW;
}

/* The time until the server has a memory limit for use and ten seconds of growth; so long at most.
 */
static usec_t lead_after(struct rig *g, size_t pod, usec_t most)
{
	usec_t since = g->now;

	rig_grow(g, pod, 230 * MIB, 10 * MIB);
	while (g->now - since < most && g->pods[pod].spec.limit[MEM] < 330 * MIB)
		rig_run(g, 10 * USEC_PER_MSEC);
	printf("lead after %llu ms\n", (unsigned long long)((g->now - since) / USEC_PER_MSEC));
	return g->now - since;
}

TEST(status_under_way)
{
	OWN(rig_stop) struct rig g;

	start(&g, 1);
	g.pods[0].mode = "Initial";
	reporter_hurry(g.pods[0].report);
	rig_run(&g, 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "S0 ");
	CHECK(lead_after(&g, 0, 2 * SLOW) <= 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "S0 R0 ");
	/* Both are answered. */
	rig_run(&g, 2 * SLOW);
	CHECK_EQ(g.pods[0].ratified, 1);
	CHECK_EQ(rig_counted(&g, "resize", 200), 1);
	CHECK_EQ(rig_counted(&g, "status", 200), 2);
}

/* An ordinary resize has no answer: it is given up, once. The lead waits for its own answer. */
TEST(resize_under_way)
{
	OWN(rig_stop) struct rig g;

	start(&g, 1);
	rig_set_held(&g, 0, CPU, 900);
	rig_run(&g, 60 * S + 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "R0 ");
	CHECK(lead_after(&g, 0, 2 * SLOW) <= 500 * USEC_PER_MSEC);
	CHECK_STR(g.log, "R0 R0 ");
	CHECK_EQ(g.pods[0].spec.limit[CPU], 900);
	rig_run(&g, SLOW - S);
	CHECK_STR(g.log, "R0 R0 ");
	CHECK_EQ(g.pods[0].foreign, 0);
	rig_run(&g, 2 * SLOW);
	CHECK_EQ(rig_counted(&g, "resize", 200), 1);
	CHECK_EQ(rig_counted(&g, "resize", 0), 1);
	CHECK_EQ(g.troubles, 0);
}

/* While the node may send no lead, the resize is not given up: it would be lost for nothing. */
TEST(no_turn_for_the_lead)
{
	OWN(rig_stop) struct rig g;

	start(&g, 40);
	rig_set_held(&g, 0, CPU, 900);
	rig_run(&g, 60 * S + 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "R0 ");
	for (size_t i = 1; i < 40; i++)
		rig_grow(&g, i, 230 * MIB, 10 * MIB);
	rig_run(&g, S);
	rig_grow(&g, 0, 230 * MIB, 10 * MIB);
	rig_run(&g, S);
	CHECK_EQ(rig_counted(&g, "resize", 0), 0);
	CHECK_EQ(g.pods[0].resizes, 1);
	rig_run(&g, SLOW);
	CHECK_EQ(rig_counted(&g, "resize", 0), 0);
}

/* As many requests of other pods are under way as may be. */
TEST(others_under_way)
{
	OWN(rig_stop) struct rig g;

	start(&g, 8);
	for (size_t i = 0; i < 7; i++)
		rig_set_held(&g, i, CPU, 900);
	rig_run(&g, 60 * S + 10 * USEC_PER_MSEC);
	CHECK_EQ(strlen(g.log), strlen("R0 R1 R2 R3 "));
	CHECK(lead_after(&g, 7, 2 * SLOW) <= 10 * USEC_PER_MSEC);
	CHECK(strstr(g.log, "R7 ") != NULL);
	rig_run(&g, 60 * S);
	for (size_t i = 0; i < 8; i++)
		CHECK_EQ(g.pods[i].resizes, 1);
}

/* A second container, which a resize would restart, uses more than its limit in the spec. */
static void add_sibling(struct rig *, struct reporter_view *v)
{
	struct report_resource memory = v->containers[0].resource[MEM];

	memory.restart = true;
	memory.held = memory.actual = 512 * MIB;
	memory.restart_to = 0;
	v->containers[1] = v->containers[0];
	v->containers[1].use_bytes = 400 * MIB;
	v->containers[1].slope_bps = 0;
	v->containers[1].growing = false;
	v->containers[1].resource[MEM] = memory;
	v->containers[0].resource[MEM].ceiling = 300 * MIB;
	v->facts.container_count = 2;
}

/* A lead has no room beside its sibling: the bounds of growth follow in the same step. */
TEST(blocked_is_reported_at_once)
{
	OWN(rig_stop) struct rig g;
	usec_t now;

	start(&g, 1);
	g.alter = add_sibling;
	rig_run(&g, S);
	g.bounds = 0;
	now = g.now;
	CHECK(reporter_ratifies(g.reporter, g.pods[0].report, now));
	rig_grow(&g, 0, 230 * MIB, 10 * MIB);
	rig_step(&g);
	CHECK(!reporter_ratifies(g.reporter, g.pods[0].report, now));
	CHECK_EQ(g.bounds, 1);
	/* And when it is over. */
	rig_grow(&g, 0, 150 * MIB, 0);
	rig_step(&g);
	CHECK(reporter_ratifies(g.reporter, g.pods[0].report, now));
	CHECK_EQ(g.bounds, 2);
}

/* A lead is refused: that less is tried is known in the same step, and its end. */
TEST(tried_is_reported_at_once)
{
	OWN(rig_stop) struct rig g;

	start(&g, 1);
	g.latency = 0;
	rig_run(&g, S);
	g.bounds = 0;
	rig_fail(&g, "resize", 1, 403, QUOTA);
	rig_grow(&g, 0, 170 * MIB, 10 * MIB);
	rig_run(&g, S);
	CHECK(report_lead_tried(reporter_state(g.pods[0].report), g.now));
	CHECK_EQ(g.bounds, 1);
	rig_grow(&g, 0, 230 * MIB, 10 * MIB);
	rig_run(&g, 2 * S);
	CHECK(!report_lead_tried(reporter_state(g.pods[0].report), g.now));
	CHECK_EQ(g.bounds, 2);
}

/* What is never lowered again is raised less far ahead: a third, as explain shows. */
TEST(no_decrease)
{
	OWN(rig_stop) struct rig g;

	start(&g, 1);
	CHECK_EQ(reporter_ahead(g.reporter, g.pods[0].seen, false, g.now), 60 * S);
	CHECK_EQ(reporter_ahead(g.reporter, g.pods[0].seen, true, g.now), 20 * S);
}

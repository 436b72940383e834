// SPDX-License-Identifier: Apache-2.0
/* A lead beside requests that a slow server has not answered yet. */
#include "test/kube/reporter_rig.h"

#define CPU RESOURCE_CPU
#define MEM RESOURCE_MEMORY
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

static void test_status_under_way(void)
{
	struct rig g;

	start(&g, 1);
	g.pods[0].mode = "Initial";
	reporter_hurry(g.reporter, "u0");
	rig_run(&g, 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "S0 ");
	CHECK(lead_after(&g, 0, 2 * SLOW) <= 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "S0 R0 ");
	/* Both are answered. */
	rig_run(&g, 2 * SLOW);
	CHECK_EQ(g.pods[0].ratified, 1);
	CHECK_EQ(rig_counted(&g, REPORTER_RESIZE, 200), 1);
	CHECK_EQ(rig_counted(&g, REPORTER_STATUS, 200), 2);
	rig_stop(&g);
}

/* An ordinary resize has no answer: it is given up, once. The lead waits for its own answer. */
static void test_resize_under_way(void)
{
	struct rig g;

	start(&g, 1);
	rig_hold(&g, 0, CPU, 900);
	rig_run(&g, 60 * S + 10 * USEC_PER_MSEC);
	CHECK_STR(g.log, "R0 ");
	CHECK(lead_after(&g, 0, 2 * SLOW) <= 500 * USEC_PER_MSEC);
	CHECK_STR(g.log, "R0 R0 ");
	CHECK_EQ(g.pods[0].spec.limit[CPU], 900);
	rig_run(&g, SLOW - S);
	CHECK_STR(g.log, "R0 R0 ");
	CHECK_EQ(g.pods[0].foreign, 0);
	rig_run(&g, 2 * SLOW);
	CHECK_EQ(rig_counted(&g, REPORTER_RESIZE, 200), 1);
	CHECK_EQ(rig_counted(&g, REPORTER_RESIZE, 0), 1);
	CHECK_EQ(g.troubles, 0);
	rig_stop(&g);
}

/* As many requests of other pods are under way as may be. */
static void test_others_under_way(void)
{
	struct rig g;

	start(&g, 8);
	for (size_t i = 0; i < 7; i++)
		rig_hold(&g, i, CPU, 900);
	rig_run(&g, 60 * S + 10 * USEC_PER_MSEC);
	CHECK_EQ(strlen(g.log), strlen("R0 R1 R2 R3 "));
	CHECK(lead_after(&g, 7, 2 * SLOW) <= 10 * USEC_PER_MSEC);
	CHECK(strstr(g.log, "R7 ") != NULL);
	rig_run(&g, 60 * S);
	for (size_t i = 0; i < 8; i++)
		CHECK_EQ(g.pods[i].resizes, 1);
	rig_stop(&g);
}

int main(void)
{
	test_status_under_way();
	test_resize_under_way();
	test_others_under_way();
	return check_result();
}

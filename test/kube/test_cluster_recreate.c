// SPDX-License-Identifier: Apache-2.0
/* Mode InPlaceOrRecreate: a pod that the node has had no room for is evicted, if another one of its
 * workload is ready, none is new, and the disruption budgets allow it. */
#include "test/kube/test_recreate.h"
#include <unistd.h>

/* The mode as it was set, not the one that it sizes by. */
static void check_shown(const char *path)
{
	CHECK(control_has(path, "\"mode\":\"InPlaceOrRecreate\""));
}

TEST(evicted)
{
	begin_refused(&(struct setting){.metadata = {web}});
	check_shown("/v1/units");
	check_shown("/v1/units/default/web-0/app");
	check_shown("/v1/report");
	rig_run(&c.rig, 500, burn_699);
	CHECK_EQ(evictions(0), 0);
	rig_run(&c.rig, 150, burn_699);
	CHECK_EQ(evictions(201), 1);
	CHECK_EQ(evictions(0), 1);
	CHECK_EQ(c.rig.events[EVENT_POD_EVICTED], 1);
	CHECK_EQ(crig_lines(&c, EVENT_POD_EVICTED, "no room"), 1);
	check_holder("web-0_");
}

/* The answer is lost after the API server has evicted the pod: the other one waits as well. */
TEST(lost)
{
	begin_refused(&(struct setting){.metadata = {web, web}});
	crig_fault(&c, "cut-inside", "\"match\":\"/eviction\",\"count\":1");
	rig_run(&c.rig, 800, burn_699);
	CHECK_EQ(evictions(0), 1);
}

/* The pods of a large workload come in several lists: the other one that is ready is in the last.
 */
TEST(many)
{
	begin_refused(&(struct setting){.metadata = {web}, .many = true});
	rig_run(&c.rig, 650, burn_699);
	CHECK_EQ(evictions(201), 1);
	CHECK_EQ(c.rig.events[EVENT_EVICTION_REFUSED], 0);
}

/* The budget says no: reported once, tried again every 10 min for the pod that holds the lease. */
TEST(budget)
{
	begin_refused(&(struct setting){.metadata = {web, web}, .budget = true});
	rig_run(&c.rig, 650, burn_699);
	CHECK_EQ(evictions(429), 1);
	/* The resize is tried again, and the node still has no room. */
	CHECK(crig_until(&c, 240, burn_699, are_resized));
	tell_all(INFEASIBLE);
	CHECK(crig_until(&c, 240, burn_699, are_original));
	tell_all(NULL);
	rig_run(&c.rig, 620, burn_699);
	CHECK_EQ(evictions(429), 2);
	CHECK_EQ(c.rig.events[EVENT_EVICTION_REFUSED], 2);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, "disruption budget"), 1);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, "to be evicted"), 1);
	CHECK_EQ(crig_events(&c, "EvictionRefused"), 2);
	CHECK_EQ(c.rig.events[EVENT_POD_EVICTED], 0);
}

TEST(right)
{
	begin_refused(&(struct setting){.metadata = {web, web}, .no_right = true});
	rig_run(&c.rig, 700, burn_699);
	CHECK_EQ(crig_requests(&c, "POST " LEASES, 403), 1);
	CHECK_EQ(evictions(0), 0);
	CHECK_EQ(c.rig.events[EVENT_EVICTIONS_DENIED], 1);
}

static bool are_tried(struct crig *x)
{
	return evictions(403) >= 1 && crig_requests(x, "/pods/web-1/eviction", 201) == 1;
}

/* An admission controller refuses one pod's eviction: no right is missing, and another goes on. */
TEST(one_is_refused)
{
	static const char api[] = METADATA("api", OWNER("ReplicaSet", "api"));

	crig_refusal_time = "2h";
	begin_refused(&(struct setting){.metadata = {web, api}});
	crig_debug(&c, "pods",
		   "{\"prefix\":\"api-other\",\"node\":\"node-2\",\"labels\":" LABELS(
			   "api") ",\"owner\":" OWNER("ReplicaSet", "api") "}");
	crig_fault(&c, "403", "\"match\":\"/pods/web-0/eviction\",\"count\":-1");
	alarm(400);
	/* Whichever is first, the other's turn is 10 min later. */
	CHECK(crig_until(&c, 1600, burn_699, are_tried));
	CHECK_EQ(c.rig.events[EVENT_EVICTIONS_DENIED], 0);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, "has refused the eviction"), 1);
	crig_close(&c);
	crig_refusal_time = "10m";
}

/* Not evicted, and why. */
static void test_not(const struct setting *s, const char *why)
{
	begin_refused(s);
	rig_run(&c.rig, 700, burn_699);
	CHECK_EQ(evictions(0), 0);
	CHECK_EQ(c.rig.events[EVENT_EVICTION_REFUSED], 1);
	CHECK_EQ(crig_lines(&c, EVENT_EVICTION_REFUSED, why), 1);
}

TEST(with_parameters)
{
	test_not(
		&(struct setting){.metadata = {web, METADATA("agent", OWNER("DaemonSet", "agent"))},
				  .alone = true},
		"no other pod");
	/* No label is the workload's. */
	test_not(&(struct setting){.metadata = {"{\"metadata\":{\"labels\":{\"app\":null,"
						"\"pod-template-hash\":\"aaa\"},"
						"\"ownerReferences\":[" WEB "]}}"}},
		 "no labels");
	test_not(&(struct setting){.metadata = {web}, .young = true}, "an hour old");
}

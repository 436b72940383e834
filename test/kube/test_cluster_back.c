// SPDX-License-Identifier: Apache-2.0
/* Originals are restored in the spec, however the management of a pod ends. */
#include "test/kube/test_cluster.h"

static void check_back(struct rig_pod *p)
{
	CHECK(UNTIL(240, burn_699, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) == 200));
	CHECK(crig_until(&c, 240, burn_699, is_put_back));
	rig_run(&c.rig, 2, burn_699);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 90, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), 64 * MIB);
}

TEST_DRIVERS(mode_off)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);

	ratify(p);
	crig_annotate(&c, p, "mode", "Off");
	check_back(p);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 2);
}

/* The annotation changes while the agent is stopped. */
TEST(meanwhile)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	rig_run(&c.rig, 2, burn_699);
	rig_stop(&c.rig);
	crig_annotate(&c, p, "mode", NULL);
	crig_start(&c);
	check_back(p);
}

/* The API server has stored our resize, the kubelet has not carried it out, and the agent has
 * stopped: the spec's value is not taken for the owner's. */
TEST(gone_before_the_echo)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	const struct managed *m;

	CHECK(crig_until(&c, 240, burn_699, is_resized));
	rig_stop(&c.rig);
	crig_start(&c);
	rig_run(&c.rig, 20, burn_699);
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK(m != NULL && m->control.resource[RESOURCE_CPU].original == 200);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	/* How long it took is not known here. */
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 240, burn_699, has_ratified));
	CHECK_EQ(c.rig.daemon->tally.apply[BACKEND_API].count, 0);
	crig_annotate(&c, p, "mode", "Off");
	check_back(p);
}

static bool both_are_reported(struct crig *x)
{
	struct rig_pod *p = &x->rig.pod[0];

	return crig_spec(x, p, "app", RESOURCE_CPU) > 200 &&
	       crig_spec(x, p, "log", RESOURCE_CPU) > 300;
}

static void burn_both(struct rig *r)
{
	rig_burn(r, app_of(&r->pod[0]), 600);
	rig_burn(r, r->pod[0].container[1].unit, 600);
}

/* One of two containers is removed from the list; the other one stays managed and keeps its size.
 * again: while the agent is stopped. */
TEST_BOTH(one_of_two, again)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, "{\"vscaled.dev/mode\":\"Auto\"}");

	CHECK(crig_until(&c, 200, burn_both, both_are_reported));
	rig_run(&c.rig, 2, burn_both);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 30, burn_both);
	if (again)
		rig_stop(&c.rig);
	crig_annotate(&c, p, "containers", "app");
	if (again)
		crig_start(&c);
	CHECK(UNTIL(300, burn_both, crig_spec(&c, &c.rig.pod[0], "log", RESOURCE_CPU) == 300));
	CHECK_EQ(rig_cpu_milli(&c.rig, p->container[1].unit), 300);
	rig_run(&c.rig, 2, burn_both);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 30, burn_both);
	CHECK_EQ(crig_spec(&c, p, "log", RESOURCE_CPU), 300);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->container[1].unit), 300);
	/* A size, if a smaller one by now; not its original. */
	CHECK(crig_spec(&c, p, "app", RESOURCE_CPU) > 200);
	/* Its record is removed, not before. */
	CHECK(managed_find(&c.rig.daemon->units, "default/web-0/log") == NULL);
	CHECK(managed_find(&c.rig.daemon->units, "default/web-0/app") != NULL);
}

static bool is_adopted(struct crig *x)
{
	const struct managed *m = managed_find(&x->rig.daemon->units, "default/web-0/app");

	return m != NULL && m->control.resource[RESOURCE_CPU].original == 500;
}

/* The owner resizes CPU while the agent is stopped, in a spec that has values of ours: the owner's
 * value is the new original, our memory limit is not. */
TEST(owner_meanwhile)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	const struct managed *m;

	ratify(p);
	rig_run(&c.rig, 2, burn_699);
	rig_stop(&c.rig);
	crig_user_resizes(&c, p, "500m", NULL);
	crig_kubelet(&c, p, NULL);
	crig_start(&c);
	CHECK(crig_until(&c, 120, burn_50, is_adopted));
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK_EQ(m->control.resource[RESOURCE_MEMORY].original, 64 * MIB);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 1);
}

/* What runs and was not found yet: nothing is sent that would be written into it. */
TEST(not_seen)
{
	static struct reporter_view v;
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	struct cluster *cluster;

	ratify(p);
	cluster = c.rig.loop->cluster;
	CHECK_EQ(cluster_facts(cluster, pods_entry(cluster->pods, p->uid), &v), 0);
	CHECK(v.facts.active);
	rig_unit_stop(&c.rig, app_of(p));
	rig_run(&c.rig, 3, NULL);
	CHECK_EQ(cluster_facts(cluster, pods_entry(cluster->pods, p->uid), &v), 0);
	CHECK(!v.facts.active && !v.facts.restoring);
}

static bool is_forgotten(struct crig *x)
{
	return x->rig.daemon->pods.count == 0;
}

static void grow(struct rig *r)
{
	burn_50(r);
	rig_grow(r, app_of(&r->pod[0]), 8 * MIB);
}

/* app has grown, and the spec has headroom for it, carried out. */
static struct rig_pod *begin_grown(enum cgroup_driver driver)
{
	struct rig_pod *p = begin(driver, NULL,
				  "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":"
				  "\"app\",\"vscaled.dev/resources\":\"memory\"}");

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 12, grow);
	CHECK(crig_until(&c, 80, burn_50, has_headroom));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_50, has_ratified));
	return p;
}

static void check_memory_back(struct rig_pod *p)
{
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 240, burn_50, memory_is_original));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 240, burn_50, is_forgotten));
	CHECK_EQ(memory_of(&c), 64 * MIB);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(c.rig.kills, 0);
}

/* The owner changes another resource: our value of this one is still restored. */
TEST(owner_changed_another)
{
	struct rig_pod *p = begin_grown(DRIVER_SYSTEMD);
	unsigned sent;

	app_of(p)->anon_bytes = 20 * MIB;
	rig_run(&c.rig, 40, burn_50);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_50);
	sent = crig_requests(&c, "/resize", 0);
	crig_user_resizes(&c, p, "300m", NULL);
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 6, burn_50);
	CHECK(has_headroom(&c));
	/* Or all of the spec would be our doing again. */
	CHECK_EQ(crig_requests(&c, "/resize", 0), sent);
	check_memory_back(p);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 300);
}

/* The kubelet replays the spec after the cgroup was restored and before the spec is, and use grows
 * into it: the record is kept until the spec has the original. */
TEST(use_holds_the_spec)
{
	struct rig_pod *p = begin_grown(DRIVER_CGROUPFS);

	app_of(p)->anon_bytes = 20 * MIB;
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":-1");
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 120, burn_50, cgroup_is_original));
	crig_kubelet(&c, p, NULL);
	app_of(p)->anon_bytes = 120 * MIB;
	rig_run(&c.rig, 2, burn_50);
	crig_heal(&c);
	CHECK(UNTIL(360, burn_50, memory_of(&c) < 150 * MIB));
	CHECK(memory_of(&c) > 120 * MIB);
	crig_kubelet(&c, p, NULL);
	app_of(p)->anon_bytes = 130 * MIB;
	rig_run(&c.rig, 30, burn_50);
	CHECK(!is_forgotten(&c));
	CHECK(memory_of(&c) > 120 * MIB);
	CHECK(explains("memory limit below use"));
	app_of(p)->anon_bytes = 20 * MIB;
	CHECK(crig_until(&c, 400, burn_50, memory_is_original));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 240, burn_50, is_forgotten));
	CHECK(cgroup_is_original(&c));
}

/* Use holds the original back, and the container restarts with less: nothing does then. */
TEST(restarted_meanwhile)
{
	struct rig_pod *p = begin_grown(DRIVER_CGROUPFS);
	struct rig_container *app = &p->container[0];

	crig_annotate(&c, p, "mode", NULL);
	rig_run(&c.rig, 30, burn_50);
	CHECK(has_headroom(&c) && !cgroup_is_original(&c));
	rig_container_stop(&c.rig, app);
	rig_run(&c.rig, 3, NULL);
	app->unit->anon_bytes = 20 * MIB;
	app->restarts++;
	rig_container_start(&c.rig, p, app, false);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 400, burn_50, memory_is_original));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 240, burn_50, is_forgotten));
	CHECK(cgroup_is_original(&c));
}

/* While the agent is stopped the owner resizes the pod and takes it out: the owner's limit stays.
 */
TEST_BOTH(taken_out_meanwhile, off)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	rig_run(&c.rig, 2, burn_699);
	rig_stop(&c.rig);
	crig_user_resizes(&c, p, "500m", NULL);
	crig_kubelet(&c, p, NULL);
	crig_annotate(&c, p, "mode", off ? "Off" : NULL);
	crig_start(&c);
	rig_run(&c.rig, 40, burn_50);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 500);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 800);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 500);
}

/* One of two waits for its use to fall, and an agent that has never attached it runs: what the
 * owner sets meanwhile is what goes back. */
TEST(owner_resizes_one_that_waits)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL,
				  "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/resources\":"
				  "\"memory\"}");

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 8, grow);
	CHECK(crig_until(&c, 30, burn_50, has_headroom));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_50, has_ratified));
	rig_stop(&c.rig);
	crig_annotate(&c, p, "containers", "log");
	crig_start(&c);
	rig_run(&c.rig, 10, burn_50);
	CHECK(!cgroup_is_original(&c));
	crig_user_resizes(&c, p, NULL, "200Mi");
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 5, burn_50);
	app_of(p)->anon_bytes = 20 * MIB;
	rig_run(&c.rig, 130, burn_50);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 200 * MIB);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), 232 * MIB);
	CHECK_EQ(memory_of(&c), 200 * MIB);
}

/* CPU is no longer sized, memory is. */
TEST(one_resource_less)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	crig_annotate(&c, p, "resources", "memory");
	check_back(p);
	CHECK(managed_find(&c.rig.daemon->units, "default/web-0/app") != NULL);
}

/* Memory is no longer sized, and its original is too low for what is in use: cgroup and spec keep
 * what they have, over a restart of the agent, and go back once use allows. */
static void check_waits(struct rig_pod *p)
{
	rig_run(&c.rig, 90, burn_50);
	crig_kubelet(&c, p, NULL);
	rig_stop(&c.rig);
	crig_start(&c);
	rig_run(&c.rig, 90, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(has_headroom(&c));
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") > app_of(p)->anon_bytes);
	app_of(p)->anon_bytes = 20 * MIB;
	CHECK(crig_until(&c, 240, burn_50, memory_is_original));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 10, burn_50);
	CHECK_EQ(memory_of(&c), 64 * MIB);
	CHECK(cgroup_is_original(&c));
	CHECK(managed_find(&c.rig.daemon->units, "default/web-0/app") != NULL);
	CHECK_EQ(c.rig.kills, 0);
}

TEST_DRIVERS(one_resource_waits)
{
	struct rig_pod *p = begin_grown(driver);

	crig_annotate(&c, p, "resources", "cpu");
	check_waits(p);
}

/* No limit is controlled any more: CPU does not wait for memory. */
TEST_DRIVERS(requests_alone)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);

	ratify(p);
	rig_run(&c.rig, 12, grow);
	CHECK(crig_until(&c, 80, burn_50, has_headroom));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	crig_annotate(&c, p, "controlled-values", "RequestsOnly");
	CHECK(UNTIL(60, burn_50, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_CPU) == 200));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK(has_headroom(&c));
	check_waits(p);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
}

static void grow_log(struct rig *r)
{
	burn_50(r);
	rig_grow(r, r->pod[0].container[1].unit, 8 * MIB);
}

/* The use of a container that is not managed any more holds its original back, over a restart of
 * the agent: the spec of the other one is ahead of its use all the same. */
TEST(one_of_two_grows)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL,
				  "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/resources\":"
				  "\"memory\"}");

	rig_run(&c.rig, 10, burn_50);
	rig_run(&c.rig, 8, grow_log);
	CHECK(UNTIL(30, burn_50, crig_spec(&c, &c.rig.pod[0], "log", RESOURCE_MEMORY) > 74 * MIB));
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_50, has_ratified));
	rig_stop(&c.rig);
	crig_annotate(&c, p, "containers", "app");
	crig_start(&c);
	rig_run(&c.rig, 30, burn_50);
	for (unsigned i = 0; i < 10; i++) {
		rig_run(&c.rig, 1, grow);
		CHECK(memory_of(&c) > app_of(p)->anon_bytes);
	}
	CHECK(app_of(p)->anon_bytes > 90 * MIB);
	CHECK(crig_spec(&c, p, "log", RESOURCE_MEMORY) > p->container[1].unit->anon_bytes);
	/* The journal has what the agent before had sent with its originals. */
	CHECK_EQ(crig_lines(&c, EVENT_REPORT_RATIFIED, " 0 -> "), 0);
}

static void grow_8(struct rig *r)
{
	burn_50(r);
	rig_grow(r, app_of(&r->pod[0]), 8 * MIB);
}

#define NO_ROOM                                                                                    \
	"{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":\"Infeasible\","            \
	"\"message\":\"Node didn't have enough capacity: cpu, requested: 64000, capacity: 4000\"}"

/* The kubelet has no room for the CPU limit that the owner set, and a memory limit of vscaled's
 * waits with it. A new agent leaves the owner's value alone, as the old one did. */
TEST(owners_value_waits_over_a_restart)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	const struct managed *m;

	rig_run(&c.rig, 10, burn_50);
	crig_user_resizes(&c, p, "64", NULL);
	crig_kubelet(&c, p, NO_ROOM);
	CHECK(UNTIL(80, grow_8, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) > 64 * MIB));
	crig_kubelet(&c, p, NO_ROOM);
	rig_run(&c.rig, 3, burn_50);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 64000);
	rig_stop(&c.rig);
	crig_start(&c);
	rig_run(&c.rig, 40, burn_50);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 64000);
	/* It has room now: what it carries out is the owner's. */
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 20, burn_50);
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK_EQ(m->control.resource[RESOURCE_CPU].original, 64000);
	CHECK_EQ(m->control.resource[RESOURCE_MEMORY].original, 64 * MIB);
}

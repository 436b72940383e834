// SPDX-License-Identifier: Apache-2.0
/* resizePolicy RestartContainer for memory: left in the cgroup, or sent where the owner allows it.
 */
#include "test/kube/test_cluster.h"

#define RESTARTS                                                                                   \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\",\"resizePolicy\":["     \
	"{\"resourceName\":\"cpu\",\"restartPolicy\":\"NotRequired\"},"                            \
	"{\"resourceName\":\"memory\",\"restartPolicy\":\"RestartContainer\"}],\"resources\":{"    \
	"\"limits\":{\"cpu\":\"200m\",\"memory\":\"64Mi\"},"                                       \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}},"                                   \
	"{\"name\":\"log\",\"image\":\"example.com/log:1\",\"resources\":{"                        \
	"\"limits\":{\"cpu\":\"300m\",\"memory\":\"32Mi\"},"                                       \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}}]"
#define MODE                                                                                       \
	"\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\","                        \
	"\"vscaled.dev/resources\":\"memory\""
#define ALLOWED ",\"vscaled.dev/allow-restart\":\"true\""

static bool at_most(struct crig *x)
{
	return rig_bytes(&x->rig, app_of(&x->rig.pod[0]), "memory.max") == 128 * MIB;
}

/* A restart for more may be asked for at once, and the cgroup follows the spec. */
static bool is_full(struct crig *x)
{
	return at_most(x) || memory_is_raised(x);
}

/* It asks for more than it may hold, without dying of it. */
static void press(struct rig *r)
{
	burn_all(r, 50);
	app_of(&r->pod[0])->max_events += 3;
}

/* The kubelet kills it, and it begins anew with what the spec says. */
static void restart(struct rig_pod *p)
{
	struct rig_unit *app = app_of(p);

	rig_unit_stop(&c.rig, app);
	rig_run(&c.rig, 1, NULL);
	p->container[0].restarts++;
	p->container[0].started_real = c.rig.real;
	app->anon_bytes = 20 * MIB;
	rig_unit_start(&c.rig, app);
	crig_kubelet(&c, p, NULL);
}

/* turned_away: the API server answers every resize with 429. */
static struct rig_pod *begin_growing(enum cgroup_driver driver, const char *annotations,
				     bool turned_away)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod_with(&c, driver, "web-0", annotations, RESTARTS);
	crig_start(&c);
	if (turned_away)
		crig_fault(&c, "429", "\"match\":\"PATCH .*/resize\",\"count\":-1");
	rig_run(&c.rig, 15, burn_50);
	rig_grow(&c.rig, app_of(p), 40 * MIB);
	rig_run(&c.rig, 5, burn_50);
	rig_grow(&c.rig, app_of(p), 40 * MIB);
	rig_run(&c.rig, 5, burn_50);
	return p;
}

static struct rig_pod *begin_full(enum cgroup_driver driver, const char *annotations)
{
	struct rig_pod *p = begin_growing(driver, annotations, false);

	rig_grow(&c.rig, app_of(p), 24 * MIB);
	CHECK(crig_until(&c, 240, press, is_full));
	return p;
}

TEST(never)
{
	begin_full(DRIVER_CGROUPFS, "{" MODE "}");
	rig_run(&c.rig, 120, press);
	CHECK(at_most(&c));
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
}

TEST_DRIVERS(allowed)
{
	struct rig_pod *p = begin_full(driver, "{" MODE ALLOWED "}");
	uint64_t sent;

	CHECK(crig_until(&c, 240, press, memory_is_raised));
	sent = crig_spec(&c, p, "app", RESOURCE_MEMORY);
	CHECK_EQ(sent, 192 * MIB);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK(explains("\"restart\":\"allowed\""));
	restart(p);
	CHECK(crig_until(&c, 120, burn_50, has_ratified));
	/* Room for more than killed or stopped it; full again: not within the hour, nor lower. */
	for (int i = 0; i < 16; i++) {
		rig_grow(&c.rig, app_of(p), 10 * MIB);
		rig_run(&c.rig, 3, burn_50);
	}
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") > 180 * MIB);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") <= sent);
	rig_run(&c.rig, 120, press);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	app_of(p)->anon_bytes = 20 * MIB;
	rig_run(&c.rig, 120, burn_50);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), sent);
	/* Taken away, the spec stays: to lower it would be one more restart. */
	crig_annotate(&c, p, "mode", NULL);
	rig_run(&c.rig, 120, burn_50);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_MEMORY), sent);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK(crig_has_status(&c, p));
	CHECK_EQ(c.rig.daemon->pods.count, 1);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 0);
}

static bool is_counted(struct crig *x)
{
	const struct managed *m = managed_find(&x->rig.daemon->units, "default/web-0/app");

	return m->control.resource[RESOURCE_MEMORY].counters.oom_kills > 0;
}

static bool kill_is_used(struct crig *x)
{
	return managed_find(&x->rig.daemon->units, "default/web-0/app")->restart.oom_kills != 0;
}

/* Turned away without having been done: neither the kill nor the hour is used up. */
TEST(not_done)
{
	struct rig_pod *p = begin_growing(DRIVER_CGROUPFS, "{" MODE ALLOWED "}", true);

	app_of(p)->oom_kills++;
	CHECK(crig_until(&c, 80, burn_50, is_counted));
	rig_grow(&c.rig, app_of(p), 24 * MIB);
	CHECK(UNTIL(120, press, crig_requests(&c, "/resize", 429) > 0));
	CHECK(UNTIL(80, press, !kill_is_used(&c)));
	crig_heal(&c);
	CHECK(crig_until(&c, 120, press, memory_is_raised));
	/* The server has it before its answer has come. */
	CHECK(crig_until(&c, 30, press, kill_is_used));
}

/* The node has no room: the container was not restarted, and the spec says again what it has. */
TEST(infeasible)
{
	struct rig_pod *p = begin_full(DRIVER_CGROUPFS, "{" MODE ALLOWED "}");

	CHECK(crig_until(&c, 240, press, memory_is_raised));
	crig_kubelet(&c, p,
		     "{\"type\":\"PodResizePending\",\"status\":\"True\",\"reason\":"
		     "\"Infeasible\",\"message\":\"Node didn't have enough capacity: memory\"}");
	CHECK(UNTIL(240, press, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_MEMORY) == 64 * MIB));
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 2);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 120, press);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 2);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK(rig_bytes(&c.rig, app_of(p), "memory.max") > app_of(p)->anon_bytes);
	c.rig.kills = 0; /* at the limit that could not be raised */
}

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

static bool at_most(struct crig *x)
{
	return rig_bytes(&x->rig, app_of(&x->rig.pod[0]), "memory.max") == 128 * MIB;
}

static bool is_sent(struct crig *x)
{
	return crig_spec(x, &x->rig.pod[0], "app", RESOURCE_MEMORY) > 64 * MIB;
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

static struct rig_pod *begin_full(enum cgroup_driver driver, const char *annotations)
{
	struct rig_pod *p;

	if (!crig_open(&c, NULL, NULL))
		exit(check_skip("no test API server: is there a python3?"));
	p = crig_pod_with(&c, driver, "web-0", annotations, RESTARTS);
	crig_start(&c);
	rig_run(&c.rig, 15, burn_50);
	rig_grow(&c.rig, app_of(p), 40 * MIB);
	rig_run(&c.rig, 5, burn_50);
	rig_grow(&c.rig, app_of(p), 40 * MIB);
	rig_run(&c.rig, 5, burn_50);
	rig_grow(&c.rig, app_of(p), 24 * MIB);
	CHECK(crig_until(&c, 60, press, at_most));
	return p;
}

static void test_never(void)
{
	begin_full(DRIVER_CGROUPFS, "{" MODE "}");
	rig_run(&c.rig, 120, press);
	CHECK(at_most(&c));
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	crig_close(&c);
}

static void test_allowed(enum cgroup_driver driver)
{
	struct rig_pod *p = begin_full(driver, "{" MODE ",\"vscaled.dev/allow-restart\":\"true\"}");
	OWN(drop_free) char *text = NULL;
	uint64_t sent;

	CHECK(crig_until(&c, 60, press, is_sent));
	sent = crig_spec(&c, p, "app", RESOURCE_MEMORY);
	CHECK_EQ(sent, 192 * MIB);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &text), 200);
	CHECK(text != NULL && strstr(text, "\"restart\":\"allowed\"") != NULL);
	restart(p);
	CHECK(crig_until(&c, 30, burn_50, has_ratified));
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
	CHECK_EQ(c.rig.daemon->pods.count, 0);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 0);
	crig_close(&c);
}

int main(void)
{
	test_never();
	test_allowed(DRIVER_CGROUPFS);
	test_allowed(DRIVER_SYSTEMD);
	return check_result();
}

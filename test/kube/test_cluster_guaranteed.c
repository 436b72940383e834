// SPDX-License-Identifier: Apache-2.0
/* A Guaranteed pod under LimitsOnly: CPU moves in the cgroup alone, memory goes out with its
 * request and both come back to the original. */
#include "test/kube/test_cluster.h"

#define GUARANTEED                                                                                 \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\",\"resources\":{"        \
	"\"limits\":{\"cpu\":\"200m\",\"memory\":\"64Mi\"},"                                       \
	"\"requests\":{\"cpu\":\"200m\",\"memory\":\"64Mi\"}}},"                                   \
	"{\"name\":\"log\",\"image\":\"example.com/log:1\",\"resources\":{"                        \
	"\"limits\":{\"cpu\":\"300m\",\"memory\":\"32Mi\"},"                                       \
	"\"requests\":{\"cpu\":\"300m\",\"memory\":\"32Mi\"}}}]"

/* Use is forgotten within minutes, and shrinks take seconds. */
#define QUICK                                                                                      \
	"history: {confidenceAfter: 20s, halfLife: 1m, memoryWindow: 10s}\n"                       \
	"memory: {shrinkHistory: 5s, shrinkQuiet: 5s, shrinkInterval: 4s, shrinkStep: 30%,\n"      \
	"  highWatch: 1s, verdictWindow: 3s, settleAfter: 5s}\n"

static uint64_t request_of(struct crig *x, enum resource r)
{
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, &x->rig.pod[0]);

	return kube_pod_container(pod, "app")->spec.request[r];
}

static uint64_t limit_of(struct crig *x, enum resource r)
{
	return crig_spec(x, &x->rig.pod[0], "app", r);
}

/* At the original request, or no further above it than the deadband of a shrink. */
static bool is_back(uint64_t bytes)
{
	return bytes >= 64 * MIB && bytes <= 64 * MIB / 9 * 10 + PAGE_DEFAULT_BYTES;
}

/* The kubelet of this pod never sleeps. */
static bool memory_is_back(struct crig *x)
{
	struct rig_pod *p = &x->rig.pod[0];
	OWN(drop_kube_pod) struct kube_pod *pod = crig_read(x, p);

	if (pod->observed_generation < pod->generation)
		crig_kubelet(x, p, NULL);
	return is_back(limit_of(x, RESOURCE_MEMORY));
}

TEST_DRIVERS(limits_only)
{
	struct rig_pod *p;
	struct rig_unit *app;

	crig_open(&c, NULL, QUICK);
	p = crig_pod_with(&c, driver, "web-0", AUTO, GUARANTEED);
	app = app_of(p);
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, has_700));
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);

	/* Memory takes its request along, and no CPU. */
	rig_grow(&c.rig, app, 60 * MIB);
	CHECK(UNTIL(240, burn_699, limit_of(&c, RESOURCE_MEMORY) > 64 * MIB));
	CHECK_EQ(request_of(&c, RESOURCE_MEMORY), limit_of(&c, RESOURCE_MEMORY));
	CHECK_EQ(limit_of(&c, RESOURCE_CPU), 200);
	CHECK_EQ(request_of(&c, RESOURCE_CPU), 200);
	crig_kubelet(&c, p, NULL);
	CHECK(crig_until(&c, 80, burn_699, has_ratified));
	/* The kubelet has written the spec's 200m along with it. */
	CHECK(crig_until(&c, 80, burn_699, has_700));
	/* What was raised along is no floor. */
	CHECK_EQ(managed_find(&c.rig.daemon->units, "default/web-0/app")
			 ->control.pod.resource[RESOURCE_MEMORY]
			 .request,
		 64 * MIB);

	app->anon_bytes = 20 * MIB;
	CHECK(crig_until(&c, 1800, burn_699, memory_is_back));
	CHECK_EQ(request_of(&c, RESOURCE_MEMORY), limit_of(&c, RESOURCE_MEMORY));
	CHECK_EQ(limit_of(&c, RESOURCE_CPU), 200);
	CHECK_EQ(request_of(&c, RESOURCE_CPU), 200);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_699);
	CHECK(is_back(limit_of(&c, RESOURCE_MEMORY)));
	CHECK(is_back(rig_bytes(&c.rig, app, "memory.max")));
	CHECK(has_700(&c));
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(c.rig.kills, 0);
	/* PID 1 writes the headroom of container and pod one after the other. */
	CHECK(driver == DRIVER_SYSTEMD || !c.rig.below);
}

/* The owner's own values are the original from then on, the request among them. */
TEST(owner)
{
	struct rig_pod *p;
	const struct managed *m;

	crig_open(&c, NULL, QUICK);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-0", AUTO, GUARANTEED);
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, has_700));
	cJSON_Delete(
		crig_ask(&c, "PATCH",
			 "/api/v1/namespaces/default/pods/web-0/resize?fieldManager=kubectl-patch",
			 "{\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{"
			 "\"limits\":{\"cpu\":\"300m\",\"memory\":\"96Mi\"},"
			 "\"requests\":{\"cpu\":\"300m\",\"memory\":\"96Mi\"}}}]}}"));
	rig_run(&c.rig, 2, burn_50);
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_50);
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK_EQ(m->control.pod.resource[RESOURCE_CPU].request, 300);
	CHECK_EQ(m->control.pod.resource[RESOURCE_MEMORY].request, 96 * MIB);
	CHECK(rig_cpu_milli(&c.rig, app_of(p)) >= 300);
	CHECK_EQ(limit_of(&c, RESOURCE_CPU), 300);
	CHECK_EQ(limit_of(&c, RESOURCE_MEMORY), 96 * MIB);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_GAVE_WAY], 0);
	CHECK(!c.rig.below);
}

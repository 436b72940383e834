// SPDX-License-Identifier: Apache-2.0
/* Who set a value of the spec is what managedFields say: a mutating webhook lowers what vscaled
 * sends, an owner applies the value that vscaled has sent. */
#include "test/kube/test_cluster.h"

static void carry_out(struct rig_pod *p, unsigned seconds, void (*load)(struct rig *r))
{
	for (unsigned i = 0; i < seconds; i += 10) {
		rig_run(&c.rig, 10, load);
		crig_kubelet(&c, p, NULL);
	}
}

/* As a refusal: the original stays, the value is its bound for the time of a refusal, and it is
 * told once. slow: the answer comes after the watch has delivered what was stored. */
TEST_BOTH(webhook, slow)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	crig_debug(&c, "admission", "{\"limits\":{\"cpu\":\"300m\"}}");
	if (slow)
		crig_fault(&c, "drip", "\"match\":\"PATCH .*/resize\",\"rate\":20000");
	CHECK(UNTIL(120, burn_699, crig_spec(&c, &c.rig.pod[0], "app", RESOURCE_CPU) == 300));
	carry_out(p, 40, burn_699);
	CHECK(UNTIL(10, burn_699, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) == 300));
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(c.rig.events[EVENT_REPORT_REFUSED], 1);
	CHECK_EQ(crig_requests(&c, "/resize", 200), 1);
	CHECK_EQ(crig_events(&c, "ResizeRefused"), 1);
	crig_annotate(&c, p, "mode", NULL);
	carry_out(p, 90, burn_50);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 200);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
}

/* Server-side apply of the value that stands there: it is the owner's from now on. Neither
 * generation nor value change. */
TEST(apply)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	char body[256];
	uint64_t sent;

	ratify(p);
	sent = crig_spec(&c, p, "app", RESOURCE_CPU);
	snprintf(body, sizeof body,
		 "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"web-0\"},"
		 "\"spec\":{\"containers\":[{\"name\":\"app\",\"resources\":{\"limits\":{\"cpu\":"
		 "\"%um\"}}}]}}",
		 (unsigned)sent);
	cJSON_Delete(crig_ask(
		&c, "PATCH",
		"/api/v1/namespaces/default/pods/web-0/resize?fieldManager=gitops&force=false",
		body));
	CHECK(UNTIL(20, burn_699, c.rig.events[EVENT_DRIFT_ADOPTED] == 1));
	crig_annotate(&c, p, "mode", NULL);
	carry_out(p, 90, burn_50);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), sent);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), sent);
}

/* The same over the limits of other containers: what a resize does not change, it does not name,
 * since a value that is named in other words changes hands. */
TEST(unnamed)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	OWN(drop_kube_pod) struct kube_pod *pod = NULL;

	ratify(p);
	pod = crig_read(&c, p);
	CHECK_EQ(kube_pod_container(pod, "app")->ours, KUBE_LEAF_LIMIT(RESOURCE_CPU));
	CHECK_EQ(kube_pod_container(pod, "log")->ours, 0);
}

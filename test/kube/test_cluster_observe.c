// SPDX-License-Identifier: Apache-2.0
/* kubernetes.observe All: pods without a mode are watched and recommended for, and nothing of them
 * is written. */
#include "test/kube/test_cluster.h"

#define PODS "/api/v1/namespaces/default/pods"

static void begin_observing(const char *keys, size_t pods)
{
	static const char *const names[] = {"web-0", "web-1"};

	crig_kubernetes = keys;
	crig_open(&c, NULL, NULL);
	for (size_t i = 0; i < pods; i++)
		crig_pod(&c, DRIVER_CGROUPFS, names[i], NULL);
	crig_start(&c);
	CHECK(crig_until(&c, 80, burn_699, is_listed));
}

/* The target of a container, in millicores; 0: it is not observed. */
static uint64_t target_of(const char *pod)
{
	OWN(drop_free) char *shown = NULL;
	char path[64];
	cJSON *unit, *target = NULL;
	uint64_t ret = 0;

	snprintf(path, sizeof path, "/v1/units/default%%2F%s%%2Fapp", pod);
	if (crig_control(&c, path, &shown) != 200)
		return 0;
	unit = cJSON_Parse(shown);
	target = cJSON_GetObjectItem(cJSON_GetObjectItem(unit, "cpu"), "target");
	if (cJSON_IsNumber(target))
		ret = (uint64_t)target->valuedouble;
	cJSON_Delete(unit);
	return ret;
}

static bool is_back(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 200 &&
	       crig_spec(x, &x->rig.pod[0], "app", RESOURCE_CPU) == 200;
}

/* Its owner may still opt it in, and out again. */
TEST(observed)
{
	OWN(drop_free) char *page = NULL;
	struct rig_pod *p;

	begin_observing(", observe: All", 1);
	p = &c.rig.pod[0];
	rig_run(&c.rig, 90, burn_699);
	CHECK_EQ(crig_http(&c, "/v1/report", &page), 200);
	CHECK(strstr(page, "{\"version\":1,\"node\":\"node-1\",\"containers\":[{") == page);
	CHECK(strstr(page, "\"workload\":\"web-0\"") != NULL);
	CHECK(strstr(page,
		     "\"cpu\":{\"request\":100,\"limit\":200,\"original\":200,\"use_p50\":") !=
	      NULL);
	CHECK(target_of("web-0") >= 300);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(crig_requests(&c, "PATCH", 0), 0);
	CHECK_EQ(crig_requests(&c, "POST", 0), 0);
	CHECK_EQ(crig_requests(&c, "/limitranges", 0), 0);
	CHECK_EQ(crig_requests(&c, "/horizontalpodautoscalers", 0), 0);
	CHECK_EQ(crig_requests(&c, "labelSelector", 0), 0);
	crig_annotate(&c, p, "containers", "app");
	crig_annotate(&c, p, "mode", "Auto");
	CHECK(UNTIL(240, burn_699, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) > 500));
	CHECK(crig_until(&c, 240, burn_699, is_resized));
	crig_kubelet(&c, p, NULL);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 240, burn_50, is_back));
	crig_kubelet(&c, p, NULL);
	rig_run(&c.rig, 60, burn_699);
	CHECK(is_back(&c));
	CHECK(target_of("web-0") >= 300);
}

static bool sees_other(struct crig *)
{
	return target_of("web-1") > 0;
}

/* Two containers at most: the older pod's. The other one follows when it is gone. */
TEST(bounded)
{
	begin_observing(", observe: All, observedContainers: 2", 2);
	rig_run(&c.rig, 30, burn_699);
	CHECK(target_of("web-0") > 0);
	CHECK_EQ(target_of("web-1"), 0);
	CHECK_EQ(c.rig.events[EVENT_OBSERVATION_FULL], 1);
	cJSON_Delete(crig_ask(&c, "DELETE", PODS "/web-0?gracePeriodSeconds=0", NULL));
	CHECK(crig_until(&c, 240, burn_699, sees_other));
	CHECK_EQ(c.rig.events[EVENT_OBSERVATION_FULL], 1);
}

TEST(opted_in_only)
{
	begin_observing("", 1);
	rig_run(&c.rig, 10, burn_699);
	CHECK_EQ(c.rig.daemon->pods.count, 0);
}

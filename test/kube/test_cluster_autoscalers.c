// SPDX-License-Identifier: Apache-2.0
/* VerticalPodAutoscalers: a pod whose owner one targets is left alone; one that may be above the
 * pod's owner keeps requests and limits where they are. */
#include "test/kube/test_cluster.h"

#define VERTICAL    "/apis/autoscaling.k8s.io/v1/namespaces/default/verticalpodautoscalers"
#define BY_VERTICAL "\"match\":\"verticalpodautoscalers\""

static struct rig_pod *open_with(bool installed, const char *annotations)
{
	crig_open(&c, NULL, NULL);
	if (installed)
		crig_debug(&c, "without", "{\"names\":[\"pods/log\"]}");
	return crig_pod(&c, DRIVER_CGROUPFS, "web-0", annotations);
}

static void make(const char *kind, const char *target, const char *more)
{
	char body[512];

	snprintf(body, sizeof body,
		 "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"targetRef\":{\"apiVersion\":"
		 "\"example.com/v1\",\"kind\":\"%s\",\"name\":\"%s\"}%s}}",
		 kind, target, more);
	cJSON_Delete(crig_ask(&c, "POST", VERTICAL, body));
}

/* explain says so. */
static bool is_told(const char *text)
{
	char *page;
	bool told;

	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &page), 200);
	told = strstr(page, text) != NULL;
	free(page);
	return told;
}

static bool is_left_alone(struct crig *x)
{
	return is_put_back(x) && rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) == 200 &&
	       is_told("a VerticalPodAutoscaler sizes it");
}

/* One on its owner, made, removed and made again. The list is read every 10 min. */
TEST(own)
{
	struct rig_pod *p = open_with(true, AUTO);

	make("Pod", "web-0", "");
	crig_start(&c);
	rig_run(&c.rig, 60, burn_699);
	CHECK(is_left_alone(&c));
	cJSON_Delete(crig_ask(&c, "DELETE", VERTICAL "/web", NULL));
	CHECK(crig_until(&c, 1000, burn_699, is_resized));
	crig_kubelet(&c, p, NULL);
	CHECK_EQ(crig_requests(&c, "verticalpodautoscalers", 200), 2);
	make("Pod", "web-0", ",\"updatePolicy\":{\"updateMode\":\"InPlaceOrRecreate\"}");
	c.rig.loop->cluster->lists[LIST_VERTICAL].items[0]->ask_at = 0;
	CHECK(crig_until(&c, 60, burn_699, is_left_alone));
}

static bool is_list_read(struct crig *x)
{
	const struct ask_table *t = &x->rig.loop->cluster->lists[LIST_VERTICAL];

	return t->count > 0 && t->items[0]->known;
}

/* An operator's custom resource: what is held stays, but for memory that use would fill. */
TEST(above)
{
	open_with(true, AUTO);
	make("Prometheus", "k8s", "");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_50, is_list_read));
	rig_run(&c.rig, 120, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])), 200);
	CHECK(is_told("VerticalPodAutoscaler web sizes Prometheus/k8s, which may be above this "
		      "pod"));
	crig_annotate(&c, &c.rig.pod[0], "autoscaled", "false");
	CHECK(crig_until(&c, 60, burn_699, is_resized));
}

/* It sizes memory alone, or only recommends: CPU moves. */
static void test_moves(const char *more)
{
	open_with(true, AUTO);
	make("Prometheus", "k8s", more);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	CHECK(is_list_read(&c));
}

/* The list fails for once: what was known stays. */
static void test_stays(const char *kind, int status)
{

	open_with(true, AUTO);
	make("Pod", "web-0", "");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_list_read));
	crig_fault(&c, kind, BY_VERTICAL ",\"count\":1");
	c.rig.loop->cluster->lists[LIST_VERTICAL].items[0]->ask_at = 0;
	for (unsigned i = 0; i < 30 && crig_requests(&c, "verticalpodautoscalers", status) == 0;
	     i++)
		rig_run(&c.rig, 10, burn_699);
	CHECK_EQ(crig_requests(&c, "verticalpodautoscalers", status), 1);
	CHECK(is_left_alone(&c));
}

/* A missing right is reported once, and nothing waits for it. */
TEST(denied)
{
	open_with(true, AUTO);
	crig_fault(&c, "403", BY_VERTICAL ",\"count\":-1");
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	rig_run(&c.rig, 900, burn_50);
	CHECK_EQ(crig_lines(&c, EVENT_LIST_DENIED, "VerticalPodAutoscalers"), 1);
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 1);
}

/* A cluster that has no such resource. */
TEST(not_installed)
{
	open_with(false, AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_resized));
	rig_run(&c.rig, 700, burn_50);
	CHECK_EQ(crig_requests(&c, "verticalpodautoscalers", 404), 2);
	CHECK_EQ(c.rig.events[EVENT_LIST_DENIED], 0);
}

TEST(with_parameters)
{
	test_moves(",\"resourcePolicy\":{\"containerPolicies\":[{\"containerName\":\"*\","
		   "\"controlledResources\":[\"memory\"]}]}");
	test_moves(",\"updatePolicy\":{\"updateMode\":\"Off\"}");
	test_stays("403", 403);
	test_stays("503", 503);
}

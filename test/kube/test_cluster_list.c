// SPDX-License-Identifier: Apache-2.0
/* What a list and a watch may lack or hold without hurting anybody. */
#include "test/kube/test_cluster.h"

/* More than 2 MiB, as the API server sends it. */
static char *large_spec(void)
{
	static const char begin[] = "\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"";
	size_t len = sizeof begin - 1;
	char *text = malloc(len + (5 << 19) + 8);

	memcpy(text, begin, len);
	memset(text + len, 'x', 5 << 19);
	strcpy(text + len + (5 << 19), "\"}}]");
	return text;
}

/* One pod of somebody else that is too large blinds nobody, as long as it is there and when it
 * changes and goes. */
static void test_large_neighbour(void)
{
	OWN(drop_free) char *spec = large_spec();
	OWN(drop_free) char *page = NULL;
	struct rig_pod *evil, *web;

	if (!crig_open(&c, NULL, NULL))
		exit(check_skip("no test API server: is there a python3?"));
	evil = crig_pod_with(&c, DRIVER_CGROUPFS, "evil-0", NULL, spec);
	web = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_start(&c);
	ratify(web);
	crig_annotate(&c, evil, "mode", "Auto");
	rig_run(&c.rig, 5, burn_600);
	crig_debug(&c, "restart", "{}");
	rig_run(&c.rig, 60, burn_600);
	crig_ask(&c, "DELETE", "/api/v1/namespaces/default/pods/evil-0?gracePeriodSeconds=0", NULL);
	rig_run(&c.rig, 5, burn_600);
	CHECK(kube_watch_state(c.rig.daemon->cluster->watch)->healthy);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(web)), 700);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(evil)), 200);
	CHECK_EQ(crig_lines(&c, EVENT_API_OBJECT_BAD, "default/evil-0: larger than 2 MiB"), 1);
	CHECK_EQ(c.rig.events[EVENT_API_OBJECT_BAD], 1);
	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	CHECK(strstr(page, "vscaled_apiserver_objects_skipped_total{reason=\"large\"} 0\n") ==
	      NULL);
	CHECK(strstr(page, "vscaled_apiserver_objects_skipped_total{reason=\"undecodable\"} 0\n") !=
	      NULL);
	crig_close(&c);
}

int main(void)
{
	test_large_neighbour();
	return check_result();
}

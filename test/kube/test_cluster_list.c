// SPDX-License-Identifier: Apache-2.0
/* What a list and a watch may lack or contain without harm to the pods in them. */
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

#define EVIL "/api/v1/namespaces/default/pods/evil-0?gracePeriodSeconds=0"

/* A pod that is too large to read does not stop the management of another one: neither while it
 * exists, nor when it changes and is deleted. */
TEST(large_neighbour)
{
	OWN(drop_free) char *spec = large_spec();
	struct rig_pod *evil, *web;

	crig_open(&c, NULL, NULL);
	evil = crig_pod_with(&c, DRIVER_CGROUPFS, "evil-0", NULL, spec);
	web = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_start(&c);
	ratify(web);
	crig_annotate(&c, evil, "mode", "Auto");
	rig_run(&c.rig, 5, burn_699);
	crig_debug(&c, "restart", "{}");
	rig_run(&c.rig, 60, burn_699);
	cJSON_Delete(crig_ask(&c, "DELETE", EVIL, NULL));
	rig_run(&c.rig, 5, burn_699);
	CHECK(kube_watch_state(c.rig.loop->cluster->watch)->healthy);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(web)), 700);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(evil)), 200);
	CHECK_EQ(crig_lines(&c, EVENT_API_OBJECT_BAD, "default/evil-0: larger than 2 MiB"), 1);
	CHECK_EQ(c.rig.events[EVENT_API_OBJECT_BAD], 1);
	CHECK(!metrics_have("vscaled_apiserver_objects_skipped_total{reason=\"large\"} 0\n"));
	CHECK(metrics_have("vscaled_apiserver_objects_skipped_total{reason=\"undecodable\"} 0\n"));
}

/* --- what a list lacks --- */

static int revision(void)
{
	cJSON *counters = crig_ask(&c, "GET", "/debug/counters", NULL);
	int rv = cJSON_GetObjectItemCaseSensitive(counters, "resource_version")->valueint;

	cJSON_Delete(counters);
	return rv;
}

/* From now on caches show the objects as of that time. */
static void lag(int rv)
{
	char body[64];

	snprintf(body, sizeof body, "{\"rv\":%d}", rv);
	crig_debug(&c, "stale", body);
}

static void check_kept(const struct rig_pod *p)
{
	const struct managed *m = managed_find(&c.rig.daemon->units, "default/web-0/app");

	CHECK_EQ(c.rig.daemon->pods.count, 1);
	CHECK_EQ(c.rig.daemon->records.baselines.count, 2);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK(m != NULL && m->control.resource[RESOURCE_CPU].original == 200);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
}

/* The originals are restored in the spec: no record was lost. */
static void check_goes_back(struct rig_pod *p)
{
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 240, burn_50, is_put_back));
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
}

/* A pod that is sized, and the version from before it was made. */
static struct rig_pod *begin_known(int *ret_before)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	*ret_before = revision();
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_start(&c);
	ratify(p);
	return p;
}

/* A second API server, whose cache lags behind the time at which the pod was made. */
TEST(relist_from_a_lagging_cache)
{
	int before;
	struct rig_pod *p = begin_known(&before);

	lag(before);
	crig_fault(&c, "stale", "\"count\":1");
	crig_debug(&c, "cut", "{}");
	rig_run(&c.rig, 90, burn_699);
	CHECK(crig_requests(&c, "resourceVersionMatch=NotOlderThan", 504) >= 1);
	check_kept(p);
	CHECK(c.rig.events[EVENT_API_LOST] <= 1); /* the cut */
	crig_debug(&c, "stale", "{}");
	rig_run(&c.rig, 30, burn_699);
	check_kept(p);
	check_goes_back(p);
}

/* The agent restarts and connects to that server first. */
TEST(first_list_from_a_lagging_cache)
{
	int before;
	struct rig_pod *p = begin_known(&before);

	rig_stop(&c.rig);
	lag(before);
	crig_start(&c);
	rig_run(&c.rig, 60, burn_699);
	check_kept(p);
	crig_debug(&c, "stale", "{}");
	check_goes_back(p);
}

/* A pod ends while no agent runs: its records are removed after a second list, which is requested.
 */
TEST(ended_unseen)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	rig_stop(&c.rig);
	cJSON_Delete(crig_ask(&c, "DELETE",
			      "/api/v1/namespaces/default/pods/web-0?gracePeriodSeconds=0", NULL));
	rig_pod_remove(&c.rig, p);
	crig_start(&c);
	rig_run(&c.rig, 120, NULL);
	CHECK(c.rig.daemon->pods.synced);
	CHECK_EQ(c.rig.daemon->records.baselines.count, 2);
	rig_run(&c.rig, 600, NULL);
	CHECK_EQ(kube_watch_state(c.rig.loop->cluster->watch)->lists, 2);
	CHECK_EQ(c.rig.daemon->records.baselines.count, 0);
}

/* --- a wrong name --- */

static void name_node(const char *name)
{
	char text[4096], path[256];
	char *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "%s", c.rig.config);
	f = fopen(path, "r");
	n = fread(text, 1, sizeof text - 64, f);
	fclose(f);
	text[n] = '\0';
	at = strstr(text, "nodeName: ") + strlen("nodeName: ");
	f = fopen(path, "w");
	fprintf(f, "%.*s%s%s", (int)(at - text), text, name, strchr(at, ','));
	fclose(f);
}

static void check_wrong_name(struct rig_pod *p)
{
	OWN(drop_free) char *ready = NULL;

	rig_run(&c.rig, 20, burn_699);
	CHECK_EQ(c.rig.events[EVENT_NODE_NAME_WRONG], 0);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(c.rig.events[EVENT_NODE_NAME_WRONG], 1);
	CHECK_EQ(crig_http(&c, "/readyz", &ready), 503);
	CHECK(strstr(ready, "[-]node failed") != NULL);
	CHECK(metrics_have("\nvscaled_node_name_wrong 1\n"));
	CHECK(metrics_have("{state=\"waiting\",reason=\"node-name-wrong\"} 1\n"));
	CHECK(control_has("/v1/units", "\"state\":\"waiting\",\"reason\":\"node-name-wrong\""));
	CHECK_EQ(c.rig.daemon->records.baselines.count, 2);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 700);
}

TEST(wrong_node_name)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	char *ready = NULL;

	ratify(p);
	rig_stop(&c.rig);
	name_node("node-7");
	crig_debug(&c, "pods",
		   "{\"prefix\":\"lost\",\"annotations\":" AUTO
		   ",\"spec\":{\"nodeName\":\"node-7\","
		   "\"containers\":[{\"name\":\"app\",\"image\":\"i\"}]}}");
	crig_start(&c);
	check_wrong_name(p);
	rig_stop(&c.rig);
	name_node("node-1");
	crig_start(&c);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(crig_http(&c, "/readyz", &ready), 200);
	free(ready);
	CHECK_EQ(c.rig.events[EVENT_NODE_NAME_WRONG], 1);
	check_kept(p);
	check_goes_back(p);
}

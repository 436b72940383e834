// SPDX-License-Identifier: Apache-2.0
/* An unreachable API server: sizing, probes, and one report per changed pod afterwards. */
#include "test/kube/test_cluster.h"

#define PODS 3

static bool all_reported(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) != 700)
			return false;
	return true;
}

static unsigned probe(const char *path)
{
	char *body;
	unsigned status = crig_http(&c, path, &body);

	free(body);
	return status;
}

/* Several changes of every pod while the server is down; then one resize each, with the newest. */
TEST(comes_back)
{
	static const char *const names[PODS] = {"web-0", "web-1", "web-2"};

	crig_open(&c, NULL, NULL);
	for (int i = 0; i < PODS; i++)
		crig_pod(&c, i == 0 ? DRIVER_SYSTEMD : DRIVER_CGROUPFS, names[i], AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_50, is_listed));
	rig_run(&c.rig, 5, burn_50); /* the watch is open by then: it is to be cut */
	crig_debug(&c, "listen", "{\"on\":false}");
	CHECK(UNTIL(60, burn_50, c.rig.events[EVENT_API_LOST] > 0));
	rig_run(&c.rig, 100, burn_699);
	for (int i = 0; i < PODS; i++)
		CHECK_EQ(rig_cpu_milli(&c.rig, app_of(&c.rig.pod[i])), 700);
	CHECK(c.rig.events[EVENT_API_LOST] <= 2); /* cut, then refused */
	CHECK_EQ(probe("/livez"), 200);
	CHECK_EQ(probe("/readyz"), 200); /* it was listed once */
	crig_forget_log(&c);
	crig_debug(&c, "listen", "{\"on\":true}");
	CHECK(UNTIL(200, burn_699, c.rig.events[EVENT_API_BACK] > 0));
	CHECK(crig_until(&c, 200, burn_699, all_reported));
	for (int i = 0; i < PODS; i++)
		crig_kubelet(&c, &c.rig.pod[i], NULL);
	CHECK(UNTIL(600, burn_699, c.rig.events[EVENT_REPORT_RATIFIED] == PODS));
	rig_run(&c.rig, 60, burn_699); /* nothing more follows */
	CHECK_EQ(crig_requests(&c, "/resize", 0), PODS);
	CHECK_EQ(crig_requests(&c, "/resize", 200), PODS);
	CHECK_EQ(c.rig.events[EVENT_API_BACK], 1);
	CHECK_EQ(c.rig.events[EVENT_REPORT_RATIFIED], PODS);
}

/* Unreachable from the start: no pods are known, and the probes show that. */
TEST(never_there)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	crig_debug(&c, "listen", "{\"on\":false}");
	crig_start(&c);
	rig_run(&c.rig, 60, burn_699);
	CHECK(c.rig.events[EVENT_API_LOST] <= 2); /* cut, then refused */
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(probe("/livez"), 200);
	CHECK_EQ(probe("/readyz"), 503);
	crig_debug(&c, "listen", "{\"on\":true}");
	CHECK(crig_until(&c, 120, burn_699, is_listed));
	CHECK_EQ(probe("/readyz"), 200);
	ratify(p);
}

/* A restart of the agent in the outage: the originals are in the records, the values in the
 * cgroups. */
TEST(restart_in_outage)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	crig_debug(&c, "listen", "{\"on\":false}");
	rig_stop(&c.rig);
	crig_start(&c);
	rig_run(&c.rig, 40, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	crig_debug(&c, "listen", "{\"on\":true}");
	CHECK(crig_until(&c, 200, burn_699, is_listed));
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 1);
	CHECK_EQ(c.rig.events[EVENT_DRIFT_ADOPTED], 0);
	crig_annotate(&c, p, "mode", NULL);
	CHECK(crig_until(&c, 60, burn_699, is_put_back));
}

/* --- what is shown --- */

static double number_in(const char *page, const char *series)
{
	const char *at = strstr(page, series);

	return at != NULL ? strtod(at + strlen(series), NULL) : -1;
}

static void check_metrics(void)
{
	static const char *const above_zero[] = {
		"vscaled_apiserver_requests_total{verb=\"list\",code=\"200\"} ",
		"vscaled_apiserver_requests_total{verb=\"get\",code=\"200\"} ",
		"vscaled_apiserver_requests_total{verb=\"patch\",code=\"200\"} ",
		("vscaled_limit_changes_total{resource=\"cpu\",direction=\"up\","
		 "reason=\"throttled\"} "),
		"\nvscaled_reports_sent_total ",
		"vscaled_apply_duration_seconds_count{backend=\"cgroup\"} ",
		"vscaled_apply_duration_seconds_count{backend=\"systemd\"} ",
		"vscaled_apply_duration_seconds_count{backend=\"api\"} ",
		"vscaled_scan_duration_seconds_count{clock=\"sample\"} ",
	};
	char *page = NULL;

	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	for (size_t i = 0; i < ARRAY_SIZE(above_zero); i++)
		if (page == NULL || number_in(page, above_zero[i]) <= 0) {
			fprintf(stderr, "%s\n", above_zero[i]);
			CHECK(!"a metric above 0");
		}
	CHECK_EQ(number_in(page, "vscaled_reports_failed_total{reason=\"failed\"} "), 0);
	free(page);
}

static void check_control(void)
{
	static const struct {
		const char *path, *text;
	} rows[] = {
		{"/v1/status", "\"operation\":\"kubernetes\""},
		{"/v1/status", "\"node\":\"node-1\""},
		{"/v1/status", "\"cgroup_driver\":\"systemd\""},
		{"/v1/status", "\"resize_offered\":true"},
		{"/v1/status", "\"healthy\":true"},
		{"/v1/units", "\"default/web-0/app\""},
		{"/v1/units/default/web-0/app", "\"ratified\""},
		{"/v1/units/default/web-0/app", "\"report\""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *page = NULL;
		bool said = crig_control(&c, rows[i].path, &page) == 200 &&
			    strstr(page, rows[i].text) != NULL;

		if (!said)
			fprintf(stderr, "%s has no %s: %s\n", rows[i].path, rows[i].text,
				page != NULL ? page : "");
		CHECK(said);
		free(page);
	}
}

TEST(shown)
{
	struct rig_pod *p = begin(DRIVER_SYSTEMD, NULL, AUTO);

	ratify(p);
	check_metrics();
	check_control();
}

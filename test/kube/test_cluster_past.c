// SPDX-License-Identifier: Apache-2.0
/* A pod of a workload that neither this node nor another one knows starts from what a Prometheus
 * server has recorded. VSCALED_PROMETHEUS: its address, with the data of prometheus_history.sh; an
 * address without a server: VSCALED_NOBODY. */
#include "test/kube/test_cluster.h"

#define RESOURCES                                                                                  \
	"\"containers\":[{\"name\":\"app\",\"image\":\"example.com/app:1\",\"resources\":{"        \
	"\"requests\":{\"cpu\":\"100m\",\"memory\":\"16Mi\"}}},{\"name\":\"log\",\"image\":"       \
	"\"example.com/log:1\"}]"

static const struct managed *app(struct crig *x)
{
	return managed_find(&x->rig.daemon->units, "default/web-7f9c-new11/app");
}

static void open_with(const char *url, const char *more)
{
	char extra[512];
	struct rig_pod *p;

	snprintf(extra, sizeof extra, "prometheus: {url: '%s'%s}\n", url, more);
	crig_open(&c, NULL, extra);
	p = crig_pod_with(&c, DRIVER_CGROUPFS, "web-7f9c-new11",
			  "{\"vscaled.dev/mode\":\"Auto\",\"vscaled.dev/containers\":\"app\"}",
			  RESOURCES);
	cJSON_Delete(crig_ask(
		&c, "PATCH", "/api/v1/namespaces/default/pods/web-7f9c-new11",
		"{\"metadata\":{\"labels\":{\"app\":\"web\",\"pod-template-hash\":\"7f9c\"},"
		"\"ownerReferences\":[{\"apiVersion\":\"apps/v1\",\"kind\":\"ReplicaSet\","
		"\"name\":\"web-7f9c\",\"uid\":\"0b54b34c-6f5e-4a1c-9d07-3d8f1a2b3c4d\","
		"\"controller\":true}]}}"));
	crig_kubelet(&c, p, NULL);
	crig_start(&c);
}

static bool has_past(struct crig *x)
{
	return x->rig.events[EVENT_PAST_ADDED] > 0;
}

/* The recording: 600m by day, 300m by night, 200 and 100 MiB. */
static void test_answered(const char *url)
{
	const struct recommendation *rec;

	open_with(url, "");
	CHECK(crig_until(&c, 200, burn_50, has_past));
	rig_run(&c.rig, 30, burn_50);
	rec = &app(&c)->control.recommendation;
	fprintf(stderr, "target %llu m, %llu MiB, observed %llu h\n",
		(unsigned long long)rec->resource[RESOURCE_CPU].target,
		(unsigned long long)(rec->resource[RESOURCE_MEMORY].target / MIB),
		(unsigned long long)(app(&c)->control.history.observed_usec[RESOURCE_CPU] /
				     USEC_PER_HOUR));
	CHECK(rec->resource[RESOURCE_CPU].target >= 600);
	CHECK(rec->resource[RESOURCE_CPU].target <= 800);
	CHECK(rec->resource[RESOURCE_MEMORY].target >= 200 * MIB);
	CHECK(rec->resource[RESOURCE_MEMORY].target <= 250 * MIB);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		CHECK(app(&c)->control.history.observed_usec[r] > 7 * USEC_PER_DAY);
	CHECK(!control_has("/v1/units/default/web-7f9c-new11/app", "\"past_samples\":0"));
	rig_run(&c.rig, 60, burn_50);
	CHECK_EQ(c.rig.events[EVENT_PAST_ADDED], 1); /* and not again */
	CHECK_EQ(c.rig.events[EVENT_PAST_FAILED], 0);
}

/* The server has CPU alone: nothing is known of memory. */
static void test_cpu_alone(const char *url)
{
	const struct history *h;

	open_with(url, ", matchers: 'kind=\"cpu\"'");
	CHECK(crig_until(&c, 200, burn_50, has_past));
	rig_run(&c.rig, 30, burn_50);
	h = &app(&c)->control.history;
	CHECK(h->observed_usec[RESOURCE_CPU] > 7 * USEC_PER_DAY);
	CHECK(h->observed_usec[RESOURCE_MEMORY] < USEC_PER_HOUR);
	CHECK_EQ(c.rig.events[EVENT_PAST_ADDED], 1);
}

/* No server, or a query that is refused: reported once, and the pod is sized without it. */
static void test_failed(const char *url, const char *more)
{
	open_with(url, more);
	CHECK(UNTIL(200, burn_699, c.rig.events[EVENT_PAST_FAILED] > 0));
	rig_run(&c.rig, 200, burn_699);
	CHECK_EQ(c.rig.events[EVENT_PAST_FAILED], 1);
	CHECK_EQ(c.rig.events[EVENT_PAST_ADDED], 0);
	CHECK(rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) > 200);
}

/* The server has no data of the pod. */
static void test_nothing(const char *url)
{
	open_with(url, ", matchers: 'cluster=\"other\"'");
	rig_run(&c.rig, 200, burn_50);
	CHECK_EQ(c.rig.events[EVENT_PAST_FAILED], 0);
	CHECK_EQ(c.rig.events[EVENT_PAST_ADDED], 0);
	CHECK(app(&c)->control.history.observed_usec[RESOURCE_CPU] < USEC_PER_HOUR);
}

int main(void)
{
	const char *url = getenv("VSCALED_PROMETHEUS"), *unreachable = getenv("VSCALED_NOBODY");

	if (url == NULL || unreachable == NULL)
		return check_skip("VSCALED_PROMETHEUS is not set: run prometheus_history.sh");
	test_answered(url);
	test_cpu_alone(url);
	test_failed(unreachable, "");
	test_failed(url, ", matchers: 'no-matcher'");
	test_nothing(url);
	return check_result();
}

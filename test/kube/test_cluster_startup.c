// SPDX-License-Identifier: Apache-2.0
/* What a container takes at its start stays in the cgroup: neither the spec nor a recommendation
 * follows it. */
#include "test/kube/test_cluster.h"

/* Of the rig's configuration. */
#define LEASE_SEC   30
#define STARTUP_SEC 20

#define ENDS "\"startup_ends_in_usec\":"

static struct rig_pod *begin_start(enum cgroup_driver driver)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	p = crig_pod(&c, driver, "web-0", AUTO);
	crig_start(&c);
	for (size_t i = 0; i < p->count; i++)
		p->container[i].started_real = c.rig.real;
	crig_kubelet(&c, p, NULL);
	return p;
}

static bool is_raised(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) >= 600;
}

static double reported(const cJSON *report, const char *key)
{
	const cJSON *list = cJSON_GetObjectItem(report, "containers");
	const cJSON *cpu = cJSON_GetObjectItem(cJSON_GetArrayItem(list, 0), "cpu");

	return cJSON_GetNumberValue(cJSON_GetObjectItem(cpu, key));
}

/* Use and target are of the same samples: start-up is in neither, not even in the maximum. */
static void check_report(void)
{
	char *page;
	cJSON *report;

	CHECK_EQ(crig_http(&c, "/v1/report", &page), 200);
	report = cJSON_Parse(page);
	free(page);
	fprintf(stderr, "p95 %.0fm, max %.0fm, target %.0fm\n", reported(report, "use_p95"),
		reported(report, "use_max"), reported(report, "target"));
	CHECK(reported(report, "target") >= 45 && reported(report, "target") < 100);
	CHECK(reported(report, "use_p95") >= 45 && reported(report, "use_p95") < 100);
	CHECK(reported(report, "use_max") < 100);
	cJSON_Delete(report);
}

/* Uses 50m of its 200m, but for the first seconds. */
TEST_DRIVERS(burst)
{
	struct rig_pod *p = begin_start(driver);
	usec_t start = p->container[0].started_real;
	const struct managed *m;
	char *body, *ends;

	CHECK(crig_until(&c, 40, burn_699, is_raised));
	m = managed_find(&c.rig.daemon->units, "default/web-0/app");
	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &body), 200);
	/* CPU comes first. */
	ends = strstr(body, ENDS);
	CHECK(ends != NULL && atoll(ends + strlen(ENDS)) > 0);
	free(body);
	/* Longer than the lease of an ordinary limit. */
	while (c.rig.real - start < (STARTUP_SEC - 3) * USEC_PER_SEC)
		rig_run(&c.rig, 1, burn_50);
	CHECK(is_raised(&c));
	CHECK(histogram_empty(&m->control.history.cpu));
	CHECK(UNTIL(240, burn_50, rig_cpu_milli(&c.rig, app_of(&c.rig.pod[0])) <= 220));
	check_report();
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	/* A decrease below the original is sent as always. */
	rig_run(&c.rig, LEASE_SEC + 10, burn_50);
	CHECK(crig_spec(&c, p, "app", RESOURCE_CPU) <= 200);
	CHECK(m->control.recommendation.resource[RESOURCE_CPU].peak < 200);
}

/* The load stays: the limit is ratified when it has held for a while after start-up. */
TEST(load)
{
	struct rig_pod *p = begin_start(DRIVER_CGROUPFS);
	usec_t start = p->container[0].started_real;

	CHECK(crig_until(&c, 120, burn_900, is_resized));
	CHECK(c.rig.real - start >= (STARTUP_SEC + LEASE_SEC) * USEC_PER_SEC);
	CHECK(crig_spec(&c, p, "app", RESOURCE_CPU) >= 690);
}

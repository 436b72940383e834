// SPDX-License-Identifier: Apache-2.0
/* Management ends for good: all that was changed goes back, each value as soon as it can, and the
 * status annotation, which has the originals, goes last. */
#include "test/kube/test_cluster.h"

static const char *const names[] = {"web-0", "web-1", "web-2", "web-3", "web-4", "web-5"};

static void mode_removed(struct rig_pod *p)
{
	crig_annotate(&c, p, "mode", NULL);
}

static void mode_off(struct rig_pod *p)
{
	crig_annotate(&c, p, "mode", "Off");
}

static void not_named(struct rig_pod *p)
{
	crig_annotate(&c, p, "containers", "log");
}

/* As the overlay restore does. */
static void uninstalled(struct rig_pod *)
{
	crig_kubernetes = ", highestMode: \"Off\", observe: None";
	crig_reload(&c, NULL);
}

static void uninstalled_by_a_new_agent(struct rig_pod *p)
{
	uninstalled(p);
	rig_stop(&c.rig);
	crig_start(&c);
}

static bool has_no_status(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_has_status(x, &x->rig.pod[i]))
			return false;
	return true;
}

static bool all_have_status(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (!crig_has_status(x, &x->rig.pod[i]))
			return false;
	return true;
}

/* Does the status annotation of the first pod have the original limits of app? */
static bool has_originals(void)
{
	struct kube_pod *pod = crig_read(&c, &c.rig.pod[0]);
	const char *text = kube_pod_annotation(pod, "status");
	struct kube_originals o;
	bool ret = text != NULL && kube_originals_read(text, "app", &o) == 0 &&
		   o.limit[RESOURCE_MEMORY] == 64 * MIB;

	kube_pod_free(pod);
	return ret;
}

static void grow(struct rig *r)
{
	burn_699(r);
	rig_grow(r, app_of(&r->pod[0]), 8 * MIB);
}

static void carried_out(void)
{
	rig_run(&c.rig, 2, burn_50);
	for (size_t i = 0; i < c.rig.pod_count; i++)
		crig_kubelet(&c, &c.rig.pod[i], NULL);
	rig_run(&c.rig, 2, burn_50);
}

static double waiting(void)
{
	OWN(drop_free) char *page = NULL;
	const char *at;

	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	at = strstr(page, "\nvscaled_reports_waiting ");
	CHECK(at != NULL);
	return at != NULL ? strtod(at + strlen("\nvscaled_reports_waiting "), NULL) : -1;
}

/* app uses more memory than its original limit: CPU goes back alone. */
static void test_memory_stays(enum cgroup_driver driver, void (*end)(struct rig_pod *p), bool keeps)
{
	struct rig_pod *p = begin(driver, NULL, AUTO);

	ratify(p);
	rig_run(&c.rig, 12, grow);
	CHECK(crig_until(&c, 80, burn_699, has_headroom));
	carried_out();
	CHECK(crig_until(&c, 60, burn_699, all_have_status));
	end(p);
	CHECK(crig_until(&c, 60, burn_50, is_put_back));
	carried_out();
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK(has_headroom(&c));
	rig_run(&c.rig, 60, burn_50);
	CHECK(has_headroom(&c));
	CHECK(!cgroup_is_original(&c));
	/* They are nowhere else in the cluster. */
	CHECK(has_originals());
	CHECK_EQ(waiting(), 0);
	app_of(p)->anon_bytes = 20 * MIB;
	CHECK(crig_until(&c, 130, burn_50, memory_is_original));
	carried_out();
	CHECK(cgroup_is_original(&c));
	if (!keeps)
		CHECK(crig_until(&c, 30, burn_50, has_no_status));
	CHECK_EQ(crig_has_status(&c, p), keeps);
	CHECK_EQ(waiting(), 0);
	CHECK_EQ(c.rig.kills, 0);
	crig_kubernetes = "";
}

static void open_few(const char *kubernetes)
{
	crig_kubernetes = kubernetes;
	crig_open(&c, NULL, NULL);
}

static bool all_are_resized(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) == 200)
			return false;
	return true;
}

static bool all_are_put_back(struct crig *x)
{
	for (size_t i = 0; i < x->rig.pod_count; i++)
		if (crig_spec(x, &x->rig.pod[i], "app", RESOURCE_CPU) != 200)
			return false;
	return true;
}

/* The overlay restore while many pods are sized: no annotation stays, though the pods have a mode,
 * and nothing waits once all is back. */
static void test_uninstall(void (*end)(struct rig_pod *p))
{
	open_few("");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		crig_pod(&c, DRIVER_CGROUPFS, names[i], AUTO);
	crig_start(&c);
	CHECK(crig_until(&c, 200, burn_699, all_are_resized));
	carried_out();
	CHECK(crig_until(&c, 200, burn_699, all_have_status));
	end(&c.rig.pod[0]);
	CHECK(crig_until(&c, 200, burn_50, all_are_put_back));
	carried_out();
	CHECK(crig_until(&c, 200, burn_50, has_no_status));
	rig_run(&c.rig, 1, burn_50);
	CHECK_EQ(waiting(), 0);
	rig_run(&c.rig, 60, burn_50);
	CHECK(has_no_status(&c));
	CHECK_EQ(waiting(), 0);
}

/* The owner's values after the pod was handed back are nothing that is to go back. */
TEST(owner_afterwards)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	CHECK(crig_until(&c, 60, burn_699, all_have_status));
	mode_off(p);
	CHECK(crig_until(&c, 60, burn_50, is_put_back));
	carried_out();
	crig_user_resizes(&c, p, "400m", "128Mi");
	carried_out();
	rig_run(&c.rig, 20, burn_50);
	uninstalled(p);
	CHECK(crig_until(&c, 60, burn_50, has_no_status));
	CHECK_EQ(crig_spec(&c, p, "app", RESOURCE_CPU), 400);
	CHECK_EQ(memory_of(&c), 128 * MIB);
	crig_kubernetes = "";
}

/* The kubelet replays the spec after the cgroup was restored and before the spec is. */
static void test_replayed(void (*end)(struct rig_pod *p))
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);

	ratify(p);
	rig_run(&c.rig, 12, grow);
	CHECK(crig_until(&c, 80, burn_699, has_headroom));
	carried_out();
	app_of(p)->anon_bytes = 20 * MIB;
	rig_run(&c.rig, 2, burn_50);
	crig_fault(&c, "500", "\"match\":\"PATCH .*/resize\",\"count\":-1");
	end(p);
	CHECK(crig_until(&c, 60, burn_50, has_200));
	CHECK(crig_until(&c, 60, burn_50, cgroup_is_original));
	rig_run(&c.rig, 3, burn_50);
	crig_kubelet(&c, p, NULL);
	CHECK(!cgroup_is_original(&c));
	rig_run(&c.rig, 3, burn_50);
	crig_heal(&c);
	CHECK(crig_until(&c, 120, burn_50, is_put_back));
	CHECK(crig_until(&c, 120, burn_50, memory_is_original));
	carried_out();
	CHECK(has_200(&c));
	CHECK(cgroup_is_original(&c));
	CHECK_EQ(c.rig.kills, 0);
	crig_kubernetes = "";
}

/* As a string of JSON. */
#define LEFT "{\\\"mode\\\":\\\"Off\\\",\\\"containers\\\":{}}"

/* An annotation that was left while no agent ran, or by one that recommended only. */
static void test_left_annotation(const char *annotations, const char *kubernetes, bool stays)
{
	struct rig_pod *p;

	open_few(kubernetes);
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", annotations);
	crig_annotate(&c, p, "status", LEFT);
	crig_start(&c);
	rig_run(&c.rig, 40, burn_50);
	CHECK_EQ(crig_has_status(&c, p), stays);
	CHECK_EQ(waiting(), 0);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
}

TEST(with_parameters)
{
	test_replayed(mode_removed);
	test_replayed(uninstalled);
	test_uninstall(uninstalled);
	test_uninstall(uninstalled_by_a_new_agent);
	test_left_annotation(NULL, "", false);
	test_left_annotation(NULL, ", highestMode: \"Off\", observe: None", false);
	test_left_annotation(AUTO, ", highestMode: \"Off\", observe: None", false);
	test_left_annotation("{\"vscaled.dev/mode\":\"Off\"}", ", observe: None", false);
	test_left_annotation("{\"vscaled.dev/mode\":\"Off\"}", "", true);
	crig_kubernetes = "";
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++)
		test_memory_stays(driver, mode_removed, false);
	test_memory_stays(DRIVER_CGROUPFS, mode_off, true);
	test_memory_stays(DRIVER_CGROUPFS, not_named, true);
	test_memory_stays(DRIVER_CGROUPFS, uninstalled_by_a_new_agent, false);
}

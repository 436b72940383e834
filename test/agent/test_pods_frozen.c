// SPDX-License-Identifier: Apache-2.0
/* A mistake in the annotations of a pod or of its namespace: what is sized stays as it is until it
 * is corrected, or until a valid annotation ends its management; what is not sized stays so. */
#include "agent/pod/pods.h"
#include "agent/serve/show.h"
#include "test/agent/test_pods.h"

static void pods_burn_1500(struct rig *r)
{
	pods_burn(r, 1500);
}

/* app is sized; log is not throttled. */
static struct rig_pod *begin(struct rig *r, enum cgroup_driver driver)
{
	struct rig_pod *p = pods_begin(r, driver, "");

	pods_raise_app(r, p);
	rig_run(r, 5, pods_burn_800);
	return p;
}

static void annotate(struct rig *r, struct rig_pod *p, const char *key, const char *value)
{
	p->extra_key = key;
	p->extra_value = value;
	rig_pod_put(r, p);
}

static const char *state_of(struct rig *r, const char *name)
{
	const struct shown x = shown_entry(pods_of(r, name));
	static char text[512];
	const char *why = shown_reason_text(&x);

	snprintf(text, sizeof text, "%s %s: %s", mode_name(managed_mode(x.m)),
		 unit_state_names[state_rows[shown_reason(&x)].state], why != NULL ? why : "");
	return text;
}

#define APP "default/web-0/app"

/* Neither load nor time moves a limit, in the files and in what PID 1 stores. */
static void check_stays(struct rig *r, struct rig_pod *p, uint64_t milli, unsigned idle_seconds)
{
	struct rig_unit *app = p->container[0].unit;

	rig_run(r, 60, pods_burn_1500);
	CHECK_EQ(rig_cpu_milli(r, app), milli);
	rig_run(r, idle_seconds, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, app), milli);
	CHECK_EQ(rig_bytes(r, app, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(r, p->level), milli + 300);
	if (p->driver == DRIVER_SYSTEMD)
		CHECK_EQ(app->props.cpu_quota_per_sec_usec, milli * USEC_PER_MSEC);
	CHECK_EQ(r->events[EVENT_RESTORED], 0);
	CHECK_EQ(r->events[EVENT_UNIT_UNMANAGED], 0);
}

static const struct {
	const char *mode, *key, *value, *containers, *reason;
} mistakes[] = {
	{"Auto", "mod", "Auto", NULL, "vscaled.dev/mod is unknown"},
	{"Auto", "max-cpu", "lots", NULL, "vscaled.dev/max-cpu: \"lots\" is not valid"},
	{"Atuo", NULL, NULL, NULL, "vscaled.dev/mode: \"Atuo\" is not valid"},
	{"", NULL, NULL, NULL, "vscaled.dev/mode: \"\" is not valid"},
	/* The key of the mode was misspelt: it was not removed. */
	{NULL, "mdoe", "Auto", NULL, "vscaled.dev/mdoe is unknown"},
	{"Auto", "resources", "mem", NULL, "vscaled.dev/resources: \"mem\" is not valid"},
	{"Auto", "rollout", "10", NULL, "vscaled.dev/rollout: \"10\" is not valid"},
	{"Auto", "policy", "{", NULL, "vscaled.dev/policy: "},
	{"Auto", NULL, NULL, "ap,log", "vscaled.dev/containers: ap is no container of the pod"},
	{"Auto", "policy",
	 "{\"containerPolicies\":[{\"containerName\":\"ap\"},"
	 "{\"containerName\":\"*\",\"mode\":\"Off\"}]}",
	 NULL, "vscaled.dev/policy: ap is no container of the pod"},
	{"Auto", NULL, NULL, "app log", "vscaled.dev/containers: \"app log\" is not valid"},
};

static void test_frozen(enum cgroup_driver driver, size_t i, bool restarted)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, driver);
	uint64_t held = rig_cpu_milli(&r, p->container[0].unit);

	p->mode = mistakes[i].mode;
	p->containers = mistakes[i].containers;
	annotate(&r, p, mistakes[i].key, mistakes[i].value);
	rig_pod_put(&r, p);
	if (restarted) {
		rig_run(&r, 5, pods_burn_20);
		rig_restart(&r);
		rig_pod_put(&r, p);
	}
	check_stays(&r, p, held, i == 0 ? 900 : 30);
	CHECK_EQ(r.events[EVENT_ANNOTATION_INVALID], restarted ? 2 : 1);
	if (strstr(state_of(&r, APP), mistakes[i].reason) == NULL)
		CHECK_STR(state_of(&r, APP), mistakes[i].reason);
	CHECK(strncmp(state_of(&r, APP), "Auto frozen: ", 13) == 0);
	p->mode = "Auto";
	p->containers = NULL;
	annotate(&r, p, NULL, NULL);
	rig_run(&r, 20, pods_burn_1500);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= 1500);
	CHECK_STR(state_of(&r, APP), "Auto managed: ");
	CHECK(!r.below);
}

/* Ended by what can be read of them, whatever else is wrong. */
static void test_ended(const char *mode, const char *containers, const char *config)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = begin(&r, DRIVER_SYSTEMD);

	annotate(&r, p, "max-cpu", "lots");
	rig_run(&r, 5, pods_burn_20);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= 800);
	p->mode = mode;
	p->containers = containers;
	rig_pod_put(&r, p);
	if (config != NULL)
		rig_reload(&r, config);
	rig_run(&r, 5, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	if (containers == NULL)
		pods_check_originals(&r, p);
}

/* Never sized: nothing is written, and what is wrong is shown. */
TEST_RIG(unsized)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");

	annotate(r, p, "mod", "Auto");
	rig_run(r, 30, pods_burn_800);
	pods_check_originals(r, p);
	CHECK_EQ(r->daemon->records.baselines.count, 0);
	CHECK(strncmp(state_of(r, APP), "Off frozen: vscaled.dev/mod", 27) == 0);
	annotate(r, p, NULL, NULL);
	rig_run(r, 15, pods_burn_800);
	CHECK(rig_cpu_milli(r, p->container[0].unit) >= 800);
	/* A mode that is misspelt from the start names no pod. */
	p->mode = NULL;
	rig_pod_run(r, p, 5, pods_burn_20);
	CHECK_EQ(r->daemon->pods.count, 0);
	annotate(r, p, "mod", "Auto");
	rig_run(r, 5, pods_burn_800);
	CHECK_EQ(r->daemon->pods.count, 0);
}

/* What is held is kept against others, for a new run too, and use never lacks memory. */
TEST_RIG_DRIVERS(safety)
{
	struct rig_pod *p = begin(r, driver);
	struct rig_container *app = &p->container[0];
	uint64_t held = rig_cpu_milli(r, app->unit);

	annotate(r, p, "mod", "Auto");
	rig_run(r, 5, pods_burn_20);
	app->unit->props.cpu_quota_per_sec_usec = 200 * USEC_PER_MSEC;
	rig_put(r, app->unit, "cpu.max", "20000 100000\n");
	rig_run(r, 5, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, app->unit), held);
	for (int i = 0; i < 20; i++) {
		rig_grow(r, app->unit, 8 * MIB);
		rig_run(r, 1, pods_burn_20);
	}
	CHECK_EQ(r->kills, 0);
	CHECK(rig_bytes(r, app->unit, "memory.max") > 160 * MIB);
	rig_container_stop(r, app);
	rig_run(r, 2, NULL);
	rig_container_start(r, p, app, false);
	app->reported = true;
	rig_pod_run(r, p, 15, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, app->unit), held);
	CHECK_EQ(r->events[EVENT_ANNOTATION_INVALID], 1);
}

/* A mistake does not resume what a persistent writer suspended; its correction does. */
TEST_RIG(gave_way)
{
	struct rig_pod *p = begin(r, DRIVER_CGROUPFS);

	for (int i = 0; i < 4; i++) {
		rig_put(r, p->container[0].unit, "cpu.max", "30000 100000\n");
		rig_run(r, 6, pods_burn_800);
	}
	CHECK_EQ(managed_state(pods_of(r, APP)), UNIT_GAVE_WAY);
	annotate(r, p, "mod", "Auto");
	rig_run(r, 10, pods_burn_800);
	CHECK_EQ(managed_state(pods_of(r, APP)), UNIT_GAVE_WAY);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 300);
	annotate(r, p, NULL, NULL);
	rig_run(r, 10, pods_burn_800);
	CHECK_EQ(managed_state(pods_of(r, APP)), UNIT_MANAGED);
}

static void set_namespace(struct rig *r, const char *key, const char *value)
{
	struct kube_namespaces n = {0};

	n.items = calloc(1, sizeof *n.items);
	n.count = 1;
	n.items[0].name = strdup("default");
	n.items[0].annotations = calloc(1, sizeof *n.items[0].annotations);
	n.items[0].annotations[0] = (struct kube_annotation){strdup(key), strdup(value)};
	n.items[0].annotation_count = 1;
	pods_set_namespaces(&r->daemon->pods, &n);
	kube_namespaces_drop(&n);
}

TEST_RIG(namespace)
{
	struct rig_pod *p = pods_begin(r, DRIVER_CGROUPFS, "");
	uint64_t held;

	p->mode = NULL;
	set_namespace(r, "mode", "Auto");
	held = pods_raise_app(r, p);
	set_namespace(r, "mode", "Atuo");
	check_stays(r, p, held, 30);
	CHECK_EQ(r->events[EVENT_ANNOTATION_INVALID], 1);
	CHECK(strstr(state_of(r, APP), "frozen: namespace default: vscaled.dev/mode") != NULL);
	set_namespace(r, "mod", "Auto");
	check_stays(r, p, held, 30);
	CHECK_EQ(r->events[EVENT_ANNOTATION_INVALID], 2);
	set_namespace(r, "mode", "Off");
	rig_run(r, 5, pods_burn_20);
	pods_check_originals(r, p);
}

/* The records are lost as well: the originals are read from the status, and nothing moves. */
TEST_RIG(records_lost)
{
	struct rig_pod *p;

	rig_open(r, "");
	p = rig_pod_add(r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(r, p, "app", 800, 64 * MIB);
	p->mode = "Atuo";
	p->resize_ours = true;
	CHECK_EQ(rig_start(r), 0);
	r->daemon->records.originals_lost = true;
	annotate(r, p, "status",
		 "{\"containers\":{\"app\":{\"cpu\":{\"original\":\"200m\",\"limit\":\"800m\"},"
		 "\"memory\":{\"original\":\"64Mi\",\"limit\":\"64Mi\"}}}}");
	rig_run(r, 60, pods_burn_1500);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 800);
	CHECK_EQ(pods_of(r, APP)->control.resource[RESOURCE_CPU].original, 200);
	p->mode = "Off";
	rig_pod_run(r, p, 5, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 200);
}

TEST(with_parameters)
{
	for (size_t i = 0; i < ARRAY_SIZE(mistakes); i++) {
		test_frozen(DRIVER_CGROUPFS, i, false);
		test_frozen(DRIVER_SYSTEMD, i, true);
	}
	test_ended("Off", NULL, NULL);
	test_ended(NULL, NULL, NULL);
	test_ended("Auto", "log", NULL);
	test_ended("Auto", NULL, "kubernetes: {highestMode: Off}\n");
}

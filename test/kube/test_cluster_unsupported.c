// SPDX-License-Identifier: Apache-2.0
/* Nodes and pods that cannot be managed, or seem so: the agent stays up, says so once each, and
 * writes nothing. */
#include "test/kube/test_cluster.h"
#include <errno.h>
#include <unistd.h>

static bool is_sent_already(struct crig *x)
{
	return crig_events(x, "NodeUnsupported") > 0;
}

static void check_answer(const char *path, const char *contains)
{
	OWN(drop_free) char *body = NULL;

	CHECK_EQ(crig_http(&c, path, &body), 200);
	CHECK(body != NULL && strstr(body, contains) != NULL);
}

static void check_control(const char *path, const char *contains)
{
	OWN(drop_free) char *body = NULL;

	CHECK_EQ(crig_control(&c, path, &body), 200);
	CHECK(body != NULL && strstr(body, contains) != NULL);
}

static bool has_state(const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "%s/state/%s", c.rig.folder, name);
	return access(path, F_OK) == 0;
}

static void test_in_cluster(enum cg_mode mode, const char *word)
{
	struct rig_pod *p, *plain;
	char metric[64];

	crig_open(&c, NULL, NULL);
	c.rig.mode = mode;
	p = crig_pod(&c, DRIVER_CGROUPFS, "web-0", AUTO);
	plain = crig_pod(&c, DRIVER_CGROUPFS, "plain-0", NULL);
	crig_start(&c);
	CHECK_STR(c.rig.daemon->host.unsupported, word);
	CHECK(crig_until(&c, 240, burn_699, is_sent_already));
	crig_annotate(&c, p, "max-cpu", "800m");
	reload_config(&c.rig.loop->reload);
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(crig_events(&c, "NodeUnsupported"), 1);

	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
	CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.high"), LIMIT_MAX);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 500);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(plain)), 200);
	CHECK_EQ(crig_requests(&c, "PATCH /api/v1", 0), 0);
	CHECK_EQ(crig_requests(&c, "plain-0", 0), 0);
	CHECK(!has_state("baseline") && !has_state("history"));

	check_answer("/livez", "ok");
	check_answer("/readyz", "ok");
	snprintf(metric, sizeof metric, "vscaled_unsupported{reason=\"%s\"} 1\n", word);
	check_answer("/metrics", metric);
	check_control("/v1/status", word);
	check_control("/v1/units", "cgroup version 2 is needed");
}

static void take_result(void *, const struct restore_result *)
{
}

static size_t read_baseline(char *text, size_t size)
{
	char path[128];
	FILE *f;
	size_t n = 0;

	snprintf(path, sizeof path, "%s/state/baseline", c.rig.folder);
	f = fopen(path, "re");
	if (f != NULL) {
		n = fread(text, 1, size, f);
		fclose(f);
	}
	return n;
}

/* The state folder lost its lock: the daemon takes the lock again and opens the folder again. */
static void remove_lock(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/state/lock", c.rig.folder);
	CHECK_EQ(unlink(path), 0);
	rig_run(&c.rig, 150, burn_699);
	CHECK(has_state("lock"));
}

/* What an earlier life of the node had left is not touched either. */
TEST(records_stay)
{
	struct rig_pod *p = begin(DRIVER_CGROUPFS, NULL, AUTO);
	char before[8192], after[8192];
	size_t n;

	CHECK(crig_until(&c, 240, burn_699, is_resized));
	rig_stop(&c.rig);
	n = read_baseline(before, sizeof before);
	CHECK(n > 0 && n < sizeof before);
	c.rig.mode = CG_MODE_V1;
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, is_sent_already));
	rig_run(&c.rig, 30, burn_699);
	CHECK_EQ(lifecycle_restore(&c.rig.loop->hand_back, NULL, true, take_result, NULL),
		 -ENOTSUP);
	CHECK_EQ(read_baseline(after, sizeof after), n);
	remove_lock();
	CHECK_EQ(read_baseline(after, sizeof after), n);
	CHECK(memcmp(before, after, n) == 0);
	CHECK_EQ(c.rig.daemon->tally.saves, 0);
	rig_stop(&c.rig);
	c.rig.mode = CG_MODE_NONE;
	crig_start(&c);
	CHECK(crig_until(&c, 240, burn_699, is_listed));
	rig_run(&c.rig, 5, burn_699);
	CHECK_EQ(managed_find(&c.rig.daemon->units, "default/web-0/app")
			 ->control.resource[RESOURCE_CPU]
			 .original,
		 200);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 700);
}

TEST(standalone)
{
	OWN(rig_close) struct rig r;

	rig_open(&r, rig_config("  - {match: a.service}\n"));
	r.mode = CG_MODE_HYBRID;
	CHECK_EQ(rig_start(&r), -ENOTSUP);
}

/* --- where the pods are --- */

/* A pod folder that is left of an earlier kubelet, or belongs to another. */
#define OTHER_UID "11111111-2222-3333-4444-555555555555"

static bool is_sized(struct crig *x)
{
	return rig_cpu_milli(&x->rig, app_of(&x->rig.pod[0])) > 600;
}

static void test_finds_root(enum cgroup_driver driver, const char *above, const char *nested,
			    bool named, const char *stale)
{
	char keys[128] = "";

	if (named)
		snprintf(keys, sizeof keys, ", cgroupPrefix: /other");
	crig_kubernetes = keys;
	crig_open(&c, NULL, NULL);
	c.rig.above = above;
	c.rig.nested = nested;
	crig_pod(&c, driver, "web-0", AUTO);
	if (stale != NULL)
		fake_put(&c.rig.tree, stale, NULL);
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_699, is_sized));
	rig_run(&c.rig, 60, burn_699);
	CHECK_EQ(c.rig.events[EVENT_NODE_NAME_WRONG], 0);
	CHECK_EQ(c.rig.daemon->records.baselines.count, 2);
	check_answer("/readyz", "ok");
	crig_close(&c);
	crig_kubernetes = "";
}

/* --- pods that are not found --- */

static bool is_said(struct crig *x)
{
	return crig_events(x, "CgroupMissing") > 0;
}

enum layout {
	LAYOUT_DEEP,
	LAYOUT_DRIVER,
	LAYOUT_KATA,
	LAYOUT_KATA_DEFAULT,
	LAYOUT_GVISOR,
	LAYOUT_COUNT
};

static const struct {
	const char *reason, *said;
	bool ready;
} layouts[LAYOUT_COUNT] = {
	[LAYOUT_DEEP] = {"pod-cgroup", "set kubernetes.cgroupPrefix", false},
	[LAYOUT_DRIVER] = {"cgroup-driver", "the same cgroup driver", false},
	[LAYOUT_KATA] = {"sandbox", "as Kata Containers", true},
	[LAYOUT_KATA_DEFAULT] = {"sandbox", "as Kata Containers", true},
	[LAYOUT_GVISOR] = {"sandbox-processes", "as with gVisor", true},
};

/* Containers that the runtime puts elsewhere, or leaves empty. */
static void lay_out(struct rig_pod *p, enum layout layout)
{
	for (size_t i = 0; i < p->count; i++) {
		struct rig_unit *u = p->container[i].unit;

		if (layout == LAYOUT_GVISOR) {
			rig_put(&c.rig, u, "cgroup.events", "populated 0\nfrozen 0\n");
		} else if (layout != LAYOUT_DEEP) {
			fake_remove(&c.rig.tree, u->cgroup);
			u->running = false;
		}
	}
	/* The processes of a sandbox are below the pod; those of another driver's containers are
	 * not. */
	if (layout == LAYOUT_DRIVER)
		rig_put(&c.rig, p->level, "cgroup.events", "populated 0\nfrozen 0\n");
}

static void check_explained(const char *said)
{
	OWN(drop_free) char *body = NULL;

	CHECK_EQ(crig_control(&c, "/v1/units/default/web-0/app", &body), 200);
	CHECK(body != NULL && strstr(body, said) != NULL);
	CHECK(strstr(body, "\"state\":\"unmanaged\"") != NULL);
	CHECK(strstr(body, "\"mode\":\"Auto\"") != NULL);
	CHECK(strstr(body, "\"hold\":\"none\"") == NULL);
}

static struct rig_pod *begin_layout(enum layout layout)
{
	struct rig_pod *p;

	crig_open(&c, NULL, NULL);
	if (layout == LAYOUT_DEEP)
		c.rig.above = "1/2/3/4/5/6/7/8/9/10/11/";
	p = crig_pod_with(&c, layout == LAYOUT_DEEP ? DRIVER_CGROUPFS : DRIVER_SYSTEMD, "web-0",
			  AUTO, layout == LAYOUT_KATA ? "\"runtimeClassName\":\"kata\"" : NULL);
	lay_out(p, layout);
	crig_start(&c);
	CHECK(crig_until(&c, 240, NULL, is_listed));
	return p;
}

static void test_says(enum layout layout)
{
	OWN(drop_free) char *page = NULL, *ready = NULL;
	struct rig_pod *p = begin_layout(layout);
	char metric[64];

	rig_run(&c.rig, 6, NULL);
	CHECK(!is_said(&c));
	CHECK(crig_until(&c, 30, NULL, is_said));
	CHECK_EQ(crig_lines(&c, EVENT_UNIT_UNMANAGED, layouts[layout].said), 1);
	check_explained(layouts[layout].said);
	CHECK_EQ(crig_http(&c, "/metrics", &page), 200);
	snprintf(metric, sizeof metric, "vscaled_unsupported{reason=\"%s\"} 1\n",
		 layouts[layout].reason);
	CHECK(strstr(page, metric) != NULL);
	CHECK_EQ(crig_http(&c, "/readyz", &ready), layouts[layout].ready ? 200 : 503);
	CHECK(layouts[layout].ready || strstr(ready, "[-]pod-cgroups failed") != NULL);
	crig_annotate(&c, p, "max-cpu", "800m");
	rig_run(&c.rig, 120, NULL);
	CHECK_EQ(crig_events(&c, "CgroupMissing"), 1);
	/* What is not found is searched for less and less often. */
	if (layout == LAYOUT_DEEP)
		CHECK(c.rig.loop->cluster->search_usec > USEC_PER_MIN);
	CHECK_EQ(crig_requests(&c, "/resize", 0), 0);
	CHECK_EQ(rig_cpu_milli(&c.rig, p->level), 500);
	CHECK_EQ(rig_bytes(&c.rig, p->level, "memory.max"), 96 * MIB);
	if (layout == LAYOUT_GVISOR)
		CHECK_EQ(rig_bytes(&c.rig, app_of(p), "memory.max"), 64 * MIB);
}

static void fill(struct rig_pod *p, bool populated)
{
	for (size_t i = 0; i < p->count; i++)
		rig_put(&c.rig, p->container[i].unit, "cgroup.events",
			populated ? "populated 1\nfrozen 0\n" : "populated 0\nfrozen 0\n");
}

/* A cgroup is empty for a moment at the start and at the end; and one that was left alone is
 * managed once it is found. */
TEST(found_again)
{
	struct rig_pod *p = begin_layout(LAYOUT_GVISOR);

	rig_run(&c.rig, 10, NULL);
	CHECK_EQ(c.rig.daemon->records.baselines.count, 1);
	fill(p, true);
	CHECK(crig_until(&c, 60, burn_699, is_sized));
	fill(p, false);
	rig_run(&c.rig, 60, burn_699);
	CHECK(!is_said(&c));
	CHECK_EQ(c.rig.events[EVENT_UNIT_UNMANAGED], 0);
	rig_stop(&c.rig);
	/* Now it stays so. What an earlier release had sized goes back. */
	crig_start(&c);
	CHECK(crig_until(&c, 60, burn_50, is_said));
	rig_run(&c.rig, 30, burn_50);
	CHECK_EQ(rig_cpu_milli(&c.rig, app_of(p)), 200);
	fill(p, true);
	crig_annotate(&c, p, "max-cpu", "800m");
	CHECK(crig_until(&c, 120, burn_699, is_sized));
}

TEST(with_parameters)
{
	for (enum layout layout = 0; layout < LAYOUT_COUNT; layout++)
		test_says(layout);
	test_finds_root(DRIVER_CGROUPFS, "kubelet/", NULL, false, NULL);
	test_finds_root(DRIVER_SYSTEMD, "kubelet.slice/", "kubelet-", false, NULL);
	test_finds_root(DRIVER_SYSTEMD, "user.slice/user@1000.service/docker-1.scope/", NULL, true,
			NULL);
	test_finds_root(DRIVER_CGROUPFS, "kubelet/", NULL, false,
			"kubepods/burstable/pod" OTHER_UID);
	test_in_cluster(CG_MODE_V1, "cgroup-v1");
	test_in_cluster(CG_MODE_HYBRID, "cgroup-hybrid");
}

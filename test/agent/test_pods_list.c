// SPDX-License-Identifier: Apache-2.0
/* Lists of pods, and what they lack: records stay as long as they may be needed. */
#include "test/agent/test_pods.h"
#include <string.h>

static const struct control_resource *resource(struct rig *r, const char *name, enum resource k)
{
	return &pods_of(r, name)->control.resource[k];
}

/* Something in the list could not be read: it may be the pod that is sized. */
static void test_list_with_a_hole(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");
	uint64_t had;

	rig_pod_put(&r, p);
	rig_run(&r, 20, pods_burn_800);
	had = rig_cpu_milli(&r, p->container[0].unit);
	pods_list_begin(r.daemon);
	pods_list_end(r.daemon, false);
	rig_run(&r, 2, pods_burn_800);
	CHECK_EQ(r.daemon->pods.count, 1);
	CHECK_EQ(r.daemon->baselines.count, 3);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= had);
	rig_pod_remove(&r, p);
	rig_run(&r, 2, NULL);
	pods_list_begin(r.daemon);
	pods_list_end(r.daemon, false);
	CHECK_EQ(r.daemon->pods.count, 0);
	rig_close(&r);
}

/* A list of a server that lags, or of another node, lacks a pod that lives: nothing of it is
 * dropped, and what it had before us can be put back. */
static void test_list_lacks_it(enum cgroup_driver driver, bool restart)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, driver, "");
	uint64_t had = pods_raise_app(&r, p);

	if (restart) {
		rig_stop(&r);
		CHECK_EQ(rig_start(&r), 0);
	}
	for (int i = 0; i < 2; i++) {
		pods_list_begin(r.daemon);
		pods_list_end(r.daemon, true);
		rig_run(&r, 70, pods_burn_800);
		CHECK_EQ(r.daemon->baselines.count, 3);
		CHECK_EQ(r.daemon->pods.count, restart ? 0 : 1);
		CHECK(rig_cpu_milli(&r, p->container[0].unit) >= (restart ? had : 800));
	}
	pods_list_begin(r.daemon);
	rig_pod_put(&r, p);
	pods_list_end(r.daemon, true);
	rig_run(&r, 2, pods_burn_800);
	CHECK_EQ(resource(&r, "default/web-0/app", RESOURCE_CPU)->original, 200);
	p->mode = NULL;
	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_20);
	pods_check_originals(&r, p);
	CHECK_EQ(r.daemon->baselines.count, 0);
	rig_close(&r);
}

/* It goes with its cgroup, whoever still has a record of it. */
static void test_lacking_and_gone(bool restart)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");

	pods_raise_app(&r, p);
	if (restart) {
		rig_stop(&r);
		CHECK_EQ(rig_start(&r), 0);
	}
	pods_list_begin(r.daemon);
	pods_list_end(r.daemon, true);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->baselines.count, 3);
	rig_pod_remove(&r, p);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->pods.count, 0);
	CHECK_EQ(r.daemon->baselines.count, 0);
	rig_close(&r);
}

/* DELETED is the API server's word, for a record alone as well. */
static void test_lacking_and_deleted(bool restart)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");

	pods_raise_app(&r, p);
	if (restart) {
		rig_stop(&r);
		CHECK_EQ(rig_start(&r), 0);
	}
	pods_list_begin(r.daemon);
	pods_list_end(r.daemon, true);
	CHECK_EQ(r.daemon->baselines.count, 3);
	pods_gone(r.daemon, p->uid);
	CHECK_EQ(r.daemon->pods.count, 0);
	CHECK_EQ(r.daemon->baselines.count, 0);
	rig_close(&r);
}

static void test_records_of_the_dead(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");

	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_800);
	rig_stop(&r);
	rig_pod_remove(&r, p);
	CHECK_EQ(rig_start(&r), 0);
	CHECK_EQ(r.daemon->baselines.count, 3);
	pods_list_begin(r.daemon);
	pods_list_end(r.daemon, true);
	CHECK_EQ(r.daemon->baselines.count, 0);
	rig_close(&r);
}

int main(void)
{
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++) {
		test_list_lacks_it(driver, false);
		test_list_lacks_it(driver, true);
	}
	test_list_with_a_hole();
	test_records_of_the_dead();
	for (int restart = 0; restart < 2; restart++) {
		test_lacking_and_gone(restart);
		test_lacking_and_deleted(restart);
	}
	return check_result();
}

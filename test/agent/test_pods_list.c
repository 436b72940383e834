// SPDX-License-Identifier: Apache-2.0
/* Lists of pods, and what they lack: records stay as long as they may be needed. */
#include "agent/pod/pods.h"
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
	pods_list_begin(&r.daemon->pods);
	pods_list_end(&r.daemon->pods, false);
	rig_run(&r, 2, pods_burn_800);
	CHECK_EQ(r.daemon->pods.count, 1);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	CHECK(rig_cpu_milli(&r, p->container[0].unit) >= had);
	rig_pod_remove(&r, p);
	rig_run(&r, 2, NULL);
	pods_list_begin(&r.daemon->pods);
	pods_list_end(&r.daemon->pods, false);
	rig_run(&r, 700, NULL);
	pods_list_begin(&r.daemon->pods);
	pods_list_end(&r.daemon->pods, false);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
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
		pods_list_begin(&r.daemon->pods);
		pods_list_end(&r.daemon->pods, true);
		rig_run(&r, 70, pods_burn_800);
		CHECK_EQ(r.daemon->records.baselines.count, 3);
		CHECK_EQ(r.daemon->pods.count, restart ? 0 : 1);
		CHECK(rig_cpu_milli(&r, p->container[0].unit) >= (restart ? had : 800));
	}
	pods_list_begin(&r.daemon->pods);
	rig_pod_put(&r, p);
	pods_list_end(&r.daemon->pods, true);
	rig_run(&r, 2, pods_burn_800);
	CHECK_EQ(resource(&r, "default/web-0/app", RESOURCE_CPU)->original, 200);
	p->mode = NULL;
	rig_pod_put(&r, p);
	rig_run(&r, 10, pods_burn_20);
	pods_check_originals(&r, p);
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_close(&r);
}

/* A whole list with these pods; NULL: none. */
static void list_of(struct rig *r, struct rig_pod *p)
{
	pods_list_begin(&r->daemon->pods);
	if (p != NULL)
		rig_pod_put(r, p);
	pods_list_end(&r->daemon->pods, true);
}

static void restart_daemon(struct rig *r)
{
	rig_stop(r);
	CHECK_EQ(rig_start(r), 0);
}

/* default/web-0 was sized and has no cgroup now; restart: only its records are known. */
static struct rig_pod *begin_without_cgroup(struct rig *r, enum cgroup_driver driver, bool restart)
{
	struct rig_pod *p = pods_begin(r, driver, "");

	pods_raise_app(r, p);
	rig_pod_remove(r, p);
	rig_run(r, 2, NULL);
	if (restart)
		restart_daemon(r);
	return p;
}

/* Its cgroups are made anew: with the sizes of ours that the spec holds. */
static void come_back(struct rig *r, struct rig_pod *p)
{
	p->resize_ours = true;
	p->generation++;
	rig_pod_make(r, p);
	for (size_t i = 0; i < p->count; i++) {
		p->container[i].spec.limit[RESOURCE_CPU] *= 4;
		rig_container_start(r, p, &p->container[i], false);
		p->container[i].reported = true;
	}
}

/* A stale list lacks a pod of which no cgroup is there at this moment: its sandbox is being made
 * anew, or the node was booted. */
static void test_list_lacks_it_without_cgroup(enum cgroup_driver driver, bool restart)
{
	struct rig r;
	struct rig_pod *p = begin_without_cgroup(&r, driver, restart);

	list_of(&r, NULL);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	come_back(&r, p);
	list_of(&r, p);
	rig_run(&r, 2, pods_burn_20);
	CHECK_EQ(resource(&r, "default/web-0/app", RESOURCE_CPU)->original, 200);
	/* What was lacking once is counted anew. */
	rig_pod_remove(&r, p);
	rig_run(&r, 700, NULL);
	list_of(&r, NULL);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	rig_close(&r);
}

/* Two whole lists that lack it, ten minutes apart, say that it is gone; the second is asked for. */
static void test_gone_by_two_lists(enum cgroup_driver driver, bool restart)
{
	struct rig r;

	begin_without_cgroup(&r, driver, restart);
	list_of(&r, NULL);
	CHECK_EQ(r.daemon->pods.count, 0);
	rig_run(&r, 590, NULL);
	CHECK(!pods_want_list(&r.daemon->pods));
	list_of(&r, NULL);
	rig_run(&r, 5, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	rig_run(&r, 20, NULL);
	CHECK(pods_want_list(&r.daemon->pods));
	CHECK(!pods_want_list(&r.daemon->pods)); /* asked once */
	list_of(&r, NULL);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_run(&r, 1300, NULL);
	CHECK(!pods_want_list(&r.daemon->pods));
	rig_close(&r);
}

/* No further list comes, for days: records do not pile up. */
static void test_gone_by_age(void)
{
	const usec_t week = 7 * 24 * USEC_PER_HOUR;
	struct rig r;

	begin_without_cgroup(&r, DRIVER_CGROUPFS, true);
	list_of(&r, NULL);
	r.boot += week, r.real += week;
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	r.boot += week, r.real += week;
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_close(&r);
}

/* A pod that cannot be read is there: its uid is known. */
static void test_skipped_is_there(void)
{
	struct rig r;
	struct rig_pod *p = begin_without_cgroup(&r, DRIVER_CGROUPFS, true);

	for (int i = 0; i < 3; i++) {
		pods_list_begin(&r.daemon->pods);
		pods_seen(&r.daemon->pods, p->uid);
		pods_list_end(&r.daemon->pods, true);
		rig_run(&r, 700, NULL);
		CHECK_EQ(r.daemon->records.baselines.count, 3);
	}
	rig_close(&r);
}

/* A list from long ago has the predecessor of a pod under the same name. */
static void test_list_has_a_namesake(void)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, ""), *old;

	pods_raise_app(&r, p);
	old = rig_pod_add(&r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(&r, old, "app", 100, 128 * MIB);
	rig_pod_remove(&r, old);
	list_of(&r, old);
	rig_run(&r, 15, pods_burn_800);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	list_of(&r, p);
	rig_run(&r, 2, pods_burn_800);
	CHECK_EQ(resource(&r, "default/web-0/app", RESOURCE_CPU)->original, 200);
	rig_close(&r);
}

/* It lives as long as its cgroup, however often lists lack it. */
static void test_lacking_and_gone(bool restart)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_SYSTEMD, "");

	pods_raise_app(&r, p);
	if (restart)
		restart_daemon(&r);
	for (int i = 0; i < 2; i++) {
		list_of(&r, NULL);
		rig_run(&r, 700, NULL);
		CHECK_EQ(r.daemon->records.baselines.count, 3);
		CHECK(!pods_want_list(&r.daemon->pods));
	}
	rig_pod_remove(&r, p);
	rig_run(&r, 15, NULL);
	CHECK_EQ(r.daemon->pods.count, 0);
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_close(&r);
}

/* DELETED is the API server's word, for a record alone as well, and for one of a pod that had ended
 * before this daemon saw it. */
static void test_lacking_and_deleted(bool restart, bool ended)
{
	struct rig r;
	struct rig_pod *p = pods_begin(&r, DRIVER_CGROUPFS, "");

	pods_raise_app(&r, p);
	if (restart) {
		rig_stop(&r);
		CHECK_EQ(rig_start(&r), 0);
	}
	p->phase = "Succeeded";
	list_of(&r, ended ? p : NULL);
	CHECK_EQ(r.daemon->records.baselines.count, 3);
	pods_gone(&r.daemon->pods, p->uid);
	CHECK_EQ(r.daemon->pods.count, 0);
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	rig_close(&r);
}

int main(void)
{
	for (enum cgroup_driver driver = 0; driver < DRIVER_COUNT; driver++) {
		test_list_lacks_it(driver, false);
		test_list_lacks_it(driver, true);
		for (int restart = 0; restart < 2; restart++) {
			test_list_lacks_it_without_cgroup(driver, restart);
			test_gone_by_two_lists(driver, restart);
		}
	}
	test_list_with_a_hole();
	test_gone_by_age();
	test_skipped_is_there();
	test_list_has_a_namesake();
	for (int restart = 0; restart < 2; restart++) {
		test_lacking_and_gone(restart);
		test_lacking_and_deleted(restart, false);
	}
	test_lacking_and_deleted(true, true);
	return check_result();
}

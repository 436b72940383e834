// SPDX-License-Identifier: Apache-2.0
/* Specs hold sizes of vscaled, and the records of the node are lost, or the daemon starts anew. */
#include "agent/pod/pods.h"
#include "agent/serve/show.h"
#include "test/agent/test_pods.h"
#include <sys/resource.h>
#include <unistd.h>

#define STATUS                                                                                     \
	"{\"containers\":{\"app\":{\"cpu\":{\"original\":\"200m\",\"limit\":\"800m\"},"            \
	"\"memory\":{\"original\":\"64Mi\",\"limit\":\"256Mi\"}},"                                 \
	"\"log\":{\"cpu\":{\"original\":\"300m\",\"limit\":\"300m\"},"                             \
	"\"memory\":{\"original\":\"32Mi\",\"limit\":\"32Mi\"}}}}"

/* default/web-0, whose app was resized from 200m, 64Mi to 800m, 256Mi; no records. */
static struct rig_pod *lost_begin(struct rig *r, const char *mode, const char *status)
{
	struct rig_pod *p;

	rig_open(r, "");
	p = rig_pod_add(r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(r, p, "app", 800, 256 * MIB);
	rig_container_add(r, p, "log", 300, 32 * MIB);
	p->mode = mode;
	p->resize_ours = true;
	if (status != NULL) {
		p->extra_key = "status";
		p->extra_value = status;
	}
	CHECK_EQ(rig_start(r), 0);
	r->daemon->records.originals_lost = true;
	return p;
}

static void list(struct rig *r, struct rig_pod *p)
{
	rig_pod_list(r, p);
	rig_run(r, 130, pods_burn_20);
}

/* Off, or not annotated, at the first list; turned on later. */
static void test_turned_on_later(const char *mode)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = lost_begin(&r, mode, NULL);

	list(&r, p);
	CHECK(r.daemon->records.originals_lost);
	CHECK_EQ(r.events[EVENT_ORIGINALS_UNKNOWN] >= 1, 1);
	p->mode = "Auto";
	rig_pod_run(&r, p, 20, pods_burn_800);
	CHECK_EQ(managed_state(pods_of(&r, "default/web-0/app")), UNIT_UNMANAGED);
	CHECK_EQ(r.daemon->records.baselines.count, 0);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 800);
}

/* Off, or no longer annotated, with a status that has the originals: they come back. */
static void test_is_handed_back(const char *mode)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = lost_begin(&r, mode, STATUS);

	list(&r, p);
	CHECK_EQ(r.events[EVENT_ORIGINALS_RECOVERED], 2);
	CHECK_EQ(r.events[EVENT_ORIGINALS_UNKNOWN], 0);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), 200);
	CHECK_EQ(rig_bytes(&r, p->container[0].unit, "memory.max"), 64 * MIB);
	CHECK_EQ(rig_cpu_milli(&r, p->level), 500);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), 96 * MIB);
	CHECK(!r.daemon->records.originals_lost);
	CHECK_EQ(r.daemon->pods.count, mode != NULL);
}

/* vscaled had lowered the spec: the originals are above it, and count as far as it could be raised.
 */
static void test_lowered(const char *mode, const char *config, uint64_t cpu, uint64_t memory)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p;

	rig_open(&r, config);
	p = rig_pod_add(&r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(&r, p, "app", 800, 256 * MIB);
	p->mode = mode;
	p->resize_ours = true;
	p->extra_key = "status";
	p->extra_value = "{\"containers\":{\"app\":{\"cpu\":{\"original\":\"1500m\",\"limit\":"
			 "\"800m\"},\"memory\":{\"original\":\"2Gi\",\"limit\":\"256Mi\"}}}}";
	CHECK_EQ(rig_start(&r), 0);
	r.daemon->records.originals_lost = true;
	list(&r, p);
	CHECK_EQ(r.events[EVENT_ORIGINALS_UNKNOWN], 0);
	CHECK_EQ(r.events[EVENT_ORIGINALS_RECOVERED], 1);
	CHECK(!r.daemon->records.originals_lost);
	p->mode = "Off";
	rig_pod_run(&r, p, 10, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, p->container[0].unit), cpu);
	CHECK_EQ(rig_bytes(&r, p->container[0].unit, "memory.max"), memory);
	CHECK_EQ(rig_cpu_milli(&r, p->level), cpu);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), memory);
}

/* A container without a CPU limit: nothing but the administrator's maximum bounds a forged request.
 */
static void test_forged_request(const char *config, uint64_t milli)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p;

	rig_open(&r, config);
	p = rig_pod_add(&r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(&r, p, "app", LIMIT_MAX, 256 * MIB);
	p->mode = "Auto";
	p->resize_ours = true;
	p->extra_key = "status";
	p->extra_value = "{\"containers\":{\"app\":{\"cpu\":{\"originalRequest\":\"64\"},"
			 "\"memory\":{\"original\":\"256Mi\",\"limit\":\"256Mi\"}}}}";
	CHECK_EQ(rig_start(&r), 0);
	r.daemon->records.originals_lost = true;
	list(&r, p);
	CHECK_EQ(pods_of(&r, "default/web-0/app")->record->request[RESOURCE_CPU], milli);
}

/* The kubelet has not carried out the resize yet: what stands is less than the spec. */
TEST_RIG(level_below_the_spec)
{
	struct rig_pod *p = lost_begin(r, "Auto", STATUS);
	struct rig_unit *app = p->container[0].unit;

	rig_put(r, app, "cpu.max", "20000 100000\n");
	rig_put(r, app, "memory.max", "67108864\n");
	rig_put(r, p->level, "cpu.max", "50000 100000\n");
	rig_put(r, p->level, "memory.max", "100663296\n");
	list(r, p);
	list(r, p);
	CHECK_EQ(pods_of(r, "default/web-0")->control.resource[RESOURCE_CPU].original, 500);
	CHECK_EQ(pods_of(r, "default/web-0")->control.resource[RESOURCE_MEMORY].original, 96 * MIB);
}

/* An init container runs beside the sidecars before it: with them it needs more than all the
 * containers did together. */
TEST_RIG(level_beside_sidecar)
{
	struct rig_pod *p;

	rig_open(r, "");
	p = rig_pod_add(r, DRIVER_CGROUPFS, "web-0");
	rig_container_add(r, p, "log", 300, 32 * MIB)->kind = CONTAINER_SIDECAR;
	rig_container_add(r, p, "setup", 400, 80 * MIB)->kind = CONTAINER_INIT;
	rig_container_add(r, p, "app", 800, 256 * MIB);
	rig_container_stop(r, &p->container[1]);
	p->resize_ours = true;
	p->extra_key = "status";
	p->extra_value = STATUS;
	CHECK_EQ(rig_start(r), 0);
	r->daemon->records.originals_lost = true;
	list(r, p);
	CHECK_EQ(r->events[EVENT_ORIGINALS_RECOVERED], 2);
	CHECK_EQ(rig_cpu_milli(r, p->container[2].unit), 200);
	CHECK_EQ(rig_cpu_milli(r, p->level), 700);
	CHECK_EQ(rig_bytes(r, p->level, "memory.max"), 112 * MIB);
}

static void burn_log(struct rig *r)
{
	rig_burn(r, r->pod[0].container[1].unit, 900);
}

/* One container's originals are unknown: the pod's level has room for the others all the same. */
TEST_RIG(level_in_doubt)
{
	struct rig_pod *p =
		lost_begin(r, "Auto",
			   "{\"containers\":{\"log\":{\"cpu\":{\"original\":\"300m\",\"limit\":"
			   "\"300m\"},\"memory\":{\"original\":\"32Mi\",\"limit\":\"32Mi\"}}}}");

	list(r, p);
	CHECK_EQ(r->events[EVENT_ORIGINALS_UNKNOWN], 1);
	rig_run(r, 30, burn_log);
	CHECK_EQ(rig_cpu_milli(r, p->container[0].unit), 800);
	CHECK(rig_cpu_milli(r, p->container[1].unit) >= 900);
	CHECK(rig_cpu_milli(r, p->level) >= 1700);
	CHECK(!r->below);
	p->mode = NULL;
	rig_pod_run(r, p, 130, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(r, p->container[1].unit), 300);
	CHECK_EQ(rig_cpu_milli(r, p->level), 1100);
}

/* What is gone is not waited for. */
TEST_RIG_BOTH(gone, deleted)
{
	struct rig_pod *p = lost_begin(r, NULL, NULL);

	list(r, p);
	CHECK(r->daemon->records.originals_lost);
	if (deleted)
		pods_gone(&r->daemon->pods, p->uid);
	rig_pod_remove(r, p);
	rig_pod_list(r, NULL);
	rig_run(r, 130, NULL);
	/* One list that lacks it proves nothing. */
	CHECK_EQ(r->daemon->records.originals_lost, !deleted);
	rig_run(r, 600, NULL);
	CHECK_EQ(pods_want_list(&r->daemon->pods), !deleted);
	rig_pod_list(r, NULL);
	rig_run(r, 130, NULL);
	CHECK(!r->daemon->records.originals_lost);
}

/* The spec holds a size of ours, and the kubelet has not carried it out when the daemon starts
 * anew: what it writes later is no original. Nor with another resize sent after it, where neither
 * had an answer. */
static void test_carried_out_after_a_restart(enum cgroup_driver driver, bool another_sent)
{
	OWN(rig_close) struct rig r;
	struct rig_pod *p = pods_begin(&r, driver, "");
	struct rig_unit *app = p->container[0].unit;
	const uint64_t over[RESOURCE_COUNT] = {200, 64 * MIB},
		       sent[RESOURCE_COUNT] = {800, 256 * MIB},
		       next[RESOURCE_COUNT] = {900, 300 * MIB};
	struct managed *m;

	rig_pod_run(&r, p, 3, pods_burn_20);
	m = pods_of(&r, "default/web-0/app");
	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		persist_sent(m, i, sent[i], over[i]);
		if (another_sent)
			persist_sent(m, i, next[i], over[i]);
	}
	persist_ratified(m, true);
	persist_baselines(&r.daemon->records);
	rig_stop(&r);
	p->generation++;
	p->resize_ours = true;
	memcpy(p->container[0].spec.limit, sent, sizeof sent);
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_list(&r, p);
	rig_run(&r, 3, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, app), 200);
	rig_pod_realise(&r, p);
	rig_run(&r, 20, pods_burn_20);
	m = pods_of(&r, "default/web-0/app");
	CHECK_EQ(m->control.resource[RESOURCE_CPU].original, 200);
	CHECK_EQ(m->control.resource[RESOURCE_MEMORY].original, 64 * MIB);
	CHECK_EQ(persist_original_limit(m, RESOURCE_MEMORY, 0), 64 * MIB);
	p->mode = NULL;
	rig_pod_run(&r, p, 10, pods_burn_20);
	CHECK_EQ(rig_cpu_milli(&r, app), 200);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), 64 * MIB);
}

/* 80 % of the descriptors are open: what is attached stays so, another container waits. */
TEST_RIG(descriptors_low)
{
	struct rig_pod *other;
	struct rlimit before, low;
	struct shown x;
	int free_fd;

	rig_pod_put(r, pods_begin(r, DRIVER_CGROUPFS, ""));
	rig_run(r, 5, pods_burn_20);
	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	low = before;
	low.rlim_cur = (rlim_t)fake_open_fds() * 6 / 5;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	other = rig_pod_add(r, DRIVER_CGROUPFS, "web-1");
	rig_container_add(r, other, "app", 200, 64 * MIB);
	other->mode = "Auto";
	rig_pod_put(r, other);
	rig_run(r, 30, pods_burn_20);
	CHECK(pods_of(r, "default/web-0/app")->cgroup.cg != NULL);
	CHECK(pods_of(r, "default/web-1/app")->cgroup.cg == NULL);
	x = shown_entry(pods_of(r, "default/web-1/app"));
	CHECK_STR(shown_reason_text(&x),
		  "vscaled has few file descriptors left; raise LimitNOFILE");
	CHECK_EQ(r->events[EVENT_DESCRIPTORS_LOW], 1);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
	rig_run(r, 90, pods_burn_20);
	CHECK(pods_of(r, "default/web-1/app")->cgroup.cg != NULL);
	CHECK_EQ(managed_state(pods_of(r, "default/web-1/app")), UNIT_MANAGED);
	CHECK_EQ(r->events[EVENT_DESCRIPTORS_LOW], 1);
	/* Without any a pod's folder cannot be read: it is searched again. */
	free_fd = dup(STDOUT_FILENO);
	close(free_fd);
	low.rlim_cur = (rlim_t)free_fd;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &low), 0);
	r->daemon->pods.items[0]->scan = true;
	pods_scan(&r->daemon->pods);
	CHECK(r->daemon->pods.items[0]->scan);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(with_parameters)
{
	test_carried_out_after_a_restart(DRIVER_CGROUPFS, false);
	test_carried_out_after_a_restart(DRIVER_CGROUPFS, true);
	test_carried_out_after_a_restart(DRIVER_SYSTEMD, false);
	test_turned_on_later("Off");
	test_turned_on_later(NULL);
	test_is_handed_back("Off");
	test_is_handed_back(NULL);
	test_lowered("Auto", "defaults: {max-memory: 3Gi}\n", 1500, 2 * GIB);
	test_lowered("Off", "", 1500, GIB);
	test_lowered(NULL, "", 1500, GIB);
	test_lowered("Auto", "kubernetes: {maxCpu: 1, maxMemory: 512Mi}\n", 1000, 512 * MIB);
	test_lowered("Auto", "kubernetes: {maxCpu: 500m, maxMemory: 128Mi}\n", 800, 256 * MIB);
	test_forged_request("kubernetes: {maxCpu: 2}\n", 2000);
	test_forged_request("kubernetes: {maxCpu: 50m}\n", 100);
}

// SPDX-License-Identifier: Apache-2.0
/* A full node: 250 pods of 4 containers. What it takes in memory and descriptors, what is asked of
 * PID 1, and what an event costs. */
#include "agent/drift/drift_events.h"
#include "agent/pod/pods.h"
#include "agent/units/units.h"
#include "test/agent/test_pods.h"
#include <errno.h>
#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

#define PODS       250
#define CONTAINERS 4

static struct {
	unsigned gets, sets;
} asked;

static int count_list(struct unit_bus *bus, const char *const *, size_t)
{
	drift_listed(&((struct rig *)bus)->daemon->units, 0, NULL, 0);
	return 0;
}

static int count_set(struct unit_bus *, const char *, const struct unit_props *, uint32_t, bool)
{
	asked.sets++;
	return 0;
}

static bool none_pending(const struct unit_bus *, const char *)
{
	return false;
}

static int count_get(struct unit_bus *bus, const char *unit)
{
	const struct unit_props stored = {200 * USEC_PER_MSEC, UINT64_MAX, 512 * MIB, UINT64_MAX};
	struct rig *r = (struct rig *)bus;

	asked.gets++;
	if (strstr(unit, ".scope") != NULL)
		drift_got(&r->daemon->units, unit, 0, &stored);
	return 0;
}

static void put_files(struct rig *r, const char *folder, const char *quota, uint64_t bytes)
{
	static const char pressure[] = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
				       "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n";
	char max[32];
	const struct fake_file files[] = {
		{"cpu.max", quota},
		{"cpu.max.burst", "0\n"},
		{"cpu.stat", "usage_usec 10\nuser_usec 0\nsystem_usec 0\nnr_periods 0\n"
			     "nr_throttled 0\nthrottled_usec 0\n"},
		{"cpu.pressure", pressure},
		{"memory.pressure", pressure},
		{"memory.current", "1048576\n"},
		{"memory.peak", "1048576\n"},
		{"memory.max", max},
		{"memory.high", "max\n"},
		{"memory.events", "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"},
		{"memory.stat", "anon 1048576\nfile 0\nkernel 0\nshmem 0\nunevictable 0\n"
				"slab_reclaimable 0\nsock 0\ninactive_anon 0\nactive_anon "
				"1048576\ninactive_file 0\nactive_file 0\n"
				"workingset_refault_anon 0\nworkingset_refault_file 0\n"},
	};
	char path[RIG_PATH_MAX];

	snprintf(max, sizeof max, "%" PRIu64 "\n", bytes);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i].path);
		fake_put(&r->tree, path, files[i].text);
	}
}

static char *text(const char *format, unsigned a, unsigned b)
{
	char *s;

	if (asprintf(&s, format, a, b) < 0)
		exit(EXIT_FAILURE);
	return s;
}

#define POD_FOLDER "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%08x.slice"

static struct kube_pod *pod(unsigned n)
{
	struct kube_pod *s = calloc(1, sizeof *s);

	s->uid = text("%08x", n, 0);
	s->cgroup_uid = text("%08x", n, 0);
	s->namespace = strdup("default");
	s->name = text("web-%u", n, 0);
	s->workload = text("web-%u", n / 10, 0);
	s->phase = strdup("Running");
	s->generation = 1;
	s->qos = QOS_BURSTABLE;
	s->ready = true;
	s->annotations = calloc(1, sizeof *s->annotations);
	s->annotations[0] = (struct kube_annotation){strdup("mode"), strdup("Auto")};
	s->annotation_count = 1;
	s->containers = calloc(CONTAINERS, sizeof *s->containers);
	s->container_count = CONTAINERS;
	for (unsigned i = 0; i < CONTAINERS; i++)
		s->containers[i] = (struct kube_container){
			.name = text("c%u", i, 0),
			.spec = {.limit = {200, 512 * MIB}, .request = {100, MIB}},
			.id = text("%032x%032x", n, i),
			.running = true,
			.ready = true,
		};
	return s;
}

static void put_pod(struct rig *r, unsigned n)
{
	char folder[RIG_PATH_MAX], path[RIG_PATH_MAX];

	snprintf(folder, sizeof folder, POD_FOLDER, n);
	put_files(r, folder, "80000 100000\n", 2048 * MIB);
	for (unsigned i = 0; i < CONTAINERS; i++) {
		snprintf(path, sizeof path, "%.200s/cri-containerd-%032x%032x.scope", folder, n, i);
		put_files(r, path, "20000 100000\n", 512 * MIB);
	}
}

static uint64_t rss(void)
{
	unsigned long size = 0, resident = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	if (f == NULL || fscanf(f, "%lu %lu", &size, &resident) != 2)
		resident = 0;
	if (f != NULL)
		fclose(f);
	return (uint64_t)resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

TEST(allow_files)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_max < 20000)
		exit(check_skip("needs 20000 descriptors"));
}

static void put_all(struct rig *r)
{
	pods_list_begin(&r->daemon->pods);
	for (unsigned n = 0; n < PODS; n++)
		pods_put(&r->daemon->pods, pod(n));
	pods_list_end(&r->daemon->pods, true);
}

int main(void)
{
	static struct rig r;
	uint64_t before, memory, begin, took;
	int fds;

	check_run();
	rig_open(&r, "");
	for (unsigned n = 0; n < PODS; n++)
		put_pod(&r, n);
	CHECK_EQ(rig_start(&r), 0);
	r.daemon->pid1.port = (struct unit_port){.bus = (struct unit_bus *)&r,
						 .list = count_list,
						 .set = count_set,
						 .pending = none_pending,
						 .get = count_get};
	r.daemon->log.record = NULL;
	rig_run(&r, 1, NULL);
	before = rss();
	fds = fake_open_fds();
	begin = daemon_clock();
	put_all(&r);
	took = daemon_clock() - begin;
	rig_run(&r, 1, NULL);
	CHECK_EQ(r.daemon->units.count, PODS * (CONTAINERS + 1));
	fprintf(stderr, "first list: %" PRIu64 " ms\n", (uint64_t)(took / USEC_PER_MSEC));
	/* Once each, when it appears. */
	CHECK_EQ(asked.gets, PODS * (CONTAINERS + 1));
	CHECK(managed_find(&r.daemon->units, "default/web-249/c3")->cgroup.cg != NULL);

	begin = daemon_clock();
	rig_run(&r, 30, NULL);
	took = daemon_clock() - begin;
	memory = rss() - before;
	fprintf(stderr,
		"struct managed %zu bytes, memory %" PRIu64 " KiB, descriptors %d, "
		"a tick %" PRIu64 " us\n",
		sizeof(struct managed), (uint64_t)(memory / KIB), fake_open_fds() - fds, took / 30);
	CHECK_EQ(asked.gets, PODS * (CONTAINERS + 1));
#ifndef __SANITIZE_ADDRESS__
	CHECK(check_emulated() || memory < 10 * MIB + 512 * KIB);
#endif
	/* Nothing moved, and what systemd stores is far above use: nothing is asked of it. */
	CHECK_EQ(asked.sets, 0);

	/* Status updates, which change nothing. */
	begin = daemon_clock();
	for (unsigned i = 0; i < 4; i++)
		put_all(&r);
	took = daemon_clock() - begin;
	fprintf(stderr, "an event: %" PRIu64 " us\n", took / (4 * PODS));
	CHECK_EQ(asked.gets, PODS * (CONTAINERS + 1));
	CHECK_EQ(r.daemon->units.count, PODS * (CONTAINERS + 1));
	while (r.daemon->pods.count > 0) {
		char uid[64];

		snprintf(uid, sizeof uid, "%s", r.daemon->pods.items[0]->spec->uid);
		pods_gone(&r.daemon->pods, uid);
	}
	CHECK_EQ(r.daemon->units.count, 0);
	CHECK(fake_open_fds() <= fds + KUBEPODS_PARENTS_MAX);
	rig_close(&r);
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* The node leaves less memory to all pods than it has: the limit of kubepods, where the kubelet's
 * configuration reserves memory for others. */
#include "test/agent/test_pods.h"
#include <inttypes.h>

#define TOTAL    (2 * GIB)
#define SYSTEM   (400 * MIB)
#define PODS_MAX GIB         /* what the node leaves to all pods together */
#define CACHE    (300 * MIB) /* of pods, a third of it inactive */

static uint64_t goal, rate, least_for_pods;
static char denied[EVENT_MESSAGE_SIZE];

static void on_reported(struct rig *r, const struct event_record *e, const char *message)
{
	(void)r;
	if (e->kind == EVENT_MEMORY_DENIED && denied[0] == '\0')
		snprintf(denied, sizeof denied, "%s", message);
}

/* All pods together, as the kubelet's folder has them. */
static void step_limited(struct rig *r)
{
	const char *parent = r->pod[0].driver == DRIVER_SYSTEMD ? "kubepods.slice" : "kubepods";
	uint64_t used = CACHE, system = SYSTEM;
	char path[64], text[256];

	for (size_t i = 0; i < r->unit_count; i++) {
		struct rig_unit *u = &r->unit[i];
		bool host = strcmp(u->name, "host.service") == 0;

		if (!host && u != r->pod[0].container[0].unit && u != r->pod[1].container[0].unit)
			continue;
		rig_burn(r, u, 50);
		if (u->anon_bytes < goal)
			rig_grow(r, u, rate * r->tick_usec / USEC_PER_SEC);
		*(host ? &system : &used) += u->anon_bytes;
	}
	snprintf(path, sizeof path, "%s/memory.current", parent);
	snprintf(text, sizeof text, "%" PRIu64 "\n", used);
	fake_put(&r->tree, path, text);
	snprintf(path, sizeof path, "%s/memory.stat", parent);
	snprintf(text, sizeof text,
		 "anon %" PRIu64 "\nfile %llu\nkernel 0\nshmem 0\nunevictable 0\nsock 0\n"
		 "slab_reclaimable 0\ninactive_anon 0\nactive_anon 0\ninactive_file %llu\n"
		 "active_file 0\nworkingset_refault_anon 0\n"
		 "workingset_refault_file 0\n",
		 (uint64_t)(used - CACHE), CACHE, CACHE / 3);
	fake_put(&r->tree, path, text);
	snprintf(path, sizeof path, "%s/memory.max", parent);
	snprintf(text, sizeof text, "%llu\n", PODS_MAX);
	fake_put(&r->tree, path, text);
	least_for_pods = MIN(least_for_pods, PODS_MAX - MIN(PODS_MAX, used - CACHE / 3));
	rig_meminfo(r, 2 * TOTAL, 2 * TOTAL - used - system);
}

/* The kubelet's folder of all pods has a limit, the allocatable memory: the node is far from full
 * when the kubelet evicts by it. Units of the node are not bound by it. */
static void test_pods_limit(enum cgroup_driver driver, bool kubelet)
{
	static const char *const names[] = {"web-0", "web-1"};
	struct rig_unit *host;
	OWN(rig_close) struct rig r;

	rig_open(&r, "units:\n  - {match: host.service, max-memory: 2Gi}\n");
	host = rig_add(&r, "host.service", 1000, 64 * MIB);
	for (int i = 0; i < 2; i++) {
		struct rig_pod *p = rig_pod_add(&r, driver, names[i]);

		p->mode = "Auto";
		p->extra_key = "max-memory";
		p->extra_value = "3Gi";
		rig_container_add(&r, p, "app", 1000, 64 * MIB);
	}
	rig_meminfo(&r, 2 * TOTAL, GIB);
	goal = 0;
	least_for_pods = LIMIT_MAX;
	CHECK_EQ(rig_start(&r), 0);
	r.daemon->memory.kubelet = kubelet;
	r.reported = on_reported;
	denied[0] = '\0';
	for (size_t i = 0; i < r.pod_count; i++)
		rig_pod_put(&r, &r.pod[i]);
	rig_reflex(&r, 33, step_limited);
	goal = 700 * MIB;
	rate = 40 * MIB;
	rig_reflex(&r, 400, step_limited);
	printf("limit of all pods, %s: never less than %llu MiB left; %s\n",
	       kubelet ? "respected" : "not known", (unsigned long long)least_for_pods / MIB,
	       denied);
	CHECK((least_for_pods >= 100 * MIB) == kubelet);
	CHECK(r.pod[0].container[0].unit->anon_bytes > 64 * MIB);
	CHECK(host->anon_bytes >= goal);
	CHECK_EQ(host->oom_kills, 0);
	CHECK((strstr(denied, " available to the kubelet less ") != NULL) == kubelet);
}

TEST(with_parameters)
{
	test_pods_limit(DRIVER_SYSTEMD, true);
	test_pods_limit(DRIVER_CGROUPFS, true);
	test_pods_limit(DRIVER_CGROUPFS, false);
}

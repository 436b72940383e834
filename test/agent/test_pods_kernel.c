// SPDX-License-Identifier: Apache-2.0
/* Pods on the files of Linux 5.10, and on pages of 4, 16 and 64 KiB. */
#include "agent/metrics/metrics_server.h"
#include "agent/serve/show.h"
#include "test/agent/test_pods.h"
#include <sys/personality.h>

static struct rig r;
static void grow_300k(struct rig *x)
{
	pods_burn_20(x);
	rig_grow(x, x->pod[0].container[0].unit, 300 * KIB);
}

/* What is not there, or cannot be read, and what the journal says of it. */
// clang-format off
static const struct lack {
	const char *lacks, *refused, *told;
	bool unsized[RESOURCE_COUNT]; /* nothing says what it needs */
} lacking[] = {
	{NULL, NULL, NULL, {0}},
	{RIG_LINUX_5_10, NULL, "memory.peak, memory.reclaim, cpu.max.burst, memory.stat:kernel", {0}},
	{"memory.peak", NULL, "memory.peak", {0}},
	{"memory.reclaim", NULL, "memory.reclaim", {0}},
	{"cpu.max.burst", NULL, "cpu.max.burst", {0}},
	{"cpu.pressure memory.pressure", NULL, "", {0}},
	{NULL, "cpu.pressure", "", {0}},
	{NULL, "memory.pressure", "", {0}},
	{"memory.stat:kernel", NULL, "memory.stat:kernel", {0}},
	{"memory.stat:zswap memory.stat:zswapped", NULL, NULL, {0}},
	{"memory.stat:sock", NULL, "memory.stat:sock", {0}},
	{"memory.stat:kernel memory.stat:pagetables", NULL, "memory.stat:kernel", {0}},
	{"memory.stat:unevictable", NULL, "memory.stat:unevictable", {0}},
	{"memory.stat:slab_reclaimable", NULL, "memory.stat:slab_reclaimable", {0}},
	{"cpu.stat:nr_bursts cpu.stat:burst_usec", NULL, NULL, {0}},
	{"cpu.stat:nr_periods cpu.stat:nr_throttled cpu.stat:throttled_usec", NULL, "cpu.stat:nr_throttled", {[RESOURCE_CPU] = true}},
	{"memory.stat:anon", NULL, NULL, {[RESOURCE_MEMORY] = true}},
};
// clang-format on

static char told[EVENT_MESSAGE_SIZE];
static void note_told(struct rig *x, const struct event_record *e, const char *message)
{
	(void)x;
	if (e->kind == EVENT_KERNEL_LACKS)
		snprintf(told, sizeof told, "%s", message);
}

static bool lacks_file(const struct lack *l, const char *file)
{
	return (l->lacks != NULL && strstr(l->lacks, file) != NULL) ||
	       (l->refused != NULL && strcmp(l->refused, file) == 0);
}

/* Unknown is not 0. */
static void check_shown(const struct lack *l)
{
	const struct shown x = shown_entry(pods_of(&r, "default/web-0/app"));
	cJSON *all = shown_json(&x, false);
	const cJSON *others =
		cJSON_GetObjectItem(cJSON_GetObjectItem(all, "cpu"), "psi_others_ppm");

	CHECK_EQ(shown_throttled_permille(&x, RESOURCE_CPU) == VIEW_NONE,
		 lacks_file(l, "nr_throttled"));
	CHECK_EQ(shown_psi_some(&x, RESOURCE_CPU) == VIEW_NONE, lacks_file(l, "cpu.pressure"));
	CHECK(others != NULL);
	CHECK_EQ(cJSON_IsNull(others), lacks_file(l, "cpu.pressure"));
	CHECK_EQ(shown_psi_some(&x, RESOURCE_MEMORY) == VIEW_NONE,
		 lacks_file(l, "memory.pressure") || lacks_file(l, "stat:anon"));
	CHECK_EQ(shown_unreclaimable(&x, RESOURCE_MEMORY) == VIEW_NONE, lacks_file(l, "stat:anon"));
	cJSON_Delete(all);
}

/* Sized as elsewhere, as far as can be; said once, and nothing spins. */
static void test_lacks(enum cgroup_driver driver, const struct lack *l)
{
	struct rig_unit *app;
	struct rig_pod *p;
	unsigned writes;

	told[0] = '\0';
	rig_open(&r, rig_config(""));
	r.lacks = l->lacks;
	r.reported = note_told;
	p = rig_pod_add(&r, driver, "web-0");
	p->mode = "Auto";
	app = rig_container_add(&r, p, "app", 200, 64 * MIB)->unit;
	app->anon_bytes = 20 * MIB;
	fake_put(&r.tree, "cpu.pressure", "some total=0\n");
	fake_put(&r.tree, "memory.pressure", "some total=0\n");
	fake_refused = l->refused;
	CHECK_EQ(rig_start(&r), 0);
	CHECK_EQ(r.daemon->host.cg.psi, l->refused == NULL);
	rig_pod_run(&r, p, 15, pods_burn_800);
	if (!l->unsized[RESOURCE_CPU])
		CHECK(rig_cpu_milli(&r, app) >= 800);
	check_shown(l);
	rig_run(&r, 200, grow_300k);
	if (!l->unsized[RESOURCE_MEMORY]) {
		CHECK_EQ(r.kills, 0);
		CHECK(rig_bytes(&r, app, "memory.max") > 64 * MIB);
	}
	rig_run(&r, 60, pods_burn_20);
	writes = fake_limit_writes;
	rig_run(&r, 30, pods_burn_20);
	CHECK(fake_limit_writes - writes <= 10);
	CHECK_EQ(r.events[EVENT_KERNEL_LACKS], l->told != NULL && l->told[0] != '\0');
	CHECK(l->told == NULL || strstr(told, l->told) != NULL);
	rig_close(&r);
	fake_refused = NULL;
}

/* uname() says 2.6 then. Everything is managed, and the node says it. */
TEST(untested_kernel)
{
	const struct http_request ready = {.path = "/readyz"};
	struct probe_input probe = {.dry_run = true, .config_valid = true};
	struct http_response answer = {0};

	rig_open(&r, rig_config("  - match: a.service\n"));
	rig_add(&r, "a.service", 200, 64 * MIB);
	if (personality(UNAME26) < 0) {
		printf("SKIP: no other release than this kernel's\n");
		rig_close(&r);
		return;
	}
	CHECK_EQ(rig_start(&r), 0);
	personality(PER_LINUX);
	CHECK(r.daemon->host.cg.kernel_old && r.daemon->host.unsupported == NULL);
	rig_run(&r, 10, NULL);
	CHECK_EQ(r.events[EVENT_UNIT_MANAGED], 1);
	probe.kernel_old = r.daemon->host.cg.kernel_old;
	CHECK_EQ(probe_answer(&probe, &ready, &answer), 0);
	CHECK_EQ(answer.status, 200);
	CHECK(strstr((const char *)answer.body, "kernel warning: older than any") != NULL);
	free(answer.body);
	rig_close(&r);
}

/* 100 MB is no multiple of a page: the kernel holds less than the spec says. */
static void test_pages(enum cgroup_driver driver, uint64_t page_bytes)
{
	uint64_t original = 100000000, held = original - original % page_bytes;
	struct rig_unit *app;
	struct rig_pod *p;
	unsigned writes;

	fake_page(page_bytes);
	rig_open(&r, rig_config(""));
	p = rig_pod_add(&r, driver, "web-0");
	p->mode = "Auto";
	app = rig_container_add(&r, p, "app", 200, original)->unit;
	app->anon_bytes = 50 * MIB;
	CHECK_EQ(rig_start(&r), 0);
	rig_pod_run(&r, p, 5, pods_burn_20);
	writes = fake_limit_writes;
	rig_run(&r, 10, pods_burn_20);
	CHECK(fake_limit_writes - writes <= 10);
	rig_run(&r, 200, grow_300k);
	CHECK(rig_bytes(&r, app, "memory.max") > original);
	CHECK_EQ(r.kills, 0);
	/* Growth is over, and its headroom is taken back: what was written stays. */
	rig_run(&r, 300, pods_burn_20);
	writes = fake_limit_writes;
	rig_run(&r, 30, pods_burn_20);
	CHECK(fake_limit_writes - writes <= 10);
	CHECK_EQ(r.events[EVENT_DRIFT_REASSERTED] + r.events[EVENT_DRIFT_ADOPTED], 0);
	CHECK_EQ(rig_bytes(&r, app, "memory.max") % page_bytes, 0);
	app->anon_bytes = 50 * MIB;
	rig_pods_turn(&r);
	p->mode = NULL;
	rig_pod_run(&r, p, 600, pods_burn_20);
	CHECK_EQ(rig_bytes(&r, app, "memory.max"), held);
	CHECK_EQ(rig_bytes(&r, p->level, "memory.max"), held);
	rig_close(&r);
}

int main(void)
{
	for (enum cgroup_driver d = 0; d < DRIVER_COUNT; d++)
		for (uint64_t page = 4 * KIB; page <= 64 * KIB; page *= 4)
			test_pages(d, page);
	fake_page(4 * KIB);
	for (size_t i = 0; i < ARRAY_SIZE(lacking); i++)
		test_lacks(i % DRIVER_COUNT, &lacking[i]);
	test_lacks(0, &lacking[1]);
	check_run();
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* Restoring containers and pods: names, order, restarts, both cgroup drivers. */
#include "cgroup/writer.h"
#include "test/agent/restore_rig.h"
#include <errno.h>

#define LIMITS(quota, max) ((struct limits){quota, 100000, 0, max, LIMIT_MAX})

/* Every write of memory.max, in order, with the inode of its file. */
static struct {
	ino_t inode;
	uint64_t to;
} writes[32];
static size_t write_count;

int __real_cg_write(struct cg *c, const struct change *ch);
int __wrap_cg_write(struct cg *c, const struct change *ch);

int __wrap_cg_write(struct cg *c, const struct change *ch)
{
	struct stat st = {0};

	if (ch->knob == KNOB_MEM_MAX && write_count < ARRAY_SIZE(writes)) {
		CHECK_EQ(fstat(cg_dirfd(c), &st), 0);
		writes[write_count].inode = st.st_ino;
		writes[write_count++].to = ch->to;
	}
	return __real_cg_write(c, ch);
}

static struct baseline *put(const char *key, const char *cgroup, const char *shown, struct limits l)
{
	struct baseline b = {
		.key = (char *)key,
		.limits = l,
		.props = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
		.high_before = LIMIT_MAX,
		.cgroup_inode = inode_of(cgroup),
		.cgroup = (char *)cgroup,
		.shown = (char *)shown,
	};

	CHECK_EQ(baseline_put(&records, &b), 0);
	return baseline_find(&records, key);
}

/* A pod of two containers that were sized, beside web.service. */
static void begin_pod(uint64_t pod, uint64_t app, uint64_t side)
{
	begin();
	put("pod:0b1c", POD, "default/web-0", LIMITS(50000, pod));
	put("pod:0b1c/app", APP, "default/web-0/app", LIMITS(30000, app));
	put("pod:0b1c/side", SIDE, "default/web-0/side", LIMITS(20000, side));
	write_count = 0;
}

static const struct restore_result *result_of(const char *name)
{
	static const struct restore_result none = {.outcome = RESTORE_OUTCOME_COUNT};

	for (size_t i = 0; i < result_count; i++)
		if (strcmp(results[i].unit, name) == 0)
			return &results[i];
	return &none;
}

static enum restore_outcome outcome_of(const char *name)
{
	return result_of(name)->outcome;
}

/* The place of that write among all, or -1. */
static int written(const char *cgroup, uint64_t to)
{
	ino_t inode = inode_of(cgroup);

	for (size_t i = 0; i < write_count; i++)
		if (writes[i].inode == inode && writes[i].to == to)
			return (int)i;
	return -1;
}

/* Shrinking: containers, then the pod. */
TEST(shrink)
{
	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	CHECK_EQ(restore_now("default/web-0", false), 0);
	CHECK_EQ(result_count, 3);
	CHECK_EQ(outcome_of("default/web-0"), RESTORE_RESTORED);
	CHECK_EQ(outcome_of("default/web-0/app"), RESTORE_RESTORED);
	CHECK_EQ(outcome_of("default/web-0/side"), RESTORE_RESTORED);
	check_file(POD "/memory.max", "805306368\n");
	check_file(POD "/cpu.max", "50000 100000\n");
	check_file(APP "/memory.max", "536870912\n");
	check_file(APP "/cpu.max", "30000 100000\n");
	CHECK(written(APP, 512 * MIB) >= 0);
	CHECK(written(POD, 768 * MIB) > written(APP, 512 * MIB));
	/* systemd has no say under the cgroupfs driver; the unit was not asked for. */
	CHECK_STR(pid1.sets, "");
	CHECK_EQ(records.count, 1);
}

/* Growing: the pod, then its containers; asked for by the container's name too. */
TEST(grow)
{
	static const char *const names[] = {"default/web-0", "default/web-0/app", NULL};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		begin_pod(3 * GIB, 2 * GIB, 256 * MIB);
		CHECK_EQ(restore_now(names[i], false), 0);
		CHECK_EQ(outcome_of("default/web-0/app"), RESTORE_RESTORED);
		check_file(APP "/memory.max", "2147483648\n");
		check_file(POD "/memory.max", "3221225472\n");
		CHECK(written(POD, 3 * GIB) >= 0);
		CHECK(written(APP, 2 * GIB) > written(POD, 3 * GIB));
		/* By its own name only the container is done. */
		CHECK_EQ(result_count, i == 0 ? 3 : i == 1 ? 1 : 4);
		CHECK_EQ(baseline_find(&records, "pod:0b1c") != NULL, i == 1);
	}
}

static const char *app_pends(void *, const char *name)
{
	return strcmp(name, "default/web-0/side") != 0 ? "it is being started" : NULL;
}

/* Nothing is written to a container that is pending. Its pod grows all the same, for the container
 * beside it. */
TEST(pending)
{
	struct restore r;

	begin_pod(3 * GIB, 2 * GIB, 512 * MIB);
	r = settings();
	r.pending = app_pends;
	CHECK_EQ(restore_set(&r, &records, "default/web-0", take_result, NULL), 0);
	CHECK_EQ(outcome_of("default/web-0/app"), RESTORE_PENDING);
	CHECK_EQ(outcome_of("default/web-0"), RESTORE_PENDING);
	CHECK_EQ(outcome_of("default/web-0/side"), RESTORE_RESTORED);
	CHECK_EQ(written(APP, 2 * GIB), -1);
	check_file(APP "/memory.max", "805306368\n");
	check_file(APP "/cpu.max", "40000 100000\n");
	check_file(POD "/memory.max", "3221225472\n");
	check_file(POD "/cpu.max", "60000 100000\n");
	check_file(SIDE "/memory.max", "536870912\n");
	CHECK_EQ(records.count, 3);
}

TEST(names)
{
	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	CHECK_EQ(restore_now("default", false), -ENOENT);
	CHECK_EQ(restore_now("default/web", false), -ENOENT);
	CHECK_EQ(restore_now("default/web-0/", false), -ENOENT);
	CHECK_EQ(restore_now("pod:0b1c", false), -ENOENT);
	CHECK_EQ(restore_now("web.service", false), 0);
	CHECK_EQ(result_count, 1);
	CHECK_EQ(records.count, 3);
}

/* A new container of the same pod has its values from the spec. */
TEST(restarted)
{
	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	baseline_find(&records, "pod:0b1c/app")->ratified = 1;
	fake_remove(&fake, APP);
	fake_put(&fake, POD "/99/memory.max", "805306368\n");
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(outcome_of("default/web-0/app"), RESTORE_GONE);
	CHECK_STR(result_of("default/web-0/app")->detail,
		  "restarted since: it has the values of its spec");
	check_file(POD "/99/memory.max", "805306368\n");
	CHECK_EQ(records.count, 0);
	/* The same path with another cgroup in it: the machine was booted. */
	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	baseline_find(&records, "pod:0b1c")->cgroup_inode = 1;
	CHECK_EQ(restore_now("default/web-0", false), 0);
	CHECK_EQ(outcome_of("default/web-0"), RESTORE_GONE);
	check_file(POD "/memory.max", "1073741824\n");
	CHECK_EQ(records.count, 1);
}

/* Of a pod that is gone nothing is reported, and nothing is kept. */
TEST(pod_gone)
{
	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	fake_remove(&fake, POD);
	CHECK_EQ(restore_now("default/web-0", false), 0);
	CHECK_EQ(result_count, 0);
	CHECK_EQ(records.count, 1);
	CHECK_EQ(restore_now("default/web-0", false), -ENOENT);
}

/* The daemon's records of a pod stay, whatever its cgroups are: its spec may hold vscaled's values.
 */
TEST_BOTH(kept, pod_gone)
{
	struct restore r;
	size_t count;

	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	fake_remove(&fake, pod_gone ? POD : APP);
	r = settings();
	r.keep_pods = true;
	count = records.count;
	CHECK_EQ(restore_set(&r, &records, "default/web-0", take_result, NULL), 0);
	CHECK_EQ(records.count, count);
}

TEST(ratified)
{
	struct restore r;

	begin_pod(768 * MIB, 512 * MIB, 256 * MIB);
	baseline_find(&records, "pod:0b1c/app")->ratified = 1;
	r = settings();
	r.spec_stays = true;
	CHECK_EQ(restore_set(&r, &records, "default/web-0", take_result, NULL), 0);
	CHECK(strstr(result_of("default/web-0/app")->detail, "spec still has values of vscaled") !=
	      NULL);
	CHECK_STR(result_of("default/web-0/side")->detail, "");
}

/* The systemd driver: the scope's properties go back with the files. */
TEST(scope)
{
	struct baseline *b;

	begin();
	b = put("pod:7d7d/app", UNIT, "default/db-0/app", LIMITS(30000, 512 * MIB));
	b->unit = strdup(SCOPE);
	b->props = (struct unit_props){300000, UINT64_MAX, 512 * MIB, UINT64_MAX};
	CHECK_EQ(restore_now("default/db-0/app", false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	CHECK_STR(pid1.sets, SCOPE " ");
	CHECK_EQ(pid1.stored.mem_max, 512 * MIB);
	check_file(UNIT "/cpu.max", "30000 100000\n");
	check_file(UNIT "/memory.max", "536870912\n");
}

static void put_levels(const char *cpu, const char *max)
{
	static const struct fake_file inner[] = {
		CGROUP(UNIT "/container", "40000 100000\n", "0\n", "max\n", "805306368\n",
		       "209715200\n", MEM_STAT(209715200, 0)),
	};

	for (size_t i = 0; i < ARRAY_SIZE(inner); i++)
		fake_put(&fake, inner[i].path, inner[i].text);
	fake_put(&fake, UNIT "/cpu.max", cpu);
	fake_put(&fake, UNIT "/memory.max", max);
}

/* crun: the second level goes back with the scope, which has no limits of its own with crun 1.8. */
TEST_BOTH(scope_levels, both)
{
	const char *scope_cpu = both ? "34000 100000\n" : "max 100000\n";
	const char *scope_max = both ? "536870912\n" : "max\n";
	struct baseline *b;

	begin();
	put_levels(both ? "40000 100000\n" : "max 100000\n", both ? "805306368\n" : "max\n");
	b = put("pod:7d7d/app", UNIT, "default/db-0/app", LIMITS(33300, 512 * MIB));
	b->unit = strdup(SCOPE);
	if (both)
		b->props = (struct unit_props){340000, UINT64_MAX, 512 * MIB, UINT64_MAX};
	CHECK_EQ(restore_now("default/db-0/app", false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	check_file(UNIT "/container/cpu.max", "33300 100000\n");
	check_file(UNIT "/container/memory.max", "536870912\n");
	check_file(UNIT "/cpu.max", scope_cpu);
	check_file(UNIT "/memory.max", scope_max);
}

int main(void)
{
	int fds;

	begin();
	fds = fake_open_fds();
	check_run();
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}

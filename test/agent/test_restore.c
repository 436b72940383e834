// SPDX-License-Identifier: Apache-2.0
/* Restoring on a fake tree, with a PID 1 that stores and re-asserts values as systemd does. */
#include "agent/ctl/ctl.h"
#include "agent/lock.h"
#include "agent/restore.h"
#include "test/check.h"
#include "test/fake.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEB   "system.slice/web.service"
#define SLICE "batch.slice"
#define JOB   "batch.slice/job.service"

#define MEM_STAT(anon, file)                                                                       \
	"anon " #anon "\nfile " #file "\nkernel 0\nshmem 0\nslab_reclaimable 0\n"                  \
	"inactive_file 0\nactive_file " #file "\nunevictable 0\n"                                  \
	"workingset_refault_anon 0\nworkingset_refault_file 0\n"

#define CGROUP(path, cpu, burst, high, max, current, stat)                                         \
	{path "/cpu.max", cpu}, {path "/cpu.max.burst", burst}, {path "/memory.high", high},       \
		{path "/memory.max", max}, {path "/memory.current", current},                      \
		{path "/memory.stat", stat},                                                       \
	{                                                                                          \
		path "/memory.reclaim", ""                                                         \
	}

static const struct fake_file tree[] = {
	CGROUP(WEB, "38000 100000\n", "0\n", "max\n", "1073741824\n", "104857600\n",
	       MEM_STAT(104857600, 0)),
	CGROUP(SLICE, "max 100000\n", "0\n", "max\n", "1073741824\n", "104857600\n",
	       MEM_STAT(104857600, 0)),
	CGROUP(JOB, "10000 100000\n", "5000\n", "max\n", "268435456\n", "104857600\n",
	       MEM_STAT(104857600, 0)),
};

/* What PID 1 holds for one unit; it re-asserts all of it at every call. */
struct pid1 {
	struct fake *fake;
	struct unit_props stored;
	uint32_t dropins;
	int error;             /* of set */
	char sets[256];        /* names in the order of the calls */
	char slice_at_set[32]; /* memory.max of the slice at the first call */
	bool beaten;           /* an administrator's drop-in wins over what was set */
	unsigned refused;      /* quotas that the kernel would not take for the burst */
};

static struct fake fake;
static struct pid1 pid1;
static struct restore_result results[8];
static size_t result_count;

static const char *path_of(const char *unit)
{
	if (strcmp(unit, "web.service") == 0)
		return WEB;
	return strcmp(unit, "batch.slice") == 0 ? SLICE : JOB;
}

static void pid1_write(const char *unit, const char *file, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "%s/%s", path_of(unit), file);
	if (value == LIMIT_MAX)
		strcpy(text, "max\n");
	else
		snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	if (faccessat(fake.fd, path_of(unit), F_OK, 0) == 0)
		fake_put(&fake, path, text);
}

/* The kernel refuses a quota below the burst, and systemd says nothing of it. */
static void pid1_write_quota(struct pid1 *p, const char *unit)
{
	uint64_t per_sec = p->stored.cpu_quota_per_sec_usec;
	char path[128], text[64];

	snprintf(path, sizeof(path), "%s/cpu.max.burst", path_of(unit));
	if (faccessat(fake.fd, path, F_OK, 0) < 0)
		return;
	if (strtoull(fake_get(&fake, path, text, sizeof(text)), NULL, 10) > per_sec / 10) {
		p->refused++;
		return;
	}
	snprintf(path, sizeof(path), "%s/cpu.max", path_of(unit));
	if (per_sec == UINT64_MAX)
		strcpy(text, "max 100000\n");
	else
		snprintf(text, sizeof(text), "%" PRIu64 " 100000\n", per_sec / 10);
	if (faccessat(fake.fd, path, F_OK, 0) == 0)
		fake_put(&fake, path, text);
}

static int pid1_set(void *ctx, const char *unit, const struct unit_props *want, uint32_t mask)
{
	struct pid1 *p = ctx;
	size_t length = strlen(p->sets);

	if (length == 0)
		fake_get(p->fake, SLICE "/memory.max", p->slice_at_set, sizeof(p->slice_at_set));
	snprintf(p->sets + length, sizeof(p->sets) - length, "%s ", unit);
	if (p->error < 0)
		return p->error;
	if (mask & UNIT_PROP_CPU_QUOTA)
		p->stored.cpu_quota_per_sec_usec = want->cpu_quota_per_sec_usec;
	if (mask & UNIT_PROP_MEM_MAX)
		p->stored.mem_max = want->mem_max;
	if (mask & UNIT_PROP_MEM_HIGH)
		p->stored.mem_high = want->mem_high;
	p->dropins |= mask;
	pid1_write_quota(p, unit);
	pid1_write(unit, "memory.max", p->stored.mem_max);
	pid1_write(unit, "memory.high", p->stored.mem_high);
	return 0;
}

static int pid1_get(void *ctx, const char *unit, struct unit_props *ret)
{
	const struct pid1 *p = ctx;

	(void)unit;
	*ret = p->stored;
	if (p->beaten)
		ret->mem_max = 3 * GIB;
	return 0;
}

static int pid1_drop(void *ctx, const char *unit, uint32_t mask)
{
	struct pid1 *p = ctx;

	(void)unit;
	p->dropins &= ~mask;
	return 0;
}

static const struct restore_units units = {
	.ctx = &pid1, .set = pid1_set, .get = pid1_get, .drop = pid1_drop};

static void take_result(void *arg, const struct restore_result *r)
{
	(void)arg;
	results[result_count++] = *r;
}

static uint64_t inode_of(const char *path)
{
	struct stat st = {0};

	CHECK_EQ(fstatat(fake.fd, path, &st, 0), 0);
	return st.st_ino;
}

/* web.service came with 20 % of a CPU and 512 MiB, and has 38 % and 1 GiB in the tree. */
static struct baseline web_record(void)
{
	return (struct baseline){
		.key = (char *)"unit:web.service",
		.limits = {20000, 100000, 0, 512 * MIB, LIMIT_MAX},
		.props = {200000, UINT64_MAX, 512 * MIB, UINT64_MAX},
		.high_before = LIMIT_MAX,
		.cgroup_inode = inode_of(WEB),
	};
}

static struct baseline_set records;

static void begin(void)
{
	struct baseline b;

	fake_open(&fake, tree, ARRAY_SIZE(tree));
	b = web_record();
	CHECK_EQ(baseline_put(&records, &b), 0);
	pid1 = (struct pid1){.fake = &fake, .stored = {380000, UINT64_MAX, GIB, UINT64_MAX}};
	result_count = 0;
}

static void end(void)
{
	baseline_set_free(&records);
	records = (struct baseline_set){0};
	fake_close(&fake);
}

static struct restore settings(void)
{
	return (struct restore){.root = fake.fd,
				.units = &units,
				.margin_permille = 100,
				.margin_min_bytes = 8 * MIB,
				.reclaim = true};
}

static void check_file(const char *path, const char *want)
{
	char text[256];

	CHECK_STR(fake_get(&fake, path, text, sizeof(text)), want);
}

static int restore_now(const char *name, bool force)
{
	struct restore r = settings();

	r.force = force;
	result_count = 0;
	return restore_set(&r, &records, name, take_result, NULL);
}

static void test_restored(void)
{
	begin();
	records.items[0].dropins = UNIT_PROP_CPU_QUOTA;
	CHECK_EQ(restore_now("web.service", false), 0);
	CHECK_EQ(result_count, 1);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	CHECK_STR(results[0].detail, "");
	check_file(WEB "/cpu.max", "20000 100000\n");
	check_file(WEB "/memory.max", "536870912\n");
	check_file(WEB "/memory.high", "max\n");
	CHECK_EQ(pid1.stored.cpu_quota_per_sec_usec, 200000);
	CHECK_EQ(pid1.stored.mem_max, 512 * MIB);
	/* The drop-in that was there before us stays. */
	CHECK_EQ(pid1.dropins, UNIT_PROP_CPU_QUOTA);
	CHECK_EQ(records.count, 0);
	CHECK_EQ(restore_now("web.service", false), -ENOENT);
	CHECK_EQ(restore_now(NULL, false), 0);
	end();
}

/* 600 MiB in use do not go into the original 512 MiB: nothing but the CPU is put back. */
static void test_grown(void)
{
	begin();
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	fake_put(&fake, WEB "/memory.stat", MEM_STAT(629145600, 0));
	fake_put(&fake, WEB "/memory.high", "700000000\n");
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_LEFT);
	CHECK(strstr(results[0].detail, "600 MiB in use") && strstr(results[0].detail, "512 MiB"));
	check_file(WEB "/cpu.max", "20000 100000\n");
	check_file(WEB "/memory.max", "1073741824\n");
	check_file(WEB "/memory.high", "max\n");
	/* What a daemon-reload would re-assert leaves it alone too. */
	CHECK_EQ(pid1.stored.mem_max, GIB);
	CHECK_EQ(pid1.stored.mem_high, UINT64_MAX);
	CHECK_EQ(records.count, 1);
	CHECK_EQ(restore_now(NULL, true), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	check_file(WEB "/memory.max", "536870912\n");
	CHECK_EQ(records.count, 0);
	end();
	/* An original memory.high below use would throttle it to a standstill: left as well. */
	begin();
	records.items[0].props.mem_high = records.items[0].limits.mem_high = 64 * MIB;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_LEFT);
	check_file(WEB "/memory.high", "max\n");
	CHECK_EQ(pid1.stored.mem_high, UINT64_MAX);
	end();
}

/* Without systemd's help the file itself is forced. */
static void test_forced_file(void)
{
	struct restore r;

	begin();
	r = settings();
	r.units = NULL;
	r.force = true;
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	CHECK_EQ(restore_set(&r, &records, NULL, take_result, NULL), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	check_file(WEB "/memory.max", "536870912\n");
	end();
}

/* use + max(10 %, 8 MiB) = 512 MiB exactly, and one page more. */
static void test_margin(void)
{
	static const struct {
		const char *current;
		enum restore_outcome outcome;
	} cases[] = {{"488064000\n", RESTORE_RESTORED}, {"488068096\n", RESTORE_LEFT}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin();
		fake_put(&fake, WEB "/memory.current", cases[i].current);
		fake_put(&fake, WEB "/memory.stat", MEM_STAT(488068096, 0));
		CHECK_EQ(restore_now(NULL, false), 0);
		CHECK_EQ(results[0].outcome, cases[i].outcome);
		end();
	}
}

/* Page cache that fills the room is asked back first; memory that must stay is not. */
static void test_reclaim(void)
{
	begin();
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	fake_put(&fake, WEB "/memory.stat", MEM_STAT(104857600, 524288000));
	CHECK_EQ(restore_now(NULL, false), 0);
	check_file(WEB "/memory.reclaim", "16777216\n");
	/* The fake tree gives nothing back. */
	CHECK_EQ(results[0].outcome, RESTORE_LEFT);
	end();
	begin();
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	fake_put(&fake, WEB "/memory.stat", MEM_STAT(629145600, 0));
	CHECK_EQ(restore_now(NULL, false), 0);
	check_file(WEB "/memory.reclaim", "");
	end();
}

static void test_gone(void)
{
	begin();
	fake_remove(&fake, WEB);
	pid1.dropins = UNIT_PROP_MEM_MAX;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_GONE);
	CHECK_EQ(pid1.stored.mem_max, 512 * MIB);
	CHECK_EQ(pid1.dropins, 0);
	CHECK_EQ(records.count, 0);
	end();
	/* systemd does not know it any more: no error. */
	begin();
	fake_remove(&fake, WEB);
	pid1.error = -ENOENT;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_GONE);
	end();
}

/* A restarted unit has another inode and still systemd's values. */
static void test_restarted(void)
{
	begin();
	records.items[0].cgroup_inode = 1;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	check_file(WEB "/memory.max", "536870912\n");
	end();
}

static void test_systemd_fails(void)
{
	begin();
	pid1.error = -ETIMEDOUT;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK(strstr(results[0].detail, "systemd") != NULL);
	CHECK_EQ(records.count, 1);
	end();
	begin();
	fake_remove(&fake, WEB);
	pid1.error = -ENOTCONN;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK_EQ(records.count, 1);
	end();
}

/* systemd took the values and holds others all the same. */
static void test_read_back(void)
{
	begin();
	pid1.beaten = true;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK(strstr(results[0].detail, "systemd holds other values") != NULL);
	CHECK_EQ(records.count, 1);
	end();
}

/* The burst goes down before the quota does, so that systemd's own write is taken. */
static void test_burst(void)
{
	begin();
	fake_put(&fake, WEB "/cpu.max.burst", "30000\n");
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	CHECK_EQ(pid1.refused, 0);
	check_file(WEB "/cpu.max.burst", "0\n");
	end();
}

/* A file that cannot be written is a failure by name, and the rest is done. */
static void test_file_fails(void)
{
	begin();
	fake_remove(&fake, WEB "/cpu.max");
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK(strstr(results[0].detail, "cpu.max") != NULL);
	check_file(WEB "/memory.max", "536870912\n");
	CHECK_EQ(records.count, 1);
	end();
}

/* Growing goes from the slice down before anything else; the rest from the children up. */
static void test_order(void)
{
	struct baseline slice = {.key = (char *)"unit:batch.slice",
				 .limits = {LIMIT_MAX, 100000, 0, 2 * GIB, LIMIT_MAX},
				 .props = {UINT64_MAX, UINT64_MAX, 2 * GIB, UINT64_MAX}};
	struct baseline job = {.key = (char *)"unit:job.service",
			       .limits = {50000, 100000, 20000, GIB, 900 * MIB},
			       .props = {500000, UINT64_MAX, GIB, 900 * MIB}};

	begin();
	CHECK_EQ(baseline_put(&records, &slice), 0);
	CHECK_EQ(baseline_put(&records, &job), 0);
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(result_count, 3);
	CHECK_STR(pid1.slice_at_set, "2147483648\n");
	CHECK(strstr(pid1.sets, "job.service") < strstr(pid1.sets, "batch.slice"));
	check_file(JOB "/memory.max", "1073741824\n");
	check_file(JOB "/memory.high", "943718400\n");
	check_file(JOB "/cpu.max", "50000 100000\n");
	check_file(JOB "/cpu.max.burst", "20000\n");
	end();
}

static void test_lift(void)
{
	struct restore r;

	begin();
	r = settings();
	fake_put(&fake, WEB "/memory.high", "200000000\n");
	/* Not marked: somebody else's. */
	CHECK_EQ(restore_lift(&r, &records), 0);
	check_file(WEB "/memory.high", "200000000\n");
	records.items[0].high = BASELINE_HIGH_LOWERED;
	/* The property is high already: systemd is not asked to re-assert anything. */
	CHECK_EQ(restore_lift(&r, &records), 1);
	check_file(WEB "/memory.high", "max\n");
	check_file(WEB "/memory.max", "1073741824\n");
	check_file(WEB "/cpu.max", "38000 100000\n");
	CHECK_STR(pid1.sets, "");
	CHECK_EQ(records.items[0].high, BASELINE_HIGH_KEPT);
	CHECK_EQ(restore_lift(&r, &records), 0);
	end();
	/* systemd holds the low value and an older memory.max: neither may come back. */
	begin();
	r = settings();
	fake_put(&fake, WEB "/memory.high", "200000000\n");
	pid1.stored.mem_high = 200000000;
	pid1.stored.mem_max = 512 * MIB;
	records.items[0].high = BASELINE_HIGH_LOWERED;
	CHECK_EQ(restore_lift(&r, &records), 1);
	CHECK_EQ(pid1.stored.mem_high, UINT64_MAX);
	CHECK_EQ(pid1.stored.mem_max, GIB);
	check_file(WEB "/memory.max", "1073741824\n");
	end();
}

static void test_lock(const char *dir)
{
	int first = -1, second = -1;

	CHECK_EQ(lock_take(dir, &first), 0);
	CHECK_EQ(lock_take(dir, &second), -EWOULDBLOCK);
	CHECK_EQ(second, -1);
	close(first);
	CHECK_EQ(lock_take(dir, &second), 0);
	close(second);
	CHECK_EQ(lock_take("/proc/none/x", &second), -ENOENT);
}

static int run_ctl(const char *dir, const char *word, const char *name, const char *extra)
{
	char *argv[] = {"vscalectl", (char *)word, (char *)name, (char *)extra, NULL};
	char socket[80], *text = NULL;
	struct ctl c;
	size_t size;
	int argc = extra ? 4 : name ? 3 : 2, r;

	snprintf(socket, sizeof(socket), "%s/none.sock", dir);
	ctl_default(&c);
	c.config = "/nonexistent";
	c.socket = socket;
	c.state_directory = dir;
	c.runtime_directory = dir;
	c.cgroup_root = fake.path;
	c.trust_cgroup_root = true;
	c.units = &units;
	c.out = c.err = open_memstream(&text, &size);
	r = ctl_main(&c, argc, argv);
	fclose(c.out);
	free(text);
	return r;
}

/* The whole command with the daemon dead: exit 75 while it is too big, 0 afterwards. */
static void test_command(const char *dir)
{
	int state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), lock;
	struct baseline_set left = {0};
	char aside[STATE_ASIDE_MAX];

	begin();
	CHECK_EQ(run_ctl(dir, "restore", "--all", NULL), CTL_OK);
	CHECK_EQ(run_ctl(dir, "lift", NULL, NULL), CTL_OK);
	CHECK_EQ(run_ctl(dir, "restore", "web.service", NULL), CTL_NOT_MANAGED);
	records.items[0].high = BASELINE_HIGH_LOWERED;
	CHECK_EQ(baseline_save(state, &records), 0);
	CHECK_EQ(run_ctl(dir, "restore", "other.service", NULL), CTL_NOT_MANAGED);
	fake_put(&fake, WEB "/memory.high", "700000000\n");
	CHECK_EQ(run_ctl(dir, "lift", NULL, NULL), CTL_OK);
	check_file(WEB "/memory.high", "max\n");
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	fake_put(&fake, WEB "/memory.stat", MEM_STAT(629145600, 0));
	CHECK_EQ(lock_take(dir, &lock), 0);
	CHECK_EQ(run_ctl(dir, "restore", "--all", NULL), CTL_TRY_LATER);
	close(lock);
	check_file(WEB "/cpu.max", "38000 100000\n");
	CHECK_EQ(run_ctl(dir, "restore", "--all", NULL), CTL_TRY_LATER);
	check_file(WEB "/cpu.max", "20000 100000\n");
	check_file(WEB "/memory.max", "1073741824\n");
	fake_put(&fake, WEB "/memory.current", "104857600\n");
	CHECK_EQ(run_ctl(dir, "restore", "web.service", NULL), CTL_OK);
	check_file(WEB "/memory.max", "536870912\n");
	CHECK_EQ(baseline_load(state, aside, &left), 0);
	CHECK_EQ(left.count, 0);
	/* systemd cannot be reached: an error, and the record stays. */
	CHECK_EQ(baseline_save(state, &records), 0);
	pid1.error = -ENOTCONN;
	CHECK_EQ(run_ctl(dir, "restore", "web.service", NULL), CTL_ERROR);
	baseline_set_free(&left);
	left = (struct baseline_set){0};
	CHECK_EQ(baseline_load(state, aside, &left), 0);
	CHECK_EQ(left.count, 1);
	baseline_set_free(&left);
	end();
	close(state);
}

/* The lock and whatever a set of records is kept in. */
static void remove_folder(const char *path)
{
	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_type == DT_REG)
			unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	CHECK_EQ(rmdir(path), 0);
}

int main(void)
{
	char dir[] = "/tmp/vscaled-restore-XXXXXX";

	if (!mkdtemp(dir))
		return EXIT_FAILURE;
	test_restored();
	test_grown();
	test_forced_file();
	test_margin();
	test_reclaim();
	test_gone();
	test_restarted();
	test_systemd_fails();
	test_read_back();
	test_burst();
	test_file_fails();
	test_order();
	test_lift();
	test_lock(dir);
	test_command(dir);
	remove_folder(dir);
	return check_result();
}

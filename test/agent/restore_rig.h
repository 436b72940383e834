/* SPDX-License-Identifier: Apache-2.0 */
/* A fake tree and a PID 1 that stores and re-asserts values as systemd does, for tests of
 * restoring. */
#pragma once

#include "agent/restore/restore.h"
#include "test/check.h"
#include "test/fake.h"
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#define WEB   "system.slice/web.service"
#define SLICE "batch.slice"
#define JOB   "batch.slice/job.service"
#define POD   "kubepods/burstable/pod0b1c"
#define APP   POD "/77aa"
#define SIDE  POD "/88bb"
#define SCOPE                                                                                      \
	"cri-containerd-00000000000000000000000000000000000000000000000000000000000099cc.scope"
#define UNIT "kubepods.slice/kubepods-pod7d7d.slice/" SCOPE

#define MEM_STAT(anon, file)                                                                       \
	"anon " #anon "\nfile " #file "\nkernel 0\nshmem 0\nslab_reclaimable 0\nsock 0\n"          \
	"inactive_anon " #anon "\nactive_anon 0\ninactive_file 0\nactive_file " #file              \
	"\nunevictable 0\n"                                                                        \
	"workingset_refault_anon 0\nworkingset_refault_file 0\n"

#define CGROUP(path, cpu, burst, high, max, current, stat)                                         \
	{path "/cpu.max", cpu}, {path "/cpu.max.burst", burst}, {path "/memory.high", high},       \
		{path "/memory.max", max}, {path "/memory.current", current},                      \
		{path "/memory.stat", stat}, {path "/memory.reclaim", ""}

static const struct fake_file tree[] = {
	CGROUP(WEB, "38000 100000\n", "0\n", "max\n", "1073741824\n", "104857600\n",
	       MEM_STAT(104857600, 0)),
	CGROUP(SLICE, "max 100000\n", "0\n", "max\n", "1073741824\n", "104857600\n",
	       MEM_STAT(104857600, 0)),
	CGROUP(POD, "60000 100000\n", "0\n", "max\n", "1073741824\n", "314572800\n",
	       MEM_STAT(314572800, 0)),
	CGROUP(APP, "40000 100000\n", "0\n", "max\n", "805306368\n", "209715200\n",
	       MEM_STAT(209715200, 0)),
	CGROUP(SIDE, "20000 100000\n", "0\n", "max\n", "268435456\n", "104857600\n",
	       MEM_STAT(104857600, 0)),
	CGROUP(UNIT, "40000 100000\n", "0\n", "max\n", "805306368\n", "209715200\n",
	       MEM_STAT(209715200, 0)),
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
	uint64_t grow_to; /* web.service grows while a call waits, as far as its file lets it */
	unsigned kills;   /* memory.max below use */
};

static struct fake fake;
static struct pid1 pid1;
static struct restore_result results[8];
static char result_names[8][64];
static size_t result_count;

static inline const char *path_of(const char *unit)
{
	if (strcmp(unit, "web.service") == 0)
		return WEB;
	if (strcmp(unit, SCOPE) == 0)
		return UNIT;
	return strcmp(unit, "batch.slice") == 0 ? SLICE : JOB;
}

static inline void pid1_write(const char *unit, const char *file, uint64_t value)
{
	char path[256], text[32];

	snprintf(path, sizeof(path), "%s/%s", path_of(unit), file);
	if (value == LIMIT_MAX)
		strcpy(text, "max\n");
	else
		snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	if (faccessat(fake.fd, path_of(unit), F_OK, 0) == 0)
		fake_put(&fake, path, text);
}

static inline uint64_t web_bytes(const char *file)
{
	char path[256], text[64];

	snprintf(path, sizeof(path), "%s/%s", WEB, file);
	fake_get(&fake, path, text, sizeof(text));
	return strncmp(text, "max", 3) == 0 ? LIMIT_MAX : strtoull(text, NULL, 10);
}

/* The kernel does not let use exceed memory.max. */
static inline void web_grow(uint64_t to)
{
	uint64_t use = web_bytes("memory.current");

	pid1_write("web.service", "memory.current", MAX(use, MIN(to, web_bytes("memory.max"))));
}

/* The kernel refuses a quota below the burst, and systemd does not report that. */
static inline void pid1_write_quota(struct pid1 *p, const char *unit)
{
	uint64_t per_sec = p->stored.cpu_quota_per_sec_usec;
	char path[256], text[64];

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

static inline int pid1_set(void *ctx, const char *unit, const struct unit_props *want,
			   uint32_t mask)
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
	if (p->grow_to > 0)
		web_grow(p->grow_to);
	p->kills += strcmp(unit, "web.service") == 0 && p->grow_to > 0 &&
		    p->stored.mem_max < web_bytes("memory.current");
	pid1_write_quota(p, unit);
	pid1_write(unit, "memory.max", p->stored.mem_max);
	pid1_write(unit, "memory.high", p->stored.mem_high);
	return 0;
}

static inline int pid1_get(void *ctx, const char *, struct unit_props *ret)
{
	const struct pid1 *p = ctx;

	*ret = p->stored;
	if (p->beaten)
		ret->mem_max = 3 * GIB;
	return 0;
}

static inline int pid1_drop(void *ctx, const char *, uint32_t mask)
{
	struct pid1 *p = ctx;

	p->dropins &= ~mask;
	return 0;
}

static const struct restore_units units = {
	.ctx = &pid1, .set = pid1_set, .get = pid1_get, .drop = pid1_drop};

static inline void take_result(void *, const struct restore_result *r)
{
	/* The name is the record's, which may go. */
	snprintf(result_names[result_count], sizeof(result_names[0]), "%s", r->unit);
	results[result_count] = *r;
	results[result_count].unit = result_names[result_count];
	result_count++;
}

static inline uint64_t inode_of(const char *path)
{
	struct stat st = {0};

	CHECK_EQ(fstatat(fake.fd, path, &st, 0), 0);
	return st.st_ino;
}

/* web.service came with 20 % of a CPU and 512 MiB, and has 38 % and 1 GiB in the tree. */
static inline struct baseline web_record(void)
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

static inline void end(void)
{
	baseline_set_free(&records);
	records = (struct baseline_set){0};
	fake_close(&fake);
}

/* Ends what the test before has begun. */
static inline void begin(void)
{
	static bool begun;
	struct baseline b;

	if (begun)
		end();
	begun = true;
	check_at_end(end);
	fake_open(&fake, tree, ARRAY_SIZE(tree));
	b = web_record();
	CHECK_EQ(baseline_put(&records, &b), 0);
	pid1 = (struct pid1){.fake = &fake, .stored = {380000, UINT64_MAX, GIB, UINT64_MAX}};
	result_count = 0;
}

static inline struct restore settings(void)
{
	return (struct restore){.root = fake.fd,
				.units = &units,
				.margin_permille = 100,
				.margin_min_bytes = 8 * MIB,
				.reclaim = true};
}

static inline void check_file(const char *path, const char *want)
{
	char text[256];

	CHECK_STR(fake_get(&fake, path, text, sizeof(text)), want);
}

static inline int restore_now(const char *name, bool force)
{
	struct restore r = settings();

	r.force = force;
	result_count = 0;
	return restore_set(&r, &records, name, take_result, NULL);
}

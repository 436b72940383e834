// SPDX-License-Identifier: Apache-2.0
/* Restoring unit by unit. */
#include "cgroup/writer.h"
#include "test/agent/restore_rig.h"
#include "test/fake_page.h"
#include <errno.h>
#include <fcntl.h>

/* web.service grows right before that write of memory.max; the linker brings the write here. */
static struct growth {
	uint64_t to;
	unsigned write;
} growth;

int __real_cg_write(struct cg *c, const struct change *ch);
int __wrap_cg_write(struct cg *c, const struct change *ch);

int __wrap_cg_write(struct cg *c, const struct change *ch)
{
	if (growth.to > 0 && ch->knob == KNOB_MEM_MAX && --growth.write == 0) {
		web_grow(growth.to);
		growth.to = 0;
	}
	return __real_cg_write(c, ch);
}

TEST(restored)
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
}

/* An original that a spec says is no multiple of a page. */
TEST(pages)
{
	for (uint64_t page = 4 * KIB; page <= 64 * KIB; page *= 4) {
		fake_page(page);
		begin();
		records.items[0].limits.mem_max = records.items[0].props.mem_max = 500000000;
		CHECK_EQ(restore_now(NULL, false), 0);
		CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
		CHECK_EQ(web_bytes("memory.max"), 500000000 - 500000000 % page);
		CHECK_EQ(pid1.stored.mem_max, 500000000);
		CHECK_EQ(records.count, 0);
	}
	fake_page(4 * KIB);
}

/* 600 MiB in use do not go into the original 512 MiB: nothing but the CPU is put back. */
TEST(grown)
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
	/* An original memory.high below use would throttle it to a standstill: left as well. */
	begin();
	records.items[0].props.mem_high = records.items[0].limits.mem_high = 64 * MIB;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_LEFT);
	check_file(WEB "/memory.high", "max\n");
	CHECK_EQ(pid1.stored.mem_high, UINT64_MAX);
}

/* Without systemd's help the file itself is forced. */
TEST(forced_file)
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
}

/* use + max(10 %, 8 MiB) = 512 MiB exactly, and one page more. */
TEST(margin)
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
	}
}

/* Page cache above the original is reclaimed first; unreclaimable memory is not. */
TEST(reclaim)
{
	begin();
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	fake_put(&fake, WEB "/memory.stat", MEM_STAT(104857600, 524288000));
	CHECK_EQ(restore_now(NULL, false), 0);
	check_file(WEB "/memory.reclaim", "16777216\n");
	/* The fake tree gives nothing back. */
	CHECK_EQ(results[0].outcome, RESTORE_LEFT);
	begin();
	fake_put(&fake, WEB "/memory.current", "629145600\n");
	fake_put(&fake, WEB "/memory.stat", MEM_STAT(629145600, 0));
	CHECK_EQ(restore_now(NULL, false), 0);
	check_file(WEB "/memory.reclaim", "");
}

TEST(gone)
{
	begin();
	fake_remove(&fake, WEB);
	pid1.dropins = UNIT_PROP_MEM_MAX;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_GONE);
	CHECK_EQ(pid1.stored.mem_max, 512 * MIB);
	CHECK_EQ(pid1.dropins, 0);
	CHECK_EQ(records.count, 0);
	/* systemd does not know it any more: no error. */
	begin();
	fake_remove(&fake, WEB);
	pid1.error = -ENOENT;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_GONE);
}

/* A restarted unit has another inode and still systemd's values. */
TEST(restarted)
{
	begin();
	records.items[0].cgroup_inode = 1;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	check_file(WEB "/memory.max", "536870912\n");
}

/* After a boot another unit's cgroup may have the inode on record. */
TEST(inode_of_another)
{
	begin();
	records.items[0].cgroup_inode = inode_of(JOB);
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	check_file(WEB "/memory.max", "536870912\n");
	check_file(JOB "/memory.max", "268435456\n");
}

/* A user's service manager, or one in a container, has a unit of that name too. */
TEST(same_name)
{
	static const char *const others[] = {
		"machine.slice/c1.scope/payload/system.slice/web.service",
		"user.slice/user-1000.slice/user@1000.service/app.slice/web.service",
		"lxc.payload.c2/system.slice/web.service",
	};
	char path[256];

	for (int runs = 0; runs < 2; runs++) {
		begin();
		fake_put(&fake, "init.scope", NULL);
		records.items[0].cgroup_inode = 1;
		for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
			snprintf(path, sizeof(path), "%s/memory.max", others[i]);
			fake_put(&fake, path, "1073741824\n");
		}
		if (!runs)
			fake_remove(&fake, WEB);
		CHECK_EQ(restore_now(NULL, false), 0);
		CHECK_EQ(results[0].outcome, runs ? RESTORE_RESTORED : RESTORE_GONE);
		if (runs)
			check_file(WEB "/memory.max", "536870912\n");
		for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
			snprintf(path, sizeof(path), "%s/memory.max", others[i]);
			check_file(path, "1073741824\n");
		}
	}
}

TEST(systemd_fails)
{
	begin();
	pid1.error = -ETIMEDOUT;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK(strstr(results[0].detail, "systemd") != NULL);
	CHECK_EQ(records.count, 1);
	begin();
	fake_remove(&fake, WEB);
	pid1.error = -ENOTCONN;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK_EQ(records.count, 1);
}

/* systemd accepts the call and stores other values. */
TEST(read_back)
{
	begin();
	pid1.beaten = true;
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK(strstr(results[0].detail, "systemd holds other values") != NULL);
	CHECK_EQ(records.count, 1);
}

/* The burst goes down before the quota does, so that systemd's own write is taken. */
TEST(burst)
{
	begin();
	fake_put(&fake, WEB "/cpu.max.burst", "30000\n");
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_RESTORED);
	CHECK_EQ(pid1.refused, 0);
	check_file(WEB "/cpu.max.burst", "0\n");
}

/* A file that cannot be written is a failure by name, and the rest is done. */
TEST(file_fails)
{
	begin();
	fake_remove(&fake, WEB "/cpu.max");
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_FAILED);
	CHECK(strstr(results[0].detail, "cpu.max") != NULL);
	check_file(WEB "/memory.max", "536870912\n");
	CHECK_EQ(records.count, 1);
}

/* Growing goes from the slice down before anything else; the rest from the children up. */
TEST(order)
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
}

TEST(lift)
{
	struct restore r;

	begin();
	r = settings();
	fake_put(&fake, WEB "/memory.high", "200000000\n");
	/* Not marked as ours: left alone. */
	CHECK_EQ(restore_lift(&r, &records), 0);
	check_file(WEB "/memory.high", "199999488\n");
	records.items[0].high = BASELINE_HIGH_LOWERED;
	/* The stored property is high already: no call to systemd. */
	CHECK_EQ(restore_lift(&r, &records), 1);
	check_file(WEB "/memory.high", "max\n");
	check_file(WEB "/memory.max", "1073741824\n");
	check_file(WEB "/cpu.max", "38000 100000\n");
	CHECK_STR(pid1.sets, "");
	CHECK_EQ(records.items[0].high, BASELINE_HIGH_KEPT);
	CHECK_EQ(restore_lift(&r, &records), 0);
	/* systemd stores the low value and an older memory.max: neither may be written again. */
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
}

/* systemd's own original is the higher one: use follows it, and cannot be brought back. */
TEST(growth_under_a_higher_property)
{
	begin();
	records.items[0].props.mem_max = 800 * MIB;
	growth = (struct growth){.to = 700 * MIB, .write = 2};
	CHECK_EQ(restore_now(NULL, false), 0);
	CHECK_EQ(results[0].outcome, RESTORE_LEFT);
	CHECK_EQ(web_bytes("memory.max"), 800 * MIB);
	CHECK_EQ(pid1.stored.mem_max, 800 * MIB);
	CHECK_EQ(pid1.kills, 0);
}

/* Use has grown between its read and the write: the limit is left, and systemd is sent the present
 * value. */
TEST(growth_before_the_write)
{
	static const struct {
		uint64_t high, use;
		uint64_t max; /* what stands in the end */
	} cases[] = {
		{LIMIT_MAX, 700 * MIB, GIB},
		{300 * MIB, 400 * MIB, 512 * MIB}, /* memory.max fits, memory.high does not */
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		begin();
		records.items[0].limits.mem_high = records.items[0].props.mem_high = cases[i].high;
		growth = (struct growth){.to = cases[i].use, .write = 1};
		CHECK_EQ(restore_now(NULL, false), 0);
		CHECK_EQ(growth.to, 0);
		CHECK_EQ(results[0].outcome, RESTORE_LEFT);
		CHECK_EQ(web_bytes("memory.max"), cases[i].max);
		check_file(WEB "/memory.high", "max\n");
		check_file(WEB "/cpu.max", "20000 100000\n");
		CHECK_EQ(pid1.stored.mem_max, cases[i].max);
		CHECK_EQ(pid1.stored.mem_high, UINT64_MAX);
		CHECK_EQ(pid1.stored.cpu_quota_per_sec_usec, 200000);
		CHECK_EQ(records.count, 1);
	}
}

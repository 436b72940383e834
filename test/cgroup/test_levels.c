// SPDX-License-Identifier: Apache-2.0
/* A scope whose processes run in a child of it, as crun makes them: read and written as one. */
#include "cgroup/levels.h"
#include "cgroup/watch.h"
#include "cgroup/writer.h"
#include "test/check.h"
#include "test/fake.h"
#include <errno.h>
#include <inttypes.h>

#define ID    "00000000000000000000000000000000000000000000000000000000000000aa"
#define SCOPE "kubepods.slice/cri-containerd-" ID ".scope"
#define INNER SCOPE "/" CG_LEVEL_NAME

#define LIMITS (USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

static struct fake f;
static char order[128]; /* the levels written to, as inotify reports them */

static void put(const char *folder, const char *cpu, const char *mem)
{
	const struct fake_file files[] = {
		{"cpu.max", cpu},
		{"cpu.max.burst", "0\n"},
		{"memory.max", mem},
		{"memory.high", "max\n"},
		{"memory.current", "20000000\n"},
		{"memory.reclaim", ""},
		{"memory.events.local",
		 "low 0\nhigh 0\nmax 0\noom 3\noom_kill 0\noom_group_kill 0\n"},
	};
	char path[192];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i].path);
		fake_put(&f, path, files[i].text);
	}
}

static void put_throttle(const char *folder, unsigned periods, unsigned throttled, unsigned usec)
{
	char path[192], text[128];

	snprintf(path, sizeof path, "%s/cpu.stat", folder);
	snprintf(text, sizeof text,
		 "usage_usec 1000\nnr_periods %u\nnr_throttled %u\nthrottled_usec %u\n", periods,
		 throttled, usec);
	fake_put(&f, path, text);
}

static struct cg *open_scope(void)
{
	struct cg *c = NULL;

	CHECK_EQ(cg_open(f.fd, SCOPE, &c), 0);
	return c;
}

static void check_holds(const char *folder, const char *file, const char *text)
{
	char path[192], buf[64];

	snprintf(path, sizeof path, "%s/%s", folder, file);
	CHECK_STR(fake_get(&f, path, buf, sizeof buf), text);
}

/* --- reading --- */

static void check_limits(uint64_t quota, uint64_t bytes)
{
	OWN(drop_cg) struct cg *c = open_scope();
	struct usage u = {0};

	CHECK_EQ(cg_read(c, LIMITS, &u), 0);
	CHECK_EQ(u.have, LIMITS);
	CHECK_EQ(u.limits.cpu_quota_usec, quota);
	CHECK_EQ(u.limits.mem_max, bytes);
}

TEST(limits)
{
	/* crun 1.8 */
	put(SCOPE, "max 100000\n", "max\n");
	put(INNER, "33300 100000\n", "67108864\n");
	check_limits(33300, 64 * MIB);
	/* crun 1.21: systemd has rounded up */
	put(SCOPE, "34000 100000\n", "67108864\n");
	check_limits(33300, 64 * MIB);
	/* an external write to the scope, or the inner level has no limit */
	put(SCOPE, "20000 100000\n", "33554432\n");
	check_limits(20000, 32 * MIB);
	put(INNER, "max 100000\n", "max\n");
	check_limits(20000, 32 * MIB);
	/* periods differ: 400m below 500m */
	put(SCOPE, "500000 1000000\n", "max\n");
	put(INNER, "40000 100000\n", "max\n");
	check_limits(40000, LIMIT_MAX);
}

/* runc makes no inner level, and what is no scope has none. */
TEST(single)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u = {0};

	fake_put(&f, "kubepods/pod1/1/" CG_LEVEL_NAME "/cpu.max", "10000 100000\n");
	fake_put(&f, "kubepods/pod1/1/cpu.max", "30000 100000\n");
	CHECK_EQ(cg_open(f.fd, "kubepods/pod1/1", &c), 0);
	CHECK_EQ(cg_levels_check(c), 0);
	CHECK_EQ(cg_inner_id(c), 0);
	CHECK_EQ(cg_read(c, USAGE_CPU_LIMIT, &u), 0);
	CHECK_EQ(u.limits.cpu_quota_usec, 30000);
}

static void check_throttle(struct cg *c, uint64_t periods, uint64_t throttled, uint64_t usec)
{
	struct usage u = {0};

	CHECK_EQ(cg_read(c, USAGE_CPU | USAGE_THROTTLE, &u), 0);
	CHECK_EQ(u.have, USAGE_CPU | USAGE_THROTTLE);
	CHECK_EQ(u.cpu_usage_usec, 1000);
	CHECK_EQ(u.nr_periods, periods);
	CHECK_EQ(u.nr_throttled, throttled);
	CHECK_EQ(u.throttled_usec, usec);
}

/* Whichever level throttles is seen, and none twice. */
TEST(throttle)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	put(SCOPE, "30000 100000\n", "max\n");
	put(INNER, "30000 100000\n", "max\n");
	put_throttle(SCOPE, 100, 50, 5000);
	put_throttle(INNER, 100, 10, 900);
	c = open_scope();
	check_throttle(c, 100, 50, 5000);
	/* the inner one throttles */
	put_throttle(INNER, 110, 20, 1900);
	check_throttle(c, 110, 60, 6000);
	/* both, in the same periods */
	put_throttle(SCOPE, 120, 60, 6000);
	put_throttle(INNER, 130, 30, 2900);
	check_throttle(c, 130, 70, 7000);
	/* the scope */
	put_throttle(SCOPE, 130, 70, 7000);
	check_throttle(c, 140, 80, 8000);
	check_throttle(c, 140, 80, 8000);
	/* going backwards is no progress */
	put_throttle(INNER, 100, 1, 1);
	check_throttle(c, 140, 80, 8000);
	/* a scope without a quota counts no periods */
	fake_remove(&f, SCOPE "/cpu.stat");
	fake_put(&f, SCOPE "/cpu.stat", "usage_usec 1000\n");
	put_throttle(INNER, 140, 35, 3400);
	CHECK_EQ(cg_read(c, USAGE_CPU | USAGE_THROTTLE, &u), 0);
	CHECK_EQ(u.nr_throttled, 85);
}

TEST(oom_events)
{
	OWN(drop_cg) struct cg *c = open_scope();
	uint64_t looks = 0;

	CHECK_EQ(cg_oom_events(c, &looks), 0);
	CHECK_EQ(looks, 6);
	fake_put(&f, SCOPE "/memory.events", "oom 9\n");
	CHECK_EQ(cg_oom_events_all(c, &looks), 0);
	CHECK_EQ(looks, 9);
	/* no memory controller below the scope, or not yet */
	fake_remove(&f, INNER "/memory.events.local");
	CHECK_EQ(cg_oom_events(c, &looks), 0);
	CHECK_EQ(looks, 3);
	fake_remove(&f, SCOPE "/memory.events.local");
	CHECK_EQ(cg_oom_events(c, &looks), -ENOENT);
}

/* crun sets the CPUs at the inner level alone. */
static void check_cpus(const char *scope, const char *inner, uint32_t want)
{
	OWN(drop_cg) struct cg *c = open_scope();
	uint32_t count = 0;
	bool has = !want;

	fake_put(&f, SCOPE "/cpuset.cpus", scope);
	fake_put(&f, SCOPE "/cpuset.cpus.effective", scope);
	fake_put(&f, INNER "/cpuset.cpus", inner);
	fake_put(&f, INNER "/cpuset.cpus.effective", inner);
	CHECK(cg_has_cpus(c, &has) == 0 && has == (want != 0));
	CHECK(cg_count_cpus(c, &count) == 0 && count == want);
}

TEST(cpus)
{
	check_cpus("\n", "\n", 0);
	check_cpus("\n", "0-1\n", 2);
	check_cpus("0-7\n", "\n", 8);
	check_cpus("0-7\n", "2-3\n", 2);
}

/* --- writing --- */

static void note(void *, const struct cg_watch_event *e)
{
	size_t len = strlen(order);

	/* a plain file has an event for its truncation, and a quota may have moved a burst */
	if (e->what == CG_WATCH_LIMIT && (len == 0 || order[len - 1] != '0' + (char)e->cookie))
		snprintf(order + len, sizeof order - len, "%s%" PRIu64, len ? " " : "", e->cookie);
}

/* One write to both levels as given, and in which order: 1 is the scope, 2 the inner level. */
static void check_write(struct change ch, int outcome, const char *in_order)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = open_scope();
	OWN(drop_cg) struct cg *inner = NULL;

	CHECK_EQ(cg_open(f.fd, INNER, &inner), 0);
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK(cg_watch_limits(w, c, 1) > 0);
	CHECK(cg_watch_limits(w, inner, 2) > 0);
	order[0] = '\0';
	CHECK_EQ(cg_write(c, &ch), outcome);
	CHECK(cg_watch_drain(w, note, NULL) >= 0);
	CHECK_STR(order, in_order);
}

static struct change cpu(uint64_t quota)
{
	return (struct change){.knob = KNOB_CPU_MAX, .to = quota, .period_usec = 100000};
}

static struct change mem(uint64_t bytes, uint64_t margin)
{
	return (struct change){.knob = KNOB_MEM_MAX, .to = bytes, .margin_bytes = margin};
}

static void both(const char *file, const char *scope, const char *inner)
{
	check_holds(SCOPE, file, scope);
	check_holds(INNER, file, inner);
}

TEST(write_cpu)
{
	put(SCOPE, "34000 100000\n", "67108864\n");
	put(INNER, "33300 100000\n", "67108864\n");
	check_write(cpu(80000), APPLY_DONE, "1 2");
	both("cpu.max", "80000 100000\n", "80000 100000\n");
	check_write(cpu(40000), APPLY_DONE, "2 1");
	both("cpu.max", "40000 100000\n", "40000 100000\n");
	check_write(cpu(40000), APPLY_UNCHANGED, "");
	/* a scope with room keeps it while the inner level is raised, and loses it with the next
	 * decrease */
	fake_put(&f, SCOPE "/cpu.max", "90000 100000\n");
	check_write(cpu(60000), APPLY_DONE, "2");
	both("cpu.max", "90000 100000\n", "60000 100000\n");
	check_write(cpu(60000), APPLY_DONE, "1");
	both("cpu.max", "60000 100000\n", "60000 100000\n");
	/* what systemd made of the quota is left as it is */
	fake_put(&f, SCOPE "/cpu.max", "34000 100000\n");
	check_write(cpu(33300), APPLY_DONE, "2");
	both("cpu.max", "34000 100000\n", "33300 100000\n");
	check_write(cpu(60000), APPLY_DONE, "1 2");
	/* burst follows the quota at each level */
	fake_put(&f, INNER "/cpu.max.burst", "50000\n");
	check_write(cpu(20000), APPLY_DONE, "2 1");
	check_holds(INNER, "cpu.max.burst", "20000\n");
	check_write((struct change){.knob = KNOB_CPU_BURST, .to = 10000}, APPLY_DONE, "");
	both("cpu.max.burst", "10000\n", "10000\n");
}

/* crun 1.8: a scope without limits gets none. */
TEST(write_inner)
{
	put(SCOPE, "max 100000\n", "max\n");
	put(INNER, "33300 100000\n", "67108864\n");
	check_write(cpu(80000), APPLY_DONE, "2");
	both("cpu.max", "max 100000\n", "80000 100000\n");
	check_write(mem(128 * MIB, 0), APPLY_DONE, "2");
	both("memory.max", "max\n", "134217728\n");
	check_write((struct change){.knob = KNOB_MEM_HIGH, .to = 100 * MIB}, APPLY_DONE, "2");
	both("memory.high", "max\n", "104857600\n");
	/* neither level has a limit: the inner one gets it */
	put(INNER, "max 100000\n", "max\n");
	check_write(mem(128 * MIB, 0), APPLY_DONE, "2");
	both("memory.max", "max\n", "134217728\n");
	/* and the other way round */
	put(SCOPE, "40000 100000\n", "67108864\n");
	put(INNER, "max 100000\n", "max\n");
	check_write(cpu(80000), APPLY_DONE, "1");
	both("cpu.max", "80000 100000\n", "max 100000\n");
	check_write(cpu(79500), APPLY_UNCHANGED, "");
	both("cpu.max", "80000 100000\n", "max 100000\n");
}

TEST(write_memory)
{
	put(SCOPE, "34000 100000\n", "67108864\n");
	put(INNER, "33300 100000\n", "67108864\n");
	check_write(mem(128 * MIB, 0), APPLY_DONE, "1 2");
	both("memory.max", "134217728\n", "134217728\n");
	check_write(mem(32 * MIB, MIB), APPLY_DONE, "2 1");
	both("memory.max", "33554432\n", "33554432\n");
	/* 20 MB are in use: nothing is tried above what was refused below */
	check_write(mem(16 * MIB, MIB), APPLY_REFUSED, "");
	both("memory.max", "33554432\n", "33554432\n");
	check_write(mem(LIMIT_MAX, 0), APPLY_DONE, "1 2");
	both("memory.max", "max\n", "max\n");
	/* PID 1 wrote at the scope: that one alone is the limit, and is raised alone */
	put(SCOPE, "34000 100000\n", "33554432\n");
	put(INNER, "33300 100000\n", "134217728\n");
	check_write(mem(128 * MIB, 0), APPLY_DONE, "1");
	both("memory.max", "134217728\n", "134217728\n");
	check_write((struct change){.knob = KNOB_MEM_RECLAIM, .to = MIB}, APPLY_DONE, "");
	both("memory.reclaim", "1048576\n", "");
}

TEST(force)
{
	OWN(drop_cg) struct cg *c = NULL;

	put(SCOPE, "max 100000\n", "67108864\n");
	put(INNER, "33300 100000\n", "67108864\n");
	c = open_scope();
	CHECK_EQ(cg_force_mem_max(c, 4 * MIB), 0);
	both("memory.max", "4194304\n", "4194304\n");
	put(SCOPE, "max 100000\n", "max\n");
	CHECK_EQ(cg_force_mem_max(c, 8 * MIB), 0);
	both("memory.max", "max\n", "8388608\n");
}

/* --- coming and going --- */

static unsigned children, files;

static void count(void *, const struct cg_watch_event *e)
{
	CHECK_EQ(e->cookie, 7);
	children += e->what == CG_WATCH_CHILD_NEW || e->what == CG_WATCH_CHILD_GONE;
	files += e->what == CG_WATCH_LIMIT;
}

TEST(late)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	struct change raise = mem(128 * MIB, 0);
	struct usage u = {0};

	fake_remove(&f, INNER);
	put(SCOPE, "34000 100000\n", "67108864\n");
	put_throttle(SCOPE, 10, 5, 500);
	c = open_scope();
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_watch_limits(w, c, 7), 3);
	check_throttle(c, 10, 5, 500);
	CHECK_EQ(cg_levels_check(c), 0);
	put(INNER, "33300 100000\n", "67108864\n");
	put_throttle(INNER, 4, 4, 400);
	CHECK(cg_watch_drain(w, count, NULL) > 0);
	CHECK_EQ(children, 1);
	CHECK_EQ(cg_levels_check(c), 1);
	CHECK(cg_inner_id(c) != 0 && cg_inner_id(c) != cg_id(c));
	CHECK_EQ(cg_watch_limits(w, c, 7), 6);
	CHECK_EQ(cg_levels_check(c), 0);
	CHECK_EQ(cg_read(c, LIMITS, &u), 0);
	CHECK_EQ(u.limits.cpu_quota_usec, 33300);
	check_throttle(c, 10, 5, 500);
	put_throttle(INNER, 8, 8, 800);
	check_throttle(c, 14, 9, 900);
	CHECK_EQ(cg_write(c, &raise), APPLY_DONE);
	both("memory.max", "134217728\n", "134217728\n");
	files = 0;
	CHECK(cg_watch_drain(w, count, NULL) > 0);
	CHECK(files >= 2);
}

/* Without processes in the scope the container has ended; else the scope goes on alone. */
TEST(gone)
{
	OWN(drop_cg) struct cg *c = open_scope();
	struct change raise = mem(256 * MIB, 0);
	struct usage u = {0};
	uint64_t id = cg_inner_id(c);

	CHECK(id != 0);
	fake_remove(&f, INNER);
	fake_put(&f, SCOPE "/cgroup.events", "populated 0\nfrozen 0\n");
	CHECK_EQ(cg_levels_check(c), -ENODEV);
	CHECK_EQ(cg_read(c, LIMITS, &u), -ENODEV);
	CHECK_EQ(cg_write(c, &raise), APPLY_GONE);
	fake_put(&f, SCOPE "/cgroup.events", "populated 1\nfrozen 0\n");
	CHECK_EQ(cg_read(c, LIMITS, &u), 0);
	CHECK_EQ(u.limits.mem_max, 128 * MIB);
	CHECK_EQ(cg_inner_id(c), 0);
	CHECK(cg_levels_due(c));
	CHECK_EQ(cg_levels_check(c), 1);
	CHECK_EQ(cg_levels_check(c), 0);
	/* another one under the same name; it goes while a write is due */
	fake_put(&f, SCOPE "/other", NULL);
	put(INNER, "33300 100000\n", "67108864\n");
	CHECK_EQ(cg_levels_check(c), 1);
	CHECK(cg_inner_id(c) != 0 && cg_inner_id(c) != id);
	fake_remove(&f, INNER);
	CHECK_EQ(cg_write(c, &raise), APPLY_DONE);
	check_holds(SCOPE, "memory.max", "268435456\n");
	CHECK_EQ(cg_levels_check(c), 1);
}

/* The folder is there before its limit files, and those of one controller before the other's. */
TEST(files_late)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	struct change raise = mem(128 * MIB, 0);
	struct usage u = {0};

	put(SCOPE, "34000 100000\n", "67108864\n");
	CHECK_EQ(cg_watch_new(&w), 0);
	fake_put(&f, INNER, NULL);
	c = open_scope();
	CHECK_EQ(cg_inner_id(c), 0);
	CHECK(cg_levels_due(c));
	CHECK_EQ(cg_levels_check(c), 0);
	CHECK_EQ(cg_write(c, &raise), APPLY_DONE);
	check_holds(SCOPE, "memory.max", "134217728\n");
	fake_put(&f, INNER "/cpu.max", "33300 100000\n");
	CHECK_EQ(cg_levels_check(c), 1);
	CHECK(cg_levels_due(c));
	CHECK_EQ(cg_watch_limits(w, c, 7), 4);
	CHECK_EQ(cg_read(c, LIMITS, &u), 0);
	CHECK_EQ(u.limits.cpu_quota_usec, 33300);
	CHECK_EQ(u.limits.mem_max, 128 * MIB);
	/* no file is no limit */
	raise.to = 256 * MIB;
	CHECK_EQ(cg_write(c, &raise), APPLY_DONE);
	check_holds(SCOPE, "memory.max", "268435456\n");
	put(INNER, "33300 100000\n", "67108864\n");
	CHECK_EQ(cg_levels_check(c), 1);
	CHECK(!cg_levels_due(c));
	CHECK_EQ(cg_watch_limits(w, c, 7), 6);
	CHECK_EQ(cg_read(c, LIMITS, &u), 0);
	CHECK_EQ(u.limits.mem_max, 64 * MIB);
	CHECK_EQ(cg_levels_check(c), 0);
}

/* A folder of that name below a scope that is no container's is not an inner level. */
TEST(names)
{
	OWN(drop_cg) struct cg *c = NULL;

	put("user.slice/session-1.scope", "34000 100000\n", "67108864\n");
	put("user.slice/session-1.scope/" CG_LEVEL_NAME, "10000 100000\n", "1048576\n");
	CHECK_EQ(cg_open(f.fd, "user.slice/session-1.scope", &c), 0);
	CHECK_EQ(cg_inner_id(c), 0);
}

/* A link is not followed, a file is no level. */
TEST(no_folder)
{
	OWN(drop_cg) struct cg *c = NULL;

	fake_remove(&f, INNER);
	fake_put(&f, INNER, "text");
	c = open_scope();
	CHECK_EQ(cg_inner_id(c), 0);
	CHECK_EQ(cg_levels_check(c), 0);
	fake_remove(&f, INNER);
}

int main(void)
{
	int fds;

	fake_open(&f, NULL, 0);
	fds = fake_open_fds();
	check_run();
	CHECK_EQ(fake_open_fds(), fds);
	fake_close(&f);
	return check_result();
}

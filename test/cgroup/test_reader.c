// SPDX-License-Identifier: Apache-2.0
/* The text reader on a fake tree: what is filled, what is absent, what is refused. */
#include "cgroup/group.h"
#include "test/cgroup/tree.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL ((USAGE_MEM_LIMIT << 1) - 1)

static struct fake f;

TEST(read_all)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK_EQ(u.have, ALL);
	CHECK_EQ(u.cpu_usage_usec, 1000);
	CHECK(u.nr_periods == 30 && u.nr_throttled == 20 && u.throttled_usec == 500);
	CHECK(u.psi_cpu_usec == 11 && u.psi_mem_usec == 21);
	CHECK_EQ(u.mem_current, 83886080);
	CHECK_EQ(u.mem_peak, 94371840);
	CHECK(u.events.high == 1 && u.events.max == 2 && u.events.oom_kill == 3);
	CHECK(u.stat.anon == 60000000 && u.stat.refaults == 7);
	CHECK(u.limits.cpu_quota_usec == 20000 && u.limits.cpu_period_usec == 100000);
	CHECK_EQ(u.limits.cpu_burst_usec, 10000);
	CHECK(u.limits.mem_max == 134217728 && u.limits.mem_high == LIMIT_MAX);
}

/* One descriptor per file, opened at the first read and then kept: the second read sees new
 * content without opening anything. */
TEST(kept)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	int before;

	CHECK_EQ(cg_open(f.fd, "/" TREE_UNIT, &c), 0);
	before = fake_open_fds();
	CHECK_EQ(cg_read(c, USAGE_MEM, &u), 0);
	CHECK_EQ(fake_open_fds(), before + 1);
	CHECK_EQ(u.have, USAGE_MEM);
	fake_put(&f, TREE_UNIT "/memory.current", "4096\n");
	CHECK_EQ(cg_read(c, USAGE_MEM, &u), 0);
	CHECK_EQ(u.mem_current, 4096);
	CHECK_EQ(fake_open_fds(), before + 1);
	fake_put(&f, TREE_UNIT "/memory.current", "83886080\n");
}

/* Only what was asked for is in have, although cpu.stat holds more. */
TEST(mask)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_read(c, USAGE_THROTTLE, &u), 0);
	CHECK_EQ(u.have, USAGE_THROTTLE);
	CHECK_EQ(cg_read(c, 0, &u), 0);
	CHECK_EQ(u.have, 0);
}

TEST(absent)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	int reads = 0;

	fake_put(&f, "bare.slice/cpu.stat", "usage_usec 5\n");
	CHECK_EQ(cg_open(f.fd, "bare.slice", &c), 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK_EQ(u.have, USAGE_CPU);
	CHECK(u.limits.mem_max == LIMIT_MAX && u.limits.cpu_quota_usec == LIMIT_MAX);
	CHECK(u.limits.mem_high == LIMIT_MAX && u.limits.cpu_burst_usec == 0);

	/* A controller that is enabled later is found, if not at the very next read. */
	fake_put(&f, "bare.slice/memory.current", "1\n");
	do
		CHECK_EQ(cg_read(c, ALL, &u), 0);
	while (!(u.have & USAGE_MEM) && ++reads < 100);
	CHECK_EQ(u.have, USAGE_CPU | USAGE_MEM);
	CHECK_EQ(reads, CG_ABSENT_READS);
	fake_remove(&f, "bare.slice");
}

/* cpu.max.burst and memory.high only refine the limits. */
TEST(refinements)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	fake_put(&f, "old.slice/cpu.max", "max 100000\n");
	fake_put(&f, "old.slice/memory.max", "8192\n");
	CHECK_EQ(cg_open(f.fd, "old.slice", &c), 0);
	CHECK_EQ(cg_read(c, USAGE_CPU_LIMIT | USAGE_MEM_LIMIT, &u), 0);
	CHECK_EQ(u.have, USAGE_CPU_LIMIT | USAGE_MEM_LIMIT);
	CHECK(u.limits.cpu_burst_usec == 0 && u.limits.mem_high == LIMIT_MAX);
	CHECK_EQ(u.limits.mem_max, 8192);
	fake_remove(&f, "old.slice/memory.max");
	cg_close(STEAL(c));
	fake_put(&f, "old.slice/memory.high", "4096\n");
	CHECK_EQ(cg_open(f.fd, "old.slice", &c), 0);
	CHECK_EQ(cg_read(c, USAGE_MEM_LIMIT, &u), 0);
	CHECK_EQ(u.have, 0);
	fake_remove(&f, "old.slice");
}

TEST(malformed)
{
	static const char *const files[] = {"cpu.stat",        "memory.current", "memory.stat",
					    "memory.peak",     "memory.events",  "cpu.pressure",
					    "memory.pressure", "cpu.max",        "cpu.max.burst",
					    "memory.max",      "memory.high"};
	static const char *const texts[] = {"", "1", "garbage\n", "-5\n"};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		for (size_t t = 0; t < ARRAY_SIZE(texts); t++) {
			OWN(drop_cg) struct cg *c = NULL;
			struct usage u = {.have = 77};
			char path[64];

			snprintf(path, sizeof path, "bad.slice/%s", files[i]);
			fake_put(&f, path, texts[t]);
			CHECK_EQ(cg_open(f.fd, "bad.slice", &c), 0);
			CHECK_EQ(cg_read(c, ALL, &u), -EBADMSG);
			CHECK_EQ(u.have, 77);
			fake_remove(&f, "bad.slice");
		}
}

/* A file as long as the buffer may go on behind it. */
TEST(too_long)
{
	static char text[CG_TEXT_BYTES + 1];
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	memset(text, '\n', CG_TEXT_BYTES);
	for (size_t i = 0; i + 4 <= CG_TEXT_BYTES; i += 4)
		memcpy(text + i, "a 1\n", 4);
	memcpy(text, "usage_usec 1234\n", 16);
	fake_put(&f, "long.slice/cpu.stat", text);
	CHECK_EQ(cg_open(f.fd, "long.slice", &c), 0);
	CHECK_EQ(cg_read(c, USAGE_CPU, &u), -EBADMSG);
	text[CG_TEXT_BYTES - 4] = '\0';
	fake_put(&f, "long.slice/cpu.stat", text);
	CHECK_EQ(cg_read(c, USAGE_CPU, &u), 0);
	fake_remove(&f, "long.slice");
}

TEST(paths)
{
	static const struct {
		const char *path;
		int result;
	} rows[] = {
		{"..", -EINVAL},
		{"../" TREE_UNIT, -EINVAL},
		{"system.slice/..", -EINVAL},
		{"system.slice/../system.slice", -EINVAL},
		{"./system.slice", -EINVAL},
		{"system.slice//web.service", -EINVAL},
		{"system.slice/none", -ENOENT},
		{"system.slice/web.service/cpu.stat", -ENOTDIR},
		{"link.slice", -ENOTDIR},
		{"link.slice/web.service", -ENOTDIR},
		{"..x", -ENOENT},
	};
	char name[400];
	struct cg *c = NULL;

	CHECK_EQ(symlinkat("system.slice", f.fd, "link.slice"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = cg_open(f.fd, rows[i].path, &c);

		/* O_NOFOLLOW with O_DIRECTORY: the kernel may name either. */
		CHECK_EQ(r == -ELOOP ? -ENOTDIR : r, rows[i].result);
		CHECK(c == NULL);
	}
	memset(name, 'a', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	CHECK_EQ(cg_open(f.fd, name, &c), -ENAMETOOLONG);
	CHECK_EQ(cg_open(-1, TREE_UNIT, &c), -EBADF);
	CHECK(c == NULL);
	CHECK_EQ(unlinkat(f.fd, "link.slice", 0), 0);
}

TEST(file_link)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;

	fake_put(&f, "l.slice", NULL);
	CHECK_EQ(symlinkat("../" TREE_UNIT "/cpu.stat", f.fd, "l.slice/cpu.stat"), 0);
	CHECK_EQ(cg_open(f.fd, "l.slice", &c), 0);
	CHECK_EQ(cg_read(c, USAGE_CPU, &u), -ELOOP);
	fake_remove(&f, "l.slice");
}

TEST(root)
{
	static const char *const names[] = {"", "/", "//"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		OWN(drop_cg) struct cg *c = NULL;
		struct stat st;

		CHECK_EQ(cg_open(f.fd, names[i], &c), 0);
		CHECK_EQ(fstat(f.fd, &st), 0);
		CHECK(cg_id(c) == st.st_ino);
	}
}

/* A cgroup made again under the same name is another one; the old one is gone for good. */
TEST(identity)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u = {.have = 77};

	fake_put(&f, "re.slice/a/cpu.stat", "usage_usec 5\n");
	CHECK_EQ(cg_open(f.fd, "re.slice/a", &c), 0);
	CHECK_EQ(cg_same(c, f.fd, "/re.slice/a"), 1);
	CHECK_EQ(cg_same(c, f.fd, TREE_UNIT), 0);
	fake_remove(&f, "re.slice/a");
	CHECK_EQ(cg_same(c, f.fd, "re.slice/a"), -ENOENT);
	CHECK(cg_replaced(c, f.fd, "re.slice/a"));
	CHECK_EQ(cg_read(c, ALL, &u), -ENODEV);
	fake_put(&f, "re.slice/a/cpu.stat", "usage_usec 6\n");
	CHECK_EQ(cg_same(c, f.fd, "re.slice/a"), 0);
	CHECK_EQ(cg_read(c, ALL, &u), -ENODEV);
	CHECK_EQ(u.have, 77);
	fake_remove(&f, "re.slice");
}

TEST(events_fd)
{
	OWN(drop_cg) struct cg *c = NULL;
	OWN(drop_cg) struct cg *bare = NULL;
	int fd;

	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	fd = cg_events_fd(c);
	CHECK(fd >= 0);
	CHECK_EQ(cg_events_fd(c), fd);
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(cg_open(f.fd, "system.slice", &bare), 0);
	CHECK_EQ(cg_events_fd(bare), -ENOENT);
}

/* The kernel shows an empty list as a line without a word. */
TEST(cpus)
{
	OWN(drop_cg) struct cg *c = NULL;
	bool has = false;

	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	CHECK_EQ(cg_has_cpus(c, &has), -ENOENT);
	fake_put(&f, TREE_UNIT "/cpuset.cpus", "0-1\n");
	CHECK_EQ(cg_has_cpus(c, &has), 0);
	CHECK(has);
	fake_put(&f, TREE_UNIT "/cpuset.cpus", "\n");
	CHECK_EQ(cg_has_cpus(c, &has), 0);
	CHECK(!has);
}

int main(void)
{
	int fds = fake_open_fds();

	fake_open(&f, tree_files, TREE_COUNT);
	check_run();
	cg_close(NULL);
	fake_close(&f);
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}

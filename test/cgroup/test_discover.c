// SPDX-License-Identifier: Apache-2.0
/* Discovery: trees given by the operator, this very host, and what is missing on the way. */
#include "cgroup/discover.h"
#include "test/cgroup/tree.h"
#include "test/check.h"
#include <errno.h>
#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <unistd.h>

static void test_trusted(struct fake *f)
{
	struct cg_host h;

	CHECK_EQ(cg_discover(f->path, true, &h), 0);
	CHECK_EQ(h.mode, CG_MODE_UNIFIED);
	CHECK_STR(h.mount, f->path);
	CHECK_EQ(h.available, CG_CPU | CG_MEMORY);
	CHECK_EQ(h.enabled, CG_CPU | CG_MEMORY);
	CHECK(!h.psi);
	CHECK(h.writable);

	fake_put(f, "cpu.pressure", "some total=0\n");
	fake_put(f, "memory.pressure", "some total=0\n");
	fake_put(f, "cgroup.controllers", "cpuset cpu io memory pids\n");
	fake_put(f, "cgroup.subtree_control", "");
	CHECK_EQ(cg_discover(f->path, true, &h), 0);
	CHECK_EQ(h.available, CG_CPU | CG_MEMORY | CG_CPUSET | CG_IO | CG_PIDS);
	CHECK_EQ(h.enabled, 0);
	CHECK(h.psi);
	fake_put(f, "cgroup.subtree_control", "cpu memory\n");
}

/* A tree of plain files is not cgroup2, and nothing of it is believed. */
static void test_untrusted(struct fake *f)
{
	struct cg_host h;

	CHECK_EQ(cg_discover(f->path, false, &h), 0);
	CHECK(h.mode != CG_MODE_UNIFIED);
	CHECK_STR(h.mount, "");
	CHECK_EQ(h.available, 0);
}

static void test_bad_roots(struct fake *f)
{
	struct cg_host h = {.mode = CG_MODE_V1};
	char path[CG_MOUNT_BYTES + 64];

	memset(path, '/', sizeof path - 1);
	path[sizeof path - 1] = '\0';
	CHECK_EQ(cg_discover(path, true, &h), -ENAMETOOLONG);
	CHECK_EQ(cg_discover("/nonexistent/cgroup", false, &h), -ENOENT);
	CHECK_EQ(cg_discover("/nonexistent/cgroup", true, &h), -ENOENT);
	snprintf(path, sizeof path, "%s/cgroup.controllers", f->path);
	CHECK_EQ(cg_discover(path, true, &h), -ENOTDIR);
	fake_put(f, "half.slice", NULL);
	fake_remove(f, "half.slice/cgroup.subtree_control");
	snprintf(path, sizeof path, "%s/half.slice", f->path);
	CHECK_EQ(cg_discover(path, true, &h), -ENOENT);
	fake_put(f, "half.slice/cgroup.controllers", "cpu");
	CHECK_EQ(cg_discover(path, true, &h), -EBADMSG);
	CHECK_EQ(h.mode, CG_MODE_V1);
	fake_remove(f, "half.slice");
}

static bool is_fs(const char *path, long magic)
{
	struct statfs fs;

	return statfs(path, &fs) == 0 && (long)fs.f_type == magic;
}

/* What /sys/fs/cgroup shows of this host, by the file system's own word. */
static enum cg_mode expected_mode(void)
{
	bool v1 = is_fs("/sys/fs/cgroup/memory", CGROUP_SUPER_MAGIC) ||
		  is_fs("/sys/fs/cgroup/cpu", CGROUP_SUPER_MAGIC);
	bool v2 = is_fs("/sys/fs/cgroup", CGROUP2_SUPER_MAGIC) ||
		  is_fs("/sys/fs/cgroup/unified", CGROUP2_SUPER_MAGIC);

	if (v1)
		return v2 ? CG_MODE_HYBRID : CG_MODE_V1;
	return v2 ? CG_MODE_UNIFIED : CG_MODE_NONE;
}

TEST(host)
{
	struct cg_host h, named;

	CHECK_EQ(cg_discover(NULL, false, &h), 0);
	fprintf(stderr, "this host: %s at \"%s\"\n", cg_mode_name(h.mode), h.mount);
	CHECK_EQ(h.mode, expected_mode());
	CHECK(h.mount[0] == '\0' || is_fs(h.mount, CGROUP2_SUPER_MAGIC));
	if (h.mount[0] == '\0')
		return;
	/* naming the mount changes nothing, neither on a good host nor on a hybrid one */
	CHECK_EQ(cg_discover(h.mount, false, &named), 0);
	CHECK_EQ(named.mode, h.mode);
	CHECK_EQ(named.available, h.available);
	CHECK_EQ(cg_discover("/", false, &named), 0);
	CHECK(named.mode != CG_MODE_UNIFIED);
}

struct gaps {
	char text[256];
};

static void note_gap(void *ctx, const char *folder, uint32_t missing)
{
	struct gaps *g = ctx;
	size_t len = strlen(g->text);

	snprintf(g->text + len, sizeof g->text - len, "%s:%s%s ", folder,
		 missing & CG_CPU ? "cpu" : "", missing & CG_MEMORY ? "memory" : "");
}

static void check_gaps(struct fake *f, const char *path, int count, const char *text)
{
	struct gaps g = {0};

	CHECK_EQ(cg_gaps(f->fd, path, CG_CPU | CG_MEMORY, note_gap, &g), count);
	CHECK_STR(g.text, text);
}

static void test_gaps(struct fake *f)
{
	fake_put(f, "g.slice/h.slice/i.scope", NULL);
	check_gaps(f, "/g.slice/h.slice/i.scope", 0, "");
	fake_put(f, "g.slice/cgroup.subtree_control", "memory\n");
	check_gaps(f, "/g.slice/h.slice/i.scope", 1, "/g.slice:cpu ");
	fake_put(f, "g.slice/h.slice/cgroup.subtree_control", "");
	check_gaps(f, "g.slice/h.slice/i.scope", 2, "/g.slice:cpu /g.slice/h.slice:cpumemory ");
	check_gaps(f, "/g.slice//h.slice/", 1, "/g.slice:cpu ");
	/* its own subtree_control is for its children */
	check_gaps(f, "/g.slice", 0, "");
	check_gaps(f, "/", 0, "");
	check_gaps(f, "/g.slice/none/x", -ENOENT, "/g.slice:cpu ");
	check_gaps(f, "/g.slice/../g.slice", -EINVAL, "/g.slice:cpu ");
	fake_put(f, "cgroup.subtree_control", "cpu\n");
	check_gaps(f, "/g.slice", 1, "/:memory ");
}

/* Without a descriptor left the host cannot be asked. */
TEST(no_descriptor)
{
	struct rlimit before;
	struct cg_host h;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, before.rlim_max}), 0);
	CHECK_EQ(cg_discover(NULL, false, &h), -EMFILE);
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
}

int main(void)
{
	struct fake f;
	int fds;

	fds = fake_open_fds();
	check_run();
	fake_open(&f, tree_files, TREE_COUNT);
	test_trusted(&f);
	test_untrusted(&f);
	test_bad_roots(&f);
	test_gaps(&f);
	fake_close(&f);
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}

// SPDX-License-Identifier: Apache-2.0
/* `vscalectl restore` and `lift` without a daemon. */
#include "agent/base/lock.h"
#include "agent/ctl/ctl.h"
#include "test/agent/restore_rig.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

static void test_lock(const char *dir)
{
	struct lock_place at = {dir, "one test"}, nowhere = {"/proc/none/x", ""};
	int first, second;
	char other[LOCK_HOLDER_MAX] = "untouched";

	first = lock_take(&at, other);
	CHECK(first >= 0);
	CHECK_STR(other, "untouched");
	CHECK_EQ(lock_take(&at, other), -EWOULDBLOCK);
	CHECK_STR(other, "one test");
	close(first);
	second = lock_take(&at, other);
	CHECK(second >= 0);
	close(second);
	CHECK_EQ(lock_take(&nowhere, other), -ENOENT);
}

/* What the last command printed. */
static char printed[2048];

static int run_ctl(const char *dir, const char *word, const char *name, const char *extra)
{
	char *argv[] = {"vscalectl", (char *)word, (char *)name, (char *)extra, NULL};
	char socket[80], *text = NULL;
	struct ctl c;
	size_t size;
	int argc = extra ? 4 : name ? 3 : 2, r;

	snprintf(socket, sizeof(socket), "%s/none.sock", dir);
	ctl_default(&c, ctl_commands);
	c.config = "/nonexistent";
	c.socket = socket;
	c.state_directory = dir;
	c.cgroup_root = fake.path;
	c.trust_cgroup_root = true;
	c.units = &units;
	c.out = c.err = open_memstream(&text, &size);
	r = ctl_main(&c, argc, argv);
	fclose(c.out);
	snprintf(printed, sizeof(printed), "%s", text);
	free(text);
	return r;
}

/* A pod by its name; without a daemon the spec is not changed: what stays in it is printed. */
static void test_pod(const char *dir)
{
	int state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct baseline b = {
		.key = (char *)"pod:0b1c/app",
		.limits = {30000, 100000, 0, 128 * MIB, LIMIT_MAX},
		.props = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX},
		.high_before = LIMIT_MAX,
		.high = BASELINE_HIGH_LOWERED,
		.cgroup = (char *)APP,
		.shown = (char *)"default/web-0/app",
		.ratified = 1,
	};

	begin();
	CHECK_EQ(baseline_put(&records, &b), 0);
	CHECK_EQ(baseline_save(state, &records), 0);
	fake_put(&fake, APP "/memory.high", "230000000\n");
	CHECK_EQ(run_ctl(dir, "lift", NULL, NULL), CTL_OK);
	check_file(APP "/memory.high", "max\n");
	CHECK_EQ(run_ctl(dir, "restore", "default/web-1", NULL), CTL_NOT_MANAGED);
	CHECK_EQ(run_ctl(dir, "restore", "default/web-0", NULL), CTL_TRY_LATER);
	CHECK(strstr(printed, "left      default/web-0/app: memory stays at 768 MiB") != NULL);
	check_file(APP "/memory.max", "805306368\n");
	check_file(APP "/cpu.max", "30000 100000\n");
	CHECK_EQ(run_ctl(dir, "restore", "default/web-0/app", "--force"), CTL_OK);
	check_file(APP "/memory.max", "134217728\n");
	CHECK(strstr(printed, "the pod's spec still has values of vscaled") != NULL);
	check_file(WEB "/cpu.max", "38000 100000\n");
	CHECK_EQ(unlinkat(state, "baseline", 0), 0);
	CHECK_EQ(unlinkat(state, "baseline-copy", 0), 0);
	close(state);
}

/* The whole command without a daemon: exit 75 while use is too large, 0 afterwards. */
static void test_command(const char *dir)
{
	int state = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const struct lock_place at = {dir, "the test"};
	char other[LOCK_HOLDER_MAX];
	int lock;
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
	lock = lock_take(&at, other);
	CHECK(lock >= 0);
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
	close(state);
}

/* With a PID 1 that hangs, the wait has a bound for each call and one for all of them. */
static void test_patience(const char *dir)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct unit_props p = {0};
	struct restore_systemd s;
	usec_t spent;

	CHECK_EQ(restore_systemd_init(&s, ""), 0);
	CHECK_EQ(s.timeout_usec, 30 * USEC_PER_SEC);
	snprintf(s.private_socket, sizeof(s.private_socket), "%s/none", dir);
	snprintf(s.system_socket, sizeof(s.system_socket), "%s/none", dir);
	CHECK_EQ(s.units.get(s.units.ctx, "web.service", &p), -ENOTCONN);
	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s/pid1", dir);
	strcpy(s.private_socket, sa.sun_path);
	CHECK_EQ(bind(fd, (struct sockaddr *)&sa, sizeof(sa)), 0);
	CHECK_EQ(listen(fd, 5), 0);
	s.timeout_usec = 50 * USEC_PER_MSEC;
	s.total_usec = 80 * USEC_PER_MSEC;
	s.spent_usec = 0;
	CHECK_EQ(s.units.get(s.units.ctx, "web.service", &p), -ETIMEDOUT);
	CHECK(s.spent_usec >= 50 * USEC_PER_MSEC);
	CHECK_EQ(s.units.set(s.units.ctx, "web.service", &p, UNIT_PROP_ALL), -ETIMEDOUT);
	CHECK(s.spent_usec >= 80 * USEC_PER_MSEC);
	spent = s.spent_usec;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(s.units.get(s.units.ctx, "web.service", &p), -ETIMEDOUT);
	CHECK(s.spent_usec - spent < 50 * USEC_PER_MSEC);
	close(fd);
	unlink(sa.sun_path);
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
	test_lock(dir);
	test_command(dir);
	test_pod(dir);
	test_patience(dir);
	remove_folder(dir);
	return check_result();
}

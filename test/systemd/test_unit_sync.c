// SPDX-License-Identifier: Apache-2.0
/* The calls that wait, against a scripted PID 1 in a child process; and the drop-in files. */
#include "peer.h"
#include "systemd/unit_conn.h"
#include "systemd/unit_dropin.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct manner {
	bool silent;
	uid_t uid;
};

static void serve(const char *path, struct manner manner, int ready)
{
	struct peer p;
	sd_event *event = NULL;

	if (manner.uid != 0 && setuid(manner.uid) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sd_event_new(&event) < 0 || peer_open(&p, event, path) < 0)
		_exit(1);
	peer_add(&p, "web.service", "active")->props.mem_max = 5 * MIB;
	peer_add(&p, "young.scope", "active")->enter_usec = now_usec() - 3 * USEC_PER_SEC;
	peer_add(&p, "idle.scope", "inactive")->enter_usec = 0;
	p.set_silent = manner.silent;
	if (write(ready, "", 1) != 1)
		_exit(1);
	sd_event_loop(event);
	_exit(0);
}

static pid_t start_peer(const char *path, struct manner manner)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_EQ(pipe(ready), 0);
	pid = fork();
	if (pid == 0)
		serve(path, manner, ready[1]);
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void stop_peer(pid_t pid, const char *path)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	unlink(path);
}

static void test_calls(const char *dir)
{
	char path[128];
	struct unit_address at = {.private_socket = path, .system_socket = "/nonexistent/bus"};
	struct unit_props p = {0}, want = {300000, UINT64_MAX, 9 * MIB, UINT64_MAX};
	usec_t age = 0;
	pid_t pid;

	snprintf(path, sizeof path, "%s/pid1", dir);
	CHECK_EQ(unit_get_now(&at, "web.service", USEC_PER_SEC, &p), -ENOENT);
	pid = start_peer(path, (struct manner){0});
	CHECK_EQ(unit_get_now(&at, "web.service", 5 * USEC_PER_SEC, &p), 0);
	CHECK_EQ(p.mem_max, 5 * MIB);
	CHECK(p.cpu_quota_per_sec_usec == UINT64_MAX);
	CHECK_EQ(unit_set_now(&at, "web.service", &want, UNIT_PROP_ALL, 5 * USEC_PER_SEC), 0);
	CHECK_EQ(unit_get_now(&at, "web.service", 5 * USEC_PER_SEC, &p), 0);
	CHECK(unit_props_equal(&p, &want, UNIT_PROP_ALL));
	CHECK_EQ(unit_age_now(&at, "young.scope", 5 * USEC_PER_SEC, &age), 0);
	CHECK(age >= 3 * USEC_PER_SEC && age < 60 * USEC_PER_SEC);
	CHECK_EQ(unit_age_now(&at, "idle.scope", 5 * USEC_PER_SEC, &age), 0);
	CHECK_EQ(age, 0);
	CHECK(unit_age_now(&at, "none.scope", 5 * USEC_PER_SEC, &age) < 0);
	CHECK_EQ(unit_age_now(&at, "a/b.scope", USEC_PER_SEC, &age), -EINVAL);
	p.mem_max = 77;
	CHECK(unit_get_now(&at, "none.service", 5 * USEC_PER_SEC, &p) < 0);
	CHECK_EQ(p.mem_max, 77);
	CHECK_EQ(unit_get_now(&at, "web.timer", USEC_PER_SEC, &p), -EINVAL);
	CHECK_EQ(unit_set_now(&at, "a/b.service", &p, UNIT_PROP_ALL, USEC_PER_SEC), -EINVAL);
	stop_peer(pid, path);

	pid = start_peer(path, (struct manner){.silent = true});
	CHECK_EQ(unit_set_now(&at, "web.service", &want, UNIT_PROP_ALL, USEC_PER_SEC / 5),
		 -ETIMEDOUT);
	stop_peer(pid, path);

	/* a peer that is not root is not accepted as PID 1; the test needs root for that */
	if (geteuid() != 0)
		return;
	CHECK_EQ(chmod(dir, 0777), 0);
	pid = start_peer(path, (struct manner){.uid = 65534});
	CHECK(unit_get_now(&at, "web.service", 5 * USEC_PER_SEC, &p) < 0);
	stop_peer(pid, path);
}

/* A PID 1 that hangs: the kernel accepts connections, and authentication is not answered. */
static void test_hangs(const char *dir)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	struct unit_address at = {.private_socket = sa.sun_path, .system_socket = "/nonexistent"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct unit_props p = {0};
	usec_t begin = now_usec();

	snprintf(sa.sun_path, sizeof sa.sun_path, "%s/hangs", dir);
	CHECK_EQ(bind(fd, (struct sockaddr *)&sa, sizeof sa), 0);
	CHECK_EQ(listen(fd, 5), 0);
	CHECK_EQ(unit_set_now(&at, "web.service", &p, UNIT_PROP_ALL, USEC_PER_SEC / 10),
		 -ETIMEDOUT);
	CHECK_EQ(unit_get_now(&at, "web.service", USEC_PER_SEC / 10, &p), -ETIMEDOUT);
	CHECK(now_usec() - begin >= USEC_PER_SEC / 5);
	CHECK(now_usec() - begin < 5 * USEC_PER_SEC);
	close(fd);
}

static void make(const char *root, const char *path)
{
	char full[512];
	int fd;

	snprintf(full, sizeof full, "%s/%s", root, path);
	for (char *c = full + strlen(root) + 1; *c; c++)
		if (*c == '/') {
			*c = '\0';
			mkdir(full, 0755);
			*c = '/';
		}
	fd = open(full, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);
	CHECK(fd >= 0);
	close(fd);
}

static bool exists(const char *root, const char *path)
{
	char full[512];

	snprintf(full, sizeof full, "%s/%s", root, path);
	return access(full, F_OK) == 0;
}

#define CONTROL   "run/systemd/system.control/"
#define TRANSIENT "run/systemd/transient/"

static void test_dropins(const char *root)
{
	char full[512];
	uint32_t found = 99;

	CHECK_EQ(unit_dropin_find(root, "web.service", &found), 0);
	CHECK_EQ(found, 0);
	CHECK_EQ(unit_dropin_remove(root, "web.service", UNIT_PROP_ALL), 0);
	make(root, CONTROL "web.service.d/50-MemoryMax.conf");
	make(root, CONTROL "web.service.d/50-CPUQuotaPeriodSec.conf");
	make(root, CONTROL "web.service.d/50-CPUQuota.conf");
	make(root, CONTROL "web.service.d/50-CPUWeight.conf");
	make(root, TRANSIENT "run-1.scope.d/50-MemoryHigh.conf");
	make(root, CONTROL "other.service.d/50-MemoryMax.conf");
	CHECK_EQ(unit_dropin_find(root, "web.service", &found), 0);
	CHECK_EQ(found, UNIT_PROP_MEM_MAX | UNIT_PROP_CPU_QUOTA);
	CHECK_EQ(unit_dropin_find(root, "run-1.scope", &found), 0);
	CHECK_EQ(found, UNIT_PROP_MEM_HIGH);

	CHECK_EQ(unit_dropin_remove(root, "web.service", UNIT_PROP_CPU_QUOTA), 0);
	CHECK(!exists(root, CONTROL "web.service.d/50-CPUQuota.conf"));
	CHECK(!exists(root, CONTROL "web.service.d/50-CPUQuotaPeriodSec.conf"));
	CHECK(exists(root, CONTROL "web.service.d/50-MemoryMax.conf"));
	/* what another wrote stays, and so does its folder */
	CHECK_EQ(unit_dropin_remove(root, "web.service", UNIT_PROP_ALL), 0);
	CHECK(!exists(root, CONTROL "web.service.d/50-MemoryMax.conf"));
	CHECK(exists(root, CONTROL "web.service.d/50-CPUWeight.conf"));
	CHECK(exists(root, CONTROL "other.service.d/50-MemoryMax.conf"));
	CHECK_EQ(unit_dropin_remove(root, "run-1.scope", UNIT_PROP_ALL), 0);
	CHECK(!exists(root, TRANSIENT "run-1.scope.d"));

	/* a link in the folder's place is not followed */
	snprintf(full, sizeof full, "%s/%slink.service.d", root, CONTROL);
	CHECK_EQ(symlink("other.service.d", full), 0);
	CHECK(unit_dropin_find(root, "link.service", &found) < 0);
	CHECK(unit_dropin_remove(root, "link.service", UNIT_PROP_ALL) < 0);
	CHECK(exists(root, CONTROL "other.service.d/50-MemoryMax.conf"));
	CHECK_EQ(unit_dropin_find(root, "../other.service", &found), -EINVAL);
	CHECK_EQ(unit_dropin_remove(root, "../other.service", UNIT_PROP_ALL), -EINVAL);
}

static void fill(const char *root, const char *path, const char *text)
{
	char full[512];
	int fd;

	make(root, path);
	snprintf(full, sizeof full, "%s/%s", root, path);
	fd = open(full, O_WRONLY | O_TRUNC | O_CLOEXEC);
	CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

static bool beaten(const char *root, const char *unit)
{
	bool b = false;

	CHECK_EQ(unit_dropin_beaten(root, unit, &b), 0);
	return b;
}

static void test_beaten(const char *root)
{
	static const struct {
		const char *path, *text, *unit;
		bool beats;
	} rows[] = {
		{"etc/systemd/system/b1.service.d/override.conf", "MemoryMax=1G", "b1.service",
		 true},
		{"etc/systemd/system/b2.service.d/10-a.conf", "MemoryMax=1G", "b2.service", false},
		{"etc/systemd/system/b3.service.d/override.conf", "CPUWeight=5", "b3.service",
		 false},
		{"etc/systemd/system/b4.service.d/override.txt", "CPUQuota=5%", "b4.service",
		 false},
		{"etc/systemd/system.control/b5.service.d/50-MemoryMax.conf", "MemoryMax=1G",
		 "b5.service", true},
		{CONTROL "b6.service.d/50-MemoryMax.conf", "MemoryMax=1G", "b6.service", false},
		{CONTROL "b7.service.d/zz-vscaled-memory.conf", "MemoryMax=1G", "b7.service",
		 false},
		{"usr/lib/systemd/system/b8@.service.d/60-x.conf", "CPUQuota=9%", "b8@x-y.service",
		 true},
		{"run/systemd/system/b-9-.slice.d/60-x.conf", "MemoryHigh=1G", "b-9-x-y.slice",
		 true},
		{"run/systemd/system/b-9-.slice.d/61-x.conf", "MemoryHigh=1G", "b-9.slice", false},
		{"etc/systemd/system/scope.d/60-x.conf", "MemoryMax=1G", "run-9.scope", true},
	};
	bool unused;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CHECK(!beaten(root, rows[i].unit) || i >= 9);
		fill(root, rows[i].path, rows[i].text);
		CHECK_EQ(beaten(root, rows[i].unit), rows[i].beats);
	}
	CHECK_EQ(unit_dropin_beaten(root, "../x.service", &unused), -EINVAL);
}

static void test_own(const char *root)
{
	const struct unit_props p = {1500000, UINT64_MAX, 64 * MIB, UINT64_MAX};
	char text[UNIT_DROPIN_TEXT];

	CHECK_EQ(unit_dropin_text("a.slice", &p, UNIT_PROP_ALL, UNIT_DROPIN_CPU, text), 0);
	CHECK(strstr(text, "\n[Slice]\nCPUQuota=150%\nCPUQuotaPeriodSec=\n") != NULL);
	CHECK_EQ(unit_dropin_text("a.scope", &p, UNIT_PROP_ALL, UNIT_DROPIN_MEMORY, text), 0);
	CHECK(strstr(text, "\n[Scope]\nMemoryMax=67108864\nMemoryHigh=infinity\n") != NULL);
	CHECK_EQ(unit_dropin_write(root, "own.service", &p, UNIT_PROP_MEM_MAX), 0);
	CHECK(!exists(root, CONTROL "own.service.d/zz-vscaled-cpu.conf"));
	CHECK_EQ(unit_dropin_write(root, "own.service", &p, UNIT_PROP_ALL), 0);
	CHECK(exists(root, CONTROL "own.service.d/zz-vscaled-cpu.conf"));
	CHECK_EQ(unit_dropin_remove(root, "own.service", UNIT_PROP_ALL | UNIT_DROPIN_CPU), 0);
	CHECK(exists(root, CONTROL "own.service.d/zz-vscaled-memory.conf"));
	CHECK_EQ(unit_dropin_remove(root, "own.service", UNIT_DROPIN_OWN), 0);
	CHECK(!exists(root, CONTROL "own.service.d"));
	CHECK_EQ(unit_dropin_write(root, "../x.service", &p, UNIT_PROP_ALL), -EINVAL);
}

int main(void)
{
	char dir[] = "/tmp/unit-sync-XXXXXX";
	char clean[64];

	CHECK(mkdtemp(dir) != NULL);
	test_calls(dir);
	test_hangs(dir);
	test_dropins(dir);
	test_beaten(dir);
	test_own(dir);
	snprintf(clean, sizeof clean, "rm -rf %s", dir);
	CHECK_EQ(system(clean), 0);
	return check_result();
}

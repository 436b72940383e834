// SPDX-License-Identifier: Apache-2.0
/*
 * The layer on the running kernel: an own cgroup below the cgroup2 mount, removed afterwards. What
 * this host does not offer (the right to make one, a controller) is covered by the fake tree and
 * the lab; here it is named and left out.
 */
#include "cgroup/discover.h"
#include "cgroup/watch.h"
#include "cgroup/writer.h"
#include "test/check.h"
#include "test/fake.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ALL ((USAGE_MEM_LIMIT << 1) - 1)

static char top[64]; /* name of the own folder */
static struct cg_host host;
static int root = -1;

static void put(const char *path, const char *text)
{
	int fd = openat(root, path, O_WRONLY | O_CLOEXEC);

	CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	if (fd >= 0)
		close(fd);
}

/* A child of the own folder; returns its path. */
static const char *make(const char *name)
{
	static char path[128];

	snprintf(path, sizeof path, "%s/%s", top, name);
	CHECK_EQ(mkdirat(root, path, 0755), 0);
	return path;
}

static int outcome(struct cg *c, enum knob knob, uint64_t to)
{
	struct change ch = {.knob = knob, .to = to, .period_usec = 100000, .margin_bytes = MIB};

	return cg_write(c, &ch);
}

static void test_read(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	uint32_t want = USAGE_CPU;

	if (host.psi)
		want |= USAGE_PSI_CPU | USAGE_PSI_MEM;
	CHECK_EQ(cg_open(root, make("read"), &c), 0);
	for (int i = 0; i < 3; i++) {
		CHECK_EQ(cg_read(c, ALL, &u), 0);
		CHECK_EQ(u.have & want, want);
		CHECK_EQ(u.cpu_usage_usec, 0);
	}
	if (host.enabled & CG_MEMORY)
		CHECK_EQ(u.have & (USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_PEAK | USAGE_MEM_EVENTS |
				   USAGE_MEM_LIMIT),
			 USAGE_MEM | USAGE_MEM_STAT | USAGE_MEM_PEAK | USAGE_MEM_EVENTS |
				 USAGE_MEM_LIMIT);
	else
		CHECK_EQ(u.have & (USAGE_MEM | USAGE_MEM_LIMIT), 0);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, 50000), host.enabled & CG_CPU ? APPLY_DONE : -EOPNOTSUPP);
}

/* A kept descriptor tells a removed cgroup from a new one of the same name. */
static void test_gone(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	const char *path = make("gone");
	struct usage u = {.have = 77};

	CHECK_EQ(cg_open(root, path, &c), 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK_EQ(cg_same(c, root, path), 1);
	CHECK_EQ(unlinkat(root, path, AT_REMOVEDIR), 0);
	u.have = 77;
	CHECK_EQ(cg_read(c, ALL, &u), -ENODEV);
	CHECK_EQ(cg_same(c, root, path), -ENOENT);
	CHECK_EQ(mkdirat(root, path, 0755), 0);
	CHECK_EQ(cg_read(c, ALL, &u), -ENODEV);
	CHECK_EQ(cg_same(c, root, path), 0);
	CHECK_EQ(outcome(c, KNOB_MEM_HIGH, MIB), APPLY_GONE);
	CHECK_EQ(u.have, 77);
}

/* Pressure switched off for one cgroup: its files go, the cgroup does not. */
static void test_pressure_off(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	char path[128];

	snprintf(path, sizeof path, "%s/cgroup.pressure", make("psi"));
	CHECK_EQ(cg_open(root, top, &c), 0);
	cg_close(STEAL(c));
	snprintf(path, sizeof path, "%s/psi", top);
	CHECK_EQ(cg_open(root, path, &c), 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK(u.have & USAGE_PSI_CPU);
	snprintf(path, sizeof path, "%s/psi/cgroup.pressure", top);
	put(path, "0");
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK_EQ(u.have & (USAGE_CPU | USAGE_PSI_CPU | USAGE_PSI_MEM), USAGE_CPU);
	put(path, "1");
	for (int i = 0; i < 20; i++)
		CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK(u.have & USAGE_PSI_CPU);
}

struct received {
	char text[256];
};

static void hear(void *ctx, const struct cg_watch_event *e)
{
	struct received *h = ctx;
	size_t len = strlen(h->text);

	if (e->what == CG_WATCH_LIMIT)
		snprintf(h->text + len, sizeof h->text - len, "%s ", knobs[e->knob].file);
	else
		snprintf(h->text + len, sizeof h->text - len, "%s:%s ",
			 e->what == CG_WATCH_CHILD_NEW ? "new" : "gone", e->name);
}

static void test_watch(void)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *parent = NULL;
	struct received h = {0};
	const char *path;

	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_open(root, top, &parent), 0);
	CHECK_EQ(cg_watch_children(w, parent, 1), 0);
	path = make("watched");
	CHECK_EQ(cg_watch_drain(w, hear, &h), 1);
	CHECK_STR(h.text, "new:watched ");
	h.text[0] = '\0';
	CHECK_EQ(unlinkat(root, path, AT_REMOVEDIR), 0);
	CHECK_EQ(cg_watch_drain(w, hear, &h), 1);
	CHECK_STR(h.text, "gone:watched ");
}

/* Needs the memory controller. 32 MiB of a child process stand under the limit. */
static pid_t start_hog(const char *path)
{
	int ready[2];
	char procs[160], byte;
	pid_t pid;

	CHECK_EQ(pipe2(ready, O_CLOEXEC), 0);
	snprintf(procs, sizeof procs, "%s/cgroup.procs", path);
	pid = fork();
	if (pid == 0) {
		volatile char *p;

		put(procs, "0");
		p = malloc(32 * MIB);
		for (size_t i = 0; p != NULL && i < 32 * MIB; i += 4096)
			p[i] = 1;
		(void)!write(ready[1], "x", 1);
		pause();
		_exit(0);
	}
	close(ready[1]);
	CHECK_EQ(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void test_memory(void)
{
	OWN(drop_cg) struct cg *c = NULL;
	const char *path = make("memory");
	pid_t hog = start_hog(path);
	struct pollfd p = {.events = POLLPRI};
	struct usage u;
	int status;

	CHECK_EQ(cg_open(root, path, &c), 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK(u.mem_current > 32 * MIB && u.stat.anon >= 32 * MIB);
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, 16 * MIB), APPLY_REFUSED);
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, u.mem_current + 8 * MIB), APPLY_DONE);
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, u.mem_current + 8 * MIB), APPLY_UNCHANGED);
	/* rounded by the kernel as by us */
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, 64 * MIB + 1), APPLY_DONE);
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, 64 * MIB + 4095), APPLY_UNCHANGED);
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, INT64_MAX), APPLY_DONE);
	CHECK_EQ(outcome(c, KNOB_MEM_MAX, LIMIT_MAX), APPLY_UNCHANGED);
	/* anonymous memory without swap cannot be taken back */
	CHECK_EQ(outcome(c, KNOB_MEM_RECLAIM, 24 * MIB), APPLY_PARTIAL);

	p.fd = cg_events_fd(c);
	CHECK(p.fd >= 0);
	CHECK_EQ(poll(&p, 1, 0), 0);
	CHECK_EQ(outcome(c, KNOB_MEM_HIGH, 16 * MIB), APPLY_DONE);
	CHECK_EQ(outcome(c, KNOB_MEM_HIGH, LIMIT_MAX), APPLY_DONE);
	CHECK_EQ(waitpid(hog, &status, WNOHANG), 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK_EQ(u.events.oom_kill, 0);
	CHECK_EQ(poll(&p, 1, 0), 0);

	kill(hog, SIGKILL);
	CHECK_EQ(waitpid(hog, &status, 0), hog);
	while (unlinkat(root, path, AT_REMOVEDIR) < 0 && errno == EBUSY)
		usleep(1000);
	CHECK_EQ(poll(&p, 1, 2000), 1);
	CHECK_EQ(cg_read(c, ALL, &u), -ENODEV);
}

/* Needs the cpu controller: the kernel demands burst <= quota at every moment. */
static void test_cpu(void)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	struct received h = {0};
	struct usage u;

	CHECK_EQ(cg_open(root, make("cpu"), &c), 0);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, LIMIT_MAX), APPLY_UNCHANGED);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, 50000), APPLY_DONE);
	CHECK_EQ(outcome(c, KNOB_CPU_BURST, 60000), -EINVAL);
	CHECK_EQ(outcome(c, KNOB_CPU_BURST, 40000), APPLY_DONE);
	CHECK_EQ(cg_watch_new(&w), 0);
	CHECK_EQ(cg_watch_limits(w, c, 1), host.enabled & CG_MEMORY ? 3 : 1);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, 20000), APPLY_DONE);
	CHECK(cg_watch_drain(w, hear, &h) >= 1);
	CHECK(strncmp(h.text, "cpu.max ", 8) == 0);
	CHECK_EQ(cg_read(c, ALL, &u), 0);
	CHECK(u.limits.cpu_quota_usec == 20000 && u.limits.cpu_burst_usec == 20000);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, 20000), APPLY_UNCHANGED);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, 1000), APPLY_DONE);
	CHECK_EQ(outcome(c, KNOB_CPU_MAX, LIMIT_MAX), APPLY_DONE);
	CHECK(u.have & USAGE_THROTTLE);
}

/* Hands the controllers on to the children of the own folder. */
static void enable_controllers(void)
{
	char path[128];

	snprintf(path, sizeof path, "%s/cgroup.subtree_control", top);
	if (host.enabled & CG_CPU)
		put(path, "+cpu");
	if (host.enabled & CG_MEMORY)
		put(path, "+memory");
}

static void remove_all(void)
{
	static const char *const names[] = {"/read", "/gone", "/psi", "/cpu", ""};
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(path, sizeof path, "%s%s", top, names[i]);
		CHECK(unlinkat(root, path, AT_REMOVEDIR) == 0 || errno == ENOENT);
	}
}

static void run_tests(void)
{
	enable_controllers();
	test_read();
	test_gone();
	if (host.psi && faccessat(root, "cgroup.pressure", F_OK, 0) == 0)
		test_pressure_off();
	test_watch();
	if (host.enabled & CG_MEMORY)
		test_memory();
	if (host.enabled & CG_CPU)
		test_cpu();
	remove_all();
}

int main(void)
{
	int fds;

	CHECK_EQ(cg_discover(NULL, false, &host), 0);
	fds = fake_open_fds();
	snprintf(top, sizeof top, "vscaled-test-%d", (int)getpid());
	if (host.mount[0] != '\0')
		root = open(host.mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	fprintf(stderr, "this host: %s,%s%s%s%s\n", cg_mode_name(host.mode),
		host.enabled & CG_CPU ? "" : " no cpu",
		host.enabled & CG_MEMORY ? "" : " no memory", host.psi ? "" : " no pressure",
		host.writable ? "" : " not writable");
	if (root >= 0 && mkdirat(root, top, 0755) == 0)
		run_tests();
	if (root >= 0)
		close(root);
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}

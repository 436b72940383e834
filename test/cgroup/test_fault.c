// SPDX-License-Identifier: Apache-2.0
/*
 * The fault table: a scenario over the whole layer, run again and again with one system call
 * failing each time, until none is left to fail. Whatever fails, the error travels up (or is a
 * named outcome), outputs stay untouched, and nothing leaks.
 * The calls are caught by the linker (--wrap), so the code under test is the shipped one.
 */
#include "cgroup/discover.h"
#include "cgroup/watch.h"
#include "cgroup/writer.h"
#include "test/cgroup/tree.h"
#include "test/check.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALL ((USAGE_MEM_LIMIT << 1) - 1)

enum call {
	CALL_OPENAT,
	CALL_PREAD,
	CALL_WRITE,
	CALL_FSTAT,
	CALL_MALLOC,
	CALL_INOTIFY,
	CALL_COUNT
};

static const char *const call_names[CALL_COUNT] = {"openat", "pread",  "write",
						   "fstat",  "malloc", "inotify_add_watch"};

/* armed: the fault is set for `call`; after `left` good ones one fails with `error`. */
static struct {
	bool armed;
	enum call call;
	int left;
	int error;
	bool hit;
} fault;

static bool fails(enum call call)
{
	if (!fault.armed || fault.call != call || fault.left-- != 0)
		return false;
	fault.hit = true;
	errno = fault.error;
	return true;
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
ssize_t __real_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at);
ssize_t __real___pread_chk(int fd, void *buf, size_t size, off_t at, size_t room);
ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t at, size_t room);
ssize_t __real_write(int fd, const void *buf, size_t size);
ssize_t __wrap_write(int fd, const void *buf, size_t size);
int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_reallocarray(void *p, size_t count, size_t size);
void *__wrap_reallocarray(void *p, size_t count, size_t size);
int __real_inotify_add_watch(int fd, const char *path, uint32_t mask);
int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask);

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return fails(CALL_OPENAT) ? -1 : __real_openat(dir, path, flags, mode);
}

ssize_t __wrap_pread(int fd, void *buf, size_t size, off_t at)
{
	return fails(CALL_PREAD) ? -1 : __real_pread(fd, buf, size, at);
}

ssize_t __wrap___pread_chk(int fd, void *buf, size_t size, off_t at, size_t room)
{
	return fails(CALL_PREAD) ? -1 : __real___pread_chk(fd, buf, size, at, room);
}

ssize_t __wrap_write(int fd, const void *buf, size_t size)
{
	return fails(CALL_WRITE) ? -1 : __real_write(fd, buf, size);
}

int __wrap_fstat(int fd, struct stat *st)
{
	return fails(CALL_FSTAT) ? -1 : __real_fstat(fd, st);
}

void *__wrap_malloc(size_t size)
{
	return fails(CALL_MALLOC) ? NULL : __real_malloc(size);
}

void *__wrap_reallocarray(void *p, size_t count, size_t size)
{
	return fails(CALL_MALLOC) ? NULL : __real_reallocarray(p, count, size);
}

int __wrap_inotify_add_watch(int fd, const char *path, uint32_t mask)
{
	return fails(CALL_INOTIFY) ? -1 : __real_inotify_add_watch(fd, path, mask);
}

static struct fake f;

static const struct change changes[] = {
	{.knob = KNOB_CPU_MAX, .to = 5000, .period_usec = 100000}, /* burst is written first */
	{.knob = KNOB_CPU_BURST, .to = 1000},
	{.knob = KNOB_MEM_MAX, .to = 128 * MIB - 4096, .margin_bytes = MIB}, /* with the check */
	{.knob = KNOB_MEM_MAX, .to = 256 * MIB},
	{.knob = KNOB_MEM_HIGH, .to = 240 * MIB},
	{.knob = KNOB_MEM_RECLAIM, .to = 40 * MIB},
};

static void fresh_tree(void)
{
	bool armed = fault.armed;

	fault.armed = false;
	for (size_t i = 0; i < TREE_COUNT; i++)
		fake_put(&f, tree_files[i].path, tree_files[i].text);
	fault.armed = armed;
}

static void no_gap(void *, const char *, uint32_t)
{
}

/* Reads and writes once each. Returns the first result that is not a plain success. */
static int use_cgroup(struct cg *c)
{
	struct usage u = {.have = 1u << 31};
	bool before, replaced;
	int r = cg_read(c, ALL, &u);

	if (r < 0) {
		CHECK_EQ(u.have, 1u << 31);
		return r;
	}
	CHECK(u.have == ALL || fault.hit);
	r = cg_events_fd(c);
	if (r < 0)
		return r;
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		r = cg_write(c, &changes[i]);
		if (r != APPLY_DONE)
			return r;
	}
	r = cg_same(c, f.fd, TREE_UNIT);
	CHECK(r != 0);
	if (r < 0)
		return r;
	before = fault.hit;
	replaced = cg_replaced(c, f.fd, TREE_UNIT);
	if (!fault.hit || before)
		return 0;
	/* Only ENOENT means that the cgroup is gone. */
	CHECK_EQ(replaced, fault.error == ENOENT);
	return -fault.error;
}

static int scenario(void)
{
	OWN(drop_cg_watch) struct cg_watch *w = NULL;
	OWN(drop_cg) struct cg *c = NULL;
	struct cg_host h = {.mode = CG_MODE_V1};
	int r;

	r = cg_discover(f.path, true, &h);
	if (r < 0) {
		CHECK_EQ(h.mode, CG_MODE_V1);
		return r;
	}
	r = cg_open(f.fd, TREE_UNIT, &c);
	if (r < 0) {
		CHECK(c == NULL);
		return r;
	}
	r = cg_watch_new(&w);
	if (r < 0)
		return r;
	r = cg_watch_limits(w, c, 1);
	if (r < 0) {
		CHECK_EQ(cg_watch_count(w), 0);
		return r;
	}
	r = cg_watch_children(w, c, 1);
	if (r < 0)
		return r;
	r = cg_gaps(f.fd, TREE_UNIT, CG_CPU, no_gap, NULL);
	return r < 0 ? r : use_cgroup(c);
}

/* Which results a fault may lead to, besides its own error. */
static bool expected(int error, int result)
{
	switch (error) {
	case ENOENT: /* a missing file is an absent bit, an unchanged watch, or not supported */
		return result == 0 || result == -EOPNOTSUPP || result == -ENOENT;
	case ENODEV: /* of a living cgroup: its controller was switched off */
		return result == 0 || result == -EOPNOTSUPP || result == -ENODEV ||
		       result == -ENOENT;
	case EACCES: /* of a pressure file of the root: without pressure */
		return result == 0 || result == -EACCES;
	case EAGAIN: /* memory.reclaim */
		return result == APPLY_PARTIAL || result == -EAGAIN;
	default:
		return result == -error;
	}
}

static int run_faults(enum call call, int error)
{
	int n;

	for (n = 0;; n++) {
		int fds, r;

		fresh_tree();
		fds = fake_open_fds();
		fault = (typeof(fault)){.armed = true, .call = call, .left = n, .error = error};
		r = scenario();
		fault.armed = false;
		CHECK_EQ(fake_open_fds(), fds);
		if (!fault.hit)
			break;
		if (!expected(error, r))
			fprintf(stderr, "%s number %d failing with %s gave %d\n", call_names[call],
				n + 1, strerror(error), r);
		CHECK(expected(error, r));
	}
	fprintf(stderr, "%s: %d calls failed once with %s\n", call_names[call], n, strerror(error));
	return n;
}

/* A quota that the kernel refuses after the burst made room for it leaves the burst as it was. */
TEST(burst_put_back)
{
	OWN(drop_cg) struct cg *c = NULL;
	char buf[64];

	fresh_tree();
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	fault = (typeof(fault)){.armed = true, .call = CALL_WRITE, .left = 1, .error = EINVAL};
	CHECK_EQ(cg_write(c, &changes[0]), -EINVAL);
	fault.armed = false;
	CHECK_STR(fake_get(&f, TREE_UNIT "/cpu.max.burst", buf, sizeof buf), "10000\n");
}

static bool leads_to(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(f.fd, path, &b, 0) == 0 && a.st_ino == b.st_ino &&
	       a.st_dev == b.st_dev;
}

/* The descriptor number in the event loop is not reused while the controller is disabled, and
 * refers to the file again when it is enabled. */
TEST(events_fd_stays_ours)
{
	OWN(drop_cg) struct cg *c = NULL;
	struct usage u;
	int fd, other;

	fresh_tree();
	CHECK_EQ(cg_open(f.fd, TREE_UNIT, &c), 0);
	fd = cg_events_fd(c);
	CHECK(leads_to(fd, TREE_UNIT "/memory.events"));
	fault = (typeof(fault)){.armed = true, .call = CALL_PREAD, .error = ENODEV};
	CHECK_EQ(cg_read(c, USAGE_MEM_EVENTS, &u), 0);
	fault.armed = false;
	CHECK_EQ(u.have, 0);
	CHECK(leads_to(fd, TREE_UNIT));
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	other = openat(f.fd, TREE_UNIT "/cpu.stat", O_RDONLY | O_CLOEXEC);
	CHECK(other >= 0 && other != fd);
	close(other);
	for (int i = 0; i < 20 && !(u.have & USAGE_MEM_EVENTS); i++)
		CHECK_EQ(cg_read(c, USAGE_MEM_EVENTS, &u), 0);
	CHECK_EQ(u.have, USAGE_MEM_EVENTS);
	CHECK_EQ(u.events.oom_kill, 3);
	CHECK(leads_to(fd, TREE_UNIT "/memory.events"));
	CHECK_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(cg_events_fd(c), fd);
	/* A second time, and closed in between: main() counts the descriptors. */
	fault = (typeof(fault)){.armed = true, .call = CALL_PREAD, .error = EIO};
	CHECK_EQ(cg_read(c, USAGE_MEM_EVENTS, &u), -EIO);
	fault.armed = false;
	CHECK(leads_to(fd, TREE_UNIT));
}

int main(void)
{
	static const struct {
		enum call call;
		int error;
		int at_least;
	} rows[] = {
		{CALL_OPENAT, EMFILE, 25}, {CALL_OPENAT, EACCES, 25}, {CALL_OPENAT, ENOENT, 25},
		{CALL_PREAD, EIO, 20},     {CALL_PREAD, ENODEV, 20},  {CALL_WRITE, EINVAL, 8},
		{CALL_WRITE, EAGAIN, 8},   {CALL_WRITE, ENODEV, 8},   {CALL_WRITE, EPERM, 8},
		{CALL_FSTAT, EIO, 2},      {CALL_MALLOC, ENOMEM, 3},  {CALL_INOTIFY, ENOSPC, 4},
	};
	int fds = fake_open_fds();

	fake_open(&f, tree_files, TREE_COUNT);
	CHECK_EQ(scenario(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		CHECK(run_faults(rows[i].call, rows[i].error) >= rows[i].at_least);
	check_run();
	fake_close(&f);
	CHECK_EQ(fake_open_fds(), fds);
	return check_result();
}

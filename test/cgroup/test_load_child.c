// SPDX-License-Identifier: Apache-2.0
/* The descriptors that a loading process returns, and its failures. */
#include "cgroup/bpf/load_child.h"
#include "policy/base/base.h"
#include "test/check.h"
#include "test/fake.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static int two_pipes(void *ctx, struct cg_load_result *ret, struct cg_probe *p)
{
	struct rlimit limit;
	int ends[2];

	/* Ours alone: the parent's copy does not change. */
	*(int *)ctx = 7;
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (pipe(ends) < 0)
		return cg_probe_fault(p, -errno, "pipe");
	if (cg_load_keep(ret, ends[0], p) < 0 || cg_load_keep(ret, ends[1], p) < 0)
		return p->error;
	ret->number = 42;
	return cg_probe_fault(p, 0, "loaded");
}

static int refused(void *, struct cg_load_result *ret, struct cg_probe *p)
{
	(void)cg_load_keep(ret, 0, p);
	return cg_probe_fault(p, -EPERM, "the kernel says %s", "no");
}

static int dies(void *, struct cg_load_result *, struct cg_probe *)
{
	_exit(3);
}

static int nothing_there(void *, struct cg_load_result *ret, struct cg_probe *p)
{
	return cg_load_keep(ret, -1, p);
}

static int too_many(void *, struct cg_load_result *ret, struct cg_probe *p)
{
	int r = 0;

	for (int i = 0; r == 0 && i <= CG_LOAD_FDS_MAX; i++)
		r = cg_load_keep(ret, 0, p);
	return r;
}

TEST(loaded)
{
	struct cg_load_result a = {0};
	struct cg_probe p = {.program = "x"};
	int seen = 0, fds = fake_open_fds(), from;
	char c = 0;

	CHECK_EQ(cg_load_in_child(two_pipes, &seen, &a, &p), 0);
	CHECK_STR(p.why, "loaded");
	CHECK_EQ(p.error, 0);
	CHECK_EQ(seen, 0);
	CHECK_EQ(a.number, 42);
	CHECK_EQ(a.count, 2);
	CHECK_EQ(fake_open_fds(), fds + 2);
	CHECK(fcntl(a.fd[0], F_GETFD) == FD_CLOEXEC);
	CHECK(write(a.fd[1], "x", 1) == 1 && read(a.fd[0], &c, 1) == 1);
	CHECK_EQ(c, 'x');
	from = cg_load_take(&a, 0);
	CHECK_EQ(a.fd[0], -1);
	cg_load_drop(&a);
	CHECK_EQ(fake_open_fds(), fds + 1);
	close(from);
	/* No child process is left. */
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

TEST(failed)
{
	static const struct {
		cg_load_fn *load;
		int error;
		const char *why;
	} cases[] = {
		{refused, -EPERM, "the kernel says no"},
		{dies, -EIO, "the process that loads it ended"},
		{nothing_there, -ENOENT, "a descriptor is missing"},
		{too_many, -EMFILE, "a descriptor is missing"},
	};
	int fds = fake_open_fds();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cg_load_result a = {0};
		struct cg_probe p = {.program = "x"};

		CHECK_EQ(cg_load_in_child(cases[i].load, NULL, &a, &p), cases[i].error);
		CHECK_STR(p.why, cases[i].why);
		CHECK_EQ(p.error, cases[i].error);
		CHECK_EQ(a.count, 0);
	}
	CHECK_EQ(fake_open_fds(), fds);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
}

/* This process has room for one of the two descriptors: an error, and none leaks. */
TEST(no_room)
{
	struct cg_load_result a = {0};
	struct cg_probe p = {.program = "x"};
	struct rlimit before, now;
	int seen = 0, fds = fake_open_fds(), top = dup(0);

	close(top);
	getrlimit(RLIMIT_NOFILE, &before);
	now = before;
	now.rlim_cur = (rlim_t)top + 2;
	setrlimit(RLIMIT_NOFILE, &now);
	CHECK_EQ(cg_load_in_child(two_pipes, &seen, &a, &p), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &before);
	CHECK_EQ(a.count, 0);
	CHECK_EQ(fake_open_fds(), fds);
}

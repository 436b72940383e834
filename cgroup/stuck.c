// SPDX-License-Identifier: Apache-2.0
#include "cgroup/stuck.h"
#include "cgroup/group.h"
#include "cgroup/parse.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A thaw that does not succeed would leave PID 1 frozen. */
#define THAW_TRIES 100

#define LOCAL "memory.events.local"

#define FREEZE_FILE "init.scope/cgroup.freeze"

static int oom_events(const struct cg *c, const char *file, uint64_t *ret)
{
	char text[CG_TEXT_BYTES];
	int len = cg_text_read(c->dir, file, text);

	return len < 0 ? len : cg_parse_mem_ooms(text, (size_t)len, ret);
}

/* A writer may be stuck at either level. An inner level without the file has counted nothing. */
int cg_oom_events(struct cg *c, uint64_t *ret)
{
	uint64_t outer, inner = 0;
	int r = oom_events(c, LOCAL, &outer);

	if (r < 0)
		return r;
	r = c->inner != NULL ? oom_events(c->inner, LOCAL, &inner) : 0;
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = outer + inner;
	return 0;
}

int cg_oom_events_all(struct cg *c, uint64_t *ret)
{
	return oom_events(c, "memory.events", ret);
}

static int stuck_put(int fd, char value)
{
	return pwrite(fd, &value, 1, 0) == 1 ? 0 : -errno;
}

static int freeze_and_thaw(int fd)
{
	int r = stuck_put(fd, '1');

	for (unsigned i = 0; i < THAW_TRIES && stuck_put(fd, '0') < 0; i++)
		;
	return r;
}

int cg_nudge_pid1(int root)
{
	int fd = openat(root, FREEZE_FILE, O_WRONLY | O_CLOEXEC);
	sigset_t all, before;
	int r;

	if (fd < 0)
		return -errno;
	/* Nothing may be done in between. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	r = freeze_and_thaw(fd);
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(fd);
	return r;
}

void cg_thaw_pid1(int root)
{
	int fd = openat(root, FREEZE_FILE, O_RDWR | O_CLOEXEC);
	char now;

	if (fd < 0)
		return;
	if (pread(fd, &now, 1, 0) == 1 && now == '1')
		stuck_put(fd, '0');
	close(fd);
}

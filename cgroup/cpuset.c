// SPDX-License-Identifier: Apache-2.0
#include "cgroup/cpuset.h"
#include "cgroup/group.h"
#include "cgroup/parse.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* A list of CPUs of one level. Not kept open: it is read at reviews only. */
static int read_list(const struct cg *c, const char *file, uint32_t *ret)
{
	OWN(cg_drop_fd) int fd = openat(c->dir, file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	char text[CG_TEXT_BYTES];
	ssize_t len;

	if (fd < 0)
		return -errno;
	len = read(fd, text, sizeof text);
	return len < 0 ? -errno : cg_parse_cpu_list(text, (size_t)len, ret);
}

/* The inner level's list if it names any, else the scope's. */
static int read_levels(const struct cg *c, const char *file, uint32_t *ret)
{
	uint32_t count = 0;
	int r = c->inner != NULL ? read_list(c->inner, file, &count) : 0;

	if (r < 0 && r != -ENOENT)
		return r;
	if (count == 0)
		r = read_list(c, file, &count);
	if (r == 0)
		*ret = count;
	return r;
}

int cg_has_cpus(struct cg *c, bool *ret)
{
	uint32_t count;
	int r = read_levels(c, "cpuset.cpus", &count);

	if (r == 0)
		*ret = count != 0;
	return r;
}

int cg_count_cpus(struct cg *c, uint32_t *ret)
{
	return read_levels(c, "cpuset.cpus.effective", ret);
}

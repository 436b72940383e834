// SPDX-License-Identifier: Apache-2.0
#include "cgroup/cpuset.h"
#include "cgroup/group.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* Not kept open: it is read at reviews only. */
int cg_has_cpus(struct cg *c, bool *ret)
{
	int fd = openat(c->dir, "cpuset.cpus", O_RDONLY | O_CLOEXEC);
	char first = '\n';
	ssize_t len;
	int r;

	if (fd < 0)
		return -errno;
	len = read(fd, &first, 1);
	r = len < 0 ? -errno : 0;
	close(fd);
	/* An empty one is a line without a word in it. */
	if (r == 0)
		*ret = first != '\n';
	return r;
}

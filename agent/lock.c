// SPDX-License-Identifier: Apache-2.0
#include "agent/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define TRIES    10
#define TRY_USEC 50000

static int lock_open(const char *directory)
{
	int dir, fd, error;

	if (mkdir(directory, 0755) < 0 && errno != EEXIST)
		return -errno;
	dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	fd = openat(dir, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	error = errno;
	close(dir);
	return fd < 0 ? -error : fd;
}

/* A predecessor that was killed may have left a child that has not ended yet. */
static int lock_soon(int fd)
{
	int r = flock(fd, LOCK_EX | LOCK_NB);

	for (unsigned i = 0; i < TRIES && r < 0 && errno == EWOULDBLOCK; i++) {
		usleep(TRY_USEC);
		r = flock(fd, LOCK_EX | LOCK_NB);
	}
	return r;
}

int lock_take(const char *directory, int *ret_fd)
{
	int fd = lock_open(directory);
	int error;

	if (fd < 0)
		return fd;
	if (lock_soon(fd) < 0) {
		error = errno;
		close(fd);
		return -error;
	}
	*ret_fd = fd;
	return 0;
}

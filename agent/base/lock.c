// SPDX-License-Identifier: Apache-2.0
#include "agent/base/lock.h"
#include "agent/base/file.h"
#include "policy/base/base.h"
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME     "lock"
#define TRIES    10
#define TRY_USEC 50000

/* A former process that was killed may have left a child that has not ended yet. */
static int lock_retry(int fd, unsigned tries)
{
	int r = flock(fd, LOCK_EX | LOCK_NB);

	for (unsigned i = 1; i < tries && r < 0 && errno == EWOULDBLOCK; i++) {
		usleep(TRY_USEC);
		r = flock(fd, LOCK_EX | LOCK_NB);
	}
	return r < 0 ? -errno : 0;
}

/* The file that is locked is the one that others would open. */
static bool is_at_path(int dir, int fd)
{
	struct stat held, there;

	return fstat(fd, &held) == 0 && fstatat(dir, NAME, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

/* What the holder wrote, up to what cannot be printed. */
static void read_holder(int fd, char ret[LOCK_HOLDER_MAX])
{
	char text[LOCK_HOLDER_MAX];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
	size_t size = 0;

	while (n > 0 && size < (size_t)n && text[size] >= ' ' && text[size] <= '~')
		size++;
	text[size] = '\0';
	strcpy(ret, size > 0 ? text : "an unknown process");
}

/* The lock is valid without the text; only the holder's name is missing. */
static void write_holder(int fd, const char *holder)
{
	ssize_t n;

	if (ftruncate(fd, 0) < 0)
		return;
	n = pwrite(fd, holder, strlen(holder), 0);
	(void)n;
}

/* The locked file; if it was removed before flock(), the one that is at its path now. */
static int take(const struct lock_place *at, unsigned tries, char ret_other[LOCK_HOLDER_MAX])
{
	OWN(drop_fd) int dir = directory_open(at->directory, 0700);
	OWN(drop_fd) int fd = -1;
	int r;

	if (dir < 0)
		return dir;
	for (unsigned i = 0; i < TRIES; i++) {
		drop_fd(&fd);
		fd = openat(dir, NAME, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		r = lock_retry(fd, tries);
		if (r == -EWOULDBLOCK)
			read_holder(fd, ret_other);
		if (r < 0)
			return r;
		if (!is_at_path(dir, fd))
			continue;
		write_holder(fd, at->holder);
		r = fd;
		fd = -1;
		return r;
	}
	return -EAGAIN;
}

int lock_take(const struct lock_place *at, char ret_other[LOCK_HOLDER_MAX])
{
	return take(at, TRIES, ret_other);
}

int lock_check(const struct lock_place *at, int *fd, char ret_other[LOCK_HOLDER_MAX])
{
	OWN(drop_fd) int dir = open(at->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (*fd >= 0 && dir >= 0 && is_at_path(dir, *fd))
		return LOCK_HELD;
	r = take(at, 1, ret_other);
	if (r < 0)
		return r;
	drop_fd(fd);
	*fd = r;
	return LOCK_RETAKEN;
}

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

static int directory_open(const char *directory, mode_t mode)
{
	int fd;

	if (mkdir(directory, mode) < 0 && errno != EEXIST)
		return -errno;
	fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

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

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The file that is locked is the one that others would open. */
static bool is_at_path(int dir, int fd)
{
	struct stat held, there;

	return fstat(fd, &held) == 0 && fstatat(dir, NAME, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	       same_file(&held, &there);
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
static int take_one(const char *directory, mode_t mode, const struct lock_place *at, unsigned tries,
		    char ret_other[LOCK_HOLDER_MAX])
{
	OWN(drop_fd) int dir = directory_open(directory, mode);
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

static bool same_directory(const struct lock_place *at)
{
	struct stat state, runtime;

	return stat(at->state_directory, &state) == 0 &&
	       stat(at->runtime_directory, &runtime) == 0 && same_file(&state, &runtime);
}

int lock_take(const struct lock_place *at, struct lock *ret, char ret_other[LOCK_HOLDER_MAX])
{
	struct lock l = LOCK_NONE;
	int r;

	l.fd = take_one(at->state_directory, 0700, at, TRIES, ret_other);
	if (l.fd < 0)
		return l.fd;
	if (!same_directory(at)) {
		r = take_one(at->runtime_directory, 0755, at, TRIES, ret_other);
		if (r < 0) {
			lock_drop(&l);
			return r;
		}
		l.runtime_fd = r;
	}
	*ret = l;
	return 0;
}

/* 1: *fd is a new one. */
static int check_one(const char *directory, mode_t mode, const struct lock_place *at, int *fd,
		     char ret_other[LOCK_HOLDER_MAX])
{
	OWN(drop_fd) int dir = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r;

	if (*fd >= 0 && dir >= 0 && is_at_path(dir, *fd))
		return LOCK_HELD;
	r = take_one(directory, mode, at, 1, ret_other);
	if (r < 0)
		return r;
	drop_fd(fd);
	*fd = r;
	return LOCK_RETAKEN;
}

int lock_check(const struct lock_place *at, struct lock *l, char ret_other[LOCK_HOLDER_MAX])
{
	int state = check_one(at->state_directory, 0700, at, &l->fd, ret_other);
	int runtime;

	if (state < 0 || same_directory(at))
		return state;
	runtime = check_one(at->runtime_directory, 0755, at, &l->runtime_fd, ret_other);
	return runtime == -EWOULDBLOCK ? runtime : state;
}

void lock_drop(struct lock *l)
{
	drop_fd(&l->fd);
	drop_fd(&l->runtime_fd);
}

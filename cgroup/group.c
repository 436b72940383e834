// SPDX-License-Identifier: Apache-2.0
#include "cgroup/group.h"
#include "cgroup/levels.h"
#include "policy/base/text.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// clang-format off
const char *const cg_file_names[CG_FILE_COUNT] = {
	[CG_FILE_CPU_STAT]    = "cpu.stat",
	[CG_FILE_MEM_CURRENT] = "memory.current",
	[CG_FILE_MEM_STAT]    = "memory.stat",
	[CG_FILE_MEM_PEAK]    = "memory.peak",
	[CG_FILE_MEM_EVENTS]  = "memory.events",
	[CG_FILE_PSI_CPU]     = "cpu.pressure",
	[CG_FILE_PSI_MEM]     = "memory.pressure",
	[CG_FILE_CPU_MAX]     = "cpu.max",
	[CG_FILE_CPU_BURST]   = "cpu.max.burst",
	[CG_FILE_MEM_MAX]     = "memory.max",
	[CG_FILE_MEM_HIGH]    = "memory.high",
};
// clang-format on

static int open_dir(int dir, const char *name)
{
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Copies the next name of *path; 0 at the end. */
static int next_name(const char **path, char name[static NAME_MAX + 1])
{
	size_t len = strcspn(*path, "/");

	if (len == 0)
		return **path == '\0' ? 0 : -EINVAL;
	if (len > NAME_MAX)
		return -ENAMETOOLONG;
	memcpy(name, *path, len);
	name[len] = '\0';
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return -EINVAL;
	*path += len;
	if (**path == '/')
		(*path)++;
	return 1;
}

/* Name by name, because O_NOFOLLOW checks the last one only. */
static int walk(int root, const char *path, int *ret)
{
	OWN(cg_drop_fd) int dir = open_dir(root, ".");
	char name[NAME_MAX + 1];
	int r;

	if (dir < 0)
		return dir;
	path += strspn(path, "/");
	while ((r = next_name(&path, name)) > 0) {
		int child = open_dir(dir, name);

		if (child < 0)
			return child;
		close(dir);
		dir = child;
	}
	if (r < 0)
		return r;
	*ret = dir;
	dir = -1;
	return 0;
}

/* Takes dir over, also when it fails. */
static int cg_new(int dir, struct cg **ret)
{
	struct cg *c = malloc(sizeof *c);
	struct stat st;

	if (c == NULL || fstat(dir, &st) < 0) {
		int error = c == NULL ? ENOMEM : errno;

		close(dir);
		free(c);
		return -error;
	}
	*c = (struct cg){.dir = dir, .dev = st.st_dev, .id = st.st_ino, .events_fd = -1};
	for (size_t i = 0; i < CG_FILE_COUNT; i++)
		c->fd[i] = -1;
	*ret = c;
	return 0;
}

int cg_open_child(int dir, const char *name, struct cg **ret)
{
	int child = open_dir(dir, name);

	return child < 0 ? child : cg_new(child, ret);
}

int cg_open(int root_dirfd, const char *path, struct cg **ret)
{
	OWN(drop_cg) struct cg *c = NULL;
	const char *slash = strrchr(path, '/');
	int dir, r;

	r = walk(root_dirfd, path, &dir);
	if (r == 0)
		r = cg_new(dir, &c);
	if (c == NULL)
		return r;
	c->scope = text_is_container_scope(slash != NULL ? slash + 1 : path);
	r = cg_levels_check(c);
	if (r < 0)
		return r;
	*ret = STEAL(c);
	return 0;
}

void cg_close(struct cg *c)
{
	if (c == NULL)
		return;
	cg_close(c->inner);
	for (size_t i = 0; i < CG_FILE_COUNT; i++)
		cg_drop_fd(&c->fd[i]);
	if (c->events_fd != c->fd[CG_FILE_MEM_EVENTS])
		cg_drop_fd(&c->events_fd);
	cg_drop_fd(&c->dir);
	free(c);
}

uint64_t cg_id(const struct cg *c)
{
	return c->id;
}

int cg_dirfd(const struct cg *c)
{
	return c->dir;
}

int cg_same(const struct cg *c, int root_dirfd, const char *path)
{
	OWN(cg_drop_fd) int dir = -1;
	struct stat st;
	int r = walk(root_dirfd, path, &dir);

	if (r < 0)
		return r;
	if (fstat(dir, &st) < 0)
		return -errno;
	return st.st_dev == c->dev && st.st_ino == c->id;
}

bool cg_replaced(const struct cg *c, int root_dirfd, const char *path)
{
	int r = cg_same(c, root_dirfd, path);

	return r == 0 || r == -ENOENT || r == -ENOTDIR || r == -ELOOP;
}

/* Every cgroup has this file, whatever its controllers; a removed folder has none. */
int cg_alive(const struct cg *c)
{
	if (faccessat(c->dir, "cgroup.controllers", F_OK, 0) == 0)
		return 0;
	return errno == ENOENT ? -ENODEV : -errno;
}

/* What a failed open or read means: the file is missing for now, or the whole cgroup is. */
static int file_lost(struct cg *c, enum cg_file file, int error)
{
	int r;

	if (error != ENOENT && error != ENODEV && error != EOPNOTSUPP)
		return -error;
	r = cg_alive(c);
	if (r < 0)
		return r;
	c->absent_reads[file] = CG_ABSENT_READS;
	return -ENOENT;
}

static int file_open(struct cg *c, enum cg_file file)
{
	int fd;

	if (c->absent_reads[file] > 0) {
		c->absent_reads[file]--;
		return -ENOENT;
	}
	fd = openat(c->dir, cg_file_names[file], O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return file_lost(c, file, errno);
	if (file == CG_FILE_MEM_EVENTS && c->events_fd >= 0 &&
	    dup3(fd, c->events_fd, O_CLOEXEC) >= 0) {
		close(fd);
		fd = c->events_fd;
	}
	c->fd[file] = fd;
	return 0;
}

/* A file whose controller was switched off stays dead; a new one needs a new descriptor. */
static void file_close(struct cg *c, enum cg_file file)
{
	int fd = c->fd[file];

	/* An event loop may hold this number: after a close another file could get it. */
	if (fd != c->events_fd || dup3(c->dir, fd, O_CLOEXEC) < 0)
		close(fd);
	c->fd[file] = -1;
}

int cg_file_read(struct cg *c, enum cg_file file, char *buf)
{
	ssize_t n;
	int r;

	if (c->fd[file] < 0) {
		r = file_open(c, file);
		if (r < 0)
			return r;
	}
	n = pread(c->fd[file], buf, CG_TEXT_BYTES, 0);
	if (n < 0) {
		r = -errno;
		file_close(c, file);
		return file_lost(c, file, -r);
	}
	return n == CG_TEXT_BYTES ? -EBADMSG : (int)n;
}

int cg_text_read(int dir, const char *name, char *buf)
{
	OWN(cg_drop_fd) int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, buf, CG_TEXT_BYTES, 0);

	if (n < 0)
		return -errno;
	return n == CG_TEXT_BYTES ? -EBADMSG : (int)n;
}

// SPDX-License-Identifier: Apache-2.0
#include "test/fake.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void must(bool ok, const char *what, const char *path)
{
	if (ok)
		return;
	fprintf(stderr, "fake tree: %s %s: %s\n", what, path, strerror(errno));
	exit(EXIT_FAILURE);
}

static void put_file(int root, const char *path, const char *text, int flags)
{
	int fd = openat(root, path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
	size_t len = strlen(text);

	if (fd < 0 && errno == EEXIST)
		return;
	must(fd >= 0, "create", path);
	must(write(fd, text, len) == (ssize_t)len, "write", path);
	close(fd);
}

/* A cgroup that is there has at least these. */
static void put_folder(int root, const char *path)
{
	static const char *const names[] = {"cgroup.controllers", "cgroup.subtree_control"};

	must(mkdirat(root, path, 0755) == 0 || errno == EEXIST, "mkdir", path);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char file[PATH_MAX];

		snprintf(file, sizeof file, "%s/%s", path, names[i]);
		put_file(root, file, "cpu memory\n", O_EXCL);
	}
}

void fake_put(const struct fake *f, const char *path, const char *text)
{
	char folder[PATH_MAX];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
		put_folder(f->fd, folder);
	}
	if (text == NULL)
		put_folder(f->fd, path);
	else
		put_file(f->fd, path, text, O_TRUNC);
}

void fake_open(struct fake *f, const struct fake_file *files, size_t count)
{
	const char *tmp = getenv("TMPDIR");

	/* In memory where possible: a disk waits at each replaced file. */
	if (tmp == NULL || strlen(tmp) > sizeof f->path - sizeof "/vscaled-fake-XXXXXX")
		tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
	snprintf(f->path, sizeof f->path, "%s/vscaled-fake-XXXXXX", tmp);
	must(mkdtemp(f->path) != NULL, "mkdtemp", f->path);
	f->fd = open(f->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	must(f->fd >= 0, "open", f->path);
	put_folder(f->fd, ".");
	for (size_t i = 0; i < count; i++)
		fake_put(f, files[i].path, files[i].text);
}

const char *fake_get(const struct fake *f, const char *path, char *buf, size_t size)
{
	int fd = openat(f->fd, path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	must(fd >= 0, "open", path);
	n = read(fd, buf, size - 1);
	must(n >= 0, "read", path);
	close(fd);
	buf[n] = '\0';
	return buf;
}

static int remove_one(const char *path, const struct stat *, int, struct FTW *)
{
	return remove(path);
}

static void remove_tree(const char *path)
{
	must(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) == 0, "remove", path);
}

void fake_remove(const struct fake *f, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof full, "%s/%s", f->path, path);
	remove_tree(full);
}

void fake_close(struct fake *f)
{
	close(f->fd);
	f->fd = -1;
	remove_tree(f->path);
}

int fake_open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int count = 0;

	must(dir != NULL, "open", "/proc/self/fd");
	while (readdir(dir) != NULL)
		count++;
	closedir(dir);
	return count;
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/restore/cgroup_find.h"
#include "agent/base/drop.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Deeper than any unit; cgroups that containers make inside are not searched. */
#define DEPTH_MAX 12

struct search {
	const char *unit;
	uint64_t inode;
	char path[CGROUP_PATH_MAX]; /* of the folder being read */
	char named[CGROUP_PATH_MAX];
	char exact[CGROUP_PATH_MAX];
};

/* systemd puts "_" before a name that could be taken for a file of the kernel. */
static bool carries_name(const char *folder, const char *unit)
{
	return strcmp(folder, unit) == 0 || (folder[0] == '_' && strcmp(folder + 1, unit) == 0);
}

static int search_folder(int parent, const char *name, unsigned depth, struct search *s);

static int search_entry(int dir, const struct dirent *entry, unsigned depth, struct search *s)
{
	size_t length = strlen(s->path);
	int n, r = 0;

	if (entry->d_type != DT_DIR || strcmp(entry->d_name, ".") == 0 ||
	    strcmp(entry->d_name, "..") == 0)
		return 0;
	n = snprintf(s->path + length, sizeof(s->path) - length, "%s%s", length ? "/" : "",
		     entry->d_name);
	if (n < 0 || (size_t)n >= sizeof(s->path) - length) {
		s->path[length] = '\0';
		return 0;
	}
	if (s->inode != 0 && entry->d_ino == s->inode)
		strcpy(s->exact, s->path);
	else if (s->named[0] == '\0' && carries_name(entry->d_name, s->unit))
		strcpy(s->named, s->path);
	if (s->exact[0] == '\0' && depth < DEPTH_MAX)
		r = search_folder(dir, entry->d_name, depth + 1, s);
	s->path[length] = '\0';
	return r == -ENOENT ? 0 : r;
}

static int search_folder(int parent, const char *name, unsigned depth, struct search *s)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	OWN(drop_dir) DIR *dir = NULL;
	const struct dirent *entry;
	int r = 0;

	if (fd < 0)
		return -errno;
	dir = fdopendir(fd);
	if (!dir) {
		close(fd);
		return -ENOMEM;
	}
	while (r == 0 && s->exact[0] == '\0' && (entry = readdir(dir)))
		r = search_entry(fd, entry, depth, s);
	return r;
}

int cgroup_find(int root, const char *unit, uint64_t inode, char ret[static CGROUP_PATH_MAX])
{
	struct search s = {.unit = unit, .inode = inode};
	int r = search_folder(root, ".", 0, &s);

	if (r < 0)
		return r;
	if (s.exact[0] == '\0' && s.named[0] == '\0')
		return -ENOENT;
	strcpy(ret, s.exact[0] ? s.exact : s.named);
	return 0;
}

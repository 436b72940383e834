// SPDX-License-Identifier: Apache-2.0
/* Finds the cgroup of a record in the tree alone. */
#include "agent/restore/restore_one.h"
#include "cgroup/kubepods.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static bool is_folder(int root, const char *path, ino_t *ret)
{
	struct stat st;

	if (path[0] == '\0' || fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISDIR(st.st_mode))
		return false;
	*ret = st.st_ino;
	return true;
}

/* The pod's UID, and whether the record is that of a container. -EINVAL: of no pod. */
static int pod_uid(const struct baseline *b, char *ret, size_t size, bool *ret_container)
{
	size_t prefix = strlen(BASELINE_POD_PREFIX), length;
	const char *uid = b->key + prefix;

	if (strncmp(b->key, BASELINE_POD_PREFIX, prefix) != 0)
		return -EINVAL;
	length = strcspn(uid, "/");
	if (length == 0 || length >= size)
		return -EINVAL;
	memcpy(ret, uid, length);
	ret[length] = '\0';
	*ret_container = uid[length] == '/';
	return 0;
}

/* Does the pod still have a cgroup: above the container's old one, or at any place it can be? */
static bool pod_runs(const struct restore *r, const struct baseline *b, const char *uid,
		     bool container)
{
	char path[CGROUP_PATH_MAX];
	ino_t inode;
	char *slash;

	snprintf(path, sizeof(path), "%s", b->cgroup != NULL ? b->cgroup : "");
	slash = strrchr(path, '/');
	if (container && slash != NULL)
		*slash = '\0';
	if (is_folder(r->root, path, &inode))
		return true;
	return kubepods_find_pod(r->root, "", uid, path, sizeof(path)) == 0;
}

static void locate_pod(const struct restore *r, struct restore_target *t)
{
	const struct baseline *b = t->baseline;
	bool container = false;
	char uid[KUBEPODS_UID_MAX];
	ino_t inode = 0;

	t->unit = b->unit;
	/* The path of a container has its id, and the inode shows that it is the same cgroup. */
	if (b->cgroup != NULL && strlen(b->cgroup) < sizeof(t->path) &&
	    is_folder(r->root, b->cgroup, &inode) &&
	    (b->cgroup_inode == 0 || b->cgroup_inode == inode)) {
		strcpy(t->path, b->cgroup);
		return;
	}
	if (pod_uid(b, uid, sizeof(uid), &container) < 0 || !pod_runs(r, b, uid, container))
		t->missing = RESTORE_POD_GONE;
	else
		t->missing = RESTORE_RESTARTED;
}

void restore_locate(const struct restore *r, const struct baseline *b, struct restore_target *ret)
{
	*ret = (struct restore_target){
		.baseline = b,
		.name = restore_shown_name(b),
		.unit = restore_unit_name(b),
	};
	if (ret->unit == NULL) {
		locate_pod(r, ret);
	} else if (cgroup_find(r->root, ret->unit, b->cgroup_inode, ret->path) < 0) {
		ret->path[0] = '\0';
		ret->missing = RESTORE_STOPPED;
	}
	for (const char *c = ret->path; *c; c++)
		ret->depth += *c == '/';
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What this host supports: cgroup version, mount, controllers, what is missing on the way to a
 * cgroup. libcgroup is never asked to create or delete: it writes subtree_control of trees that
 * systemd owns. */
#pragma once

#include "cgroup/parse.h"

#define CG_MOUNT_BYTES 256
/* The oldest kernel that a machine of the tests runs. */
#define CG_KERNEL_OLDEST "5.10"

enum cg_mode {
	CG_MODE_NONE,    /* no cgroup file system, or the given root is none */
	CG_MODE_V1,      /* version 1 only */
	CG_MODE_HYBRID,  /* version 2 is mounted, but cpu or memory belong to version 1 */
	CG_MODE_UNIFIED, /* version 2: the only mode that can be managed */
	CG_MODE_COUNT
};

struct cg_host {
	enum cg_mode mode;
	char mount[CG_MOUNT_BYTES]; /* root of the version 2 tree, "" when there is none */
	uint32_t available;         /* enum cg_controller: cgroup.controllers of the root */
	uint32_t enabled;           /* the root's cgroup.subtree_control */
	bool psi;                   /* the root's cpu.pressure and memory.pressure can be read */
	bool writable;              /* this process may write there */
	bool kernel_old;            /* older than CG_KERNEL_OLDEST */
	char kernel[65];            /* its release */
};

/* Fills *ret. root NULL: the host's own mount; else the tree to use, which must be cgroup2 unless
 * trust is set (test trees). A host that cannot be managed is no error but a mode.
 * -ENOENT and others: root cannot be opened; -ENAMETOOLONG. -EMFILE, -EAGAIN, -ENOMEM: no child
 * can be made that asks for the host's mounts; -EIO: it was killed. */
int cg_discover(const char *root, bool trust, struct cg_host *ret);

/* The files, and lines of files, that newer kernels have and this one does not show in a cgroup:
 * "memory.peak, memory.stat:kernel". */
void cg_lacks(int dir, char *ret, size_t size);

/* "none", "v1", "hybrid", "unified". */
const char *cg_mode_name(enum cg_mode m);

/* folder: "/" or "/a.slice", borrowed; missing: enum cg_controller bits. */
typedef void (*cg_gap_fn)(void *ctx, const char *folder, uint32_t missing);

/* Calls fn for each folder from the root to the parent of path whose cgroup.subtree_control lacks
 * some of need: that is where a controller has to be enabled for path to have its files. Returns
 * the number of such folders or -errno. */
int cg_gaps(int root_dirfd, const char *path, uint32_t need, cg_gap_fn fn, void *ctx);

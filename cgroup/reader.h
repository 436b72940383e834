/* SPDX-License-Identifier: Apache-2.0 */
/* The text reader: counters and limits of one cgroup on up to 12 kept descriptors, 6 more for a
 * second level. A struct cg holds the folder, not its path: reads of a removed and remade cgroup
 * say -ENODEV. */
#pragma once

#include "policy/types/usage.h"

struct cg;

/* Opens the cgroup at path below root_dirfd. Leading slashes are skipped, "" and "/" are the root
 * itself. -EINVAL: a "." or ".." or an empty name inside; -ELOOP or -ENOTDIR: a symbolic link on
 * the way; -ENOENT: no such cgroup. Files are opened at their first read. */
int cg_open(int root_dirfd, const char *path, struct cg **ret);
/* Closes and frees; NULL is fine. */
void cg_close(struct cg *c);
static inline void drop_cg(struct cg **c)
{
	cg_close(*c);
}

/* Inode of the folder: the kernel's cgroup id, never used twice while the system is up. */
uint64_t cg_id(const struct cg *c);
/* 1: path still leads to this cgroup, 0: to another one, -ENOENT: to none. */
int cg_same(const struct cg *c, int root_dirfd, const char *path);
/* True only when path certainly leads to another cgroup or none: lack of memory does not count. */
bool cg_replaced(const struct cg *c, int root_dirfd, const char *path);
/* The folder, borrowed. */
int cg_dirfd(const struct cg *c);

/* Reads the files behind want (enum usage_have). In ret->have are the bits that could be filled: a
 * file that the kernel does not show (controller off, pressure off), or without a needed line, only
 * leaves its bit out, and a limit without a file reads as "max". -ENODEV: the cgroup is gone;
 * -EBADMSG: a file is not what it should be; else -errno. *ret is written on success only. */
int cg_read(struct cg *c, uint32_t want, struct usage *ret);

/* The same without the second level (levels.h): what systemd and the kubelet know of. */
int cg_read_outer(struct cg *c, uint32_t want, struct usage *ret);

/* Descriptor of memory.events, borrowed, armed by a read: wait for EPOLLPRI | EPOLLERR, then read
 * USAGE_MEM_EVENTS, which arms it again. Any cg_read() of these events takes a pending wake-up with
 * it: compare the counters after each. A removed cgroup wakes too. -ENOENT: no memory controller.
 *
 * It stays valid until cg_close(). After a failed read (the controller was switched off) the kernel
 * has removed it from every epoll set: once reads have USAGE_MEM_EVENTS again, remove the event
 * source from its loop and add it again. */
int cg_events_fd(struct cg *c);

/* What a container may use beside its limits: CPUs, processes, swap. `cpuset.cpus` is empty unless
 * the static CPU manager names CPUs, for all containers; crun names them at the second level alone
 * (levels.h). */

/* Is `cpuset.cpus` of either level set? -ENOENT: no cpuset controller here; else -errno. */
int cg_has_cpus(struct cg *c, bool *ret);

/* Processes and threads of the container, `pids.current`. Errors as above. */
int cg_count_threads(struct cg *c, uint32_t *ret);

/* Is `memory.swap.max` above 0? Errors as above. */
int cg_may_swap(struct cg *c, bool *ret);

/* How many CPUs it may run on: `cpuset.cpus.effective` of the innermost level. Errors as above. */
int cg_count_cpus(struct cg *c, uint32_t *ret);

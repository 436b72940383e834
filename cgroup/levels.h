/* SPDX-License-Identifier: Apache-2.0 */
/* The second level of a container: crun with the systemd cgroup driver runs the processes in
 * `<scope>/container`, because the scope belongs to PID 1. Measured under containerd:
 *
 * 	                 crun 1.8.1 (Debian 12)     crun 1.21 (Debian 13)
 * 	scope            cpu.weight; no limits      limits, as properties: CPU rounded up to 1 %
 * 	scope/container  all limits                 all limits
 * 	crun update      writes scope/container     writes both
 * 	daemon-reload    rewrites nothing of it     rewrites the scope from its properties
 *
 * crun 1.21 makes a CPUQuota of 1 % for the scope of a quota of -1 ("no limit").
 *
 * For all other code such a container is one cgroup, the scope:
 *
 *  - A limit is the lower one of both levels.
 *  - A write raises the scope first, and lowers it last. A level that holds "max" keeps it; if both
 * do, the inner level gets the value. A raise leaves alone a scope that holds more (PID 1's
 * headroom).
 *  - With equal quotas either level may throttle, depending on whose period began first: of each
 * two reads the larger increase of the two levels is added up. All other counters are hierarchical.
 *
 * Only a scope with the name of a container has a second level, and only a folder with `cpu.max` or
 * `memory.max` is one: crun enables the controllers late, and any process with a writable cgroup
 * can make a folder. An inner level that is gone while the scope has processes is dropped; without
 * processes the container has ended. */
#pragma once

#include "cgroup/reader.h"

#define CG_LEVEL_NAME "container"

/* What is read of both levels. */
#define CG_LEVEL_USAGE (USAGE_THROTTLE | USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

/* True only when it certainly has no processes, nor has a cgroup in it: lack of descriptors does
 * not count. */
bool cg_is_empty(const struct cg *c);

/* Checks whether a second level has appeared, has got further limit files, or is gone. 1: one of
 * these has happened since the last check (or cg_open()); 0: nothing new; -ENODEV: the container
 * has ended; else -errno. */
int cg_levels_check(struct cg *c);

/* Is a check due without an event? Limit files are missing, or the inner level was dropped. */
bool cg_levels_due(const struct cg *c);

/* The inner level was found gone. 0: dropped; -ENODEV: so is the container. */
int cg_levels_drop(struct cg *c);

/* The kernel's id of the second level; 0: there is none. */
uint64_t cg_inner_id(const struct cg *c);

/* Adds what was read of the inner level (bits of CG_LEVEL_USAGE) to what was read of the scope. */
void cg_levels_merge(struct cg *c, const struct usage *inner, struct usage *u);

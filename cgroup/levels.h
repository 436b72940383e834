/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The second level of a container: crun with the systemd cgroup driver runs the processes in a
 * child of the scope, `<scope>/container`, because the scope itself belongs to PID 1. Measured
 *under containerd with SystemdCgroup = true:
 *
 *	                 crun 1.8.1 (Debian 12)     crun 1.21 (Debian 13)
 *	scope            cpu.weight; no limits      limits, as properties: CPU rounded up to 1 %
 *	scope/container  all limits                 all limits
 *	crun update      writes scope/container     writes both
 *	daemon-reload    rewrites nothing of it     rewrites the scope from its properties
 *
 * crun 1.21 makes a CPUQuota of 1 % for the scope of a quota of -1 ("no limit"); without a quota in
 * the spec the scope has none.
 *
 * With the cgroupfs driver there is no second level, and runc never makes one.
 *
 * For all other code such a container is one cgroup, the scope, and struct cg has the second level
 * in it:
 *
 *  - A limit is the lower one of both levels; "max" at one level leaves the other's.
 *  - A write raises the scope first and then the inner level, and lowers in the opposite order. A
 *    level that holds "max" keeps it; if both do, the inner level gets the value. A raise leaves
 *    alone a scope that holds more than asked for (headroom that PID 1 wrote).
 *  - Throttling is counted where it happens, and with equal quotas that may be either level,
 *    depending on whose period began first (measured: 31 of 31 periods at the scope, 4 at the inner
 *    level). Of each two reads the larger increase of the two levels is added up.
 *  - All else is hierarchical: the scope's cpu time, memory.current, memory.stat, memory.events and
 *    pressure include the inner level's.
 *
 * Only a scope with the name of a container has a second level, and only a folder with `cpu.max` or
 * `memory.max` is one: crun makes the folder first and enables the controllers later, and any
 * process with a writable cgroup can make a folder. A limit file that the inner level lacks is no
 * limit.
 *
 * An inner level that is gone while the scope has processes is dropped, and the scope is all there
 * is. Without processes the container has ended: reads and writes say that the cgroup is gone.
 */
#pragma once

#include "cgroup/reader.h"

#define CG_LEVEL_NAME "container"

/* What is read of both levels. */
#define CG_LEVEL_USAGE (USAGE_THROTTLE | USAGE_CPU_LIMIT | USAGE_MEM_LIMIT)

/* Checks whether a second level has appeared, has got further limit files, or is gone. 1: one of
 * these has happened since the last check (or cg_open()); 0: nothing new; -ENODEV: the container
 * has ended; else -errno. */
int cg_levels_check(struct cg *c);

/* Is a check due without an event? Limit files are still missing, or the inner level was dropped.
 */
bool cg_levels_due(const struct cg *c);

/* For the layer itself: the inner level was found gone. 0: dropped; -ENODEV: so is the container.
 */
int cg_levels_drop(struct cg *c);

/* The kernel's id of the second level; 0: there is none. */
uint64_t cg_inner_id(const struct cg *c);

/* Adds what was read of the inner level (bits of CG_LEVEL_USAGE) to what was read of the scope. */
void cg_levels_merge(struct cg *c, const struct usage *inner, struct usage *u);

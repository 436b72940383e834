/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writers that are stuck in the kernel.
 *
 * Whoever writes a memory.max below the use waits in the kernel until the use has sunk or somebody
 * was killed for it. A raise by somebody else in that moment saves the group from the kill, and the
 * writer then goes round for ever: it compares the use with the value it wrote itself (Linux 6.12,
 * memory_max_write(); measured in the lab: `oom` in memory.events rises by 300,000 a second,
 * oom_kill does not). PID 1 gets there by a reload while a unit outgrows what it stores, and a node
 * whose PID 1 is stuck is lost. A signal ends the wait, and freezing a cgroup sends one to each of
 * its processes, PID 1 too, which takes no others.
 */
#pragma once

#include "cgroup/reader.h"

/* `oom` of memory.events.local: how often the kernel looked for somebody to kill in this very
 * group. -errno. */
int cg_oom_looks(struct cg *c, uint64_t *ret);

/* Freezes and thaws PID 1's cgroup, init.scope, at once. root: the cgroup mount. -ENOENT: this is
 * no systemd host; else -errno. */
int cg_nudge_pid1(int root);

/* Thaws it where a nudge was cut short. At the start. */
void cg_thaw_pid1(int root);

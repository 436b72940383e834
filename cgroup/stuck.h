/* SPDX-License-Identifier: Apache-2.0 */
/* Writers that are stuck in the kernel.
 *
 * A process that writes a memory.max below use waits in the kernel until use has fallen or a
 * process was OOM-killed. When another writer raises the limit in that moment, the first one loops
 * for ever: it compares use with the value that it wrote itself (Linux 6.12, memory_max_write();
 * measured: `oom` in memory.events rises by 300,000 a second). This happens to PID 1 at a reload,
 * and a node whose PID 1 is stuck is lost. A signal ends the wait. Freezing a cgroup sends one to
 * each of its processes, also to PID 1, which takes no others. */
#pragma once

#include "cgroup/reader.h"

/* `oom` of memory.events.local: how often the kernel searched this very group for a process to
 * kill. -errno. */
int cg_oom_events(struct cg *c, uint64_t *ret);
/* The same with those of all groups below it. */
int cg_oom_events_all(struct cg *c, uint64_t *ret);

/* Freezes and thaws PID 1's cgroup, init.scope. -ENOENT: this is no systemd host; else -errno. */
int cg_nudge_pid1(int root);

/* Thaws it where a nudge was cut short. At the start. */
void cg_thaw_pid1(int root);

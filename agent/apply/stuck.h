/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of memory.max that is blocked in the kernel. */
#pragma once

struct managed;

/* Releases PID 1 where it is stuck in a write of memory.max. Called at every wake-up by
 * memory.events. */
void stuck_check(struct managed *m);
/* A new cgroup has new counters. */
void stuck_forget(struct managed *m);

/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of memory.max that is blocked in the kernel. */
#pragma once

struct managed;

/* Releases a PID 1 stuck in a write of memory.max. At every wake-up by memory.events. */
void stuck_check(struct managed *m);
/* A new cgroup has new counters. */
void stuck_forget(struct managed *m);

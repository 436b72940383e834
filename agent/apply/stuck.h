/* SPDX-License-Identifier: Apache-2.0 */
/* A writer of memory.max that is blocked in the kernel. */
#pragma once

struct managed;

/* Sets PID 1 free where it is stuck in a write of memory.max. At every wake-up by memory.events. */
void stuck_check(struct managed *m);
/* A new cgroup counts from anew. */
void stuck_forget(struct managed *m);

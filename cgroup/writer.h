/* SPDX-License-Identifier: Apache-2.0 */
/* The limit writer: one change of a plan, written to the kernel in place.
 *
 * A write is a blocking one: without swap O_NONBLOCK on memory.max only postpones the kill, and
 * kernels before 6.16 ignore it. Nothing is read back, because the kernel stores a quota exactly
 * and rounds memory in one known way, which is done here before comparing and writing. */
#pragma once

#include "cgroup/reader.h"

/* memory.reclaim is asked in pieces, so that one write returns in milliseconds ... */
#define CG_RECLAIM_STEP_BYTES (16 * MIB)
/* ... and a call ends after this much. To take back more, call again after the next read. */
#define CG_RECLAIM_CALL_BYTES (64 * MIB)

/*
 * Applies ch (its target is ignored), to both levels of a container that has two (levels.h).
 * Returns an enum apply_outcome or -errno:
 *
 * APPLY_DONE       the kernel holds the value; for memory.reclaim: min(to, CG_RECLAIM_CALL_BYTES)
 *                  were taken back.
 * APPLY_UNCHANGED  the kernel held it already: nothing was written. ch->from is ignored.
 * APPLY_REFUSED    memory.max is to go below what the kernel holds, and memory.current, read just
 *                  before, plus margin_bytes does not fit: nothing was written.
 * APPLY_PARTIAL    memory.reclaim got less than asked.
 * APPLY_GONE       the cgroup is removed.
 * -EOPNOTSUPP      the cgroup is there, its file is not: controller off, or an older kernel.
 * -EINVAL          a value the kernel would not take: quota below 1 ms, period outside 1 ms..1 s.
 *
 * KNOB_CPU_MAX with period_usec 0 keeps the period. A quota below the present burst lowers the
 * burst to the quota first, as the kernel demands, and puts it back should the quota then fail.
 */
int cg_write(struct cg *c, const struct change *ch);

/* What the kernel makes of a limit: whole pages, and "max" for what no page counter holds. */
uint64_t cg_mem_kept(uint64_t bytes);
/* memory.max := bytes whatever is in use: the kernel reclaims, then kills. */
int cg_force_mem_max(struct cg *c, uint64_t bytes);

/* Writers that are stuck in the kernel.
 *
 * A process that writes a memory.max below use waits in the kernel until use has fallen or a
 * process was OOM-killed. When another writer raises the limit in that moment, the first one loops
 * for ever: it compares use with the value that it wrote itself (Linux 6.12, memory_max_write();
 * measured: `oom` in memory.events rises by 300,000 a second). This happens to PID 1 at a reload,
 * and a node whose PID 1 is stuck is lost. A signal ends the wait. Freezing a cgroup sends one to
 * each of its processes, also to PID 1, which takes no others. */

/* `oom` of memory.events.local: how often the kernel searched this very group for a process to
 * kill. -errno. */
int cg_oom_events(struct cg *c, uint64_t *ret);
/* The same with those of all groups below it. */
int cg_oom_events_all(struct cg *c, uint64_t *ret);

/* Freezes and thaws PID 1's cgroup, init.scope. -ENOENT: this is no systemd host; else -errno. */
int cg_nudge_pid1(int root);

/* Thaws it where a nudge was cut short. At the start. */
void cg_thaw_pid1(int root);

/* SPDX-License-Identifier: Apache-2.0 */
/* OOM kills: for whose limit, which limit stood, and the peak of use before it. */
#pragma once

#include <stdint.h>

struct managed;
struct unit_table;
struct usage;

/* Of all cgroups above units, so that a later kill is not told as one for a limit that was full
 * before. Those of units are looked at with each event (apply.c). */
void oom_look_above(const struct unit_table *t);
/* memory.max of m, or of the pod level above it, was found at `seen`: recorded where that is less
 * than the held limit. To be called before it is corrected. */
void oom_lowered(struct managed *m, const struct managed *at, uint64_t seen);
/* Before a new kill is observed: for whose limit it was, the limit that stands, and the newest
 * peak, into u. */
void oom_check(struct managed *m, struct usage *u);
/* Before a kill whose cgroup is gone is reported. */
void oom_check_gone(struct managed *m);

/* SPDX-License-Identifier: Apache-2.0 */
/* OOM kills: which limit stood, and the peak of use before it. */
#pragma once

#include <stdint.h>

struct managed;
struct usage;

/* memory.max of m, or of the pod level above it, was found at `seen`: recorded where that is less
 * than the held limit. To be called before it is corrected. */
void oom_lowered(struct managed *m, const struct managed *at, uint64_t seen);
/* Before a new kill is observed: the limit that stands, and the newest peak, into u. */
void oom_check(struct managed *m, struct usage *u);

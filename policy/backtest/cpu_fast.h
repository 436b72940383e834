/* SPDX-License-Identifier: Apache-2.0 */
/*
 * K8s-CPU-Fast of Autothrottle's evaluation: every second the limit becomes twice the highest use
 * of 20 s, unless use is near half of it. Kubernetes' own tolerance; the target share of the limit
 * is the middle of those tried there.
 */
#pragma once

#include <stdint.h>

struct cpu_fast {
	uint64_t wanted_milli[20]; /* of the last 20 s */
	uint32_t next;
};

/* Nothing goes below this limit before 20 s have passed. */
void cpu_fast_init(struct cpu_fast *c, uint64_t limit_milli);
/* Every second: the new limit; 0: it stays. */
uint64_t cpu_fast_act(struct cpu_fast *c, uint64_t used_milli, uint64_t limit_milli);

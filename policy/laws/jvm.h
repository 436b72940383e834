/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap ceiling of a Java virtual machine, read from its options. A JVM fixes the ceiling when
 * it starts and fills it before it collects: below it, a memory limit leads to an OOM kill later.
 *
 * The last -Xmx or -XX:MaxHeapSize counts, and either of them overrides MaxRAMPercentage, in any
 * order (HotSpot, Arguments::set_heap_size). Values that the JVM would refuse are ignored.
 */
#pragma once

#include "policy/base/base.h"

struct jvm_heap {
	uint64_t bytes;    /* -Xmx, -XX:MaxHeapSize; 0: not given */
	uint32_t permille; /* -XX:MaxRAMPercentage, of the memory limit; 0: not given */
};

/* Adds the options in one argument or variable to *h. Quotes only separate words.
 */
void jvm_options(struct jvm_heap *h, const char *text);

/*
 * The floor of the memory limit: the heap and what a JVM needs besides. limit_bytes: the limit that
 * the JVM saw when it started. The floor may be above it, which is no reason for a raise: the JVM
 * ran with it. 0: no floor, also for a percentage alone with LIMIT_MAX: the heap is a share of the
 * whole node.
 */
uint64_t jvm_floor(const struct jvm_heap *h, uint64_t limit_bytes);

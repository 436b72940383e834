/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap ceiling of a Java virtual machine, read from its options. A JVM fixes the ceiling when
 * it starts and fills it before it collects: a memory limit that shrinks below it kills later.
 *
 * The last -Xmx or -XX:MaxHeapSize counts, and any of them makes MaxRAMPercentage void, wherever
 * it stands (HotSpot, Arguments::set_heap_size). What the JVM would refuse is passed over.
 */
#pragma once

#include "policy/base/base.h"

struct jvm_heap {
	uint64_t bytes;    /* -Xmx, -XX:MaxHeapSize; 0: not given */
	uint32_t permille; /* -XX:MaxRAMPercentage, of the memory limit; 0: not given */
};

/* The words of one argument or variable on top of what *h holds. Quotes only keep a word together.
 */
void jvm_options(struct jvm_heap *h, const char *text);

/*
 * What the memory limit must not sink below, by the limit that the JVM saw when it started: the
 * heap and what a JVM needs besides. May be above that limit: no reason to raise it, it ran with
 * it. 0: no floor. With a percentage alone and LIMIT_MAX there is none either: the heap is a share
 * of the whole node.
 */
uint64_t jvm_floor(const struct jvm_heap *h, uint64_t limit_bytes);

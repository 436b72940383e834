/* SPDX-License-Identifier: Apache-2.0 */
/* Go (1.25) and the JVM set the number of their threads by the CPU limit, rounded up to whole
 * cores, and read it again now and then. A limit that goes to and fro across a whole core makes
 * them start and stop threads, so for containers of these runtimes it crosses one at most once an
 * hour, unless the container is throttled. */
#pragma once

#include "policy/laws/heap.h"

#define WHOLE_CORE_EVERY_USEC USEC_PER_HOUR

/* Is it a container to which this applies? As far as its heap settings tell. */
bool whole_core_matters(const struct heap_ceiling *heap);
/* Do the runtimes see another number of cores? LIMIT_MAX: no limit. */
bool whole_core_crossed(uint64_t from_milli, uint64_t to_milli);
/* The nearest to to_milli that keeps the number of cores, unless the last crossing is long enough
 * ago. crossed_at 0: never. */
uint64_t whole_core_keep(uint64_t limit_milli, uint64_t to_milli, usec_t crossed_at, usec_t now);

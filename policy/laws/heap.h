/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory ceiling that a language runtime took from its options when it started. A runtime fills
 * its heap up to the ceiling before it collects: a memory limit below it leads to an OOM kill
 * later. Values that the runtime would refuse are ignored. Which option wins:
 *
 *	JVM	-Xmx, -XX:MaxHeapSize, the last one; either overrides -XX:MaxRAMPercentage in any
 *		order, and that -XX:MaxRAMFraction (HotSpot, Arguments::set_heap_size)
 *	Node.js	--max-old-space-size-percentage, else --max-old-space-size in MiB, the last one
 *	Go	GOMEMLIMIT: bytes, or with B, KiB, MiB, GiB, TiB (package runtime)
 *	.NET	GCHeapHardLimit, else GCHeapHardLimitPercent, both hexadecimal in the environment
 *		("Runtime configuration options for garbage collection")
 */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>

enum heap_runtime {
	HEAP_JVM,
	HEAP_NODE,
	HEAP_GO,
	HEAP_DOTNET,
	HEAP_RUNTIME_COUNT,
};
extern const char *const heap_runtime_names[HEAP_RUNTIME_COUNT];

struct heap_ceiling {
	enum heap_runtime runtime;
	uint64_t bytes;    /* 0: not given, or permille counts */
	uint32_t permille; /* of the memory limit at the start; 0: not given, or bytes count */
};

/* What the options of one container say so far. Zero: nothing. */
struct heap_options {
	struct {
		uint64_t bytes;
		uint32_t permille;
	} runtime[HEAP_RUNTIME_COUNT];
	uint32_t jvm_fraction_permille; /* 1000 / MaxRAMFraction */
	bool node_value_next;           /* the last word was --max-old-space-size */
};

/* Adds the options of a JVM and of Node.js in one argument or variable. Quotes and operators of a
 * shell only separate words. */
void heap_words(struct heap_options *h, const char *text);
/* The JVM's as a size, or in MiB, as start scripts of servers take it. */
void heap_jvm_size(struct heap_options *h, const char *value);
void heap_jvm_mib(struct heap_options *h, const char *value);
/* Values of GOMEMLIMIT, DOTNET_GCHeapHardLimit, DOTNET_GCHeapHardLimitPercent. */
void heap_go_limit(struct heap_options *h, const char *value);
void heap_dotnet_limit(struct heap_options *h, const char *value);
void heap_dotnet_percent(struct heap_options *h, const char *value);

/* The ceiling that asks for the highest limit. Bytes of one runtime count before a share of
 * another.
 */
struct heap_ceiling heap_highest(const struct heap_options *h);

/* The floor of the memory limit: the ceiling and what the runtime needs besides. limit_bytes: the
 * limit that the runtime saw when it started. The floor may be above it, but the runtime ran with
 * it: the caller uses the floor against decreases only. 0: no floor, also for a share alone with
 * LIMIT_MAX: it is a share of the whole node. */
uint64_t heap_floor(const struct heap_ceiling *h, uint64_t limit_bytes);

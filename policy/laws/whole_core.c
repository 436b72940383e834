// SPDX-License-Identifier: Apache-2.0
#include "policy/laws/whole_core.h"
#include "policy/types/limits.h"

#define CORE_MILLI 1000u

bool whole_core_matters(const struct heap_ceiling *heap)
{
	bool known = heap->bytes != 0 || heap->permille != 0;

	return known && (heap->runtime == HEAP_JVM || heap->runtime == HEAP_GO);
}

static uint64_t cores(uint64_t milli)
{
	return milli / CORE_MILLI + (milli % CORE_MILLI != 0);
}

bool whole_core_crossed(uint64_t from_milli, uint64_t to_milli)
{
	return cores(from_milli) != cores(to_milli);
}

uint64_t whole_core_keep(uint64_t limit_milli, uint64_t to_milli, usec_t crossed_at, usec_t now)
{
	uint64_t most = cores(limit_milli) * CORE_MILLI;

	if (limit_milli == 0 || limit_milli == LIMIT_MAX ||
	    !whole_core_crossed(limit_milli, to_milli) || crossed_at == 0 ||
	    now - crossed_at >= WHOLE_CORE_EVERY_USEC)
		return to_milli;
	return to_milli > limit_milli ? most : most - CORE_MILLI + CPU_QUANTUM_MILLI;
}

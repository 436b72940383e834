/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the spec that leads. */
#pragma once

#include "test/policy/report_rig.h"

/* use + margin: 10 %, at least 16 MiB. */
static inline uint64_t with_margin(uint64_t use)
{
	return round_up(use + MAX(use / 10, 16 * MIB), 4096);
}

static inline void grow(struct report_rig *g, uint64_t use, uint64_t slope)
{
	g->c[0].use_bytes = use;
	g->c[0].slope_bps = slope;
	g->c[0].growing = slope > 0;
	if (slope > 0)
		g->c[0].grew_at = g->now;
}

/* An external writer's memory limit, seen by the watch. Returns the changes. */
static inline uint32_t foreign(struct report_rig *g, uint64_t limit)
{
	rig_res(g, 0, MEM)->spec_limit = limit;
	g->f.generation++;
	return rig_observe(g);
}

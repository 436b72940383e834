// SPDX-License-Identifier: Apache-2.0
#include "policy/backtest/cpu_fast.h"
#include "policy/base/base.h"

#define TARGET_PERMILLE    500
#define TOLERANCE_PERMILLE 100

void cpu_fast_init(struct cpu_fast *c, uint64_t limit_milli)
{
	*c = (struct cpu_fast){0};
	for (size_t i = 0; i < ARRAY_SIZE(c->wanted_milli); i++)
		c->wanted_milli[i] = limit_milli;
}

uint64_t cpu_fast_act(struct cpu_fast *c, uint64_t used_milli, uint64_t limit_milli)
{
	uint64_t share = used_milli * 1000 / limit_milli, want = 0;

	c->wanted_milli[c->next] = used_milli * 1000 / TARGET_PERMILLE;
	c->next = (c->next + 1) % ARRAY_SIZE(c->wanted_milli);
	if (share * 1000 >= TARGET_PERMILLE * (1000 - TOLERANCE_PERMILLE) &&
	    share * 1000 <= TARGET_PERMILLE * (1000 + TOLERANCE_PERMILLE))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(c->wanted_milli); i++)
		want = MAX(want, c->wanted_milli[i]);
	return MAX(want, 1u);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/history/past.h"

void history_add_past(struct history *h, const struct tuning_history *t,
		      const struct past_series *cpu, const struct past_series *memory)
{
	for (size_t i = 0; i < cpu->count; i++) {
		uint64_t milli = (uint64_t)(cpu->samples[i].value * 1000 + 0.5);
		struct cpu_rates r = {
			.span_usec = cpu->step_usec,
			.active_usec = milli > 0 ? cpu->step_usec : 0,
			.used_milli = milli,
			.demand_milli = milli,
		};

		history_add_cpu(h, &r, cpu->samples[i].at_real);
	}
	for (size_t i = 0; i < memory->count; i++)
		history_add_memory(h, t, (uint64_t)memory->samples[i].value, false,
				   memory->samples[i].at_real);
}

// SPDX-License-Identifier: Apache-2.0
#include "policy/control/control_state.h"
#include "policy/base/arithmetic.h"

void control_set_target(struct control *c, uint32_t target)
{
	c->target = target;
}

void control_set_depth(struct control *c, uint32_t depth)
{
	c->depth = depth;
}

void control_set_page(struct control *c, uint64_t page_bytes)
{
	c->page_bytes = page_bytes;
}

void control_set_kernel(struct control *c, const struct limits *kernel)
{
	c->kernel = *kernel;
}

void control_set_kernel_memory(struct control *c, uint64_t mem_max, uint64_t mem_high)
{
	c->kernel.mem_max = mem_max;
	c->kernel.mem_high = mem_high;
}

void control_take_limits(struct control *c, const struct limits *kernel)
{
	struct control_resource *cpu = &c->resource[RESOURCE_CPU];
	struct control_resource *memory = &c->resource[RESOURCE_MEMORY];

	if (cpu->managed && kernel->cpu_quota_usec != LIMIT_MAX)
		cpu->limit = cpu_milli_of(kernel->cpu_quota_usec, kernel->cpu_period_usec);
	if (memory->managed && kernel->mem_max != LIMIT_MAX)
		memory->limit = kernel->mem_max;
}

void control_set_unclassified(struct control *c, uint64_t bytes)
{
	c->unclassified_bytes = bytes;
}

void control_set_paused(struct control *c, bool paused)
{
	c->paused = paused;
}

void control_freeze(struct control *c, uint32_t resources)
{
	c->frozen = resources;
}

void control_suspend(struct control *c, enum resource r)
{
	c->gave_way |= 1u << r;
}

void control_end_suspension(struct control *c)
{
	c->gave_way = 0;
}

void control_forget_start(struct control *c)
{
	c->started_at = 0;
}

void control_set_sized(struct control *c)
{
	c->initial_done = true;
}

void control_take_over(struct control *c, const struct limits *kernel)
{
	control_take_limits(c, kernel);
	c->grant_ended = false;
	control_set_sized(c);
}

void control_boost_resume(struct control *c, uint64_t base_milli)
{
	c->boost = (struct boost){.base_milli = base_milli, .written = true};
}

void control_boost_forget(struct control *c, usec_t now)
{
	boost_put_back(&c->boost, now);
}

void control_set_containers(struct control *c, uint32_t containers)
{
	c->containers = containers;
}

void control_set_past(struct control *c, const struct control_past *past)
{
	history_drop(&c->history);
	c->history = past->history;
	c->cpu.floor = past->cpu_floor;
	c->mem.floor = past->mem_floor;
	c->mem.backoff_usec = past->backoff_usec;
	c->mem.backoff_until = past->backoff_until;
}

void control_add_past(struct control *c, const struct tuning *t, const struct past_series *cpu,
		      const struct past_series *memory)
{
	history_add_past(&c->history, &t->history, cpu, memory);
	c->past_samples[RESOURCE_CPU] += (uint32_t)cpu->count;
	c->past_samples[RESOURCE_MEMORY] += (uint32_t)memory->count;
}

void control_await_facts(struct control *c, usec_t until)
{
	c->facts_until = until;
}

void control_set_prior(struct control *c, const struct prior *prior)
{
	c->prior = *prior;
	c->prior_known = true;
	/* A request does not wait from now on. */
	c->prior_new = prior->of.confidence_permille[RESOURCE_CPU] != 0 ||
		       prior->of.confidence_permille[RESOURCE_MEMORY] != 0;
}

void control_shift_original(struct control *c, enum resource r, uint64_t from, uint64_t to)
{
	struct control_resource *res = &c->resource[r];
	uint64_t sum = add_sat(res->original, to);

	res->original = sum - MIN(from, sum);
	if (r == RESOURCE_CPU)
		c->original.cpu_quota_usec =
			cpu_quota_exact(res->original, c->original.cpu_period_usec);
	else
		c->original.mem_max = res->original;
}

void control_set_decision(struct control *c, enum resource r, const struct decision *d)
{
	c->resource[r].pending = *d;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The rig of policy/backtest/ as tests set it up and disturb it. */
#pragma once

#include "policy/backtest/rig.h"
#include "test/check.h"

/* A load of about `milli`, all of it within every 100 ms. */
struct sim_load sim_steady(uint32_t threads, uint64_t milli);
/* Takes memory at once, as a large allocation does. */
void sim_allocate(struct sim *s, uint64_t bytes);
/* Its memory is to be this, at a rate in bytes per second. */
void sim_grow(struct sim *s, uint64_t rate, uint64_t goal);
/* A new cgroup with the same limits and load: counters and memory start at nothing. */
void sim_restart(struct sim *s);

/* One reading of a memory cgroup. */
struct usage rig_memory(uint64_t anon, uint64_t file, uint64_t max);

/* A number of the environment, as VSCALED_SEED. */
uint64_t rig_number_from(const char *name, uint64_t otherwise);

/* original: cpu in millicores of a 100 ms period, memory in bytes; LIMIT_MAX: none. */
void rig_init(struct rig *r, uint64_t cpu_milli, uint64_t mem_max, uint32_t cpus);
/* Its control begins anew, with these originals and no history. */
void rig_begin(struct rig *r, const struct limits *original);
/* A tick passes, without a look at what it brought. */
void rig_pass(struct rig *r);
void rig_tick(struct rig *r);
void rig_run(struct rig *r, usec_t span);

/* The kernel's reports that a quota is used, and how the answers go. */
struct rig_reports {
	uint64_t random;
	uint32_t late_permille; /* of the answers come 1 ms to late_most late, else at once */
	usec_t late_most;
	uint32_t stolen_permille; /* of the time no CPU runs the load, a few ms at a time */
	bool armed, stolen;
	usec_t answer_at, period_end;
	void (*each)(struct rig *r); /* after each millisecond; may be NULL */
};

/* Looks at what the kernel reports within the period. */
void rig_answer(struct rig *r);
/* A tick in which each throttle is reported, until one is not answered. */
void rig_tick_reported(struct rig *r, struct rig_reports *p);
/* Runs until the check holds; the time it took, or LIMIT_MAX after `most`. */
usec_t rig_until(struct rig *r, bool (*done)(const struct rig *r), usec_t most);
void rig_reassert(struct rig *r, enum resource res);
/* What a successor begins with, after rig_restart(). */
void rig_resume(struct rig *r);
void rig_adopt(struct rig *r, enum resource res);
void rig_restart(struct rig *r);
/* A day of history of `milli` and `bytes`, without running the day. */
void rig_fill_history(struct rig *r, uint64_t milli, uint64_t bytes, usec_t span);

static inline struct control_resource *cpu(struct rig *r)
{
	return &r->c.resource[RESOURCE_CPU];
}

static inline struct control_resource *mem(struct rig *r)
{
	return &r->c.resource[RESOURCE_MEMORY];
}

static inline bool traced(const struct control_resource *res, enum bound b)
{
	for (uint32_t i = 0; i < res->trace.count; i++)
		if (bound_trace_step(&res->trace, i).bound == b)
			return true;
	return false;
}

/* A test that is given a rig, for rig_init(). */
#define TEST_RIG(name)                                                                             \
	static void with_rig_##name(struct rig *r);                                                \
	TEST(name)                                                                                 \
	{                                                                                          \
		struct rig r;                                                                      \
		with_rig_##name(&r);                                                               \
	}                                                                                          \
	static void with_rig_##name(struct rig *r)

#define TEST_RIG_BOTH(name, parameter)                                                             \
	static void with_rig_##name(struct rig *r, bool parameter);                                \
	TEST_BOTH(name, parameter)                                                                 \
	{                                                                                          \
		struct rig r;                                                                      \
		with_rig_##name(&r, parameter);                                                    \
	}                                                                                          \
	static void with_rig_##name(struct rig *r, bool parameter)

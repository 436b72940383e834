/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One policy over one recorded series: the demand model gives what each period wants, the simulator
 * runs it against the limits, the policy sees the counters and changes the limits. Every policy
 * sees the same demand. No clock and no I/O; the caller steps block by block. Periods in which
 * nothing can change are run together, with the same result as one by one.
 *
 * Memory is anonymous memory that follows the samples. A killed container takes its memory back by
 * the next sample.
 */
#pragma once

#include "policy/backtest/backtest_policy.h"
#include "policy/backtest/rig.h"

/*
 * From coarse samples to what is wanted in each period of 100 ms. A declared model, integers and a
 * seed alone, so that a run is the same on every machine:
 *	a second	wants the sample times a factor of 0.7 to 1.3 (the sum of two equal dice)
 *	a period	gets its share of the second in pieces of at most 20 ms, thrown like coins
 * The mean is the sample; the sum of a period is at most what the CPUs can do in it.
 */

#define BACKTEST_PERIOD_USEC (100 * USEC_PER_MSEC)
#define BACKTEST_PERIODS     10 /* in a second */

struct backtest_demand {
	uint64_t random;
	uint32_t cpus;
	uint32_t factor_permille; /* of the running second */
	uint32_t period;          /* 0..9 within it */
	uint64_t micro_cores;     /* the load that the rest is of, in this second */
	uint64_t mean_usec;
	uint64_t throws, chance;
};

void backtest_demand_init(struct backtest_demand *d, uint32_t cpus, uint64_t seed);
/* Microseconds of CPU that the next period wants, of a load of so many millionths of a core. */
uint64_t backtest_demand_next(struct backtest_demand *d, uint64_t micro_cores);

#define BACKTEST_CPUS_MAX SIM_THREADS_MAX

struct backtest_sample {
	usec_t at;            /* of the series' own clock; it holds until the next one */
	uint64_t micro_cores; /* millionths of a core */
	uint64_t memory_bytes;
};

struct backtest_trace {
	const struct backtest_sample *samples;
	size_t count; /* >= 2, each later than the one before */
	bool memory;  /* the samples have it */
	uint32_t cpus;
	uint64_t seed;
};

/* Known only when all is over. */
struct backtest_oracle {
	uint64_t max_milli, p95_milli; /* of the demand of single periods */
	uint64_t max_bytes, p95_bytes; /* of memory over time; LIMIT_MAX: no memory in the series */
};

enum backtest_policy {
	BACKTEST_LATENCY, /* vscaled, by goal */
	BACKTEST_BALANCED,
	BACKTEST_SAVINGS,
	BACKTEST_VPA,
	BACKTEST_STATIC_MAX,
	BACKTEST_STATIC_P95,
	BACKTEST_CPU_FAST,
	BACKTEST_CAPTAIN,
	BACKTEST_THRESHOLD,
	BACKTEST_POLICY_COUNT
};

extern const char *const backtest_policy_names[BACKTEST_POLICY_COUNT];

/* The course of a run in so many equal parts, for a picture. */
#define BACKTEST_POINTS 400

struct backtest_point {
	uint32_t periods;
	uint32_t throttled;
	uint64_t demand_usec, demand_max_usec;  /* of CPU: of all periods, of one */
	uint64_t limit_milli;                   /* sum over the periods */
	uint64_t memory_max_bytes, limit_bytes; /* the highest use, the newest limit */
	uint64_t oom_kills;                     /* up to its end */
};

/* What a policy cost. core_usec: microseconds of a core. */
struct backtest_result {
	usec_t span_usec;
	uint64_t demand_core_usec; /* wanted */
	uint64_t used_core_usec;   /* run */
	uint64_t limit_core_usec;  /* area below the limit */
	uint64_t unmet_core_usec;  /* not run in the period that wanted it */
	int64_t given_core_usec;   /* area of the original request above the policy's */
	uint64_t periods;          /* in which something ran */
	uint64_t throttled_periods;
	uint64_t changes_cpu;
	uint64_t changed_milli; /* sum of the sizes of changes */
	double used_byte_sec, limit_byte_sec, given_byte_sec;
	uint64_t changes_memory;
	uint64_t changed_bytes;
	uint64_t oom_kills;
	uint64_t limit[RESOURCE_COUNT], request[RESOURCE_COUNT]; /* at the end */
	struct backtest_point point[BACKTEST_POINTS];
};

/* What the peers keep. */
struct backtest_peer {
	struct captain captain;
	struct backtest_vpa vpa;
	struct cpu_fast cpu_fast;
	usec_t above_since[RESOURCE_COUNT];
	uint64_t used_usec, throttled; /* at the last second */
	uint64_t period_used_usec;     /* at the last period */
};

struct backtest {
	const struct backtest_trace *trace;
	const struct backtest_oracle *oracle;
	enum backtest_policy policy;
	struct rig rig;
	struct backtest_demand demand;
	struct backtest_peer peer;
	struct backtest_result result;
	uint64_t request_milli, request_bytes;
	size_t next;   /* sample */
	uint64_t left; /* periods of the running one */
	uint64_t periods, periods_total;
	uint64_t waiting_usec; /* work that the last period left */
	bool skips_none;       /* for tests: every period by itself */
};

/* What the next periods want, made once for all policies. */
#define BACKTEST_BLOCK 65536

struct backtest_block {
	struct backtest_demand demand;
	size_t next;   /* sample; all 0 at the start */
	uint64_t left; /* periods of the running one */
	size_t count;
	uint32_t want_usec[BACKTEST_BLOCK];
};

/* -ENOMEM. */
int backtest_find_oracle(const struct backtest_trace *t, struct backtest_oracle *ret);
/* Begins with the oracle's highest as original limit and request. trace and oracle are borrowed; a
 * begun one is not moved and must be dropped. */
void backtest_begin(struct backtest *b, enum backtest_policy policy, const struct backtest_trace *t,
		    const struct backtest_oracle *o);
/* False: there are no more. */
bool backtest_block_next(struct backtest_block *k, const struct backtest_trace *t);
/* Runs these periods; the blocks of a trace follow each other. */
void backtest_run(struct backtest *b, const struct backtest_block *k);
void backtest_drop(struct backtest *b);

/* For the policies: a limit that the peer sets. A memory limit is not lowered below use. */
void backtest_set_cpu(struct backtest *b, uint64_t milli);
void backtest_set_memory(struct backtest *b, uint64_t bytes);
/* backtest_policy.c: at the start, and after each period. */
void backtest_policy_begin(struct backtest *b);
void backtest_policy_act(struct backtest *b);
/* After how many of the next periods the policy would do nothing, if no work is left in them; and
 * what it keeps of them. */
size_t backtest_policy_skips(const struct backtest *b, const uint32_t *want_usec, size_t count);
void backtest_policy_skip(struct backtest *b, const uint32_t *want_usec, size_t count);

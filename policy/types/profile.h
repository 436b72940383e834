/* SPDX-License-Identifier: Apache-2.0 */
/* What an operator may choose: modes, bounds, and every constant of the laws.
 * The defaults and their reasons stand in profile.c; agent/config/config.c maps keys to these
 * fields. Shares are in permille (1/1000) or ppm (1/1000000), spans in microseconds, memory in
 * bytes. */
#pragma once

#include "policy/types/limits.h"

enum mode {
	MODE_OFF,     /* compute and show, write nothing */
	MODE_INITIAL, /* size once when the container or unit starts */
	MODE_AUTO,    /* keep sizing */
	MODE_COUNT,
};

/* How much throttling a CPU limit may cause for being small (policy/laws/cpu_law.h). */
enum goal { GOAL_BALANCED, GOAL_SAVINGS, GOAL_LATENCY, GOAL_COUNT };

enum algorithm { ALGORITHM_DEFAULT, ALGORITHM_VPA, ALGORITHM_THRESHOLD, ALGORITHM_COUNT };

/* Set in an amount of memory that is a share of the whole, in permille. */
#define AMOUNT_SHARE (UINT64_C(1) << 63)

#define RESOURCES_CPU    (1u << RESOURCE_CPU)
#define RESOURCES_MEMORY (1u << RESOURCE_MEMORY)
#define RESOURCES_BOTH   (RESOURCES_CPU | RESOURCES_MEMORY)

/* User or administrator bounds; 0 = not set. */
struct range {
	uint64_t min;
	uint64_t max;
};

/* More CPU from the start until Ready and a time (boost.h). All 0: none. */
struct boost_rule {
	uint32_t factor;    /* 1..100, or 0 and ... */
	uint64_t add_milli; /* ... this much on top */
	usec_t after_usec;  /* Ready */
};

/* How one container or unit is to be treated. */
struct policy_rule {
	enum mode mode;
	enum goal goal;
	uint32_t priority;  /* of a unit: a higher one gets memory first */
	uint32_t resources; /* RESOURCES_*: whose limit is sized ... */
	uint32_t requests;  /* ... and of which the request alone is (RequestsOnly) */
	bool scale_down;
	bool freeze; /* what is held stays; only memory that use would fill is raised */
	/* In place of the configuration's and the goal's; 0: not set. */
	uint32_t cpu_percentile_permille; /* of CPU use for the target, of demand for the limit */
	uint32_t mem_margin_permille;     /* on top of the memory recommendation */
	struct range cpu_milli;
	struct range mem_bytes;
	struct boost_rule boost;
};

struct tuning_history {
	enum algorithm algorithm;
	usec_t half_life_usec;
	usec_t confidence_usec; /* history that makes the confidence 1 */
	uint32_t lower_permille;
	uint32_t target_permille;
	uint32_t upper_permille;
	uint32_t peak_permille;   /* CPU peak: percentile of the demand per active period */
	uint32_t margin_permille; /* on top of every percentile */
	usec_t mem_window_usec;   /* one memory peak is kept per window */
};

struct tuning_cpu {
	uint32_t throttle_target_ppm; /* theta of goal balanced */
	uint32_t step_max_permille;   /* a raise multiplies by at most this */
	uint32_t evidence_permille;   /* a raise goes at most to (used + throttled) x this */
	usec_t raise_interval_usec;
	usec_t recent_usec;             /* the demand is watched for so long before a shrink */
	uint32_t shrink_below_permille; /* candidate must be below this share of the limit */
	uint32_t shrink_step_permille;  /* a shrink keeps at least this share */
	usec_t shrink_interval_usec;
	uint32_t verdict_periods;
	usec_t floor_half_life_usec; /* a failed shrink's floor decays with this */
	usec_t regret_usec; /* throttled this soon after a shrink that had passed: a floor all the
			       same */
};

/* A request alone moves when it is at least this far from the recommended one: less is not worth a
 * resize. */
#define REQUEST_APART_PERMILLE 100

struct tuning_memory {
	uint64_t page_bytes;             /* of the node */
	usec_t time_to_limit_usec;       /* act when the limit would be reached sooner */
	usec_t slope_ahead_usec;         /* a raise covers this much growth */
	uint32_t raise_permille;         /* and is at least this factor */
	uint32_t ceiling_permille;       /* without max-memory: times the original */
	usec_t property_ahead_usec;      /* growth covered in a value handed to a slow writer */
	uint32_t property_room_permille; /* and this above use at least, or property_room_min_bytes
					  */
	uint64_t property_room_min_bytes;
	uint32_t gap_permille; /* memory.high below memory.max by max(this, gap_min_bytes) */
	uint64_t gap_min_bytes;
	uint32_t oom_permille; /* record at an OOM kill: max(use x this, use + oom_min_bytes) */
	uint64_t oom_min_bytes;
	uint32_t margin_permille; /* never shrink below use + max(this, margin_min_bytes) */
	uint64_t margin_min_bytes;
	uint32_t working_set_permille;
	usec_t shrink_history_usec; /* no shrink before this much history */
	usec_t shrink_quiet_usec;   /* no shrink within this time of growth */
	uint32_t shrink_step_permille;
	usec_t shrink_interval_usec;
	usec_t high_watch_usec; /* memory.high leads memory.max by this */
	usec_t verdict_usec;
	uint32_t psi_ppm;          /* undo when memory pressure rises by more */
	usec_t backoff_first_usec; /* wait after the first failed shrink; doubled each time */
	usec_t backoff_max_usec;
	uint32_t refault_ps;     /* pages a second coming back that count at all */
	uint32_t cache_psi_ppm;  /* page cache is short: this much stall and refault_ps ... */
	usec_t cache_after_usec; /* ... for this long */
	uint32_t cache_ceiling_permille; /* of the original: page cache raises no further */
	usec_t settle_usec; /* growth over for this long: headroom in the file is taken back */
};

/* Start-up of a container (policy/laws/boost.h). */
struct tuning_startup {
	usec_t ready_usec;    /* it ends this long after Ready */
	usec_t unprobed_usec; /* without a probe: this long after the start */
};

struct tuning_common {
	usec_t start_quiet_usec; /* nothing shrinks this soon after a start */
	uint32_t deadband_up_permille;
	uint32_t deadband_down_permille;
	uint32_t foreign_max; /* external writes in foreign_window_usec before it is suspended */
	usec_t foreign_window_usec;
};

/* The node's memory, of which growth is granted. */
struct tuning_node {
	bool count;                /* false: growth is not held against it */
	uint32_t reserve_permille; /* of all memory, never granted */
	uint64_t reserve_min_bytes;
	uint64_t eviction; /* the kubelet evicts below this: bytes, or AMOUNT_SHARE | permille of
			      all memory */
};

/* algorithm threshold (threshold.h). */
struct tuning_threshold {
	uint32_t above_permille;   /* of the limit */
	uint32_t factor_permille;  /* of the limit: the next one */
	uint32_t ceiling_permille; /* of the original: no limit above */
	usec_t for_usec;           /* so long above it */
};

struct tuning {
	struct tuning_history history;
	struct tuning_cpu cpu;
	struct tuning_memory memory;
	struct tuning_startup startup;
	struct tuning_threshold threshold;
	struct tuning_common common;
	struct tuning_node node;
};

/* The documented defaults. */
extern const struct tuning tuning_default;
extern const struct policy_rule policy_rule_default;

bool policy_rule_equal(const struct policy_rule *a, const struct policy_rule *b);

/* "Off", "Initial", "Auto"; "balanced", "savings", "latency"; a NULL after the last one. */
extern const char *const mode_names[MODE_COUNT + 1];
extern const char *const goal_names[GOAL_COUNT + 1];
/* "?" for any other value. */
const char *mode_name(enum mode m);

/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state as its clients see it. Borrowed for one call; a NULL string is "not known".
 * Amounts are millicores or bytes; LIMIT_MAX: no limit, VIEW_NONE: not known or not set. */
#pragma once

#include "agent/view/view_pod.h"
#include "policy/types/bounds.h"
#include "policy/types/profile.h"
#include "policy/types/reason.h"

#define VIEW_NONE (UINT64_MAX - 1)

enum unit_kind { UNIT_KIND_UNIT, UNIT_KIND_POD, UNIT_KIND_CONTAINER, UNIT_KIND_COUNT };

enum unit_state {
	UNIT_MANAGED,   /* values are kept the right size */
	UNIT_PAUSED,    /* by vscalectl pause */
	UNIT_FROZEN,    /* an annotation is invalid: limits stay */
	UNIT_WAITING,   /* named in the configuration, not running */
	UNIT_GAVE_WAY,  /* suspended: an external writer keeps changing the limit */
	UNIT_RESTORED,  /* put back by vscalectl restore, left alone until resumed */
	UNIT_UNMANAGED, /* see state_reason */
	UNIT_STATE_COUNT,
};

extern const char *const unit_kind_names[UNIT_KIND_COUNT];
extern const char *const unit_state_names[UNIT_STATE_COUNT];

struct decision_view {
	usec_t at_realtime_usec; /* 0: there was none */
	uint64_t from;
	uint64_t to;
	enum reason reason;
	const char *detail; /* the numbers behind it, "throttled 43 % of the last second" */
};

/* A shrink trial; phase NULL: none runs. */
struct trial_view {
	const char *phase;
	uint64_t candidate;
	usec_t ends_in_usec;
};

/* A startup boost; limit VIEW_NONE: none runs. */
struct boost_view {
	bool lent;             /* the boost is written to the cgroup; false: only shown */
	uint64_t limit;        /* at least, while it lasts */
	uint64_t base;         /* the limit after the boost */
	usec_t ready_for_usec; /* it ends when it has been Ready for this long ... */
	uint64_t ends_in_usec; /* ... which is then; VIEW_NONE: it is not Ready */
};

struct counter_view {
	uint64_t raises;
	uint64_t lowers;
	uint64_t undos;     /* shrink trials that restored the former limit */
	uint64_t drifts;    /* values of external writers that vscaled replaced by its own */
	uint64_t foreign;   /* drifts whose writer is not known, in the current window */
	uint64_t oom_kills; /* memory */
};

struct resource_view {
	bool controlled;
	uint64_t original; /* before vscaled came */
	uint64_t limit;    /* the held limit */
	uint64_t kernel;   /* the limit in the cgroup */
	uint64_t floor;
	uint64_t ceiling;
	uint64_t lower;
	uint64_t target;
	uint64_t upper;
	uint64_t peak;
	uint32_t confidence_permille;
	uint32_t trust_permille; /* how far below the original a limit may be lowered */
	uint64_t samples;
	usec_t history_usec;
	uint64_t prior_pods;   /* of the workload on other nodes whose needs count; 0: none */
	uint64_t prior_target; /* millicores, bytes */
	uint64_t past_samples; /* of the history: from Prometheus, since the daemon's start */
	uint64_t use;
	uint64_t use_p50;
	uint64_t use_p90;
	uint64_t use_p95;
	uint64_t use_p99;
	uint64_t use_max;
	uint64_t throttled_permille; /* CPU: of the last window's periods */
	uint64_t psi_some_ppm;       /* over the last 10 s */
	uint64_t psi_full_ppm;
	uint64_t psi_others_ppm; /* CPU: the least part of some that is not due to its own limit */
	uint64_t unreclaimable_bytes; /* memory, as the next two */
	uint64_t working_set_bytes;
	int64_t slope_bytes_per_sec;
	uint64_t candidate;          /* the desired limit, before the bounds */
	struct bound_trace bounds;   /* those that changed it */
	enum blocked_reason blocked; /* why no change is made now */
	usec_t next_change_in_usec;  /* VIEW_NONE: no time can be named */
	struct decision_view last;
	struct trial_view trial;
	struct boost_view boost; /* CPU */
	/* CPU, of a container that starts; VIEW_NONE: it does not. */
	uint64_t startup_ends_in_usec; /* at the latest */
	uint64_t startup_ready_usec; /* when it has been Ready for this long; VIEW_NONE: by time */
	const char *denied; /* why the node denied memory, in words; NULL: it did not recently */
	struct counter_view counters;
};

struct unit_view {
	const char *name; /* a unit's, or NAMESPACE/POD/CONTAINER, or NAMESPACE/POD */
	const char *cgroup;
	enum unit_kind kind;
	const struct pod_view *pod; /* NULL: a unit */
	enum mode mode;
	const char *mode_text; /* as managed_mode_name() */
	enum unit_state state;
	const char *state_reason;
	struct resource_view resources[RESOURCE_COUNT];
};

struct status_view {
	const char *version;
	uint32_t pid;
	usec_t uptime_usec;
	const char *operation; /* standalone, kubernetes */
	struct cluster_view cluster;
	uint32_t managed_count;
	bool paused;             /* everything */
	const char *unsupported; /* static: why nothing on this node can be managed */
	const char *config_path;
	const char *config_result; /* of the last load: ok, or what is wrong */
	usec_t config_loaded_realtime_usec;
	const char *state_directory;
	const char *state_result; /* of the last save */
	usec_t state_saved_realtime_usec;
	bool bus_connected;
	const char *cgroup_mount;
	const char *controllers; /* names with blanks between */
	bool psi;
	const char *kernel; /* its release */
	bool kernel_old;    /* than any that is tested */
	uint64_t wakeups;
	usec_t loop_lag_max_usec;
	usec_t loop_lag_mean_usec;
	usec_t scan_usec; /* the last sample of all cgroups */
	usec_t look_usec; /* the last reflex pass */
	uint64_t writes;  /* to limit files */
	uint64_t write_failures;
	const char *reader;        /* bpf, text */
	const char *reader_detail; /* which programs serve, or why none does */
	uint64_t rss_bytes;
	usec_t cpu_usec;
};

/* A view in which nothing is known yet: every amount VIEW_NONE. */
void unit_view_init(struct unit_view *v);

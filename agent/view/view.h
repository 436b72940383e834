/* SPDX-License-Identifier: Apache-2.0 */
/* The daemon's state as its clients see it. Borrowed for one call; a NULL string is "not known".
 * Amounts are millicores or bytes; LIMIT_MAX: no limit, VIEW_NONE: not known or not set. */
#pragma once

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

/* --- of a cluster: the API server, and a container's pod and namespace */

/* The API server as seen from this node. */
struct cluster_view {
	const char *server; /* NULL: operation is standalone, and nothing else counts */
	const char *node;
	const char *cgroup_driver; /* systemd, cgroupfs */
	bool synced;               /* the list of pods was complete once */
	bool healthy;              /* and the last request or event was good */
	const char *trouble;       /* in words, while it is not */
	usec_t last_event_realtime_usec;
	bool resize_offered; /* pods/resize exists and vscaled may use it */
	uint64_t pod_count;  /* those with an annotation of ours */
	uint64_t writes_waiting;
	uint64_t refused_count; /* pods with a refusal that still holds */
	uint64_t requests;      /* since the start */
	uint64_t failures;
};

/* Where the report of a container's pod to the API server stands. */
enum report_view_state {
	REPORT_VIEW_NONE,     /* nothing to report: the spec has what the cgroup has */
	REPORT_VIEW_LEASE,    /* the cgroup has a value that has not held for long enough */
	REPORT_VIEW_WAITING,  /* to be sent: its turn, the end of growth, the server */
	REPORT_VIEW_SENT,     /* the kubelet has not carried it out yet */
	REPORT_VIEW_DEFERRED, /* the kubelet waits for room */
	REPORT_VIEW_REFUSED,
	REPORT_VIEW_CGROUP_ONLY, /* the API server does not accept such a value: it stays in the
				    cgroup */
	REPORT_VIEW_STATE_COUNT,
};
extern const char *const report_view_state_names[REPORT_VIEW_STATE_COUNT];

struct report_view {
	enum report_view_state state;
	const char *detail;        /* in words: what it waits for, what was refused */
	usec_t sent_realtime_usec; /* the last one; 0: none yet */
};

/* One resource, beside struct resource_view. */
struct pod_resource_view {
	uint64_t request;
	const char *request_stays; /* borrowed: why vscaled does not move it; NULL: it may */
	uint64_t spec_limit;
	uint64_t ratified; /* the limit of vscaled that the API server accepted last */
	uint64_t admin_min;
	uint64_t admin_max;
	uint64_t range_min; /* LimitRange */
	uint64_t range_max;
	uint64_t ratio_permille;
	struct range request_range; /* what all of these and the owner allow; 0: not set */
	uint64_t refused;           /* the API server accepts no more than this ... */
	uint64_t refused_for_usec;
	const char *restart; /* memory, RestartContainer: "never", "allowed"; NULL: it takes none */
	uint64_t unratified_max; /* memory: growth ends here while the server cannot accept more */
	uint64_t above_spec;     /* memory: in use above the limit of the spec */
	uint64_t ahead_usec; /* memory: the time of growth that a limit covers when it is sent, if
				that is less than usual */
};

struct annotation_view {
	const char *key; /* without vscaled.dev/ */
	const char *value;
	const char *
		source; /* "pods[0], FILE:LINE", "namespace shop"; NULL: the pod's own annotation */
};

/* What happened to it in the last day, or since vscaled watches it; of a container. */
struct recent_view {
	usec_t counted_usec; /* for so long in all; 0: nothing is known */
	uint64_t throttled_permille;
	uint64_t oom_kills;
	uint64_t undos;
};

struct pod_view {
	const char *namespace;
	const char *pod;
	const char *container; /* NULL: the pod itself */
	const char *uid;
	const char *workload;
	const char *owner; /* the kind that it names; NULL: none */
	const char *qos_class;
	const char *controlled_values;
	bool ready;
	uint32_t restarts;
	const char *condition;    /* of a resize: "PodResizePending Deferred: ..." */
	const char *heap_runtime; /* "JVM"; NULL: none is known */
	uint64_t heap_bytes;
	uint64_t heap_permille;
	const char *annotation_error;
	const char *rollout;      /* in words: what the annotation makes of it; NULL: it has none */
	const char *rollout_part; /* likewise, one of rollout_part_names */
	uint32_t rollout_percent;
	struct recent_view recent;
	const struct annotation_view *annotations; /* those in force */
	size_t annotation_count;
	struct report_view report;
	struct pod_resource_view resources[RESOURCE_COUNT];
};

/* --- the unit, the daemon */

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
void pod_view_init(struct pod_view *v);

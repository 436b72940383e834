/* SPDX-License-Identifier: Apache-2.0 */
/* The part of view.h for a cluster: the API server, and a container's pod and namespace. */
#pragma once

#include "policy/types/profile.h"

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
	uint32_t pod_count;  /* those with an annotation of ours */
	uint32_t writes_waiting;
	uint32_t refused_count; /* pods with a refusal that still holds */
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

/* A view in which nothing is known yet: every amount VIEW_NONE. */
void pod_view_init(struct pod_view *v);

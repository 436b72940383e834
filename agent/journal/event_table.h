/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events and what belongs to each: one row, one MESSAGE_ID per kind. */
#pragma once

#include <stdint.h>
#include <systemd/sd-id128.h>

/* In the order of the tables in event_table.c, docs/journal.md and systemd/vscaled.catalog. */
enum event_kind {
	EVENT_STARTED,
	EVENT_READY,
	EVENT_STOPPING,
	EVENT_CONFIG_LOADED,
	EVENT_CONFIG_INVALID,
	EVENT_HOST_UNSUPPORTED,
	EVENT_NODE_UNSUPPORTED,
	EVENT_KERNEL_OLD,   /* detail: its release */
	EVENT_KERNEL_LACKS, /* detail: files and lines */
	EVENT_PSI_MISSING,
	EVENT_INOTIFY_MISSING,
	EVENT_READER_CHOSEN, /* detail: "bpf (scan: loaded, ...)", "text (why)" */
	EVENT_READER_FAILED, /* it was configured, or in use until now */
	EVENT_NODE_MEMORY_UNREAD,
	EVENT_UNIT_MANAGED,
	EVENT_UNIT_GONE,
	EVENT_UNIT_UNMANAGED,
	EVENT_CGROUP_RELEASED,     /* who: as it was taken; detail: whose it is */
	EVENT_ORIGINALS_RECOVERED, /* detail: the annotation */
	EVENT_ORIGINALS_UNKNOWN,   /* detail: why */
	EVENT_ANNOTATION_INVALID,  /* who: the pod; detail: the annotation, what is allowed */
	EVENT_LIMIT_RAISED,
	EVENT_LIMIT_LOWERED,
	EVENT_LIMIT_UNDONE,
	EVENT_LIMIT_REFUSED, /* from stays, to was not written */
	EVENT_LIMIT_FAILED,
	EVENT_CEILING_REACHED, /* to: the ceiling */
	EVENT_MEMORY_DENIED,   /* from: what the node has memory for; to: what it asked for */
	EVENT_OOM_KILL,
	EVENT_WRITER_STUCK,     /* from: memory.max now; error: PID 1 could not be woken */
	EVENT_DRIFT_REASSERTED, /* from: the external writer's value; to: the held limit */
	EVENT_DRIFT_ADOPTED,    /* from: the held limit; to: the external writer's value */
	EVENT_DRIFT_GAVE_WAY,   /* likewise */
	EVENT_PROPERTY_FAILED,
	EVENT_PROPERTY_HEADROOM, /* from: in the cgroup; to: what systemd stores */
	EVENT_REPORT_RATIFIED,   /* who: the pod; count: the generation of its spec */
	EVENT_REPORT_REFUSED,    /* from: in the cgroup; detail: what the API server said */
	EVENT_MEMORY_ABOVE_SPEC, /* from: what the spec allows; to: what is in use; detail: why */
	EVENT_MEMORY_CONTESTED,
	EVENT_POD_EVICTED, /* who: the pod; detail: why */
	EVENT_EVICTION_REFUSED,
	EVENT_ROLLOUT_STOPPED, /* who: a sized pod; detail: the workload, the share, why */
	EVENT_API_INSECURE,    /* file: the kubeconfig */
	EVENT_API_LOST,
	EVENT_API_BACK, /* count: annotated pods */
	EVENT_NAMESPACES_DENIED,
	EVENT_LIST_DENIED, /* detail: what, and what follows */
	EVENT_EVICTIONS_DENIED,
	EVENT_OBSERVATION_FULL, /* count: the most containers */
	EVENT_DESCRIPTORS_LOW,  /* count: the most descriptors */
	EVENT_API_REFUSES,
	EVENT_API_OBJECT_BAD,
	EVENT_NODE_NAME_WRONG, /* detail: the name */
	EVENT_BUS_ABSENT,
	EVENT_BUS_LOST,
	EVENT_BUS_BACK,
	EVENT_FILE_REMOVED, /* file: the lock or the control socket; detail: what follows */
	EVENT_STATE_UNSAVED,
	EVENT_STATE_DAMAGED,
	EVENT_BASELINE_UNSAVED,
	EVENT_CLOCK_JUMPED,
	EVENT_RESTORED,
	EVENT_RESTORE_LEFT, /* from stays; to: the original */
	EVENT_PAUSED,       /* who empty: everything */
	EVENT_RESUMED,      /* likewise */
	EVENT_SLOW_LOOP,
	EVENT_PAST_ADDED,  /* detail: how many samples, of which time */
	EVENT_PAST_FAILED, /* file: the server */
	EVENT_KIND_COUNT,
};

/* What an event may carry; each is one journal field. */
enum event_value {
	VALUE_NAMESPACE,
	VALUE_POD,
	VALUE_CONTAINER,
	VALUE_UNIT,
	VALUE_CGROUP,
	VALUE_RESOURCE,
	VALUE_FROM,
	VALUE_TO,
	VALUE_REASON,
	VALUE_BY,
	VALUE_MODE,
	VALUE_FILE,
	VALUE_COUNT_OF, /* how many, of what the message says */
	VALUE_SPAN,
	VALUE_OWN, /* of it, since the wake-up */
	VALUE_ERROR,
	VALUE_DETAIL,
	VALUE_VERSION,
	VALUE_HINT,
	VALUE_OUTCOME,
	VALUE_REPEATED, /* the same event, held back since the last one shown */
	EVENT_VALUE_COUNT,
};

struct event_value_info {
	const char *field; /* in the journal */
	const char *key;   /* in logfmt and JSON, and in a message between braces */
};
extern const struct event_value_info event_values[EVENT_VALUE_COUNT];

struct event_info {
	const char *name;
	sd_id128_t id;
	int priority;    /* syslog's */
	uint32_t fields; /* bit per event_value: those it may carry */
	uint32_t burst;  /* shown per subject in 10 minutes, the rest is counted; 0: all */
	/* {key} is a value as people read it, {who} the unit or container, {why} the detail or else
	 * the reason in words; a part in brackets is left out when a value in it is missing. */
	const char *message;
};
extern const struct event_info event_table[EVENT_KIND_COUNT];

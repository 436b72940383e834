/* SPDX-License-Identifier: Apache-2.0 */
/* The events that vscaled logs (event_table.h): one function per kind, with the struct of its
 * family. Strings are borrowed; NULL or zero means "not known" unless stated otherwise. */
#pragma once

#include "agent/journal/event_log.h"
#include "policy/types/limits.h"
#include "policy/types/reason.h"

/* Who an event is about: a unit, or a container of a pod. */
struct event_who {
	const char *namespace;
	const char *pod;
	const char *container;
	const char *unit;
	const char *cgroup; /* path below the mount */
};

/* A limit. Amounts are millicores or bytes; LIMIT_MAX = none. */
struct change_event {
	struct event_who who;
	enum resource resource;
	uint64_t from;
	uint64_t to;
	enum reason reason; /* REASON_NONE: not said */
	const char
		*detail; /* the numbers: "throttled 43 % of the last second"; NULL: reason_text */
	const char *by;  /* drift: who wrote, "systemd", "another writer" */
	int error;       /* -errno */
	/* A raise: time until it was in the file, and vscaled's own part; 0: not measured. */
	usec_t span_usec;
	usec_t own_usec;
};

void event_limit_raised(const struct change_event *e);
void event_limit_lowered(const struct change_event *e);
void event_limit_undone(const struct change_event *e);
/* from stays, to was not written. */
void event_limit_refused(const struct change_event *e);
void event_limit_failed(const struct change_event *e);
/* to = the ceiling. */
void event_ceiling_reached(const struct change_event *e);
/* from = the limit that the node has memory for, to = what it asked for; detail: the figures. */
void event_memory_denied(const struct change_event *e);
/* from = the external writer's value, to = the held limit. */
void event_drift_reasserted(const struct change_event *e);
/* from = the held limit, to = the external writer's value. */
void event_drift_adopted(const struct change_event *e);
void event_drift_gave_way(const struct change_event *e);
/* from = in the cgroup; detail: what the API server said. */
void event_report_refused(const struct change_event *e);
/* from = what the spec allows, to = what is in use; detail: why the spec does not say more. */
void event_memory_above_spec(const struct change_event *e);
/* from = in the cgroup, to = what systemd stores. */
void event_property_headroom(const struct change_event *e);
void event_restored(const struct change_event *e);
/* from stays, to = the original. */
void event_restore_left(const struct change_event *e);

/* A unit or container as a whole. */
struct unit_event {
	struct event_who who;
	const char *mode;   /* managed: "Auto" */
	const char *detail; /* managed: its original limits in words; unmanaged: why; oom-kill: that
			       an external writer had lowered the limit, NULL: none had */
	const char *file;   /* baseline-unsaved: what could not be written */
	const char *by;     /* paused, resumed: who asked */
	uint64_t limit_bytes; /* oom-kill: memory.max at the kill, the pod's if that was full */
	uint64_t count;       /* oom-kill: kills since the last event */
	usec_t span_usec;     /* property-failed: how long it took */
	int error;            /* -errno */
};

/* detail: how many samples, of which time. */
void event_past_added(const struct unit_event *e);
void event_unit_managed(const struct unit_event *e);
void event_unit_gone(const struct unit_event *e);
void event_unit_unmanaged(const struct unit_event *e);
/* detail: the annotation; why they are not known. */
void event_originals_recovered(const struct unit_event *e);
void event_originals_unknown(const struct unit_event *e);
/* who and cgroup: as it was taken; detail: the container that it belongs to. */
void event_cgroup_released(const struct unit_event *e);
/* who: the pod; detail: the annotation and what is allowed. */
void event_annotation_invalid(const struct unit_event *e);
/* who: the pod; count: the generation of its spec. */
void event_report_ratified(const struct unit_event *e);
void event_memory_contested(const struct unit_event *e);
/* who: the pod; detail: why, in words. */
void event_pod_evicted(const struct unit_event *e);
void event_eviction_refused(const struct unit_event *e);
/* who: a sized pod of the workload; detail: its name, the share, and why. */
void event_rollout_stopped(const struct unit_event *e);
void event_oom_kill(const struct unit_event *e);
/* limit_bytes: memory.max now; error: PID 1 could not be woken. */
void event_writer_stuck(const struct unit_event *e);
void event_property_failed(const struct unit_event *e);
void event_baseline_unsaved(const struct unit_event *e);
/* who empty: everything. */
void event_paused(const struct unit_event *e);
void event_resumed(const struct unit_event *e);

/* Events of the daemon and its host. */
struct daemon_event {
	const char *version; /* started */
	const char *file;    /* started, config-*, state-* */
	const char *cgroup;  /* started: the mount */
	const char *detail;  /* stopping: the signal; config-invalid: "file:line: text";
			      * config-loaded: keys that are read at the start only;
			      * host-unsupported: what is wrong; state-damaged: how;
			      * slow-loop: at what */
	const char *hint;    /* host-unsupported, node-unsupported: how to fix it */
	bool kept;           /* config-invalid: the last good one stays; else the start failed */
	uint64_t count;      /* ready: units; config-loaded: entries */
	int64_t span_usec;   /* clock-jumped (either sign), slow-loop, bus-back: how long */
	int error;           /* -errno */
};

void event_started(const struct daemon_event *e);
void event_ready(const struct daemon_event *e);
void event_stopping(const struct daemon_event *e);
void event_config_loaded(const struct daemon_event *e);
void event_config_invalid(const struct daemon_event *e);
void event_host_unsupported(const struct daemon_event *e);
void event_node_unsupported(const struct daemon_event *e);
void event_psi_missing(const struct daemon_event *e);
void event_inotify_missing(const struct daemon_event *e);
void event_node_memory_unread(const struct daemon_event *e);
/* detail: "bpf (scan: loaded, ...)", "text (why)". */
void event_reader_chosen(const struct daemon_event *e);
/* The BPF reader was configured, or in use until now; detail: why it failed. */
void event_reader_failed(const struct daemon_event *e);
/* file: the kubeconfig. */
void event_api_insecure(const struct daemon_event *e);
void event_api_lost(const struct daemon_event *e);
/* count: annotated pods. */
void event_api_back(const struct daemon_event *e);
void event_api_refuses(const struct daemon_event *e);
void event_namespaces_denied(const struct daemon_event *e);
/* count: the most containers. */
void event_observation_full(const struct daemon_event *e);
void event_evictions_denied(const struct daemon_event *e);
void event_api_object_bad(const struct daemon_event *e);
/* detail: the name. */
void event_node_name_wrong(const struct daemon_event *e);
void event_bus_absent(const struct daemon_event *e);
void event_bus_lost(const struct daemon_event *e);
void event_bus_back(const struct daemon_event *e);
/* file: the lock or the control socket; detail: what follows. */
void event_file_removed(const struct daemon_event *e);
void event_state_unsaved(const struct daemon_event *e);
/* file: the server; detail: what is wrong. */
void event_past_failed(const struct daemon_event *e);
void event_state_damaged(const struct daemon_event *e);
void event_clock_jumped(const struct daemon_event *e);
void event_slow_loop(const struct daemon_event *e);

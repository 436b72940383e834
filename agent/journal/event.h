/* SPDX-License-Identifier: Apache-2.0 */
/* The events that vscaled logs (event_table.h): one function and struct for each family of
 * kinds. Strings are borrowed; NULL or zero means "not known" unless stated otherwise. */
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
void event_change(enum event_kind kind, const struct change_event *e);

/* A unit or container as a whole. */
struct unit_event {
	struct event_who who;
	const char *mode;   /* managed: as managed_mode_name() */
	const char *detail; /* managed: its original limits in words; unmanaged: why; oom-kill: that
			       an external writer had lowered the limit, NULL: none had */
	const char *file;   /* baseline-unsaved: what could not be written */
	const char *by;     /* paused, resumed: who asked */
	uint64_t limit_bytes; /* oom-kill: memory.max at the kill, of the cgroup that was full; 0:
			       not known */
	uint64_t count;       /* oom-kill: kills since the last event */
	usec_t span_usec;     /* property-failed: how long it took */
	int error;            /* -errno */
};
void event_unit(enum event_kind kind, const struct unit_event *e);

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
void event_daemon(enum event_kind kind, const struct daemon_event *e);

/* SPDX-License-Identifier: Apache-2.0 */
/* What vscaled logs: one struct and one call for every kind of event_list.h. */
#pragma once

#include "agent/journal/event_log.h"
#include "policy/types/limits.h"
#include "policy/types/reason.h"

/* Who an event is about: a unit, a pod or a container of it. */
struct event_who {
	const char *namespace;
	const char *pod;
	const char *container;
	const char *unit;
	const char *cgroup; /* path below the mount; started: the mount */
};

/* Strings are borrowed; NULL or zero means "not known" unless stated otherwise. What the kind's row
 * does not list is left out. */
struct event {
	struct event_who who;
	/* A limit in millicores or bytes; LIMIT_MAX: none. Zero is an amount where the kind has a
	 * resource, else from is memory.max at the event (oom-kill, writer-stuck). */
	enum resource resource;
	uint64_t from;
	uint64_t to;
	enum reason reason; /* REASON_NONE: not said */
	const char *detail; /* for {why}, before the reason's text; see enum event_kind */
	const char *by;     /* drift: who wrote; paused, resumed: who asked */
	const char *mode;   /* managed: as managed_mode_name() */
	const char *file;
	const char *version;
	const char *hint;  /* how to fix it */
	bool kept;         /* config-invalid: the last good one stays; else the start failed */
	uint64_t count;    /* of what the message says */
	int64_t span_usec; /* how long; a raise: until it was in the file. Either sign */
	usec_t own_usec;   /* vscaled's own part of it */
	int error;         /* -errno */
};
void event_write(enum event_kind kind, const struct event *e);
/* event_tell(EVENT_BUS_LOST, .error = r) */
#define event_tell(kind, ...) event_write(kind, &(struct event){__VA_ARGS__})

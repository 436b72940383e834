/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events and what belongs to each: one row, one MESSAGE_ID per kind. */
#pragma once

#include <stdint.h>
#include <systemd/sd-id128.h>

enum event_kind {
#define EVENT(kind, ...) EVENT_##kind,
#include "agent/journal/event_list.h"
#undef EVENT
	EVENT_KIND_COUNT
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

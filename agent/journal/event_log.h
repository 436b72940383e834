/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of events, each a row with one MESSAGE_ID; and how they are written: to the native
 * journal, as one line each to stderr, or to a recorder in tests. */
#pragma once

#include "policy/base/base.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-id128.h>

/* --- the table */

enum event_kind {
#define EVENT(kind, ...) EVENT_##kind,
#include "agent/journal/event_list.h"
#undef EVENT
	EVENT_KIND_COUNT
};

/* clang-format off */
/* What an event may carry: VALUE_..., its field in the journal, its key in logfmt and JSON, and in a
 * message between braces. */
#define EVENT_VALUES(V)                                                                            \
	V(NAMESPACE, "VSCALED_NAMESPACE", "namespace")                                             \
	V(POD,       "VSCALED_POD",       "pod")                                                   \
	V(CONTAINER, "VSCALED_CONTAINER", "container")                                             \
	V(UNIT,      "VSCALED_UNIT",      "unit")                                                  \
	V(CGROUP,    "VSCALED_CGROUP",    "cgroup")                                                \
	V(RESOURCE,  "VSCALED_RESOURCE",  "resource")                                              \
	V(FROM,      "VSCALED_FROM",      "from")                                                  \
	V(TO,        "VSCALED_TO",        "to")                                                    \
	V(REASON,    "VSCALED_REASON",    "reason")                                                \
	V(BY,        "VSCALED_BY",        "by")                                                    \
	V(MODE,      "VSCALED_MODE",      "mode")                                                  \
	V(FILE,      "VSCALED_FILE",      "file")                                                  \
	V(COUNT_OF,  "VSCALED_COUNT",     "count")   /* of what the message says */                \
	V(SPAN,      "VSCALED_SPAN_USEC", "span")                                                  \
	V(OWN,       "VSCALED_OWN_USEC",  "own")     /* of it, since the wake-up */                \
	V(ERROR,     "ERRNO",             "error")                                                 \
	V(DETAIL,    "VSCALED_DETAIL",    "detail")                                                \
	V(VERSION,   "VSCALED_VERSION",   "version")                                               \
	V(HINT,      "VSCALED_HINT",      "hint")                                                  \
	V(OUTCOME,   "VSCALED_OUTCOME",   "outcome")                                               \
	V(REPEATED,  "VSCALED_REPEATED",  "repeated") /* the same event, held back until this one */
/* clang-format on */

enum event_value {
#define V(value, field, key) VALUE_##value,
	EVENT_VALUES(V)
#undef V
		EVENT_VALUE_COUNT,
};

struct event_value_info {
	const char *field;
	const char *key;
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

/* --- the log */

#define EVENT_MESSAGE_SIZE 1024
#define EVENT_LINE_SIZE    8192

/* One value twice: exact for fields, readable for messages. exact NULL: there is none. */
struct event_pair {
	const char *exact;
	const char *human; /* NULL: as exact */
};

/* Everything one event says; strings are borrowed. */
struct event_record {
	enum event_kind kind;
	struct event_pair values[EVENT_VALUE_COUNT];
	const char *why; /* what {why} stands for, or NULL */
};

/* One line without control characters, cut to the size. */
void event_text_message(const struct event_record *e, size_t size, char *ret);
enum event_target {
	EVENT_TARGET_AUTO, /* the journal where its socket answers, and stderr unless that is the
			    * journal */
	EVENT_TARGET_JOURNAL,
	EVENT_TARGET_STDERR,
};

enum event_format {
	EVENT_FORMAT_LOGFMT,
	EVENT_FORMAT_JSON
}; /* of stderr; the journal has fields */

/* A line with its line break. real_usec: since 1970. -ENOBUFS: too long. */
int event_text_line(const struct event_record *e, enum event_format format, usec_t real_usec,
		    size_t size, char *ret);

struct event_log_options {
	enum event_target target;
	enum event_format format;
	const char *journal_socket; /* NULL: /run/systemd/journal/socket */
};

/* Limits repeated events: a number per key and window is shown, the others are counted, and their
 * count goes with the next one that is shown. Zero: nothing seen. */
#define EVENT_LIMIT_SLOTS  128
#define EVENT_LIMIT_WINDOW (10 * USEC_PER_MIN)

struct event_limit_slot {
	uint64_t key; /* 0: free */
	usec_t began;
	uint32_t shown;
	uint32_t held;
};

struct event_limit {
	struct event_limit_slot slots[EVENT_LIMIT_SLOTS];
};

/* True: show it; *ret_held were held back before it. burst 0: always shown. If all slots are taken,
 * the one that began longest ago is reused. */
bool event_limit_pass(struct event_limit *l, uint64_t key, uint32_t burst, usec_t now,
		      uint32_t *ret_held);

struct event_log {
	bool journal;
	bool lines;
	bool prefix; /* the journal reads our stderr: begin lines with "<priority>" */
	enum event_format format;
	int fd; /* of lines */
	usec_t boot_usec, real_usec;
	struct event_limit limit;
	/* Called for every event that is shown, before any backend. */
	void (*record)(void *ctx, const struct event_record *e, const char *message);
	void *record_ctx;
};

/* Probes the journal, because sd_journal_send() succeeds without one. target JOURNAL without a
 * journal: -ENOTCONN, and the log writes to stderr. */
int event_log_open(struct event_log *l, const struct event_log_options *o);
/* All events go here from now on; NULL: logfmt on stderr, the state before the first call. */
void event_log_use(struct event_log *l);
/* Once per wake-up: sets the time of its events. */
void event_log_time(struct event_log *l, usec_t boot_usec, usec_t real_usec);

/* SPDX-License-Identifier: Apache-2.0 */
/* An event as text: the message, a logfmt line, a JSON line. Pure: values in, text out. */
#pragma once

#include "agent/journal/event_table.h"
#include "policy/base/base.h"
#include <stddef.h>

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
/* A line with its line break. real_usec: since 1970. -ENOBUFS: too long. */
int event_text_logfmt(const struct event_record *e, usec_t real_usec, size_t size, char *ret);
int event_text_json(const struct event_record *e, usec_t real_usec, size_t size, char *ret);

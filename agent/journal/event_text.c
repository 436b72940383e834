// SPDX-License-Identifier: Apache-2.0
#include "agent/journal/event_text.h"
#include "agent/base/escape.h"
#include "agent/base/time_text.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>

#define WHO_SIZE 512

/* Text that grows in a given buffer, always terminated; what does not fit is marked. */
struct text {
	char *start;
	size_t size;
	size_t used;
	bool cut;
};

static struct text text_in(char *buf, size_t size)
{
	buf[0] = '\0';
	return (struct text){.start = buf, .size = size};
}

static void add_bytes(struct text *t, const char *s, size_t n)
{
	if (n > t->size - 1 - t->used) {
		n = t->size - 1 - t->used;
		t->cut = true;
	}
	memcpy(t->start + t->used, s, n);
	t->used += n;
	t->start[t->used] = '\0';
}

static void event_text_add(struct text *t, const char *s)
{
	add_bytes(t, s, strlen(s));
}

static const char *human_of(const struct event_record *e, enum event_value v)
{
	const struct event_pair *p = &e->values[v];

	return p->human ? p->human : p->exact;
}

/* "ns/pod/container", else the unit, else the cgroup; NULL: the event is about none. */
static const char *who_of(const struct event_record *e, char buf[static WHO_SIZE])
{
	const struct event_pair *v = e->values;

	if (v[VALUE_POD].exact) {
		snprintf(buf, WHO_SIZE, "%s/%s%s%s",
			 v[VALUE_NAMESPACE].exact ? v[VALUE_NAMESPACE].exact : "?",
			 v[VALUE_POD].exact, v[VALUE_CONTAINER].exact ? "/" : "",
			 v[VALUE_CONTAINER].exact ? v[VALUE_CONTAINER].exact : "");
		return buf;
	}
	return v[VALUE_UNIT].exact ? v[VALUE_UNIT].exact : v[VALUE_CGROUP].exact;
}

static const char *placeholder(const struct event_record *e, const char *name, size_t len,
			       char buf[static WHO_SIZE])
{
	if (len == 3 && memcmp(name, "who", 3) == 0)
		return who_of(e, buf);
	if (len == 3 && memcmp(name, "why", 3) == 0)
		return e->why;
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		if (strlen(event_values[i].key) == len &&
		    memcmp(event_values[i].key, name, len) == 0)
			return human_of(e, (enum event_value)i);
	return NULL;
}

/* Fills in one stretch of a message without brackets; false: a value is missing ("?" then). */
static bool expand(struct text *t, const struct event_record *e, const char *from, const char *to)
{
	bool whole = true;

	while (from < to) {
		const char *open = memchr(from, '{', (size_t)(to - from));
		const char *close = open ? memchr(open, '}', (size_t)(to - open)) : NULL;
		char buf[WHO_SIZE];
		const char *value;

		if (close == NULL) {
			add_bytes(t, from, (size_t)(to - from));
			break;
		}
		add_bytes(t, from, (size_t)(open - from));
		value = placeholder(e, open + 1, (size_t)(close - open - 1), buf);
		event_text_add(t, value ? value : "?");
		whole &= value != NULL;
		from = close + 1;
	}
	return whole;
}

static void expand_optional(struct text *t, const struct event_record *e, const char *from,
			    const char *to)
{
	size_t before = t->used;

	if (expand(t, e, from, to))
		return;
	t->used = before;
	t->start[before] = '\0';
}

static void blank_controls(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			*s = ' ';
}

void event_text_message(const struct event_record *e, size_t size, char *ret)
{
	struct text t = text_in(ret, size);
	const char *at = event_table[e->kind].message;
	const char *end = at + strlen(at);
	const char *repeated = e->values[VALUE_REPEATED].exact;

	while (at < end) {
		const char *open = memchr(at, '[', (size_t)(end - at));
		const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;

		if (close == NULL) {
			expand(&t, e, at, end);
			break;
		}
		expand(&t, e, at, open);
		expand_optional(&t, e, open + 1, close);
		at = close + 1;
	}
	if (repeated) {
		event_text_add(&t, " [and ");
		event_text_add(&t, repeated);
		event_text_add(&t, " more like it before]");
	}
	blank_controls(ret);
}

/* "info" and so on of a syslog priority. */
static const char *event_level_name(int priority)
{
	static const char *const names[] = {"emerg",   "alert",  "crit", "error",
					    "warning", "notice", "info", "debug"};

	return names[priority & 7];
}

/* A JSON string; logfmt readers accept the same. */
static void add_quoted(struct text *t, const char *s)
{
	event_text_add(t, "\"");
	while (*s) {
		size_t n = escape_utf8_length(s, strnlen(s, 4));
		char escape[8];

		if (n == 0) {
			event_text_add(t, "\xef\xbf\xbd");
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\') {
			event_text_add(t, "\\");
			add_bytes(t, s, 1);
		} else if ((unsigned char)*s < ' ' || *s == 127) {
			snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*s);
			event_text_add(t, escape);
		} else {
			add_bytes(t, s, n);
		}
		s += n;
	}
	event_text_add(t, "\"");
}

static bool is_plain(const char *s)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789-_./:@+";

	return *s && s[strspn(s, plain)] == '\0';
}

static void add_logfmt(struct text *t, const char *key, const char *value)
{
	if (t->used > 0)
		event_text_add(t, " ");
	event_text_add(t, key);
	event_text_add(t, "=");
	if (is_plain(value))
		event_text_add(t, value);
	else
		add_quoted(t, value);
}

static void add_json(struct text *t, const char *key, const char *value)
{
	event_text_add(t, t->used > 0 ? "," : "{");
	add_quoted(t, key);
	event_text_add(t, ":");
	add_quoted(t, value);
}

static void format_line(const struct event_record *e, usec_t real_usec, struct text *t,
			void (*put)(struct text *, const char *, const char *))
{
	char message[EVENT_MESSAGE_SIZE], stamp[TIME_TEXT_SIZE];
	char id[SD_ID128_STRING_MAX];

	event_text_message(e, sizeof message, message);
	put(t, "ts", time_text(real_usec, 3, stamp));
	put(t, "level", event_level_name(event_table[e->kind].priority));
	put(t, "msg", message);
	put(t, "event", event_table[e->kind].name);
	put(t, "id", sd_id128_to_string(event_table[e->kind].id, id));
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		if (e->values[i].exact)
			put(t, event_values[i].key, e->values[i].exact);
}

int event_text_logfmt(const struct event_record *e, usec_t real_usec, size_t size, char *ret)
{
	struct text t = text_in(ret, size);

	format_line(e, real_usec, &t, add_logfmt);
	event_text_add(&t, "\n");
	return t.cut ? -ENOBUFS : 0;
}

int event_text_json(const struct event_record *e, usec_t real_usec, size_t size, char *ret)
{
	struct text t = text_in(ret, size);

	format_line(e, real_usec, &t, add_json);
	event_text_add(&t, "}\n");
	return t.cut ? -ENOBUFS : 0;
}

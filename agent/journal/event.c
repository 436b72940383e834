// SPDX-License-Identifier: Apache-2.0
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "agent/journal/event.h"
#include "agent/base/escape.h"
#include "agent/base/listen.h"
#include "policy/base/quantity.h"
#include "policy/base/text.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <syslog.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

const struct event_value_info event_values[EVENT_VALUE_COUNT] = {
#define V(value, field, key) {field, key},
	EVENT_VALUES(V)
#undef V
};

#define F(value) (1u << VALUE_##value)
#define WHO      (F(NAMESPACE) | F(POD) | F(CONTAINER) | F(UNIT) | F(CGROUP))
#define CHANGE   (F(RESOURCE) | F(FROM) | F(TO) | F(REASON) | F(DETAIL))
#define TOOK     (F(SPAN) | F(OWN))

const struct event_info event_table[EVENT_KIND_COUNT] = {
#define EVENT(kind, name, priority, burst, values, id, message)                                    \
	[EVENT_##kind] = {name, id, priority, values, burst, message},
#include "agent/journal/event_list.h"
#undef EVENT
};

/* --- an event as text: the message, a logfmt line, a JSON line */

#define WHO_SIZE 512

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
			return e->values[i].human ?: e->values[i].exact;
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
			text_add(t, from, (size_t)(to - from));
			break;
		}
		text_add(t, from, (size_t)(open - from));
		value = placeholder(e, open + 1, (size_t)(close - open - 1), buf);
		text_add_string(t, value ? value : "?");
		whole &= value != NULL;
		from = close + 1;
	}
	return whole;
}

static void blank_controls(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			*s = ' ';
}

void event_text_message(const struct event_record *e, size_t size, char *ret)
{
	struct text t = text_over(ret, size), before;
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
		before = t;
		if (!expand(&t, e, open + 1, close)) {
			t = before;
			t.buf[t.used] = '\0';
		}
		at = close + 1;
	}
	if (repeated) {
		text_add_string(&t, " [and ");
		text_add_string(&t, repeated);
		text_add_string(&t, " more like it before]");
	}
	blank_controls(ret);
}

/* A JSON string; logfmt readers accept the same. */
static void add_quoted(struct text *t, const char *s)
{
	text_add_string(t, "\"");
	while (*s) {
		size_t n = escape_utf8_length(s, strnlen(s, 4));
		char escape[8];

		if (n == 0) {
			text_add_string(t, "\xef\xbf\xbd");
			s++;
			continue;
		}
		if (*s == '"' || *s == '\\') {
			text_add_string(t, "\\");
			text_add(t, s, 1);
		} else if ((unsigned char)*s < ' ' || *s == 127) {
			snprintf(escape, sizeof escape, "\\u%04x", (unsigned char)*s);
			text_add_string(t, escape);
		} else {
			text_add(t, s, n);
		}
		s += n;
	}
	text_add_string(t, "\"");
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
		text_add_string(t, " ");
	text_add_string(t, key);
	text_add_string(t, "=");
	if (is_plain(value))
		text_add_string(t, value);
	else
		add_quoted(t, value);
}

static void add_json(struct text *t, const char *key, const char *value)
{
	text_add_string(t, t->used > 0 ? "," : "{");
	add_quoted(t, key);
	text_add_string(t, ":");
	add_quoted(t, value);
}

int event_text_line(const struct event_record *e, enum event_format format, usec_t real_usec,
		    size_t size, char *ret)
{
	static const char *const levels[] = {"emerg",   "alert",  "crit", "error",
					     "warning", "notice", "info", "debug"};
	bool json = format == EVENT_FORMAT_JSON;
	void (*put)(struct text *, const char *, const char *) = json ? add_json : add_logfmt;
	char message[EVENT_MESSAGE_SIZE], stamp[TIME_TEXT_SIZE];
	struct text t = text_over(ret, size);
	char id[SD_ID128_STRING_MAX];

	event_text_message(e, sizeof message, message);
	put(&t, "ts", time_text(real_usec, 3, stamp));
	put(&t, "level", levels[event_table[e->kind].priority]);
	put(&t, "msg", message);
	put(&t, "event", event_table[e->kind].name);
	put(&t, "id", sd_id128_to_string(event_table[e->kind].id, id));
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		if (e->values[i].exact)
			put(&t, event_values[i].key, e->values[i].exact);
	text_add_string(&t, json ? "}\n" : "\n");
	return t.full ? -ENOBUFS : 0;
}

/* --- where it goes: the journal, stderr */

/* MESSAGE, MESSAGE_ID, PRIORITY, SYSLOG_IDENTIFIER, VSCALED_EVENT */
#define FIXED_FIELDS 5

static struct event_log fallback = {.lines = true, .fd = STDERR_FILENO};
static struct event_log *current = &fallback;

static struct event_limit_slot *slot_of(struct event_limit *l, uint64_t key)
{
	struct event_limit_slot *oldest = &l->slots[0];

	for (size_t i = 0; i < EVENT_LIMIT_SLOTS; i++) {
		struct event_limit_slot *s = &l->slots[i];

		if (s->key == key)
			return s;
		if (oldest->key != 0 && (s->key == 0 || s->began < oldest->began))
			oldest = s;
	}
	*oldest = (struct event_limit_slot){0};
	return oldest;
}

bool event_limit_pass(struct event_limit *l, uint64_t key, uint32_t burst, usec_t now,
		      uint32_t *ret_held)
{
	struct event_limit_slot *s;

	if (burst == 0) {
		*ret_held = 0;
		return true;
	}
	s = slot_of(l, key);
	if (s->key == 0 || now >= s->began + EVENT_LIMIT_WINDOW)
		*s = (struct event_limit_slot){.key = key, .began = now, .held = s->held};
	if (s->shown >= burst) {
		s->held++;
		return false;
	}
	*ret_held = s->held;
	s->shown++;
	s->held = 0;
	return true;
}

/* $JOURNAL_STREAM names the device and inode of the stream that journald reads. */
static bool is_journal_stream(int fd)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	if (stream == NULL || sscanf(stream, "%llu:%llu", &device, &inode) != 2 ||
	    fstat(fd, &st) < 0)
		return false;
	return st.st_dev == device && st.st_ino == inode;
}

int event_log_open(struct event_log *l, const struct event_log_options *o)
{
	const char *path = o->journal_socket ? o->journal_socket : "/run/systemd/journal/socket";
	bool journal = o->target != EVENT_TARGET_STDERR && listen_probe(path, SOCK_DGRAM) == 0;

	*l = (struct event_log){
		.journal = journal,
		/* A terminal and a container's log show the lines too; a stream into the journal
		   would get the same entry twice. */
		.lines = !journal ||
			 (o->target == EVENT_TARGET_AUTO && !is_journal_stream(STDERR_FILENO)),
		.prefix = !journal && is_journal_stream(STDERR_FILENO),
		.format = o->format,
		.fd = STDERR_FILENO,
	};
	return o->target == EVENT_TARGET_JOURNAL && !journal ? -ENOTCONN : 0;
}

void event_log_use(struct event_log *l)
{
	current = l ? l : &fallback;
}

void event_log_time(struct event_log *l, usec_t boot_usec, usec_t real_usec)
{
	l->boot_usec = boot_usec;
	l->real_usec = real_usec;
}

/* Cut where the buffer ends: better short than not at all. */
static void add_field(struct iovec *ret, struct text *t, const char *name, const char *value)
{
	size_t from = t->used;

	text_add_string(t, name);
	text_add_string(t, "=");
	text_add_string(t, value);
	*ret = (struct iovec){t->buf + from, t->used - from};
}

static void send_journal(const struct event_record *e, const char *message)
{
	const struct event_info *info = &event_table[e->kind];
	struct iovec iov[FIXED_FIELDS + EVENT_VALUE_COUNT];
	char id[SD_ID128_STRING_MAX], priority[12], buf[EVENT_LINE_SIZE];
	struct text t = text_over(buf, sizeof buf);
	int n = 0;

	snprintf(priority, sizeof priority, "%d", info->priority);
	add_field(&iov[n++], &t, "MESSAGE", message);
	add_field(&iov[n++], &t, "MESSAGE_ID", sd_id128_to_string(info->id, id));
	add_field(&iov[n++], &t, "PRIORITY", priority);
	add_field(&iov[n++], &t, "SYSLOG_IDENTIFIER", "vscaled");
	add_field(&iov[n++], &t, "VSCALED_EVENT", info->name);
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		if (e->values[i].exact)
			add_field(&iov[n++], &t, event_values[i].field, e->values[i].exact);
	/* There is no other place to report a failure to. */
	(void)sd_journal_sendv(iov, n);
}

static void send_line(const struct event_log *l, const struct event_record *e)
{
	char line[EVENT_LINE_SIZE + 8];
	size_t at = 0;

	if (l->prefix)
		at = (size_t)snprintf(line, sizeof line, "<%d>", event_table[e->kind].priority);
	event_text_line(e, l->format, l->real_usec, sizeof line - at, line + at);
	(void)!write(l->fd, line, strlen(line));
}

/* Of the kind and what it is about; never 0. */
static uint64_t key_of(const struct event_record *e)
{
	uint64_t hash = text_hash(TEXT_HASH_FIRST, event_table[e->kind].name);

	for (enum event_value v = VALUE_NAMESPACE; v <= VALUE_RESOURCE; v++)
		if (v != VALUE_CGROUP)
			hash = text_hash(hash, e->values[v].exact ?: "");
	return hash ?: 1;
}

/* Shows an event unless its kind is held back for its subject. */
static void event_log_emit(struct event_record *e)
{
	struct event_log *l = current;
	char message[EVENT_MESSAGE_SIZE], repeated[12];
	uint32_t held;

	if (!event_limit_pass(&l->limit, key_of(e), event_table[e->kind].burst, l->boot_usec,
			      &held))
		return;
	if (held > 0) {
		snprintf(repeated, sizeof repeated, "%u", held);
		e->values[VALUE_REPEATED].exact = repeated;
	}
	event_text_message(e, sizeof message, message);
	if (l->record)
		l->record(l->record_ctx, e, message);
	if (l->journal)
		send_journal(e, message);
	if (l->lines)
		send_line(l, e);
	e->values[VALUE_REPEATED].exact = NULL;
}

/* --- what vscaled logs */

#define NUMBER_SIZE      32
#define HUMAN_VALUE_SIZE 128

/* A record and the memory for its numbers. */
struct draft {
	struct event_record record;
	char exact[EVENT_VALUE_COUNT][NUMBER_SIZE];
	char human[EVENT_VALUE_COUNT][HUMAN_VALUE_SIZE];
};

static void put_text(struct draft *d, enum event_value v, const char *text)
{
	if (text && *text)
		d->record.values[v].exact = text;
}

static void put_number(struct draft *d, enum event_value v, uint64_t number, const char *unit)
{
	snprintf(d->exact[v], NUMBER_SIZE, "%" PRIu64 "%s", number, unit);
	d->record.values[v].exact = d->exact[v];
}

/* Fields are exact quantities ("500m", "67108864", "max"), messages readable ones ("64.00Mi"). */
static void put_amount(struct draft *d, enum event_value v, enum resource r, uint64_t amount)
{
	put_number(d, v, amount, r == RESOURCE_CPU ? "m" : "");
	if (amount == LIMIT_MAX)
		put_text(d, v, "max");
	d->record.values[v].human =
		r == RESOURCE_CPU ? quantity_format_cpu(amount, d->human[v], QUANTITY_TEXT_SIZE)
				  : quantity_format_human(amount, d->human[v], QUANTITY_TEXT_SIZE);
}

static void put_error(struct draft *d, int error)
{
	if (error >= 0)
		return;
	put_number(d, VALUE_ERROR, (uint64_t)-error, "");
	d->record.values[VALUE_ERROR].human =
		strerror_r(-error, d->human[VALUE_ERROR], HUMAN_VALUE_SIZE);
}

/* "430 ms", "12.5 s", "-24.0 h". */
static void put_span(struct draft *d, int64_t span_usec)
{
	static const struct {
		double usec;
		const char *unit;
	} units[] = {{3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};
	double size = span_usec < 0 ? -(double)span_usec : (double)span_usec;
	size_t i = 0;

	if (span_usec == 0)
		return;
	while (i < ARRAY_SIZE(units) - 1 && size < units[i].usec)
		i++;
	snprintf(d->exact[VALUE_SPAN], NUMBER_SIZE, "%" PRId64, span_usec);
	snprintf(d->human[VALUE_SPAN], HUMAN_VALUE_SIZE, "%.1f %s",
		 (double)span_usec / units[i].usec, units[i].unit);
	d->record.values[VALUE_SPAN] =
		(struct event_pair){d->exact[VALUE_SPAN], d->human[VALUE_SPAN]};
}

void event_write(enum event_kind kind, const struct event *e)
{
	struct draft d = {.record = {.kind = kind, .why = e->detail}};
	uint32_t fields = event_table[kind].fields;
	bool limit = fields & F(RESOURCE);

	put_text(&d, VALUE_NAMESPACE, e->who.namespace);
	put_text(&d, VALUE_POD, e->who.pod);
	put_text(&d, VALUE_CONTAINER, e->who.container);
	put_text(&d, VALUE_UNIT, e->who.unit);
	put_text(&d, VALUE_CGROUP, e->who.cgroup);
	put_text(&d, VALUE_RESOURCE, resource_names[e->resource]);
	if (limit || e->from != 0)
		put_amount(&d, VALUE_FROM, limit ? e->resource : RESOURCE_MEMORY, e->from);
	put_amount(&d, VALUE_TO, e->resource, e->to);
	if (e->reason != REASON_NONE) {
		put_text(&d, VALUE_REASON, reason_name(e->reason));
		d.record.why = e->detail ? e->detail : reason_text(e->reason);
	}
	put_text(&d, VALUE_DETAIL, e->detail);
	put_text(&d, VALUE_BY, e->by);
	put_text(&d, VALUE_MODE, e->mode);
	put_text(&d, VALUE_FILE, e->file);
	put_text(&d, VALUE_VERSION, e->version);
	put_text(&d, VALUE_HINT, e->hint);
	put_text(&d, VALUE_OUTCOME, e->kept ? "the last good configuration stays" : "not started");
	put_number(&d, VALUE_COUNT_OF, e->count, "");
	put_span(&d, e->span_usec);
	if (e->own_usec != 0)
		put_number(&d, VALUE_OWN, e->own_usec, "");
	put_error(&d, e->error);
	for (enum event_value v = 0; v < EVENT_VALUE_COUNT; v++)
		if (!(fields & (1u << v)))
			d.record.values[v] = (struct event_pair){0};
	event_log_emit(&d.record);
}

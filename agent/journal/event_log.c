// SPDX-License-Identifier: Apache-2.0
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "agent/journal/event_log.h"
#include "agent/base/listen.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

/* MESSAGE, MESSAGE_ID, PRIORITY, SYSLOG_IDENTIFIER, VSCALED_EVENT */
#define FIXED_FIELDS 5

static struct event_log fallback = {.lines = true, .fd = STDERR_FILENO};
static struct event_log *current = &fallback;

/* FNV-1a, 64 bit; parts are set apart by a byte that is in none of them. */
uint64_t event_limit_key(uint32_t kind, const char *const *parts)
{
	uint64_t hash = (14695981039346656037ULL ^ kind) * 1099511628211ULL;

	for (; *parts; parts++) {
		for (const char *c = *parts; *c; c++)
			hash = (hash ^ (unsigned char)*c) * 1099511628211ULL;
		hash = (hash ^ '\n') * 1099511628211ULL;
	}
	return hash ? hash : 1;
}

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

struct fields {
	struct iovec iov[FIXED_FIELDS + EVENT_VALUE_COUNT];
	int count;
	char buf[EVENT_LINE_SIZE];
	size_t used;
};

static void add_field(struct fields *f, const char *name, const char *value)
{
	size_t left = sizeof f->buf - f->used;
	int n = snprintf(f->buf + f->used, left, "%s=%s", name, value);

	if (n < 0)
		return;
	if ((size_t)n >= left)
		n = (int)left - 1; /* cut: better short than not at all */
	f->iov[f->count++] = (struct iovec){f->buf + f->used, (size_t)n};
	f->used += (size_t)n;
}

static void send_journal(const struct event_record *e, const char *message)
{
	const struct event_info *info = &event_table[e->kind];
	char id[SD_ID128_STRING_MAX], priority[12];
	struct fields f;

	f.count = 0;
	f.used = 0;
	snprintf(priority, sizeof priority, "%d", info->priority);
	add_field(&f, "MESSAGE", message);
	add_field(&f, "MESSAGE_ID", sd_id128_to_string(info->id, id));
	add_field(&f, "PRIORITY", priority);
	add_field(&f, "SYSLOG_IDENTIFIER", "vscaled");
	add_field(&f, "VSCALED_EVENT", info->name);
	for (size_t i = 0; i < EVENT_VALUE_COUNT; i++)
		if (e->values[i].exact)
			add_field(&f, event_values[i].field, e->values[i].exact);
	/* There is no other place to report a failure to. */
	(void)sd_journal_sendv(f.iov, f.count);
}

static void send_line(const struct event_log *l, const struct event_record *e)
{
	char line[EVENT_LINE_SIZE + 8];
	size_t at = 0;

	if (l->prefix)
		at = (size_t)snprintf(line, sizeof line, "<%d>", event_table[e->kind].priority);
	if (l->format == EVENT_FORMAT_JSON)
		event_text_json(e, l->real_usec, sizeof line - at, line + at);
	else
		event_text_logfmt(e, l->real_usec, sizeof line - at, line + at);
	(void)!write(l->fd, line, strlen(line));
}

static uint64_t key_of(const struct event_record *e)
{
	const char *parts[] = {
		e->values[VALUE_NAMESPACE].exact ?: "", e->values[VALUE_POD].exact ?: "",
		e->values[VALUE_CONTAINER].exact ?: "", e->values[VALUE_UNIT].exact ?: "",
		e->values[VALUE_RESOURCE].exact ?: "",  NULL,
	};

	return event_limit_key(e->kind, parts);
}

void event_log_emit(struct event_record *e)
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
}

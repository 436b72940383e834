// SPDX-License-Identifier: Apache-2.0
#include "agent/state/history_file.h"
#include "agent/base/sorted_array.h"
#include "agent/state/record.h"
#include <errno.h>
#include <string.h>

const struct state_kind history_state = {"history", 2, HISTORY_BYTES_MAX};

void history_record_drop(struct history_record *r)
{
	history_drop(&r->history);
}

static void entry_free(struct history_entry *e)
{
	free(e->key);
	free(e->line);
	*e = (struct history_entry){0};
}

void history_store_free(struct history_store *s)
{
	for (size_t i = 0; i < s->count; i++)
		entry_free(&s->items[i]);
	free(s->items);
	*s = (struct history_store){0};
}

static struct history_entry *history_file_find(const struct history_store *s, const char *key)
{
	return sorted_array_find(s->items, s->count, sizeof *s->items, key);
}

static void remove_at(struct history_store *s, size_t at)
{
	s->bytes -= strlen(s->items[at].line);
	entry_free(&s->items[at]);
	memmove(&s->items[at], &s->items[at + 1], (s->count - at - 1) * sizeof *s->items);
	s->count--;
}

bool history_store_remove(struct history_store *s, const char *key)
{
	struct history_entry *e = history_file_find(s, key);

	if (e == NULL)
		return false;
	remove_at(s, (size_t)(e - s->items));
	return true;
}

/* Takes e over, also on failure. */
static int insert_at(struct history_store *s, size_t at, struct history_entry *e)
{
	struct history_entry *items = sorted_array_make_room(s->items, s->count, sizeof *items, at);

	if (items == NULL) {
		entry_free(e);
		return -ENOMEM;
	}
	items[at] = *e;
	s->items = items;
	s->count++;
	s->bytes += strlen(e->line);
	return 0;
}

/* Drops those unseen for longest until the store is within its bounds; never `keep`. */
static void enforce_bounds(struct history_store *s, const char *keep)
{
	while (s->count > HISTORY_COUNT_MAX || s->bytes > HISTORY_BYTES_MAX) {
		size_t oldest = SIZE_MAX;

		for (size_t i = 0; i < s->count; i++)
			if (strcmp(s->items[i].key, keep) != 0 &&
			    (oldest == SIZE_MAX ||
			     s->items[i].seen_realtime_usec < s->items[oldest].seen_realtime_usec))
				oldest = i;
		if (oldest == SIZE_MAX)
			return;
		remove_at(s, oldest);
	}
}

int history_store_put(struct history_store *s, const char *key, const struct history_record *r)
{
	struct history_entry *old = history_file_find(s, key);
	OWN(drop_free) char *line = NULL;
	int error = history_line_write(key, r, &line);

	if (error < 0)
		return error;
	if (old != NULL) {
		s->bytes += strlen(line) - strlen(old->line);
		free(old->line);
		old->line = STEAL(line);
		old->seen_realtime_usec = r->seen_realtime_usec;
	} else {
		struct history_entry e = {strdup(key), NULL, r->seen_realtime_usec};

		if (e.key == NULL)
			return -ENOMEM;
		e.line = STEAL(line);
		error = insert_at(
			s, sorted_array_position(s->items, s->count, sizeof *s->items, key), &e);
		if (error < 0)
			return error;
	}
	enforce_bounds(s, key);
	return 0;
}

int history_store_get(const struct history_store *s, const char *key,
		      const struct tuning_history *t, struct history_record *ret)
{
	const struct history_entry *e = history_file_find(s, key);
	OWN(drop_free) char *saved_key = NULL;

	if (e == NULL)
		return -ENOENT;
	return history_line_read(e->line, strlen(e->line) - 1, t, &saved_key, ret);
}

size_t history_store_prune(struct history_store *s, usec_t now_realtime)
{
	size_t kept = 0, before = s->count;

	for (size_t i = 0; i < before; i++) {
		struct history_entry *e = &s->items[i];

		if (e->seen_realtime_usec + HISTORY_UNSEEN_USEC < now_realtime) {
			s->bytes -= strlen(e->line);
			entry_free(e);
		} else {
			s->items[kept++] = *e;
		}
	}
	s->count = kept;
	return before - kept;
}

int history_encode(const struct history_store *s, char **ret, size_t *ret_len)
{
	char *text = malloc(s->bytes + 1), *to = text;

	if (text == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < s->count; i++)
		to = stpcpy(to, s->items[i].line);
	*to = '\0';
	*ret = text;
	*ret_len = (size_t)(to - text);
	return 0;
}

static int decode_line(void *ctx, const char *line, size_t len)
{
	struct history_store *s = ctx;
	OWN(history_record_drop) struct history_record record = {0};
	struct history_entry e = {0};
	int r = history_line_read(line, len, NULL, &e.key, &record);

	if (r < 0)
		return r;
	/* Ascending keys: no duplicates, and no search while loading. */
	if (s->count >= HISTORY_COUNT_MAX ||
	    (s->count > 0 && strcmp(s->items[s->count - 1].key, e.key) >= 0)) {
		entry_free(&e);
		return -EBADMSG;
	}
	e.seen_realtime_usec = record.seen_realtime_usec;
	e.line = strndup(line, len + 1);
	if (e.line == NULL) {
		entry_free(&e);
		return -ENOMEM;
	}
	return insert_at(s, s->count, &e);
}

int history_decode(const char *text, size_t len, struct history_store *ret)
{
	OWN(history_store_free) struct history_store s = {0};
	int r = record_lines(text, len, decode_line, &s);

	if (r < 0)
		return r;
	*ret = s;
	s = (struct history_store){0};
	return 0;
}

int history_load(int dir, char *aside, struct history_store *ret)
{
	OWN(state_file_free) struct state_file f = {0};
	int r = state_file_load(dir, &history_state, aside, &f);

	if (r < 0)
		return r;
	r = history_decode(f.body, f.len, ret);
	if (r == -EBADMSG)
		state_file_set_aside(dir, &history_state, aside);
	return r;
}

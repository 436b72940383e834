// SPDX-License-Identifier: Apache-2.0
#include "agent/state/history_verify.h"
#include <errno.h>
#include <string.h>

#define ADVICE_HEADER                                                                              \
	"restore the file from a copy; else the daemon sets it aside at its start and begins "     \
	"with an empty history"
#define ADVICE_NEWER                                                                               \
	"verify it with the vscalectl of that version; this version's daemon sets it aside"
#define ADVICE_LINE "the history of this workload is lost; restore the file from a copy"

struct walk {
	history_fault_fn *each;
	void *user;
	struct history_summary s;
	size_t line;
	char *last_key; /* owned */
};

void history_summary_drop(struct history_summary *s)
{
	free(s->oldest_key);
	free(s->newest_key);
	*s = (struct history_summary){0};
}

static void walk_drop(struct walk *w)
{
	free(w->last_key);
	history_summary_drop(&w->s);
}

static void fault(struct walk *w, size_t line, const char *what, const char *advice)
{
	const struct history_fault f = {line, what, advice};

	w->s.faults++;
	w->each(w->user, &f);
}

static int replace(char **to, const char *text)
{
	char *copy = strdup(text);

	if (copy == NULL)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static int note_whole(struct walk *w, const char *key, usec_t seen)
{
	struct history_summary *s = &w->s;
	int r = 0;

	if (s->keys == 0 || seen < s->oldest_realtime_usec) {
		s->oldest_realtime_usec = seen;
		r = replace(&s->oldest_key, key);
	}
	if (r == 0 && (s->keys == 0 || seen > s->newest_realtime_usec)) {
		s->newest_realtime_usec = seen;
		r = replace(&s->newest_key, key);
	}
	s->keys++;
	return r;
}

static int verify_line(struct walk *w, const char *line, size_t len)
{
	OWN(history_record_drop) struct history_record record = {0};
	OWN(drop_free) char *key = NULL;
	int r = history_line_read(line, len, NULL, &key, &record);

	if (r == -EBADMSG) {
		fault(w, w->line, "not a record of the history", ADVICE_LINE);
		return 0;
	}
	if (r < 0)
		return r;
	if (w->last_key != NULL && strcmp(w->last_key, key) >= 0)
		fault(w, w->line, "its key is not after that of the line before", ADVICE_LINE);
	if (w->s.keys == HISTORY_COUNT_MAX)
		fault(w, w->line, "more workloads than the daemon keeps", ADVICE_HEADER);
	r = note_whole(w, key, record.seen_realtime_usec);
	free(w->last_key);
	w->last_key = STEAL(key);
	return r;
}

static int verify_lines(struct walk *w, const char *text, size_t len)
{
	const char *end = text + len;

	for (w->line = 2; text < end; w->line++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		int r;

		if (newline == NULL) {
			fault(w, w->line, "the file ends within this line", ADVICE_LINE);
			return 0;
		}
		r = verify_line(w, text, (size_t)(newline - text));
		if (r < 0)
			return r;
		text = newline + 1;
	}
	return 0;
}

/* 1: the lines can be read. 0: this version knows nothing of them. */
static int verify_header(struct walk *w, const char *text, size_t len)
{
	struct state_file f = {0};
	int r = state_file_parse(&history_state, text, len, &f);

	state_file_free(&f);
	w->s.version_known = state_file_version(&history_state, text, len, &w->s.version) == 0;
	if (r == -EPROTONOSUPPORT) {
		fault(w, 1, "written by a newer version of vscaled", ADVICE_NEWER);
		return 0;
	}
	if (r == -EBADMSG && !w->s.version_known)
		fault(w, 1, "not the header of a history file", ADVICE_HEADER);
	else if (r == -EBADMSG)
		fault(w, 1, "length or checksum are not those of the content", ADVICE_HEADER);
	if (r == -EBADMSG)
		r = 0;
	return r < 0 ? r : w->s.version_known;
}

int history_verify(const char *text, size_t len, history_fault_fn *each, void *user,
		   struct history_summary *ret)
{
	OWN(walk_drop) struct walk w = {.each = each, .user = user, .s.bytes = len};
	int r = verify_header(&w, text, len);

	if (r > 0) {
		const char *body = (const char *)memchr(text, '\n', len) + 1;

		r = verify_lines(&w, body, len - (size_t)(body - text));
	}
	if (r < 0)
		return r;
	*ret = w.s;
	w.s = (struct history_summary){0};
	return 0;
}

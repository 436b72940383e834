// SPDX-License-Identifier: Apache-2.0
#include "agent/state/history_file.h"
#include <errno.h>
#include <math.h>
#include <string.h>

/* --- one record as a line of text */

/* Year 9999: beyond it spans could overflow. */
#define REALTIME_MAX_USEC (253402300799 * USEC_PER_SEC)
/* More than 100 half lives of decay on a century of seconds. */
#define WEIGHT_MAX 1e60
/* Bounds the factor when a half life changes; what is older weighs nothing anyway. */
#define HALF_LIVES_MAX 200.0

struct saved_histogram {
	double total;
	int64_t reference_usec;
	double weight[HISTOGRAM_BUCKETS];
};

struct saved {
	char *key;
	struct history_record record; /* all but the histograms */
	uint64_t half_life_usec;
	struct saved_histogram cpu;
	struct saved_histogram memory;
};

#define FIELD(name, type, member, max) {name, type, offsetof(struct saved, member), max}
#define TIME(name, member)             FIELD(name, RECORD_U64, record.member, REALTIME_MAX_USEC)
#define NUMBER(name, member)           FIELD(name, RECORD_U64, record.member, INT64_MAX)

/* clang-format off */
static const struct record_field fields[] = {
	FIELD("key", RECORD_NAME, key, 0),
	TIME("seen", seen_realtime_usec),
	TIME("first", history.first_real),
	TIME("last", history.last_real),
	NUMBER("observed_usec", history.observed_usec[RESOURCE_CPU]),
	NUMBER("samples", history.samples),
	TIME("window_end", history.window_end_real),
	NUMBER("window_peak", history.window_peak),
	NUMBER("window_oom", history.window_oom),
	NUMBER("cpu_floor_milli", floor[RESOURCE_CPU].value),
	TIME("cpu_floor_since", floor[RESOURCE_CPU].since_real),
	NUMBER("memory_floor_bytes", floor[RESOURCE_MEMORY].value),
	TIME("memory_floor_since", floor[RESOURCE_MEMORY].since_real),
	NUMBER("cpu_backoff_usec", backoff[RESOURCE_CPU].span_usec),
	TIME("cpu_backoff_until", backoff[RESOURCE_CPU].until_realtime_usec),
	NUMBER("memory_backoff_usec", backoff[RESOURCE_MEMORY].span_usec),
	TIME("memory_backoff_until", backoff[RESOURCE_MEMORY].until_realtime_usec),
	FIELD("half_life_usec", RECORD_U64, half_life_usec, HISTOGRAM_HALF_LIFE_MAX_USEC),
	FIELD("cpu_reference", RECORD_I64, cpu.reference_usec, 0),
	FIELD("cpu_total", RECORD_DOUBLE, cpu.total, 0),
	FIELD("cpu_weights", RECORD_WEIGHTS, cpu.weight, HISTOGRAM_BUCKETS),
	FIELD("memory_reference", RECORD_I64, memory.reference_usec, 0),
	FIELD("memory_total", RECORD_DOUBLE, memory.total, 0),
	FIELD("memory_weights", RECORD_WEIGHTS, memory.weight, HISTOGRAM_BUCKETS),
	NUMBER("memory_observed_usec", history.observed_usec[RESOURCE_MEMORY]),
};
/* clang-format on */

static const struct record_layout layout = {fields, ARRAY_SIZE(fields), sizeof(struct saved)};

static void save_histogram(const struct histogram *h, struct saved_histogram *ret)
{
	ret->total = h->total;
	ret->reference_usec = h->reference_usec;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		ret->weight[i] = histogram_weight(h, i);
}

static bool histogram_valid(const struct saved_histogram *s)
{
	if (s->reference_usec < HISTOGRAM_YEAR_1_USEC ||
	    s->reference_usec > (int64_t)REALTIME_MAX_USEC || s->total > WEIGHT_MAX)
		return false;
	for (size_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		if (s->weight[i] > WEIGHT_MAX)
			return false;
	return true;
}

/* Room for all that was saved: from the first to the last bucket with a weight. */
static int make_room(const struct saved_histogram *s, struct histogram *h)
{
	uint32_t first = HISTOGRAM_BUCKETS, last = 0;

	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		if (s->weight[i] == 0)
			continue;
		first = MIN(first, i);
		last = i;
	}
	return first <= last ? histogram_reserve(h, first, last) : 0;
}

/* Fills an initialised histogram whose half life is that of the record. */
static void load_histogram(const struct saved_histogram *s, struct histogram *h)
{
	h->total = s->total;
	h->reference_usec = s->reference_usec;
	for (uint32_t i = 0; i < h->count; i++)
		h->weight[i] = s->weight[h->from + i];
	h->min = 0;
	h->max = (uint16_t)(h->options->buckets - 1);
	histogram_trim(h);
}

/* As if all of it had been seen at `at` with the weight it had then. */
static void move_histogram(const struct saved_histogram *s, usec_t half_life_usec, usec_t at,
			   struct histogram *h)
{
	double age = ((double)at - (double)s->reference_usec) / (double)half_life_usec;
	double factor = exp2(-fmin(fmax(age, -HALF_LIVES_MAX), HALF_LIVES_MAX));
	const double *start = h->options->start;
	uint32_t last = h->options->buckets - 1;

	for (uint32_t i = 0; i <= last; i++) {
		double middle = i < last ? (start[i] + start[i + 1]) / 2 : start[i] * 2;

		if (s->weight[i] > 0)
			histogram_add(h, middle, s->weight[i] * factor, at);
	}
}

static int load_record(const struct saved *s, const struct tuning_history *t,
		       struct history_record *ret)
{
	struct tuning_history as_saved = {.half_life_usec = s->half_life_usec};
	bool as_is = t == NULL || t->half_life_usec == s->half_life_usec;
	struct history h, *to = &ret->history;

	history_init(&h, as_is ? &as_saved : t);
	if (make_room(&s->cpu, &h.cpu) < 0 || make_room(&s->memory, &h.memory) < 0) {
		history_drop(&h);
		return -ENOMEM;
	}
	*ret = s->record;
	if (as_is) {
		load_histogram(&s->cpu, &h.cpu);
		load_histogram(&s->memory, &h.memory);
	} else {
		move_histogram(&s->cpu, s->half_life_usec, to->last_real, &h.cpu);
		move_histogram(&s->memory, s->half_life_usec, to->last_real, &h.memory);
		/* The open window's peak is no longer in them as it was added. */
		to->window_end_real = to->window_peak = to->window_oom = 0;
	}
	to->cpu = h.cpu;
	to->memory = h.memory;
	return 0;
}

/* *ret is owned and ends with a newline. -EINVAL for a bad key, -ENOMEM. */
static int history_line_write(const char *key, const struct history_record *r, char **ret)
{
	OWN(drop_free) struct saved *s = calloc(1, sizeof *s);
	size_t key_len = strlen(key), len = 0;
	char *text = NULL;
	FILE *f;

	if (key_len == 0 || key_len > RECORD_NAME_MAX)
		return -EINVAL;
	if (s == NULL)
		return -ENOMEM;
	s->key = (char *)key;
	s->record = *r;
	s->half_life_usec = (uint64_t)r->history.cpu.half_life_usec;
	save_histogram(&r->history.cpu, &s->cpu);
	save_histogram(&r->history.memory, &s->memory);
	f = open_memstream(&text, &len);
	if (f == NULL)
		return -ENOMEM;
	record_write(f, &layout, s);
	if (fclose(f) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

/* Without the newline. *ret_key is owned. -EBADMSG, -ENOMEM. t NULL: the saved half life. */
static int history_line_read(const char *line, size_t len, const struct tuning_history *t,
			     char **ret_key, struct history_record *ret)
{
	OWN(drop_free) struct saved *s = malloc(sizeof *s);
	int r;

	if (s == NULL)
		return -ENOMEM;
	r = record_read(&layout, line, len, s);
	if (r < 0)
		return r;
	if (!histogram_valid(&s->cpu) || !histogram_valid(&s->memory) || s->half_life_usec == 0)
		r = -EBADMSG;
	else
		r = load_record(s, t, ret);
	if (r < 0) {
		record_clear(&layout, s);
		return r;
	}
	*ret_key = STEAL(s->key);
	return 0;
}

/* --- the store */

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

void history_store_remove(struct history_store *s, const char *key)
{
	struct history_entry *e = history_file_find(s, key);

	if (e != NULL)
		remove_at(s, (size_t)(e - s->items));
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

static int by_time(const void *a, const void *b)
{
	const usec_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The time of the oldest of the HISTORY_GONE_MAX newest that were not seen now; 0: there are not
 * more. */
static usec_t oldest_gone(const struct history_store *s, usec_t now)
{
	OWN(drop_free) usec_t *seen = calloc(s->count, sizeof *seen);
	size_t gone = 0;

	for (size_t i = 0; seen != NULL && i < s->count; i++)
		if (s->items[i].seen_realtime_usec != now)
			seen[gone++] = s->items[i].seen_realtime_usec;
	if (gone <= HISTORY_GONE_MAX)
		return 0;
	qsort(seen, gone, sizeof *seen, by_time);
	return seen[gone - HISTORY_GONE_MAX];
}

bool history_store_prune(struct history_store *s, usec_t now_realtime)
{
	usec_t too_old = now_realtime - MIN(now_realtime, HISTORY_UNSEEN_USEC);
	usec_t one_too_many = oldest_gone(s, now_realtime);
	usec_t least = MAX(too_old, one_too_many);
	size_t kept = 0;

	for (size_t i = 0; i < s->count; i++) {
		struct history_entry *e = &s->items[i];

		if (e->seen_realtime_usec < least) {
			s->bytes -= strlen(e->line);
			entry_free(e);
		} else {
			s->items[kept++] = *e;
		}
	}
	s->count = kept;
	return one_too_many > too_old;
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

int history_line(void *ctx, const char *line, size_t len)
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

int history_load(int dir, char *aside, struct history_store *ret)
{
	int r = state_file_load_lines(dir, &history_state, aside, history_line, ret);

	if (r < 0)
		history_store_free(ret);
	return r;
}

/* --- the file is checked */

#define ADVICE_HEADER                                                                              \
	"restore the file from a copy; else the daemon sets it aside at its start and begins "     \
	"with an empty history"
#define ADVICE_VERSION                                                                             \
	"verify it with the vscalectl of that version; this version's daemon sets it aside"
#define ADVICE_LINE "the history of this workload is lost; restore the file from a copy"

struct walk {
	history_fault_fn *each;
	void *user;
	struct history_summary s;
	size_t line;    /* the last that was read */
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

static int verify_line(void *ctx, const char *line, size_t len)
{
	OWN(history_record_drop) struct history_record record = {0};
	OWN(drop_free) char *key = NULL;
	struct walk *w = ctx;
	int r = history_line_read(line, len, NULL, &key, &record);

	w->line++;
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

/* 1: the lines can be read. 0: this version knows nothing of them. */
static int verify_header(struct walk *w, const char *text, size_t len)
{
	struct state_file f = {0};
	int r = state_file_parse(&history_state, text, len, &f);

	state_file_free(&f);
	w->s.version_known = state_file_version(&history_state, text, len, &w->s.version) == 0;
	if (r == -EPROTONOSUPPORT) {
		fault(w, 1, "written by another version of vscaled", ADVICE_VERSION);
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
	OWN(walk_drop) struct walk w = {.each = each, .user = user, .s.bytes = len, .line = 1};
	int r = verify_header(&w, text, len);

	if (r > 0) {
		const char *body = (const char *)memchr(text, '\n', len) + 1;

		r = record_lines(body, len - (size_t)(body - text), verify_line, &w);
	}
	if (r == -EBADMSG) {
		fault(&w, w.line + 1, "the file ends within this line", ADVICE_LINE);
		r = 0;
	}
	if (r < 0)
		return r;
	*ret = w.s;
	w.s = (struct history_summary){0};
	return 0;
}

/* --- stopped rollouts, a line each */

const struct state_kind rollout_state = {"rollouts", 1, MIB};

static const struct record_field rollout_fields[] = {
	{"workload", RECORD_NAME, offsetof(struct rollout_stop, workload), 0},
	{"percent", RECORD_U32, offsetof(struct rollout_stop, percent), ROLLOUT_ALL_PERCENT},
	{"hurt", RECORD_U32, offsetof(struct rollout_stop, hurt), ROLLOUT_HURT_COUNT - 1},
};

static const struct record_layout rollout_layout = {rollout_fields, ARRAY_SIZE(rollout_fields),
						    sizeof(struct rollout_stop)};

void rollout_stops_free(struct rollout_stops *s)
{
	for (size_t i = 0; i < s->count; i++)
		record_clear(&rollout_layout, &s->items[i]);
	free(s->items);
	*s = (struct rollout_stops){0};
}

static int append_stop(struct rollout_stops *s, const struct rollout_stop *stop)
{
	struct rollout_stop *grown;

	if (s->count == ROLLOUT_STOPS_MAX)
		return -ENOSPC;
	grown = reallocarray(s->items, s->count + 1, sizeof *grown);
	if (grown == NULL)
		return -ENOMEM;
	s->items = grown;
	grown[s->count++] = *stop;
	return 0;
}

int rollout_stops_add(struct rollout_stops *s, const char *workload, uint32_t percent,
		      enum rollout_hurt hurt)
{
	struct rollout_stop stop = {strdup(workload), percent, hurt};
	int r = stop.workload != NULL ? append_stop(s, &stop) : -ENOMEM;

	if (r < 0)
		free(stop.workload);
	return r;
}

int rollout_stops_encode(const struct rollout_stops *s, char **ret, size_t *ret_len)
{
	return record_encode(&rollout_layout, s->items, s->count, ret, ret_len);
}

int rollout_stop_line(void *ctx, const char *line, size_t len)
{
	struct rollout_stops *s = ctx;
	struct rollout_stop stop;
	int r = record_read(&rollout_layout, line, len, &stop);

	if (r < 0)
		return r;
	r = stop.hurt != ROLLOUT_UNHURT ? append_stop(s, &stop) : -EBADMSG;
	if (r < 0)
		record_clear(&rollout_layout, &stop);
	return r == -ENOSPC ? -EBADMSG : r;
}

int rollout_stops_load(int dir, char *aside, struct rollout_stops *ret)
{
	int r = state_file_load_lines(dir, &rollout_state, aside, rollout_stop_line, ret);

	if (r < 0)
		rollout_stops_free(ret);
	return r;
}

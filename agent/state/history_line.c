// SPDX-License-Identifier: Apache-2.0
#include "agent/state/history_file.h"
#include "agent/state/record.h"
#include <errno.h>
#include <math.h>
#include <string.h>

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
	/* version 2; a line of version 1 stays until the record changes */
	NUMBER("memory_observed_usec", history.observed_usec[RESOURCE_MEMORY]),
};
/* clang-format on */

static const struct record_layout layout = {fields, ARRAY_SIZE(fields), sizeof(struct saved)};
static const struct record_layout version_1 = {fields, ARRAY_SIZE(fields) - 1,
					       sizeof(struct saved)};

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
	struct history *h = &ret->history;
	struct tuning_history as_saved = {.half_life_usec = s->half_life_usec};
	bool as_is = t == NULL || t->half_life_usec == s->half_life_usec;

	*ret = s->record;
	history_init(h, as_is ? &as_saved : t);
	if (make_room(&s->cpu, &h->cpu) < 0 || make_room(&s->memory, &h->memory) < 0) {
		history_drop(h);
		return -ENOMEM;
	}
	if (as_is) {
		load_histogram(&s->cpu, &h->cpu);
		load_histogram(&s->memory, &h->memory);
	} else {
		move_histogram(&s->cpu, s->half_life_usec, s->record.history.last_real, &h->cpu);
		move_histogram(&s->memory, s->half_life_usec, s->record.history.last_real,
			       &h->memory);
	}
	h->first_real = s->record.history.first_real;
	h->last_real = s->record.history.last_real;
	memcpy(h->observed_usec, s->record.history.observed_usec, sizeof h->observed_usec);
	h->samples = s->record.history.samples;
	/* Converted weights no longer contain the open window's peak as it was added. */
	if (!as_is)
		return 0;
	h->window_end_real = s->record.history.window_end_real;
	h->window_peak = s->record.history.window_peak;
	h->window_oom = s->record.history.window_oom;
	return 0;
}

int history_line_write(const char *key, const struct history_record *r, char **ret)
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

int history_line_read(const char *line, size_t len, const struct tuning_history *t, char **ret_key,
		      struct history_record *ret)
{
	OWN(drop_free) struct saved *s = malloc(sizeof *s);
	int r;

	if (s == NULL)
		return -ENOMEM;
	r = record_read(&layout, line, len, s);
	if (r == -EBADMSG)
		r = record_read(&version_1, line, len, s);
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

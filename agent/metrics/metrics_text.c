// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics_text.h"
#include <string.h>

/* A piece and the largest family behind it; it doubles from there. */
#define FIRST_BYTES (32 * KIB)

const char *const metric_type_names[METRIC_TYPE_COUNT] = {
	[METRIC_COUNTER] = "counter",
	[METRIC_GAUGE] = "gauge",
	[METRIC_HISTOGRAM] = "histogram",
	[METRIC_INFO] = "info",
};

static bool make_room(struct metrics_writer *w, size_t size)
{
	size_t capacity = w->capacity > 0 ? w->capacity : FIRST_BYTES;
	char *data;

	if (w->failed)
		return false;
	if (w->size + size <= w->capacity)
		return true;
	while (capacity < w->size + size)
		capacity *= 2;
	data = realloc(w->data, capacity);
	if (data == NULL) {
		w->failed = true;
		return false;
	}
	w->data = data;
	w->capacity = capacity;
	return true;
}

static void metrics_text_put(struct metrics_writer *w, const char *text, size_t size)
{
	if (!make_room(w, size))
		return;
	memcpy(w->data + w->size, text, size);
	w->size += size;
}

static void put_text(struct metrics_writer *w, const char *text)
{
	metrics_text_put(w, text, strlen(text));
}

/* Both formats want UTF-8; the names that come here are ASCII, and what is not is not passed on. */
static void put_escaped(struct metrics_writer *w, const char *text)
{
	for (; *text != '\0'; text++) {
		size_t plain = 0;

		while ((signed char)text[plain] > 0 && strchr("\\\"\n", text[plain]) == NULL)
			plain++;
		metrics_text_put(w, text, plain);
		text += plain;
		if (*text == '\0')
			return;
		if (*text == '\n')
			metrics_text_put(w, "\\n", 2);
		else if (*text == '\\')
			metrics_text_put(w, "\\\\", 2);
		else if (*text == '"')
			metrics_text_put(w, "\\\"", 2);
		else
			metrics_text_put(w, "?", 1);
	}
}

/* Digits from the end of buf, without zeros at the end of the decimals; where it begins. */
static char *decimal(uint64_t value, unsigned digits, char *end)
{
	bool shown = false;

	*end = '\0';
	for (; digits > 0; digits--, value /= 10) {
		if (value % 10 == 0 && !shown)
			continue;
		shown = true;
		*--end = (char)('0' + value % 10);
	}
	if (shown)
		*--end = '.';
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	return end;
}

const char *metrics_bound(uint64_t value, unsigned digits, char *buf, size_t size)
{
	char text[32];
	const char *start = decimal(value, digits, text + sizeof text - 1);

	/* OpenMetrics wants a float. */
	snprintf(buf, size, "%s%s", start, strchr(start, '.') != NULL ? "" : ".0");
	return buf;
}

int metrics_family_length(const struct metric *m, enum metrics_format format)
{
	size_t n = strlen(m->name);

	if (format == METRICS_OPENMETRICS && m->type == METRIC_COUNTER)
		n -= strlen("_total");
	if (format == METRICS_OPENMETRICS && m->type == METRIC_INFO)
		n -= strlen("_info");
	return (int)n;
}

static void put_head(struct metrics_writer *w, const char *what, const char *text)
{
	put_text(w, what);
	metrics_text_put(w, w->metric->name, (size_t)metrics_family_length(w->metric, w->format));
	metrics_text_put(w, " ", 1);
	put_escaped(w, text);
	metrics_text_put(w, "\n", 1);
}

void metrics_family(struct metrics_writer *w, const struct metric *m)
{
	enum metric_type type = m->type;

	w->metric = m;
	if (type == METRIC_INFO && w->format == METRICS_TEXT)
		type = METRIC_GAUGE;
	put_head(w, "# HELP ", m->help);
	put_head(w, "# TYPE ", metric_type_names[type]);
	if (m->unit != NULL && w->format == METRICS_OPENMETRICS)
		put_head(w, "# UNIT ", m->unit);
}

void metrics_series(struct metrics_writer *w, const char *suffix)
{
	put_text(w, w->metric->name);
	put_text(w, suffix);
	w->labelled = false;
}

void metrics_label(struct metrics_writer *w, const char *name, const char *value)
{
	metrics_text_put(w, w->labelled ? "," : "{", 1);
	w->labelled = true;
	put_text(w, name);
	metrics_text_put(w, "=\"", 2);
	put_escaped(w, value);
	metrics_text_put(w, "\"", 1);
}

void metrics_value(struct metrics_writer *w, uint64_t value, unsigned digits)
{
	char text[32];

	if (w->labelled)
		metrics_text_put(w, "}", 1);
	metrics_text_put(w, " ", 1);
	put_text(w, decimal(value, digits, text + sizeof text - 1));
	metrics_text_put(w, "\n", 1);
}

void metrics_end(struct metrics_writer *w)
{
	if (w->format == METRICS_OPENMETRICS)
		put_text(w, "# EOF\n");
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define PATH_SIZE 64

static const char *const sequences[] = {
	[PAINT_GOOD] = "\033[32m", [PAINT_WARN] = "\033[33m", [PAINT_BAD] = "\033[31m",
	[PAINT_BOLD] = "\033[1m",  [PAINT_NONE] = "",
};

struct state_paint {
	const char *state;
	enum paint paint;
};

static const struct state_paint state_paints[] = {
	{"managed", PAINT_GOOD}, {"paused", PAINT_WARN}, {"restored", PAINT_WARN},
	{"gave-way", PAINT_BAD}, {"frozen", PAINT_BAD},  {"unmanaged", PAINT_BAD},
};

const char *paint_on(const struct ctl *c, enum paint p)
{
	return c->color ? sequences[p] : "";
}

const char *paint_off(const struct ctl *c, enum paint p)
{
	return c->color && p != PAINT_NONE ? "\033[0m" : "";
}

enum paint paint_state(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_paints); i++)
		if (strcmp(state_paints[i].state, state) == 0)
			return state_paints[i].paint;
	return PAINT_NONE;
}

const char *render_ago(const struct ctl *c, usec_t at_realtime_usec, char ret[static HUMAN_SIZE])
{
	char span[HUMAN_SIZE];

	if (at_realtime_usec == 0)
		snprintf(ret, HUMAN_SIZE, "-");
	else if (at_realtime_usec >= c->now_realtime_usec)
		snprintf(ret, HUMAN_SIZE, "now");
	else
		snprintf(ret, HUMAN_SIZE, "%.27s ago",
			 human_span(c->now_realtime_usec - at_realtime_usec, span));
	return ret;
}

static const char *text_value(const struct screen *s, const char *key, char *)
{
	return json_text(s->json, key);
}

static const char *count_value(const struct screen *s, const char *key, char *buf)
{
	snprintf(buf, HUMAN_SIZE, "%" PRIu64, json_amount(s->json, key));
	return render_has(s, key) ? buf : "-";
}

static const char *amount_value(const struct screen *s, const char *key, char *buf)
{
	return human_amount(s->which, json_amount(s->json, key), buf);
}

static const char *bytes_value(const struct screen *s, const char *key, char *buf)
{
	return human_amount(RESOURCE_MEMORY, json_amount(s->json, key), buf);
}

static const char *span_value(const struct screen *s, const char *key, char *buf)
{
	return human_span(json_amount(s->json, key), buf);
}

static const char *ago_value(const struct screen *s, const char *key, char *buf)
{
	return render_ago(s->c, json_time(s->json, key), buf);
}

static const char *percent_value(const struct screen *s, const char *key, char *buf)
{
	bool ppm = strstr(key, "_ppm") != NULL;

	snprintf(buf, HUMAN_SIZE, "%.1f %%",
		 (double)json_amount(s->json, key) / (ppm ? 10000 : 10));
	return render_has(s, key) ? buf : "-";
}

static const char *whole_value(const struct screen *s, const char *key, char *buf)
{
	uint64_t permille = json_amount(s->json, key);

	snprintf(buf, HUMAN_SIZE, "%.0f %%", (double)permille / 10);
	return permille <= 1000 ? buf : "-";
}

static const struct value_kind {
	const char *name;
	const char *(*value)(const struct screen *s, const char *key, char *buf);
} value_kinds[] = {
	{"text", text_value},       {"count", count_value}, {"amount", amount_value},
	{"bytes", bytes_value},     {"span", span_value},   {"ago", ago_value},
	{"percent", percent_value}, {"whole", whole_value},
};

/* The value of one "cpu.last.from". */
static const char *value_at(struct screen s, const struct value_kind *kind, char *path, char *buf)
{
	char *dot;

	for (; (dot = strchr(path, '.')) != NULL; path = dot + 1) {
		*dot = '\0';
		s.json = json_object(s.json, path);
		if (strcmp(path, "memory") == 0)
			s.which = RESOURCE_MEMORY;
		else if (strcmp(path, "cpu") == 0)
			s.which = RESOURCE_CPU;
	}
	return kind->value(&s, path, buf);
}

static const struct value_kind *kind_of(const char *name)
{
	size_t n = strcspn(name, ":");

	for (size_t i = 0; i < ARRAY_SIZE(value_kinds); i++)
		if (strlen(value_kinds[i].name) == n && memcmp(value_kinds[i].name, name, n) == 0)
			return &value_kinds[i];
	assert(false);
	return &value_kinds[0];
}

/* The value of "KIND:PATH|PATH}". */
static const char *value_of(const struct screen *s, const char *name, char *buf)
{
	const struct value_kind *kind = kind_of(name);
	const char *at = name + strlen(kind->name), *value;
	char path[PATH_SIZE];

	do {
		size_t n = strcspn(++at, "|}");

		snprintf(path, sizeof(path), "%.*s", (int)n, at);
		value = value_at(*s, kind, path, buf);
		at += n;
	} while (strcmp(value, "-") == 0 && *at == '|');
	return value;
}

bool render_has(const struct screen *s, const char *key)
{
	return json_amount(s->json, key) != VIEW_NONE;
}

void render_put(const struct screen *s, const char *text)
{
	char buf[HUMAN_SIZE];

	for (; *text != '\0'; text++) {
		if (*text == '[' && strcmp(value_of(s, strchr(text, '{') + 1, buf), "-") == 0) {
			text = strchr(text, ']');
		} else if (*text == '{') {
			fputs(value_of(s, text + 1, buf), s->c->out);
			text = strchr(text, '}');
		} else if (*text != '[' && *text != ']') {
			fputc(*text, s->c->out);
		}
	}
}

char *render_text(const struct screen *s, const char *text)
{
	struct ctl into = *s->c;
	char *ret = NULL;
	size_t size;

	into.out = open_memstream(&ret, &size);
	if (into.out == NULL)
		return NULL;
	render_put(&(struct screen){&into, s->json, s->which}, text);
	fclose(into.out);
	return ret;
}

void render_row(const struct screen *s, const char *title, const char *text)
{
	OWN(drop_free) char *line = render_text(s, text);

	if (line != NULL && line[0] != '\0')
		fprintf(s->c->out, "  %-10s %s\n", title, line);
}

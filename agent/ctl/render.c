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

#define CELL_SIZE  120
#define COLUMN_GAP 2

struct table {
	const struct ctl *c;
	const struct table_column *columns;
	size_t count;
	size_t widths[TABLE_COLUMNS_MAX];
};

static void fill_cell(const struct table *t, size_t column, const cJSON *row, char *cell)
{
	const struct table_column *k = &t->columns[column];
	OWN(drop_free)
	char *text = render_text(&(struct screen){t->c, row, RESOURCE_CPU},
				 k->text ? k->text : k->choose(row));

	snprintf(cell, CELL_SIZE, "%s", text ? text : "");
}

static bool is_shown(const struct table *t, size_t column)
{
	return !t->columns[column].wide || t->c->output == OUTPUT_WIDE;
}

/* The width of a column: its widest cell, or the title. */
static size_t width_of(const struct table *t, size_t column, const cJSON *rows)
{
	size_t width = strlen(t->columns[column].title);
	const cJSON *row;
	char cell[CELL_SIZE];

	cJSON_ArrayForEach (row, rows) {
		fill_cell(t, column, row, cell);
		width = MAX(width, strlen(cell));
	}
	return width;
}

/* The last column that is shown, which is not padded. */
static size_t last_shown(const struct table *t)
{
	size_t last = 0;

	for (size_t i = 0; i < t->count; i++)
		if (is_shown(t, i))
			last = i;
	return last;
}

static void print_cell(const struct table *t, size_t column, const char *cell)
{
	enum paint p = t->columns[column].is_state ? paint_state(cell) : PAINT_NONE;

	fprintf(t->c->out, "%s%s%s", paint_on(t->c, p), cell, paint_off(t->c, p));
	if (column == last_shown(t))
		fputc('\n', t->c->out);
	else
		fprintf(t->c->out, "%*s", (int)(t->widths[column] - strlen(cell) + COLUMN_GAP), "");
}

void render_table(const struct ctl *c, const struct table_column *columns, size_t count,
		  const cJSON *rows)
{
	struct table t = {.c = c, .columns = columns, .count = MIN(count, TABLE_COLUMNS_MAX)};
	const cJSON *row;
	char cell[CELL_SIZE];

	for (size_t i = 0; i < t.count; i++)
		t.widths[i] = width_of(&t, i, rows);
	for (size_t i = 0; i < t.count; i++)
		if (is_shown(&t, i))
			print_cell(&t, i, columns[i].title);
	cJSON_ArrayForEach (row, rows) {
		for (size_t i = 0; i < t.count; i++) {
			if (!is_shown(&t, i))
				continue;
			fill_cell(&t, i, row, cell);
			print_cell(&t, i, cell);
		}
	}
}

/* The later of the two resources' last changes. */
static const char *last_change(const cJSON *unit)
{
	const cJSON *cpu = json_object(json_object(unit, "cpu"), "last");
	const cJSON *memory = json_object(json_object(unit, "memory"), "last");

	if (!cpu && !memory)
		return "-";
	return json_time(cpu, "at") >= json_time(memory, "at")
		       ? "cpu {amount:cpu.last.from} -> {amount:cpu.last.to}, {ago:cpu.last.at}"
		       : "memory {amount:memory.last.from} -> {amount:memory.last.to}, "
			 "{ago:memory.last.at}";
}

/* What is in force comes first: systemd's headroom may stand above what vscaled decided. */
/* clang-format off */
static const struct table_column columns[] = {
	{.title = "NAME", .text = "{text:name}"},
	{.title = "KIND", .wide = true, .text = "{text:kind}"},
	{.title = "MODE", .text = "{text:mode}"},
	{.title = "CPU use/limit", .text = "{amount:cpu.use} / {amount:cpu.kernel|cpu.limit}"},
	{.title = "MEMORY use/limit", .text = "{amount:memory.use} / {amount:memory.kernel|memory.limit}"},
	{.title = "ORIGINAL", .text = "{amount:cpu.original}, {amount:memory.original}"},
	{.title = "TARGET", .wide = true, .text = "{amount:cpu.target}, {amount:memory.target}"},
	{.title = "PEAK", .wide = true, .text = "{amount:cpu.peak}, {amount:memory.peak}"},
	{.title = "CONFIDENCE", .wide = true, .text = "{whole:cpu.confidence_permille}, {whole:memory.confidence_permille}"},
	{.title = "THROTTLED", .wide = true, .text = "{whole:cpu.throttled_permille}"},
	{.title = "BLOCKED", .wide = true, .text = "{text:cpu.hold}, {text:memory.hold}"},
	{.title = "LAST CHANGE", .choose = last_change},
	{.title = "STATE", .text = "{text:state}", .is_state = true},
	{.title = "CGROUP", .wide = true, .text = "{text:cgroup}"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(columns) <= TABLE_COLUMNS_MAX, "render.h");

void render_list(const struct ctl *c, const cJSON *answer)
{
	const cJSON *units = cJSON_GetObjectItemCaseSensitive(answer, "units");

	if (cJSON_GetArraySize(units) == 0 && c->namespace) {
		fprintf(c->out,
			"Nothing in namespace %s is managed here. Pods of this node opt in "
			"by the annotation vscaled.dev/mode.\n",
			c->namespace);
		return;
	}
	if (cJSON_GetArraySize(units) == 0) {
		fprintf(c->out, "Nothing is managed. Name units under units: in the configuration "
				"(man vscaled.yaml), or annotate pods with vscaled.dev/mode.\n");
		return;
	}
	render_table(c, columns, ARRAY_SIZE(columns), units);
}

/* The result of a load or a save, and when that was. */
static void print_result(const struct ctl *c, const cJSON *s, const char *result, const char *at)
{
	const char *text = json_text(s, result);
	enum paint p = strcmp(text, "ok") == 0 ? PAINT_GOOD : PAINT_BAD;
	char ago[HUMAN_SIZE];

	fprintf(c->out, " (%s%s%s, %s)\n", paint_on(c, p), text, paint_off(c, p),
		render_ago(c, json_time(s, at), ago));
}

static void print_cost(const struct screen *s)
{
	uint64_t used = json_amount(s->json, "cpu_usec"), up = json_amount(s->json, "uptime_usec");

	render_put(s, "Reader     {text:reader} ({text:reader_detail})\n"
		      "Loop       {count:wakeups} wake-ups, late by {span:loop_lag_mean_usec} on "
		      "average, {span:loop_lag_max_usec} at most\n"
		      "Scan       {span:look_usec} the last reflex pass, {span:scan_usec} the last "
		      "sample; {count:writes} limits written, {count:write_failures} failed\n"
		      "Cost       {bytes:rss_bytes} of memory, {span:cpu_usec} of CPU time");
	fprintf(s->c->out, " (%.2f %% of one CPU)\n",
		up > 0 ? 100.0 * (double)used / (double)up : 0.0);
}

static void print_cluster(const struct ctl *c, const cJSON *json)
{
	const struct screen s = {c, json, RESOURCE_CPU};
	bool healthy = json_flag(json, "healthy");
	enum paint p = healthy ? PAINT_GOOD : PAINT_BAD;

	render_put(&s, "API server {text:server}, node {text:node}: ");
	fprintf(c->out, "%s%s%s%s%s", paint_on(c, p),
		healthy ? "connected" : json_text(json, "trouble"), paint_off(c, p),
		json_flag(json, "synced") ? "" : ", pods not listed yet",
		json_flag(json, "resize_offered") ? "" : ", pods/resize is not offered");
	render_put(&s,
		   ", last answer {ago:last_event_at}\n"
		   "Reports    {count:writes_waiting} waiting, {count:refused_count} pods "
		   "refused; {count:requests} requests, {count:failures} failed\n"
		   "Pods       {count:pod_count} opted in, cgroup driver {text:cgroup_driver}\n");
}

void render_status(const struct ctl *c, const cJSON *s)
{
	const struct screen status = {c, s, RESOURCE_CPU};
	const cJSON *word = cJSON_GetObjectItemCaseSensitive(s, "unsupported");
	const char *unsupported = cJSON_GetStringValue(word);
	bool paused = json_flag(s, "paused");

	render_put(&status,
		   "vscaled {text:version}, pid {count:pid}, running for {span:uptime_usec}, "
		   "{text:operation}\n"
		   "Managed    {count:managed_count} units and containers");
	fprintf(c->out, "%s%s%s\n", paint_on(c, PAINT_WARN),
		paused ? ", all paused (vscalectl resume)" : "", paint_off(c, PAINT_WARN));
	fprintf(c->out, "Config     %s", json_text(s, "config_path"));
	print_result(c, s, "config_result", "config_loaded_at");
	fprintf(c->out, "State      %s", json_text(s, "state_directory"));
	print_result(c, s, "state_result", "state_saved_at");
	if (json_object(s, "cluster"))
		print_cluster(c, json_object(s, "cluster"));
	if (unsupported != NULL) {
		fprintf(c->out,
			"Host       %snot supported: %s%s, nothing is managed (vscalectl doctor)\n",
			paint_on(c, PAINT_BAD), unsupported, paint_off(c, PAINT_BAD));
		return;
	}
	fprintf(c->out, "systemd    %s\n",
		json_flag(s, "bus_connected") ? "connected" : "not connected, reconnecting");
	fprintf(c->out, "Host       Linux %s%s, cgroup v2 at %s with %s, pressure (PSI) %s\n",
		json_text(s, "kernel"),
		json_flag(s, "kernel_old") ? ", older than any that is tested" : "",
		json_text(s, "cgroup_mount"), json_text(s, "controllers"),
		json_flag(s, "psi") ? "on" : "off");
	print_cost(&status);
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <strings.h>

/* An object of an answer, to be printed. */
struct screen {
	const struct ctl *c;
	const cJSON *json;
	enum resource which; /* what an {amount:...} of it is */
};

const char *json_text(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

	return text && text[0] ? text : "-";
}

uint64_t json_amount(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	if (cJSON_IsString(item) && strcmp(item->valuestring, "max") == 0)
		return LIMIT_MAX;
	/* Doubles are exact up to 2^53, which is more than any amount here. */
	if (!cJSON_IsNumber(item) || item->valuedouble < 0 || item->valuedouble > 0x1p53)
		return VIEW_NONE;
	return (uint64_t)item->valuedouble;
}

double json_number(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

bool json_flag(const cJSON *object, const char *key)
{
	return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, key));
}

usec_t json_time(const cJSON *object, const char *key)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
	usec_t t = 0;

	return text && view_time_parse(text, &t) == 0 ? t : 0;
}

const cJSON *json_object(const cJSON *object, const char *key)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);

	return cJSON_IsObject(item) ? item : NULL;
}

void json_remove_controls(cJSON *value)
{
	cJSON *item;

	for (char *c = cJSON_GetStringValue(value); c && *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
	cJSON_ArrayForEach (item, value)
		json_remove_controls(item);
}

void json_whole_numbers(cJSON *value)
{
	static const size_t room = sizeof "-9007199254740992";
	double v = value->valuedouble;
	cJSON *item;

	/* cJSON writes such as 1790000000000000 as 1.79e+15: it gets the digits. */
	if (cJSON_IsNumber(value) && fabs(v) >= 1e15 && fabs(v) <= 0x1p53 && v == trunc(v)) {
		value->type = (value->type & ~cJSON_Number) | cJSON_Raw;
		value->valuestring = ctl_alloc(room);
		snprintf(value->valuestring, room, "%.0f", v);
	}
	cJSON_ArrayForEach (item, value)
		json_whole_numbers(item);
}

/* Whether YAML reads the bare word back as this same text. */
static bool is_plain(const char *text)
{
	static const char *const words[] = {"true", "false", "null", "yes", "no",  "on",
					    "off",  "y",     "n",    "nan", "inf", "max"};

	if (!isalpha((unsigned char)text[0]) && text[0] != '/')
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_-./@", *c))
			return false;
	return true;
}

static void yaml_scalar(FILE *out, const cJSON *value)
{
	char *text = NULL;

	if (cJSON_IsString(value) && is_plain(value->valuestring)) {
		fputs(value->valuestring, out);
		return;
	}
	/* What JSON writes for a scalar is YAML too. */
	text = cJSON_PrintUnformatted(value);
	fputs(text ? text : "null", out);
	cJSON_free(text);
}

static bool is_nested(const cJSON *value)
{
	return (cJSON_IsObject(value) || cJSON_IsArray(value)) && value->child;
}

/* The first line of an object inside a list continues the line of its dash. */
static void yaml_value(FILE *out, const cJSON *value, int indent, bool in_line)
{
	const cJSON *item;

	cJSON_ArrayForEach (item, value) {
		if (!in_line)
			fprintf(out, "%*s", indent, "");
		in_line = false;
		if (cJSON_IsArray(value)) {
			fputs("- ", out);
		} else if (is_plain(item->string)) {
			fprintf(out, "%s:%s", item->string, is_nested(item) ? "" : " ");
		} else {
			fprintf(out, "\"%s\":%s", item->string, is_nested(item) ? "" : " ");
		}
		if (!is_nested(item)) {
			yaml_scalar(out, item);
			fputc('\n', out);
			continue;
		}
		if (!cJSON_IsArray(value))
			fputc('\n', out);
		yaml_value(out, item, indent + 2, cJSON_IsArray(value));
	}
}

int json_print(const struct ctl *c, cJSON *value)
{
	char *text;

	json_whole_numbers(value);
	if (c->output == OUTPUT_YAML && is_nested(value)) {
		yaml_value(c->out, value, 0, false);
	} else if (c->output == OUTPUT_YAML) {
		yaml_scalar(c->out, value);
		fputc('\n', c->out);
	} else {
		text = cJSON_Print(value);
		fprintf(c->out, "%s\n", text);
		cJSON_free(text);
	}
	cJSON_Delete(value);
	return CTL_OK;
}

/* --- for people */

#define PATH_SIZE  64
#define COLUMN_GAP 2
/* Of a name that is cut. */
#define NAME_LEAST ((size_t)8)

static const char *const sequences[] = {
	[PAINT_GOOD] = "\033[32m", [PAINT_WARN] = "\033[33m", [PAINT_BAD] = "\033[31m",
	[PAINT_BOLD] = "\033[1m",  [PAINT_NONE] = "",
};

struct state_paint {
	const char *state;
	enum paint paint;
};

static const struct state_paint state_paints[] = {
	{"managed", PAINT_GOOD}, {"paused", PAINT_WARN},    {"restored", PAINT_WARN},
	{"gave-way", PAINT_BAD}, {"frozen", PAINT_BAD},     {"unmanaged", PAINT_BAD},
	{"killed", PAINT_BAD},   {"throttled", PAINT_WARN}, {"under", PAINT_WARN},
};

const char *paint_on(const struct ctl *c, enum paint p)
{
	return c->color ? sequences[p] : "";
}

const char *paint_off(const struct ctl *c, enum paint p)
{
	return c->color && p != PAINT_NONE ? "\033[0m" : "";
}

static enum paint paint_state(const char *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(state_paints); i++)
		if (strncmp(state_paints[i].state, state, strlen(state_paints[i].state)) == 0)
			return state_paints[i].paint;
	return PAINT_NONE;
}

/* "2 min ago", or "-". */
static const char *render_ago(const struct ctl *c, usec_t at_realtime_usec,
			      char ret[static HUMAN_SIZE])
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

enum value_kind {
	VALUE_TEXT,
	VALUE_COUNT,
	VALUE_AMOUNT,
	VALUE_NARROW,
	VALUE_BYTES,
	VALUE_SPAN,
	VALUE_AGO,
	VALUE_PERCENT,
	VALUE_WHOLE,
	VALUE_MONEY,
	VALUE_KIND_COUNT
};

static const char *const value_kinds[VALUE_KIND_COUNT] = {
	"text", "count", "amount", "narrow", "bytes", "span", "ago", "percent", "whole", "money",
};

/* A number of this key is there. */
static bool render_has(const struct screen *s, const char *key)
{
	return json_amount(s->json, key) != VIEW_NONE;
}

const char *render_narrow(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE])
{
	char *space = strchr(human_amount(which, amount, ret), ' ');

	if (space != NULL) {
		memmove(space, space + 1, strlen(space));
		ret[strcspn(ret, "B")] = '\0';
	} else if (which == RESOURCE_CPU && isdigit((unsigned char)ret[0])) {
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 "m", amount);
	}
	return ret;
}

/* "-" where it is not known. */
static const char *one_value(const struct screen *s, enum value_kind kind, const char *key,
			     char buf[static HUMAN_SIZE])
{
	uint64_t amount = json_amount(s->json, key);
	double money = json_number(s->json, key);

	switch (kind) {
	case VALUE_TEXT:
		return json_text(s->json, key);
	case VALUE_AMOUNT:
		return human_amount(s->which, amount, buf);
	case VALUE_NARROW:
		return render_narrow(s->which, amount, buf);
	case VALUE_BYTES:
		return human_amount(RESOURCE_MEMORY, amount, buf);
	case VALUE_SPAN:
		return human_span(amount, buf);
	case VALUE_AGO:
		return render_ago(s->c, json_time(s->json, key), buf);
	case VALUE_COUNT:
		snprintf(buf, HUMAN_SIZE, "%" PRIu64, amount);
		break;
	case VALUE_PERCENT:
		snprintf(buf, HUMAN_SIZE, "%.1f %%",
			 (double)amount / (strstr(key, "_ppm") != NULL ? 10000 : 10));
		break;
	case VALUE_WHOLE:
		/* Confidence has no upper end. */
		snprintf(buf, HUMAN_SIZE, "%.0f %%", (double)MIN(amount, (uint64_t)1000) / 10);
		break;
	default:
		snprintf(buf, HUMAN_SIZE, "%.*f", money < 99.995 ? 2 : 0, money);
		break;
	}
	return amount != VIEW_NONE ? buf : "-";
}

/* The value of one "cpu.last.from". */
static const char *value_at(struct screen s, enum value_kind kind, char *path, char *buf)
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
	return one_value(&s, kind, path, buf);
}

/* The value of "KIND:PATH|PATH}". */
static const char *value_of(const struct screen *s, const char *name, char *buf)
{
	const char *at = strchr(name, ':'), *value;
	enum value_kind kind = VALUE_TEXT;
	char path[PATH_SIZE];

	while (kind + 1 < VALUE_KIND_COUNT &&
	       strncmp(value_kinds[kind], name, (size_t)(at - name)) != 0)
		kind++;
	do {
		size_t n = strcspn(++at, "|}");

		snprintf(path, sizeof(path), "%.*s", (int)n, at);
		value = value_at(*s, kind, path, buf);
		at += n;
	} while (strcmp(value, "-") == 0 && *at == '|');
	return value;
}

/* Prints a text in which {KIND:KEY} stands for a value of the object, "-" where it is not known.
 * Kinds: text, count, amount (of s->which), bytes, span (microseconds), ago (a time), percent (of
 * permille, and of KEY_ppm), whole (percent without decimals), narrow (amount), money. KEY may be
 * "cpu.use", and name several keys: "kernel|limit" is the first that is known. [...] is left out
 * where its first value is not known. */
static void render_put(const struct screen *s, const char *text)
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

/* The same as a text, owned; NULL when memory is short. */
static char *render_text(const struct screen *s, const char *text)
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

/* The same as a line under a title; no line where nothing of the text is left. */
static void render_row(const struct screen *s, const char *title, const char *text)
{
	OWN(drop_free) char *line = render_text(s, text);

	if (line != NULL && line[0] != '\0')
		fprintf(s->c->out, "  %-10s %s\n", title, line);
}

struct table {
	const struct ctl *c;
	const struct table_column *columns;
	size_t count;
	size_t last; /* column that is shown; it is not padded */
	size_t widths[TABLE_COLUMNS_MAX];
};

static void fill_cell(const struct table *t, size_t column, const cJSON *row, char *cell)
{
	const struct table_column *k = &t->columns[column];
	OWN(drop_free)
	char *text = render_text(&(struct screen){t->c, row, RESOURCE_CPU},
				 k->text ? k->text : k->choose(row));

	snprintf(cell, CELL_SIZE, "%s", text ? text : "");
	if (t->widths[column] > 0 && strlen(cell) > t->widths[column])
		strcpy(cell + t->widths[column] - 2, "..");
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

static void print_cell(const struct table *t, size_t column, const char *cell)
{
	enum paint p = t->columns[column].is_state ? paint_state(cell) : PAINT_NONE;

	fprintf(t->c->out, "%s%s%s", paint_on(t->c, p), cell, paint_off(t->c, p));
	if (column == t->last)
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
	size_t used = 0;

	for (size_t i = 0; i < t.count; i++) {
		t.widths[i] = width_of(&t, i, rows);
		if (!is_shown(&t, i))
			continue;
		used += t.widths[i] + COLUMN_GAP;
		t.last = i;
	}
	if (columns[0].is_cut && c->output != OUTPUT_WIDE && used > TABLE_WIDTH + COLUMN_GAP)
		t.widths[0] -= MIN(used - TABLE_WIDTH - COLUMN_GAP,
				   t.widths[0] - MIN(t.widths[0], NAME_LEAST));
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
	{.title = "NODE", .text = "{text:node}"}, /* of the answers of many */
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
	bool one;

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
	one = !cJSON_HasObjectItem(cJSON_GetArrayItem(units, 0), "node");
	render_table(c, columns + one, ARRAY_SIZE(columns) - one, units);
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

/* ---- of a container beside its resources: pod, namespace, API server */

static bool is_known(const cJSON *o, const char *key)
{
	return strcmp(json_text(o, key), "-") != 0;
}

static void print_workload(const struct screen *pod)
{
	char text[120];

	snprintf(text, sizeof(text), "{text:workload}, QoS class {text:qos_class}, %s%s",
		 json_flag(pod->json, "ready") ? "ready" : "not ready",
		 json_amount(pod->json, "restarts") ? "[, restarted {count:restarts} times]" : "");
	render_row(pod, "workload", text);
}

/* A line for each source, in the order of the list: the pod's own ("-"), its namespace's, a rule's.
 */
static void print_annotations(const struct ctl *c, const cJSON *pod)
{
	const cJSON *a, *all = cJSON_GetObjectItemCaseSensitive(pod, "annotations");

	cJSON_ArrayForEach (a, all) {
		const char *source = json_text(a, "source");
		bool own = strcmp(source, "-") == 0;
		bool begins = a == all->child || strcmp(source, json_text(a->prev, "source")) != 0;
		bool ends = a->next == NULL || strcmp(source, json_text(a->next, "source")) != 0;

		fprintf(c->out, "%s%s=%s",
			!begins ? ", "
			: own   ? "  annotated  "
				: "  defaults   ",
			json_text(a, "key"), json_text(a, "value"));
		if (ends && !own)
			fprintf(c->out, " (%s)", source);
		if (ends)
			fputc('\n', c->out);
	}
	if (is_known(pod, "annotation_error"))
		fprintf(c->out, "  %-10s %s%s%s\n", "wrong", paint_on(c, PAINT_BAD),
			json_text(pod, "annotation_error"), paint_off(c, PAINT_BAD));
}

static void print_heap(const struct screen *pod)
{
	char name[32];

	snprintf(name, sizeof name, "%s heap", json_text(pod->json, "heap_runtime"));
	if (render_has(pod, "heap_bytes"))
		render_row(pod, name, "{bytes:heap_bytes}: the limit is not lowered below it");
	else if (render_has(pod, "heap_permille"))
		render_row(pod, name,
			   "{percent:heap_permille} of the limit at the start: the limit is "
			   "not lowered below it");
}

static void print_report(const struct screen *pod)
{
	static const char *const words[REPORT_VIEW_STATE_COUNT] = {
		[REPORT_VIEW_NONE] = "spec and cgroup have the same limits",
		[REPORT_VIEW_LEASE] = "sent when the cgroup's value has held for some time",
		[REPORT_VIEW_WAITING] = "waiting to be sent",
		[REPORT_VIEW_SENT] = "sent, not yet carried out by the kubelet",
		[REPORT_VIEW_DEFERRED] = "sent, deferred by the kubelet: the node lacks room",
		[REPORT_VIEW_REFUSED] = "refused",
		[REPORT_VIEW_CGROUP_ONLY] = "in the cgroup only",
	};
	const char *state = json_text(json_object(pod->json, "report"), "state");
	char text[200];

	for (int i = 0; i < REPORT_VIEW_STATE_COUNT; i++) {
		if (strcmp(state, report_view_state_names[i]) != 0)
			continue;
		snprintf(text, sizeof(text),
			 "%s[: {text:report.detail}][; the last one was {ago:report.sent_at}]",
			 words[i]);
		render_row(pod, "report", text);
	}
	render_row(pod, "resize", "[{text:condition}]");
}

static void render_pod(const struct ctl *c, const cJSON *pod)
{
	const struct screen s = {c, pod, RESOURCE_CPU};

	fprintf(c->out, "\n%sPod%s\n", paint_on(c, PAINT_BOLD), paint_off(c, PAINT_BOLD));
	print_workload(&s);
	render_row(&s, "controls", "{text:controlled_values}");
	print_annotations(c, pod);
	render_row(&s, "rollout", "[{text:rollout}]");
	print_heap(&s);
}

/* The time of growth that a limit in the spec covers, if it is less than usual. */
static void print_lead(const struct ctl *c, const struct screen *s)
{
	uint64_t above = json_amount(s->json, "above_spec");
	char text[HUMAN_SIZE];

	if (above != VIEW_NONE && above != 0)
		fprintf(c->out,
			"  %-10s %s%s more in use than the spec allows: any resize of the pod can "
			"end in an OOM kill%s\n",
			"above", paint_on(c, PAINT_BAD), human_amount(RESOURCE_MEMORY, above, text),
			paint_off(c, PAINT_BAD));
	if (json_amount(s->json, "ahead_usec") != 0)
		render_row(s, "headroom",
			   "[the spec's limit covers {span:ahead_usec} of growth: no lower limit "
			   "can be sent later]");
}

/* "; TITLE at least A, at most B"; nothing when neither is set. */
static void print_range(const struct screen *s, const char *title, const char *min, const char *max)
{
	bool low = render_has(s, min), high = render_has(s, max);
	char text[160];

	snprintf(text, sizeof(text), "; %s[ at least {amount:%s}]%s[ at most {amount:%s}]", title,
		 min, low && high ? "," : "", max);
	if (low || high)
		render_put(s, text);
}

static void print_spec(const struct screen *s)
{
	uint64_t ratio = json_amount(s->json, "ratio_permille");

	render_put(s, "  spec       requests {amount:request}, limit {amount:spec_limit}"
		      "[, ratified {amount:ratified}]");
	print_range(s, "LimitRange", "range_min", "range_max");
	if (ratio != VIEW_NONE)
		fprintf(s->c->out, ", %.4g times the request", (double)ratio / 1000);
	print_range(s, "administrator", "admin_min", "admin_max");
	fputc('\n', s->c->out);
}

static void render_pod_resource(const struct ctl *c, enum resource which, const cJSON *r)
{
	const struct screen s = {c, r, which};

	if (!render_has(&s, "request") && !render_has(&s, "spec_limit"))
		return;
	print_spec(&s);
	render_row(&s, "request", "[stays: {text:request_stays}]");
	if (is_known(r, "restart"))
		render_row(&s, "restart",
			   strcmp(json_text(r, "restart"), "allowed") == 0
				   ? "resizePolicy RestartContainer: a higher limit restarts the "
				     "container, once an hour at most"
				   : "resizePolicy RestartContainer: a higher limit would restart "
				     "the container, and stays in the cgroup");
	render_row(&s, "unratified",
		   "[growth ends at {amount:unratified_max} while the API server cannot accept a "
		   "higher limit]");
	print_lead(c, &s);
	render_row(&s, "refused",
		   "[more than {amount:refused} was refused; bounds the limit for another "
		   "{span:refused_for_usec}]");
}

/* ---- of every unit */

static void print_limit(const struct screen *s)
{
	uint64_t kernel = json_amount(s->json, "kernel"), limit = json_amount(s->json, "limit");
	const char *decided =
		kernel != VIEW_NONE && kernel != limit ? ", decided: {amount:limit}" : "";
	const char *range = render_has(s, "floor") || render_has(s, "ceiling")
				    ? "; may be {amount:floor} to {amount:ceiling}"
				    : "";
	char text[160];

	snprintf(text, sizeof(text), "{amount:kernel|limit} now, originally {amount:original}%s%s",
		 decided, range);
	render_row(s, "limit", limit == VIEW_NONE ? "not known yet" : text);
}

static void print_history(const struct screen *s)
{
	/* Beyond a whole interval of history there is no more to gain. */
	uint64_t confidence = MIN(json_amount(s->json, "confidence_permille"), (uint64_t)1000);
	char text[100];

	snprintf(text, sizeof(text),
		 "{count:samples} samples over {span:history_usec}, confidence %.0f %%",
		 (double)confidence / 10);
	render_row(s, "history", json_amount(s->json, "samples") == 0 ? "none yet" : text);
	if (render_has(s, "prior_pods") && json_amount(s->json, "prior_pods") != 0)
		render_row(
			s, "workload",
			"{count:prior_pods} other pods need {amount:prior_target}; counts less as "
			"this container's own history grows");
	if (render_has(s, "past_samples") && json_amount(s->json, "past_samples") != 0)
		render_row(s, "prometheus",
			   "{count:past_samples} samples of the history are from Prometheus");
}

static void print_contents(const struct screen *s)
{
	const cJSON *slope = cJSON_GetObjectItemCaseSensitive(s->json, "slope_bytes_per_sec");
	double speed = cJSON_IsNumber(slope) ? slope->valuedouble : 0;
	char change[HUMAN_SIZE], text[160];

	if (s->which != RESOURCE_MEMORY || !render_has(s, "unreclaimable_bytes"))
		return;
	snprintf(text, sizeof(text),
		 "{bytes:unreclaimable_bytes} cannot be reclaimed, working set "
		 "{bytes:working_set_bytes}, %s %s/s",
		 speed < 0 ? "shrinking by" : "growing by",
		 human_amount(RESOURCE_MEMORY, (uint64_t)(speed < 0 ? -speed : speed), change));
	render_row(s, "contents", text);
}

static void print_bounds(const struct screen *s)
{
	const cJSON *bound;

	if (!render_has(s, "candidate"))
		return;
	render_put(s, "  candidate  {amount:candidate}");
	cJSON_ArrayForEach (bound, cJSON_GetObjectItemCaseSensitive(s->json, "bounds")) {
		render_put(&(struct screen){s->c, bound, s->which},
			   ", then {amount:after} by {text:text}");
	}
	fputc('\n', s->c->out);
}

static void print_boost(const struct screen *s)
{
	const cJSON *boost = json_object(s->json, "boost");

	if (boost != NULL)
		render_row(s, "boost",
			   json_flag(boost, "lent")
				   ? "at least {amount:boost.limit}[ for another "
				     "{span:boost.ends_in_usec}], then {amount:boost.base}"
				   : "would be {amount:boost.limit}[ for another "
				     "{span:boost.ends_in_usec}], then {amount:boost.base}");
}

static void print_startup(const struct screen *s)
{
	render_row(
		s, "start-up",
		render_has(s, "startup_ready_usec")
			? "until it has been ready for {span:startup_ready_usec}; its CPU use is "
			  "not recorded"
			: "[for another {span:startup_ends_in_usec}; its CPU use is not recorded]");
}

/* The last change, why there is none now, and when there can be one. */
static void print_sized(const struct screen *s)
{
	static const char change[] = "{amount:last.from} -> {amount:last.to}, {ago:last.at}: "
				     "{text:last.detail|last.text}";
	const cJSON *last = json_object(s->json, "last");
	bool free_to_go = strcmp(json_text(s->json, "hold"), "none") == 0;
	char text[240];

	snprintf(text, sizeof text, "%s%s; %s[; the next may come in {span:next_change_in_usec}]",
		 last == NULL                                           ? "no change so far"
		 : json_amount(last, "to") >= json_amount(last, "from") ? "raised "
									: "lowered ",
		 last != NULL ? change : "",
		 free_to_go ? "nothing blocks a change" : "no change now: {text:hold_text}");
	render_row(s, s->which == RESOURCE_CPU ? "CPU" : "memory", text);
}

/* Why it was killed, throttled and sized, before all that explains it. */
static void print_why(const struct ctl *c, const cJSON *unit)
{
	const struct screen cpu = {c, json_object(unit, "cpu"), RESOURCE_CPU};
	const struct screen memory = {c, json_object(unit, "memory"), RESOURCE_MEMORY};
	const struct screen pod = {c, json_object(unit, "kubernetes"), RESOURCE_CPU};
	const char *state = json_text(unit, "state");

	fprintf(c->out, "\n%sWhy%s\n", paint_on(c, PAINT_BOLD), paint_off(c, PAINT_BOLD));
	render_row(&memory, "killed",
		   render_has(&memory, "day_oom_kills")
			   ? "{count:day_oom_kills} OOM kills in 24 h[; {text:killed}]"
			   : "[{text:killed}]");
	render_row(&cpu, "throttled",
		   "[{percent:throttled_permille} of the last periods]"
		   "[, {percent:day_throttled_permille} of those of 24 h]");
	print_sized(&cpu);
	print_sized(&memory);
	/* A container that is not sized has no report. */
	if (pod.json != NULL && strcmp(state, unit_state_names[UNIT_WAITING]) != 0 &&
	    strcmp(state, unit_state_names[UNIT_UNMANAGED]) != 0 &&
	    !is_known(pod.json, "annotation_error"))
		print_report(&pod);
}

/* Tasks wait whether the quota throttles them or not. */
static void print_pressure(const struct screen *s)
{
	static const char waiting[] = "[tasks waited {percent:psi_some_ppm} of the last 10 s]"
				      "[, all of them {percent:psi_full_ppm}]"
				      "[, at least {percent:psi_others_ppm} because of neighbours]";
	bool both = render_has(s, "throttled_permille") && render_has(s, "psi_some_ppm");
	char text[320];

	snprintf(text, sizeof(text),
		 "[throttled in {percent:throttled_permille} of the last periods]%s%s",
		 both ? "; " : "", waiting);
	render_row(s, "pressure", text);
}

static void print_counters(const struct screen *s)
{
	static const char *const words[][2] = {{"raises", "raised"},
					       {"lowers", "lowered"},
					       {"undos", "undone"},
					       {"drifts", "external writes overwritten"},
					       {"foreign", "of these recent"}};
	const cJSON *counters = json_object(s->json, "counters");
	const char *comma = "  so far     ";

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		uint64_t n = json_amount(counters, words[i][0]);

		if (n == 0 || n == VIEW_NONE)
			continue;
		fprintf(s->c->out, "%s%" PRIu64 " %s", comma, n, words[i][1]);
		comma = ", ";
	}
	if (comma[0] == ',')
		fputc('\n', s->c->out);
}

static void print_resource(const struct ctl *c, enum resource which, const cJSON *json,
			   const cJSON *spec)
{
	const struct screen s = {c, json, which};

	fprintf(c->out, "\n%s%s%s\n", paint_on(c, PAINT_BOLD),
		which == RESOURCE_CPU ? "CPU" : "Memory", paint_off(c, PAINT_BOLD));
	print_limit(&s);
	if (spec)
		render_pod_resource(c, which, spec);
	if (!json_flag(json, "controlled"))
		return;
	render_row(&s, "use",
		   "{amount:use} now[; p50 {amount:use_p50}, p90 {amount:use_p90}, p95 "
		   "{amount:use_p95}, p99 {amount:use_p99}, max {amount:use_max}]");
	print_history(&s);
	print_pressure(&s);
	print_contents(&s);
	render_row(&s, "recommend",
		   "[lower {amount:lower}, target {amount:target}, upper {amount:upper}, "
		   "peak {amount:peak}]");
	print_bounds(&s);
	render_row(&s, "trial",
		   "[{text:trial.phase} at {amount:trial.candidate}; verdict in "
		   "{span:trial.ends_in_usec}]");
	print_boost(&s);
	print_startup(&s);
	render_row(&s, "node", "[{text:denied}]");
	print_counters(&s);
}

/* Commands that the user can run; those without an effect are left out. */
static void print_offers(const struct ctl *c, const char *name, const cJSON *unit)
{
	static const struct {
		const char *command, *text, *states; /* each of these between two spaces */
	} rows[] = {
		{"pause", "To stop changes", " managed waiting "},
		{"resume", "To size it again", " paused gave-way restored "},
		{"restore", "To restore the originals", " managed waiting paused frozen gave-way "},
	};
	const char *between = "\n";
	char state[HUMAN_SIZE];

	snprintf(state, sizeof state, " %.28s ", json_text(unit, "state"));
	if (strcmp(json_text(unit, "mode"), mode_name(MODE_OFF)) == 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (strstr(rows[i].states, state) == NULL)
			continue;
		fprintf(c->out, "%s%s: vscalectl %s %s", between, rows[i].text, rows[i].command,
			name);
		between = "   ";
	}
	if (between[0] != '\n')
		fputc('\n', c->out);
}

void render_explain(const struct ctl *c, const cJSON *unit)
{
	const char *state = json_text(unit, "state");
	const char *name = json_text(unit, "name");
	const cJSON *pod = json_object(unit, "kubernetes");
	enum paint p = paint_state(state);

	fprintf(c->out, "%s%s%s  mode %s, %s%s%s", paint_on(c, PAINT_BOLD), name,
		paint_off(c, PAINT_BOLD), json_text(unit, "mode"), paint_on(c, p), state,
		paint_off(c, p));
	render_put(&(struct screen){c, unit, RESOURCE_CPU},
		   "[: {text:state_reason}][; {text:remedy}]\n[{text:cgroup}\n]");
	print_why(c, unit);
	if (pod)
		render_pod(c, pod);
	print_resource(c, RESOURCE_CPU, json_object(unit, "cpu"), json_object(pod, "cpu"));
	print_resource(c, RESOURCE_MEMORY, json_object(unit, "memory"), json_object(pod, "memory"));
	print_offers(c, name, unit);
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <string.h>

#define CELL_SIZE   120
#define COLUMN_GAP  2
#define COLUMNS_MAX 16

struct column {
	const char *title;
	bool wide;        /* only with -o wide */
	const char *text; /* of the unit, for render_text(); NULL: its last change */
};

/* What is in force comes first: systemd's headroom may stand above what vscaled decided. */
/* clang-format off */
static const struct column columns[] = {
	{"NAME",             false, "{text:name}"},
	{"KIND",             true,  "{text:kind}"},
	{"MODE",             false, "{text:mode}"},
	{"CPU use/limit",    false, "{amount:cpu.use} / {amount:cpu.kernel|cpu.limit}"},
	{"MEMORY use/limit", false, "{amount:memory.use} / {amount:memory.kernel|memory.limit}"},
	{"ORIGINAL",         false, "{amount:cpu.original}, {amount:memory.original}"},
	{"TARGET",           true,  "{amount:cpu.target}, {amount:memory.target}"},
	{"PEAK",             true,  "{amount:cpu.peak}, {amount:memory.peak}"},
	{"CONFIDENCE",       true,  "{whole:cpu.confidence_permille}, {whole:memory.confidence_permille}"},
	{"THROTTLED",        true,  "{whole:cpu.throttled_permille}"},
	{"HOLD",             true,  "{text:cpu.hold}, {text:memory.hold}"},
	{"LAST CHANGE",      false, NULL},
	{"STATE",            false, "{text:state}"},
	{"CGROUP",           true,  "{text:cgroup}"},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(columns) <= COLUMNS_MAX, "widths[] is too short");

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

static void fill_cell(const struct ctl *c, const struct column *column, const cJSON *unit,
		      char *cell)
{
	OWN(drop_free)
	char *text = render_text(&(struct screen){c, unit, RESOURCE_CPU},
				 column->text ? column->text : last_change(unit));

	snprintf(cell, CELL_SIZE, "%s", text ? text : "");
}

static bool is_shown(const struct ctl *c, size_t column)
{
	return !columns[column].wide || c->output == OUTPUT_WIDE;
}

/* The width of a column: its widest cell, or the title. */
static size_t width_of(const struct ctl *c, const struct column *column, const cJSON *units)
{
	size_t width = strlen(column->title);
	const cJSON *unit;
	char cell[CELL_SIZE];

	cJSON_ArrayForEach (unit, units) {
		fill_cell(c, column, unit, cell);
		width = MAX(width, strlen(cell));
	}
	return width;
}

/* The last column that is shown, which is not padded. */
static size_t last_shown(const struct ctl *c)
{
	size_t last = 0;

	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (is_shown(c, i))
			last = i;
	return last;
}

static void print_cell(const struct ctl *c, size_t column, const char *cell, const size_t *widths)
{
	bool is_state = strcmp(columns[column].title, "STATE") == 0;
	enum paint p = is_state ? paint_state(cell) : PAINT_NONE;

	fprintf(c->out, "%s%s%s", paint_on(c, p), cell, paint_off(c, p));
	if (column == last_shown(c))
		fputc('\n', c->out);
	else
		fprintf(c->out, "%*s", (int)(widths[column] - strlen(cell) + COLUMN_GAP), "");
}

void render_list(const struct ctl *c, const cJSON *answer)
{
	const cJSON *units = cJSON_GetObjectItemCaseSensitive(answer, "units");
	size_t widths[COLUMNS_MAX] = {0};
	const cJSON *unit;
	char cell[CELL_SIZE];

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
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		widths[i] = width_of(c, &columns[i], units);
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (is_shown(c, i))
			print_cell(c, i, columns[i].title, widths);
	cJSON_ArrayForEach (unit, units) {
		for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
			if (!is_shown(c, i))
				continue;
			fill_cell(c, &columns[i], unit, cell);
			print_cell(c, i, cell, widths);
		}
	}
}

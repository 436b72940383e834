// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <string.h>

#define CELL_SIZE   120
#define COLUMN_GAP  2
#define COLUMNS_MAX 16

struct column {
	const char *title;
	bool wide; /* only with -o wide */
	void (*print)(const struct ctl *c, const cJSON *unit, char *cell);
};

static const char *list_amount(const cJSON *unit, enum resource which, const char *key, char *ret)
{
	const cJSON *r = json_object(unit, which == RESOURCE_CPU ? "cpu" : "memory");

	return human_amount(which, json_amount(r, key), ret);
}

static void cell_name(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	snprintf(cell, CELL_SIZE, "%s", json_text(unit, "name"));
}

static void cell_kind(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	snprintf(cell, CELL_SIZE, "%s", json_text(unit, "kind"));
}

static void cell_mode(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	snprintf(cell, CELL_SIZE, "%s", json_text(unit, "mode"));
}

static void print_pair(const cJSON *unit, enum resource which, char *cell)
{
	const cJSON *r = json_object(unit, which == RESOURCE_CPU ? "cpu" : "memory");
	/* What is in force: systemd's headroom may stand above what vscaled decided. */
	const char *key = json_amount(r, "kernel") != VIEW_NONE ? "kernel" : "limit";
	char use[HUMAN_SIZE], limit[HUMAN_SIZE];

	snprintf(cell, CELL_SIZE, "%s / %s", list_amount(unit, which, "use", use),
		 list_amount(unit, which, key, limit));
}

static void cell_cpu(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	print_pair(unit, RESOURCE_CPU, cell);
}

static void cell_memory(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	print_pair(unit, RESOURCE_MEMORY, cell);
}

static void print_both(const cJSON *unit, const char *key, char *cell)
{
	char cpu[HUMAN_SIZE], memory[HUMAN_SIZE];

	snprintf(cell, CELL_SIZE, "%s, %s", list_amount(unit, RESOURCE_CPU, key, cpu),
		 list_amount(unit, RESOURCE_MEMORY, key, memory));
}

static void cell_original(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	print_both(unit, "original", cell);
}

static void cell_target(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	print_both(unit, "target", cell);
}

static void cell_peak(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	print_both(unit, "peak", cell);
}

/* The later of the two resources' last changes. */
static void cell_last(const struct ctl *c, const cJSON *unit, char *cell)
{
	const cJSON *cpu = json_object(json_object(unit, "cpu"), "last");
	const cJSON *memory = json_object(json_object(unit, "memory"), "last");
	bool is_cpu = json_time(cpu, "at") >= json_time(memory, "at");
	const cJSON *last = is_cpu ? cpu : memory;
	enum resource which = is_cpu ? RESOURCE_CPU : RESOURCE_MEMORY;
	char from[HUMAN_SIZE], to[HUMAN_SIZE], ago[HUMAN_SIZE];

	if (!last) {
		snprintf(cell, CELL_SIZE, "-");
		return;
	}
	snprintf(cell, CELL_SIZE, "%s %s -> %s, %s", is_cpu ? "cpu" : "memory",
		 human_amount(which, json_amount(last, "from"), from),
		 human_amount(which, json_amount(last, "to"), to),
		 render_ago(c, json_time(last, "at"), ago));
}

static void cell_state(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	snprintf(cell, CELL_SIZE, "%s", json_text(unit, "state"));
}

/* Permille as percent, "-" when not known. */
static const char *list_percent(const cJSON *unit, enum resource which, const char *key, char *ret)
{
	const cJSON *r = json_object(unit, which == RESOURCE_CPU ? "cpu" : "memory");
	uint64_t permille = json_amount(r, key);

	if (permille > 1000)
		snprintf(ret, HUMAN_SIZE, "-");
	else
		snprintf(ret, HUMAN_SIZE, "%.0f %%", (double)permille / 10);
	return ret;
}

static void cell_confidence(const struct ctl *c, const cJSON *unit, char *cell)
{
	static const char key[] = "confidence_permille";
	char cpu[HUMAN_SIZE], memory[HUMAN_SIZE];

	(void)c;
	snprintf(cell, CELL_SIZE, "%s, %s", list_percent(unit, RESOURCE_CPU, key, cpu),
		 list_percent(unit, RESOURCE_MEMORY, key, memory));
}

static void cell_throttled(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	list_percent(unit, RESOURCE_CPU, "throttled_permille", cell);
}

static void cell_blocked(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	snprintf(cell, CELL_SIZE, "%.50s, %.50s", json_text(json_object(unit, "cpu"), "hold"),
		 json_text(json_object(unit, "memory"), "hold"));
}

static void cell_cgroup(const struct ctl *c, const cJSON *unit, char *cell)
{
	(void)c;
	snprintf(cell, CELL_SIZE, "%s", json_text(unit, "cgroup"));
}

/* clang-format off */
static const struct column columns[] = {
	{"NAME",             false, cell_name},
	{"KIND",             true,  cell_kind},
	{"MODE",             false, cell_mode},
	{"CPU use/limit",    false, cell_cpu},
	{"MEMORY use/limit", false, cell_memory},
	{"ORIGINAL",         false, cell_original},
	{"TARGET",           true,  cell_target},
	{"PEAK",             true,  cell_peak},
	{"CONFIDENCE",       true,  cell_confidence},
	{"THROTTLED",        true,  cell_throttled},
	{"HOLD",             true,  cell_blocked},
	{"LAST CHANGE",      false, cell_last},
	{"STATE",            false, cell_state},
	{"CGROUP",           true,  cell_cgroup},
};
/* clang-format on */

_Static_assert(ARRAY_SIZE(columns) <= COLUMNS_MAX, "widths[] is too short");

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
		column->print(c, unit, cell);
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
	bool is_state = columns[column].print == cell_state;
	enum paint p = is_state ? paint_state(cell) : PAINT_NONE;

	fprintf(c->out, "%s%s%s", paint_on(c, p), cell, paint_off(c, p));
	if (column == last_shown(c))
		fputc('\n', c->out);
	else
		fprintf(c->out, "%*s", (int)(widths[column] - strlen(cell) + COLUMN_GAP), "");
}

void render_list(const struct ctl *c, const cJSON *units)
{
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
			columns[i].print(c, unit, cell);
			print_cell(c, i, cell, widths);
		}
	}
}

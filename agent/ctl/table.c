// SPDX-License-Identifier: Apache-2.0
#include "agent/ctl/render.h"
#include <string.h>

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

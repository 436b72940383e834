// SPDX-License-Identifier: Apache-2.0
/* A bar per column, its height in eighths of a row; the limit is a line across the bars. */
#include "agent/view/chart.h"
#include "agent/view/human.h"
#include <math.h>
#include <string.h>

#define AXIS    11 /* columns of the left axis */
#define EIGHTHS 8

static const char *const bars[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

const char *chart_cores(double cores, char *ret)
{
	snprintf(ret, HUMAN_SIZE, "%.2f", cores);
	return ret;
}

/* Of the points behind one column: the highest use, the newest limit. */
struct column {
	double use, limit;
	bool mark;
};

static struct column column_of(const struct chart *c, size_t from, size_t to)
{
	struct column ret = {.use = NAN, .limit = NAN};

	for (size_t i = from; i < to; i++) {
		ret.use = fmax(ret.use, c->use[i]);
		if (!isnan(c->limit[i]))
			ret.limit = c->limit[i];
		ret.mark |= c->marks != NULL && c->marks[i];
	}
	return ret;
}

static struct column column_at(const struct chart *c, unsigned at, unsigned columns)
{
	size_t from = c->count * at / columns, to = c->count * (at + 1) / columns;

	return column_of(c, from, MAX(to, from + 1));
}

/* row: 0 is the lowest. */
static const char *cell(const struct column *c, unsigned row, unsigned rows, double most,
			bool ascii)
{
	double eighths = isnan(c->use) ? 0 : ceil(c->use / most * rows * EIGHTHS);
	double above = eighths - (double)row * EIGHTHS;
	unsigned filled = above <= 0 ? 0 : above >= EIGHTHS ? EIGHTHS : (unsigned)above;
	bool limit = !isnan(c->limit) && row == MIN((unsigned)(c->limit / most * rows), rows - 1);

	if (limit && filled < EIGHTHS)
		return ascii ? "-" : "─";
	if (ascii)
		return filled > EIGHTHS / 2 ? "#" : filled > 0 ? "." : " ";
	return bars[filled];
}

static void put_scale(const struct chart *c, unsigned row, unsigned rows, double most, bool ascii,
		      FILE *out)
{
	char text[HUMAN_SIZE] = "";

	if (row == rows - 1)
		c->text(most, text);
	else if (row == 0)
		c->text(0, text);
	fprintf(out, "%*s %s", AXIS - 2, text, ascii ? "|" : "│");
}

static void put_bottom(const struct chart *c, unsigned columns, bool ascii, FILE *out)
{
	char span[HUMAN_SIZE];

	fprintf(out, "%*s%s", AXIS - 1, "", ascii ? "+" : "└");
	for (unsigned i = 0; i < columns; i++) {
		struct column at = column_at(c, i, columns);

		fputs(at.mark ? (ascii ? "!" : "╂") : ascii ? "-" : "─", out);
	}
	human_span((usec_t)(c->hours * USEC_PER_HOUR), span);
	fprintf(out, "\n%*s-%s%*s\n", AXIS, "", span, (int)(columns - strlen(span) - 1), c->end);
}

void chart_print(const struct chart *c, unsigned columns, unsigned rows, bool ascii, FILE *out)
{
	unsigned plot = columns - AXIS;
	double most = chart_most(c);

	fprintf(out, "%s\n", c->title);
	for (unsigned row = rows; row-- > 0;) {
		put_scale(c, row, rows, most, ascii, out);
		for (unsigned i = 0; i < plot; i++) {
			struct column at = column_at(c, i, plot);

			fputs(cell(&at, row, rows, most, ascii), out);
		}
		fputc('\n', out);
	}
	put_bottom(c, plot, ascii, out);
}

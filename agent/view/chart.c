// SPDX-License-Identifier: Apache-2.0
#include "agent/view/chart.h"
#include "agent/view/view.h"
#include <math.h>
#include <string.h>

/* A bar per column, its height in eighths of a row; the limit is a line across the bars. */

#define AXIS    11 /* columns of the left axis */
#define EIGHTHS 8

static const char *const bars[EIGHTHS + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

const char *chart_cores(double cores, char *ret)
{
	snprintf(ret, HUMAN_SIZE, "%.2f", cores);
	return ret;
}

const char *chart_bytes(double bytes, char *ret)
{
	return human_amount(RESOURCE_MEMORY, (uint64_t)bytes, ret);
}

/* Of the points behind one column: the highest use, the newest limit. */
struct column {
	double use, limit;
	bool mark;
};

static struct column column_at(const struct chart *c, unsigned at, unsigned columns)
{
	struct column ret = {.use = NAN, .limit = NAN};
	size_t from = c->count * at / columns, to = c->count * (at + 1) / columns;

	for (size_t i = from; i < MAX(to, from + 1); i++) {
		ret.use = fmax(ret.use, c->use[i]);
		if (!isnan(c->limit[i]))
			ret.limit = c->limit[i];
		ret.mark |= c->marks != NULL && c->marks[i];
	}
	return ret;
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

/* What is the top of the left axis: the highest value, or a little more than nothing. */
static double chart_most(const struct chart *c)
{
	double most = 0.01;

	for (size_t i = 0; i < c->count; i++)
		most = fmax(most, fmax(c->use[i], c->limit[i]));
	return most;
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

#define WIDTH  900
#define HEIGHT 150
#define LEFT   60
#define TOP    10
#define BOTTOM 20
#define PLOT   (HEIGHT - TOP - BOTTOM)

void chart_escape(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		const char *name = *text == '<'   ? "&lt;"
				   : *text == '>' ? "&gt;"
				   : *text == '&' ? "&amp;"
						  : NULL;

		if (name != NULL)
			fputs(name, out);
		else
			fputc(*text, out);
	}
}

void chart_page_begin(const char *title, FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
	chart_escape(title, out);
	fputs("</title>\n<style>\n"
	      ":root { color-scheme: light dark; --text: #222; --back: #fff; --grid: #ddd; "
	      "--use: #b8c7d9; --mean: #6f8fb3; --limit: #c0392b; --mark: #8e44ad }\n"
	      "@media (prefers-color-scheme: dark) { :root { --text: #ddd; --back: #1b1b1b; "
	      "--grid: #444; --use: #3d566e; --mean: #6f8fb3; --limit: #ff7966; --mark: #c39bd3 } "
	      "}\n"
	      "body { font: 14px/1.4 sans-serif; color: var(--text); background: var(--back); "
	      "max-width: 960px; margin: 1em auto; padding: 0 1em }\n"
	      "pre { overflow-x: auto; font-size: 12px }\n"
	      "svg { width: 100%; height: auto; display: block; margin-bottom: 1em }\n"
	      "svg text { font-size: 11px; fill: var(--text) }\n"
	      "h3 { margin: 0; font-size: 14px }\n"
	      "</style></head><body>\n<h1>",
	      out);
	chart_escape(title, out);
	fputs("</h1>\n<p><span style=\"color: var(--use)\">&#9632;</span> use (of a backtest the "
	      "highest demand of single periods) "
	      "<span style=\"color: var(--mean)\">&#9632;</span> mean use "
	      "<span style=\"color: var(--limit)\">&#9632;</span> limit "
	      "<span style=\"color: var(--mark)\">&#9632;</span> throttled, OOM-killed</p>\n",
	      out);
}

void chart_page_end(FILE *out)
{
	fputs("</body></html>\n", out);
}

static double x_of(const struct chart *c, size_t point)
{
	return LEFT + (double)point * (WIDTH - LEFT) / (double)c->count;
}

static double y_of(double value, double most)
{
	return TOP + PLOT * (1 - value / most);
}

static void put_axes(const struct chart *c, double most, FILE *out)
{
	char text[HUMAN_SIZE];

	for (int i = 0; i <= 2; i++) {
		double y = y_of(most * i / 2, most);

		fprintf(out,
			"<path d=\"M%d %.1fH%d\" stroke=\"var(--grid)\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			LEFT, y, WIDTH, LEFT - 6, y + 4, c->text(most * i / 2, text));
	}
	for (int i = 0; i <= 4; i++)
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%s</text>\n",
			LEFT + (double)(WIDTH - LEFT) * i / 4, HEIGHT - 4,
			i == 0   ? "start"
			: i == 4 ? "end"
				 : "middle",
			i == 0 ? "0"
			       : human_span((usec_t)(c->hours * i / 4 * (double)USEC_PER_HOUR),
					    text));
}

static void put_area(const struct chart *c, const double *values, const char *color, double most,
		     FILE *out)
{
	fprintf(out, "<path fill=\"var(--%s)\" d=\"M%d %d", color, LEFT, TOP + PLOT);
	for (size_t i = 0; i < c->count; i++)
		if (!isnan(values[i]))
			fprintf(out, "L%.1f %.1f", x_of(c, i), y_of(values[i], most));
	fprintf(out, "V%dZ\"/>\n", TOP + PLOT);
}

/* Broken where there is none. */
static void put_limit(const struct chart *c, double most, FILE *out)
{
	bool on = false;

	fputs("<path fill=\"none\" stroke=\"var(--limit)\" d=\"", out);
	for (size_t i = 0; i < c->count; i++) {
		if (!isnan(c->limit[i]))
			fprintf(out, "%c%.1f %.1f", on ? 'L' : 'M', x_of(c, i),
				y_of(c->limit[i], most));
		on = !isnan(c->limit[i]);
	}
	fputs("\"/>\n", out);
}

static void put_marks(const struct chart *c, FILE *out)
{
	fputs("<path stroke=\"var(--mark)\" stroke-width=\"2\" d=\"", out);
	for (size_t i = 0; c->marks != NULL && i < c->count; i++)
		if (c->marks[i])
			fprintf(out, "M%.1f %dv6", x_of(c, i), TOP + PLOT);
	fputs("\"/>\n", out);
}

void chart_svg(const struct chart *c, FILE *out)
{
	double most = chart_most(c);

	fputs("<h3>", out);
	chart_escape(c->title, out);
	fprintf(out, "</h3>\n<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
	chart_escape(c->title, out);
	fputs(": use and limit</title>\n", out);
	put_axes(c, most, out);
	put_area(c, c->use, "use", most, out);
	if (c->mean != NULL)
		put_area(c, c->mean, "mean", most, out);
	put_limit(c, most, out);
	put_marks(c, out);
	fputs("</svg>\n", out);
}

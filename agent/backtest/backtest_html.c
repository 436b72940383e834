// SPDX-License-Identifier: Apache-2.0
#include "agent/backtest/backtest_html.h"

#define WIDTH  900
#define HEIGHT 150
#define LEFT   60
#define TOP    10
#define BOTTOM 20
#define PLOT   (HEIGHT - TOP - BOTTOM)

static void put_escaped(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		switch (*text) {
		case '<':
			fputs("&lt;", out);
			break;
		case '>':
			fputs("&gt;", out);
			break;
		case '&':
			fputs("&amp;", out);
			break;
		default:
			fputc(*text, out);
		}
	}
}

void backtest_html_begin(FILE *out)
{
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
	      "<title>vscalectl backtest</title>\n<style>\n"
	      ":root { color-scheme: light dark; --text: #222; --back: #fff; --grid: #ddd; "
	      "--use: #b8c7d9; --limit: #c0392b; --throttled: #8e44ad }\n"
	      "@media (prefers-color-scheme: dark) { :root { --text: #ddd; --back: #1b1b1b; "
	      "--grid: #444; --use: #3d566e; --limit: #ff7966; --throttled: #c39bd3 } }\n"
	      "body { font: 14px/1.4 sans-serif; color: var(--text); background: var(--back); "
	      "max-width: 960px; margin: 1em auto; padding: 0 1em }\n"
	      "pre { overflow-x: auto; font-size: 12px }\n"
	      "svg { width: 100%; height: auto; display: block; margin-bottom: 1em }\n"
	      "svg text { font-size: 11px; fill: var(--text) }\n"
	      "h3 { margin: 0; font-size: 14px }\n"
	      "</style></head><body>\n<h1>What each policy would have cost</h1>\n"
	      "<p>Filled: the highest demand of single periods of 100 ms. Line: the CPU limit. "
	      "Marks at the bottom: throttled periods.</p>\n",
	      out);
}

void backtest_html_end(FILE *out)
{
	fputs("</body></html>\n", out);
}

/* ---- one chart ---- */

static double demand_cores(const struct backtest_point *p)
{
	return (double)p->demand_max_usec / BACKTEST_PERIOD_USEC;
}

static double limit_cores(const struct backtest_point *p)
{
	return p->periods == 0 ? 0 : (double)p->limit_milli / p->periods / 1000;
}

static double most_cores(const struct backtest_result *x)
{
	double most = 0.01;

	for (size_t i = 0; i < BACKTEST_POINTS; i++)
		most = MAX(most, MAX(demand_cores(&x->point[i]), limit_cores(&x->point[i])));
	return most;
}

static double x_of(size_t point)
{
	return LEFT + (double)point * (WIDTH - LEFT) / BACKTEST_POINTS;
}

static double y_of(double cores, double most)
{
	return TOP + PLOT * (1 - cores / most);
}

static void put_axes(const struct backtest_result *x, double most, FILE *out)
{
	const double hours = (double)x->span_usec / (double)USEC_PER_HOUR;

	for (int i = 0; i <= 2; i++) {
		double y = y_of(most * i / 2, most);

		fprintf(out,
			"<path d=\"M%d %.1fH%d\" stroke=\"var(--grid)\"/>"
			"<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.2f</text>\n",
			LEFT, y, WIDTH, LEFT - 6, y + 4, most * i / 2);
	}
	for (int i = 0; i <= 4; i++)
		fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">%.1f h</text>\n",
			LEFT + (double)(WIDTH - LEFT) * i / 4, HEIGHT - 4,
			i == 0   ? "start"
			: i == 4 ? "end"
				 : "middle",
			hours * i / 4);
}

static void put_curves(const struct backtest_result *x, double most, FILE *out)
{
	fprintf(out, "<path fill=\"var(--use)\" d=\"M%d %d", LEFT, TOP + PLOT);
	for (size_t i = 0; i < BACKTEST_POINTS; i++)
		fprintf(out, "L%.1f %.1f", x_of(i), y_of(demand_cores(&x->point[i]), most));
	fprintf(out, "V%dZ\"/>\n<polyline fill=\"none\" stroke=\"var(--limit)\" points=\"",
		TOP + PLOT);
	for (size_t i = 0; i < BACKTEST_POINTS; i++)
		if (x->point[i].periods > 0)
			fprintf(out, "%.1f,%.1f ", x_of(i), y_of(limit_cores(&x->point[i]), most));
	fputs("\"/>\n<path stroke=\"var(--throttled)\" stroke-width=\"2\" d=\"", out);
	for (size_t i = 0; i < BACKTEST_POINTS; i++)
		if (x->point[i].throttled > 0)
			fprintf(out, "M%.1f %dv6", x_of(i), TOP + PLOT);
	fputs("\"/>\n", out);
}

static void put_chart(const char *policy, const struct backtest_result *x, FILE *out)
{
	double most = most_cores(x);

	fprintf(out,
		"<h3>%s</h3>\n<svg viewBox=\"0 0 %d %d\" role=\"img\"><title>%s: CPU limit and "
		"demand "
		"in cores</title>\n",
		policy, WIDTH, HEIGHT, policy);
	put_axes(x, most, out);
	put_curves(x, most, out);
	fputs("</svg>\n", out);
}

void backtest_html_report(const struct backtest_report *r, FILE *out)
{
	OWN(drop_free) char *table = NULL;
	size_t size;
	FILE *text = open_memstream(&table, &size);

	if (text != NULL) {
		backtest_report_table(r, text);
		fclose(text);
	}
	fputs("<h2>", out);
	put_escaped(r->file, out);
	fputs("</h2>\n<pre>", out);
	put_escaped(table != NULL ? table : "", out);
	fputs("</pre>\n", out);
	for (int p = 0; p < BACKTEST_POLICY_COUNT; p++)
		put_chart(backtest_policy_names[p], &r->result[p], out);
}

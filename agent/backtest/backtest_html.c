// SPDX-License-Identifier: Apache-2.0
#include "agent/backtest/backtest_html.h"
#include "agent/view/chart.h"
#include "agent/view/human.h"
#include <math.h>

void backtest_html_begin(FILE *out)
{
	chart_page_begin(
		"What each policy would have cost",
		"Filled: the highest demand of single periods of 100 ms, in cores; dark: "
		"the mean demand. Line: the CPU limit. Marks at the bottom: throttled periods.",
		out);
}

void backtest_html_end(FILE *out)
{
	chart_page_end(out);
}

static double mean_cores(const struct backtest_point *p)
{
	return p->periods == 0 ? NAN : (double)p->demand_usec / p->periods / BACKTEST_PERIOD_USEC;
}

static double limit_cores(const struct backtest_point *p)
{
	return p->periods == 0 ? NAN : (double)p->limit_milli / p->periods / 1000;
}

static void put_chart(const char *policy, const struct backtest_result *x, FILE *out)
{
	double use[BACKTEST_POINTS], mean[BACKTEST_POINTS], limit[BACKTEST_POINTS];
	bool throttled[BACKTEST_POINTS];

	for (size_t i = 0; i < BACKTEST_POINTS; i++) {
		const struct backtest_point *p = &x->point[i];

		use[i] = (double)p->demand_max_usec / BACKTEST_PERIOD_USEC;
		mean[i] = mean_cores(p);
		limit[i] = limit_cores(p);
		throttled[i] = p->throttled > 0;
	}
	chart_svg(&(struct chart){.title = policy,
				  .use = use,
				  .mean = mean,
				  .limit = limit,
				  .marks = throttled,
				  .count = BACKTEST_POINTS,
				  .hours = (double)x->span_usec / (double)USEC_PER_HOUR,
				  .text = chart_cores},
		  out);
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
	chart_escape(r->file, out);
	fputs("</h2>\n<pre>", out);
	chart_escape(table != NULL ? table : "", out);
	fputs("</pre>\n", out);
	for (int p = 0; p < BACKTEST_POLICY_COUNT; p++)
		put_chart(backtest_policy_names[p], &r->result[p], out);
}

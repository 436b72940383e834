// SPDX-License-Identifier: Apache-2.0
/* vscale-backtest: reads the files, runs the policies over each, prints. */
#include "agent/backtest/backtest_report.h"
#include "agent/base/json.h"
#include "agent/ctl/render.h"
#include "agent/prometheus/prometheus.h"
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static_assert(CTL_CPUS_MAX == BACKTEST_CPUS_MAX, "ctl.h");

#define FILE_MAX           (GIB)
#define PROGRESS_FRESH_SEC 1

struct screen_progress {
	const struct ctl *c;
	int number; /* of the file, from 0 on */
	time_t shown;
};

static void show_progress(void *user, const char *policy, uint32_t permille)
{
	struct screen_progress *p = user;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec - p->shown < PROGRESS_FRESH_SEC)
		return;
	p->shown = now.tv_sec;
	fputs("\r\033[K", p->c->err);
	if (p->c->argument_count > 1)
		fprintf(p->c->err, "%d of %d, ", p->number + 1, p->c->argument_count);
	fprintf(p->c->err, "%s: %u %% (%s)", p->c->arguments[p->number], permille / 10, policy);
	fflush(p->c->err);
}

/* The answer of a range query, of CPU in cores. The bounds are those of CSV. */
static int load_answer(const struct ctl *c, const char *file, const char *text, size_t size,
		       struct series *ret)
{
	OWN(drop_free) struct past_sample *samples = NULL;
	struct prometheus_error err = {""};
	struct series_error e;
	struct series s = {0};
	char *csv = NULL;
	size_t count, csv_size;
	FILE *out;
	int r = prometheus_parse(text, size, &samples, &count, &err);

	if (r < 0)
		return ctl_fail(c, CTL_ERROR,
				"it must be the JSON of Prometheus' /api/v1/query_range for one "
				"series, in cores",
				"%s: %s", file, err.text[0] != '\0' ? err.text : strerror(-r));
	out = open_memstream(&csv, &csv_size);
	if (out == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(ENOMEM));
	fputs("time,cpu_cores\n", out);
	for (size_t i = 0; i < count; i++)
		fprintf(out, "%.3f,%.6f\n", (double)samples[i].at_real / USEC_PER_SEC,
			samples[i].value);
	fclose(out);
	r = series_parse(csv, csv_size, c->cpus, &s, &e);
	free(csv);
	if (r < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: sample %zu: %s", file,
				e.line > 1 ? e.line - 1 : 0, e.what);
	*ret = s;
	return CTL_OK;
}

static int load(const struct ctl *c, const char *file, struct series *ret)
{
	OWN(drop_free) char *text = NULL;
	struct series_error e;
	size_t size;
	int r = ctl_read_file(file, FILE_MAX, &text, &size);

	if (r == 0 && size > 0 && text[0] == '{')
		return load_answer(c, file, text, size, ret);
	if (r == 0)
		r = series_parse(text, size, c->cpus, ret, &e);
	if (r == -EBADMSG)
		return ctl_fail(c, CTL_ERROR, NULL, "%s:%zu: %s", file, e.line, e.what);
	if (r < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r));
	return CTL_OK;
}

static int run_file(const struct ctl *c, int number, struct backtest_report *ret)
{
	const char *file = c->arguments[number];
	struct screen_progress p = {.c = c, .number = number};
	bool terminal = isatty(fileno(c->err));
	char span[HUMAN_SIZE];
	struct series s = {0};
	struct backtest_trace t;
	int r = load(c, file, &s);

	if (r != CTL_OK)
		return r;
	if (s.gaps > 0)
		fprintf(c->err,
			"%s: left out %s without a sample (gaps of more than a day: %zu)%s\n", file,
			human_span(s.left_out_usec, span), s.gaps,
			s.lone > 0 ? ", and one sample alone before them" : "");
	t = (struct backtest_trace){
		.samples = s.samples,
		.count = s.count,
		.memory = s.memory,
		.cpus = c->cpus != 0 ? c->cpus : BACKTEST_CPUS_MAX,
		.seed = c->seed,
	};
	r = backtest_report_run(file, &t, terminal ? show_progress : NULL, &p, ret);
	if (p.shown != 0)
		fputs("\r\033[K", c->err);
	/* The report borrows the samples for its run alone. */
	ret->trace.samples = NULL;
	series_drop(&s);
	return r < 0 ? ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r)) : CTL_OK;
}

static int print_table(const struct ctl *c)
{
	int r = CTL_OK;

	for (int i = 0; r == CTL_OK && i < c->argument_count; i++) {
		struct backtest_report report = {0};

		r = run_file(c, i, &report);
		if (r == CTL_OK && i > 0)
			fputc('\n', c->out);
		if (r == CTL_OK)
			backtest_report_table(&report, c->out);
	}
	return r;
}

/* One array: nothing is printed unless every file could be run. */
static int print_json(const struct ctl *c)
{
	OWN(drop_json) cJSON *list = cJSON_CreateArray();
	int r = CTL_OK;

	for (int i = 0; r == CTL_OK && i < c->argument_count; i++) {
		struct backtest_report report = {0};

		r = run_file(c, i, &report);
		if (r == CTL_OK && !cJSON_AddItemToArray(list, backtest_report_json(&report)))
			r = ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(ENOMEM));
	}
	return r == CTL_OK ? json_print(c, STEAL(list)) : r;
}

static int print_html(const struct ctl *c)
{
	int r = CTL_OK;

	backtest_html_begin(c->out);
	for (int i = 0; r == CTL_OK && i < c->argument_count; i++) {
		struct backtest_report report = {0};

		r = run_file(c, i, &report);
		if (r == CTL_OK)
			backtest_html_report(&report, c->out);
	}
	backtest_html_end(c->out);
	return r;
}

static int backtest(const struct ctl *c)
{
	switch (c->output) {
	case OUTPUT_TABLE:
		return print_table(c);
	case OUTPUT_HTML:
		return print_html(c);
	default:
		return print_json(c);
	}
}

const struct ctl_command backtest_commands[] = {
	{"backtest", "FILE...", "what each policy would have cost on recorded use",
	 OPTION_OUTPUT | OPTION_BACKTEST | OPTION_PAGE, 1, INT_MAX, backtest},
	{0},
};

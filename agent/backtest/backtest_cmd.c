// SPDX-License-Identifier: Apache-2.0
/* vscale-backtest: reads the files, runs the policies over each, prints. */
#include "agent/backtest/backtest_report.h"
#include "agent/base/json.h"
#include "agent/ctl/render.h"
#include "agent/view/chart.h"
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
	const char *name;
	int number; /* of the argument, from 0 on */
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
	fprintf(p->c->err, "%s: %u %% (%s)", p->name, permille / 10, policy);
	fflush(p->c->err);
}

/* One series of a range query's answer. What is no number is refused by series_parse(). */
static void put_series(const cJSON *series, FILE *out)
{
	const cJSON *labels = cJSON_GetObjectItemCaseSensitive(series, "metric"), *pair;
	char *name = cJSON_GetArraySize(labels) > 0 ? cJSON_PrintUnformatted(labels) : NULL;

	/* They would end the field. */
	for (char *to = name, *from = name; from != NULL && (*to = *from) != '\0'; from++)
		to += *to != '"';
	cJSON_ArrayForEach (pair, cJSON_GetObjectItemCaseSensitive(series, "values"))
		fprintf(out, "%.3f\t%s\t%s\n", cJSON_GetNumberValue(cJSON_GetArrayItem(pair, 0)),
			name ?: "", cJSON_GetStringValue(cJSON_GetArrayItem(pair, 1)) ?: "?");
	cJSON_free(name);
}

/* Why it is not the answer of a range query, borrowed; NULL: it is, or that is not known. */
static const char *fault_of(const cJSON *root, const cJSON *data, const cJSON *result)
{
	const char *error = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, "error"));
	const char *type =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(data, "resultType"));
	const cJSON *series;

	if (error != NULL || (type != NULL && strcmp(type, "matrix") != 0))
		return error ?: type;
	cJSON_ArrayForEach (series, result)
		if (cJSON_HasObjectItem(series, "histograms"))
			return "histograms";
	return cJSON_IsArray(result) && cJSON_GetArraySize(result) == 0 ? "no series" : NULL;
}

/* The answer of a range query as CSV, owned. */
static int answer_to_csv(const struct ctl *c, const char *file, const struct span *text, char **ret)
{
	OWN(drop_json) cJSON *root = NULL;
	struct scan_error fault;
	bool ok = json_parse(text->s, text->len, &root, &fault) == 0;
	const cJSON *data = json_object(root, "data"), *item;
	const cJSON *result = cJSON_GetObjectItemCaseSensitive(data, "result");
	const char *why;
	size_t size;
	FILE *out;

	json_remove_controls(root);
	why = fault_of(root, data, result);
	if (!ok || why != NULL || !cJSON_IsArray(result))
		return ctl_fail(
			c, CTL_ERROR,
			"it must be the JSON of Prometheus' /api/v1/query_range, in cores",
			"%s: it is not the answer of a Prometheus server to a range query%s%s",
			file, why != NULL ? ": " : "", why ?: "");
	cJSON_ArrayForEach (item, cJSON_GetObjectItemCaseSensitive(root, "warnings"))
		fprintf(c->err, "%s: the server warns: %s\n", file,
			cJSON_GetStringValue(item) ?: "?");
	out = open_memstream(ret, &size);
	if (out == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(errno));
	fputs("time\tseries\tcpu_cores\n", out);
	cJSON_ArrayForEach (item, result)
		put_series(item, out);
	fclose(out);
	return CTL_OK;
}

static int load(const struct ctl *c, const char *file, struct series_file *ret)
{
	OWN(drop_free) char *text = NULL, *csv = NULL;
	struct series_error e;
	size_t size;
	int r = ctl_read_file(file, FILE_MAX, &text, &size);

	if (r < 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r));
	text[size] = '\0';
	if (text[strspn(text, "\xef\xbb\xbf \t\r\n")] == '{')
		r = answer_to_csv(c, file, &(struct span){text, size}, &csv);
	if (r != CTL_OK)
		return r;
	r = series_parse(csv != NULL ? csv : text, c->cpus, ret, &e);
	if (r == -EBADMSG && csv != NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "%s: sample %zu: %s", file,
				e.line > 1 ? e.line - 1 : 0, e.what);
	if (r == -EBADMSG)
		return ctl_fail(c, CTL_ERROR, NULL, "%s:%zu: %s", file, e.line, e.what);
	return r < 0 ? ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r)) : CTL_OK;
}

/* What of a file is not used as it stands there. */
static void tell_left_out(const struct ctl *c, const char *file, const struct series_file *f)
{
	char span[HUMAN_SIZE];

	if (f->unused[0] != '\0')
		fprintf(c->err, "%s: columns that are not used: %s\n", file, f->unused);
	if (f->empty > 0)
		fprintf(c->err, "%s: empty cells in %zu lines: the value before holds\n", file,
			f->empty);
	if (f->too_short > 0)
		fprintf(c->err, "%s: left out %zu series of fewer than two samples\n", file,
			f->too_short);
	for (size_t i = 0; i < f->count; i++)
		if (f->series[i].gaps > 0)
			fprintf(c->err, "%s: left out %s without a sample (gaps: %zu)%s\n", file,
				human_span(f->series[i].left_out_usec, span), f->series[i].gaps,
				f->series[i].lone > 0 ? ", and one sample alone before them" : "");
}

typedef int show_fn(const struct ctl *c, const struct backtest_report *r, void *user);

static int run_series(struct screen_progress *p, const struct series *s, bool memory,
		      struct backtest_report *ret)
{
	const struct ctl *c = p->c;
	const struct backtest_trace t = {
		.samples = s->samples,
		.count = s->count,
		.memory = memory,
		.cpus = c->cpus != 0 ? c->cpus : BACKTEST_CPUS_MAX,
		.seed = c->seed,
	};
	int r = backtest_report_run(p->name, &t, isatty(fileno(c->err)) ? show_progress : NULL, p,
				    ret);

	if (p->shown != 0)
		fputs("\r\033[K", c->err);
	/* The report borrows the samples for its run alone. */
	ret->trace.samples = NULL;
	return r < 0 ? ctl_fail(c, CTL_ERROR, NULL, "%s: %s", p->name, strerror(-r)) : CTL_OK;
}

static int run_file(const struct ctl *c, int number, show_fn *show, void *user)
{
	const char *file = c->arguments[number];
	struct series_file f = {0};
	int r = load(c, file, &f);

	if (r == CTL_OK)
		tell_left_out(c, file, &f);
	for (size_t i = 0; r == CTL_OK && i < f.count; i++) {
		OWN(drop_free) char *name = NULL;
		struct screen_progress p = {.c = c, .number = number};
		struct backtest_report report = {0};

		if (asprintf(&name, "%s%s%s", file, f.series[i].name[0] != '\0' ? ": " : "",
			     f.series[i].name) < 0)
			name = NULL;
		p.name = name != NULL ? name : file;
		r = run_series(&p, &f.series[i], f.memory, &report);
		if (r == CTL_OK)
			r = show(c, &report, user);
	}
	series_drop(&f);
	return r;
}

static int run_files(const struct ctl *c, show_fn *show, void *user)
{
	int r = CTL_OK;

	for (int i = 0; r == CTL_OK && i < c->argument_count; i++)
		r = run_file(c, i, show, user);
	return r;
}

static int show_table(const struct ctl *c, const struct backtest_report *r, void *)
{
	backtest_report_table(r, c->out);
	fputc('\n', c->out);
	return CTL_OK;
}

static int show_page(const struct ctl *c, const struct backtest_report *r, void *)
{
	backtest_html_report(r, c->out);
	return CTL_OK;
}

static int add_json(const struct ctl *c, const struct backtest_report *r, void *list)
{
	return cJSON_AddItemToArray(list, backtest_report_json(r))
		       ? CTL_OK
		       : ctl_fail(c, CTL_ERROR, NULL, "%s", strerror(ENOMEM));
}

static int backtest(const struct ctl *c)
{
	OWN(drop_json) cJSON *list = NULL;
	int r;

	switch (c->output) {
	case OUTPUT_TABLE:
		r = run_files(c, show_table, NULL);
		if (r == CTL_OK)
			backtest_legend(c->out);
		return r;
	case OUTPUT_HTML:
		chart_page_begin("What each policy would have cost", c->out);
		r = run_files(c, show_page, NULL);
		backtest_html_end(c->out);
		return r;
	default:
		/* One array: nothing is printed unless every file could be run. */
		list = cJSON_CreateArray();
		r = run_files(c, add_json, list);
		return r == CTL_OK ? json_print(c, STEAL(list)) : r;
	}
}

const struct ctl_command backtest_commands[] = {
	{"backtest", "FILE...", "what each policy would have cost on recorded use",
	 OPTION_OUTPUT | OPTION_BACKTEST | OPTION_PAGE, 1, INT_MAX, backtest},
	{0},
};

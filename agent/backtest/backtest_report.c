// SPDX-License-Identifier: Apache-2.0
#include "agent/backtest/backtest_report.h"
#include "agent/view/chart.h"
#include "agent/view/view.h"
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <threads.h>

#define CORE_HOUR ((double)USEC_PER_HOUR)
#define GIB_HOUR  ((double)GIB * 3600)

/* For people. */
static const char *const policy_notes[BACKTEST_POLICY_COUNT] = {
	[BACKTEST_LATENCY] = "vscaled with goal latency: the fewest throttled periods",
	[BACKTEST_BALANCED] = "vscaled with goal balanced, the default",
	[BACKTEST_SAVINGS] = "vscaled with goal savings: the lowest limits",
	[BACKTEST_VPA] = "VPA 1.8: limit = request = its target, set in place when it would evict",
	[BACKTEST_STATIC_MAX] = "a fixed limit: the highest demand, known in advance",
	[BACKTEST_STATIC_P95] = "a fixed limit: the 95th percentile of demand, known in advance",
	[BACKTEST_CPU_FAST] = "every second twice the highest use of 20 s; CPU alone",
	[BACKTEST_CAPTAIN] = "Autothrottle's Captain, target 0.02; CPU alone",
	[BACKTEST_THRESHOLD] = "doubles a limit that is used above 80 % for 2 min",
};

/* The runs of one series, block by block: a thread takes the next policy until none is left. */
struct runs {
	struct backtest run[BACKTEST_POLICY_COUNT];
	struct backtest_block block;
	backtest_progress_fn *progress; /* called on the caller's thread alone; NULL: never */
	void *user;
	atomic_size_t taken; /* policies of this block */
};

static void run_rest(struct runs *r, bool tells)
{
	size_t p;

	while ((p = atomic_fetch_add(&r->taken, 1)) < BACKTEST_POLICY_COUNT) {
		backtest_run(&r->run[p], &r->block);
		if (tells)
			r->progress(r->user, backtest_policy_names[p],
				    (uint32_t)(r->run[p].periods * 1000 / r->run[p].periods_total));
	}
}

static int run_beside(void *runs)
{
	run_rest(runs, false);
	return 0;
}

/* On every CPU that this process may use. A thread that cannot be had is work for the others. */
static void run_block(struct runs *r)
{
	thrd_t beside[BACKTEST_POLICY_COUNT - 1];
	size_t count = 0;
	cpu_set_t cpus;

	r->taken = 0;
	CPU_ZERO(&cpus);
	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		while (count + 1 < (size_t)CPU_COUNT(&cpus) && count < ARRAY_SIZE(beside) &&
		       thrd_create(&beside[count], run_beside, r) == thrd_success)
			count++;
	run_rest(r, r->progress != NULL);
	while (count > 0)
		thrd_join(beside[--count], NULL);
}

int backtest_report_run(const char *file, const struct backtest_trace *t,
			backtest_progress_fn *progress, void *user, struct backtest_report *ret)
{
	struct backtest_report report = {.file = file, .trace = *t};
	OWN(drop_free) struct runs *runs = calloc(1, sizeof *runs);
	int r = runs != NULL ? backtest_find_oracle(&report.trace, &report.oracle) : -ENOMEM;

	if (r < 0)
		return r;
	runs->progress = progress;
	runs->user = user;
	for (enum backtest_policy p = 0; p < BACKTEST_POLICY_COUNT; p++)
		backtest_begin(&runs->run[p], p, &report.trace, &report.oracle);
	while (backtest_block_next(&runs->block, &report.trace))
		run_block(runs);
	for (enum backtest_policy p = 0; p < BACKTEST_POLICY_COUNT; p++) {
		report.result[p] = runs->run[p].result;
		backtest_drop(&runs->run[p]);
	}
	*ret = report;
	return 0;
}

/* 0 of nothing. */
static double share(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static double slack_cpu(const struct backtest_result *x)
{
	return share((double)x->limit_core_usec - (double)x->used_core_usec,
		     (double)x->limit_core_usec);
}

static double slack_memory(const struct backtest_result *x)
{
	return share(x->limit_byte_sec - x->used_byte_sec, x->limit_byte_sec);
}

static double throttled_seconds(const struct backtest_result *x)
{
	return (double)(x->throttled_periods * BACKTEST_PERIOD_USEC) / USEC_PER_SEC;
}

static void table_cpu(const struct backtest_report *r, FILE *out)
{
	fprintf(out, "%-16s %13s %7s %11s %11s %12s %9s %13s %13s\n", "CPU", "limit core h",
		"slack", "throttled s", "throttled", "unmet core s", "changes", "changed cores",
		"given core h");
	for (int p = 0; p < BACKTEST_POLICY_COUNT; p++) {
		const struct backtest_result *x = &r->result[p];

		fprintf(out, "%-16s %13.3f %6.1f%% %11.1f %10.3f%% %12.1f %9llu %13.2f %13.3f\n",
			backtest_policy_names[p], (double)x->limit_core_usec / CORE_HOUR,
			100 * slack_cpu(x), throttled_seconds(x),
			100 * share((double)x->throttled_periods, (double)x->periods),
			(double)x->unmet_core_usec / USEC_PER_SEC,
			(unsigned long long)x->changes_cpu, (double)x->changed_milli / 1000,
			(double)x->given_core_usec / CORE_HOUR);
	}
}

static void table_memory(const struct backtest_report *r, FILE *out)
{
	fprintf(out, "\n%-16s %13s %7s %11s %9s %13s %13s\n", "MEMORY", "limit GiB h", "slack",
		"OOM kills", "changes", "changed GiB", "given GiB h");
	for (int p = 0; p < BACKTEST_POLICY_COUNT; p++) {
		const struct backtest_result *x = &r->result[p];

		fprintf(out, "%-16s %13.3f %6.1f%% %11llu %9llu %13.3f %13.3f\n",
			backtest_policy_names[p], x->limit_byte_sec / GIB_HOUR,
			100 * slack_memory(x), (unsigned long long)x->oom_kills,
			(unsigned long long)x->changes_memory,
			(double)x->changed_bytes / (double)GIB, x->given_byte_sec / GIB_HOUR);
	}
}

static void put_amounts(const char *what, const uint64_t amount[RESOURCE_COUNT], bool memory,
			FILE *out)
{
	char cpu[HUMAN_SIZE], bytes[HUMAN_SIZE];

	fprintf(out, "%s%s CPU%s%s", what, human_amount(RESOURCE_CPU, amount[RESOURCE_CPU], cpu),
		memory ? " and " : "",
		memory ? human_amount(RESOURCE_MEMORY, amount[RESOURCE_MEMORY], bytes) : "");
}

void backtest_legend(FILE *out)
{
	fputs("limit: area below it; slack: its unused share; throttled: time and share of periods "
	      "that ended\nthrottled; unmet: not run in the period that wanted it; given: area of "
	      "the original request above\nthe policy's. All begin with the highest demand as "
	      "limit "
	      "and request.\n\n",
	      out);
	for (int p = 0; p < BACKTEST_POLICY_COUNT; p++)
		fprintf(out, "%-16s %s\n", backtest_policy_names[p], policy_notes[p]);
}

void backtest_report_table(const struct backtest_report *r, FILE *out)
{
	const struct backtest_result *x = &r->result[BACKTEST_BALANCED];
	char span[HUMAN_SIZE];

	fprintf(out, "%s: %zu samples, %.1f h, %u CPUs, seed %llu\n", r->file, r->trace.count,
		(double)r->result[0].span_usec / (double)USEC_PER_HOUR, r->trace.cpus,
		(unsigned long long)r->trace.seed);
	fprintf(out, "original limit: %.2f cores", (double)r->oracle.max_milli / 1000);
	if (r->trace.memory)
		fprintf(out, ", %.3f GiB", (double)r->oracle.max_bytes / (double)GIB);
	fprintf(out, "; demand %.3f core h\n", (double)r->result[0].demand_core_usec / CORE_HOUR);
	/* What the run of the default ends with. */
	fprintf(out, "with goal balanced, after %s", human_span(x->span_usec, span));
	put_amounts(": a limit of ", x->limit, r->trace.memory, out);
	put_amounts(", a request of ", x->request, r->trace.memory, out);
	fputs("\n\n", out);
	table_cpu(r, out);
	if (r->trace.memory)
		table_memory(r, out);
}

/* One number of an answer. */
struct number {
	const char *key;
	double value;
};

static bool add_numbers(cJSON *to, const struct number *n, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (cJSON_AddNumberToObject(to, n[i].key, n[i].value) == NULL)
			return false;
	return true;
}

static bool add_cpu(cJSON *to, const struct backtest_result *x)
{
	const struct number n[] = {
		{"limit_core_seconds", (double)x->limit_core_usec / USEC_PER_SEC},
		{"used_core_seconds", (double)x->used_core_usec / USEC_PER_SEC},
		{"slack", slack_cpu(x)},
		{"periods", (double)x->periods},
		{"throttled_periods", (double)x->throttled_periods},
		{"throttled_seconds", throttled_seconds(x)},
		{"unmet_core_seconds", (double)x->unmet_core_usec / USEC_PER_SEC},
		{"changes", (double)x->changes_cpu},
		{"changed_milli", (double)x->changed_milli},
		{"given_core_seconds", (double)x->given_core_usec / USEC_PER_SEC},
		{"end_limit_milli", (double)x->limit[RESOURCE_CPU]},
		{"end_request_milli", (double)x->request[RESOURCE_CPU]},
	};
	cJSON *o = cJSON_AddObjectToObject(to, "cpu");

	return o != NULL && add_numbers(o, n, ARRAY_SIZE(n));
}

static bool add_memory(cJSON *to, const struct backtest_result *x)
{
	const struct number n[] = {
		{"limit_byte_seconds", x->limit_byte_sec},
		{"used_byte_seconds", x->used_byte_sec},
		{"slack", slack_memory(x)},
		{"oom_kills", (double)x->oom_kills},
		{"changes", (double)x->changes_memory},
		{"changed_bytes", (double)x->changed_bytes},
		{"given_byte_seconds", x->given_byte_sec},
		{"end_limit_bytes", (double)x->limit[RESOURCE_MEMORY]},
		{"end_request_bytes", (double)x->request[RESOURCE_MEMORY]},
	};
	cJSON *o = cJSON_AddObjectToObject(to, "memory");

	return o != NULL && add_numbers(o, n, ARRAY_SIZE(n));
}

static bool add_policies(cJSON *to, const struct backtest_report *r)
{
	cJSON *list = cJSON_AddArrayToObject(to, "policies");

	for (int p = 0; list != NULL && p < BACKTEST_POLICY_COUNT; p++) {
		cJSON *o = cJSON_CreateObject();

		if (!cJSON_AddItemToArray(list, o) ||
		    cJSON_AddStringToObject(o, "name", backtest_policy_names[p]) == NULL ||
		    !add_cpu(o, &r->result[p]) ||
		    (r->trace.memory && !add_memory(o, &r->result[p])))
			return false;
	}
	return list != NULL;
}

cJSON *backtest_report_json(const struct backtest_report *r)
{
	const struct number n[] = {
		{"samples", (double)r->trace.count},
		{"span_seconds", (double)r->result[0].span_usec / USEC_PER_SEC},
		{"cpus", r->trace.cpus},
		{"demand_core_seconds", (double)r->result[0].demand_core_usec / USEC_PER_SEC},
		{"original_milli", (double)r->oracle.max_milli},
	};
	char seed[24];
	cJSON *o = cJSON_CreateObject();
	bool ok;

	/* A text: a double does not hold every seed. */
	snprintf(seed, sizeof seed, "%llu", (unsigned long long)r->trace.seed);
	ok = o != NULL && cJSON_AddStringToObject(o, "file", r->file) != NULL &&
	     cJSON_AddStringToObject(o, "seed", seed) != NULL && add_numbers(o, n, ARRAY_SIZE(n)) &&
	     (!r->trace.memory ||
	      cJSON_AddNumberToObject(o, "original_bytes", (double)r->oracle.max_bytes) != NULL) &&
	     add_policies(o, r);
	if (ok)
		return o;
	cJSON_Delete(o);
	return NULL;
}

void backtest_html_end(FILE *out)
{
	fputs("<h2>What the rows mean</h2>\n<pre>", out);
	backtest_legend(out);
	fputs("</pre>\n", out);
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

static void put_chart(enum backtest_policy policy, const struct backtest_result *x, enum resource r,
		      FILE *out)
{
	double use[BACKTEST_POINTS], mean[BACKTEST_POINTS], limit[BACKTEST_POINTS];
	bool marks[BACKTEST_POINTS];
	bool cpu = r == RESOURCE_CPU;
	uint64_t kills = 0;
	char title[64];

	for (size_t i = 0; i < BACKTEST_POINTS; i++) {
		const struct backtest_point *p = &x->point[i];

		use[i] = cpu ? (double)p->demand_max_usec / BACKTEST_PERIOD_USEC
			     : (double)p->memory_max_bytes;
		mean[i] = mean_cores(p);
		limit[i] = cpu || p->periods == 0 ? limit_cores(p) : (double)p->limit_bytes;
		marks[i] = cpu ? p->throttled > 0 : p->oom_kills > kills;
		kills = MAX(kills, p->oom_kills);
	}
	snprintf(title, sizeof title, "%s%s", backtest_policy_names[policy], cpu ? "" : ", memory");
	chart_svg(&(struct chart){.title = title,
				  .use = use,
				  .mean = cpu ? mean : NULL,
				  .limit = limit,
				  .marks = marks,
				  .count = BACKTEST_POINTS,
				  .hours = (double)x->span_usec / (double)USEC_PER_HOUR,
				  .text = cpu ? chart_cores : chart_bytes},
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
		put_chart(p, &r->result[p], RESOURCE_CPU, out);
	/* These two leave memory alone. */
	for (int p = 0; r->trace.memory && p < BACKTEST_POLICY_COUNT; p++)
		if (p != BACKTEST_CPU_FAST && p != BACKTEST_CAPTAIN)
			put_chart(p, &r->result[p], RESOURCE_MEMORY, out);
}

// SPDX-License-Identifier: Apache-2.0
/* vscalectl history NAME: the flight recorder's samples of a container as charts. */
#include "agent/base/time_text.h"
#include "agent/ctl/json.h"
#include "agent/ctl/recorded.h"
#include "agent/view/chart.h"
#include "agent/view/human.h"
#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Parts of the time, each a point of the chart. */
#define PARTS       400
#define COLUMNS     80
#define COLUMNS_MAX 300
#define ROWS        8

/* The course of CPU and memory in equal parts of time. */
struct course {
	double use[RESOURCE_COUNT][PARTS], limit[RESOURCE_COUNT][PARTS];
	bool throttled[PARTS], killed[PARTS];
	double hours;
	char end[HUMAN_SIZE];
};

static const char *bytes_text(double bytes, char *ret)
{
	return human_amount(RESOURCE_MEMORY, (uint64_t)bytes, ret);
}

static void add_point(struct course *c, size_t part, const struct recorded_point *p)
{
	c->use[RESOURCE_CPU][part] = fmax(c->use[RESOURCE_CPU][part], p->cores);
	c->use[RESOURCE_MEMORY][part] = fmax(c->use[RESOURCE_MEMORY][part], p->unreclaimable);
	c->limit[RESOURCE_CPU][part] = p->limit_cores;
	c->limit[RESOURCE_MEMORY][part] = p->limit_bytes;
	c->throttled[part] |= p->throttled;
	c->killed[part] |= p->killed;
}

static void fill(struct course *c, const struct recorded_points *p)
{
	usec_t from = p->items[0].at_real, span = p->items[p->count - 1].at_real - from;
	char end[TIME_TEXT_SIZE];

	for (int r = 0; r < RESOURCE_COUNT; r++)
		for (size_t i = 0; i < PARTS; i++)
			c->use[r][i] = c->limit[r][i] = NAN;
	for (size_t i = 0; i < p->count; i++)
		add_point(c, (p->items[i].at_real - from) * (PARTS - 1) / span, &p->items[i]);
	/* A sample holds until the next. */
	for (int r = 0; r < RESOURCE_COUNT; r++) {
		for (size_t i = 1; i < PARTS; i++) {
			if (!isnan(c->use[r][i]))
				continue;
			c->use[r][i] = c->use[r][i - 1];
			c->limit[r][i] = c->limit[r][i - 1];
		}
	}
	c->hours = (double)span / (double)USEC_PER_HOUR;
	time_text(p->items[p->count - 1].at_real, 0, end);
	snprintf(c->end, sizeof c->end, "%s", strchr(end, 'T') + 1);
}

static struct chart chart_of(const struct course *c, enum resource r)
{
	return (struct chart){
		.title = r == RESOURCE_CPU ? "CPU, cores: use, limit; throttled"
					   : "Memory: use, limit; OOM-killed",
		.use = c->use[r],
		.limit = c->limit[r],
		.marks = r == RESOURCE_CPU ? c->throttled : c->killed,
		.count = PARTS,
		.hours = c->hours,
		.end = c->end,
		.text = r == RESOURCE_CPU ? chart_cores : bytes_text,
	};
}

/* ---- output ---- */

static unsigned columns_of(const struct ctl *c)
{
	struct winsize size;

	if (!isatty(fileno(c->out)) || ioctl(fileno(c->out), TIOCGWINSZ, &size) < 0 ||
	    size.ws_col < COLUMNS)
		return COLUMNS;
	return MIN(size.ws_col, COLUMNS_MAX);
}

static bool is_ascii(void)
{
	const char *term = getenv("TERM");

	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") != 0 ||
	       (term != NULL && strcmp(term, "dumb") == 0);
}

static int print_charts(const struct ctl *c, const char *name, const struct course *course)
{
	bool ascii = is_ascii();

	fprintf(c->out, "%s\n\n", name);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct chart chart = chart_of(course, r);

		chart_print(&chart, columns_of(c), ROWS, ascii, c->out);
	}
	return CTL_OK;
}

static int print_page(const struct ctl *c, const char *name, const struct course *course)
{
	chart_page_begin(
		name, "Filled: use. Line: the limit. Marks at the bottom: throttled, OOM-killed.",
		c->out);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct chart chart = chart_of(course, r);

		chart_svg(&chart, c->out);
	}
	chart_page_end(c->out);
	return CTL_OK;
}

static void add_known(cJSON *o, const char *key, double v)
{
	if (isnan(v))
		cJSON_AddNullToObject(o, key);
	else
		cJSON_AddNumberToObject(o, key, v);
}

static int print_json(const struct ctl *c, const char *name, const struct recorded_points *p)
{
	cJSON *o = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(o, "points");

	cJSON_AddStringToObject(o, "name", name);
	for (size_t i = 0; i < p->count; i++) {
		const struct recorded_point *at = &p->items[i];
		cJSON *point = cJSON_CreateObject();

		cJSON_AddNumberToObject(point, "realtime_usec", (double)at->at_real);
		add_known(point, "cpu_cores", at->cores);
		add_known(point, "cpu_limit_cores", at->limit_cores);
		add_known(point, "unreclaimable_bytes", at->unreclaimable);
		add_known(point, "memory_limit_bytes", at->limit_bytes);
		cJSON_AddBoolToObject(point, "throttled", at->throttled);
		cJSON_AddBoolToObject(point, "oom_killed", at->killed);
		cJSON_AddItemToArray(list, point);
	}
	return json_print(c, o);
}

static int print(const struct ctl *c, const char *name, const struct recorded_points *p)
{
	struct course *course;
	int r;

	if (c->output != OUTPUT_TABLE && c->output != OUTPUT_HTML)
		return print_json(c, name, p);
	course = calloc(1, sizeof *course);
	if (course == NULL)
		return ctl_fail(c, CTL_ERROR, NULL, "not enough memory");
	fill(course, p);
	r = c->output == OUTPUT_HTML ? print_page(c, name, course) : print_charts(c, name, course);
	free(course);
	return r;
}

int history_chart(const struct ctl *c, const char *name)
{
	struct recorded_points p = {.name = name};
	int r = recorded_read(c, recorded_point_add, &p);

	if (r == CTL_OK && p.count < 2)
		r = ctl_fail(c, CTL_NOT_MANAGED,
			     "`vscalectl record dump` lists what the recording has; a container "
			     "is in it some 20 s after it was attached",
			     "%s is not in the recording", name);
	if (r == CTL_OK)
		r = print(c, name, &p);
	recorded_points_drop(&p);
	return r;
}

// SPDX-License-Identifier: Apache-2.0
/* vscalectl history and record: what the node's files hold of containers. */
#include "agent/base/escape.h"
#include "agent/ctl/render.h"
#include "agent/state/flight_file.h"
#include "agent/state/history_file.h"
#include "agent/view/chart.h"
#include <errno.h>
#include <inttypes.h>
#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- the flight recorder's file */

/* Use and limits at one moment. */
struct recorded_point {
	usec_t at_real;
	double cores;           /* since the point before; NaN: not known */
	double unreclaimable;   /* bytes */
	double limit_cores;     /* NaN: none */
	double limit_bytes;     /* NaN: none */
	bool throttled, killed; /* since the point before */
};

struct recorded_points {
	const char *name;             /* of the container */
	struct recorded_point *items; /* owned */
	size_t count, room;
	struct usage last; /* of the newest item */
};

#define RECORDING_MAX GIB

static const char *advice(int e)
{
	switch (e) {
	case -EACCES:
		return "run vscalectl as root";
	case -ENOENT:
		return "the daemon writes it unless recorder.enabled is false; --state-directory "
		       "names its folder, --recording another file";
	case -EBADMSG:
		return "it is not a recording of vscaled, or nothing has been recorded yet";
	case -EPROTONOSUPPORT:
		return "written by another version of vscaled: read it with that version's "
		       "vscalectl";
	default:
		return NULL;
	}
}

static const char *what(int e)
{
	return e == -EBADMSG           ? "not a recording"
	       : e == -EPROTONOSUPPORT ? "a recording of another version"
				       : strerror(-e);
}

/* Reads the file that the options name, and the older ones beside it; failures are printed. CTL_OK,
 * or another exit status. */
static int recorded_read(const struct ctl *c, flight_event_fn *call, void *user)
{
	char newest[PATH_MAX], file[PATH_MAX];
	int r = 0;

	if (c->recording != NULL)
		snprintf(newest, sizeof newest, "%s", c->recording);
	else
		snprintf(newest, sizeof newest, "%s/" FLIGHT_FILE, c->state_directory);
	for (int age = FLIGHT_FILES - 1; r == 0 && age >= 0; age--) {
		OWN(drop_free) char *text = NULL;
		size_t size;

		flight_file_name(newest, age, file, sizeof file);
		r = ctl_read_file(file, RECORDING_MAX, &text, &size);
		if (r == 0)
			r = flight_read(text, size, call, user);
		/* Older ones are not there at first, or are of another version. */
		if (age > 0 && (r == -ENOENT || r == -EPROTONOSUPPORT))
			r = 0;
	}
	return r < 0 ? ctl_fail(c, CTL_ERROR, advice(r), "%s: %s", file, what(r)) : CTL_OK;
}

static double cores_since(const struct usage *before, const struct usage *now, usec_t span)
{
	/* A new cgroup begins at 0. */
	uint64_t from = now->cpu_usage_usec >= before->cpu_usage_usec ? before->cpu_usage_usec : 0;

	return span > 0 ? (double)(now->cpu_usage_usec - from) / (double)span : NAN;
}

static struct recorded_point point_of(const struct recorded_points *p, const struct flight_call *f)
{
	const struct usage *u = &f->usage, *before = &p->last;
	struct recorded_point ret = {
		.at_real = f->now_real,
		.cores = NAN,
		.unreclaimable = (double)mem_unreclaimable(&u->stat),
		.limit_cores = NAN,
		.limit_bytes = NAN,
	};

	if (p->count > 0) {
		ret.cores = cores_since(before, u, f->now_real - p->items[p->count - 1].at_real);
		ret.throttled = u->nr_throttled > before->nr_throttled;
		ret.killed = u->events.oom_kill > before->events.oom_kill;
	}
	if (u->limits.cpu_quota_usec != LIMIT_MAX && u->limits.cpu_period_usec > 0)
		ret.limit_cores =
			(double)u->limits.cpu_quota_usec / (double)u->limits.cpu_period_usec;
	if (u->limits.mem_max != LIMIT_MAX)
		ret.limit_bytes = (double)u->limits.mem_max;
	return ret;
}

/* A flight_event_fn: user is struct recorded_points. */
static int recorded_point_add(void *user, const struct flight_event *e)
{
	struct recorded_points *p = user;

	if ((e->kind != FLIGHT_SAMPLE && e->kind != FLIGHT_OBSERVE) ||
	    strcmp(e->container, p->name) != 0)
		return 0;
	/* The clock was set back, or two records of one moment. */
	if (p->count > 0 && e->call->now_real <= p->items[p->count - 1].at_real)
		return 0;
	if (p->count == p->room) {
		size_t room = p->room * 2 + 256;
		struct recorded_point *items = reallocarray(p->items, room, sizeof *items);

		if (items == NULL)
			return -ENOMEM;
		p->items = items;
		p->room = room;
	}
	p->items[p->count] = point_of(p, e->call);
	p->count++;
	p->last = e->call->usage;
	return 0;
}

static void recorded_points_drop(struct recorded_points *p)
{
	free(p->items);
	*p = (struct recorded_points){0};
}

/* ---- vscalectl history NAME: the flight recorder's samples of a container as charts */

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
		.text = r == RESOURCE_CPU ? chart_cores : chart_bytes,
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

static void add_known(cJSON *o, const char *key, double v)
{
	if (isnan(v))
		cJSON_AddNullToObject(o, key);
	else
		cJSON_AddNumberToObject(o, key, v);
}

static int print_chart_json(const struct ctl *c, const char *name, const struct recorded_points *p)
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
	OWN(drop_free) struct course *course = NULL;
	bool html = c->output == OUTPUT_HTML, ascii = !html && is_ascii();

	if (c->output != OUTPUT_TABLE && !html)
		return print_chart_json(c, name, p);
	course = ctl_alloc(sizeof *course);
	fill(course, p);
	if (html)
		chart_page_begin(name, c->out);
	else
		fprintf(c->out, "%s\n\n", name);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		struct chart chart = chart_of(course, r);

		if (html)
			chart_svg(&chart, c->out);
		else
			chart_print(&chart, columns_of(c), ROWS, ascii, c->out);
	}
	if (html)
		chart_page_end(c->out);
	return CTL_OK;
}

/* Use and limits of a container over the time of the recording, in the format of the options. */
static int history_chart(const struct ctl *c, const char *name)
{
	struct recorded_points p = {.name = name};
	int r = recorded_read(c, recorded_point_add, &p);

	if (r == CTL_OK && p.count >= 2)
		r = print(c, name, &p);
	else if (r == CTL_OK && p.count == 1)
		r = ctl_fail(c, CTL_NOT_MANAGED, "try again in a few seconds",
			     "the recording has one sample of %s, and a chart needs two", name);
	else if (r == CTL_OK)
		r = ctl_fail(c, CTL_NOT_MANAGED,
			     "`vscalectl record dump` lists what the recording has; a container "
			     "is in it some 20 s after it was attached",
			     "%s is not in the recording", name);
	recorded_points_drop(&p);
	return r;
}

/* ---- vscalectl history: --verify reads the file itself, whether or not the daemon runs. */

/* The header line fits in it. */
#define HISTORY_FILE_MAX (HISTORY_BYTES_MAX + 4 * KIB)
/* A file of random bytes has thousands: all are counted, so many are listed. */
#define FAULTS_LISTED 20

static void add_fault(void *user, const struct history_fault *f)
{
	cJSON *list = user, *object;

	if (cJSON_GetArraySize(list) == FAULTS_LISTED)
		return;
	object = cJSON_CreateObject();
	cJSON_AddNumberToObject(object, "line", (double)f->line);
	cJSON_AddStringToObject(object, "fault", f->what);
	cJSON_AddStringToObject(object, "advice", f->advice);
	cJSON_AddItemToArray(list, object);
}

static void print_seen(const struct ctl *c, const char *title, const char *key, usec_t seen)
{
	char text[TIME_TEXT_SIZE];

	if (key != NULL)
		fprintf(c->out, "%-8s %s %s\n", title, time_text(seen, 0, text), key);
}

static void print_table(const struct ctl *c, const char *file, const struct history_summary *s,
			const cJSON *faults)
{
	const cJSON *f;

	fprintf(c->out, "file     %s\n", file);
	if (s->version_known)
		fprintf(c->out, "version  %u\n", s->version);
	fprintf(c->out, "size     %zu bytes\n", s->bytes);
	fprintf(c->out, "keys     %zu\n", s->keys);
	print_seen(c, "oldest", s->oldest_key, s->oldest_realtime_usec);
	print_seen(c, "newest", s->newest_key, s->newest_realtime_usec);
	fprintf(c->out, "faults   %zu\n", s->faults);
	cJSON_ArrayForEach (f, faults)
		fprintf(c->out, "%s:%.0f: %s\n  %s\n", file,
			cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(f, "line")),
			json_text(f, "fault"), json_text(f, "advice"));
}

static void add_seen(cJSON *object, const char *name, const char *key, usec_t seen)
{
	cJSON *of;

	if (key == NULL)
		return;
	of = cJSON_AddObjectToObject(object, name);
	cJSON_AddStringToObject(of, "key", key);
	cJSON_AddNumberToObject(of, "seen_realtime_usec", (double)seen);
}

static int print_json(const struct ctl *c, const char *file, const struct history_summary *s,
		      cJSON *faults)
{
	cJSON *object = cJSON_CreateObject();

	cJSON_AddStringToObject(object, "file", file);
	if (s->version_known)
		cJSON_AddNumberToObject(object, "version", s->version);
	cJSON_AddNumberToObject(object, "bytes", (double)s->bytes);
	cJSON_AddNumberToObject(object, "keys", (double)s->keys);
	add_seen(object, "oldest", s->oldest_key, s->oldest_realtime_usec);
	add_seen(object, "newest", s->newest_key, s->newest_realtime_usec);
	cJSON_AddNumberToObject(object, "fault_count", (double)s->faults);
	cJSON_AddItemReferenceToObject(object, "faults", faults);
	return json_print(c, object);
}

static int verify(const struct ctl *c, const char *file)
{
	OWN(history_summary_drop) struct history_summary s = {0};
	OWN(drop_free) char *text = NULL;
	cJSON *faults;
	size_t size;
	int r = ctl_read_file(file, HISTORY_FILE_MAX, &text, &size);

	if (r < 0)
		return ctl_fail(c, CTL_ERROR,
				r == -EFBIG    ? "it is not a history file of vscaled"
				: r == -EACCES ? "run vscalectl as root"
				: r == -ENOENT ? "the daemon writes it every clocks.stateInterval "
						 "and at its end; --state-directory names its "
						 "folder"
					       : NULL,
				"%s: %s", file, strerror(-r));
	faults = cJSON_CreateArray();
	r = history_verify(text, size, add_fault, faults, &s);
	if (r < 0)
		r = ctl_fail(c, CTL_ERROR, NULL, "%s: %s", file, strerror(-r));
	else if (c->output == OUTPUT_TABLE)
		print_table(c, file, &s, faults);
	else
		r = print_json(c, file, &s, faults);
	cJSON_Delete(faults);
	return r == CTL_OK && s.faults > 0 ? CTL_ERROR : r;
}

int ctl_history(const struct ctl *c)
{
	char file[PATH_MAX];

	if (!c->verify && c->argument_count == 0)
		return ctl_fail(c, CTL_USAGE, "see: vscalectl help",
				"history needs the name of a unit or container, or --verify");
	if (!c->verify)
		return history_chart(c, c->arguments[0]);
	if (c->argument_count > 0)
		return verify(c, c->arguments[0]);
	snprintf(file, sizeof file, "%s/%s", c->state_directory, history_state.name);
	return verify(c, file);
}

/* ---- vscalectl record: what the flight recorder has, and whether the laws still decide so. */

/* What is known of a container, for the summary and the replay. */
struct summary {
	char *name; /* owned */
	usec_t from, to;
	uint64_t samples, calls, decisions, replayed, differ;
};

struct reading {
	const struct ctl *c;
	const char *name; /* of one container; NULL: all */
	struct summary *items;
	size_t count;
	bool first; /* nothing is printed yet */
};

static bool is_wanted(const struct reading *r, const struct flight_event *e)
{
	return r->name == NULL || strcmp(r->name, e->container) == 0;
}

static struct summary *summary_of(struct reading *r, const char *name)
{
	struct summary *items;

	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->items[i].name, name) == 0)
			return &r->items[i];
	items = reallocarray(r->items, r->count + 1, sizeof *items);
	if (items == NULL)
		return NULL;
	r->items = items;
	items[r->count] = (struct summary){.name = strdup(name)};
	return items[r->count].name != NULL ? &items[r->count++] : NULL;
}

static int count(void *user, const struct flight_event *e)
{
	struct reading *r = user;
	struct summary *s;

	if (!is_wanted(r, e))
		return 0;
	s = summary_of(r, e->container);
	if (s == NULL)
		return -ENOMEM;
	s->from = s->from == 0 ? e->call->now_real : MIN(s->from, e->call->now_real);
	s->to = MAX(s->to, e->call->now_real);
	s->samples += e->kind == FLIGHT_SAMPLE;
	s->calls += e->kind != FLIGHT_SAMPLE;
	s->decisions += e->call->decided_count;
	s->replayed += e->replayed;
	s->differ += e->replayed && !e->same;
	return 0;
}

static void drop(struct reading *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->items[i].name);
	free(r->items);
}

static int no_such(const struct reading *r)
{
	return ctl_fail(r->c, CTL_NOT_MANAGED, "see: vscalectl record dump",
			"%s is not in the recording", r->name);
}

/* ---- all containers ---- */

static void add_number(cJSON *to, const char *key, uint64_t v)
{
	if (v == LIMIT_MAX)
		cJSON_AddStringToObject(to, key, "max");
	else
		cJSON_AddNumberToObject(to, key, (double)v);
}

static cJSON *summary_json(const struct summary *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "container", s->name);
	add_number(o, "from_realtime_usec", s->from);
	add_number(o, "to_realtime_usec", s->to);
	add_number(o, "samples", s->samples);
	add_number(o, "calls", s->calls);
	add_number(o, "decisions", s->decisions);
	add_number(o, "replayed", s->replayed);
	add_number(o, "differ", s->differ);
	return o;
}

static int print_summaries(const struct reading *r)
{
	char from[TIME_TEXT_SIZE], to[TIME_TEXT_SIZE];
	cJSON *list;

	if (r->c->output == OUTPUT_TABLE) {
		fprintf(r->c->out, "%-48s %-24s %-24s %8s %8s %9s %8s %6s\n", "CONTAINER", "FROM",
			"TO", "SAMPLES", "CALLS", "DECISIONS", "REPLAYED", "DIFFER");
		for (size_t i = 0; i < r->count; i++) {
			const struct summary *s = &r->items[i];

			fprintf(r->c->out,
				"%-48s %-24s %-24s %8" PRIu64 " %8" PRIu64 " %9" PRIu64 " %8" PRIu64
				" %6" PRIu64 "\n",
				s->name, time_text(s->from, 3, from), time_text(s->to, 3, to),
				s->samples, s->calls, s->decisions, s->replayed, s->differ);
		}
		return CTL_OK;
	}
	list = cJSON_CreateArray();
	for (size_t i = 0; i < r->count; i++)
		cJSON_AddItemToArray(list, summary_json(&r->items[i]));
	return json_print(r->c, list);
}

static int summarize(const struct ctl *c, struct reading *r)
{
	int e = recorded_read(c, count, r);

	if (e == CTL_OK && r->name != NULL && r->count == 0)
		e = no_such(r);
	return e == CTL_OK ? print_summaries(r) : e;
}

/* ---- each record of one ---- */

static void print_step(const struct ctl *c, const struct change *s)
{
	char from[HUMAN_SIZE], to[HUMAN_SIZE];
	enum resource r = knobs[s->knob].resource;
	bool cpu = s->knob == KNOB_CPU_MAX;

	fprintf(c->out, "  %s %s -> %s (%s)", knobs[s->knob].file,
		human_amount(r, cpu ? cpu_milli_of(s->from, s->period_usec) : s->from, from),
		human_amount(r, cpu ? cpu_milli_of(s->to, s->period_usec) : s->to, to),
		reason_name((enum reason)s->reason));
}

static void print_event(const struct reading *r, const struct flight_event *e)
{
	const struct flight_call *f = e->call;
	char text[TIME_TEXT_SIZE], memory[HUMAN_SIZE];

	fprintf(r->c->out, "%s %-9s", time_text(f->now_real, 3, text), flight_kind_names[e->kind]);
	if (f->usage.have & USAGE_CPU)
		fprintf(r->c->out, " cpu %.3f s, throttled %" PRIu64 "/%" PRIu64,
			(double)f->usage.cpu_usage_usec / USEC_PER_SEC, f->usage.nr_throttled,
			f->usage.nr_periods);
	if (f->usage.have & USAGE_MEM_STAT)
		fprintf(r->c->out, " memory %s",
			human_amount(RESOURCE_MEMORY, mem_unreclaimable(&f->usage.stat), memory));
	if (e->kind == FLIGHT_APPLIED)
		print_step(r->c, &f->step);
	if (e->kind == FLIGHT_APPLIED && f->outcome != APPLY_DONE)
		fprintf(r->c->out, ": outcome %lld", (long long)f->outcome);
	for (size_t i = 0; i < f->decided_count; i++)
		print_step(r->c, &f->decided[i]);
	fputc('\n', r->c->out);
}

static cJSON *step_json(const struct change *s)
{
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "file", knobs[s->knob].file);
	add_number(o, "from", s->from);
	add_number(o, "to", s->to);
	if (s->knob == KNOB_CPU_MAX)
		add_number(o, "period_usec", s->period_usec);
	cJSON_AddStringToObject(o, "reason", reason_name((enum reason)s->reason));
	return o;
}

static cJSON *event_json(const struct flight_event *e)
{
	const struct usage *u = &e->call->usage;
	cJSON *o = cJSON_CreateObject(), *steps = cJSON_CreateArray();

	cJSON_AddStringToObject(o, "container", e->container);
	cJSON_AddStringToObject(o, "kind", flight_kind_names[e->kind]);
	add_number(o, "realtime_usec", e->call->now_real);
	if (u->have & USAGE_CPU) {
		add_number(o, "cpu_usage_usec", u->cpu_usage_usec);
		add_number(o, "nr_periods", u->nr_periods);
		add_number(o, "nr_throttled", u->nr_throttled);
	}
	if (u->have & USAGE_MEM_STAT)
		add_number(o, "unreclaimable_bytes", mem_unreclaimable(&u->stat));
	if (e->kind == FLIGHT_APPLIED) {
		cJSON_AddItemToObject(o, "step", step_json(&e->call->step));
		cJSON_AddNumberToObject(o, "outcome", (double)e->call->outcome);
	}
	for (size_t i = 0; i < e->call->decided_count; i++)
		cJSON_AddItemToArray(steps, step_json(&e->call->decided[i]));
	cJSON_AddItemToObject(o, "decided", steps);
	return o;
}

/* One at a time: a recording has a million. A JSON list is YAML, too. */
static int print_each(void *user, const struct flight_event *e)
{
	struct reading *r = user;
	cJSON *o;
	char *text;

	if (!is_wanted(r, e))
		return 0;
	if (r->c->output == OUTPUT_TABLE) {
		print_event(r, e);
		r->first = false;
		return 0;
	}
	o = event_json(e);
	json_whole_numbers(o);
	text = cJSON_PrintUnformatted(o);
	cJSON_Delete(o);
	fprintf(r->c->out, "%s\n%s", r->first ? "[" : ",", text);
	r->first = false;
	free(text);
	return 0;
}

/* For `vscalectl backtest FILE`: a sample holds until the next. */
static int dump_csv(const struct ctl *c, const char *name)
{
	struct recorded_points p = {.name = name};
	int e = recorded_read(c, recorded_point_add, &p);

	if (e == CTL_OK && p.count < 3)
		e = ctl_fail(c, CTL_NOT_MANAGED, "see: vscalectl record dump",
			     "%s has fewer than three samples in the recording", name);
	if (e == CTL_OK)
		fputs("time,cpu_cores,memory_bytes\n", c->out);
	for (size_t i = 1; e == CTL_OK && i < p.count; i++)
		fprintf(c->out, "%.3f,%.6f,%.0f\n", (double)p.items[i - 1].at_real / USEC_PER_SEC,
			p.items[i].cores, p.items[i - 1].unreclaimable);
	recorded_points_drop(&p);
	return e;
}

int ctl_record_dump(const struct ctl *c)
{
	struct reading r = {
		.c = c, .first = true, .name = c->argument_count > 0 ? c->arguments[0] : NULL};
	int e;

	if (c->output == OUTPUT_CSV && r.name == NULL)
		return ctl_fail(c, CTL_USAGE, "see: vscalectl record dump",
				"CSV needs the name of a container");
	if (c->output == OUTPUT_CSV)
		return dump_csv(c, r.name);
	if (r.name == NULL) {
		e = summarize(c, &r);
		drop(&r);
		return e;
	}
	e = recorded_read(c, print_each, &r);
	if (e == CTL_OK && r.first)
		return no_such(&r);
	if (e == CTL_OK && c->output != OUTPUT_TABLE)
		fputs("\n]\n", c->out);
	return e;
}

int ctl_record_replay(const struct ctl *c)
{
	struct reading r = {.c = c, .name = c->argument_count > 0 ? c->arguments[0] : NULL};
	uint64_t differ = 0, replayed = 0;
	int e = summarize(c, &r);

	for (size_t i = 0; i < r.count; i++) {
		differ += r.items[i].differ;
		replayed += r.items[i].replayed;
	}
	drop(&r);
	if (e == CTL_OK && replayed == 0)
		return ctl_fail(c, CTL_ERROR,
				"calls are recorded while a container is throttled, "
				"near its memory limit or changed",
				"the recording has no call that can be made again");
	if (e == CTL_OK && differ > 0)
		return ctl_fail(c, CTL_ERROR, NULL, "%" PRIu64 " of %" PRIu64 " calls differ",
				differ, replayed);
	return e;
}

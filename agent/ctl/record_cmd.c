// SPDX-License-Identifier: Apache-2.0
/* vscalectl record: what the flight recorder has, and whether the laws still decide so. */
#include "agent/base/time_text.h"
#include "agent/ctl/json.h"
#include "agent/ctl/recorded.h"
#include "agent/ctl/render.h"
#include "agent/view/human.h"
#include "policy/types/reason.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *const kind_names[FLIGHT_KIND_COUNT] = {
	[FLIGHT_SAMPLE] = "sample", [FLIGHT_OBSERVE] = "observe", [FLIGHT_REFLEX] = "reflex",
	[FLIGHT_REVIEW] = "review", [FLIGHT_BOOST] = "boost",     [FLIGHT_APPLIED] = "applied",
};

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
	s->from = s->from == 0 ? e->call->at.now_real : MIN(s->from, e->call->at.now_real);
	s->to = MAX(s->to, e->call->at.now_real);
	s->samples += e->kind == FLIGHT_SAMPLE;
	s->calls += e->kind != FLIGHT_SAMPLE;
	s->decisions += e->call->decided_count;
	s->replayed += e->replay != NULL;
	s->differ += e->replay != NULL && !e->replay->same;
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

	fprintf(r->c->out, "%s %-7s", time_text(f->at.now_real, 3, text), kind_names[e->kind]);
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
	cJSON_AddStringToObject(o, "kind", kind_names[e->kind]);
	add_number(o, "realtime_usec", e->call->at.now_real);
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
	r->count++;
	if (r->c->output == OUTPUT_TABLE) {
		print_event(r, e);
		return 0;
	}
	o = event_json(e);
	text = json_whole_numbers(o) ? cJSON_PrintUnformatted(o) : NULL;
	cJSON_Delete(o);
	if (text == NULL)
		return -ENOMEM;
	fprintf(r->c->out, "%s\n%s", r->first ? "[" : ",", text);
	r->first = false;
	free(text);
	return 0;
}

static int dump_one(const struct ctl *c, struct reading *r)
{
	int e = recorded_read(c, print_each, r);
	bool found = r->count > 0;

	r->count = 0;
	if (e == CTL_OK && !found)
		return no_such(r);
	if (e == CTL_OK && c->output != OUTPUT_TABLE)
		fputs("\n]\n", c->out);
	return e;
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
	e = r.name != NULL ? dump_one(c, &r) : summarize(c, &r);
	drop(&r);
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

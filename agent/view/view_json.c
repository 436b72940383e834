// SPDX-License-Identifier: Apache-2.0
#include "agent/view/view_json.h"
#include "agent/base/time_text.h"
#include "agent/view/view_table.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

int view_time_parse(const char *text, usec_t *ret)
{
	struct tm tm = {0};
	const char *rest = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	unsigned fraction = 0;
	time_t seconds;

	if (!rest || strlen(rest) != strlen(".000000Z") || rest[0] != '.' || rest[7] != 'Z')
		return -EINVAL;
	for (int i = 1; i <= 6; i++) {
		if (rest[i] < '0' || rest[i] > '9')
			return -EINVAL;
		fraction = fraction * 10 + (unsigned)(rest[i] - '0');
	}
	seconds = timegm(&tm);
	if (seconds < 0)
		return -EINVAL;
	*ret = (usec_t)seconds * USEC_PER_SEC + fraction;
	return 0;
}

static cJSON *text_or_null(const char *text)
{
	return text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

static cJSON *amount_json(uint64_t amount)
{
	if (amount == VIEW_NONE)
		return cJSON_CreateNull();
	if (amount == LIMIT_MAX)
		return cJSON_CreateString("max");
	return cJSON_CreateNumber((double)amount);
}

static cJSON *time_json(usec_t realtime_usec)
{
	char text[TIME_TEXT_SIZE];

	if (realtime_usec == 0)
		return cJSON_CreateNull();
	return cJSON_CreateString(time_text(realtime_usec, 6, text));
}

static cJSON *field_json(const struct json_field *f, const void *from)
{
	const char *at = (const char *)from + f->offset;

	switch (f->type) {
	case JSON_TEXT:
		return text_or_null(*(const char *const *)at);
	case JSON_FLAG:
		return cJSON_CreateBool(*(const bool *)at);
	case JSON_U32:
		return cJSON_CreateNumber(*(const uint32_t *)at);
	case JSON_COUNT:
		return cJSON_CreateNumber((double)*(const uint64_t *)at);
	case JSON_AMOUNT:
		return amount_json(*(const uint64_t *)at);
	case JSON_SIGNED:
		return cJSON_CreateNumber((double)*(const int64_t *)at);
	case JSON_TIME:
		return time_json(*(const usec_t *)at);
	}
	return NULL;
}

/* Takes item over; false when memory is short, at any step before this one too. */
static bool view_json_put(cJSON *object, const char *key, cJSON *item)
{
	if (object && item && cJSON_AddItemToObject(object, key, item))
		return true;
	cJSON_Delete(item);
	return false;
}

static cJSON *done_or_drop(cJSON *object, bool done)
{
	if (done)
		return object;
	cJSON_Delete(object);
	return NULL;
}

/* Adds the rows of a table to an object. */
static bool put_table(cJSON *object, enum view_table table, const void *from, bool brief)
{
	const struct json_table *t = &view_tables[table];

	for (size_t i = 0; i < t->count; i++) {
		const struct json_field *f = &t->fields[i];

		if (brief && !f->brief)
			continue;
		if (!view_json_put(object, f->key, field_json(f, from)))
			return false;
	}
	return true;
}

static cJSON *table_json(enum view_table table, const void *from, bool brief)
{
	cJSON *object = cJSON_CreateObject();

	return done_or_drop(object, put_table(object, table, from, brief));
}

static cJSON *bound_json(const struct bound_step *step)
{
	cJSON *object = table_json(VIEW_BOUND, step, false);
	bool done = view_json_put(object, "name", cJSON_CreateString(bound_name(step->bound))) &&
		    view_json_put(object, "text", cJSON_CreateString(bound_text(step->bound)));

	return done_or_drop(object, done);
}

static cJSON *bounds_json(const struct bound_trace *trace)
{
	cJSON *array = cJSON_CreateArray();

	for (uint32_t i = 0; i < trace->count; i++) {
		const struct bound_step step = bound_trace_step(trace, i);
		cJSON *bound = bound_json(&step);

		if (!bound || !cJSON_AddItemToArray(array, bound)) {
			cJSON_Delete(bound);
			return done_or_drop(array, false);
		}
	}
	return array;
}

static cJSON *trial_json(const struct trial_view *t)
{
	return t->phase ? table_json(VIEW_TRIAL, t, false) : cJSON_CreateNull();
}

static cJSON *boost_json(const struct boost_view *b)
{
	return b->limit != VIEW_NONE ? table_json(VIEW_BOOST, b, false) : cJSON_CreateNull();
}

static cJSON *decision_json(const struct decision_view *d)
{
	cJSON *object;
	bool done;

	if (d->at_realtime_usec == 0)
		return cJSON_CreateNull();
	object = table_json(VIEW_DECISION, d, false);
	done = view_json_put(object, "reason", cJSON_CreateString(reason_name(d->reason))) &&
	       view_json_put(object, "text", cJSON_CreateString(reason_text(d->reason)));
	return done_or_drop(object, done);
}

static cJSON *resource_json(const struct resource_view *r, enum resource which, bool brief)
{
	const char *measure = which == RESOURCE_CPU ? "millicores" : "bytes";
	cJSON *object = table_json(VIEW_RESOURCE, r, brief);
	bool done = view_json_put(object, "measure", cJSON_CreateString(measure)) &&
		    view_json_put(object, "hold",
				  cJSON_CreateString(blocked_reason_name(r->blocked))) &&
		    view_json_put(object, "last", decision_json(&r->last));

	if (brief)
		return done_or_drop(object, done);
	done = done &&
	       view_json_put(object, "hold_text",
			     cJSON_CreateString(blocked_reason_text(r->blocked))) &&
	       view_json_put(object, "bounds", bounds_json(&r->bounds)) &&
	       view_json_put(object, "trial", trial_json(&r->trial)) &&
	       view_json_put(object, "boost", boost_json(&r->boost)) &&
	       view_json_put(object, "counters", table_json(VIEW_COUNTERS, &r->counters, false));
	return done_or_drop(object, done);
}

static cJSON *annotations_json(const struct pod_view *v)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < v->annotation_count; i++) {
		cJSON *one = table_json(VIEW_ANNOTATION, &v->annotations[i], false);

		if (!one || !cJSON_AddItemToArray(array, one)) {
			cJSON_Delete(one);
			return done_or_drop(array, false);
		}
	}
	return array;
}

static cJSON *report_json(const struct report_view *v)
{
	cJSON *object = table_json(VIEW_REPORT, v, false);

	return done_or_drop(object,
			    view_json_put(object, "state",
					  cJSON_CreateString(report_view_state_names[v->state])));
}

static cJSON *pod_json(const struct pod_view *v)
{
	const struct pod_resource_view *cpu, *memory;
	cJSON *object;

	if (!v)
		return cJSON_CreateNull();
	cpu = &v->resources[RESOURCE_CPU];
	memory = &v->resources[RESOURCE_MEMORY];
	object = table_json(VIEW_POD, v, false);
	return done_or_drop(
		object,
		view_json_put(object, "annotations", annotations_json(v)) &&
			view_json_put(object, "report", report_json(&v->report)) &&
			view_json_put(object, "cpu", table_json(VIEW_POD_RESOURCE, cpu, false)) &&
			view_json_put(object, "memory",
				      table_json(VIEW_POD_RESOURCE, memory, false)));
}

cJSON *view_json_status(const struct status_view *v)
{
	cJSON *object = table_json(VIEW_STATUS, v, false);
	cJSON *cluster = v->cluster.server ? table_json(VIEW_CLUSTER, &v->cluster, false)
					   : cJSON_CreateNull();

	return done_or_drop(object, view_json_put(object, "cluster", cluster));
}

cJSON *view_json_unit(const struct unit_view *v, bool brief)
{
	const struct resource_view *cpu = &v->resources[RESOURCE_CPU];
	const struct resource_view *memory = &v->resources[RESOURCE_MEMORY];
	static const struct pod_view none = {0};
	cJSON *object = table_json(VIEW_UNIT, v, brief);
	bool done =
		put_table(object, VIEW_POD_NAME, v->pod ? v->pod : &none, brief) &&
		view_json_put(object, "kind", cJSON_CreateString(unit_kind_names[v->kind])) &&
		view_json_put(object, "mode", cJSON_CreateString(v->mode_text)) &&
		view_json_put(object, "state", cJSON_CreateString(unit_state_names[v->state])) &&
		view_json_put(object, "cpu", resource_json(cpu, RESOURCE_CPU, brief)) &&
		view_json_put(object, "memory", resource_json(memory, RESOURCE_MEMORY, brief)) &&
		(brief || view_json_put(object, "kubernetes", pod_json(v->pod)));

	return done_or_drop(object, done);
}

// SPDX-License-Identifier: Apache-2.0
/* The members of the views: one row for each key of the control API. */
#include "agent/view/view_json.h"
#include "agent/base/time_text.h"
#include "agent/view/restore_result.h"
#include "agent/view/view.h"
#include <errno.h>
#include <string.h>
#include <time.h>

enum json_type {
	JSON_TEXT,   /* const char *; NULL: null */
	JSON_FLAG,   /* bool */
	JSON_U32,    /* uint32_t */
	JSON_COUNT,  /* uint64_t */
	JSON_AMOUNT, /* uint64_t; VIEW_NONE: null, LIMIT_MAX: "max" */
	JSON_SIGNED, /* int64_t */
	JSON_TIME,   /* usec_t since the epoch; 0: null, else RFC 3339 in UTC */
};

struct json_field {
	const char *key;
	size_t offset;
	enum json_type type;
	bool brief; /* also in the list */
};

/* A table, as the functions below take it. */
#define FIELDS(rows) rows, ARRAY_SIZE(rows)

/* clang-format off */
#define ROW(type, key, kind, brief) {#key, offsetof(struct type, key), kind, brief}

static const struct json_field status_fields[] = {
	ROW(status_view, version, JSON_TEXT, true),
	ROW(status_view, pid, JSON_U32, true),
	ROW(status_view, uptime_usec, JSON_COUNT, true),
	ROW(status_view, operation, JSON_TEXT, true),
	ROW(status_view, managed_count, JSON_U32, true),
	ROW(status_view, paused, JSON_FLAG, true),
	ROW(status_view, unsupported, JSON_TEXT, true),
	ROW(status_view, config_path, JSON_TEXT, true),
	ROW(status_view, config_result, JSON_TEXT, true),
	{"config_loaded_at", offsetof(struct status_view, config_loaded_realtime_usec), JSON_TIME, true},
	ROW(status_view, state_directory, JSON_TEXT, true),
	ROW(status_view, state_result, JSON_TEXT, true),
	{"state_saved_at", offsetof(struct status_view, state_saved_realtime_usec), JSON_TIME, true},
	ROW(status_view, bus_connected, JSON_FLAG, true),
	ROW(status_view, cgroup_mount, JSON_TEXT, true),
	ROW(status_view, controllers, JSON_TEXT, true),
	ROW(status_view, psi, JSON_FLAG, true),
	ROW(status_view, kernel, JSON_TEXT, true),
	ROW(status_view, kernel_old, JSON_FLAG, true),
	ROW(status_view, wakeups, JSON_COUNT, true),
	ROW(status_view, loop_lag_max_usec, JSON_COUNT, true),
	ROW(status_view, loop_lag_mean_usec, JSON_COUNT, true),
	ROW(status_view, scan_usec, JSON_COUNT, true),
	ROW(status_view, look_usec, JSON_COUNT, true),
	ROW(status_view, writes, JSON_COUNT, true),
	ROW(status_view, write_failures, JSON_COUNT, true),
	ROW(status_view, reader, JSON_TEXT, true),
	ROW(status_view, reader_detail, JSON_TEXT, true),
	ROW(status_view, rss_bytes, JSON_COUNT, true),
	ROW(status_view, cpu_usec, JSON_COUNT, true),
};

/* Names of enums and nested objects are added by view_json_unit() and resource_json(). */
static const struct json_field unit_fields[] = {
	ROW(unit_view, name, JSON_TEXT, true),
	ROW(unit_view, cgroup, JSON_TEXT, true),
	ROW(unit_view, state_reason, JSON_TEXT, true),
};

static const struct json_field resource_fields[] = {
	ROW(resource_view, controlled, JSON_FLAG, true),
	ROW(resource_view, original, JSON_AMOUNT, true),
	ROW(resource_view, limit, JSON_AMOUNT, true),
	ROW(resource_view, kernel, JSON_AMOUNT, true),
	ROW(resource_view, floor, JSON_AMOUNT, false),
	ROW(resource_view, ceiling, JSON_AMOUNT, false),
	ROW(resource_view, lower, JSON_AMOUNT, false),
	ROW(resource_view, target, JSON_AMOUNT, true),
	ROW(resource_view, upper, JSON_AMOUNT, false),
	ROW(resource_view, peak, JSON_AMOUNT, true),
	ROW(resource_view, confidence_permille, JSON_U32, true),
	ROW(resource_view, samples, JSON_COUNT, false),
	ROW(resource_view, history_usec, JSON_COUNT, false),
	ROW(resource_view, prior_pods, JSON_COUNT, false),
	ROW(resource_view, prior_target, JSON_AMOUNT, false),
	ROW(resource_view, past_samples, JSON_COUNT, false),
	ROW(resource_view, use, JSON_AMOUNT, true),
	ROW(resource_view, use_p50, JSON_AMOUNT, false),
	ROW(resource_view, use_p90, JSON_AMOUNT, false),
	ROW(resource_view, use_p95, JSON_AMOUNT, false),
	ROW(resource_view, use_p99, JSON_AMOUNT, false),
	ROW(resource_view, use_max, JSON_AMOUNT, false),
	ROW(resource_view, throttled_permille, JSON_AMOUNT, true),
	ROW(resource_view, psi_some_ppm, JSON_AMOUNT, true),
	ROW(resource_view, psi_full_ppm, JSON_AMOUNT, false),
	ROW(resource_view, psi_others_ppm, JSON_AMOUNT, false),
	ROW(resource_view, unreclaimable_bytes, JSON_AMOUNT, false),
	ROW(resource_view, working_set_bytes, JSON_AMOUNT, false),
	ROW(resource_view, slope_bytes_per_sec, JSON_SIGNED, false),
	ROW(resource_view, candidate, JSON_AMOUNT, false),
	ROW(resource_view, next_change_in_usec, JSON_AMOUNT, false),
	ROW(resource_view, denied, JSON_TEXT, false),
	ROW(resource_view, startup_ends_in_usec, JSON_AMOUNT, false),
	ROW(resource_view, startup_ready_usec, JSON_AMOUNT, false),
};

/* Followed by the bound's name and text. */
static const struct json_field bound_fields[] = {
	ROW(bound_step, before, JSON_AMOUNT, true),
	ROW(bound_step, after, JSON_AMOUNT, true),
};

static const struct json_field decision_fields[] = {
	{"at", offsetof(struct decision_view, at_realtime_usec), JSON_TIME, true},
	ROW(decision_view, from, JSON_AMOUNT, true),
	ROW(decision_view, to, JSON_AMOUNT, true),
	ROW(decision_view, detail, JSON_TEXT, true),
};

static const struct json_field trial_fields[] = {
	ROW(trial_view, phase, JSON_TEXT, true),
	ROW(trial_view, candidate, JSON_AMOUNT, true),
	ROW(trial_view, ends_in_usec, JSON_COUNT, true),
};

static const struct json_field boost_fields[] = {
	ROW(boost_view, lent, JSON_FLAG, true),
	ROW(boost_view, limit, JSON_AMOUNT, true),
	ROW(boost_view, base, JSON_AMOUNT, true),
	ROW(boost_view, ready_for_usec, JSON_COUNT, true),
	ROW(boost_view, ends_in_usec, JSON_AMOUNT, true),
};

static const struct json_field counter_fields[] = {
	ROW(counter_view, raises, JSON_COUNT, true),
	ROW(counter_view, lowers, JSON_COUNT, true),
	ROW(counter_view, undos, JSON_COUNT, true),
	ROW(counter_view, drifts, JSON_COUNT, true),
	ROW(counter_view, foreign, JSON_COUNT, true),
};

/* null of a standalone daemon. */
static const struct json_field cluster_fields[] = {
	ROW(cluster_view, server, JSON_TEXT, true),
	ROW(cluster_view, node, JSON_TEXT, true),
	ROW(cluster_view, cgroup_driver, JSON_TEXT, true),
	ROW(cluster_view, synced, JSON_FLAG, true),
	ROW(cluster_view, healthy, JSON_FLAG, true),
	ROW(cluster_view, trouble, JSON_TEXT, true),
	{"last_event_at", offsetof(struct cluster_view, last_event_realtime_usec), JSON_TIME, true},
	ROW(cluster_view, resize_offered, JSON_FLAG, true),
	ROW(cluster_view, pod_count, JSON_COUNT, true),
	ROW(cluster_view, writes_waiting, JSON_COUNT, true),
	ROW(cluster_view, refused_count, JSON_COUNT, true),
	ROW(cluster_view, requests, JSON_COUNT, true),
	ROW(cluster_view, failures, JSON_COUNT, true),
};

/* Keys of every unit, so that a list can be filtered: null where it is no container. */
static const struct json_field pod_name_fields[] = {
	ROW(pod_view, namespace, JSON_TEXT, true),
	ROW(pod_view, pod, JSON_TEXT, true),
	ROW(pod_view, container, JSON_TEXT, true),
};

static const struct json_field pod_fields[] = {
	ROW(pod_view, uid, JSON_TEXT, false),
	ROW(pod_view, workload, JSON_TEXT, false),
	ROW(pod_view, qos_class, JSON_TEXT, false),
	ROW(pod_view, controlled_values, JSON_TEXT, false),
	ROW(pod_view, ready, JSON_FLAG, false),
	ROW(pod_view, restarts, JSON_U32, false),
	ROW(pod_view, condition, JSON_TEXT, false),
	ROW(pod_view, heap_runtime, JSON_TEXT, false),
	ROW(pod_view, heap_bytes, JSON_AMOUNT, false),
	ROW(pod_view, heap_permille, JSON_AMOUNT, false),
	ROW(pod_view, annotation_error, JSON_TEXT, false),
	ROW(pod_view, rollout, JSON_TEXT, false),
};

static const struct json_field pod_resource_fields[] = {
	ROW(pod_resource_view, request, JSON_AMOUNT, false),
	ROW(pod_resource_view, request_stays, JSON_TEXT, false),
	ROW(pod_resource_view, spec_limit, JSON_AMOUNT, false),
	ROW(pod_resource_view, ratified, JSON_AMOUNT, false),
	ROW(pod_resource_view, admin_min, JSON_AMOUNT, false),
	ROW(pod_resource_view, admin_max, JSON_AMOUNT, false),
	ROW(pod_resource_view, range_min, JSON_AMOUNT, false),
	ROW(pod_resource_view, range_max, JSON_AMOUNT, false),
	ROW(pod_resource_view, ratio_permille, JSON_AMOUNT, false),
	ROW(pod_resource_view, refused, JSON_AMOUNT, false),
	ROW(pod_resource_view, refused_for_usec, JSON_AMOUNT, false),
	ROW(pod_resource_view, unratified_max, JSON_AMOUNT, false),
	ROW(pod_resource_view, restart, JSON_TEXT, false),
	ROW(pod_resource_view, above_spec, JSON_AMOUNT, false),
	ROW(pod_resource_view, ahead_usec, JSON_AMOUNT, false),
};

static const struct json_field annotation_fields[] = {
	ROW(annotation_view, key, JSON_TEXT, false),
	ROW(annotation_view, value, JSON_TEXT, false),
	ROW(annotation_view, source, JSON_TEXT, false),
};

static const struct json_field report_fields[] = {
	ROW(report_view, detail, JSON_TEXT, false),
	{"sent_at", offsetof(struct report_view, sent_realtime_usec), JSON_TIME, false},
};
/* clang-format on */

/* Sets every amount of a view to VIEW_NONE. */
static void fields_clear(const struct json_field *fields, size_t count, void *view)
{
	for (size_t i = 0; i < count; i++)
		if (fields[i].type == JSON_AMOUNT)
			*(uint64_t *)((char *)view + fields[i].offset) = VIEW_NONE;
}

const char *const unit_kind_names[UNIT_KIND_COUNT] = {
	[UNIT_KIND_UNIT] = "unit",
	[UNIT_KIND_POD] = "pod",
	[UNIT_KIND_CONTAINER] = "container",
};

const char *const unit_state_names[UNIT_STATE_COUNT] = {
	[UNIT_MANAGED] = "managed",     [UNIT_PAUSED] = "paused",     [UNIT_FROZEN] = "frozen",
	[UNIT_WAITING] = "waiting",     [UNIT_GAVE_WAY] = "gave-way", [UNIT_RESTORED] = "restored",
	[UNIT_UNMANAGED] = "unmanaged",
};

const char *const report_view_state_names[REPORT_VIEW_STATE_COUNT] = {
	[REPORT_VIEW_NONE] = "none",
	[REPORT_VIEW_LEASE] = "lease",
	[REPORT_VIEW_WAITING] = "waiting",
	[REPORT_VIEW_SENT] = "sent",
	[REPORT_VIEW_DEFERRED] = "deferred",
	[REPORT_VIEW_REFUSED] = "refused",
	[REPORT_VIEW_CGROUP_ONLY] = "cgroup-only",
};

const char *const restore_outcome_names[RESTORE_OUTCOME_COUNT] = {
	[RESTORE_RESTORED] = "restored", [RESTORE_LEFT] = "left",       [RESTORE_GONE] = "gone",
	[RESTORE_FAILED] = "failed",     [RESTORE_PENDING] = "pending",
};

void unit_view_init(struct unit_view *v)
{
	*v = (struct unit_view){.state = UNIT_WAITING, .mode_text = mode_name(MODE_OFF)};
	for (enum resource r = 0; r < RESOURCE_COUNT; r++) {
		fields_clear(FIELDS(resource_fields), &v->resources[r]);
		v->resources[r].boost.limit = VIEW_NONE;
		v->resources[r].blocked = BLOCKED_NO_DATA;
	}
}

void pod_view_init(struct pod_view *v)
{
	*v = (struct pod_view){0};
	fields_clear(FIELDS(pod_fields), v);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		fields_clear(FIELDS(pod_resource_fields), &v->resources[r]);
}

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
	const char *text, *at = (const char *)from + f->offset;

	switch (f->type) {
	case JSON_TEXT:
		text = *(const char *const *)at;
		return text ? cJSON_CreateString(text) : cJSON_CreateNull();
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
static bool put_fields(cJSON *object, const struct json_field *fields, size_t count,
		       const void *from, bool brief)
{
	for (size_t i = 0; i < count; i++) {
		const struct json_field *f = &fields[i];

		if (brief && !f->brief)
			continue;
		if (!view_json_put(object, f->key, field_json(f, from)))
			return false;
	}
	return true;
}

static cJSON *fields_json(const struct json_field *fields, size_t count, const void *from,
			  bool brief)
{
	cJSON *object = cJSON_CreateObject();

	return done_or_drop(object, put_fields(object, fields, count, from, brief));
}

static cJSON *bound_json(const struct bound_step *step)
{
	cJSON *object = fields_json(FIELDS(bound_fields), step, false);
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

static cJSON *decision_json(const struct decision_view *d)
{
	cJSON *object;
	bool done;

	if (d->at_realtime_usec == 0)
		return cJSON_CreateNull();
	object = fields_json(FIELDS(decision_fields), d, false);
	done = view_json_put(object, "reason", cJSON_CreateString(reason_name(d->reason))) &&
	       view_json_put(object, "text", cJSON_CreateString(reason_text(d->reason)));
	return done_or_drop(object, done);
}

static cJSON *resource_json(const struct resource_view *r, enum resource which, bool brief)
{
	const char *measure = which == RESOURCE_CPU ? "millicores" : "bytes";
	cJSON *object = fields_json(FIELDS(resource_fields), r, brief);
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
	       view_json_put(object, "trial",
			     r->trial.phase ? fields_json(FIELDS(trial_fields), &r->trial, false)
					    : cJSON_CreateNull()) &&
	       view_json_put(object, "boost",
			     r->boost.limit != VIEW_NONE
				     ? fields_json(FIELDS(boost_fields), &r->boost, false)
				     : cJSON_CreateNull()) &&
	       view_json_put(object, "counters",
			     fields_json(FIELDS(counter_fields), &r->counters, false));
	return done_or_drop(object, done);
}

static cJSON *annotations_json(const struct pod_view *v)
{
	cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < v->annotation_count; i++) {
		cJSON *one = fields_json(FIELDS(annotation_fields), &v->annotations[i], false);

		if (!one || !cJSON_AddItemToArray(array, one)) {
			cJSON_Delete(one);
			return done_or_drop(array, false);
		}
	}
	return array;
}

static cJSON *report_json(const struct report_view *v)
{
	cJSON *object = fields_json(FIELDS(report_fields), v, false);

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
	object = fields_json(FIELDS(pod_fields), v, false);
	return done_or_drop(
		object,
		view_json_put(object, "annotations", annotations_json(v)) &&
			view_json_put(object, "report", report_json(&v->report)) &&
			view_json_put(object, "cpu",
				      fields_json(FIELDS(pod_resource_fields), cpu, false)) &&
			view_json_put(object, "memory",
				      fields_json(FIELDS(pod_resource_fields), memory, false)));
}

cJSON *view_json_status(const struct status_view *v)
{
	cJSON *object = fields_json(FIELDS(status_fields), v, false);
	cJSON *cluster = v->cluster.server ? fields_json(FIELDS(cluster_fields), &v->cluster, false)
					   : cJSON_CreateNull();

	return done_or_drop(object, view_json_put(object, "cluster", cluster));
}

cJSON *view_json_unit(const struct unit_view *v, bool brief)
{
	const struct resource_view *cpu = &v->resources[RESOURCE_CPU];
	const struct resource_view *memory = &v->resources[RESOURCE_MEMORY];
	static const struct pod_view none = {0};
	cJSON *object = fields_json(FIELDS(unit_fields), v, brief);
	bool done =
		put_fields(object, FIELDS(pod_name_fields), v->pod ? v->pod : &none, brief) &&
		view_json_put(object, "kind", cJSON_CreateString(unit_kind_names[v->kind])) &&
		view_json_put(object, "mode", cJSON_CreateString(v->mode_text)) &&
		view_json_put(object, "state", cJSON_CreateString(unit_state_names[v->state])) &&
		view_json_put(object, "cpu", resource_json(cpu, RESOURCE_CPU, brief)) &&
		view_json_put(object, "memory", resource_json(memory, RESOURCE_MEMORY, brief)) &&
		(brief || view_json_put(object, "kubernetes", pod_json(v->pod)));

	return done_or_drop(object, done);
}

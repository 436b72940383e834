// SPDX-License-Identifier: Apache-2.0
#include "agent/view/view_table.h"

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
	ROW(cluster_view, pod_count, JSON_U32, true),
	ROW(cluster_view, writes_waiting, JSON_U32, true),
	ROW(cluster_view, refused_count, JSON_U32, true),
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

const struct json_table view_tables[VIEW_TABLE_COUNT] = {
	[VIEW_STATUS]   = {status_fields,   ARRAY_SIZE(status_fields)},
	[VIEW_UNIT]     = {unit_fields,     ARRAY_SIZE(unit_fields)},
	[VIEW_RESOURCE] = {resource_fields, ARRAY_SIZE(resource_fields)},
	[VIEW_BOUND]    = {bound_fields,    ARRAY_SIZE(bound_fields)},
	[VIEW_DECISION] = {decision_fields, ARRAY_SIZE(decision_fields)},
	[VIEW_TRIAL]    = {trial_fields,    ARRAY_SIZE(trial_fields)},
	[VIEW_BOOST]    = {boost_fields,    ARRAY_SIZE(boost_fields)},
	[VIEW_COUNTERS] = {counter_fields,  ARRAY_SIZE(counter_fields)},
	[VIEW_CLUSTER]  = {cluster_fields,  ARRAY_SIZE(cluster_fields)},
	[VIEW_POD_NAME] = {pod_name_fields, ARRAY_SIZE(pod_name_fields)},
	[VIEW_POD]      = {pod_fields,      ARRAY_SIZE(pod_fields)},
	[VIEW_POD_RESOURCE] = {pod_resource_fields, ARRAY_SIZE(pod_resource_fields)},
	[VIEW_ANNOTATION] = {annotation_fields, ARRAY_SIZE(annotation_fields)},
	[VIEW_REPORT]   = {report_fields,   ARRAY_SIZE(report_fields)},
};
/* clang-format on */

void view_table_clear(enum view_table table, void *view)
{
	const struct json_table *t = &view_tables[table];

	for (size_t i = 0; i < t->count; i++)
		if (t->fields[i].type == JSON_AMOUNT)
			*(uint64_t *)((char *)view + t->fields[i].offset) = VIEW_NONE;
}

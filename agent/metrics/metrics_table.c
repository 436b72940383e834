// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics_emit.h"

#define IN(member)      offsetof(struct metrics_input, member)
#define COUNTED(member) offsetof(struct counters, member)
#define RES(member)     offsetof(struct metrics_resource, member)
#define THING(member)   offsetof(struct metrics_thing, member)
#define WHO             "namespace, pod, container, workload; or unit"
/* Decimals of what is stored. */
#define MILLI 3
#define MICRO 6

static const char *blocked_label(size_t i)
{
	return i == BLOCKED_NONE ? NULL : blocked_reason_name((enum blocked_reason)i);
}

static const char *writer_label(size_t i)
{
	return counters_writer_names[i];
}

static const char *since_label(size_t i)
{
	return counters_since_names[i];
}

static const char *backend_label(size_t i)
{
	return counters_backend_names[i];
}

static const char *scan_label(size_t i)
{
	return counters_scan_names[i];
}

static const char *answer_label(size_t i)
{
	return i == REPORT_ANSWER_OK ? NULL : counters_answer_names[i];
}

static const char *skip_label(size_t i)
{
	return counters_skip_names[i];
}

/* clang-format off */
const struct metric metrics_table[] = {
	{"vscaled_build_info", METRIC_INFO, NULL, 0, "version, revision",
	 "The running version; always 1.", .emit = emit_build},

	{"vscaled_container_limit_cpu_cores", METRIC_GAUGE, "cores", MILLI, WHO "; source",
	 "CPU limit: spec, of API object or systemd's property; applied, of the kernel.", .each = each_limits, .resource = RESOURCE_CPU},
	{"vscaled_container_limit_memory_bytes", METRIC_GAUGE, "bytes", 0, WHO "; source",
	 "Memory limit: spec, of API object or systemd's property; applied, of the kernel.", .each = each_limits, .resource = RESOURCE_MEMORY},
	{"vscaled_container_ceiling_cpu_cores", METRIC_GAUGE, "cores", MILLI, WHO,
	 "Highest CPU limit.", .each = each_amount, .offset = RES(ceiling), .resource = RESOURCE_CPU},
	{"vscaled_container_ceiling_memory_bytes", METRIC_GAUGE, "bytes", 0, WHO,
	 "Highest memory limit.", .each = each_amount, .offset = RES(ceiling), .resource = RESOURCE_MEMORY},
	{"vscaled_container_recommendation_cpu_cores", METRIC_GAUGE, "cores", MILLI, WHO "; bound",
	 "Recommended CPU: lower, target, upper, and the peak that limits follow.",
	 .each = each_bounds, .resource = RESOURCE_CPU},
	{"vscaled_container_recommendation_memory_bytes", METRIC_GAUGE, "bytes", 0, WHO "; bound",
	 "Recommended memory, likewise.",
	 .each = each_bounds, .resource = RESOURCE_MEMORY},
	{"vscaled_container_reclaimable_cpu_cores", METRIC_GAUGE, "cores", MILLI, WHO,
	 "CPU request above the recommendation's upper bound.", .each = each_amount, .offset = RES(reclaimable), .resource = RESOURCE_CPU},
	{"vscaled_container_reclaimable_memory_bytes", METRIC_GAUGE, "bytes", 0, WHO,
	 "Memory request above it.", .each = each_amount, .offset = RES(reclaimable), .resource = RESOURCE_MEMORY},
	{"vscaled_container_usage_cpu_cores", METRIC_GAUGE, "cores", MILLI, WHO,
	 "CPU in use, over the last window.", .each = each_amount, .offset = RES(use), .resource = RESOURCE_CPU},
	{"vscaled_container_usage_memory_bytes", METRIC_GAUGE, "bytes", 0, WHO,
	 "Memory in use, page cache included.", .each = each_amount, .offset = RES(use), .resource = RESOURCE_MEMORY},
	{"vscaled_container_unreclaimable_memory_bytes", METRIC_GAUGE, "bytes", 0, WHO,
	 "Memory that cannot be reclaimed without swap.",
	 .each = each_thing, .offset = THING(unreclaimable_bytes)},
	{"vscaled_container_memory_above_spec_bytes", METRIC_GAUGE, "bytes", 0, WHO,
	 "Unreclaimable memory above the limit of the pod's spec: any resize can end in an OOM "
	 "kill.",
	 .each = each_thing, .offset = THING(above_spec_bytes)},
	{"vscaled_container_throttled_ratio", METRIC_GAUGE, "ratio", MICRO, WHO,
	 "Share of throttled scheduling periods, over the last window.",
	 .each = each_thing, .offset = THING(throttled_ppm)},
	{"vscaled_container_psi_some_ratio", METRIC_GAUGE, "ratio", MICRO, WHO "; resource",
	 "Share of time in which some task waited.",
	 .each = each_amounts, .offset = RES(psi_some_ppm)},
	{"vscaled_container_oom_events_total", METRIC_COUNTER, NULL, 0, WHO,
	 "OOM kills while managed.",
	 .each = each_thing, .offset = THING(oom_kills)},
	{"vscaled_container_limit_drifts_total", METRIC_COUNTER, NULL, 0, WHO "; resource",
	 "Limits of external writers that were replaced.", .each = each_amounts, .offset = RES(drifts)},

	{"vscaled_managed_containers", METRIC_GAUGE, NULL, 0, "mode, state",
	 "Managed containers and units.", .emit = emit_managed},
	{"vscaled_unsupported", METRIC_GAUGE, NULL, 0, "reason",
	 "1: nothing on this node can be managed, and why.", .emit = emit_unsupported},
	{"vscaled_paused", METRIC_GAUGE, NULL, 0, "",
	 "1: vscalectl has paused everything.", emit_flag, .offset = IN(paused)},
	{"vscaled_boosted_containers", METRIC_GAUGE, NULL, 0, "",
	 "Containers with a startup boost.", emit_number, .offset = IN(boosted)},
	{"vscaled_limit_changes_total", METRIC_COUNTER, NULL, 0, "resource, direction, reason",
	 "Limits written.", .emit = emit_changes},
	{"vscaled_limit_change_blocked_total", METRIC_COUNTER, NULL, 0, "reason",
	 "Times that changes of a resource became blocked.",
	 emit_counters, .offset = COUNTED(blocked), .count = BLOCKED_COUNT, .value = blocked_label},
	{"vscaled_memory_denials_total", METRIC_COUNTER, NULL, 0, "",
	 "Times that the node began to deny memory.",
	 emit_counter, .offset = COUNTED(denials)},
	{"vscaled_node_memory_reserve_bytes", METRIC_GAUGE, "bytes", 0, "",
	 "Memory that is never granted; 0: no ledger.",
	 emit_number, .offset = IN(node_reserve_bytes)},
	{"vscaled_node_memory_granted_bytes", METRIC_GAUGE, "bytes", 0, "",
	 "Granted and not yet used increases of memory limits.",
	 emit_number, .offset = IN(node_granted_bytes)},
	{"vscaled_node_memory_kubelet_available_bytes", METRIC_GAUGE, "bytes", 0, "",
	 "Available memory by which the kubelet evicts.",
	 emit_number, .offset = IN(node_kubelet_available_bytes), .kubernetes = true},
	{"vscaled_node_memory_eviction_bound", METRIC_GAUGE, NULL, 0, "",
	 "1: the kubelet's eviction threshold leaves less to grant than the reserve.",
	 emit_flag, .offset = IN(node_eviction_bound), .kubernetes = true},
	{"vscaled_limit_reverted_total", METRIC_COUNTER, NULL, 0, "by",
	 "Times that an external value stood in place of a held limit, by whose it was.",
	 emit_counters, .offset = COUNTED(reverted), .count = WRITER_COUNT, .value = writer_label},
	{"vscaled_apply_duration_seconds", METRIC_HISTOGRAM, "seconds", MICRO, "backend",
	 "Time until a limit was in force: cgroup, the write; systemd, the call; api, from "
	 "resize to the kubelet's echo.",
	 emit_spans, .offset = COUNTED(apply), .count = BACKEND_COUNT, .value = backend_label},
	{"vscaled_raise_duration_seconds", METRIC_HISTOGRAM, "seconds", MICRO, "since",
	 "Time until a higher limit was in the cgroup: since the wake-up, or since the pass was "
	 "due.",
	 emit_spans, .offset = COUNTED(raise), .count = SINCE_COUNT, .value = since_label},
	{"vscaled_apply_failures_total", METRIC_COUNTER, NULL, 0, "backend",
	 "Limits that could not be applied.",
	 emit_counters, .offset = COUNTED(apply_failed), .count = BACKEND_COUNT, .value = backend_label},

	{"vscaled_loop_lag_seconds", METRIC_HISTOGRAM, "seconds", MICRO, "",
	 "Lateness of the loop's timer.", emit_span, .offset = COUNTED(loop_lag)},
	{"vscaled_loop_last_tick_timestamp_seconds", METRIC_GAUGE, "seconds", MICRO, "",
	 "When the timer last expired.", emit_time, .offset = IN(last_tick_real)},
	{"vscaled_loop_wakeups_total", METRIC_COUNTER, NULL, 0, "",
	 "Wake-ups of the loop.", emit_number, .offset = IN(wakeups)},
	{"vscaled_scan_duration_seconds", METRIC_HISTOGRAM, "seconds", MICRO, "clock",
	 "Time to read all cgroups, decide and raise: reflex, a pass between two samples; "
	 "sample, all.",
	 emit_spans, .offset = COUNTED(scan), .count = SCAN_CLOCK_COUNT, .value = scan_label},
	{"vscaled_reader_bpf", METRIC_GAUGE, NULL, 0, "",
	 "1: cgroups are read by BPF; 0: by files.", emit_flag, .offset = IN(reader_bpf)},
	{"vscaled_systemd_connected", METRIC_GAUGE, NULL, 0, "",
	 "1: PID 1 answers; 0: it does not, or is not needed.",
	 emit_flag, .offset = IN(systemd_connected)},

	{"vscaled_pods", METRIC_GAUGE, NULL, 0, "",
	 "Pods of the node.", emit_number, .offset = IN(pods), .kubernetes = true},
	{"vscaled_pods_managed", METRIC_GAUGE, NULL, 0, "",
	 "Pods with a valid mode.", emit_number, .offset = IN(pods_managed),
	 .kubernetes = true},
	{"vscaled_pods_invalid_annotations", METRIC_GAUGE, NULL, 0, "",
	 "Pods with an invalid annotation, treated as Off.",
	 emit_number, .offset = IN(pods_invalid), .kubernetes = true},
	{"vscaled_rollouts_stopped", METRIC_GAUGE, NULL, 0, "",
	 "Workloads whose rollout is stopped on this node: the sized pods did worse.",
	 emit_number, .offset = IN(rollouts_stopped), .kubernetes = true},
	{"vscaled_node_name_wrong", METRIC_GAUGE, NULL, 0, "",
	 "1: pods run here, but none is of the watched node.",
	 emit_flag, .offset = IN(node_wrong), .kubernetes = true},
	{"vscaled_apiserver_requests_total", METRIC_COUNTER, NULL, 0, "verb, code",
	 "Requests that have ended; code none: no answer.",
	 .emit = emit_requests, .kubernetes = true},
	{"vscaled_apiserver_watch_healthy", METRIC_GAUGE, NULL, 0, "",
	 "1: the watch of pods is open, or was a moment ago.", emit_flag, .offset = IN(watch_healthy),
	 .kubernetes = true},
	{"vscaled_apiserver_watch_restarts_total", METRIC_COUNTER, NULL, 0, "",
	 "Restarts of the watch.", emit_counter, .offset = COUNTED(watch_restarts),
	 .kubernetes = true},
	{"vscaled_apiserver_objects_skipped_total", METRIC_COUNTER, NULL, 0, "reason",
	 "Pods skipped: larger than 2 MiB, or invalid.",
	 emit_counters, .offset = COUNTED(objects_skipped), .count = COUNTERS_SKIPS, .value = skip_label,
	 .kubernetes = true},
	{"vscaled_reports_waiting", METRIC_GAUGE, NULL, 0, "",
	 "Pods whose new limits are not sent yet.",
	 emit_number, .offset = IN(reports_waiting), .kubernetes = true},
	{"vscaled_reports_refused", METRIC_GAUGE, NULL, 0, "",
	 "Pods whose last resize was refused and is not repeated yet.",
	 emit_number, .offset = IN(reports_refused), .kubernetes = true},
	{"vscaled_reports_sent_total", METRIC_COUNTER, NULL, 0, "",
	 "Resizes sent.", emit_counter, .offset = COUNTED(reports_sent),
	 .kubernetes = true},
	{"vscaled_reports_failed_total", METRIC_COUNTER, NULL, 0, "reason",
	 "Resizes that failed, by the API server's or the kubelet's answer.",
	 emit_counters, .offset = COUNTED(reports_failed), .count = REPORT_ANSWER_KINDS, .value = answer_label,
	 .kubernetes = true},

	{"vscaled_config_last_reload_successful", METRIC_GAUGE, NULL, 0, "",
	 "1: the configuration was valid when last read.", emit_flag, .offset = IN(config_ok)},
	{"vscaled_config_last_reload_success_timestamp_seconds", METRIC_GAUGE, "seconds", MICRO, "",
	 "When the configuration in force was read.", emit_time, .offset = IN(config_loaded_real)},
	{"vscaled_config_reloads_total", METRIC_COUNTER, NULL, 0, "",
	 "Reloads of the configuration.", emit_counter, .offset = COUNTED(reloads)},
	{"vscaled_config_reload_failures_total", METRIC_COUNTER, NULL, 0, "",
	 "Reloads of an invalid one.", emit_counter, .offset = COUNTED(reloads_failed)},
	{"vscaled_state_last_save_successful", METRIC_GAUGE, NULL, 0, "",
	 "1: history and original values were saved.",
	 emit_flag, .offset = IN(state_ok)},
	{"vscaled_state_last_save_success_timestamp_seconds", METRIC_GAUGE, "seconds", MICRO, "",
	 "When they were last saved.", emit_time, .offset = IN(state_saved_real)},
	{"vscaled_state_saves_total", METRIC_COUNTER, NULL, 0, "",
	 "Saves of them.", emit_counter, .offset = COUNTED(saves)},
	{"vscaled_state_save_failures_total", METRIC_COUNTER, NULL, 0, "",
	 "Failed saves.", emit_counter, .offset = COUNTED(saves_failed)},

	{"process_cpu_seconds_total", METRIC_COUNTER, "seconds", MICRO, "",
	 "User and system CPU time.", emit_number, .offset = IN(process.cpu_usec)},
	{"process_resident_memory_bytes", METRIC_GAUGE, "bytes", 0, "",
	 "Resident memory.", emit_number, .offset = IN(process.resident_bytes)},
	{"process_virtual_memory_bytes", METRIC_GAUGE, "bytes", 0, "",
	 "Virtual memory.", emit_number, .offset = IN(process.virtual_bytes)},
	{"process_open_fds", METRIC_GAUGE, NULL, 0, "",
	 "Open file descriptors.", emit_number, .offset = IN(process.fds)},
	{"process_max_fds", METRIC_GAUGE, NULL, 0, "",
	 "File descriptors it may open.", emit_number, .offset = IN(process.fds_max)},
	{"process_start_time_seconds", METRIC_GAUGE, "seconds", MICRO, "",
	 "When the agent started.", emit_time, .offset = IN(process.started_real)},
};
/* clang-format on */
const size_t metrics_table_size = ARRAY_SIZE(metrics_table);

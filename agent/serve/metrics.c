// SPDX-License-Identifier: Apache-2.0
/* The page of a scrape, family after family, unit after unit. */
#include "agent/serve/metrics.h"
#include "agent/manage/pod_table.h"
#include <errno.h>
#include <malloc.h>
#include <string.h>

/* A piece and the largest family behind it; it doubles from there. */
#define FIRST_BYTES (32 * KIB)
/* This much is written before it is handed on. */
#define PIECE_BYTES (16 * KIB)
/* From this number of units on, the heap is returned to the system after the scrape. */
#define MANY_UNITS 100

/* --- the text format */

/* Decimals of what is stored. */
#define MILLI 3
#define MICRO 6

static bool make_room(struct metrics_writer *w, size_t size)
{
	size_t capacity = w->capacity > 0 ? w->capacity : FIRST_BYTES;
	char *data;

	if (w->failed)
		return false;
	if (w->size + size <= w->capacity)
		return true;
	while (capacity < w->size + size)
		capacity *= 2;
	data = realloc(w->data, capacity);
	if (data == NULL) {
		w->failed = true;
		return false;
	}
	w->data = data;
	w->capacity = capacity;
	return true;
}

static void put_bytes(struct metrics_writer *w, const char *text, size_t size)
{
	if (!make_room(w, size))
		return;
	memcpy(w->data + w->size, text, size);
	w->size += size;
}

static void put_text(struct metrics_writer *w, const char *text)
{
	put_bytes(w, text, strlen(text));
}

/* The format wants UTF-8; the names that come here are ASCII, and what is not is not passed on. */
static void put_escaped(struct metrics_writer *w, const char *text)
{
	for (; *text != '\0'; text++) {
		size_t plain = 0;

		while ((signed char)text[plain] > 0 && strchr("\\\"\n", text[plain]) == NULL)
			plain++;
		put_bytes(w, text, plain);
		text += plain;
		if (*text == '\0')
			return;
		put_text(w, *text == '\n'   ? "\\n"
			    : *text == '\\' ? "\\\\"
			    : *text == '"'  ? "\\\""
					    : "?");
	}
}

/* Digits from the end of buf, without zeros at the end of the decimals; where it begins. */
static char *decimal(uint64_t value, unsigned digits, char *end)
{
	bool shown = false;

	*end = '\0';
	for (; digits > 0; digits--, value /= 10) {
		if (value % 10 == 0 && !shown)
			continue;
		shown = true;
		*--end = (char)('0' + value % 10);
	}
	if (shown)
		*--end = '.';
	do {
		*--end = (char)('0' + value % 10);
		value /= 10;
	} while (value > 0);
	return end;
}

static void put_head(struct metrics_writer *w, const char *what, const char *text)
{
	put_text(w, what);
	put_text(w, w->metric->name);
	put_bytes(w, " ", 1);
	put_escaped(w, text);
	put_bytes(w, "\n", 1);
}

void metrics_family(struct metrics_writer *w, const struct metric *m)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};

	w->metric = m;
	put_head(w, "# HELP ", m->help);
	put_head(w, "# TYPE ", types[m->type]);
}

void metrics_series(struct metrics_writer *w, const char *suffix)
{
	put_text(w, w->metric->name);
	put_text(w, suffix);
	w->labelled = false;
}

void metrics_label(struct metrics_writer *w, const char *name, const char *value)
{
	put_bytes(w, w->labelled ? "," : "{", 1);
	w->labelled = true;
	put_text(w, name);
	put_bytes(w, "=\"", 2);
	put_escaped(w, value);
	put_bytes(w, "\"", 1);
}

void metrics_value(struct metrics_writer *w, uint64_t value, unsigned digits)
{
	char text[32];

	if (w->labelled)
		put_bytes(w, "}", 1);
	put_bytes(w, " ", 1);
	put_text(w, decimal(value, digits, text + sizeof text - 1));
	put_bytes(w, "\n", 1);
}

/* --- how a row's series are found; offsets are in the struct named */

#define EMIT(name)                                                                                 \
	static void name(struct metrics_writer *w, const struct metric *m __attribute__((unused)), \
			 const struct metrics_page *in)

static uint64_t number_at(const void *base, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)base + offset, sizeof value);
	return value;
}

EMIT(emit_build)
{
	metrics_series(w, "");
	metrics_label(w, "version", VSCALED_VERSION);
	metrics_label(w, "revision",
		      in->revision != NULL && in->revision[0] != '\0' ? in->revision : "unknown");
	metrics_value(w, 1, 0);
}

/* One with one label. */
static void labelled(struct metrics_writer *w, const char *label, const char *of, uint64_t value)
{
	metrics_series(w, "");
	metrics_label(w, label, of);
	metrics_value(w, value, 0);
}

EMIT(emit_unsupported)
{
	static const struct {
		const char *word;
		enum state_reason why;
	} left_alone[] = {
		{"pod-cgroup", STATE_NO_POD_CGROUP},
		{"cgroup-driver", STATE_OTHER_DRIVER},
		{"sandbox", STATE_SANDBOX_RUNTIME},
		{"sandbox-processes", STATE_SANDBOX},
	};

	if (in->unsupported != NULL || in->kernel_old)
		labelled(w, "reason", in->unsupported ?: "kernel-old", 1);
	for (size_t i = 0; i < ARRAY_SIZE(left_alone); i++)
		if (in->unfound[left_alone[i].why] != 0)
			labelled(w, "reason", left_alone[i].word, in->unfound[left_alone[i].why]);
}

/* uint64_t of metrics_page. */
EMIT(emit_number)
{
	metrics_series(w, "");
	metrics_value(w, number_at(in, m->offset), m->digits);
}

/* usec_t of metrics_page; 0 has no series. */
EMIT(emit_time)
{
	if (number_at(in, m->offset) != 0)
		emit_number(w, m, in);
}

/* bool of metrics_page. */
EMIT(emit_flag)
{
	bool value;

	memcpy(&value, (const char *)in + m->offset, sizeof value);
	metrics_series(w, "");
	metrics_value(w, value, 0);
}

/* A flag, none where systemd is not needed. */
EMIT(emit_systemd)
{
	if (!in->systemd_absent)
		emit_flag(w, m, in);
}

/* uint64_t of counters. */
EMIT(emit_counter)
{
	metrics_series(w, "");
	metrics_value(w, number_at(&in->counters, m->offset), m->digits);
}

/* uint64_t[count] of counters, by one label. Every value of it from the start: a rate needs the
 * zero before the one. */
EMIT(emit_counters)
{
	for (size_t i = 0; i < m->count; i++)
		if (m->names[i] != NULL)
			labelled(w, m->labels, m->names[i],
				 number_at(&in->counters, m->offset + i * sizeof(uint64_t)));
}

EMIT(emit_blocked)
{
	for (size_t i = BLOCKED_NONE + 1; i < BLOCKED_COUNT; i++)
		labelled(w, m->labels, blocked_reason_name((enum blocked_reason)i),
			 in->counters.blocked[i]);
}

EMIT(emit_changes)
{
	static const char *const directions[DIRECTION_COUNT] = {"up", "down"};

	for (size_t i = 0; i < (size_t)RESOURCE_COUNT * DIRECTION_COUNT * REASON_COUNT; i++) {
		size_t reason = i % REASON_COUNT, direction = i / REASON_COUNT % DIRECTION_COUNT;
		size_t r = i / REASON_COUNT / DIRECTION_COUNT;

		if (reason == REASON_NONE)
			continue;
		metrics_series(w, "");
		metrics_label(w, "resource", resource_names[r]);
		metrics_label(w, "direction", directions[direction]);
		metrics_label(w, "reason", reason_name((enum reason)reason));
		metrics_value(w, in->counters.changes[r][direction][reason], 0);
	}
}

EMIT(emit_requests)
{
	char code[16];

	for (size_t i = 0; i < COUNTERS_REQUESTS; i++) {
		const struct counters_request *q = &in->counters.requests[i];

		if (q->verb == NULL)
			continue;
		snprintf(code, sizeof code, "%u", q->code);
		metrics_series(w, "");
		metrics_label(w, "verb", q->verb);
		metrics_label(w, "code", q->code != 0 ? code : "none");
		metrics_value(w, q->count, 0);
	}
}

/* label NULL: none. */
static void span_series(struct metrics_writer *w, const char *suffix, const char *label,
			const char *value)
{
	metrics_series(w, suffix);
	if (label != NULL)
		metrics_label(w, label, value);
}

static void span(struct metrics_writer *w, const struct counters_span *s, const char *label,
		 const char *value)
{
	uint64_t below = 0;

	for (size_t i = 0; i <= COUNTERS_BUCKETS; i++) {
		bool last = i == COUNTERS_BUCKETS;
		char text[32], bound[32] = "+Inf";
		const char *start;

		span_series(w, "_bucket", label, value);
		if (!last) {
			below += s->bucket[i];
			start = decimal(counters_bounds_usec[i], MICRO, text + sizeof text - 1);
			/* A float, as Prometheus' own libraries write it. */
			snprintf(bound, sizeof bound, "%s%s", start,
				 strchr(start, '.') != NULL ? "" : ".0");
		}
		metrics_label(w, "le", bound);
		metrics_value(w, last ? s->count : below, 0);
	}
	span_series(w, "_sum", label, value);
	metrics_value(w, s->sum_usec, MICRO);
	span_series(w, "_count", label, value);
	metrics_value(w, s->count, 0);
}

/* counters_span of counters. */
EMIT(emit_span)
{
	span(w, (const void *)((const char *)&in->counters + m->offset), NULL, NULL);
}

/* counters_span[count] of counters, by one label. */
EMIT(emit_spans)
{
	const struct counters_span *s = (const void *)((const char *)&in->counters + m->offset);

	for (size_t i = 0; i < m->count; i++)
		span(w, &s[i], m->labels, m->names[i]);
}

EMIT(emit_managed)
{
	for (size_t i = 0; i < (size_t)MODE_COUNT * UNIT_STATE_COUNT; i++) {
		size_t mode = i / UNIT_STATE_COUNT, state = i % UNIT_STATE_COUNT;

		metrics_series(w, "");
		metrics_label(w, "mode", mode_name((enum mode)mode));
		metrics_label(w, "state", unit_state_names[state]);
		metrics_value(w, in->managed[mode][state], 0);
	}
}

EMIT(emit_states)
{
	for (size_t i = 0; i < STATE_REASON_COUNT; i++) {
		if (state_rows[i].state == UNIT_ENDED)
			continue;
		metrics_series(w, "");
		metrics_label(w, "state", unit_state_names[state_rows[i].state]);
		metrics_label(w, "reason", state_rows[i].name);
		metrics_value(w, in->reasons[i], 0);
	}
}

/* --- values of an entry that nothing else shows */

#define BOUND(name)                                                                                \
	static uint64_t name(const struct shown *s, enum resource r)                               \
	{                                                                                          \
		return shown_range(s, r).name;                                                     \
	}
BOUND(lower)
BOUND(target)
BOUND(upper)
BOUND(peak)

/* Of its request. */
static uint64_t reclaimable(const struct shown *s, enum resource r)
{
	uint64_t request = shown_request(s, r), most = upper(s, r);

	return request != 0 && request != VIEW_NONE && most != VIEW_NONE
		       ? request - MIN(request, most)
		       : VIEW_NONE;
}

static uint64_t oom_kills(const struct shown *s, enum resource r)
{
	return s->m->control.resource[r].counters.oom_kills;
}

/* --- the table */

#define IN(member)      offsetof(struct metrics_page, member)
#define COUNTED(member) offsetof(struct counters, member)
#define CPU             RESOURCE_CPU
#define MEMORY          RESOURCE_MEMORY
#define VALUES(...)                                                                                \
	.values = (const struct metric_value[])                                                    \
	{                                                                                          \
		__VA_ARGS__,                                                                       \
		{                                                                                  \
			.get = NULL                                                                \
		}                                                                                  \
	}
#define WHO "namespace, pod, container, workload; or unit"

static const char *const writer_names[WRITER_COUNT] = {
	[WRITER_SYSTEMD] = "systemd",
	[WRITER_KUBELET] = "kubelet",
	[WRITER_USER] = "user",
	[WRITER_UNKNOWN] = "unknown",
};
static const char *const backend_names[BACKEND_COUNT] = {
	[BACKEND_CGROUP] = "cgroup",
	[BACKEND_SYSTEMD] = "systemd",
	[BACKEND_API] = "api",
};
static const char *const scan_names[SCAN_CLOCK_COUNT] = {
	[SCAN_REFLEX] = "reflex",
	[SCAN_SAMPLE] = "sample",
};
static const char *const since_names[SINCE_COUNT] = {
	[SINCE_DUE] = "due",
	[SINCE_WAKE] = "wake",
};
static const char *const skip_names[COUNTERS_SKIPS] = {"large", "undecodable"};

/* What went well is no failure. */
static const char *const answer_names[REPORT_ANSWER_KINDS] = {
	[REPORT_ANSWER_REFUSED] = "refused",         [REPORT_ANSWER_UNSUPPORTED] = "unsupported",
	[REPORT_ANSWER_NO_DECREASE] = "no-decrease", [REPORT_ANSWER_FORBIDDEN] = "forbidden",
	[REPORT_ANSWER_CONFLICT] = "conflict",       [REPORT_ANSWER_GONE] = "gone",
	[REPORT_ANSWER_SLOW_DOWN] = "slow-down",     [REPORT_ANSWER_FAILED] = "failed",
};

/* clang-format off */
const struct metric metrics_table[] = {
	{"vscaled_build_info", METRIC_GAUGE, 0, "version, revision",
	 "The running version; always 1.", .emit = emit_build},

	{"vscaled_container_limit_cpu_cores", METRIC_GAUGE, MILLI, WHO "; source",
	 "CPU limit: spec, of API object or systemd's property; applied, of the kernel.", VALUES({"spec", shown_spec_limit, CPU}, {"applied", shown_kernel, CPU})},
	{"vscaled_container_limit_memory_bytes", METRIC_GAUGE, 0, WHO "; source",
	 "Memory limit: spec, of API object or systemd's property; applied, of the kernel.", VALUES({"spec", shown_spec_limit, MEMORY}, {"applied", shown_kernel, MEMORY})},
	{"vscaled_container_ceiling_cpu_cores", METRIC_GAUGE, MILLI, WHO,
	 "Highest CPU limit.", VALUES({NULL, shown_ceiling, CPU})},
	{"vscaled_container_ceiling_memory_bytes", METRIC_GAUGE, 0, WHO,
	 "Highest memory limit.", VALUES({NULL, shown_ceiling, MEMORY})},
	{"vscaled_container_recommendation_cpu_cores", METRIC_GAUGE, MILLI, WHO "; bound",
	 "Recommended CPU: lower, target, upper, and the peak that limits follow.",
	 VALUES({"lower", lower, CPU}, {"target", target, CPU}, {"upper", upper, CPU},
	        {"peak", peak, CPU})},
	{"vscaled_container_recommendation_memory_bytes", METRIC_GAUGE, 0, WHO "; bound",
	 "Recommended memory, likewise.",
	 VALUES({"lower", lower, MEMORY}, {"target", target, MEMORY}, {"upper", upper, MEMORY},
	        {"peak", peak, MEMORY})},
	{"vscaled_container_reclaimable_cpu_cores", METRIC_GAUGE, MILLI, WHO,
	 "CPU request above the recommendation's upper bound.", VALUES({NULL, reclaimable, CPU})},
	{"vscaled_container_reclaimable_memory_bytes", METRIC_GAUGE, 0, WHO,
	 "Memory request above it.", VALUES({NULL, reclaimable, MEMORY})},
	{"vscaled_container_usage_cpu_cores", METRIC_GAUGE, MILLI, WHO,
	 "CPU in use, over the last window.", VALUES({NULL, shown_use, CPU})},
	{"vscaled_container_usage_memory_bytes", METRIC_GAUGE, 0, WHO,
	 "Memory in use, page cache included.", VALUES({NULL, shown_use, MEMORY})},
	{"vscaled_container_unreclaimable_memory_bytes", METRIC_GAUGE, 0, WHO,
	 "Memory that cannot be reclaimed without swap.",
	 VALUES({NULL, shown_unreclaimable, MEMORY}), .always = true},
	{"vscaled_container_memory_above_spec_bytes", METRIC_GAUGE, 0, WHO,
	 "Unreclaimable memory above the limit of the pod's spec: any resize can end in an OOM "
	 "kill.",
	 VALUES({NULL, shown_above_spec, MEMORY}), .always = true},
	{"vscaled_container_throttled_ratio", METRIC_GAUGE, MILLI, WHO,
	 "Share of throttled scheduling periods, over the last window.",
	 VALUES({NULL, shown_throttled_permille, CPU}), .always = true},
	{"vscaled_container_psi_some_ratio", METRIC_GAUGE, MICRO, WHO "; resource",
	 "Share of time in which some task waited.",
	 VALUES({"cpu", shown_psi_some, CPU}, {"memory", shown_psi_some, MEMORY})},
	{"vscaled_container_oom_events_total", METRIC_COUNTER, 0, WHO,
	 "OOM kills while managed.",
	 VALUES({NULL, oom_kills, MEMORY}), .always = true},
	{"vscaled_container_limit_drifts_total", METRIC_COUNTER, 0, WHO "; resource",
	 "Limits of external writers that were replaced.", VALUES({"cpu", shown_drifts, CPU}, {"memory", shown_drifts, MEMORY})},

	{"vscaled_managed_containers", METRIC_GAUGE, 0, "mode, state",
	 "Managed containers and units.", .emit = emit_managed},
	{"vscaled_containers", METRIC_GAUGE, 0, "state, reason",
	 "Containers and units by state and reason.", .emit = emit_states},
	{"vscaled_unsupported", METRIC_GAUGE, 0, "reason",
	 "1: nothing on this node can be managed, and why, or kernel-old, where all is; or how many pods cannot.", .emit = emit_unsupported},
	{"vscaled_paused", METRIC_GAUGE, 0, "",
	 "1: vscalectl has paused everything.", emit_flag, .offset = IN(paused)},
	{"vscaled_boosted_containers", METRIC_GAUGE, 0, "",
	 "Containers with a startup boost.", emit_number, .offset = IN(boosted)},
	{"vscaled_limit_changes_total", METRIC_COUNTER, 0, "resource, direction, reason",
	 "Limits written.", .emit = emit_changes},
	{"vscaled_limit_change_blocked_total", METRIC_COUNTER, 0, "reason",
	 "Times that changes of a resource became blocked.",
	 .emit = emit_blocked},
	{"vscaled_memory_denials_total", METRIC_COUNTER, 0, "",
	 "Times that the node began to deny memory.",
	 emit_counter, .offset = COUNTED(denials)},
	{"vscaled_memory_brake_ended_total", METRIC_COUNTER, 0, "",
	 "Times that growth was held no longer while the runtime might still write a limit below "
	 "use.",
	 emit_counter, .offset = COUNTED(brakes_ended)},
	{"vscaled_throttle_events_total", METRIC_COUNTER, 0, "",
	 "Times that the kernel reported within a period that a container had used its quota.",
	 emit_counter, .offset = COUNTED(throttle_events)},
	{"vscaled_late_oom_kills_total", METRIC_COUNTER, 0, "",
	 "OOM kills of containers and units that vscaled had not looked at for over a second.",
	 emit_counter, .offset = COUNTED(late_kills)},
	{"vscaled_node_memory_reserve_bytes", METRIC_GAUGE, 0, "",
	 "Memory that is never granted; 0: no ledger.",
	 emit_number, .offset = IN(node_reserve_bytes)},
	{"vscaled_node_memory_granted_bytes", METRIC_GAUGE, 0, "",
	 "Granted and not yet used increases of memory limits.",
	 emit_number, .offset = IN(node_granted_bytes)},
	{"vscaled_node_memory_kubelet_available_bytes", METRIC_GAUGE, 0, "",
	 "Available memory by which the kubelet evicts.",
	 emit_number, .offset = IN(node_kubelet_available_bytes), .kubernetes = true},
	{"vscaled_node_memory_eviction_bound", METRIC_GAUGE, 0, "",
	 "1: the kubelet's eviction threshold leaves less to grant than the reserve.",
	 emit_flag, .offset = IN(node_eviction_bound), .kubernetes = true},
	{"vscaled_limit_reverted_total", METRIC_COUNTER, 0, "by",
	 "Times that an external value stood in place of a held limit, by whose it was.",
	 emit_counters, .offset = COUNTED(reverted), .count = WRITER_COUNT, .names = writer_names},
	{"vscaled_apply_duration_seconds", METRIC_HISTOGRAM, MICRO, "backend",
	 "Time until a limit was in force: cgroup, the write; systemd, the call; api, from "
	 "resize to the kubelet's echo.",
	 emit_spans, .offset = COUNTED(apply), .count = BACKEND_COUNT, .names = backend_names},
	{"vscaled_raise_duration_seconds", METRIC_HISTOGRAM, MICRO, "since",
	 "Time until a higher limit was in the cgroup: since the wake-up, or since the pass was "
	 "due.",
	 emit_spans, .offset = COUNTED(raise), .count = SINCE_COUNT, .names = since_names},
	{"vscaled_apply_failures_total", METRIC_COUNTER, 0, "backend",
	 "Limits that could not be applied.",
	 emit_counters, .offset = COUNTED(apply_failed), .count = BACKEND_COUNT, .names = backend_names},

	{"vscaled_loop_lag_seconds", METRIC_HISTOGRAM, MICRO, "",
	 "Lateness of the loop's timer.", emit_span, .offset = COUNTED(loop_lag)},
	{"vscaled_loop_last_tick_timestamp_seconds", METRIC_GAUGE, MICRO, "",
	 "When the timer last expired.", emit_time, .offset = IN(last_tick_real)},
	{"vscaled_loop_wakeups_total", METRIC_COUNTER, 0, "",
	 "Wake-ups of the loop.", emit_number, .offset = IN(wakeups)},
	{"vscaled_scan_duration_seconds", METRIC_HISTOGRAM, MICRO, "clock",
	 "Time to read all cgroups, decide and raise: reflex, a pass between two samples; "
	 "sample, all.",
	 emit_spans, .offset = COUNTED(scan), .count = SCAN_CLOCK_COUNT, .names = scan_names},
	{"vscaled_reader_bpf", METRIC_GAUGE, 0, "",
	 "1: cgroups are read by BPF; 0: by files.", emit_flag, .offset = IN(reader_bpf)},
	{"vscaled_systemd_connected", METRIC_GAUGE, 0, "",
	 "1: PID 1 answers; 0: it does not. None where it is not needed.",
	 emit_systemd, .offset = IN(systemd_connected)},

	{"vscaled_pods", METRIC_GAUGE, 0, "",
	 "Pods of the node.", emit_number, .offset = IN(pods), .kubernetes = true},
	{"vscaled_pods_managed", METRIC_GAUGE, 0, "",
	 "Pods with a valid mode.", emit_number, .offset = IN(cluster.pod_count),
	 .kubernetes = true},
	{"vscaled_pods_invalid_annotations", METRIC_GAUGE, 0, "",
	 "Pods with an invalid annotation: sizes stay as they are.",
	 emit_number, .offset = IN(pods_invalid), .kubernetes = true},
	{"vscaled_rollouts_stopped", METRIC_GAUGE, 0, "",
	 "Workloads whose rollout is stopped on this node: the sized pods did worse.",
	 emit_number, .offset = IN(rollouts_stopped), .kubernetes = true},
	{"vscaled_node_name_wrong", METRIC_GAUGE, 0, "",
	 "1: pods run here, but none is of the watched node.",
	 emit_flag, .offset = IN(node_wrong), .kubernetes = true},
	{"vscaled_apiserver_requests_total", METRIC_COUNTER, 0, "verb, code",
	 "Requests that have ended; code none: no answer.",
	 .emit = emit_requests, .kubernetes = true},
	{"vscaled_apiserver_watch_healthy", METRIC_GAUGE, 0, "",
	 "1: the watch of pods is open, or was a moment ago.", emit_flag, .offset = IN(cluster.healthy),
	 .kubernetes = true},
	{"vscaled_apiserver_watch_restarts_total", METRIC_COUNTER, 0, "",
	 "Restarts of the watch.", emit_counter, .offset = COUNTED(watch_restarts),
	 .kubernetes = true},
	{"vscaled_apiserver_objects_skipped_total", METRIC_COUNTER, 0, "reason",
	 "Pods skipped: larger than 2 MiB, or invalid.",
	 emit_counters, .offset = COUNTED(objects_skipped), .count = COUNTERS_SKIPS, .names = skip_names,
	 .kubernetes = true},
	{"vscaled_reports_waiting", METRIC_GAUGE, 0, "",
	 "Pods whose new limits are not sent yet.",
	 emit_number, .offset = IN(cluster.writes_waiting), .kubernetes = true},
	{"vscaled_reports_refused", METRIC_GAUGE, 0, "",
	 "Pods whose last resize was refused and is not repeated yet.",
	 emit_number, .offset = IN(cluster.refused_count), .kubernetes = true},
	{"vscaled_reports_sent_total", METRIC_COUNTER, 0, "",
	 "Resizes sent.", emit_counter, .offset = COUNTED(reports.sent),
	 .kubernetes = true},
	{"vscaled_requests_waited_total", METRIC_COUNTER, 0, "",
	 "Times that a raise of a request began to wait for room on the node.",
	 emit_counter, .offset = COUNTED(reports.room_waits), .kubernetes = true},
	{"vscaled_reports_failed_total", METRIC_COUNTER, 0, "reason",
	 "Resizes that failed, by the API server's or the kubelet's answer.",
	 emit_counters, .offset = COUNTED(reports.answers), .count = REPORT_ANSWER_KINDS, .names = answer_names,
	 .kubernetes = true},

	{"vscaled_config_last_reload_successful", METRIC_GAUGE, 0, "",
	 "1: the configuration was valid when last read.", emit_flag, .offset = IN(config_ok)},
	{"vscaled_config_last_reload_success_timestamp_seconds", METRIC_GAUGE, MICRO, "",
	 "When the configuration in force was read.", emit_time, .offset = IN(config_loaded_real)},
	{"vscaled_config_reloads_total", METRIC_COUNTER, 0, "",
	 "Reloads of the configuration.", emit_counter, .offset = COUNTED(reloads)},
	{"vscaled_config_reload_failures_total", METRIC_COUNTER, 0, "",
	 "Reloads of an invalid one.", emit_counter, .offset = COUNTED(reloads_failed)},
	{"vscaled_state_last_save_successful", METRIC_GAUGE, 0, "",
	 "1: history and original values were saved.",
	 emit_flag, .offset = IN(state_ok)},
	{"vscaled_state_last_save_success_timestamp_seconds", METRIC_GAUGE, MICRO, "",
	 "When they were last saved.", emit_time, .offset = IN(state_saved_real)},
	{"vscaled_state_saves_total", METRIC_COUNTER, 0, "",
	 "Saves of them.", emit_counter, .offset = COUNTED(saves)},
	{"vscaled_state_save_failures_total", METRIC_COUNTER, 0, "",
	 "Failed saves.", emit_counter, .offset = COUNTED(saves_failed)},
	{"vscaled_recorder_dropped_total", METRIC_COUNTER, 0, "",
	 "Samples and decisions that are not in the recording, because the disk stood still.",
	 emit_counter, .offset = COUNTED(recorder_dropped)},

	{"process_cpu_seconds_total", METRIC_COUNTER, MICRO, "",
	 "User and system CPU time.", emit_number, .offset = IN(process.cpu_usec)},
	{"process_resident_memory_bytes", METRIC_GAUGE, 0, "",
	 "Resident memory.", emit_number, .offset = IN(process.resident_bytes)},
	{"process_virtual_memory_bytes", METRIC_GAUGE, 0, "",
	 "Virtual memory.", emit_number, .offset = IN(process.virtual_bytes)},
	{"process_open_fds", METRIC_GAUGE, 0, "",
	 "Open file descriptors.", emit_number, .offset = IN(process.fds)},
	{"process_max_fds", METRIC_GAUGE, 0, "",
	 "File descriptors it may open.", emit_number, .offset = IN(process.fds_max)},
	{"process_start_time_seconds", METRIC_GAUGE, MICRO, "",
	 "When the agent started.", emit_time, .offset = IN(process.started_real)},
};
/* clang-format on */
const size_t metrics_table_size = ARRAY_SIZE(metrics_table);

/* --- the page */

/* Packed: this, its labels with a NUL, and its values in the order of the table: what is known and
 * no limit plus one, else 0, seven bits in a byte, the lowest first. */
struct unit_head {
	uint32_t size; /* of all */
	uint32_t next; /* where the value is that is written next */
};

static void pack(struct metrics_writer *w, uint64_t value)
{
	value = value != VIEW_NONE && value != LIMIT_MAX ? value + 1 : 0;
	do {
		put_bytes(w, &(char){(char)((value & 0x7f) | (value > 0x7f ? 0x80 : 0))}, 1);
		value >>= 7;
	} while (value > 0);
}

static uint64_t unpack(const char **at)
{
	uint64_t value = 0;
	unsigned shift = 0;

	do {
		value |= (uint64_t)(**at & 0x7f) << shift;
		shift += 7;
	} while (*(*at)++ & 0x80);
	return value;
}

static void put_labels(struct metrics_writer *w, const struct shown *s)
{
	w->labelled = false;
	if (s->pod == NULL) {
		metrics_label(w, "unit", s->m->name);
	} else {
		metrics_label(w, "namespace", s->pod->spec->namespace);
		metrics_label(w, "pod", s->pod->spec->name);
		metrics_label(w, "container", s->c->name);
		if (s->pod->spec->workload != NULL)
			metrics_label(w, "workload", s->pod->spec->workload);
	}
	put_bytes(w, "", 1);
}

void metrics_page_add(struct metrics_page *p, const struct shown *s)
{
	struct metrics_writer *w = &p->units;
	struct unit_head head = {0};
	size_t begin = w->size;
	bool sized[RESOURCE_COUNT];

	p->managed[managed_mode(s->m)][state_rows[shown_reason(s)].state]++;
	p->reasons[shown_reason(s)]++;
	p->boosted += shown_boosted(s);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		sized[r] = shown_controlled(s, r) || target(s, r) != VIEW_NONE;
	put_bytes(w, (const char *)&head, sizeof head);
	put_labels(w, s);
	head.next = (uint32_t)(w->size - begin);
	for (const struct metric *m = metrics_table; m < metrics_table + metrics_table_size; m++)
		for (const struct metric_value *v = m->values; v != NULL && v->get != NULL; v++)
			pack(w,
			     m->always || sized[v->resource] ? v->get(s, v->resource) : VIEW_NONE);
	head.size = (uint32_t)(w->size - begin);
	if (!w->failed)
		memcpy(w->data + begin, &head, sizeof head);
	p->unit_count++;
}

void metrics_page_free(void *page)
{
	struct metrics_page *p = page;
	bool many;

	if (p == NULL)
		return;
	many = p->unit_count >= MANY_UNITS;
	free(p->units.data);
	free(p->w.data);
	free(p);
	if (many)
		malloc_trim(0);
}

static void write_unit(struct metrics_page *p, const struct metric *m)
{
	char *unit = p->units.data + p->at;
	struct unit_head head;
	const char *next;

	memcpy(&head, unit, sizeof head);
	next = unit + head.next;
	for (const struct metric_value *v = m->values; v->get != NULL; v++) {
		uint64_t value = unpack(&next);

		if (value == 0)
			continue;
		metrics_series(&p->w, "");
		put_text(&p->w, unit + sizeof head);
		p->w.labelled = true;
		if (v->name != NULL)
			metrics_label(&p->w, strrchr(m->labels, ' ') + 1, v->name);
		metrics_value(&p->w, value - 1, m->digits);
	}
	head.next = (uint32_t)(next - unit);
	memcpy(unit, &head, sizeof head);
	p->at += head.size;
}

/* A family's head, all of a small family, or one unit of a large one. */
static void write_next(struct metrics_page *p)
{
	const struct metric *m = &metrics_table[p->row];

	if (p->row == metrics_table_size) {
		p->ended = true;
		return;
	}
	if (m->kubernetes && p->cluster.server == NULL) {
		p->row++;
		return;
	}
	if (!p->begun)
		metrics_family(&p->w, m);
	p->begun = true;
	if (m->values != NULL && p->at < p->units.size) {
		write_unit(p, m);
		return;
	}
	if (m->emit != NULL)
		m->emit(&p->w, m, p);
	p->begun = false;
	p->at = 0;
	p->row++;
}

ssize_t metrics_page_read(void *page, char *to, size_t size)
{
	struct metrics_page *p = page;

	if (p->sent == p->w.size) {
		p->sent = p->w.size = 0;
		while (p->w.size < PIECE_BYTES && !p->ended && !p->w.failed)
			write_next(p);
	}
	if (p->w.failed)
		return -ENOMEM;
	size = MIN(size, p->w.size - p->sent);
	memcpy(to, p->w.data + p->sent, size);
	p->sent += size;
	return (ssize_t)size;
}

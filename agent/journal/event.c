// SPDX-License-Identifier: Apache-2.0
#include "agent/journal/event.h"
#include "policy/base/quantity.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NUMBER_SIZE 32

/* A record and the memory for its numbers. */
struct draft {
	struct event_record record;
	char from[NUMBER_SIZE], to[NUMBER_SIZE], count[NUMBER_SIZE], span[NUMBER_SIZE],
		own[NUMBER_SIZE], error[NUMBER_SIZE];
	char from_human[QUANTITY_TEXT_SIZE], to_human[QUANTITY_TEXT_SIZE];
	char span_human[NUMBER_SIZE];
	char error_human[128];
};

static bool event_allowed(const struct draft *d, enum event_value v)
{
	return event_table[d->record.kind].fields & (1u << v);
}

static void event_put(struct draft *d, enum event_value v, const char *exact, const char *human)
{
	if (event_allowed(d, v))
		d->record.values[v] = (struct event_pair){exact, human};
}

static void put_text(struct draft *d, enum event_value v, const char *text)
{
	event_put(d, v, text && *text ? text : NULL, NULL);
}

static void put_who(struct draft *d, const struct event_who *w)
{
	put_text(d, VALUE_NAMESPACE, w->namespace);
	put_text(d, VALUE_POD, w->pod);
	put_text(d, VALUE_CONTAINER, w->container);
	put_text(d, VALUE_UNIT, w->unit);
	put_text(d, VALUE_CGROUP, w->cgroup);
}

/* Fields are exact quantities ("500m", "67108864", "max"), messages readable ones ("64.00Mi"). */
static void put_amount(struct draft *d, enum event_value v, enum resource r, uint64_t amount)
{
	char *exact = v == VALUE_FROM ? d->from : d->to;
	char *human = v == VALUE_FROM ? d->from_human : d->to_human;

	if (amount == LIMIT_MAX)
		snprintf(exact, NUMBER_SIZE, "max");
	else
		snprintf(exact, NUMBER_SIZE, "%" PRIu64 "%s", amount, r == RESOURCE_CPU ? "m" : "");
	if (r == RESOURCE_CPU)
		event_put(d, v, exact, quantity_format_cpu(amount, human, QUANTITY_TEXT_SIZE));
	else
		event_put(d, v, exact, quantity_format_human(amount, human, QUANTITY_TEXT_SIZE));
}

static void put_count(struct draft *d, uint64_t count)
{
	snprintf(d->count, sizeof d->count, "%" PRIu64, count);
	event_put(d, VALUE_COUNT_OF, d->count, NULL);
}

static void put_error(struct draft *d, int error)
{
	if (error >= 0)
		return;
	snprintf(d->error, sizeof d->error, "%d", -error);
	event_put(d, VALUE_ERROR, d->error,
		  strerror_r(-error, d->error_human, sizeof d->error_human));
}

/* "430 ms", "12.5 s", "-24.0 h". */
static void put_span(struct draft *d, int64_t span_usec)
{
	static const struct {
		double usec;
		const char *unit;
	} units[] = {{3600e6, "h"}, {60e6, "min"}, {1e6, "s"}, {1e3, "ms"}};
	double size = span_usec < 0 ? -(double)span_usec : (double)span_usec;
	size_t i = 0;

	if (span_usec == 0)
		return;
	while (i < ARRAY_SIZE(units) - 1 && size < units[i].usec)
		i++;
	snprintf(d->span, sizeof d->span, "%" PRId64, span_usec);
	snprintf(d->span_human, sizeof d->span_human, "%.1f %s", (double)span_usec / units[i].usec,
		 units[i].unit);
	event_put(d, VALUE_SPAN, d->span, d->span_human);
}

static void put_own(struct draft *d, usec_t own_usec)
{
	if (own_usec == 0)
		return;
	snprintf(d->own, sizeof d->own, "%" PRIu64, own_usec);
	event_put(d, VALUE_OWN, d->own, NULL);
}

static const char *resource_word(enum resource r)
{
	static const char *const words[RESOURCE_COUNT] = {
		[RESOURCE_CPU] = "cpu", [RESOURCE_MEMORY] = "memory"};

	return words[r];
}

static void emit_change(enum event_kind kind, const struct change_event *e)
{
	struct draft d = {.record.kind = kind};

	put_who(&d, &e->who);
	put_text(&d, VALUE_RESOURCE, resource_word(e->resource));
	put_amount(&d, VALUE_FROM, e->resource, e->from);
	put_amount(&d, VALUE_TO, e->resource, e->to);
	put_text(&d, VALUE_DETAIL, e->detail);
	put_text(&d, VALUE_BY, e->by);
	put_span(&d, (int64_t)e->span_usec);
	put_own(&d, e->own_usec);
	put_error(&d, e->error);
	d.record.why = e->detail;
	if (e->reason != REASON_NONE) {
		put_text(&d, VALUE_REASON, reason_name(e->reason));
		d.record.why = e->detail ? e->detail : reason_text(e->reason);
	}
	event_log_emit(&d.record);
}

static void emit_unit(enum event_kind kind, const struct unit_event *e)
{
	struct draft d = {.record.kind = kind};

	put_who(&d, &e->who);
	put_text(&d, VALUE_MODE, e->mode);
	put_text(&d, VALUE_DETAIL, e->detail);
	put_text(&d, VALUE_FILE, e->file);
	put_text(&d, VALUE_BY, e->by);
	put_amount(&d, VALUE_FROM, RESOURCE_MEMORY, e->limit_bytes);
	put_count(&d, e->count);
	put_span(&d, (int64_t)e->span_usec);
	put_error(&d, e->error);
	event_log_emit(&d.record);
}

static void emit_daemon(enum event_kind kind, const struct daemon_event *e)
{
	struct draft d = {.record.kind = kind};

	put_text(&d, VALUE_VERSION, e->version);
	put_text(&d, VALUE_FILE, e->file);
	put_text(&d, VALUE_CGROUP, e->cgroup);
	put_text(&d, VALUE_DETAIL, e->detail);
	put_text(&d, VALUE_HINT, e->hint);
	put_text(&d, VALUE_OUTCOME, e->kept ? "the last good configuration stays" : "not started");
	put_count(&d, e->count);
	put_span(&d, e->span_usec);
	put_error(&d, e->error);
	event_log_emit(&d.record);
}

#define CHANGE_EVENT(name, kind)                                                                   \
	void name(const struct change_event *e)                                                    \
	{                                                                                          \
		emit_change(kind, e);                                                              \
	}
#define UNIT_EVENT(name, kind)                                                                     \
	void name(const struct unit_event *e)                                                      \
	{                                                                                          \
		emit_unit(kind, e);                                                                \
	}
#define DAEMON_EVENT(name, kind)                                                                   \
	void name(const struct daemon_event *e)                                                    \
	{                                                                                          \
		emit_daemon(kind, e);                                                              \
	}

/* clang-format off */
CHANGE_EVENT(event_limit_raised, EVENT_LIMIT_RAISED)
CHANGE_EVENT(event_limit_lowered, EVENT_LIMIT_LOWERED)
CHANGE_EVENT(event_limit_undone, EVENT_LIMIT_UNDONE)
CHANGE_EVENT(event_limit_refused, EVENT_LIMIT_REFUSED)
CHANGE_EVENT(event_limit_failed, EVENT_LIMIT_FAILED)
CHANGE_EVENT(event_ceiling_reached, EVENT_CEILING_REACHED)
CHANGE_EVENT(event_memory_denied, EVENT_MEMORY_DENIED)
CHANGE_EVENT(event_drift_reasserted, EVENT_DRIFT_REASSERTED)
CHANGE_EVENT(event_drift_adopted, EVENT_DRIFT_ADOPTED)
CHANGE_EVENT(event_drift_gave_way, EVENT_DRIFT_GAVE_WAY)
CHANGE_EVENT(event_report_refused, EVENT_REPORT_REFUSED)
CHANGE_EVENT(event_memory_above_spec, EVENT_MEMORY_ABOVE_SPEC)
CHANGE_EVENT(event_property_headroom, EVENT_PROPERTY_HEADROOM)
CHANGE_EVENT(event_restored, EVENT_RESTORED)
CHANGE_EVENT(event_restore_left, EVENT_RESTORE_LEFT)

UNIT_EVENT(event_unit_managed, EVENT_UNIT_MANAGED)
UNIT_EVENT(event_unit_gone, EVENT_UNIT_GONE)
UNIT_EVENT(event_unit_unmanaged, EVENT_UNIT_UNMANAGED)
UNIT_EVENT(event_cgroup_released, EVENT_CGROUP_RELEASED)
UNIT_EVENT(event_originals_recovered, EVENT_ORIGINALS_RECOVERED)
UNIT_EVENT(event_originals_unknown, EVENT_ORIGINALS_UNKNOWN)
UNIT_EVENT(event_annotation_invalid, EVENT_ANNOTATION_INVALID)
UNIT_EVENT(event_report_ratified, EVENT_REPORT_RATIFIED)
UNIT_EVENT(event_memory_contested, EVENT_MEMORY_CONTESTED)
UNIT_EVENT(event_pod_evicted, EVENT_POD_EVICTED)
UNIT_EVENT(event_eviction_refused, EVENT_EVICTION_REFUSED)
UNIT_EVENT(event_rollout_stopped, EVENT_ROLLOUT_STOPPED)
UNIT_EVENT(event_oom_kill, EVENT_OOM_KILL)
UNIT_EVENT(event_writer_stuck, EVENT_WRITER_STUCK)
UNIT_EVENT(event_property_failed, EVENT_PROPERTY_FAILED)
UNIT_EVENT(event_baseline_unsaved, EVENT_BASELINE_UNSAVED)
UNIT_EVENT(event_paused, EVENT_PAUSED)
UNIT_EVENT(event_resumed, EVENT_RESUMED)
UNIT_EVENT(event_past_added, EVENT_PAST_ADDED)

DAEMON_EVENT(event_started, EVENT_STARTED)
DAEMON_EVENT(event_ready, EVENT_READY)
DAEMON_EVENT(event_stopping, EVENT_STOPPING)
DAEMON_EVENT(event_config_loaded, EVENT_CONFIG_LOADED)
DAEMON_EVENT(event_config_invalid, EVENT_CONFIG_INVALID)
DAEMON_EVENT(event_host_unsupported, EVENT_HOST_UNSUPPORTED)
DAEMON_EVENT(event_node_unsupported, EVENT_NODE_UNSUPPORTED)
DAEMON_EVENT(event_psi_missing, EVENT_PSI_MISSING)
DAEMON_EVENT(event_inotify_missing, EVENT_INOTIFY_MISSING)
DAEMON_EVENT(event_node_memory_unread, EVENT_NODE_MEMORY_UNREAD)
DAEMON_EVENT(event_reader_chosen, EVENT_READER_CHOSEN)
DAEMON_EVENT(event_reader_failed, EVENT_READER_FAILED)
DAEMON_EVENT(event_api_insecure, EVENT_API_INSECURE)
DAEMON_EVENT(event_api_lost, EVENT_API_LOST)
DAEMON_EVENT(event_api_back, EVENT_API_BACK)
DAEMON_EVENT(event_namespaces_denied, EVENT_NAMESPACES_DENIED)
DAEMON_EVENT(event_evictions_denied, EVENT_EVICTIONS_DENIED)
DAEMON_EVENT(event_observation_full, EVENT_OBSERVATION_FULL)
DAEMON_EVENT(event_api_refuses, EVENT_API_REFUSES)
DAEMON_EVENT(event_api_object_bad, EVENT_API_OBJECT_BAD)
DAEMON_EVENT(event_node_name_wrong, EVENT_NODE_NAME_WRONG)
DAEMON_EVENT(event_bus_absent, EVENT_BUS_ABSENT)
DAEMON_EVENT(event_bus_lost, EVENT_BUS_LOST)
DAEMON_EVENT(event_bus_back, EVENT_BUS_BACK)
DAEMON_EVENT(event_file_removed, EVENT_FILE_REMOVED)
DAEMON_EVENT(event_state_unsaved, EVENT_STATE_UNSAVED)
DAEMON_EVENT(event_state_damaged, EVENT_STATE_DAMAGED)
DAEMON_EVENT(event_clock_jumped, EVENT_CLOCK_JUMPED)
DAEMON_EVENT(event_slow_loop, EVENT_SLOW_LOOP)
DAEMON_EVENT(event_past_failed, EVENT_PAST_FAILED)
/* clang-format on */

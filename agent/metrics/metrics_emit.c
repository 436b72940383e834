// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/metrics_text.h"
#include <string.h>

static uint64_t number_at(const void *base, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)base + offset, sizeof value);
	return value;
}

EMIT(emit_build)
{
	(void)m;
	metrics_series(w, "");
	metrics_label(w, "version", in->version);
	metrics_label(w, "revision",
		      in->revision != NULL && in->revision[0] != '\0' ? in->revision : "unknown");
	metrics_value(w, 1, 0);
}

EMIT(emit_unsupported)
{
	(void)m;
	if (in->unsupported != NULL) {
		metrics_series(w, "");
		metrics_label(w, "reason", in->unsupported);
		metrics_value(w, 1, 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(in->left_alone); i++) {
		if (in->left_alone[i].reason == NULL || in->left_alone[i].pods == 0)
			continue;
		metrics_series(w, "");
		metrics_label(w, "reason", in->left_alone[i].reason);
		metrics_value(w, in->left_alone[i].pods, 0);
	}
}

EMIT(emit_number)
{
	metrics_series(w, "");
	metrics_value(w, number_at(in, m->offset), m->digits);
}

EMIT(emit_time)
{
	if (number_at(in, m->offset) != 0)
		emit_number(w, m, in);
}

EMIT(emit_flag)
{
	bool value;

	memcpy(&value, (const char *)in + m->offset, sizeof value);
	metrics_series(w, "");
	metrics_value(w, value, 0);
}

EMIT(emit_systemd)
{
	if (!in->systemd_absent)
		emit_flag(w, m, in);
}

EMIT(emit_counter)
{
	metrics_series(w, "");
	metrics_value(w, number_at(in->counters, m->offset), m->digits);
}

/* Every value of the label from the start: a rate needs the zero before the one. */
EMIT(emit_counters)
{
	for (size_t i = 0; i < m->count; i++) {
		if (m->names[i] == NULL)
			continue;
		metrics_series(w, "");
		metrics_label(w, m->labels, m->names[i]);
		metrics_value(w, number_at(in->counters, m->offset + i * sizeof(uint64_t)), 0);
	}
}

EMIT(emit_blocked)
{
	for (size_t i = BLOCKED_NONE + 1; i < BLOCKED_COUNT; i++) {
		metrics_series(w, "");
		metrics_label(w, m->labels, blocked_reason_name((enum blocked_reason)i));
		metrics_value(w, in->counters->blocked[i], 0);
	}
}

EMIT(emit_changes)
{
	static const char *const directions[DIRECTION_COUNT] = {"up", "down"};

	(void)m;
	for (size_t i = 0; i < (size_t)RESOURCE_COUNT * DIRECTION_COUNT * REASON_COUNT; i++) {
		size_t reason = i % REASON_COUNT, direction = i / REASON_COUNT % DIRECTION_COUNT;
		size_t r = i / REASON_COUNT / DIRECTION_COUNT;

		if (reason == REASON_NONE)
			continue;
		metrics_series(w, "");
		metrics_label(w, "resource", resource_names[r]);
		metrics_label(w, "direction", directions[direction]);
		metrics_label(w, "reason", reason_name((enum reason)reason));
		metrics_value(w, in->counters->changes[r][direction][reason], 0);
	}
}

EMIT(emit_requests)
{
	char code[16];

	(void)m;
	for (size_t i = 0; i < COUNTERS_REQUESTS; i++) {
		const struct counters_request *q = &in->counters->requests[i];

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
static void span(struct metrics_writer *w, const struct counters_span *s, const char *label,
		 const char *value)
{
	static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
	uint64_t below = 0;
	char bound[32];

	for (size_t i = 0; i < COUNTERS_BUCKETS + 3; i++) {
		bool bucket = i <= COUNTERS_BUCKETS, last = i == COUNTERS_BUCKETS;

		metrics_series(w, suffixes[bucket ? 0 : i - COUNTERS_BUCKETS]);
		if (label != NULL)
			metrics_label(w, label, value);
		if (bucket && !last) {
			below += s->bucket[i];
			metrics_label(
				w, "le",
				metrics_bound(counters_bounds_usec[i], 6, bound, sizeof bound));
			metrics_value(w, below, 0);
			continue;
		}
		if (last)
			metrics_label(w, "le", "+Inf");
		if (i == COUNTERS_BUCKETS + 1)
			metrics_value(w, s->sum_usec, 6);
		else
			metrics_value(w, s->count, 0);
	}
}

EMIT(emit_span)
{
	span(w, (const void *)((const char *)in->counters + m->offset), NULL, NULL);
}

EMIT(emit_spans)
{
	const struct counters_span *s = (const void *)((const char *)in->counters + m->offset);

	for (size_t i = 0; i < m->count; i++)
		span(w, &s[i], m->labels, m->names[i]);
}

EMIT(emit_managed)
{
	uint64_t count[MODE_COUNT][UNIT_STATE_COUNT] = {0};

	(void)m;
	for (size_t i = 0; i < in->thing_count; i++)
		count[in->things[i].mode][in->things[i].state]++;
	for (size_t i = 0; i < (size_t)MODE_COUNT * UNIT_STATE_COUNT; i++) {
		size_t mode = i / UNIT_STATE_COUNT, state = i % UNIT_STATE_COUNT;

		metrics_series(w, "");
		metrics_label(w, "mode", mode_name((enum mode)mode));
		metrics_label(w, "state", unit_state_names[state]);
		metrics_value(w, count[mode][state], 0);
	}
}

/* A series of a thing; extra NULL: no further label. Nothing where nothing is known. */
static void metrics_emit_amount(struct metrics_writer *w, const struct metrics_thing *t,
				const char *extra, const char *value, uint64_t number)
{
	if (number == VIEW_NONE || number == LIMIT_MAX)
		return;
	metrics_series(w, "");
	if (t->unit != NULL) {
		metrics_label(w, "unit", t->unit);
	} else {
		metrics_label(w, "namespace", t->namespace);
		metrics_label(w, "pod", t->pod);
		metrics_label(w, "container", t->container);
		if (t->workload != NULL)
			metrics_label(w, "workload", t->workload);
	}
	if (extra != NULL)
		metrics_label(w, extra, value);
	metrics_value(w, number, w->metric->digits);
}

EACH(each_limits)
{
	const struct metrics_resource *r = &t->resource[m->resource];

	if (!r->known)
		return;
	metrics_emit_amount(w, t, "source", "spec", r->spec);
	metrics_emit_amount(w, t, "source", "applied", r->applied);
}

EACH(each_bounds)
{
	const struct metrics_resource *r = &t->resource[m->resource];

	if (!r->known)
		return;
	metrics_emit_amount(w, t, "bound", "lower", r->lower);
	metrics_emit_amount(w, t, "bound", "target", r->target);
	metrics_emit_amount(w, t, "bound", "upper", r->upper);
	metrics_emit_amount(w, t, "bound", "peak", r->peak);
}

EACH(each_amount)
{
	const struct metrics_resource *r = &t->resource[m->resource];

	if (r->known)
		metrics_emit_amount(w, t, NULL, NULL, number_at(r, m->offset));
}

EACH(each_amounts)
{
	for (enum resource i = 0; i < RESOURCE_COUNT; i++) {
		const struct metrics_resource *r = &t->resource[i];

		if (r->known)
			metrics_emit_amount(w, t, "resource", resource_names[i],
					    number_at(r, m->offset));
	}
}

EACH(each_thing)
{
	metrics_emit_amount(w, t, NULL, NULL, number_at(t, m->offset));
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/metrics/counters.h"
#include <string.h>

const char *const counters_writer_names[WRITER_COUNT] = {
	[WRITER_SYSTEMD] = "systemd",
	[WRITER_KUBELET] = "kubelet",
	[WRITER_USER] = "user",
	[WRITER_UNKNOWN] = "unknown",
};
const char *const counters_backend_names[BACKEND_COUNT] = {
	[BACKEND_CGROUP] = "cgroup",
	[BACKEND_SYSTEMD] = "systemd",
	[BACKEND_API] = "api",
};
const char *const counters_scan_names[SCAN_CLOCK_COUNT] = {
	[SCAN_REFLEX] = "reflex",
	[SCAN_SAMPLE] = "sample",
};
const char *const counters_since_names[SINCE_COUNT] = {
	[SINCE_DUE] = "due",
	[SINCE_WAKE] = "wake",
};
const char *const counters_skip_names[COUNTERS_SKIPS] = {"large", "undecodable"};

const char *const counters_answer_names[REPORT_ANSWER_KINDS] = {
	[REPORT_ANSWER_OK] = "ok",
	[REPORT_ANSWER_REFUSED] = "refused",
	[REPORT_ANSWER_UNSUPPORTED] = "unsupported",
	[REPORT_ANSWER_NO_DECREASE] = "no-decrease",
	[REPORT_ANSWER_FORBIDDEN] = "forbidden",
	[REPORT_ANSWER_CONFLICT] = "conflict",
	[REPORT_ANSWER_GONE] = "gone",
	[REPORT_ANSWER_SLOW_DOWN] = "slow-down",
	[REPORT_ANSWER_FAILED] = "failed",
};

/* From a write to a file (microseconds) to a kubelet's echo (seconds). */
const usec_t counters_bounds_usec[COUNTERS_BUCKETS] = {
	100,
	250,
	500,
	USEC_PER_MSEC,
	2500,
	5 * USEC_PER_MSEC,
	10 * USEC_PER_MSEC,
	50 * USEC_PER_MSEC,
	100 * USEC_PER_MSEC,
	500 * USEC_PER_MSEC,
	USEC_PER_SEC,
	5 * USEC_PER_SEC,
	30 * USEC_PER_SEC,
};

void counters_took(struct counters_span *s, usec_t span_usec)
{
	size_t i = 0;

	while (i < COUNTERS_BUCKETS && span_usec > counters_bounds_usec[i])
		i++;
	if (i < COUNTERS_BUCKETS)
		s->bucket[i]++;
	s->count++;
	s->sum_usec += span_usec;
	s->last_usec = span_usec;
	s->max_usec = MAX(s->max_usec, span_usec);
}

void counters_applied(struct counters *c, enum counters_backend b, usec_t span_usec)
{
	counters_took(&c->apply[b], span_usec);
}

void counters_apply_failed(struct counters *c, enum counters_backend b)
{
	c->apply_failed[b]++;
}

void counters_raised(struct counters *c, const usec_t took_usec[SINCE_COUNT])
{
	for (enum counters_since s = 0; s < SINCE_COUNT; s++)
		counters_took(&c->raise[s], took_usec[s]);
}

void counters_scanned(struct counters *c, enum counters_scan clock, usec_t span_usec)
{
	counters_took(&c->scan[clock], span_usec);
}

void counters_lagged(struct counters *c, usec_t lag_usec)
{
	counters_took(&c->loop_lag, lag_usec);
}

void counters_denied(struct counters *c)
{
	c->denials++;
}

void counters_reverted(struct counters *c, enum counters_writer w)
{
	c->reverted[w]++;
}

void counters_reloaded(struct counters *c, bool done)
{
	c->reloads += done;
	c->reloads_failed += !done;
}

void counters_saved(struct counters *c, bool done)
{
	c->saves += done;
	c->saves_failed += !done;
}

void counters_skipped(struct counters *c, unsigned why)
{
	c->objects_skipped[why]++;
}

void counters_watch_restarts(struct counters *c, uint64_t more)
{
	c->watch_restarts += more;
}

void counters_reports(struct counters *c, uint64_t sent,
		      const uint64_t answers[REPORT_ANSWER_KINDS])
{
	c->reports_sent = sent;
	memcpy(c->reports_failed, answers, sizeof c->reports_failed);
}

void counters_change(struct counters *c, enum resource r, uint64_t from, uint64_t to,
		     enum reason reason)
{
	if (to != from)
		c->changes[r][to > from ? DIRECTION_UP : DIRECTION_DOWN][reason]++;
}

void counters_blocked(struct counters *c, enum blocked_reason before, enum blocked_reason now)
{
	if (now != before && now != BLOCKED_NONE)
		c->blocked[now]++;
}

void counters_request(struct counters *c, const char *verb, unsigned code)
{
	size_t i = 0;

	while (i < COUNTERS_REQUESTS - 1 && c->requests[i].verb != NULL &&
	       (c->requests[i].code != code || strcmp(c->requests[i].verb, verb) != 0))
		i++;
	if (i == COUNTERS_REQUESTS - 1)
		c->requests[i].verb = "other";
	else
		c->requests[i] = (struct counters_request){verb, code, c->requests[i].count};
	c->requests[i].count++;
}

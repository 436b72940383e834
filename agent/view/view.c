// SPDX-License-Identifier: Apache-2.0
/* Names and values of the control API. */
#include "agent/view/view.h"
#include "agent/base/escape.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const unit_kind_names[UNIT_KIND_COUNT] = {
	[UNIT_KIND_UNIT] = "unit",
	[UNIT_KIND_POD] = "pod",
	[UNIT_KIND_CONTAINER] = "container",
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

cJSON *view_amount(uint64_t amount)
{
	if (amount == VIEW_NONE)
		return cJSON_CreateNull();
	if (amount == LIMIT_MAX)
		return cJSON_CreateString("max");
	return cJSON_CreateNumber((double)amount);
}

cJSON *view_time(usec_t realtime_usec)
{
	char text[TIME_TEXT_SIZE];

	if (realtime_usec == 0)
		return cJSON_CreateNull();
	return cJSON_CreateString(time_text(realtime_usec, 6, text));
}

cJSON *view_cluster(const struct cluster_view *v)
{
	struct view_json o = {.json = cJSON_CreateObject()};

	view_put(&o, "server", view_text(v->server));
	view_put(&o, "node", view_text(v->node));
	view_put(&o, "cgroup_driver", view_text(v->cgroup_driver));
	view_put(&o, "synced", cJSON_CreateBool(v->synced));
	view_put(&o, "healthy", cJSON_CreateBool(v->healthy));
	view_put(&o, "trouble", view_text(v->trouble));
	view_put(&o, "last_event_at", view_time(v->last_event_realtime_usec));
	view_put(&o, "resize_offered", cJSON_CreateBool(v->resize_offered));
	view_put(&o, "pod_count", cJSON_CreateNumber((double)v->pod_count));
	view_put(&o, "writes_waiting", cJSON_CreateNumber((double)v->writes_waiting));
	view_put(&o, "refused_count", cJSON_CreateNumber((double)v->refused_count));
	view_put(&o, "requests", cJSON_CreateNumber((double)v->requests));
	view_put(&o, "failures", cJSON_CreateNumber((double)v->failures));
	return view_end(&o);
}

/* --- numbers as people read them */

/* Two digits after the point at most, and three that count: 3.60 GiB, 15.5 MiB, 512 MiB. */
static void print_bytes(uint64_t bytes, char *ret)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
	double value = (double)bytes;
	unsigned unit = 0;
	int digits;

	while (value >= 1023.95 && unit + 1 < ARRAY_SIZE(units)) {
		value /= 1024;
		unit++;
	}
	digits = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
	if (value == (double)(uint64_t)value)
		digits = 0;
	snprintf(ret, HUMAN_SIZE, "%.*f %s", digits, value, units[unit]);
}

/* As Kubernetes writes it: 380m, 2. */
static void print_cpu(uint64_t milli, char *ret)
{
	if (milli % 1000 == 0)
		snprintf(ret, HUMAN_SIZE, "%" PRIu64, milli / 1000);
	else
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 "m", milli);
}

const char *human_amount(enum resource which, uint64_t amount, char ret[static HUMAN_SIZE])
{
	if (amount == VIEW_NONE)
		snprintf(ret, HUMAN_SIZE, "-");
	else if (amount == LIMIT_MAX)
		snprintf(ret, HUMAN_SIZE, "max");
	else if (which == RESOURCE_CPU)
		print_cpu(amount, ret);
	else
		print_bytes(amount, ret);
	return ret;
}

/* The unit and the one below it: 3 h 5 min. */
const char *human_span(usec_t span_usec, char ret[static HUMAN_SIZE])
{
	static const struct {
		usec_t usec;
		const char *name;
	} units[] = {
		{USEC_PER_DAY, "d"}, {USEC_PER_HOUR, "h"},  {USEC_PER_MIN, "min"},
		{USEC_PER_SEC, "s"}, {USEC_PER_MSEC, "ms"}, {1, "us"},
	};
	unsigned i = 0;
	uint64_t rest;

	if (span_usec == VIEW_NONE) {
		snprintf(ret, HUMAN_SIZE, "-");
		return ret;
	}
	while (i + 1 < ARRAY_SIZE(units) && span_usec < units[i].usec)
		i++;
	rest = i < 3 ? span_usec % units[i].usec / units[i + 1].usec : 0;
	if (rest > 0)
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 " %s %" PRIu64 " %s",
			 span_usec / units[i].usec, units[i].name, rest, units[i + 1].name);
	else
		snprintf(ret, HUMAN_SIZE, "%" PRIu64 " %s", span_usec / units[i].usec,
			 units[i].name);
	return ret;
}

void decision_text(const struct decision *d, enum resource r, char ret[static DECISION_TEXT_BYTES])
{
	char use[HUMAN_SIZE], slope[HUMAN_SIZE];

	human_amount(r, d->use, use);
	switch (d->reason) {
	case REASON_THROTTLED:
		/* 0: it was answered before the period ended. */
		snprintf(ret, DECISION_TEXT_BYTES,
			 d->throttle_ppm != 0 ? "throttled %u %% of the last second"
					      : "its quota was used before the period ended",
			 (d->throttle_ppm + 5000) / 10000);
		return;
	case REASON_MEMORY_GROWTH:
		snprintf(ret, DECISION_TEXT_BYTES, "%s in use, growing by %s a second", use,
			 human_amount(RESOURCE_MEMORY, d->slope_bps, slope));
		return;
	case REASON_POD_LEVEL: /* it has no use of its own */
	case REASON_BOOST:     /* before the first sample */
	case REASON_RESUMED:
		snprintf(ret, DECISION_TEXT_BYTES, "%s", reason_text(d->reason));
		return;
	default:
		snprintf(ret, DECISION_TEXT_BYTES, "%s; %s in use", reason_text(d->reason), use);
		return;
	}
}

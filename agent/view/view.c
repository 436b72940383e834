// SPDX-License-Identifier: Apache-2.0
/* Names and values of the control API. */
#include "agent/view/view.h"
#include "agent/base/escape.h"
#include <errno.h>
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

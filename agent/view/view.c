// SPDX-License-Identifier: Apache-2.0
#include "agent/view/view.h"
#include "agent/view/restore_result.h"
#include "agent/view/view_table.h"

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
		view_table_clear(VIEW_RESOURCE, &v->resources[r]);
		v->resources[r].boost.limit = VIEW_NONE;
		v->resources[r].blocked = BLOCKED_NO_DATA;
	}
}

void pod_view_init(struct pod_view *v)
{
	*v = (struct pod_view){0};
	view_table_clear(VIEW_POD, v);
	for (enum resource r = 0; r < RESOURCE_COUNT; r++)
		view_table_clear(VIEW_POD_RESOURCE, &v->resources[r]);
}

// SPDX-License-Identifier: Apache-2.0
#include "agent/view/view.h"

const char *const unit_kind_names[UNIT_KIND_COUNT] = {
	[UNIT_KIND_UNIT] = "unit",
	[UNIT_KIND_POD] = "pod",
	[UNIT_KIND_CONTAINER] = "container",
};

const char *const unit_state_names[UNIT_STATE_COUNT] = {
	[UNIT_MANAGED] = "managed",   [UNIT_PAUSED] = "paused",     [UNIT_WAITING] = "waiting",
	[UNIT_GAVE_WAY] = "gave-way", [UNIT_RESTORED] = "restored", [UNIT_UNMANAGED] = "unmanaged",
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

static void resource_view_init(struct resource_view *r)
{
	*r = (struct resource_view){
		.original = VIEW_NONE,
		.limit = VIEW_NONE,
		.kernel = VIEW_NONE,
		.floor = VIEW_NONE,
		.ceiling = VIEW_NONE,
		.lower = VIEW_NONE,
		.target = VIEW_NONE,
		.upper = VIEW_NONE,
		.peak = VIEW_NONE,
		.use = VIEW_NONE,
		.use_p50 = VIEW_NONE,
		.use_p90 = VIEW_NONE,
		.use_p95 = VIEW_NONE,
		.use_p99 = VIEW_NONE,
		.use_max = VIEW_NONE,
		.throttled_permille = VIEW_NONE,
		.psi_some_ppm = VIEW_NONE,
		.psi_full_ppm = VIEW_NONE,
		.psi_others_ppm = VIEW_NONE,
		.unreclaimable_bytes = VIEW_NONE,
		.working_set_bytes = VIEW_NONE,
		.candidate = VIEW_NONE,
		.next_change_in_usec = VIEW_NONE,
		.boost.limit = VIEW_NONE,
		.startup_ends_in_usec = VIEW_NONE,
		.startup_ready_usec = VIEW_NONE,
	};
}

void unit_view_init(struct unit_view *v)
{
	*v = (struct unit_view){.state = UNIT_WAITING};
	for (int i = 0; i < RESOURCE_COUNT; i++)
		resource_view_init(&v->resources[i]);
}

void pod_view_init(struct pod_view *v)
{
	*v = (struct pod_view){.heap_bytes = VIEW_NONE, .heap_permille = VIEW_NONE};
	for (int i = 0; i < RESOURCE_COUNT; i++)
		v->resources[i] = (struct pod_resource_view){
			.request = VIEW_NONE,
			.spec_limit = VIEW_NONE,
			.ratified = VIEW_NONE,
			.admin_min = VIEW_NONE,
			.admin_max = VIEW_NONE,
			.range_min = VIEW_NONE,
			.range_max = VIEW_NONE,
			.ratio_permille = VIEW_NONE,
			.refused = VIEW_NONE,
			.refused_for_usec = VIEW_NONE,
			.unratified_max = VIEW_NONE,
			.above_spec = VIEW_NONE,
			.ahead_usec = VIEW_NONE,
		};
}

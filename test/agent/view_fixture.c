// SPDX-License-Identifier: Apache-2.0
#include "view_fixture.h"

static const struct resource_view web_cpu = {
	.controlled = true,
	.original = 200,
	.limit = 380,
	.kernel = 380,
	.floor = 100,
	.ceiling = 2000,
	.lower = 130,
	.target = 345,
	.upper = 391,
	.peak = 430,
	.confidence_permille = 1000,
	.samples = 93600,
	.history_usec = 26 * USEC_PER_HOUR,
	.use = 350,
	.use_p50 = 120,
	.use_p90 = 300,
	.use_p95 = 340,
	.use_p99 = 372,
	.use_max = 381,
	.throttled_permille = 430,
	.psi_some_ppm = 31000,
	.psi_full_ppm = 2000,
	.unreclaimable_bytes = VIEW_NONE,
	.working_set_bytes = VIEW_NONE,
	.candidate = 437,
	.bounds = {.count = 2, .step = {{BOUND_USER_MAX, 437, 404}, {BOUND_QUANTUM, 404, 400}}},
	.hold = HOLD_INTERVAL,
	.next_change_in_usec = 58 * USEC_PER_SEC,
	.last = {.at_realtime_usec = FIXTURE_NOW_USEC - 2 * USEC_PER_SEC,
		 .from = 200,
		 .to = 380,
		 .reason = REASON_THROTTLED,
		 .detail = "throttled 95 % of the last second"},
	.counters = {.raises = 3, .lowers = 1},
};

static const struct resource_view web_memory = {
	.controlled = true,
	.original = 512 * MIB,
	.limit = 512 * MIB,
	.kernel = 512 * MIB,
	.floor = 128 * MIB,
	.ceiling = 2 * GIB,
	.lower = 90 * MIB,
	.target = 120 * MIB,
	.upper = 140 * MIB,
	.peak = 150 * MIB,
	.confidence_permille = 1000,
	.samples = 93600,
	.history_usec = 26 * USEC_PER_HOUR,
	.use = 180 * MIB,
	.use_p50 = 90 * MIB,
	.use_p90 = 110 * MIB,
	.use_p95 = 118 * MIB,
	.use_p99 = 130 * MIB,
	.use_max = 141 * MIB,
	.throttled_permille = VIEW_NONE,
	.psi_some_ppm = 0,
	.psi_full_ppm = 0,
	.unreclaimable_bytes = 96 * MIB,
	.working_set_bytes = 120 * MIB,
	.slope_bytes_per_sec = -4096,
	.candidate = 150 * MIB,
	.hold = HOLD_NONE,
	.next_change_in_usec = 8 * USEC_PER_SEC,
};

static const struct resource_view batch_memory = {
	.controlled = true,
	.original = 4 * GIB,
	.limit = 3686 * MIB,
	.kernel = 3686 * MIB,
	.floor = 512 * MIB,
	.ceiling = 16 * GIB,
	.lower = 1 * GIB,
	.target = 1200 * MIB,
	.upper = 1300 * MIB,
	.peak = 1400 * MIB,
	.confidence_permille = 417,
	.samples = 36000,
	.history_usec = 10 * USEC_PER_HOUR,
	.use = 1100 * MIB,
	.use_p50 = 1000 * MIB,
	.use_p90 = 1100 * MIB,
	.use_p95 = 1150 * MIB,
	.use_p99 = 1200 * MIB,
	.use_max = 1210 * MIB,
	.throttled_permille = VIEW_NONE,
	.psi_some_ppm = 100,
	.psi_full_ppm = 0,
	.unreclaimable_bytes = 900 * MIB,
	.working_set_bytes = 1 * GIB,
	.slope_bytes_per_sec = 1536 * 1024,
	.candidate = 1400 * MIB,
	.bounds = {.count = 1, .step = {{BOUND_USE, 1400 * MIB, 1408 * MIB}}},
	.hold = HOLD_TRIAL,
	.next_change_in_usec = 42 * USEC_PER_SEC,
	.last = {.at_realtime_usec = FIXTURE_NOW_USEC - 3 * USEC_PER_HOUR - 5 * USEC_PER_MIN,
		 .from = 4 * GIB,
		 .to = 3686 * MIB,
		 .reason = REASON_SHRINK},
	.trial = {.phase = "memory.high",
		  .candidate = 3318 * MIB,
		  .ends_in_usec = 42 * USEC_PER_SEC},
	.counters = {.lowers = 1, .undos = 1, .drifts = 2, .foreign = 1},
};

static void fixture_web(struct unit_view *v)
{
	v->name = "web.service";
	v->cgroup = "/system.slice/web.service";
	v->mode = MODE_AUTO;
	v->state = UNIT_MANAGED;
	v->resources[RESOURCE_CPU] = web_cpu;
	v->resources[RESOURCE_MEMORY] = web_memory;
}

static void fixture_batch(struct unit_view *v)
{
	v->name = "batch@nightly.service";
	v->cgroup = "/system.slice/system-batch.slice/batch@nightly.service";
	v->mode = MODE_AUTO;
	v->state = UNIT_MANAGED;
	v->resources[RESOURCE_CPU].hold = HOLD_NOT_CONTROLLED;
	v->resources[RESOURCE_CPU].original = LIMIT_MAX;
	v->resources[RESOURCE_CPU].limit = LIMIT_MAX;
	v->resources[RESOURCE_CPU].use = 1250;
	v->resources[RESOURCE_MEMORY] = batch_memory;
}

static void fixture_waiting(struct unit_view *v)
{
	v->name = "cron.service";
	v->mode = MODE_OFF;
	v->state = UNIT_WAITING;
	v->state_reason = "not running";
	v->resources[RESOURCE_CPU].hold = HOLD_MODE_OFF;
	v->resources[RESOURCE_MEMORY].hold = HOLD_MODE_OFF;
}

static void fixture_gave_way(struct unit_view *v)
{
	v->name = "db.service";
	v->cgroup = "/system.slice/db.service";
	v->mode = MODE_INITIAL;
	v->state = UNIT_GAVE_WAY;
	v->state_reason = "memory.max was changed 3 times in 10 minutes by another writer";
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		v->resources[i].controlled = true;
		v->resources[i].original = LIMIT_MAX;
		v->resources[i].limit = LIMIT_MAX;
		v->resources[i].hold = HOLD_NO_LIMIT;
	}
	v->resources[RESOURCE_CPU].use = 7;
	v->resources[RESOURCE_MEMORY].use = 5 * MIB;
}

void fixture_unit(unsigned index, struct unit_view *ret)
{
	static void (*const fill[FIXTURE_UNIT_COUNT])(struct unit_view *) = {
		fixture_web, fixture_batch, fixture_waiting, fixture_gave_way};

	unit_view_init(ret);
	fill[index](ret);
}

void fixture_status(struct status_view *ret)
{
	*ret = (struct status_view){
		.version = "0.1.0",
		.pid = 4321,
		.uptime_usec = 26 * USEC_PER_HOUR + 5 * USEC_PER_MIN,
		.operation = "standalone",
		.managed_count = 3,
		.config_path = "/etc/vscaled/vscaled.yaml",
		.config_result = "ok",
		.config_loaded_realtime_usec = FIXTURE_NOW_USEC - 2 * USEC_PER_HOUR,
		.state_directory = "/var/lib/vscaled",
		.state_result = "ok",
		.state_saved_realtime_usec = FIXTURE_NOW_USEC - 90 * USEC_PER_SEC,
		.bus_connected = true,
		.cgroup_mount = "/sys/fs/cgroup",
		.controllers = "cpu memory",
		.psi = true,
		.wakeups = 93900,
		.loop_lag_max_usec = 1840,
		.scan_usec = 620,
		.rss_bytes = 4 * MIB + 512 * KIB,
		.cpu_usec = 41 * USEC_PER_SEC,
	};
}

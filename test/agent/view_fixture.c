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
	.trust_permille = 1000,
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
	.psi_others_ppm = 11000,
	.unreclaimable_bytes = VIEW_NONE,
	.working_set_bytes = VIEW_NONE,
	.candidate = 437,
	.boost.limit = VIEW_NONE,
	.startup_ends_in_usec = VIEW_NONE,
	.startup_ready_usec = VIEW_NONE,
	.bounds = {.count = 2, .bound = {BOUND_USER_MAX, BOUND_QUANTUM}, .value = {437, 404, 400}},
	.blocked = BLOCKED_INTERVAL,
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
	.trust_permille = 1000,
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
	.psi_others_ppm = VIEW_NONE,
	.unreclaimable_bytes = 96 * MIB,
	.working_set_bytes = 120 * MIB,
	.slope_bytes_per_sec = -4096,
	.boost.limit = VIEW_NONE,
	.startup_ends_in_usec = VIEW_NONE,
	.startup_ready_usec = VIEW_NONE,
	.candidate = 150 * MIB,
	.blocked = BLOCKED_NONE,
	.next_change_in_usec = 8 * USEC_PER_SEC,
};

static const struct resource_view batch_memory = {
	.controlled = true,
	.original = 4 * GIB,
	.limit = 3686 * MIB,
	.kernel = 4608 * MIB,
	.floor = 512 * MIB,
	.ceiling = 16 * GIB,
	.lower = 1 * GIB,
	.target = 1200 * MIB,
	.upper = 1300 * MIB,
	.peak = 1400 * MIB,
	.confidence_permille = 417,
	.trust_permille = 417,
	.samples = 36000,
	.history_usec = 10 * USEC_PER_HOUR,
	.past_samples = 2304,
	.use = 1100 * MIB,
	.use_p50 = 1000 * MIB,
	.use_p90 = 1100 * MIB,
	.use_p95 = 1150 * MIB,
	.use_p99 = 1200 * MIB,
	.use_max = 1210 * MIB,
	.throttled_permille = VIEW_NONE,
	.psi_some_ppm = 100,
	.psi_full_ppm = 0,
	.psi_others_ppm = VIEW_NONE,
	.unreclaimable_bytes = 900 * MIB,
	.working_set_bytes = 1 * GIB,
	.slope_bytes_per_sec = 1536 * 1024,
	.candidate = 1400 * MIB,
	.bounds = {.count = 1, .bound = {BOUND_USE}, .value = {1400 * MIB, 1408 * MIB}},
	.blocked = BLOCKED_TRIAL,
	.denied = "needs 5 GiB, the node has memory for 4.2 GiB: 900 MiB available less 256 MiB "
		  "reserve, 444 MiB granted and not used yet",
	.boost.limit = VIEW_NONE,
	.startup_ends_in_usec = VIEW_NONE,
	.startup_ready_usec = VIEW_NONE,
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
	v->mode_text = "Auto";
	v->state = UNIT_MANAGED;
	v->resources[RESOURCE_CPU] = web_cpu;
	v->resources[RESOURCE_MEMORY] = web_memory;
}

static void fixture_batch(struct unit_view *v)
{
	v->name = "batch@nightly.service";
	v->cgroup = "/system.slice/system-batch.slice/batch@nightly.service";
	v->mode = MODE_AUTO;
	v->mode_text = "Auto";
	v->state = UNIT_MANAGED;
	v->resources[RESOURCE_CPU].blocked = BLOCKED_NOT_CONTROLLED;
	v->resources[RESOURCE_CPU].original = LIMIT_MAX;
	v->resources[RESOURCE_CPU].limit = LIMIT_MAX;
	v->resources[RESOURCE_CPU].kernel = LIMIT_MAX;
	v->resources[RESOURCE_CPU].use = 1250;
	v->resources[RESOURCE_MEMORY] = batch_memory;
}

static void fixture_waiting(struct unit_view *v)
{
	v->name = "cron.service";
	v->mode = MODE_OFF;
	v->mode_text = "Off";
	v->state = UNIT_WAITING;
	v->state_reason = "not running";
	v->resources[RESOURCE_CPU].blocked = BLOCKED_MODE_OFF;
	v->resources[RESOURCE_MEMORY].blocked = BLOCKED_MODE_OFF;
}

static void fixture_gave_way(struct unit_view *v)
{
	v->name = "db.service";
	v->cgroup = "/system.slice/db.service";
	v->mode = MODE_INITIAL;
	v->mode_text = "Initial";
	v->state = UNIT_GAVE_WAY;
	v->state_reason = "memory.max was changed 3 times in 10 minutes by another writer";
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		v->resources[i].controlled = true;
		v->resources[i].original = LIMIT_MAX;
		v->resources[i].limit = v->resources[i].kernel = LIMIT_MAX;
		v->resources[i].blocked = BLOCKED_NO_LIMIT;
	}
	v->resources[RESOURCE_CPU].use = 7;
	v->resources[RESOURCE_MEMORY].use = 5 * MIB;
}

static const struct annotation_view app_annotations[] = {
	{"mode", "InPlaceOrRecreate", NULL},
	{"max-cpu", "2", "pods[0], /etc/vscaled/vscaled.yaml:12"}};

static const struct pod_view app_pod = {
	.namespace = "shop",
	.pod = "web-7d9c5b6f4-x2x1p",
	.container = "app",
	.uid = "0b1c2d3e-0000-4000-8000-000000000001",
	.workload = "web",
	.owner = "Deployment",
	.qos_class = "Burstable",
	.controlled_values = "LimitsOnly",
	.ready = true,
	.restarts = 2,
	.condition = "PodResizePending Deferred: Node didn't have enough resource: cpu",
	.heap_runtime = "JVM",
	.heap_bytes = VIEW_NONE,
	.heap_permille = 750,
	.annotations = app_annotations,
	.annotation_count = ARRAY_SIZE(app_annotations),
	.rollout = "25 % of its workload's pods are sized: this one is sized",
	.rollout_part = "sized",
	.rollout_percent = 25,
	.recent = {.counted_usec = 5 * USEC_PER_HOUR,
		   .throttled_permille = 21,
		   .oom_kills = 1,
		   .undos = 2},
	.report = {REPORT_VIEW_REFUSED, "maximum cpu usage per Container is 1, but limit is 1500m",
		   FIXTURE_NOW_USEC - 3 * USEC_PER_MIN},
	.resources =
		{
			[RESOURCE_CPU] = {.request = 250,
					  .spec_limit = 500,
					  .ratified = 900,
					  .admin_min = VIEW_NONE,
					  .admin_max = 4000,
					  .range_min = 50,
					  .range_max = 1000,
					  .ratio_permille = 4000,
					  .request_range = {.min = 50, .max = 1000},
					  .refused = 1000,
					  .refused_for_usec = 57 * USEC_PER_MIN,
					  .unratified_max = VIEW_NONE},
			[RESOURCE_MEMORY] = {.request = 256 * MIB,
					     .spec_limit = 512 * MIB,
					     .ratified = VIEW_NONE,
					     .admin_min = VIEW_NONE,
					     .admin_max = VIEW_NONE,
					     .range_min = VIEW_NONE,
					     .range_max = VIEW_NONE,
					     .ratio_permille = VIEW_NONE,
					     .request_range = {.min = 128 * MIB},
					     .refused = VIEW_NONE,
					     .refused_for_usec = VIEW_NONE,
					     .unratified_max = GIB,
					     .above_spec = 12 * MIB,
					     .ahead_usec = 20 * USEC_PER_SEC},
		},
};

static void fixture_container(struct unit_view *v)
{
	v->name = "shop/web-7d9c5b6f4-x2x1p/app";
	v->cgroup = "/kubepods.slice/kubepods-burstable.slice/"
		    "kubepods-burstable-pod0b1c2d3e_0000_4000_8000_000000000001.slice/"
		    "cri-containerd-77aa.scope";
	v->kind = UNIT_KIND_CONTAINER;
	v->pod = &app_pod;
	v->mode = MODE_AUTO;
	v->mode_text = "InPlaceOrRecreate";
	v->state = UNIT_MANAGED;
	v->resources[RESOURCE_CPU] = web_cpu;
	v->resources[RESOURCE_CPU].limit = v->resources[RESOURCE_CPU].kernel = 1000;
	v->resources[RESOURCE_CPU].blocked = BLOCKED_CEILING;
	v->resources[RESOURCE_CPU].boost = (struct boost_view){
		.lent = true,
		.limit = 1000,
		.base = 500,
		.ready_for_usec = 30 * USEC_PER_SEC,
		.ends_in_usec = 12 * USEC_PER_SEC,
	};
	v->resources[RESOURCE_CPU].startup_ends_in_usec = 12 * USEC_PER_SEC;
	v->resources[RESOURCE_CPU].bounds =
		(struct bound_trace){.count = 1, .bound = {BOUND_RANGE_MAX}, .value = {1437, 1000}};
	v->resources[RESOURCE_CPU].candidate = 1437;
	v->resources[RESOURCE_MEMORY] = web_memory;
}

static void fixture_wrong(struct unit_view *v)
{
	static struct pod_view pod;

	pod_view_init(&pod);
	pod.namespace = "default";
	pod.pod = "db-0";
	pod.container = "postgres";
	pod.workload = "db";
	pod.qos_class = "Guaranteed";
	pod.controlled_values = "LimitsOnly";
	pod.annotation_error = "vscaled.dev/max-cpu: \"two\" is no quantity";
	v->name = "default/db-0/postgres";
	v->cgroup = "/kubepods.slice/kubepods-pod1.slice/cri-containerd-88bb.scope";
	v->kind = UNIT_KIND_CONTAINER;
	v->pod = &pod;
	v->mode = MODE_OFF;
	v->mode_text = "Off";
	v->state = UNIT_UNMANAGED;
	v->state_reason = pod.annotation_error;
	v->resources[RESOURCE_CPU].blocked = BLOCKED_MODE_OFF;
	v->resources[RESOURCE_MEMORY].blocked = BLOCKED_MODE_OFF;
}

void fixture_unit(unsigned index, struct unit_view *ret)
{
	static void (*const fill[FIXTURE_UNIT_COUNT])(struct unit_view *) = {
		fixture_web,      fixture_batch,     fixture_waiting,
		fixture_gave_way, fixture_container, fixture_wrong};

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
		.kernel = "6.12.1",
		.wakeups = 93900,
		.loop_lag_max_usec = 1840,
		.loop_lag_mean_usec = 190,
		.scan_usec = 620,
		.look_usec = 85,
		.writes = 17,
		.write_failures = 1,
		.reader = "bpf",
		.reader_detail = "scan: loaded, build for 6.16",
		.rss_bytes = 4 * MIB + 512 * KIB,
		.cpu_usec = 41 * USEC_PER_SEC,
	};
}

void fixture_status_cluster(struct status_view *ret)
{
	fixture_status(ret);
	ret->operation = "kubernetes";
	ret->cluster = (struct cluster_view){
		.server = "https://10.96.0.1:443",
		.node = "node-1",
		.cgroup_driver = "systemd",
		.synced = true,
		.healthy = false,
		.trouble = "connection refused",
		.last_event_realtime_usec = FIXTURE_NOW_USEC - 4 * USEC_PER_MIN,
		.resize_offered = true,
		.pod_count = 12,
		.writes_waiting = 3,
		.refused_count = 1,
		.requests = 240,
		.failures = 5,
	};
}

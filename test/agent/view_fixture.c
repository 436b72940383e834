// SPDX-License-Identifier: Apache-2.0
#include "view_fixture.h"

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

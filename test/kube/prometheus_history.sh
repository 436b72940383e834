#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# prometheus_history.sh TEST: runs it against a real Prometheus with eight days of a workload, and of
# another one whose name begins the same.
set -euo pipefail
test=$1

for tool in prometheus promtool curl awk; do
	command -v "$tool" >/dev/null && continue
	echo "SKIP: no $tool (Debian packages prometheus, curl, gawk)"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
done
dir=$(mktemp -d)
prometheus=
stop()
{
	[ -z "$prometheus" ] || kill "$prometheus" 2>/dev/null || true
	[ -z "$prometheus" ] || wait "$prometheus" 2>/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT

# A sample a minute until now: cAdvisor's metrics of one container in each of two pods.
awk -v end="$(date +%s)" '
	function series(metric, pod) {
		return metric "{namespace=\"default\",pod=\"" pod "\",container=\"app\"" \
			(metric ~ /cpu/ ? ",kind=\"cpu\"" : "") "}"
	}
	BEGIN {
		pods["web-5d8f-x2k4p"] = 1
		pods["web-api-5d8f-x2k4p"] = 10
		print "# TYPE container_cpu_usage_seconds counter"
		for (pod in pods)
			for (t = end - 8 * 86400; t <= end; t += 60) {
				used[pod] += 60 * (int(t / 43200) % 2 ? 0.6 : 0.3) * pods[pod]
				print series("container_cpu_usage_seconds_total", pod), used[pod], t
			}
		print "# TYPE container_memory_working_set_bytes gauge"
		for (pod in pods)
			for (t = end - 8 * 86400; t <= end; t += 60)
				printf "%s %d %d\n", series("container_memory_working_set_bytes", pod),
					(int(t / 43200) % 2 ? 200 : 100) * 1048576 * pods[pod], t
		print "# EOF"
	}' >"$dir/metrics"
promtool tsdb create-blocks-from openmetrics "$dir/metrics" "$dir/data" >"$dir/log" 2>&1 ||
	{ tail "$dir/log"; exit 1; }

# Ports that were free a moment ago.
free_port()
{
	local port try

	for try in $(seq 20); do
		port=$((20000 + (RANDOM + try) % 12000))
		(exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || break
	done
	echo "$port"
}
listen=$(free_port)
echo 'global: {}' >"$dir/prometheus.yml"
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" \
	--web.listen-address="127.0.0.1:$listen" --log.level=warn >"$dir/log" 2>&1 &
prometheus=$!
for try in $(seq 60); do
	curl -sf --max-time 5 "http://127.0.0.1:$listen/-/ready" >/dev/null 2>&1 && break
	kill -0 "$prometheus" 2>/dev/null || { cat "$dir/log"; exit 1; }
	[ "$try" -lt 60 ] || { echo "not ready"; cat "$dir/log"; exit 1; }
	sleep 0.5
done
VSCALED_PROMETHEUS="http://127.0.0.1:$listen" VSCALED_NOBODY="http://127.0.0.1:$(free_port)" "$test"

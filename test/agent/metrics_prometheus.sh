#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# metrics_prometheus.sh PAGE: a real Prometheus scrapes the server over TCP and finds what it serves.
set -euo pipefail
page=$1

for tool in prometheus curl jq; do
	command -v "$tool" >/dev/null && continue
	echo "SKIP: no $tool (Debian packages prometheus, curl, jq)"
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

# Its end of input is the end of this script.
coproc served { exec "$page" serve 250; }
read -r port <&"${served[0]}"

# A port that was free a moment ago.
listen=
for try in $(seq 20); do
	listen=$((20000 + (RANDOM + try) % 12000))
	(exec 3<>"/dev/tcp/127.0.0.1/$listen") 2>/dev/null || break
done
cat >"$dir/prometheus.yml" <<EOF
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
- job_name: vscaled
  static_configs: [{targets: ['127.0.0.1:$port']}]
EOF
prometheus --config.file="$dir/prometheus.yml" --storage.tsdb.path="$dir/data" \
	--web.listen-address="127.0.0.1:$listen" --log.level=warn >"$dir/log" 2>&1 &
prometheus=$!

ask()
{
	curl -sf --max-time 5 --get "http://127.0.0.1:$listen/api/v1/query" --data-urlencode "query=$1" 2>/dev/null |
		jq -r '.data.result | map(.value[1]) | join(" ")'
}

# Its own verdict of the scrape is part of the answer: up is 0 where the page cannot be read.
for try in $(seq 60); do
	[ "$(ask 'vscaled_build_info' || true)" = 1 ] && break
	kill -0 "$prometheus" 2>/dev/null || { cat "$dir/log"; exit 1; }
	[ "$try" -lt 60 ] || { echo "no scrape"; cat "$dir/log"; ask up || true; exit 1; }
	sleep 0.5
done
check()
{
	local got

	got=$(ask "$1")
	[ "$got" = "$2" ] || { echo "$1 = \"$got\", want \"$2\""; exit 1; }
}
check 'up' 1
check 'count(vscaled_container_limit_cpu_cores{source="applied",namespace="shop"})' 250
check 'vscaled_container_limit_cpu_cores{source="applied",unit="web.service"}' 0.9
check 'vscaled_apply_duration_seconds_count{backend="cgroup"}' 4
check 'count(process_resident_memory_bytes{job="vscaled"} > 1e6)' 1
# Every query of the dashboard is one, and all but those of events that did not happen have an answer.
dashboard=$(dirname "$0")/../../agent/deploy/components/monitoring/dashboard.json
silent=0 total=0
while read -r query; do
	found=$(curl -sf --max-time 5 --get "http://127.0.0.1:$listen/api/v1/query" \
		--data-urlencode "query=$query" | jq '.data.result | length') ||
		{ echo "dashboard.json: Prometheus does not take $query"; exit 1; }
	total=$((total + 1))
	[ "$found" != 0 ] || { silent=$((silent + 1)); echo "no answer yet: $query"; }
done < <(jq -r '.panels[].targets[].expr | gsub("[$](namespace|workload)"; ".*")' "$dashboard")
[ $((total - silent)) -ge 14 ] || { echo "$silent of $total queries have no answer"; exit 1; }
echo "scraped: $(ask 'scrape_samples_scraped') samples in $(ask 'scrape_duration_seconds') s"

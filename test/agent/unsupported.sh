#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# unsupported.sh VSCALED VSCALECTL: the real programs on a host whose cgroups are of version 1 or hybrid.
# On any other host there is nothing to try, and CMakeLists.txt does not define it. Nothing of the host's
# cgroups is opened.
set -euo pipefail
vscaled=$1 vscalectl=$2
failed=0

skip()
{
	echo "SKIP: $1"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
}

check()
{
	local what=$1

	shift
	"$@" >/dev/null || { echo "$what"; failed=1; }
}

# shellcheck disable=SC2317  # by trap
stop()
{
	[ -z "${pid:-}" ] || kill "$pid" 2>/dev/null || true
	rm -rf "$dir"
}

grep -qE ' cgroup .*(^|[ ,])(cpu|memory)([ ,]|$)' /proc/mounts || skip "this host has cgroup version 2 alone"
command -v curl >/dev/null || skip "no curl"
dir=$(mktemp -d)
trap stop EXIT
port=$((20000 + $$ % 20000))
cat >"$dir/kubeconfig" <<Y
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}]
users: [{name: u, user: {token: none}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
Y
chmod 600 "$dir/kubeconfig"

# config KUBERNETES UNITS
config()
{
	cat >"$dir/vscaled.yaml" <<Y
apiVersion: config.vscaled.dev/v1alpha1
kind: VscaledConfiguration
kubernetes: {$1}
units: [$2]
http: {listen: "127.0.0.1:$port"}
log: {target: stderr}
paths: {stateDirectory: $dir/state, runtimeDirectory: $dir/run}
Y
}

config "enabled: false" "{match: none.service}"
status=0
timeout 20 "$vscaled" -c "$dir/vscaled.yaml" 2>"$dir/log" || status=$?
check "standalone: exit status $status, not 1" test "$status" = 1
check "standalone: no host-unsupported" grep -q 'event=host-unsupported' "$dir/log"

config "enabled: true, kubeconfig: $dir/kubeconfig, nodeName: node-1" ""
"$vscaled" -c "$dir/vscaled.yaml" 2>"$dir/log" &
pid=$!
for _ in $(seq 100); do
	curl -sf "http://127.0.0.1:$port/livez" >/dev/null && break
	sleep 0.1
done
sleep 2
check "in a cluster it does not stay up" kill -0 "$pid"
for probe in livez readyz; do
	check "/$probe" test "$(curl -s -o "$dir/body" -w '%{http_code}' "http://127.0.0.1:$port/$probe")" = 200
done
curl -s "http://127.0.0.1:$port/metrics" >"$dir/metrics"
check "no metric" grep -qE '^vscaled_unsupported\{reason="cgroup-(v1|hybrid)"\} 1$' "$dir/metrics"
"$vscalectl" --socket "$dir/run/control.sock" status >"$dir/status"
check "vscalectl status does not say it" grep -q 'not supported: cgroup-' "$dir/status"
"$vscalectl" doctor >"$dir/doctor" 2>&1 || true
check "vscalectl doctor does not say it" grep -qE '^missing +cgroup-v2' "$dir/doctor"
find "/proc/$pid/fd" -lname '/sys/fs/cgroup/*' >"$dir/open"
check "a file of the cgroups is open" test ! -s "$dir/open"
check "a record was written" test -z "$(find "$dir/state" -type f ! -name '*lock*')"
kill "$pid"
status=0
wait "$pid" || status=$?
pid=
check "stopped: exit status $status" test "$status" = 0
check "not one entry node-unsupported" test "$(grep -c 'event=node-unsupported' "$dir/log")" = 1
exit $failed

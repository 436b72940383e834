#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demonstration in a cluster of one node, in the lab's machine: a test API server, containerd, a
# stand-in for the kubelet, the real kubectl, and vscaled as its manifests install it.
# SECONDS_LIVE: how long the limits are watched.
# shellcheck disable=SC2034  # kube.sh's and bars.sh's
. /opt/lab/lib.sh
. /opt/lab/kube.sh
. /opt/lab/bars.sh
export LC_ALL=C # EPOCHREALTIME has a dot

KUBE_NS=shop
SECONDS_LIVE=${SECONDS_LIVE:-24}
CONTAINERS=(web cache)
follower=''

title()
{
	printf '\n=== %s\n' "$*"
}

fail()
{
	echo "demo: $*" >&2
	kube_logs
	exit 1
}

# shown COMMAND...: says it and runs it
shown()
{
	printf '$ %s\n' "${*@Q}" | sed "s/'\([A-Za-z0-9_./:=-]*\)'/\1/g"
	"$@" || fail "exit status $?"
}

clean_up()
{
	[ -z "$follower" ] || kill "$follower" 2>/dev/null || true
}

# For the demonstration alone: what takes minutes and days takes seconds.
configure()
{
	cat >/run/demo.yaml <<-E2
	apiVersion: config.vscaled.dev/v1alpha1
	kind: VscaledConfiguration
	kubernetes: {enabled: true, startJitter: 0s, writeInterval: 1s, statusInterval: 1s, leaseTime: 3s, memoryLeaseTime: 3s, requestUpTime: 3s, requestDownTime: 3s, decreaseInterval: 0s, startupAfterReady: 2s, startupTime: 2s, startupLeaseTime: 3s, smallInterval: 3s, upInterval: 3s, downInterval: 3s}
	http: {listen: ":9753"}
	clocks: {reviewInterval: 1s, stateInterval: 5s}
	history: {confidenceAfter: 15s}
	cpu: {recentWindow: 5s, shrinkInterval: 3s}
	memory: {shrinkHistory: 5s, shrinkQuiet: 5s, shrinkInterval: 3s, highWatch: 1s, verdictWindow: 2s, settleAfter: 5s}
	common: {startQuiet: 3s}
	E2
	vscalectl config check /run/demo.yaml >/dev/null || fail "its configuration is wrong"
}

# go_on CONTAINER: its program goes on to its next size
go_on()
{
	kill -USR1 "$(<"${group[$1]}/cgroup.procs")"
}

# The limits in the API object, and what vscaled says of them there.
SPEC='jsonpath={range .spec.containers[*]}{.name}{"\t"}{.resources.limits}{"\n"}{end}'
STATUS='{.metadata.annotations.vscaled\.dev/status}{"\n"}'

# limits: of every container, as they stand in the kernel
limits()
{
	local c

	for c in "${CONTAINERS[@]}"; do
		echo "$c: cpu.max $(cat "${group[$c]}/cpu.max"), memory.max $(cat "${group[$c]}/memory.max")"
	done
}

# as_before: the cgroups and the API object have their first limits, and the annotation is gone
as_before()
{
	[ "$(limits)" = "$before" ] && pod_is web "
		[x.resources.limits for x in spec.containers] == [
			{'cpu': '200m', 'memory': '64Mi'}, {'cpu': '1', 'memory': '48Mi'}]
		and not meta.annotations['vscaled.dev/status']"
}

# ratified: the spec has the limits of the cgroups, and the kubelet has carried it out
ratified()
{
	pod_is web "meta.generation > 1 and status.observedGeneration == meta.generation
		and not any(t.startswith('PodResize') for t in cond) and meta.annotations['vscaled.dev/status']"
}

trap clean_up EXIT
trap 'exit 130' INT TERM HUP
start=$SECONDS

title "a cluster of one node: test API server, containerd, a stand-in for the kubelet"
kube_start --lag 1 || fail "the cluster does not come up"
configure

title "vscaled from its manifests, with shortened clocks: a day takes 15 s, a minute 3 s"
printf '$ kubectl apply -k agent/deploy/overlays/auto\n'
agent_deploy /run/demo.yaml || fail "the agent does not get ready"
echo "its pod on node-1 is ready"

title "a pod with the wrong limits"
pod_json web "web 100m/200m 32Mi/64Mi burn -d 80" "cache 100m/1 32Mi/48Mi grow 30+w 60@2+w 30+10000" >/run/web.json
shown kubectl -n shop create -f /run/web.json
pod_running web || fail "the pod does not run"
for c in "${CONTAINERS[@]}"; do
	group["$c"]=$(pod_cgroup web "$c")
done
before=$(limits)
echo "web     wants 80 % of a CPU and may have 20 %"
echo "cache   does nothing with its whole CPU, and will soon need 60 MiB; it may have 48"
shown kubectl -n shop get pod web -o "$SPEC"

title "it opts in, $SECONDS_LIVE seconds; nothing is restarted"
exec {lines}< <(exec journalctl -q -f -n all -o cat SYSLOG_IDENTIFIER=vscaled \
	VSCALED_CONTAINER=web VSCALED_CONTAINER=cache + VSCALED_EVENT=report-ratified)
follower=$!
(while read -r entry; do printf '      %s\n' "$entry"; done <&"$lines") &
shown kubectl -n shop annotate pod web vscaled.dev/mode=Auto
echo "    # in use, - left, | limit; full scale is 110 % of a CPU and 110 MiB; other lines: journalctl -t vscaled"
printf '%4s  %-43s  %s\n' '' 'web: cpu              memory' 'cache: cpu            memory'
(pause 8 && go_on cache) &
show_seconds "$SECONDS_LIVE" 110 110 "${CONTAINERS[@]}"
go_on cache # it needs little again
wait_until 20 ratified || fail "the pod's spec was not updated"
kill "$follower"
follower=''

title "what the API server knows by now"
shown kubectl -n shop get pod web -o "$SPEC$STATUS"
shown kubectl -n shop events --for pod/web

title "why? On the node, because the test API server has no exec; elsewhere: kubectl vscaled explain web/web"
shown vscalectl list
shown vscalectl explain shop/web/web

title "it opts out"
shown kubectl -n shop annotate pod web vscaled.dev/mode-
wait_until 40 as_before || { limits; fail "not as before"; }
limits
shown kubectl -n shop get pod web -o "$SPEC"
pod_is web 'sum(x.restartCount for x in c.values()) == 0' || fail "a container was restarted"
title "cgroup and API object have their first limits, nothing was restarted; $((SECONDS - start)) s in the machine"

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For scenarios in which the agent sizes pods: after kube.sh, `. /opt/lab/sized.sh`.
# shellcheck disable=SC2034,SC2154  # for the scenarios; set by lib.sh and kube.sh

# The first container's CPU limit in the spec, in millicores, for pod_is and pod_get.
SPEC_MILLI='(lambda q: int(q[:-1]) if q.endswith("m") else int(q) * 1000)(spec.containers[0].resources.limits.cpu)'
# Its memory limit, in bytes.
SPEC_BYTES='(lambda q: int(q) if q.isdigit() else int(q[:-2]) << {"K": 10, "M": 20, "G": 30}[q[-2]])(spec.containers[0].resources.limits.memory)'
# The kubelet has carried out the newest spec.
SETTLED='status.observedGeneration == meta.generation and not any(t.startswith("PodResize") for t in cond)'

# agent_sized [CONFIG LINE]...: the agent as deployed, with clocks of seconds instead of minutes for
# what goes to the API server and to disk. The laws of the limits keep theirs.
agent_sized()
{
	cat >/lab/out/vscaled.yaml <<-Y
	apiVersion: config.vscaled.dev/v1alpha1
	kind: VscaledConfiguration
	clocks: {reviewInterval: ${REVIEW:-1s}, stateInterval: 2s}
	http: {listen: ":9753"}
	kubernetes:
	  enabled: true
	  startJitter: 0s
	  writeInterval: 100ms
	  statusInterval: 3s
	  leaseTime: ${LEASE:-4s}
	  memoryLeaseTime: ${LEASE:-4s}
	  startupAfterReady: ${STARTUP:-0s}
	  startupTime: ${STARTUP:-0s}
	  startupLeaseTime: ${LEASE:-4s}
	  requestUpTime: ${LEASE:-4s}
	  requestDownTime: ${LEASE:-8s}
	  decreaseInterval: 0s
	  upInterval: 4s
	  smallInterval: 8s
	  downInterval: 8s
	Y
	[ $# = 0 ] || printf '%s\n' "$@" >>/lab/out/vscaled.yaml
	agent_deploy /lab/out/vscaled.yaml
}

# agent_main_pid: of the process in the agent's container
agent_main_pid()
{
	local folder pid

	folder=$(KUBE_NS=$AGENT_NS pod_cgroup vscaled-node1 vscaled) || return
	read -r pid <"$folder/cgroup.procs" && echo "$pid"
}

# explain POD FIELD...: numbers of what the agent says of its container main, "cpu.limit"
explain()
{
	local text field

	text=$(vscalectl explain "$KUBE_NS/$1/main" -o json 2>/dev/null) || return
	for field in "${@:2}"; do
		[[ $text =~ \"${field%.*}\":[[:space:]]*\{[^\}]*\"${field#*.}\":[[:space:]]*([0-9]+) ]] || return
		echo "${BASH_REMATCH[1]}"
	done
}

# explain_is POD FIELD -OP NUMBER
explain_is()
{
	local value

	value=$(explain "$1" "$2") && test "$value" "$3" "$4"
}

# requests PATTERN: requests of the agent that match, out of the server's log; "METHOD PATH STATUS"
# is what it is compared with
requests()
{
	kube_debug GET /debug/log | tr '{' '\n' |
		sed -n 's/.*"method": *"\([A-Z]*\)", *"path": *"\([^"]*\)", *"user_agent": *"vscaled\/[^"]*", *"identity": *"[^"]*", *"status": *\([0-9]*\).*/\1 \2 \3/p' |
		grep -cE "$1"
}

# resizes POD: how many the agent has sent. A conflict is none: the pod had just changed, and it is
# asked again.
resizes()
{
	requests "^PATCH /api/v1/namespaces/$KUBE_NS/pods/$1/resize.* (0|[235]..|40[0-8]|4[1-9].)\$"
}

# cpu_milli FOLDER: cpu.max in millicores
cpu_milli()
{
	local quota period

	read -r quota period <"$1/cpu.max" || return
	[ "$quota" = max ] || quota=$((quota * 1000 / period))
	echo "$quota"
}

# cpu_is FOLDER -OP MILLICORES
cpu_is()
{
	test "$(cpu_milli "$1")" "$2" "$3"
}

# mem_is FOLDER -OP BYTES
mem_is()
{
	local max

	read -r max <"$1/memory.max" && [ "$max" != max ] && test "$max" "$2" "$3"
}

# mem_uses FOLDER MB: at least
mem_uses()
{
	local use

	read -r use <"$1/memory.current" && [ "$use" -ge $(($2 << 20)) ]
}

now_ms()
{
	echo $((${EPOCHREALTIME/./} / 1000))
}

# successor POD-FOLDER OLD-FOLDER FILE BYTES: waits for the container that follows OLD-FOLDER, and
# says after how many ms it had BYTES in FILE, counted from its first limit there: "ms=.. first=.."
successor()
{
	local folder found="" value since=0 first=0 end=$((SECONDS + 90))

	while [ $SECONDS -lt $end ]; do
		for folder in "$1"/*/; do
			folder=${folder%/}
			[ "$folder" != "$2" ] || continue
			{ read -r value _ <"$folder/$3"; } 2>/dev/null || continue
			[ "$value" != max ] || continue
			[ -n "$found" ] || found=$folder since=$(now_ms) first=$value
			[ "$value" -lt "$4" ] || {
				echo "ms=$(($(now_ms) - since)) first=$first"
				return
			}
		done
		pause 0.01
	done
	echo "ms=99999 first=$first"
	return 1
}

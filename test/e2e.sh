#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Scenarios as pods in any cluster with vscaled, by kubectl alone: see usage().
# One `kubectl get --watch` and one `kubectl logs --follow` for each pod write files; what is waited for
# is looked up in what they have brought, so that a wait costs no further call.
set -uo pipefail
export LC_ALL=C
kubectl=${KUBECTL:-kubectl}
AGENT_NS=vscaled
PROGRAMS=/usr/lib/vscaled # burn and grow in the image
MODE=vscaled.dev/mode
POLL_SEC=0.2
US=$'\x1f' RS=$'\x1e'

# NAME|WHAT IT SHOWS; the function is scenario_NAME.
SCENARIOS=(
	"optin|a throttled pod is left alone until it is annotated, then gets the CPU that it wants, at once"
	"cpu|a throttled pod gets the CPU that it wants; its spec follows, nothing is restarted"
	"memory|a pod grows to three times its memory limit: no kill, and it is not held up; its spec follows"
	"owner|the owner resizes the CPU of a pod while its memory grows: no kill"
	"optout|the annotation goes: the original limits return, in the cgroup and in the spec"
	"undo|mode Off for all pods: the original limits return, of one whose spec never had others, too"
	"guaranteed|a Guaranteed pod grows: memory request and limit rise together, it stays Guaranteed"
	"requests|RequestsAndLimits: the request of CPU follows its limit"
	"unlimited|RequestsOnly: the request of a container without limits follows use"
	"level|pod-budget: the limit in a pod's own spec.resources follows its container's, and returns (1.36)"
	"decrease|a pod that uses a tenth of its CPU limit gets a lower one; its spec follows"
	"quota|a ResourceQuota refuses the higher limit: what it allows returns in the cgroup, an Event says so"
	"hpa|a HorizontalPodAutoscaler on CPU beside it: limits are sized, requests stay"
	"history|a workload's pod on another node starts with what is known of it (needs two nodes)"
	"budget|a PodDisruptionBudget that allows none: sized all the same, not evicted"
	"restart|the agent's pod is deleted while a pod grows: no kill, the next one sizes it"
)

usage()
{
	cat <<-E
	usage: test/e2e.sh [OPTION]... [NAME]...
	Runs scenarios (default: all) as pods in a cluster where vscaled is installed, the overlay auto or one
	like it, and says PASS, FAIL or SKIP for each. Needs kubectl 1.32 and the right to make a namespace. All
	pods run on one node (history: two), in a namespace of their own, and NAME-quota and NAME-hpa, which are
	removed at the end, also after Ctrl-C.
	  --kubeconfig FILE  as kubectl's
	  --namespace NAME   of the pods; must not exist yet (default: vscaled-e2e-NUMBER)
	  --image IMAGE      with $PROGRAMS/burn and grow (default: the image of the agent)
	  --node NODE        where the pods run (default: one whose agent is ready)
	  --slow             also what takes longer than ${PATIENCE_SEC} s with this cluster's clocks
	  -o json            one JSON object per scenario, in an array
	  --keep             leaves the namespace and its pods
	  --list             the scenarios
	  -h, --help         this text
	Exit status: 0 all passed or skipped, 1 one failed, 2 usage, no cluster, or no vscaled in it.
	E
}

PATIENCE_SEC=300
kubeconfig='' ns='' image='' node='' slow='' json='' keep=''
names=() results=()
work='' watcher='' config='' agent_pod=''
declare -A pod=() line=() part=() fd=() followers=() space=() # by pod; pod: "NAME.FIELD"
exec {never}<> <(:) # reading it times out: a pause without a process

die()
{
	echo "e2e.sh: $*" >&2
	exit 2
}

kube()
{
	"$kubectl" "$@"
}

now_ms()
{
	echo $((${EPOCHREALTIME/./} / 1000))
}

# Options

list()
{
	local row

	for row in "${SCENARIOS[@]}"; do
		printf '%-11s %s\n' "${row%%|*}" "${row#*|}"
	done
}

options()
{
	local row
	while [ $# -gt 0 ]; do
		case $1 in
		--kubeconfig | --namespace | --image | --node | -o)
			[ $# -gt 1 ] || { usage >&2 && exit 2; }
			;;&
		--kubeconfig) export KUBECONFIG=$2 && kubeconfig=$2 && shift ;;
		--namespace) ns=$2 && shift ;;
		--image) image=$2 && shift ;;
		--node) node=$2 && shift ;;
		-o) [ "$2" = json ] || die "-o json is the only format" && json=1 && shift ;;
		--slow) slow=1 ;;
		--keep) keep=1 ;;
		--list) list && exit ;;
		-h | --help) usage && exit ;;
		-*) usage >&2 && exit 2 ;;
		*) names+=("$1") ;;
		esac
		shift
	done
	for row in "${names[@]}"; do
		declare -F "scenario_$row" >/dev/null || die "no such scenario: $row (--list)"
	done
	[ ${#names[@]} -gt 0 ] || mapfile -t names < <(printf '%s\n' "${SCENARIOS[@]%%|*}")
}

# What is there before

# template FIELD...: a jsonpath of one record
template()
{
	local field text=''

	for field in "$@"; do
		text+="{$field}$US"
	done
	printf '%s' "$text"
}

# preflight: is there a cluster, and a vscaled in it that may size?
preflight()
{
	local text kind name label desired ready at pod_ready found its_image its_config nodes=()

	command -v "$kubectl" >/dev/null || die "no kubectl: install one, or set KUBECTL"
	[ -z "$kubeconfig" ] || [ -r "$kubeconfig" ] || die "cannot read $kubeconfig"
	text=$(kube get --raw /version 2>&1) || die "the cluster does not answer: ${text##*$'\n'}"
	[[ $text =~ \"minor\":\ *\"([0-9]+) ]] || die "not a Kubernetes API server: $text"
	minor=${BASH_REMATCH[1]}
	text=$(kube -n $AGENT_NS get daemonsets,configmaps,pods -o "jsonpath={range .items[*]}$(template .kind \
		.metadata.name .metadata.labels.app\\.kubernetes\\.io/name .status.desiredNumberScheduled \
		.status.numberReady .spec.nodeName '.status.conditions[?(@.type=="Ready")].status' \
		'.spec.template.spec.containers[0].image' '.data.vscaled\.yaml')$RS{end}" 2>&1) ||
		die "cannot read namespace $AGENT_NS: ${text##*$'\n'}"
	while IFS=$US read -r -d "$RS" kind name label desired ready at pod_ready its_image its_config; do
		case $kind in
		DaemonSet)
			[ "$name" != vscaled ] || { : "${image:=$its_image}" && found="${ready:-0} of ${desired:-0}"; }
			;;
		ConfigMap) [[ $name != vscaled* ]] || config=$its_config ;;
		Pod)
			[ "$label-$pod_ready" = vscaled-True ] || continue
			nodes+=("$at")
			agents[$at]=$name
			;;
		esac
	done <<<"$text"
	[ -n "${found:-}" ] ||
		die "no DaemonSet vscaled in namespace $AGENT_NS: kubectl apply -k agent/deploy/overlays/auto"
	[ ${#nodes[@]} -gt 0 ] ||
		die "no pod of the DaemonSet vscaled is ready ($found): kubectl -n $AGENT_NS describe pods"
	[[ ! $config =~ highestMode:\ *\"?([A-Za-z]+) ]] || [ "${BASH_REMATCH[1]}" = Auto ] ||
		die "kubernetes.highestMode is ${BASH_REMATCH[1]}: nothing is sized (overlay auto: Auto)"
	: "${node:=${nodes[0]}}"
	agent_pod=${agents[$node]:-}
	[ -n "$agent_pod" ] || die "no agent is ready on node $node"
	note "Kubernetes 1.$minor, vscaled ready on $found nodes, pods on $node, image $image"
}

note()
{
	[ -n "$json" ] || echo "$*"
}

# clock KEY SECONDS: of a duration in the agent's configuration, else its default
clock()
{
	local text n total=0

	[[ $config =~ (^|[^A-Za-z])$1:[[:space:]]*\"?([0-9][0-9a-z]*) ]] || { echo "$2"; return; }
	text=${BASH_REMATCH[2]}
	while [[ $text =~ ^([0-9]+)(ms|us|s|min|m|h|d)(.*)$ ]]; do
		n=${BASH_REMATCH[1]} text=${BASH_REMATCH[3]}
		case ${BASH_REMATCH[2]} in
		ms | us) total=$((total + 1)) ;;
		s) total=$((total + n)) ;;
		m | min) total=$((total + n * 60)) ;;
		h) total=$((total + n * 3600)) ;;
		d) total=$((total + n * 86400)) ;;
		esac
	done
	echo "$total"
}

# The namespace, and what is watched in it

PODS="$(template .metadata.name .metadata.uid .status.phase '.status.conditions[?(@.type=="Ready")].status' \
	.metadata.generation .status.observedGeneration \
	'.spec.containers[0].resources.limits.cpu' '.spec.containers[0].resources.limits.memory' \
	'.spec.containers[0].resources.requests.cpu' '.spec.containers[0].resources.requests.memory' \
	'.status.containerStatuses[0].resources.limits.cpu' \
	'.status.containerStatuses[0].resources.limits.memory' \
	'.status.containerStatuses[0].restartCount' \
	'.status.containerStatuses[0].lastState.terminated.reason' \
	'.status.conditions[?(@.type=="PodResizePending")].reason' \
	.status.qosClass .spec.resources.limits.cpu '.metadata.annotations.vscaled\.dev/status')"$'\n'
FIELDS=(uid phase ready generation observed cpu memory request_cpu request_memory status_cpu \
	status_memory restarts ended pending qos level_cpu status)

# namespace_make NAME [OBJECT]...: with an account, and what else
namespace_make()
{
	local labels="{\"app.kubernetes.io/part-of\":\"vscaled-e2e\",\"pod-security.kubernetes.io/enforce\":\"restricted\"}"
	local items one

	items="{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"$1\",\"labels\":$labels}}"
	items+="{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"metadata\":{\"name\":\"e2e\",\"namespace\":\"$1\"}}"
	for one in "${@:2}"; do
		items+=$one
	done
	spaces+=("$1")
	kube create -f - >"$work/out" 2>&1 <<<"$items"
}

watch_start()
{
	kube get pods -A -l "app.kubernetes.io/instance=$ns" --watch -o "jsonpath=$PODS" \
		>>"$work/pods" 2>"$work/watch.err" &
	watcher=$!
	disown # or the shell would say how it ended
}

clean_up()
{
	trap '' INT TERM
	[ -z "$watcher" ] || kill "$watcher" ${followers[@]+"${followers[@]}"} 2>/dev/null
	if [ ${#spaces[@]} -gt 0 ] && [ -z "$keep" ]; then
		kube delete namespace "${spaces[@]}" --ignore-not-found --wait=false >/dev/null
	fi
	[ -z "$work" ] || rm -rf "$work"
}

# quantity TEXT cpu|memory: in millicores or bytes; empty if there is none
quantity()
{
	local n=${1%%[a-zA-Z]*} unit=${1##*[0-9]} scale=1

	case $2$unit in
	cpu) scale=1000 ;;
	memoryKi) scale=1024 ;;
	memoryMi) scale=$((1 << 20)) ;;
	memoryGi) scale=$((1 << 30)) ;;
	memoryk) scale=1000 ;;
	memoryM) scale=1000000 ;;
	memoryG) scale=1000000000 ;;
	esac
	REPLY=${n:+$((n * scale))}
}

# lines_of WHAT: the whole lines that have come to its file, each in turn given to take_WHAT
lines_of()
{
	local text

	while IFS= read -r -u "${fd[$1]}" text; do
		text=${part[$1]:-}$text part[$1]=''
		if [ "$1" = pods ]; then take_pod "$text"; else take_line "$1" "$text"; fi
	done
	part[$1]=${part[$1]:-}$text
}

take_pod()
{
	local name values i

	IFS=$US read -r -a values <<<"$1"
	name=${values[0]} values=("${values[@]:1}")
	for i in "${!FIELDS[@]}"; do
		pod[$name.${FIELDS[i]}]=${values[i]:-}
	done
	for i in cpu memory request_cpu request_memory status_cpu status_memory level_cpu; do
		quantity "${pod[$name.$i]}" "${i##*_}"
		pod[$name.$i]=$REPLY
	done
}

# What a load program says: the last value of each; got, and most of it so far, in hundredths of a CPU, and
# the highest CPU limit so far.
take_line()
{
	local word

	line[$1]=$2
	for word in $2; do
		[[ $word != *=* ]] || pod[$1.${word%%=*}]=${word#*=}
	done
	[ "${pod[$1.cpu_milli]:-0}" -le "${pod[$1.high]:-0}" ] || pod[$1.high]=${pod[$1.cpu_milli]}
	[[ $2 == *got=* ]] || return 0
	pod[$1.got]=$((10#${pod[$1.got]/./}))
	[ "${pod[$1.got]}" -le "${pod[$1.most]:-0}" ] || pod[$1.most]=${pod[$1.got]}
}

look()
{
	local what

	kill -0 "$watcher" 2>/dev/null || watch_start # a server ends a watch within the hour
	for what in "${!fd[@]}"; do
		lines_of "$what"
	done
}

# await SECONDS COMMAND...: until it is true
await()
{
	local end=$((SECONDS + $1))

	shift
	look
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		read -r -t $POLL_SEC -u "$never" || true
		look
	done
}

# is POD.FIELD -OP VALUE: test(1) of the last value; false while there is none
is()
{
	[ -n "${pod[$1]:-}" ] && test "${pod[$1]}" "$2" "$3"
}

all()
{
	local one words

	for one in "$@"; do
		read -r -a words <<<"$one"
		"${words[@]}" || return
	done
}

# expect TEXT SECONDS COMMAND...: waits for it, or says what did not come
expect()
{
	await "$2" "${@:3}" && return
	why="not within $2 s: $1"
	return 1
}

# check TEXT COMMAND...: is it so?
check()
{
	"${@:2}" && return
	why="not so: $1"
	return 1
}

# state POD: what is known of it, for one that failed
state()
{
	local field text="$1:"

	for field in "${FIELDS[@]:1}"; do
		[ -z "${pod[$1.$field]:-}" ] || text+=" $field=${pod[$1.$field]}"
	done
	echo "  $text"
	echo "  ${line[$1]:-$1: no output}"
}

# Pods

# pod_json NAME ANNOTATIONS RESOURCES COMMAND...: ANNOTATIONS as JSON without braces, RESOURCES as
# "REQUEST/LIMIT REQUEST/LIMIT" of CPU and memory, - is none. Of the restricted security standard.
# POD_NS, POD_NODE, POD_APP and POD_OWNER replace namespace, node, label and owners; POD_LEVEL is
# "resources":{...}, of its own.
pod_json()
{
	local cpu memory command='' word requests limits

	read -r cpu memory <<<"$3"
	requests=$(sides "${cpu%/*}" "${memory%/*}")
	limits=$(sides "${cpu#*/}" "${memory#*/}")
	for word in "${@:4}"; do
		command+="${command:+,}\"$word\""
	done
	command=${command/\"/\"$PROGRAMS/}
	cat <<-J
	{"apiVersion":"v1","kind":"Pod","metadata":{"name":"$1","namespace":"${POD_NS:-$ns}",
	"labels":{"app.kubernetes.io/instance":"$ns","app":"${POD_APP:-$1}"},"annotations":{$2},
	"ownerReferences":${POD_OWNER:-[]}},
	"spec":{"nodeName":"${POD_NODE:-$node}","serviceAccountName":"e2e","automountServiceAccountToken":false,
	"terminationGracePeriodSeconds":1,"enableServiceLinks":false,${POD_LEVEL:-}
	"securityContext":{"runAsNonRoot":true,"runAsUser":65534,"runAsGroup":65534,"seccompProfile":{"type":"RuntimeDefault"}},
	"containers":[{"name":"main","image":"$image","imagePullPolicy":"IfNotPresent","command":[$command],
	"securityContext":{"allowPrivilegeEscalation":false,"readOnlyRootFilesystem":true,"capabilities":{"drop":["ALL"]}},
	"resources":{"requests":{$requests},"limits":{$limits}}}]}}
	J
}

sides()
{
	local text=''

	[ "$1" = - ] || text="\"cpu\":\"$1\""
	[ "$2" = - ] || text+="${text:+,}\"memory\":\"$2\""
	echo "$text"
}

# pod_run NAME ANNOTATIONS RESOURCES COMMAND...: until it is ready and its output is read
pod_run()
{
	pod_json "$@" | kube create -f - >"$work/out" 2>&1 ||
		{ why="pod $1 is not made: $(tail -n 1 "$work/out")"; return 1; }
	pods+=("$1")
	space[$1]=${POD_NS:-$ns}
	expect "pod $1 is ready" 180 is "$1.ready" = True || return
	pod_follow "$1"
}

pod_follow()
{
	local in

	: >"$work/log.$1"
	kube -n "${POD_NS:-$ns}" logs --follow "$1" -c main >>"$work/log.$1" 2>>"$work/logs.err" &
	followers[$1]=$!
	disown
	exec {in}<"$work/log.$1"
	fd[$1]=$in
}

# pod_annotate NAME KEY=VALUE|KEY-
pod_annotate()
{
	kube -n "${POD_NS:-$ns}" annotate --overwrite pod "$1" "${@:2}" >"$work/out" 2>&1 ||
		{ why="pod $1 is not annotated: $(tail -n 1 "$work/out")"; return 1; }
}

# pods_end: those of the scenario, without waiting
pods_end()
{
	local name in

	[ ${#pods[@]} -gt 0 ] || return 0
	for name in "${pods[@]}"; do
		[ -z "${followers[$name]:-}" ] || kill "${followers[$name]}" 2>/dev/null
		in=${fd[$name]:-}
		[ -z "$in" ] || exec {in}<&-
		unset "fd[$name]" "followers[$name]"
	done
	for name in "${pods[@]}"; do
		[ -n "$keep" ] || kube -n "${space[$name]}" delete pod "$name" --wait=false >/dev/null 2>&1 &
	done
	pods=()
}

# unharmed NAME: never restarted, the same pod
unharmed()
{
	check "$1 was not restarted (${pod[$1.restarts]} times, ${pod[$1.ended]:-?})" is "$1.restarts" -eq 0
}

# settled NAME: the kubelet has carried out the newest spec (before 1.34 it does not say)
settled()
{
	[ -z "${pod[$1.observed]:-}" ] || is "$1.observed" -eq "${pod[$1.generation]}"
}

# says NAME TEXT: in its status annotation
says()
{
	[[ ${pod[$1.status]} == *"$2"* ]]
}

# event_says NAMESPACE REASON TEXT
event_says()
{
	[[ $(kube -n "$1" get events -o "jsonpath={.items[?(@.reason==\"$2\")].message}" 2>/dev/null) == *"$3"* ]]
}

says_nothing()
{
	[ -z "${pod[$1.status]}" ]
}

# spec_time: seconds until a limit must be in the spec
spec_time()
{
	echo $(($(clock leaseTime 60) + $(clock upInterval 10) + 90))
}

# skip TEXT: the scenario cannot be shown here
skip()
{
	why=$1 result=SKIP
	return 1
}

# patient SECONDS: it takes no longer than one may be asked to wait
patient()
{
	[ -n "$slow" ] || [ "$1" -le $PATIENCE_SEC ] ||
		skip "takes up to $1 s with this cluster's clocks: --slow"
}

ON="\"$MODE\":\"Auto\""
BOTH="$ON,\"vscaled.dev/controlled-values\":\"RequestsAndLimits\""
HUNGRY=(burn -L -d 80)
# A throttled period is answered within a quarter of a second; a review, which raises limits too, comes
# every 10 s.
REFLEX_MS=1000
# Growth that is raised for in time is not held up for longer than the kubelet takes.
STALL_MS=1000

# wants_cpu NAME [ANNOTATIONS [RESOURCES]]: a pod of 200m that wants 800m
wants_cpu()
{
	pod_run "$1" "${2:-$ON}" "${3:-20m/200m 16Mi/64Mi}" "${HUNGRY[@]}"
}

# Scenarios: 0 with the numbers in $why, or not 0 with the reason in it

# cpus NAME: what it got in the last second
cpus()
{
	printf '%d.%02d' $((pod[$1.got] / 100)) $((pod[$1.got] % 100))
}

# The load wants 400m, then nothing while the annotation is on its way, then 800m.
scenario_optin()
{
	pod_run optin '"example.com/owner":"e2e"' "20m/200m 16Mi/64Mi" burn -L -d 40 -s 3:1 -s 16:80 || return
	expect "it has run for a while" 30 is optin.t -ge 3 || return
	check "throttled as its limit says" all "is optin.most -ge 15" "is optin.most -le 30" || return
	check "its limit is untouched" all "is optin.cpu_milli -eq 200" "is optin.cpu -eq 200" || return
	check "it has no status annotation" says_nothing optin || return
	pod_annotate optin $MODE=Auto || return
	look
	check "it was annotated before it wants more" is optin.t -lt 16 || return
	expect "it gets the CPU that it wants" 40 is optin.got -ge 72 || return
	check "its limit was raised within $REFLEX_MS ms" is optin.raised_ms -le $REFLEX_MS || return
	check "its limit is not above twice that" is optin.cpu_milli -le 1600 || return
	unharmed optin || return
	why="$(cpus optin) CPUs, the first raise after ${pod[optin.raised_ms]} ms, limit 200m -> ${pod[optin.cpu_milli]}m"
}

scenario_cpu()
{
	local first uid

	wants_cpu cpu || return
	uid=${pod[cpu.uid]}
	expect "it gets the CPU that it wants" 40 is cpu.got -ge 72 || return
	first=${pod[cpu.t]}
	expect "the spec has the limit" "$(spec_time)" is cpu.cpu -ge 720 || return
	expect "the kubelet has carried it out" 60 all "settled cpu" "is cpu.status_cpu -ge 720" || return
	check "the request stays" is cpu.request_cpu -eq 20 || return
	expect "the original is in the status annotation" "$(($(clock statusInterval 600) + 30))" \
		says cpu '"original":"200m"' || return
	check "it is the same pod" [ "${pod[cpu.uid]}" = "$uid" ] || return
	unharmed cpu || return
	why="$(cpus cpu) CPUs after $first s, spec 200m -> ${pod[cpu.cpu]}m"
}

# grows NAME SECONDS [MB]: until the program has reached its last size
grows()
{
	expect "it has grown to ${3:-300} MB" "$2" is "$1.mb" -ge "${3:-300}" || return
	unharmed "$1" || return
	check "its limit is above that" is "$1.memory_mb" -ge "${3:-300}"
}

scenario_memory()
{
	pod_run memory "$ON" "20m/500m 32Mi/96Mi" grow -L 48+8 300@25+100000 || return
	grows memory 90 || return
	check "it was held up for at most $STALL_MS ms" is memory.max_stall_ms -le $STALL_MS || return
	expect "the spec has the limit" "$(spec_time)" is memory.memory -ge $((300 << 20)) || return
	expect "the kubelet has carried it out" 60 all "settled memory" \
		"is memory.status_memory -ge $((300 << 20))" || return
	check "within four times the original" is memory.memory -le $((384 << 20)) || return
	unharmed memory || return
	why="96 -> ${pod[memory.memory_mb]} MiB, spec $((${pod[memory.memory]} >> 20)) MiB, longest stall ${pod[memory.max_stall_ms]} ms"
}

# resize NAME CONTAINER'S RESOURCES: as its owner
resize()
{
	kube -n "${POD_NS:-$ns}" patch pod "$1" --subresource resize \
		-p "{\"spec\":{\"containers\":[{\"name\":\"main\",\"resources\":$2}]}}" >"$work/out" 2>&1 ||
		{ why="the owner's resize is refused: $(tail -n 1 "$work/out")"; return 1; }
}

scenario_owner()
{
	local milli count=0

	pod_run owner "$ON" "20m/500m 32Mi/96Mi" grow -L 48+8 300@10+100000 || return
	expect "it grows" 60 is owner.mb -ge 60 || return
	for milli in 510 520 530 540; do
		is owner.mb -lt 280 || break
		resize owner "{\"limits\":{\"cpu\":\"${milli}m\"}}" || return
		count=$((count + 1))
		look
	done
	grows owner 90 || return
	why="$count resizes by the owner, 96 -> ${pod[owner.memory_mb]} MiB"
}

# originals NAME CPU-MILLI MEMORY-MB: they are back, in the cgroup and the spec
originals()
{
	all "is $1.cpu_milli -eq $2" "is $1.memory_mb -eq $3" "is $1.cpu -eq $2" \
		"is $1.memory -eq $(($3 << 20))"
}

scenario_level()
{
	[ "$minor" -ge 36 ] || { skip "Kubernetes 1.$minor does not resize a pod's own resources"; return 1; }
	POD_LEVEL='"resources":{"limits":{"cpu":"300m","memory":"128Mi"}},' \
		wants_cpu level "$ON,\"vscaled.dev/pod-budget\":\"Resize\"" || return
	expect "it gets the CPU that it wants" 60 is level.got -ge 72 || return
	expect "the spec has the limit of both" "$(spec_time)" all "is level.cpu -ge 720" \
		"is level.level_cpu -ge 720" || return
	unharmed level || return
	why="container 200m -> ${pod[level.cpu]}m, pod 300m -> ${pod[level.level_cpu]}m"
	pod_annotate level $MODE- || return
	expect "the original limits return" 120 all "originals level 200 64" "is level.level_cpu -eq 300"
}

scenario_optout()
{
	wants_cpu optout || return
	expect "it is sized" 40 is optout.cpu_milli -ge 720 || return
	expect "its spec is, too" "$(spec_time)" is optout.cpu -ge 720 || return
	pod_annotate optout $MODE- || return
	expect "its original limits" "$(spec_time)" originals optout 200 64 || return
	expect "the status annotation is gone" 60 says_nothing optout || return
	expect "it has what it had" 20 is optout.got -le 30 || return
	unharmed optout || return
	why="limit and spec are 200m again"
}

# CPU of a Guaranteed pod is in the cgroup alone: no resize of its spec puts it back.
scenario_undo()
{
	wants_cpu undo || return
	wants_cpu undo-fixed "$ON" "200m/200m 64Mi/64Mi" || return
	expect "they are sized" 40 all "is undo.cpu_milli -ge 720" "is undo-fixed.cpu_milli -ge 720" || return
	expect "the spec of one is, too" "$(spec_time)" is undo.cpu -ge 720 || return
	check "that of the Guaranteed one is not" is undo-fixed.cpu -eq 200 || return
	kube -n "$ns" annotate --overwrite pods --all $MODE=Off >"$work/out" 2>&1
	expect "their original limits" "$(spec_time)" all "originals undo 200 64" "originals undo-fixed 200 64" || return
	unharmed undo || return
	unharmed undo-fixed || return
	why="limits and specs are 200m again"
}

scenario_guaranteed()
{
	pod_run guaranteed "$ON" "300m/300m 96Mi/96Mi" grow -L 48+8 300@15+100000 || return
	check "it is Guaranteed" [ "${pod[guaranteed.qos]}" = Guaranteed ] || return
	grows guaranteed 90 || return
	expect "the spec has the limit" "$(spec_time)" is guaranteed.memory -ge $((300 << 20)) || return
	check "the request is the same" is guaranteed.request_memory -eq "${pod[guaranteed.memory]}" || return
	check "it is still Guaranteed" [ "${pod[guaranteed.qos]}" = Guaranteed ] || return
	check "CPU in the spec stays" all "is guaranteed.cpu -eq 300" "is guaranteed.request_cpu -eq 300" || return
	unharmed guaranteed || return
	why="request and limit 96 -> $((${pod[guaranteed.memory]} >> 20)) MiB"
}

# request_time: seconds until a request must follow
request_time()
{
	echo $(($(clock requestUpTime 600) + $(clock startupAfterReady 30) + $(spec_time)))
}

scenario_requests()
{
	patient "$(request_time)" || return
	wants_cpu requests "$BOTH" || return
	expect "the request follows use" "$(request_time)" is requests.request_cpu -ge 400 || return
	check "it is not above the limit" is requests.request_cpu -le "${pod[requests.cpu]}" || return
	unharmed requests || return
	why="request 20m -> ${pod[requests.request_cpu]}m, limit 200m -> ${pod[requests.cpu]}m"
}

scenario_unlimited()
{
	patient "$(request_time)" || return
	wants_cpu unlimited "$ON,\"vscaled.dev/controlled-values\":\"RequestsOnly\"" "20m/- 16Mi/-" || return
	expect "the request follows use" "$(request_time)" is unlimited.request_cpu -ge 400 || return
	check "it has no limit" [ -z "${pod[unlimited.cpu]}${pod[unlimited.memory]}" ] || return
	unharmed unlimited || return
	why="request 20m -> ${pod[unlimited.request_cpu]}m"
}

# decrease_time: seconds until a CPU limit must have fallen
decrease_time()
{
	echo $(($(clock startQuiet 300) + $(clock recentWindow 600) + $(clock confidenceAfter 86400) / 2 + 60))
}

scenario_decrease()
{
	local window=$((2 * $(clock decreaseInterval 14400)))

	patient $(($(decrease_time) + window)) || return
	pod_run decrease "$ON" "20m/1 16Mi/64Mi" burn -L -d 10 || return
	expect "its limit falls" "$(decrease_time)" is decrease.cpu_milli -le 700 || return
	expect "its spec follows" $(($(spec_time) + $(clock downInterval 300) + window)) is decrease.cpu -le 700 || return
	check "the request stays" is decrease.request_cpu -eq 20 || return
	expect "it gets what it wants" 10 is decrease.got -ge 9 || return
	unharmed decrease || return
	why="$(cpus decrease) CPUs, limit 1000m -> ${pod[decrease.cpu_milli]}m, spec ${pod[decrease.cpu]}m"
}

# The quota counts when its controller has filled its status.
quota_counts()
{
	[ -n "$(kube -n "$1" get resourcequota e2e -o 'jsonpath={.status.hard.limits\.cpu}' 2>/dev/null)" ]
}

scenario_quota()
{
	local POD_NS=$ns-quota

	namespace_make "$POD_NS" "{\"apiVersion\":\"v1\",\"kind\":\"ResourceQuota\",\"metadata\":{\"name\":\"e2e\",
		\"namespace\":\"$POD_NS\"},\"spec\":{\"hard\":{\"limits.cpu\":\"300m\"}}}" ||
		{ why="no quota: $(tail -n 1 "$work/out")"; return 1; }
	expect "the quota counts" 60 quota_counts "$POD_NS" || return
	wants_cpu quota || return
	expect "its limit rises in the cgroup" 40 is quota.high -ge 400 || return
	expect "it goes back to what the quota allows" "$(spec_time)" is quota.cpu_milli -le 300 || return
	expect "an Event says so" 60 event_says "$POD_NS" ResizeRefused "exceeded quota" || return
	check "the spec is the owner's" is quota.cpu -eq 200 || return
	unharmed quota || return
	why="limit 200m -> ${pod[quota.high]}m -> ${pod[quota.cpu_milli]}m, Event ResizeRefused"
}

# Its target is nothing that is known to own pods, and so may be above any pod of its namespace. Beside
# it a pod in another namespace: when the request of that one has moved, this one's would have, too.
scenario_hpa()
{
	local alone=$ns-hpa

	patient "$(request_time)" || return
	[[ ! $config =~ autoscalers:\ *false ]] || { skip "kubernetes.autoscalers is false"; return; }
	namespace_make "$alone" "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",
		\"metadata\":{\"name\":\"e2e\",\"namespace\":\"$alone\"},\"spec\":{\"minReplicas\":1,\"maxReplicas\":2,
		\"scaleTargetRef\":{\"apiVersion\":\"e2e.vscaled.dev/v1\",\"kind\":\"Load\",\"name\":\"hpa\"},
		\"metrics\":[{\"type\":\"Resource\",\"resource\":{\"name\":\"cpu\",
		\"target\":{\"type\":\"Utilization\",\"averageUtilization\":50}}}]}}" ||
		{ why="no HorizontalPodAutoscaler: $(tail -n 1 "$work/out")"; return 1; }
	POD_NS=$alone wants_cpu hpa "$BOTH" || return
	wants_cpu hpa-none "$BOTH" || return
	expect "the request of the other one moves" "$(request_time)" is hpa-none.request_cpu -ge 400 || return
	expect "the spec has the limit" "$(spec_time)" is hpa.cpu -ge 720 || return
	check "its request stays" is hpa.request_cpu -eq 20 || return
	unharmed hpa || return
	why="limit 200m -> ${pod[hpa.cpu]}m, request 20m; without it 20m -> ${pod[hpa-none.request_cpu]}m"
}

# other_node: one with a ready agent
other_node()
{
	local one

	for one in "${!agents[@]}"; do
		[ "$one" = "$node" ] || { echo "$one" && return; }
	done
	return 1
}

# Ten minutes of use on one node are what a start on another one counts with. The account is the owner of
# both pods: one workload, and nothing else would make more of them.
scenario_history()
{
	local POD_NODE='' POD_APP=history POD_OWNER='' uid second

	second=$(other_node) || { skip "one node with vscaled: the history is to come from another one"; return; }
	patient $((660 + $(clock statusInterval 600) + $(request_time))) || return
	uid=$(kube -n "$ns" get serviceaccount e2e -o 'jsonpath={.metadata.uid}' 2>"$work/out") ||
		{ why="no account: $(tail -n 1 "$work/out")"; return 1; }
	POD_OWNER="[{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\",\"name\":\"e2e\",\"uid\":\"$uid\",\"controller\":true}]"
	wants_cpu history-1 "$BOTH" || return
	expect "the request follows use" "$(request_time)" is history-1.request_cpu -ge 400 || return
	expect "ten minutes of use" 700 is history-1.t -ge 660 || return
	expect "they are published" "$(($(clock statusInterval 600) + 30))" says history-1 '"confidence"' || return
	POD_NODE=$second
	pod_run history-2 "$BOTH" "20m/200m 16Mi/64Mi" burn -L -d 1 || return
	expect "the second one's request is sized without use" 120 is history-2.request_cpu -ge 400 || return
	unharmed history-2 || return
	why="request 20m -> ${pod[history-2.request_cpu]}m on $POD_NODE, as on $node, before any use"
}

scenario_budget()
{
	local uid

	kube create -f - >"$work/out" 2>&1 <<-J || { why="no PodDisruptionBudget: $(tail -n 1 "$work/out")"; return 1; }
	{"apiVersion":"policy/v1","kind":"PodDisruptionBudget","metadata":{"name":"budget","namespace":"$ns"},
	"spec":{"maxUnavailable":0,"selector":{"matchLabels":{"app":"budget"}}}}
	J
	wants_cpu budget "\"$MODE\":\"InPlaceOrRecreate\"" || return
	uid=${pod[budget.uid]}
	expect "it gets the CPU that it wants" 40 is budget.got -ge 72 || return
	expect "the spec has the limit" "$(spec_time)" is budget.cpu -ge 720 || return
	expect "the kubelet has carried it out" 60 all "settled budget" "is budget.status_cpu -ge 720" || return
	check "it is the same pod" [ "${pod[budget.uid]}" = "$uid" ] || return
	unharmed budget || return
	why="spec 200m -> ${pod[budget.cpu]}m, the same pod"
}

# The agent is deleted just after a raise, which gives 15 %: 3 s of this growth. Until there is another
# one, the container has what its spec holds.
scenario_restart()
{
	local old=$agent_pod

	pod_run restart "$ON" "20m/500m 32Mi/96Mi" grow -L 48+8 300@5+100000 || return
	expect "its limit is raised" 90 is restart.memory_mb -gt 96 || return
	expect "its spec is, too" 30 is restart.status_memory -gt $((96 << 20)) || return
	kube -n $AGENT_NS delete pod "$old" --wait=false >"$work/out" 2>&1 ||
		{ why="the agent's pod is not deleted: $(tail -n 1 "$work/out")"; return 1; }
	agent_again || return
	grows restart 120 || return
	why="96 -> ${pod[restart.memory_mb]} MiB, the agent's pod is $agent_pod"
}

# agent_again: the DaemonSet has made another one
agent_again()
{
	local start=$SECONDS text name at ready

	while [ $((SECONDS - start)) -lt 180 ]; do
		text=$(kube -n $AGENT_NS get pods -l app.kubernetes.io/name=vscaled --field-selector "spec.nodeName=$node" \
			-o "jsonpath={range .items[*]}{.metadata.name} {.metadata.deletionTimestamp}{.status.conditions[?(@.type==\"Ready\")].status}{\"\n\"}{end}")
		while read -r name ready; do
			[ "$ready" != True ] || { agent_pod=$name && return; }
		done <<<"$text"
		read -r -t 1 -u "$never" || true
	done
	why="not within 180 s: another pod of the agent is ready"
	return 1
}

# The run

json_text()
{
	local text=${1//\\/\\\\}

	text=${text//\"/\\\"}
	text=${text//$'\n'/\\n}
	printf '"%s"' "${text//[$'\x01'-$'\x1f']/ }"
}

# run NAME: one scenario, its line, its pods gone
run()
{
	local start why='' result='' pods=() name seconds

	start=$(now_ms)
	if "scenario_$1"; then
		result=PASS
	else
		: "${result:=FAIL}"
	fi
	seconds=$((($(now_ms) - start + 50) / 100))
	seconds=$((seconds / 10)).$((seconds % 10))
	results+=("{\"name\":\"$1\",\"result\":\"$result\",\"seconds\":$seconds,\"text\":$(json_text "$why")}")
	note "$(printf '%s %-11s %7s s  %s' "$result" "$1" "$seconds" "$why")"
	if [ $result = FAIL ]; then
		failed=$((failed + 1))
		for name in ${pods[@]+"${pods[@]}"}; do
			state "$name" >&2
		done
	fi
	pods_end
}

print_json()
{
	local IFS=$'\n'

	echo "["
	printf '%s\n' "${results[*]}" | sed '$!s/$/,/'
	echo "]"
}

[ "${BASH_VERSINFO[0]}" -ge 5 ] || die "needs bash 5"
declare -A agents=()
spaces=() failed=0 minor=0
options "$@"
preflight
: "${ns:=vscaled-e2e-$((RANDOM % 9000 + 1000))}"
work=$(mktemp -d)
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
namespace_make "$ns" || die "namespace $ns is not made: $(tail -n 1 "$work/out")"
: >"$work/pods"
exec {in}<"$work/pods"
fd[pods]=$in
watch_start
for name in "${names[@]}"; do
	run "$name"
done
[ -z "$json" ] || print_json
note "$((${#results[@]} - failed)) passed or skipped, $failed failed"
[ $failed = 0 ]

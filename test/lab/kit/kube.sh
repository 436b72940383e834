# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For scenarios with Kubernetes: after lib.sh, `. /opt/lab/kube.sh`. A test API server, a stand-in
# for the kubelet with real containers, and the agent as its DaemonSet says.
# A kubectl costs 3 to 4 s in the machine: pods are made and asked for by a process that stays
# (kube_query.py), and the real kubectl is for what is to be shown with it.
# shellcheck disable=SC2034,SC2154  # for the scenarios; set by lib.sh

KUBE=/run/kube-lab # the API server's folder
KUBE_PORT=6443
KUBE_DEBUG_PORT=6444
KUBE_NS=lab        # namespace of the scenario's pods
KUBE_DRIVER=${param[driver]:-systemd} # or cgroupfs
KUBE_CONTROL=/run/kubelet
AGENT_NS=vscaled
export KUBECONFIG=$KUBE/admin.kubeconfig

# kube_unit NAME MODULE [ARG]...: one of our Python programs as a service, its output in the journal
kube_unit()
{
	local name=$1 module=$2

	shift 2
	systemd-run --quiet --collect --unit="$name" -p Environment=PYTHONPATH=/opt/lab/kube \
		-p Environment=PYTHONUNBUFFERED=1 -p Delegate=yes -p RuntimeDirectoryPreserve=yes \
		-- python3 -m "$module" "$@"
}

# kube_start [KUBELET OPTION]...: server, node-1, namespace lab.
# Useful options: --lag SECONDS, --backoff SECONDS, --runtime crun. KUBE_VERSION=1.33: both are of that version.
kube_start()
{
	mkdir -p "$KUBE" "$KUBE_CONTROL"
	systemctl start --no-block containerd.service
	apiserver_start
	mountpoint -q /opt/lab/images/vscaled || mount --bind / /opt/lab/images/vscaled
	wait_until 180 systemctl is-active -q containerd.service || return
	kubelet_start "$@"
	wait_until 180 kube_answers || return
	kube_node_rights
	kube_namespace "$KUBE_NS"
	wait_until 180 kube_node_ready
}

# apiserver_start: without state of an earlier one
apiserver_start()
{
	kube_unit lab-apiserver apiserver --port $KUBE_PORT --data-dir "$KUBE" \
		--admin-port $KUBE_DEBUG_PORT --bare --logs /var/log/pods --version "${KUBE_VERSION:-1.36}"
	wait_until 180 test -s "$KUBE/node.token"
}

# apiserver_freeze, apiserver_thaw: it does not answer, and then goes on with all it knew
apiserver_freeze()
{
	systemctl freeze lab-apiserver.service
}

apiserver_thaw()
{
	systemctl thaw lab-apiserver.service
}

# kube_debug METHOD PATH [BODY]: its other door, /debug/faults and more (test/kube/apiserver)
kube_debug()
{
	curl -sS --fail-with-body -X "$1" ${3:+-d "$3"} "http://127.0.0.1:$KUBE_DEBUG_PORT$2"
}

# kubelet_start [OPTION]...
kubelet_start()
{
	kube_unit lab-kubelet kubelet --kubeconfig "$KUBE/node.kubeconfig" --images /opt/lab/images \
		--driver "$KUBE_DRIVER" --control "$KUBE_CONTROL" \
		--version "${KUBE_VERSION:-1.36}" "$@"
}

# kubelet_second: node-2 on the same machine, with pods of its own; containerd and cgroup tree are node-1's
kubelet_second()
{
	mkdir -p "$KUBE_CONTROL-2"
	kube_unit lab-kubelet-2 kubelet --kubeconfig "$KUBE/admin.kubeconfig" --images /opt/lab/images --node node-2 \
		--driver "$KUBE_DRIVER" --control "$KUBE_CONTROL-2" --root /var/lib/kubelet-2 \
		--version "${KUBE_VERSION:-1.36}"
	wait_until 180 kube_query ask /api/v1/nodes/node-2 cond.Ready
}

# kubelet_control WHAT [POD [WORDS]]: defer, infeasible, error, unready, lag; without POD: no more
kubelet_control()
{
	if [ $# -gt 1 ]; then
		echo "${*:2}" >"$KUBE_CONTROL/$1"
	else
		rm -f "$KUBE_CONTROL/$1"
	fi
}

# kube_query FIELD...: see kube_query.py; the text is in $kube_text. Background jobs may ask, too: who has
# the one byte in the pipe kube_turn has its turn. Without turns they read parts of each other's answers.
kube_query()
{
	local rc turn

	if [ -z "${kube_in:-}" ]; then
		coproc KUBE_QUERY { PYTHONPATH=/opt/lab/kube exec python3 /opt/lab/kube_query.py "$KUBECONFIG"; }
		exec {kube_in}>&"${KUBE_QUERY[1]}" {kube_out}<&"${KUBE_QUERY[0]}" {kube_turn}<> <(:)
		printf . >&"$kube_turn"
	fi
	printf -v rc '%s\x1f' "${@//$'\n'/ }"
	# A job that was killed in its turn does not give it back.
	read -r -N 1 -t 60 -u "$kube_turn" turn ||
		say "kube_query: no turn for 60 s" >&2
	printf '%s\n' "${rc%$'\x1f'}" >&"$kube_in"
	read -r rc kube_text <&"$kube_out"
	printf . >&"$kube_turn"
	return "$rc"
}

# kapi METHOD PATH [BODY [CONTENT-TYPE]]: one request as admin; the answer on stdout
kapi()
{
	local rc=0

	kube_query api "$@" || rc=$?
	echo "$kube_text"
	return $rc
}

kube_answers()
{
	kapi GET /version >/dev/null
}

kube_node_ready()
{
	kube_query ask /api/v1/nodes/node-1 cond.Ready
}

# What the node authorizer allows a kubelet for its own pods, and the test server does not know.
kube_node_rights()
{
	local rbac=/apis/rbac.authorization.k8s.io

	kapi POST $rbac/v1/clusterroles '{"metadata":{"name":"lab-node"},"rules":[
		{"apiGroups":[""],"resources":["configmaps"],"verbs":["get"]},
		{"apiGroups":[""],"resources":["serviceaccounts/token"],"verbs":["create"]}]}' >/dev/null
	kapi POST $rbac/v1/clusterrolebindings '{"metadata":{"name":"lab-node"},
		"roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"ClusterRole","name":"lab-node"},
		"subjects":[{"apiGroup":"rbac.authorization.k8s.io","kind":"User","name":"system:node:node-1"}]}' \
		>/dev/null
}

kube_namespace()
{
	kapi POST /api/v1/namespaces \
		"{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"$1\"}}" >/dev/null
	kapi POST "/api/v1/namespaces/$1/serviceaccounts" \
		'{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"default"}}' >/dev/null
}

# pod_side TEXT: "REQUEST/LIMIT" to two words, empty where there is none
pod_side()
{
	local request=${1%%/*} limit=

	[[ $1 != */* ]] || limit=${1#*/}
	[ "$request" != - ] || request=
	echo "$request|$limit"
}

# pod_list KEY CPU MEMORY: "KEY":{...} of resources
pod_list()
{
	local cpu=${2:+\"cpu\":\"$2\"} memory=${3:+\"memory\":\"$3\"}

	echo "\"$1\":{$cpu${cpu:+${memory:+,}}$memory}"
}

# pod_container "NAME CPU MEMORY PROGRAM [ARG]...": its JSON. CPU and MEMORY: REQUEST/LIMIT, either
# may be missing, - is none. The program is one of the image lab: burn, grow, hold.
pod_container()
{
	local name cpu memory words word command=

	read -r name cpu memory words <<<"$1"
	for word in $words; do
		command+="${command:+,}\"$word\""
	done
	cpu=$(pod_side "$cpu")
	memory=$(pod_side "$memory")
	echo "{\"name\":\"${name#*:}\",\"image\":\"docker.io/library/lab:1\",\"imagePullPolicy\":\"Never\"," \
		"\"command\":[${command/\"/\"/bin/}],\"resources\":{" \
		"$(pod_list requests "${cpu%|*}" "${memory%|*}")," \
		"$(pod_list limits "${cpu#*|}" "${memory#*|}")}" \
		"$([[ $name != sidecar:* ]] || echo ',"restartPolicy":"Always"')}"
}

# pod_json NAME [KEY=VALUE]... CONTAINER...: a pod of node-1 with these annotations. CONTAINER as in
# pod_container; a name with init: or sidecar: before it is an init container or a sidecar.
# POD_SPEC='"restartPolicy":"Never",...' adds to the spec.
pod_json()
{
	local name=$1 annotations='' apps='' inits='' one

	shift
	while [[ ${1:-} == *=* && ${1%%=*} != *' '* ]]; do
		annotations+="${annotations:+,}\"${1%%=*}\":\"${1#*=}\""
		shift
	done
	for one in "$@"; do
		if [[ $one == *:* && ${one%% *} == *:* ]]; then
			inits+="${inits:+,}$(pod_container "$one")"
		else
			apps+="${apps:+,}$(pod_container "$one")"
		fi
	done
	echo "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"$name\"," \
		"\"namespace\":\"$KUBE_NS\",\"annotations\":{$annotations}},\"spec\":{" \
		"\"nodeName\":\"node-1\",\"automountServiceAccountToken\":false," \
		"\"terminationGracePeriodSeconds\":1,${POD_SPEC:+$POD_SPEC,}" \
		"\"initContainers\":[$inits],\"containers\":[$apps]}}"
}

# pod_make: as pod_json, made on the server
pod_make()
{
	kapi POST "/api/v1/namespaces/$KUBE_NS/pods" "$(pod_json "$@")" >/dev/null
}

# pod_owned WORKLOAD HASH: a pod's JSON with the labels and the owner that a Deployment's controller sets
pod_owned()
{
	jq -c --arg name "$1" --arg hash "$2" '.metadata += {
		labels: {app: $name, "pod-template-hash": $hash},
		ownerReferences: [{apiVersion: "apps/v1", kind: "ReplicaSet", name: ($name + "-" + $hash),
			uid: "5f0c9d3e-0000-4000-8000-000000000001", controller: true}]}'
}

# pod_create: the pod whose JSON is on stdin
pod_create()
{
	kapi POST "/api/v1/namespaces/$KUBE_NS/pods" "$(cat)" >/dev/null
}

pod_delete()
{
	kapi DELETE "/api/v1/namespaces/$KUBE_NS/pods/$1" >/dev/null
}

# pod_get NAME EXPRESSION: its value (kube_query.py says what there is: p, status, c, cond ...)
pod_get()
{
	kube_query ask "/api/v1/namespaces/$KUBE_NS/pods/$1" "$2" || true
	echo "$kube_text"
}

# pod_is NAME EXPRESSION: is it true?
pod_is()
{
	kube_query ask "/api/v1/namespaces/$KUBE_NS/pods/$1" "$2"
}

# pod_wait SECONDS NAME EXPRESSION
pod_wait()
{
	wait_until "$1" pod_is "$2" "$3"
}

# pod_running NAME: all of it is ready, within two minutes of the machine's time
pod_running()
{
	pod_wait 120 "$1" 'status.phase == "Running" and cond.Ready.status == "True"'
}

pod_gone()
{
	! kapi GET "/api/v1/namespaces/$KUBE_NS/pods/$1" >/dev/null
}

# pod_patch NAME BODY [SUBRESOURCE]: a strategic merge patch, as kubectl's
pod_patch()
{
	kapi PATCH "/api/v1/namespaces/$KUBE_NS/pods/$1${3:+/$3}" "$2" \
		application/strategic-merge-patch+json
}

# pod_resize NAME CONTAINER RESOURCES: RESOURCES as JSON, {"limits":{"cpu":"1"}}
pod_resize()
{
	pod_patch "$1" "{\"spec\":{\"containers\":[{\"name\":\"$2\",\"resources\":$3}]}}" resize >/dev/null
}

# pod_annotate NAME KEY VALUE: VALUE is JSON, null removes
pod_annotate()
{
	kapi PATCH "/api/v1/namespaces/$KUBE_NS/pods/$1" "{\"metadata\":{\"annotations\":{\"$2\":$3}}}" \
		application/merge-patch+json >/dev/null
}

# pod_cgroup NAME [CONTAINER]: its folder, of the pod or of one container
pod_cgroup()
{
	local uid qos id level=

	kube_query ask "/api/v1/namespaces/$KUBE_NS/pods/$1" \
		"f'{meta.uid} {status.qosClass} {(c[\"${2:-}\"].containerID or \"/\").split(\"/\")[-1]}'" || return
	read -r uid qos id <<<"$kube_text"
	[ "$qos" = Guaranteed ] || level=${qos,,}
	if [ "$KUBE_DRIVER" = cgroupfs ]; then
		echo "$CG/kubepods/${level:+$level/}pod$uid${2:+/$id}"
	else
		echo "$CG/kubepods.slice/${level:+kubepods-$level.slice/}kubepods-${level:+$level-}pod${uid//-/_}.slice${2:+/cri-containerd-$id.scope}"
	fi
}

# agent_deploy [CONFIG FILE]: the manifests of agent/deploy/overlays/auto, then the pod that the
# DaemonSet's controller would make, until it is ready. The file replaces vscaled.yaml.
# AGENT_OVERLAY names another overlay; AGENT_ENV adds JSON {"name":..,"value":..},... to its env.
agent_deploy()
{
	kubectl apply -k "/opt/lab/deploy/overlays/${AGENT_OVERLAY:-auto}" || return
	if [ $# -gt 0 ]; then
		kapi PATCH "/api/v1/namespaces/$AGENT_NS/configmaps/vscaled" \
			"$(jq -Rs '{data: {"vscaled.yaml": .}}' "$1")" application/merge-patch+json \
			>/dev/null || return
	fi
	agent_pod
}

# agent_pod: the DaemonSet's pod for node-1
agent_pod()
{
	local template pod

	kube_query ask "/apis/apps/v1/namespaces/$AGENT_NS/daemonsets/vscaled" spec.template || return
	template=$kube_text
	pod=$(jq -c --argjson env "[${AGENT_ENV:-}]" '{apiVersion: "v1", kind: "Pod",
		metadata: (.metadata + {name: "vscaled-node1", namespace: "'$AGENT_NS'"}),
		spec: (.spec + {nodeName: "node-1"} | .containers[0].env += $env)}' <<<"$template") || return
	kapi POST "/api/v1/namespaces/$AGENT_NS/pods" "$pod" >/dev/null || return
	KUBE_NS=$AGENT_NS pod_running vscaled-node1 && wait_until 30 agent_ready
}

# agent_second: the DaemonSet's pod for node-2. A node of its own would give it folders and a port.
agent_second()
{
	local pod

	kube_query ask "/api/v1/namespaces/$AGENT_NS/configmaps/vscaled" p.data || return
	pod=$(jq -c '{metadata: {name: "vscaled-2"}, data: map_values(sub(":9753"; ":9754"))}' <<<"$kube_text")
	kapi POST "/api/v1/namespaces/$AGENT_NS/configmaps" "$pod" >/dev/null || return
	kube_query ask "/apis/apps/v1/namespaces/$AGENT_NS/daemonsets/vscaled" spec.template || return
	pod=$(jq -c '{apiVersion: "v1", kind: "Pod",
		metadata: (.metadata + {name: "vscaled-node2", namespace: "'$AGENT_NS'"}),
		spec: (.spec + {nodeName: "node-2"} | .volumes |= map(
			if .hostPath.path // "" | endswith("/vscaled") then .hostPath.path += "-2" else . end |
			if .configMap then .configMap.name = "vscaled-2" else . end))}' <<<"$kube_text") || return
	kapi POST "/api/v1/namespaces/$AGENT_NS/pods" "$pod" >/dev/null || return
	KUBE_NS=$AGENT_NS pod_running vscaled-node2 && wait_until 30 curl -sf http://127.0.0.1:9754/readyz
}

# daemonset_status: as its controller writes it
daemonset_status()
{
	kapi PATCH "/apis/apps/v1/namespaces/$AGENT_NS/daemonsets/vscaled/status" \
		'{"status":{"desiredNumberScheduled":1,"numberReady":1}}' application/merge-patch+json >/dev/null
}

# keepers_end PID...: of functions that stand for controllers. A job that is killed may have its turn
# (kube_query).
keepers_end()
{
	touch /run/keepers.end
	wait "$@"
}

keeps()
{
	pause 1 && [ ! -e /run/keepers.end ]
}

# daemonset_keep: what its controller does, until keepers_end: its status, and a pod for one that went
daemonset_keep()
{
	daemonset_status
	while keeps; do
		KUBE_NS=$AGENT_NS pod_gone vscaled-node1 && agent_pod
	done
}

# quota_keep: what its controller does for a quota in a namespace without pods, until keepers_end
quota_keep()
{
	local path body

	while keeps; do
		kapi GET /api/v1/resourcequotas >/run/quotas || continue
		jq -r '.items[] | select(.metadata.name == "e2e" and .status.hard == null) |
			"/api/v1/namespaces/\(.metadata.namespace)/resourcequotas/e2e/status " +
			({status: {hard: .spec.hard, used: (.spec.hard | map_values("0"))}} | tojson)' /run/quotas |
			while read -r path body; do
				kapi PATCH "$path" "$body" application/merge-patch+json >/dev/null
			done
	done
}

# agent_asan: as agent_pod's environment for an agent built with sanitizers
agent_asan()
{
	AGENT_ENV='{"name":"ASAN_OPTIONS","value":"detect_leaks=1:exitcode=99"}'
	AGENT_ENV+=',{"name":"UBSAN_OPTIONS","value":"print_stacktrace=1"}'
}

# agent_pod_delete: as a roll-out ends it
agent_pod_delete()
{
	KUBE_NS=$AGENT_NS pod_delete vscaled-node1 &&
		KUBE_NS=$AGENT_NS wait_until 60 pod_gone vscaled-node1
}

# agent_pod_log: what it wrote to stderr, sanitizers' complaints too
agent_pod_log()
{
	cat /var/log/pods/vscaled-node1/vscaled.log
}

# kube_logs: for the end of a scenario that failed
kube_logs()
{
	journalctl -q --no-pager -o short-monotonic >/lab/out/journal
	cp -r /var/log/pods /lab/out/ 2>/dev/null
	kapi GET /api/v1/pods >/lab/out/pods.json 2>/dev/null
	kube_debug GET /debug/log >/lab/out/requests.json 2>/dev/null
}

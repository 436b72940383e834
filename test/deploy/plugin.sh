#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kubectl-vscaled against a kubectl that plays a cluster of two nodes and notes what it was asked.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
plugin=$here/../../agent/ctl/kubectl-vscaled
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

cat >"$work/kubectl" <<'PLAY'
#!/bin/bash
echo "$*" >>"$LOG"
unit() { echo "{\"name\":\"$1/$2/app\",\"namespace\":\"$1\",\"state\":\"managed\"}"; }
case "$*" in
*"get pods -n vscaled"*"spec.nodeName=n2"*) echo "agent-2 n2" ;;
*"get pods -n vscaled"*"spec.nodeName=n3"*) ;;
*"get pods -n vscaled"*"image}"*) printf 'v:1\nv:2\nv:2\n' ;;
*"get pods -n vscaled"*) printf 'agent-1 n1\nagent-2 n2\n' ;;
*"get pod -n shop web-0 -o jsonpath={.spec.containers[0].name}") echo app ;;
*"get pod -n shop web-0 "*) echo n2 ;;
*"get pod -n shop lonely "*) echo n3 ;;
*"get pod -n shop new "*) ;;
"get pods -A -o jsonpath="*)
	printf 'pod\tshop/a-0\tRunning\t\n\tapp\t1\t64Mi\t\t\n'
	printf 'pod\tshop/web-0\t%s\t%s\n' "${PHASE:-Running}" "${STATUS:-}"
	printf '\tapp\t%b\n\tmemory\t\t128Mi\t\t64Mi\n' "${APP:-200m\t67108864\t.1\t32Mi}"
	exit "${DENIED:-0}"
	;;
"get clusterroles -l app.kubernetes.io/name=vscaled -o name")
	[ -z "${ROLE:-}" ] || echo "$ROLE"
	[ -z "${NO_ROLES:-}" ] || { echo "Error from server (Forbidden)" >&2; exit 1; }
	;;
"get securitycontextconstraints "* | "get validatingadmissionpol"*)
	echo "error: the server doesn't have a resource type" >&2
	exit 1
	;;
"get clusterrolebindings -l "* | "get namespaces -l "*) ;;
*"get pod "*) echo "not found" >&2; exit 1 ;;
*"config view"*) echo shop ;;
*"get --raw /api/v1/namespaces/vscaled/pods/agent-1:9753/proxy/v1/report") echo "${ANSWER1:-{\"report\":1\}}" ;;
*"get --raw /api/v1/namespaces/vscaled/pods/agent-2:9753/proxy/v1/report")
	[ -z "${GONE2:-}" ] || { echo "no route to host" >&2; exit 1; }
	[ -z "${DAMAGED2:-}" ] || { printf '{"version":1,\n{}\n#\0\n' && exit; }
	echo '{"report":2}'
	;;
*"get --raw /api/v1/namespaces/vscaled/pods/agent-1:9753/proxy/v1/units") echo "{\"units\":[$(unit shop a-0)]}" ;;
*"get --raw /api/v1/namespaces/vscaled/pods/agent-2:9753/proxy/v1/units")
	[ -z "${GONE2:-}" ] || { echo "no route to host" >&2; exit 1; }
	echo "{\"units\":[$(unit shop web-0),$(unit infra log-0)]}"
	;;
*"get deploy/web -n shop -o go-template="*) echo "app=web," ;;
"get pods -n shop -l app=web -o "*) printf 'Pending shop/web-9\nRunning shop/web-0\n' ;;
"get pods -A -l app=none -o "*) ;;
"get namespaces -o "*) printf 'shop\ninfra\n' ;;
*"exec -i -n vscaled agent-1 -c vscaled -- vscalectl report - "*) cat ;;
*"exec -n vscaled agent-1 "*) printf 'NAME\nshop/a-0/app\n'; exit "${EXIT1:-0}" ;;
*"exec -n vscaled agent-2 "* | *"exec -it -n vscaled agent-2 "*) printf 'NAME\nshop/web-0/app\n' ;;
*) echo "unexpected: $*" >&2; exit 1 ;;
esac
PLAY
chmod +x "$work/kubectl"
export LOG=$work/log PATH=$work:$PATH

# try TEXT STATUS OUTPUT ARG...: exit status and the whole of stdout
try()
{
	local text=$1 status=$2 wanted=$3 got out

	shift 3
	: >"$LOG"
	out=$("$plugin" "$@" 2>"$work/err") && got=0 || got=$?
	[ "$got" = "$status" ] && [ "$out" = "$wanted" ] && return
	failed=1
	printf 'FAILED: %s: exit %s, output:\n%s\n%s\n' "$text" "$got" "$out" "$(<"$work/err")"
}

# asked TEXT ARGS: kubectl was called so
asked()
{
	grep -qxF -- "$2" "$LOG" && return
	failed=1
	printf 'FAILED: %s: kubectl was asked\n%s\n' "$1" "$(<"$LOG")"
}

# complains TEXT PATTERN: the complaint
complains()
{
	grep -q -- "$2" "$work/err" && return
	failed=1
	printf 'FAILED: %s: %s\n' "$1" "$(<"$work/err")"
}

try "status names the nodes" 0 $'== n1\nNAME\nshop/a-0/app\n== n2\nNAME\nshop/web-0/app' status
try "explain goes to the pod's node" 0 $'NAME\nshop/web-0/app' explain web-0/app
asked "with the whole name" "exec -n vscaled agent-2 -c vscaled -- vscalectl explain shop/web-0/app"
try "history goes there, too" 0 $'NAME\nshop/web-0/app' history web-0/app -o html
asked "with the format" "exec -n vscaled agent-2 -c vscaled -- vscalectl history shop/web-0/app -o html"
try "record dump" 0 $'NAME\nshop/web-0/app' record dump web-0/app -o csv
asked "of the container" "exec -n vscaled agent-2 -c vscaled -- vscalectl record dump shop/web-0/app -o csv"
try "record replay" 0 $'NAME\nshop/web-0/app' record replay web-0/app
asked "in its agent" "exec -n vscaled agent-2 -c vscaled -- vscalectl record replay shop/web-0/app"
try "top of a node" 0 $'NAME\nshop/web-0/app' top --node n2
asked "without a terminal" "exec -n vscaled agent-2 -c vscaled -- vscalectl top"
: >"$LOG"
script -qec "$plugin top --node n2" /dev/null </dev/null >/dev/null
asked "on a terminal" "exec -it -n vscaled agent-2 -c vscaled -- vscalectl top"
try "top of many nodes" 2 "" top
complains "says so" "top needs --node"
try "record without what" 2 "" record
try "record with something else" 2 "" record play web-0/app
try "a name with its namespace" 0 $'NAME\nshop/web-0/app' explain shop/web-0/app -n other
try "restore --force" 0 $'NAME\nshop/web-0/app' restore web-0/app --force
asked "with --force" "exec -n vscaled agent-2 -c vscaled -- vscalectl restore shop/web-0/app --force"
try "context and kubeconfig" 0 $'NAME\nshop/web-0/app' --context c --kubeconfig=/k explain web-0/app
asked "reach kubectl" "--context c --kubeconfig /k get pod -n shop web-0 -o jsonpath={.spec.nodeName}"
try "no such pod" 1 "" explain gone/app
complains "says so" "no pod gone in namespace shop"
try "a pod without a node" 1 "" explain new/app
complains "says so" "has no node yet"
try "a node without an agent" 1 "" explain lonely/app
complains "says so" "no agent runs in namespace vscaled on node n3"
try "explain without a container" 0 $'NAME\nshop/web-0/app' explain web-0
asked "takes the first" "exec -n vscaled agent-2 -c vscaled -- vscalectl explain shop/web-0/app"
try "explain of a Deployment" 0 $'NAME\nshop/web-0/app' explain deploy/web
asked "takes a pod that runs" "exec -n vscaled agent-2 -c vscaled -- vscalectl explain shop/web-0/app"
try "list on a node without an agent" 1 "" list --node n3
try "no pod is selected" 1 "" list -A -l app=none
complains "says so" "no pod is selected"
try "version" 0 $'agents: 1 of v:1\nagents: 2 of v:2' version
try "completion of a command" 0 $'report\nrecord\nresume\nrestore\n:4' __complete re
try "completion of a namespace" 0 $'shop\n:4' __complete list -n s
both=$'# node n1, pod agent-1\n{"report":1} \n# node n2, pod agent-2\n{"report":2} '
# On this machine there is no vscalectl in the PATH: an agent's is used.
try "report asks every node" 0 "$both" report -A -o csv
asked "and hands the format on" "exec -i -n vscaled agent-1 -c vscaled -- vscalectl report - -o csv"
try "report of the context's namespace" 0 "$both" report
asked "by its name" "exec -i -n vscaled agent-1 -c vscaled -- vscalectl report - -n shop"
GONE2=1 try "a node that does not answer" 1 $'# node n1, pod agent-1\n{"report":1} ' report -A -o json
complains "is named" "no report of node n2: no route to host"
printf '#!/bin/sh\necho "local $*"; cat\n' >"$work/vscalectl"
chmod +x "$work/vscalectl"
try "the local vscalectl" 0 $'local report - -n infra -o wide\n'"$both" report -n infra -o wide
ctl=$(find "$1" -name vscalectl -type f -perm -u+x | head -n 1)
cp "$ctl" "$work/vscalectl"
head="NODE  NAME            MODE  CPU use/limit  MEMORY use/limit  ORIGINAL  LAST CHANGE  STATE"
row="  -     - / -          - / -             -, -      -            managed"
try "list is one table with nodes" 0 "$head"$'\n'"n1    shop/a-0/app  $row"$'\n'"n2    shop/web-0/app$row" list
# listed ARG...: node and name of what the JSON has
listed()
{
	"$plugin" list -o json "$@" | python3 -c 'import json, sys; print(json.dumps([[u["node"], u["name"]] for u in json.load(sys.stdin)["units"]]))'
}
same()
{
	[ "$2" = "$3" ] && return
	failed=1
	printf 'FAILED: %s:\n%s\n' "$1" "$2"
}
same "list of labels" "$(listed -n shop -l app=web)" '[["n2", "shop/web-0/app"]]'
same "list of a Deployment" "$(listed -n shop deploy/web)" '[["n2", "shop/web-0/app"]]'
same "list of a pod" "$(listed -n shop a-0)" '[["n1", "shop/a-0/app"]]'
same "list as JSON is one document" "$(listed -A)" \
	'[["n1", "shop/a-0/app"], ["n2", "shop/web-0/app"], ["n2", "infra/log-0/app"]]'
same "list as YAML is one document" "$("$plugin" list -A -o yaml | grep -c -e '^units:' -e 'node: n[12]$')" 4
same "a failure on one node does not hide the other" "$(GONE2=1 listed -A 2>"$work/err")" '[["n1", "shop/a-0/app"]]'
complains "it is named" "no list of node n2: no route to host"
DAMAGED2=1 ANSWER1='{"version":1,"node":"n1","containers":[{"namespace":"shop","workload":"web"}]}' \
	try "a damaged answer costs its node alone" 1 "$("$work/vscalectl" report - -o csv <<<'
{"version":1,"node":"n1","containers":[{"namespace":"shop","workload":"web"}]}')" report -A -o csv
complains "it is named" "no report of node n2, pod agent-2: not JSON"
complains "and counted" "partial: 1 of 2 answers"
try "report of a node without an agent" 1 "" report --node n3
try "nothing is left" 0 "nothing of vscaled is left in the cluster" leftovers
role=clusterrole.rbac.authorization.k8s.io/vscaled-evict
STATUS='{"mode":"Auto", "containers":{}}' ROLE=$role try "an annotation and a role are left" 1 \
	"pod shop/web-0: annotation vscaled.dev/status"$'\n'"$role" leftovers
complains "says what to do about the annotation" "kubectl annotate pod -n NAMESPACE POD vscaled.dev/status-"
complains "and about the role" "kubectl delete $role"
ROLE=$role try "a role is left" 1 "$role" leftovers
# A container may have the name of a resource, and a reason any text.
originals='{"cpu":{"original":"200m","limit":"700m"},"memory":{"original":"64Mi","limit":"300Mi"}}'
other='{"memory":{"original":"128Mi","limit":"128Mi","originalRequest":"64Mi"}}'
status="{\"refused\":\"{\\\"containers\\\":{\",\"containers\":{\"memory\":$other,\"app\":$originals}}"
STATUS=$status try "originals in another spelling" 1 "pod shop/web-0: annotation vscaled.dev/status" leftovers
STATUS=$status APP='0.7\t300Mi\t\t' try "limits that are not the originals" 1 \
	$'pod shop/web-0: app cpu limit 0.7, original 200m\npod shop/web-0: app memory limit 300Mi, original 64Mi' \
	leftovers
complains "says what to do about them" "as soon as use allows"
STATUS=${status/Request\":\"64Mi/Request\":\"32Mi} try "a request that is not" 1 \
	"pod shop/web-0: memory memory request 64Mi, original 32Mi" leftovers
STATUS=$status APP='0.7\t300Mi\t\t' PHASE=Succeeded try "the limits of an ended pod do not count" 1 \
	"pod shop/web-0: annotation vscaled.dev/status" leftovers
STATUS='{"containers":' try "what cannot be read" 1 "pod shop/web-0: annotation vscaled.dev/status" leftovers
DENIED=1 try "pods that cannot be listed are not none" 1 "" leftovers
complains "says so" "the pods could not be listed"
NO_ROLES=1 try "nor are roles" 1 "" leftovers
complains "says so" "the clusterroles could not be listed"
try "no command" 2 ""
try "an unknown command" 2 "" frobnicate
complains "says so" "unknown command frobnicate"
try "an unknown option" 2 "" list --frob
try "explain without a pod" 2 "" explain
try "help" 0 "$("$plugin" --help)" --help

# As krew installs it.
mkdir "$work/krew" "$work/krew/bin"
"$here/../../agent/deploy/krew.sh" "$work/krew" https://example.org/files
archive=$(sed -n 's|^      uri: https://example.org/files/||p' "$work/krew/vscaled.yaml")
sum=$(sed -n 's/^      sha256: //p' "$work/krew/vscaled.yaml")
sha256sum --quiet -c <<<"$sum  $work/krew/$archive" || failed=1
tar -C "$work/krew/bin" -xf "$work/krew/$archive"
[ "$(ls "$work/krew/bin")" = $'LICENSE\nkubectl-vscaled\nkubectl_complete-vscaled' ] || { failed=1 && echo "FAILED: files for krew"; }
plugin=$work/krew/bin/kubectl-vscaled
try "status as krew has it" 0 $'== n2\nNAME\nshop/web-0/app' status --node n2
exit $failed

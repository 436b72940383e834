#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# manifests.sh BUILD: the manifests as the API server would see them. Exit 77 = skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
deploy=$(cd "$here/../../agent/deploy" && pwd)
build=$1
# shellcheck source=test/deploy/lib.sh
. "$here/lib.sh"

kubectl=$(kubectl_path) || skip "no kubectl of 1.27 or later"
command -v npm >/dev/null || skip "no npm"
modules=$build/test/deploy/modules
mkdir -p "$modules"
cp "$here/package.json" "$here"/{manifests,policy}.mjs "$modules/"
(cd "$modules" && npm install --silent --no-audit --no-fund --ignore-scripts --no-package-lock) ||
	skip "the schemas could not be fetched"

# Components that no overlay has, and one that comes with another.
declare -A more=([monitoring]=network-policy)
for component in import-vpa monitoring namespaces; do
	folder=$modules/auto-$component
	relative=$(realpath -m --relative-to "$folder" "$deploy")
	mkdir -p "$folder"
	cat >"$folder/kustomization.yaml" <<-E
		resources: [$relative/overlays/auto]
		components: [$relative/components/$component${more[$component]:+, $relative/components/${more[$component]}}]
	E
done

failed=0
for overlay in auto auto-bpf auto-cgroupfs auto-evict auto-import-vpa auto-monitoring auto-namespaces auto-openshift \
	recommend-only restore restore-cgroupfs; do
	folder=$deploy/overlays/$overlay
	[ -d "$folder" ] || folder=$modules/$overlay
	"$kubectl" kustomize "$folder" >"$modules/$overlay.yaml"
	node "$modules/manifests.mjs" "$modules/$overlay.yaml" $overlay || failed=1
done
# A check that cannot fail is none: each of these must be found.
while IFS=$'\t' read -r overlay edit; do
	sed "$edit" "$modules/$overlay.yaml" >"$modules/planted.yaml"
	cmp -s "$modules/$overlay.yaml" "$modules/planted.yaml" && echo "planted nothing: $edit" && failed=1
	if node "$modules/manifests.mjs" "$modules/planted.yaml" "$overlay" >/dev/null 2>&1; then
		echo "not found: $edit"
		failed=1
	fi
done <<'PLANTED'
auto	s/readOnlyRootFilesystem: true/readOnlyRootFilesystem: "yes"/
auto	s/allowPrivilegeEscalation: false/privileged: true/
auto	s/serviceAccountName: vscaled/hostPID: true/
auto	s/pods: "1000000"/pods: "1"/
auto	s/  - system-node-critical$/  - system-cluster-critical/
auto	s/^\( *\)- arm64$/\1- s390x/
auto	s/cpu: 100m/cpu: 10m/
auto	s/^  - patch$/  - '*'/
auto	s/- pods\/resize/- secrets/
auto-bpf	s/- PERFMON/- SYS_ADMIN/
auto-evict	s/- pods\/eviction/- pods\/\*/
auto-import-vpa	s/  - import$/  - explain/
auto-import-vpa	/- vscalectl$/,/image:/s/image: .*/image: other/
auto-monitoring	s/port: metrics/port: http/
auto-monitoring	s/severity: warning/level: warning/
auto-namespaces	s/- namespaces$/- nodes/
recommend-only	s/readOnly: true/readOnly: false/
recommend-only	s/kind: DaemonSet/kind: DaemonSets/
auto-cgroupfs	s/path: \/run\/vscaled$/path: \/run\/systemd/
auto-openshift	s/type: spc_t/type: container_t/
auto-openshift	s/allowPrivilegedContainer: false/allowPrivilegedContainer: true/
auto-openshift	s/system:serviceaccount:vscaled:vscaled$/system:serviceaccount:vscaled:default/
auto-openshift	s/allowHostPID: false/allowHostPID: "no"/
auto-openshift	s/^- hostPath$/- secret/
restore	s/failurePolicy: Fail/failurePolicy: Ignore/
PLANTED

# The policy's expressions, by a second CEL: what the test API server makes of each planted change.
node "$modules/policy.mjs" "$modules/auto.yaml" "$modules/policy.json"
PYTHONPATH=$here/../kube PYTHONDONTWRITEBYTECODE=1 python3 -m conformance.stolen \
	--cases "$modules/policy.json" >"$modules/cases.json"
node "$modules/policy.mjs" "$modules/policy.json" "$modules/cases.json" compare || failed=1
sed 's/"passes": true/"passes": false/' "$modules/cases.json" >"$modules/planted.json"
if node "$modules/policy.mjs" "$modules/policy.json" "$modules/planted.json" compare >/dev/null; then
	echo "not found: a case in which the two CELs differ"
	failed=1
fi

"$kubectl" kustomize "$deploy/overlays/recommend-only" | cmp - "$deploy/install.yaml" || {
	echo "install.yaml is not what kustomize gives: agent/deploy/install.sh"
	failed=1
}
if command -v yamllint >/dev/null; then
	yamllint -s -c "$here/yamllint.yaml" "$deploy" || failed=1
else
	skip_part "no yamllint"
fi
exit $failed

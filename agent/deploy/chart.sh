#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# chart.sh OUT: a Helm chart in the folder OUT, with the objects of every overlay as kustomize makes
# them. KUBECTL: a kubectl of 1.21 or later.
set -eu
[ $# = 1 ] || { echo "usage: chart.sh OUT" >&2 && exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
kubectl=${KUBECTL:-kubectl}
version=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' "$here/../../CMakeLists.txt")

mkdir -p "$1/overlays" "$1/components"
cp -r "$here/chart/." "$1/"
cat >"$1/Chart.yaml" <<C
apiVersion: v2
name: vscaled
description: Resizes containers while they run, a DaemonSet
type: application
version: $version
appVersion: $version
C
for overlay in "$here"/overlays/*; do
	"$kubectl" kustomize "$overlay" >"$1/overlays/${overlay##*/}.yaml"
done
for component in monitoring namespaces network-policy; do
	"$kubectl" kustomize "$here/components/$component" >"$1/components/$component.yaml"
done

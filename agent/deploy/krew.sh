#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# krew.sh OUT URL: the plugin for krew, in the folder OUT: kubectl-vscaled-VERSION.tar.gz, which will be
# at URL, and its manifest vscaled.yaml.
set -eu
[ $# = 2 ] || { echo "usage: krew.sh OUT URL" >&2 && exit 2; }
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
archive=kubectl-vscaled-$version.tar.gz

tar --mtime="@${SOURCE_DATE_EPOCH:-0}" --owner=0 --group=0 --numeric-owner --mode=0755 \
	-C "$root/agent/ctl" -c kubectl-vscaled kubectl_complete-vscaled -C "$root" LICENSE | gzip -n9 >"$1/$archive"
sum=$(sha256sum "$1/$archive")
cat >"$1/vscaled.yaml" <<K
apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: vscaled
spec:
  version: v$version
  homepage: https://vscaled.dev
  shortDescription: See and steer the vertical scaling of pods
  description: |
    Shows what the agents of vscaled do on every node, explains the limits of a container, and pauses or
    undoes its sizing. vscaled has to be installed in the cluster; the plugin needs the right to exec
    into its pods.
  platforms:
    - selector:
        matchExpressions:
          - {key: os, operator: In, values: [darwin, linux]}
      uri: $2/$archive
      sha256: ${sum%% *}
      bin: kubectl-vscaled
      files:
        - {from: kubectl-vscaled, to: .}
        - {from: kubectl_complete-vscaled, to: .}
        - {from: LICENSE, to: .}
K

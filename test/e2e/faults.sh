#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# faults.sh [NAME...]: for each patch in faults/ (default: all) an agent is built with it, and the
# scenario of test/e2e.sh that the patch names must fail with it in the lab's cluster, in one machine.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
out=$root/build/e2e-faults
src=$out/src
[ $# -gt 0 ] || mapfile -t < <(cd "$here/faults" && printf '%s\n' *.patch) && set -- "$@" "${MAPFILE[@]%.patch}"

rm -rf "$src" "$out/lab"
mkdir -p "$src" "$out/lab"
git -C "$root" archive HEAD | tar -x -C "$src"
cmake -S "$src" --preset dev >/dev/null
cmake --build "$src/build/dev" --target lab_kit vscaled vscalectl >"$out/log"
for fault; do
	patch -s -d "$src" -p1 <"$here/faults/$fault.patch"
	cmake --build "$src/build/dev" --target vscaled >"$out/log"
	cp "$src/build/dev/agent/vscaled" "$out/lab/$fault.agent"
	patch -s -R -d "$src" -p1 <"$here/faults/$fault.patch"
	echo "$fault $(sed -n 's/^scenario: //p' "$here/faults/$fault.patch")" >>"$out/lab/faults"
	echo "built: $fault"
done
cp "$here/faults-run" "$out/lab/run"
exec "$root/test/lab.sh" run "$out/lab" "$out/result" --timeout 3600 --install "${BUILD:-$root/build/release}"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ctest.sh SCENARIO SYSTEMD BUILD_DIR [KERNEL [OPTION...]]: one scenario as a test, OPTIONs are
# lab.sh's. Exit 77 = skipped, with the reason.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
scenario=$1 systemd=$2 build=$3
machine=(--systemd "$systemd" ${4:+--kernel "$4"} "${@:5}")

skip()
{
	echo "SKIP: $1"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
}

if [ "$(id -u)" != 0 ]; then
	command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64, and no root to install it"
	"$here/../lab.sh" status "${machine[@]}" >/dev/null ||
		skip "the machine (${machine[*]}) is not built, and building it needs root"
fi
exec "$here/../lab.sh" run "$scenario" "$build/lab/$(basename "$scenario")-$systemd${4:+-$4}" \
	"${machine[@]}" --install "$build"

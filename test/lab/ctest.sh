#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ctest.sh SCENARIO SYSTEMD BUILD_DIR [KERNEL [OPTION...]]: one scenario as a test, OPTIONs are
# lab.sh's. Exit 77 = skipped, with the reason. VSCALED_RETRY_LATE=1: a run in which nothing failed but
# times (assert_time of kit/lib.sh) is tried once more, and counted in BUILD_DIR/lab/retried.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/lab/common.sh
. "$here/common.sh"
scenario=$1 systemd=$2 build=$3
lab=${VSCALED_LAB_SH:-$here/../lab.sh} # another one in test_retry.sh
machine=(--systemd "$systemd" ${4:+--kernel "$4"} "${@:5}")

skip()
{
	echo "SKIP: $1"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
}

if [ "$(id -u)" != 0 ]; then
	command -v qemu-system-x86_64 >/dev/null || skip "no qemu-system-x86_64, and no root to install it"
	"$lab" status "${machine[@]}" >/dev/null ||
		skip "the machine (${machine[*]}) is not built, and building it needs root"
fi
# Another suite's userland takes what was built in it.
install=$build
if [ "$systemd" != 252 ]; then
	install=$here/../../build/${BUILD[$systemd]} arch=()
	if [[ "${*:5}" == "--arch "* ]]; then
		arch=("${@:5:2}") install=$here/../../build/${SUITE[$systemd]}-$6-release
	fi
	[ -d "$install" ] || skip "$install is not there: test/debian.sh ${arch[*]} ${SUITE[$systemd]} build"
fi
out=$(basename "$scenario")-$systemd${4:+-$4}${8:+-$8} # of an --arch ARCH --flavour NAME
late=75 # LAB_LATE of kit/lib.sh

attempt()
{
	"$lab" run "$scenario" "$build/lab/$out" "${machine[@]}" --install "$install"
}

rc=0
attempt || rc=$?
if [ $rc = $late ] && [ "${VSCALED_RETRY_LATE:-0}" != 0 ]; then
	echo "RETRIED: only times failed"
	mkdir -p "$build/lab"
	echo "$out" >>"$build/lab/retried"
	rc=0
	attempt || rc=$?
fi
exit $rc

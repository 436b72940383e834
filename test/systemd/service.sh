#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# service.sh UNIT: the unit file is valid and its exposure stays small.
set -euo pipefail
unit=$1

command -v systemd-analyze >/dev/null || {
	echo "SKIP: no systemd-analyze (Debian package systemd)"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# verify wants the programs to exist, and they are not installed here.
sed -E 's,^(Exec[A-Za-z]+=-?)/[^ ]*/(vscaled|vscalectl)( |$),\1/bin/true\3,' "$unit" >"$dir/vscaled.service"
grep -q '^ExecStart=/bin/true' "$dir/vscaled.service"
grep -q '^ExecStopPost=-/bin/true lift' "$dir/vscaled.service"
words=$(systemd-analyze verify --man=no "$dir/vscaled.service" 2>&1) || { echo "$words"; exit 1; }
# Unknown settings are only warned about.
[ -z "$words" ] || { echo "$words"; exit 1; }

systemd-analyze security --offline=true --no-pager --threshold=30 "$dir/vscaled.service" | tail -1

# The threshold must be able to fail.
grep -vE '^(Protect|Private|Restrict|Capability|SystemCall|NoNew|Lock|Memory|IPAddr)' "$dir/vscaled.service" >"$dir/open.service"
if systemd-analyze security --offline=true --no-pager --threshold=30 "$dir/open.service" >/dev/null 2>&1; then
	echo "the exposure test passes anything"
	exit 1
fi

if grep -q '^ProtectControlGroups=' "$unit"; then
	echo "ProtectControlGroups= would make the cgroup tree read-only"
	exit 1
fi

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An upgrade keeps the configuration that is installed; a reload checks it first.
# usage: installed.sh BUILD
set -euo pipefail
build=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# holds TEXT COMMAND...
holds()
{
	local text=$1

	shift
	"$@" && return
	failed=1
	echo "FAILED: $text"
}

install_agent()
{
	DESTDIR=$work cmake -P "$build/agent/cmake_install.cmake" >"$work/log" || {
		cat "$work/log"
		exit 1
	}
}

install_agent
file=$(find "$work" -path '*/vscaled/vscaled.yaml' -not -path '*/doc/*')
example=$(find "$work" -path '*/doc/*/vscaled.yaml')
holds "a first installation has a configuration" [ -s "$file" ]
holds "and an example beside the documents" cmp -s "$file" "$example"
echo "# edited" >>"$file"
cp "$file" "$work/edited"
install_agent
holds "an edited configuration stays" cmp -s "$file" "$work/edited"
: >"$file"
install_agent
holds "an empty one too" [ ! -s "$file" ]
rm "$file"
ln -s /nonexistent/vscaled.yaml "$file"
install_agent
holds "and a link to nowhere" [ -L "$file" ]
rm "$file"
install_agent
holds "one that is missing is installed" cmp -s "$file" "$example"
holds "a reload checks the configuration before it signals the daemon" \
	eval "grep ^ExecReload= '$build/systemd/vscaled.service' | head -n 1 | grep -q '/vscalectl config check$'"
# vscalectl starts the program beside it; both see the same command line.
ctl=$(find "$work" -name vscalectl -path '*/bin/*')
words=(--cpus 8 --seed 18446744073709551615 test/agent/backtest/ramp.csv)
want=test/agent/golden/backtest.json
holds "vscalectl starts vscale-backtest" cmp "$want" <("$ctl" backtest "${words[@]}" -o json)
holds "options may stand before the command" cmp "$want" <("$ctl" -o json backtest "${words[@]}")
holds "it can be started without vscalectl" cmp "$want" <("${ctl%/*}/vscale-backtest" "${words[@]}" -o json)
status=0
"$ctl" backtest /nonexistent.csv 2>/dev/null || status=$?
holds "the exit status is handed on" [ $status = 1 ]
rm "${ctl%/*}/vscale-backtest"
holds "without it the error names it" grep -q "vscale-backtest: No such file" \
	<(PATH=/usr/bin:/bin "$ctl" backtest "${words[1]}" 2>&1)
exit $failed

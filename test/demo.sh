#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shows what vscaled does, in one command on a fresh Debian 12: see usage().
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
build=$root/build/demo

usage()
{
	cat <<-E
	usage: sudo test/demo.sh [--native|--lab|--kubernetes|--pictures] [--systemd 252|257]
	Installs missing packages, builds vscaled, starts two units with the wrong limits and shows how
	vscaled moves them; clocks are shortened. Where this host runs systemd on cgroup v2 with the cpu
	and memory controllers it happens here, in units of its own that are removed at the end, otherwise
	in the lab's virtual machine.
	  --native, --lab   here or there, whatever was found
	  --kubernetes      in a cluster of one node instead, in the lab's virtual machine: a pod that is
	                    annotated with kubectl, its limits, and what the API server says of it
	  --pictures        in the lab, and make the pictures of the documents from what it printed
	  --systemd         the lab's systemd
	E
}

# native_missing: the first thing that this host lacks; nothing if it has all
native_missing()
{
	local controllers=' '

	[ ! -r /sys/fs/cgroup/cgroup.controllers ] || controllers=" $(</sys/fs/cgroup/cgroup.controllers) "
	if [ "$(</proc/1/comm)" != systemd ] || ! systemctl show -p Version >/dev/null 2>&1; then
		echo "systemd is not PID 1"
	elif [[ $controllers != *" cpu "* || $controllers != *" memory "* ]]; then
		echo "no cgroup v2 with the cpu and memory controllers at /sys/fs/cgroup"
	fi
}

# build TARGET...
build()
{
	echo "demo: building, log in ${build#"$root"/}.log"
	mkdir -p "$root/build"
	{
		cmake -G Ninja -S "$root" -B "$build" -DCMAKE_BUILD_TYPE=Release &&
			cmake --build "$build" -j "$(nproc)" --target "$@"
	} >"$build.log" 2>&1 || { tail -n 30 "$build.log" && exit 1; }
	rm -rf "$build/stage"
	mkdir -p "$build/stage"
}

# The machine gets all of it installed: its cluster runs it from its own root.
kubernetes()
{
	build vscaled vscalectl vscale-backtest lab_burn lab_grow lab_hold man_vscaled.8 man_vscalectl.1 man_vscaled.yaml.5
	cp "$here/demo/kubernetes.sh" "$build/stage/run"
	echo "demo: in the lab's virtual machine, where time is counted in instructions"
	"$here/packages.sh" install lab
	exec "$here/lab.sh" run "$build/stage" "$build/out" --timeout 600 --install "$build" \
		"${lab_options[@]}"
}

where='' pictures='' lab_options=()
while [ $# -gt 0 ]; do
	case $1 in
	--native | --lab | --kubernetes) where=${1#--} ;;
	--pictures) where=lab pictures=yes ;;
	--systemd) lab_options+=(--systemd "${2:?}") && shift ;;
	-h | --help) usage && exit ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
done
if [ "$(id -u)" != 0 ]; then
	echo "demo: needs root, to install packages and to set limits of units: sudo test/demo.sh" >&2
	exit 1
fi
missing=$(native_missing)
[ -n "$where" ] || where=$([ -z "$missing" ] && echo native || echo lab)

"$here/packages.sh" install build
[ "$where" != kubernetes ] || kubernetes
build vscaled vscalectl lab_burn lab_grow
mkdir "$build/stage/kit"
cp "$here"/demo/{run,bars.sh} "$build/stage/"
cp "$build"/agent/{vscaled,vscalectl} "$build"/test/lab/kit/{burn,grow} "$build/stage/kit/"
if [ "$where" = native ]; then
	[ -z "$missing" ] || { echo "demo: not possible on this host: $missing" >&2 && exit 1; }
	exec "$build/stage/run"
fi
echo "demo: ${missing:-as asked}: in the lab's virtual machine, where time is counted in instructions"
"$here/packages.sh" install lab
"$here/lab.sh" run "$build/stage" "$build/out" --install none "${lab_options[@]}"
if [ -n "$pictures" ]; then
	build vscale-backtest bench_reflex
	python3 "$here/demo/pictures.py" make "$build/agent/vscale-backtest" "$build/test/bench/bench_reflex" \
		"$build/out"
fi

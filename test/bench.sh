#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The figures of test/bench/, measured here or in the lab's machine: see usage().
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
release=$root/build/release

usage()
{
	cat <<-E
	usage: test/bench.sh [--json] [--lab] [--systemd 252|257]
	Builds release, runs every program of build/release/test/bench and prints its figures.
	  --json  one line per figure: {"name":...,"value":...,"unit":...}
	  --lab   in the lab's machine; figures carry "where":"lab". Emulated: compare them with each
	          other, not with those of real hardware
	Exit status 1 when a program failed. One that cannot run here (exit 77) is named and left out.
	E
}

json='' lab='' systemd=252
while [ $# -gt 0 ]; do
	case $1 in
	--json) json=1 ;;
	--lab) lab=1 ;;
	--systemd) systemd=${2:?}; shift ;;
	-h | --help) usage && exit ;;
	*) usage >&2 && exit 2 ;;
	esac
	shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

note()
{
	echo "bench: $*" >&2
}

build()
{
	cd "$root"
	"$here/packages.sh" install build >&2
	{ cmake --preset release && cmake --build build/release -j "$(nproc)"; } >"$work/build.log" 2>&1 || {
		tail -n 40 "$work/build.log" >&2
		exit 1
	}
}

programs()
{
	find "$release/test/bench" -maxdepth 1 -type f -executable | sort
}

# run_one PROGRAM: its figures to stdout, its remarks to stderr
run_one()
{
	local rc=0

	"$1" || rc=$?
	[ $rc != 77 ] || { note "${1##*/}: cannot run here"; return 0; }
	[ $rc = 0 ] || note "${1##*/}: exit $rc"
	return $rc
}

measure_here()
{
	local p rc=0

	while read -r p; do
		note "${p##*/}"
		run_one "$p" </dev/null || rc=1
	done < <(programs)
	return $rc
}

# The same function runs in the guest, where the programs lie in /lab/programs.
measure_lab()
{
	local p rc=0

	mkdir -p "$work/lab/programs"
	while read -r p; do
		cp "$p" "$work/lab/programs/"
	done < <(programs)
	{
		echo '#!/bin/bash'
		declare -f note run_one
		# shellcheck disable=SC2016  # for the guest's shell
		echo 'echo "+cpu +memory" >/sys/fs/cgroup/cgroup.subtree_control
rc=0; for p in programs/*; do run_one "$p" >>out/figures 2>>out/remarks || rc=1; done
uname -r >out/kernel; exit $rc'
	} >"$work/lab/run"
	chmod +x "$work/lab/run"
	note "in the lab, systemd $systemd"
	"$here/lab.sh" run "$work/lab" "$work/result" --systemd "$systemd" --install "$release" \
		--timeout 1500 >&2 || rc=1
	cat "$work/result/out/remarks" >&2 || true
	sed -n 's/}$/,"where":"lab"}/p' "$work/result/out/figures" || rc=1
	return $rc
}

# Sizes of what is installed, without symbols.
binary_sizes()
{
	local program file

	for program in vscaled vscalectl; do
		file=$(find "$release/agent" -name $program -type f -executable -print -quit)
		[ -n "$file" ] || continue
		strip -o "$work/stripped" "$file"
		printf '{"name":"%s","value":%d,"unit":"bytes"}\n' \
			"$([ $program = vscaled ] && echo binary_size || echo "binary_size_$program")" \
			"$(stat -c %s "$work/stripped")"
	done
}

table()
{
	local kernel

	kernel=$(uname -r)
	[ -z "$lab" ] || kernel="$(<"$work/result/out/kernel") (emulated)"
	printf 'machine  %s, %s cores\nkernel   %s\ndate     %s\n\n' \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$kernel" \
		"$(date -u +%FT%TZ)"
	sed -nE 's/^\{"name":"([^"]*)","value":([^,]*),"unit":"([^"]*)".*/\1 \2 \3/p' "$1" |
		awk '{ printf "%-36s %14s %s\n", $1, $2, $3 }'
}

build
rc=0
if [ -n "$lab" ]; then
	measure_lab >"$work/figures" || rc=1
else
	measure_here >"$work/figures" || rc=1
fi
binary_sizes >>"$work/figures"
if [ -n "$json" ]; then
	cat "$work/figures"
else
	table "$work/figures"
fi
exit $rc

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
	usage: test/bench.sh [--json] [--lab] [--systemd 252|257] [--kernel VERSION] [NAME]...
	Builds release, runs every program of build/release/test/bench and prints its figures.
	  --json  one line per figure: {"name":...,"value":...,"unit":...}
	  --lab   in the lab's machine, and every folder of test/bench/lab in a machine of its own;
	          figures carry "where":"lab". Emulated: compare them with each other, not with those of
	          real hardware
	  NAME    these programs and folders only
	Exit status 1 when a program failed. One that cannot run here (exit 77) is named and left out.
	E
}

json='' lab='' machine=(--systemd 252) only=()
while [ $# -gt 0 ]; do
	case $1 in
	--json) json=1 ;;
	--lab) lab=1 ;;
	--systemd | --kernel) machine+=("$1" "${2:?}"); shift ;;
	-h | --help) usage && exit ;;
	-*) usage >&2 && exit 2 ;;
	*) only+=("$1") ;;
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

# chosen NAME
chosen()
{
	[ ${#only[@]} = 0 ] || [[ " ${only[*]} " == *" $1 "* ]]
}

programs()
{
	local p

	while read -r p; do
		! chosen "${p##*/}" || echo "$p"
	done < <(find "$release/test/bench" -maxdepth 1 -type f -executable | sort)
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

# lab_figures OUT: those of one machine
lab_figures()
{
	sed -n 's/}$/,"where":"lab"}/p' "$1/out/figures"
	cp "$1/out/kernel" "$work/kernel"
}

# By folder: options of lab.sh.
declare -A OPTIONS=(
	[greedy]="--timeout 600"
	[memory]="--timeout 1800 --shift 0 --mem 4096"
	[memory-pods]="--timeout 3600 --shift 0 --mem 6144"
	[raise]="--timeout 900 --shift 0 --smp 1"
	[reflex]="--timeout 3600"
	[shrink]="--timeout 900 --shift 0 --mem 4096"
)

# lab_folder NAME: test/bench/lab/NAME is a scenario that leaves figures and kernel in /lab/out.
lab_folder()
{
	local words rc=0

	read -r -a words <<<"${OPTIONS[$1]}"
	note "$1 in the lab, ${machine[*]}"
	"$here/lab.sh" run "$here/bench/lab/$1" "$work/$1" "${machine[@]}" --install "$release" \
		"${words[@]}" >&2 || rc=1
	lab_figures "$work/$1" || rc=1
	return $rc
}

measure_lab()
{
	local d rc=0

	[ -z "$(programs)" ] || lab_programs || rc=1
	for d in "$here"/bench/lab/*/run; do
		d=$(basename "${d%/run}")
		! chosen "$d" || lab_folder "$d" || rc=1
	done
	return $rc
}

# The same function runs in the guest, where the programs lie in /lab/programs.
lab_programs()
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
	note "in the lab, ${machine[*]}"
	"$here/lab.sh" run "$work/lab" "$work/result" "${machine[@]}" --install "$release" \
		--timeout 1500 >&2 || rc=1
	cat "$work/result/out/remarks" >&2 || true
	lab_figures "$work/result" || rc=1
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
	[ -z "$lab" ] || kernel="$(<"$work/kernel") (emulated)"
	printf 'machine  %s, %s cores\nkernel   %s\ndate     %s\n\n' \
		"$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)" "$(nproc)" "$kernel" \
		"$(date -u +%FT%TZ)"
	sed -nE 's/^\{"name":"([^"]*)","value":([^,]*),"unit":"([^"]*)".*/\1\t\2\t\3/p' "$1" |
		awk -F '\t' '{ printf "%-36s %14s %s\n", $1, $2, $3 }'
}

build
rc=0
if [ -n "$lab" ]; then
	measure_lab >"$work/figures" || rc=1
else
	measure_here >"$work/figures" || rc=1
fi
[ ${#only[@]} -gt 0 ] || binary_sizes >>"$work/figures"
if [ -n "$json" ]; then
	cat "$work/figures"
else
	table "$work/figures"
fi
exit $rc

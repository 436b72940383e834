#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which folder may include which (docs/architecture.md): layers by the rules below, rooms by the table in the
# file rooms. layers.sh checks the project, and then that a planted violation of every rule is found,
# of every room, and of circles. layers.sh TREE checks another tree only.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"

# layer | what it may include of ours | libraries it may include; everything else is a violation.
# The adapters see value types of policy/ and nothing that decides.
values='policy/(base/(base|text)|types/(limits|usage))\.h'
rules=(
	"policy|policy/.*|"
	"cgroup|cgroup/.*|$values|libcgroup\.h|bpf/.*|linux/bpf\.h"
	"systemd|systemd/.*|$values|systemd/sd-.*"
	"agent|(agent|policy|cgroup|systemd)/.*|systemd/sd-.*|curl/.*|cjson/.*|yaml\.h|microhttpd\.h"
)
# Headers that belong to a library; all others in <> are libc's and the kernel's.
libraries='systemd/|curl/|cjson/|cJSON|yaml\.h|microhttpd\.h|libcgroup|bpf/|libbpf|json|glib'
# Headers of libc that policy/ may use: arithmetic and memory.
pure='assert|errno|float|inttypes|limits|math|stdalign|stdbool|stddef|stdint|stdlib|string|strings'

# What a room may include, and the rooms in their order: read_rooms() fills them.
declare -A may
rooms=()

read_rooms()
{
	local room list entry

	while IFS='|' read -r room list; do
		room=${room//[[:space:]]/}
		[[ -n $room && $room != '#'* ]] || continue
		may[$room]=' '
		rooms+=("$room")
		for entry in $list; do
			[[ -v may[${entry#+}] || $entry == policy || $entry == systemd ]] ||
				bad "rooms: $room names $entry, which does not come earlier"
			may[$room]+="${entry#+} "
			[[ $entry != +* ]] || may[$room]+="${may[${entry#+}]} "
		done
	done <"$(dirname "$0")/rooms"
}

# room_may ROOM OTHER: may a file of ROOM include one of OTHER?
room_may()
{
	[[ $1 == "$2" || ${may[$1]} == *" $2 "* ]] ||
		[[ $2 == policy/* && ${may[$1]} == *" policy "* ]]
}

# includes FILE: one per line, "name" or <name>
includes()
{
	sed -nE 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*(["<][^">]+[">]).*/\1/p' "$1"
}

# allowed LAYER RULE INCLUDE
allowed()
{
	local layer=$1 rule=$2 name=${3:1:-1}

	if [ "${3:0:1}" = '"' ]; then
		[[ $name == */* ]] || name=$layer/$name
		[[ $name =~ ^($rule)$ ]]
	elif [[ $name =~ ^($libraries) ]]; then
		[[ $name =~ ^($rule)$ ]]
	else
		[ "$layer" != policy ] || [[ $name =~ ^($pure)\.h$ ]]
	fi
}

check()
{
	local tree=$1 entry layer file name

	for entry in "${rules[@]}"; do
		layer=${entry%%|*}
		while read -r file; do
			while read -r name; do
				allowed "$layer" "${entry#*|}" "$name" ||
					bad "${file#"$tree"/}: $layer/ may not include $name"
			done < <(includes "$file")
		done < <(find "$tree/$layer" -name '*.[ch]' 2>/dev/null | sort)
	done
}

check_rooms()
{
	local tree=$1 room file name

	cd "$tree"
	while read -r room; do
		[[ -v may[$room] ]] || bad "$room/ has no line in test/lint/rooms"
	done < <(find agent cgroup policy -name '*.[ch]' -printf '%h\n' 2>/dev/null | sort -u)
	while IFS=: read -r file name; do
		name=${name#*\"}
		name=${name%%\"*}
		room=${file%/*}
		[[ $name == */* && -v may[$room] ]] || continue
		room_may "$room" "${name%/*}" || bad "$file: room $room may not include $name"
	done < <(grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' \
		agent cgroup policy 2>/dev/null)
	cd - >/dev/null
}

# Headers that include each other, and circles of more than 3 modules (circles.awk).
check_circles()
{
	local pairs circle

	pairs=$(cd "$1" && grep -rE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]' \
		agent cgroup policy systemd 2>/dev/null | sed -E 's/:[^"]*"([^"]*)".*/ \1/') || true
	circle=$(grep '\.h ' <<<"$pairs" | tsort 2>&1 >/dev/null | sed -n 's/^tsort: //p' |
		grep '\.h$' | paste -sd' ') || true
	[ -z "$circle" ] || bad "headers include each other: $circle"
	while read -r circle; do
		bad "$circle"
	done < <((cd "$1" && find agent cgroup policy systemd -name '*.h' 2>/dev/null; echo "$pairs") |
		awk -f "$(dirname "$0")/circles.awk")
}

# Every room of the table is there, and in the page that explains them.
check_table()
{
	local room

	for room in "${rooms[@]}"; do
		[ -d "$1/$room" ] || bad "rooms: there is no $room/"
		grep -qF "\`$room/\`" "$1/docs/architecture.md" ||
			bad "docs/architecture.md does not name \`$room/\`"
	done
}

# Another parser of JSON is one file away.
check_json()
{
	local file

	while read -r file; do
		bad "$file: agent/ may not include a call of cJSON_Parse() but in base/json.c"
	done < <(cd "$1" && grep -rl 'cJSON_Parse' --include='*.[ch]' agent | grep -vxF agent/base/json.c)
}

# planted LAYER LINE: a tree with this one line must fail
planted()
{
	local tree found

	tree=$(mktemp -d)
	mkdir "$tree/$1"
	echo "$2" >"$tree/$1/planted.c"
	found=$("$0" "$tree") || true
	[[ $found == *": $1/ may not include"* ]] || bad "layers.sh does not notice '$2' in $1/"
	rm -rf "$tree"
}

# A tree with every violation of the table, one in each file: every room that comes later, and
# those below that are not named. All must be found, and a folder that the table does not know.
planted_rooms()
{
	local tree room other higher lines=""

	tree=$(mktemp -d)
	for room in "${rooms[@]}"; do
		mkdir -p "$tree/$room"
		higher=""
		for other in systemd "${rooms[@]}"; do
			if [ -n "$higher" ] || ! room_may "$room" "$other"; then
				echo "#include \"$other/x.h\"" >"$tree/$room/${other//\//_}.c"
				lines+="$room/${other//\//_}.c: room $room may not include $other/x.h"$'\n'
			fi
			[ "$other" != "$room" ] || higher=1
		done
	done
	echo '#include "agent/base/b.h"' >"$tree/agent/base/a.h"
	echo '#include "agent/base/a.h"' >"$tree/agent/base/b.h"
	lines+="headers include each other: agent/base/a.h agent/base/b.h"$'\n'
	mkdir "$tree/agent/unknown"
	echo >"$tree/agent/unknown/x.c"
	lines+="agent/unknown/ has no line in test/lint/rooms"$'\n'
	while read -r other; do
		[ -z "$other" ] || bad "layers.sh does not notice: $other"
	done < <(comm -23 <(sort <<<"$lines") <("$0" "$tree" | sort))
	rm -rf "$tree"
}

# planted_circle N: modules that include each other by their .c files, the last by one without a
# header. Of 4 the circle must be found, 3 are allowed.
planted_circle()
{
	local tree i found last=$1

	tree=$(mktemp -d)
	mkdir -p "$tree/agent/base"
	for ((i = 1; i <= last; i++)); do
		touch "$tree/agent/base/m$i.h"
		echo "#include \"agent/base/m$((i % last + 1)).h\"" >"$tree/agent/base/m$i.c"
	done
	mv "$tree/agent/base/m$last.c" "$tree/agent/base/m${last}_more.c"
	found=$(check_circles "$tree")
	[[ $last -le 3 && -z $found || $last -gt 3 && $found == "$last modules in a circle: "*m1* ]] ||
		bad "layers.sh says of a circle of $last modules: ${found:-nothing}"
	rm -rf "$tree"
}

read_rooms
if [ $# = 1 ]; then
	check "$1"
	check_rooms "$1"
	check_circles "$1"
	[ ! -d "$1/agent" ] || check_json "$1"
	verdict
fi
check "$ROOT"
check_rooms "$ROOT"
check_circles "$ROOT"
check_table "$ROOT"
check_json "$ROOT"
planted_rooms
planted_circle 3
planted_circle 4
planted policy '#include "cgroup/reader.h"'
planted policy '#include <time.h>'
planted policy '#  include  <systemd/sd-journal.h>'
planted policy '#include "../agent/config/config.h"'
planted cgroup '#include "systemd/unit.h"'
planted cgroup '#include "policy/types/reason.h"'
planted cgroup '#include <systemd/sd-bus.h>'
planted cgroup '#include <curl/curl.h>'
planted systemd '#include "cgroup/reader.h"'
planted systemd '#include "agent/config/config.h"'
planted systemd '#include <cjson/cJSON.h>'
planted agent '#include "test/check.h"'
planted agent '#include <libcgroup.h>'
planted agent 'x = cJSON_Parse(text);'
verdict

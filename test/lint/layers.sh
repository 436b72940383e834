#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who may include whom (docs/architecture.md): layers.sh checks the project, and then that a planted
# violation of every rule is found. layers.sh TREE checks another tree only.
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

# planted LAYER LINE: a tree with this one line must fail
planted()
{
	local tree

	tree=$(mktemp -d)
	mkdir "$tree/$1"
	echo "$2" >"$tree/$1/planted.c"
	if "$0" "$tree" >/dev/null; then
		bad "layers.sh does not notice '$2' in $1/"
	fi
	rm -rf "$tree"
}

if [ $# = 1 ]; then
	check "$1"
	verdict
fi
check "$ROOT"
planted policy '#include "cgroup/reader.h"'
planted policy '#include <time.h>'
planted policy '#  include  <systemd/sd-journal.h>'
planted policy '#include "../agent/config/config.h"'
planted cgroup '#include "systemd/unit.h"'
planted cgroup '#include "policy/types/plan.h"'
planted cgroup '#include <systemd/sd-bus.h>'
planted cgroup '#include <curl/curl.h>'
planted systemd '#include "cgroup/reader.h"'
planted systemd '#include "agent/config/config.h"'
planted systemd '#include <cjson/cJSON.h>'
planted agent '#include "test/check.h"'
planted agent '#include <libcgroup.h>'
verdict

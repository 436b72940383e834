#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each part of struct managed, and struct pods, has one writer: the table in the file parts. struct
# daemon, which has the parts of the process, is known to agent/loop alone: everything else takes the
# parts that it needs. Checks the project, and then that planted violations of all that are found.
# parts.sh TREE checks another tree only.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"

# The parts; struct pods and struct control are no parts, but have one writer too.
headers=("$ROOT"/agent/manage/{parts,pod_table}.h "$ROOT/policy/control/control.h")
change='[[:space:]]*([-+|&^]?=([^=]|$)|\+\+|--)'
declare -A writers

read_parts()
{
	local part list

	while IFS='|' read -r part list; do
		part=${part//[[:space:]]/}
		[[ -n $part && $part != '#'* ]] || continue
		writers[$part]=$list
	done <"$(dirname "$0")/parts"
}

# members PART: their names, as alternatives of a regular expression
members()
{
	sed -nE "/^struct (managed_)?$1 \{/,/^\};/ s/.*[[:space:]*](\w+)(\[[^]]*\])?;.*/\1/p" "${headers[@]}" |
		paste -sd'|'
}

# pattern PART: an expression that writes it
pattern()
{
	printf '%s\n' "(->$1\.|\b$1->)($(members "$1"))(\[[^]]*\]|\.\w+)*$change|memset\(&?\w+->$1\b"
}

# may_write PART FILE
may_write()
{
	local entry

	for entry in ${writers[$1]}; do
		[[ $2 != "$entry"* ]] || return 0
	done
	return 1
}

check()
{
	local part file line

	cd "$1"
	for part in "${!writers[@]}"; do
		while IFS=: read -r file line _; do
			may_write "$part" "$file" ||
				bad "$file:$line: writes $part of struct managed; test/lint/parts names who may"
		done < <(grep -rnE --include='*.c' -e "$(pattern "$part")" agent || true)
	done
	while IFS=: read -r file line _; do
		[[ $file == agent/loop/* || $file == agent/main.c ]] ||
			bad "$file:$line: uses struct daemon; take the part that is needed"
	done < <(grep -rnE --include='*.[ch]' 'struct daemon\b|loop/loop\.h' agent)
	cd - >/dev/null
}

# The same through a pointer: c is the name of a struct control everywhere.
check_pointers()
{
	local file line

	cd "$1"
	while IFS=: read -r file line _; do
		bad "$file:$line: a struct control_resource that may be written; policy/control/ writes it"
	done < <(grep -rnP --include='*.c' '(?<!const )struct control_resource \*' agent || true)
	while read -r file; do
		while IFS=: read -r line _; do
			bad "$file:$line: writes control of struct managed; policy/control/ writes it"
		done < <(grep -nE "\bc->($(members control))(\[[^]]*\]|\.\w+)*$change" "$file" || true)
	done < <(grep -rlP --include='*.c' '(?<!const )struct control \*c\b' agent || true)
	cd - >/dev/null
}

# Every part of the header is in the table, and every line of it is in the page.
check_table()
{
	local part

	while read -r part; do
		[[ -v writers[$part] ]] || bad "parts.h: $part has no line in test/lint/parts"
	done < <(sed -nE 's/^\tstruct managed_\w+ (\w+);.*/\1/p' "$ROOT/agent/manage/managed.h")
	for part in "${!writers[@]}"; do
		grep -qF "\`$part\`" "$ROOT/docs/architecture.md" ||
			bad "docs/architecture.md does not name \`$part\`"
	done
}

# A tree with one write to each part, by a file that no part names, and with struct daemon outside of
# agent/loop. All must be found.
planted()
{
	local tree part member found file

	tree=$(mktemp -d)
	mkdir -p "$tree/agent/serve"
	for part in "${!writers[@]}"; do
		member=$(members "$part")
		echo "	m->$part.${member%%|*} = x;"
		echo "	$part->${member%%|*} = x;"
	done >"$tree/agent/serve/planted.c"
	printf '\tstruct control *c = &m->control;\n\tc->kernel.mem_max = x;\n' >"$tree/agent/serve/pointer.c"
	printf '\tstruct control_resource *res = x;\n' >"$tree/agent/serve/resource.c"
	echo 'void planted(struct daemon *d);' >"$tree/agent/serve/planted.h"
	echo '#include "agent/loop/loop.h"' >>"$tree/agent/serve/planted.h"
	found=$("$0" "$tree") || true
	for part in "${!writers[@]}"; do
		[[ $found == *"planted.c"*"writes $part of"* ]] ||
			bad "parts.sh does not notice a write to $part"
	done
	for file in pointer.c:2 resource.c:1; do
		[[ $found == *"$file:"* ]] || bad "parts.sh does not notice $file"
	done
	[[ $found == *"planted.h:1: uses struct daemon"* && $found == *"planted.h:2: uses"* ]] ||
		bad "parts.sh does not notice the use of struct daemon"
	rm -rf "$tree"
}

read_parts
if [ $# = 1 ]; then
	check "$1"
	check_pointers "$1"
	verdict
fi
check "$ROOT"
check_pointers "$ROOT"
check_table
planted
verdict

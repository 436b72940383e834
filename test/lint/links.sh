#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every relative link of every Markdown page leads to a file of the project, and its #part to a
# heading there.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"

# anchors FILE: its headings as GitHub names them
anchors()
{
	sed -n 's/^##* \(.*\)/\L\1/p' "$1" | sed 's/[^a-z0-9 _-]//g; s/ /-/g'
}

# links FILE: "LINE TARGET" of each link that is not to elsewhere; code blocks are left out
links()
{
	awk '/^```/ { code = !code } !code { print NR " " $0 }' "$1" |
		grep -oE '^[0-9]+ |\]\([^) ]+\)' |
		awk '/^[0-9]/ { n = $1; next } { print n " " substr($0, 3, length($0) - 3) }' |
		grep -vE '^[0-9]+ [a-z]+:' || true
}

cd "$ROOT"
count=0
while read -r page; do
	while read -r line target; do
		count=$((count + 1))
		file=${target%%#*} part=''
		[[ $target != *'#'* ]] || part=${target#*#}
		file=${file:+$(dirname "$page")/$file}
		file=${file:-$page}
		if [ ! -e "$file" ]; then
			bad "$page:$line: there is no $target"
		elif [ -n "$part" ] && ! anchors "$file" | grep -qxF -- "$part"; then
			bad "$page:$line: there is no heading #$part in $file"
		fi
	done < <(links "$page")
done < <(project_files '*.md')
[ "$count" -gt 0 ] || bad "no page has a link: is this looking at the right folder?"
verdict

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every relative link of every Markdown page leads to a file of the project, and its #part to a
# heading there. Every `test_NAME` and `lab_NAME` of a page is a test, every path in a code span is
# there; the changelog may name what is gone.
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

# named_tests FILE: what it has in code spans and calls a test
named_tests()
{
	# shellcheck disable=SC2016 # the ` of Markdown
	grep -oE '`(test|lab)_[a-z0-9_*-]+`' "$1" | tr -d '`' | sort -u || true
}

# is_test NAME: a test, its source, or a scenario of the lab. NAME may have a * in it.
is_test()
{
	local glob=$1

	if [[ $glob == lab_* ]]; then
		grep -q "^${glob#lab_} " "$ROOT/test/lab/scenarios.txt"
		return
	fi
	grep -qF "vscaled_test($glob " "$ROOT"/test/*/CMakeLists.txt ||
		[ -n "$(find "$ROOT/test" -name "$glob.c" -print -quit)" ]
}

# named_paths FILE: what it has in code spans and begins with a folder of the project
named_paths()
{
	# shellcheck disable=SC2016 # the ` of Markdown
	grep -oE '`(agent|cgroup|docs|policy|systemd|test)/[A-Za-z0-9_./-]+`' "$1" | tr -d '`' | sort -u || true
}

# The check finds what is there, and nothing else.
for name in test_quantity 'test_pods*' lab_smoke; do
	is_test "$name" || bad "is_test does not find $name"
done
for name in test_planted lab_planted; do
	! is_test "$name" || bad "is_test finds $name"
done

cd "$ROOT"
count=0 paths=0
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
	while read -r name; do
		is_test "$name" || bad "$page: there is no test $name"
	done < <(named_tests "$page")
	[ "$page" != CHANGELOG.md ] || continue
	while read -r name; do
		paths=$((paths + 1))
		[ -e "$name" ] || bad "$page: there is no $name"
	done < <(named_paths "$page")
done < <(project_files '*.md')
[ "$count" -gt 0 ] || bad "no page has a link: is this looking at the right folder?"
[ "$paths" -gt 0 ] || bad "no page names a path: is this looking at the right folder?"
verdict

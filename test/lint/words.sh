#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A rule that stands in several places has the same words in each of them. No identifier of the
# programs has a word that docs/glossary.md replaces, and no comment, message, test or page a word
# that says less than the field's term: who wrote, what is sent, which process.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"

# plain FILE: its words on one line, without the marks of comments
plain()
{
	sed 's/^ \* / /' "$1" | tr -s ' \t\n' ' '
}

# same BEGIN END FILE...: what begins and ends with these words, in the first file, is in all
same()
{
	local begin=$1 end=$2 rule f

	shift 2
	rule=$(plain "$1" | grep -oE "$begin.*$end" | head -n 1) || true
	[ -n "$rule" ] || bad "$1: no rule \"$begin ... $end\""
	for f in "${@:2}"; do
		[[ "$(plain "$f")" == *"$rule"* ]] || bad "$f: not the words of $1: $rule"
	done
}

cd "$ROOT"
same 'In a Guaranteed pod under' 'limit and request move together, up and down[.]' \
	docs/annotations.md policy/laws/pod_bounds.h

# Words replaced by those of docs/glossary.md, as a part of an identifier. JSON keys are strings.
old='wish|wishes|judge|owes|owed|heard|lately|nobody|somebody|news|insists|toll|keyed|claim|hold|looks'
code()
{
	# A comment of one line, then the lines of a longer one, then strings.
	sed -E 's,/\*.*\*/,,; /\/\*/,/\*\//d; s,"(\\.|[^"\\])*","",g; s,//.*,,' "$1"
}
for f in $(git ls-files 'agent/*.[ch]' 'policy/*.[ch]' 'cgroup/*.[ch]' 'systemd/*.[ch]'); do
	found=$(code "$f" | grep -oiwE "([a-z0-9]+_)*($old)(_[a-z0-9]+)*" | sort -u | tr '\n' ' ') || true
	[ -z "$found" ] || bad "$f: $found: see docs/glossary.md"
done

# Quoted, it is the API server's test user of that name.
vague='whoever|somebody|(?<!["`])nobody|anybody|everybody|mends?|mended|his|gives? way|goes first'
vague+='|(is|are|was|were) told|(stands|stood) in the way'
found=$(git grep -nowiP "($vague)" -- agent policy cgroup systemd test docs README.md \
	CONTRIBUTING.md ':!test/lint/words.sh') || [ $? = 1 ] || bad "git grep failed"
[ -z "$found" ] || while read -r line; do
	bad "$line"
done <<<"$found"
verdict

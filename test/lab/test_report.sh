#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a failed scenario and a failed test leave at the end of a log, and that background jobs of a
# scenario get their own answers from kube_query. The scenarios run on this host.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# What a scenario sources, where there is no systemd.
mkdir "$work/bin"
printf '#!/bin/sh\necho systemd 252\n' >"$work/bin/systemctl"
chmod +x "$work/bin/systemctl"
PATH=$work/bin:$PATH

fail()
{
	echo "FAILED: $1"
	cat "$2"
	failed=1
}

# ends LOG LINE...: these are its last lines, without the time
ends()
{
	sed 's/^\[[^]]*\] //' "$1" | tail -n $(($# - 1)) | cmp -s - <(printf '%s\n' "${@:2}")
}

# A scenario that failed early and printed a lot afterwards.
(
	. "$here/kit/lib.sh"
	assert_num "kills" 1 -eq 0 || true
	assert_time "first raise, ms" 300 -le 250 || true
	seq 100
	verdict
) >"$work/early" && fail "a scenario with failed checks passes" "$work/early"
ends "$work/early" "2 checks, 2 failed, 1 of them by time" "FAILED: kills (1 -eq 0) [[ 1 -eq 0 ]]" \
	"FAILED: first raise, ms (300 -le 250) [[ 300 -le 250 ]]" ||
	fail "what failed is not at the end of the scenario's log" "$work/early"
(
	. "$here/kit/lib.sh"
	assert "fine" true
	must "it starts" false
) >"$work/must" && fail "a failed must passes" "$work/must"
ends "$work/must" "2 checks, 1 failed" "FAILED: it starts [false]" ||
	fail "what had to hold is not at the end of the scenario's log" "$work/must"
(
	. "$here/kit/lib.sh"
	assert "fine" true
	verdict
) >"$work/good" || fail "a good scenario fails" "$work/good"
ends "$work/good" "1 checks, 0 failed" || fail "a good scenario ends in another way" "$work/good"

# A log of ctest, by ctest: all.sh names every failed test and what failed in it.
mkdir "$work/tests"
{
	echo "add_test(good true)"
	echo "add_test(killed cat \"$work/early\" \"$work/none\")"
	echo "add_test(hung bash -c \"seq 1 30; exit 125\")"
	echo "add_test(checked bash -c \"echo 'a.c:3: CHECK(x) failed'; exit 1\")"
	echo "add_test(skipped bash -c \"exit 77\")"
	echo "set_tests_properties(skipped PROPERTIES SKIP_RETURN_CODE 77)"
} >"$work/tests/CTestTestfile.cmake"
eval "$(sed -n '/^failures()/,/^}/p' "$here/../all.sh")"
for jobs in 1 4; do
	(cd "$work/tests" && ctest --output-on-failure -j $jobs) >"$work/ctest" 2>&1 || true
	failures "$work/ctest" 0 >"$work/summary"
	if ! grep -A 2 '^failed: killed$' "$work/summary" | tail -n 2 | sed 's/\[[^]]*\] //' |
		cmp -s - <(printf '  FAILED: %s\n' "kills (1 -eq 0) [[ 1 -eq 0 ]]" \
			"first raise, ms (300 -le 250) [[ 300 -le 250 ]]") ||
		! grep -A 1 '^failed: checked$' "$work/summary" | grep -qx '  a.c:3: CHECK(x) failed' ||
		! grep -A 10 '^failed: hung$' "$work/summary" | tail -n 1 | grep -qx '  | 30' ||
		[ "$(grep -c '^failed: ' "$work/summary")" != 3 ] ||
		grep -qE '^failed: (good|skipped)' "$work/summary"; then
		fail "$jobs jobs: the summary does not have what failed" "$work/summary"
	fi
	failures "$work/ctest" 5 >"$work/summary"
	[ "$(grep -c '^  | ' "$work/summary")" = 11 ] ||
		fail "$jobs jobs: 5 lines of the end of each, want 11" "$work/summary"
done
# shellcheck disable=SC2016  # as it stands there
grep -qx 'printf %s "$summary"' "$here/../all.sh" ||
	fail "all.sh does not end with the summary" /dev/null

# Background jobs ask at the same time. In place of the server's client: one that says what it was asked.
cat >"$work/bin/python3" <<-'X'
	#!/bin/bash
	while IFS=$'\x1f' read -r what rest; do
		echo "0 $what, $rest"
	done
	#!/bin/bash
	while IFS=$'\x1f' read -r what rest; do
		echo "0 $what, $rest"
	done
	X
chmod +x "$work/bin/python3"
(
	. "$here/kit/lib.sh"
	. "$here/kit/kube.sh"
	# asks NAME: a hundred times
	asks()
	{
		local i

		for ((i = 0; i < 100; i++)); do
			kube_query ask "$1.$i" && [ "$kube_text" = "ask, $1.$i" ] ||
				echo "$1.$i got ${kube_text:-nothing}"
		done
	}
	kube_query ask first
	jobs=()
	for name in one two three four; do
		asks $name &
		jobs+=($!)
	done
	wait "${jobs[@]}"
) >"$work/asked" 2>&1 || fail "kube_query from background jobs" "$work/asked"
[ ! -s "$work/asked" ] || fail "background jobs got each other's answers" "$work/asked"
exit $failed

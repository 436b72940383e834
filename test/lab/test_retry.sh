#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Planted failures of each kind: which of them ctest.sh tries again. The scenarios run on this host, in
# place of a machine; the checks are those of kit/lib.sh.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

cat >"$work/lab.sh" <<-E
	#!/bin/bash
	# run SCENARIO OUT ...: as lab.sh, without the machine
	[ "\$1" = run ] || exit 0
	echo attempt >>"$work/attempts"
	exec "\$2/run"
E
# What a scenario sources, where there is no systemd.
mkdir "$work/bin"
printf '#!/bin/sh\necho systemd 252\n' >"$work/bin/systemctl"
chmod +x "$work/lab.sh" "$work/bin/systemctl"

# plant NAME: a scenario of the checks on stdin; \$n is the number of the attempt
plant()
{
	mkdir "$work/$1"
	{
		echo "#!/bin/bash"
		echo "PATH=$work/bin:\$PATH"
		echo ". $here/kit/lib.sh"
		echo "n=\$(wc -l <$work/attempts)"
		cat
		echo verdict
	} >"$work/$1/run"
	chmod +x "$work/$1/run"
}

# expect NAME RETRY STATUS ATTEMPTS RETRIED
expect()
{
	local rc=0 attempts retried

	rm -rf "$work/build" "$work/attempts"
	VSCALED_RETRY_LATE=$2 VSCALED_LAB_SH=$work/lab.sh "$here/ctest.sh" "$work/$1" 252 \
		"$work/build" >"$work/log" 2>&1 || rc=$?
	attempts=$(wc -l <"$work/attempts")
	retried=$(wc -l 2>/dev/null <"$work/build/lab/retried" || echo 0)
	if [ "$rc $attempts $retried" != "$3 $4 $5" ]; then
		echo "FAILED: $1, retry $2: status $rc, $attempts attempts, $retried counted;" \
			"want $3, $4, $5"
		cat "$work/log"
		failed=1
	fi
}

# shellcheck disable=SC2016  # for the planted scenario
{
	plant good <<<'assert "fine" true'
	plant late_once <<<'assert_time "first raise, ms" $((n == 1 ? 300 : 200)) -le 250'
	plant late_always <<<'assert_time "first raise, ms" 300 -le 250'
	plant killed <<<'assert_num "kills" $((n == 1)) -eq 0'
}
plant killed_and_late <<-'E'
	assert_time "first raise, ms" $((n == 1 ? 300 : 200)) -le 250
	assert_num "kills" $((n == 1)) -eq 0
E
plant late_then_killed <<-'E'
	assert_time "first raise, ms" $((n == 1 ? 300 : 200)) -le 250
	assert_num "kills" $((n == 2)) -eq 0
E
plant late_then_must <<-'E'
	assert_time "first raise, ms" $((n == 1 ? 300 : 200)) -le 250
	must "the agent starts" [ $n -gt 1 ]
E
plant nothing_checked </dev/null
plant unfinished <<<'exit 125'

expect good 1 0 1 0
expect late_once 1 0 2 1
expect late_always 1 75 2 1
expect killed 1 1 1 0
expect killed_and_late 1 1 1 0
expect late_then_killed 1 1 2 1
expect late_then_must 1 1 1 0
expect nothing_checked 1 1 1 0
expect unfinished 1 125 1 0
# Outside CI nothing is tried again, and late is failed.
expect late_once 0 75 1 0

# The count reaches the end of all.sh.
retried=0
printf 'step-252\nbrake-252\n' >"$work/retried"
eval "$(sed -n '/^retries()/,/^}/p' "$here/../all.sh")"
retries "$work/retried" >"$work/log"
retries "$work/none"
# shellcheck disable=SC2016  # as it stands there
if [ $retried != 2 ] || ! grep -q '^second attempt: brake-252$' "$work/log" ||
	! grep -q '^echo "$retried retried"$' "$here/../all.sh"; then
	echo "FAILED: all.sh counts $retried retries, want 2"
	failed=1
fi

# No other script retries: ctest would repeat a test whatever the cause of its failure.
if grep -rnE -- '--repeat|until-pass' "$here/../all.sh" "$here/../../.ci" "$here"/*.txt; then
	echo "FAILED: ctest repeats tests whatever failed in them"
	failed=1
fi
exit $failed

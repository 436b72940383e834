#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Everything that can be checked, in one command on a fresh Debian 12: see usage().
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
logs=$root/build/all

usage()
{
	cat <<-E
	usage: test/all.sh [--ci|--full]
	Installs missing packages (as root), builds dev, and runs format, lint (without clang-tidy), unit,
	vectors, fake, fuzz, deploy and kube: 10 minutes at most on two idle cores.
	  --ci      what CI runs: clang-tidy (without the tests), the builds release and, in place of dev, asan; on
	            Debian 13 with gcc and clang and its unit tests, each fuzzer for a moment, the VM
	            lab on the release build, and the Debian 13 package; 30 minutes
	  --full    that, clang-tidy of the tests, the builds dev and for arm64 and its unit tests in QEMU, and the long
	            runs: hours
	Ends with what each failed test said ("failed: NAME" and its lines of failed checks), and the lines
	"N retried" and "N passed, N failed"; all output is in build/all. A skipped test is no failure unless CI
	is set or VSCALED_MUST_RUN=1. With CI set a scenario of the lab in which only times failed is
	tried once more and counted as retried. VSCALED_LAB_JOBS: machines at once (default 2).
	E
}

ci='' full=''
for arg in "$@"; do
	case $arg in
	--ci) ci=1 ;;
	--full) ci=1 full=1 ;;
	-h | --help) usage && exit ;;
	*) usage >&2 && exit 2 ;;
	esac
done
[ -z "${CI:-}" ] || export VSCALED_MUST_RUN=1
[ "${VSCALED_MUST_RUN:-0}" != 0 ] || unset VSCALED_MUST_RUN
[ -z "$full" ] || export VSCALED_FULL=1
jobs=$(nproc)
main=dev kube_jobs=$((4 * jobs))
[ -z "$ci" ] || main=asan kube_jobs=$((3 * jobs))
passed=0 failed=0 skipped=0 retried=0
summary="on Linux $(uname -r), $(nproc) CPUs"$'\n' # and what failed, for the end
ctest=(ctest)

# report NAME PASSED FAILED SKIPPED START_SEC
report()
{
	[ -z "${VSCALED_MUST_RUN:-}" ] || set -- "$1" "$2" $(($3 + $4)) 0 "$5"
	passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
	printf '%02d:%02d %-16s %d passed, %d failed%s (%d s)\n' $((SECONDS / 60)) $((SECONDS % 60)) \
		"$1" "$2" "$3" "$([ "$4" = 0 ] || echo ", $4 skipped")" $((SECONDS - $5))
}

# step NAME COMMAND...: a command that is right when it exits with 0; else counted as failed
step()
{
	local name=$1 start=$SECONDS log=$logs/${1// /-}.log

	shift
	if "$@" >"$log" 2>&1 </dev/null; then
		report "$name" 1 0 0 "$start"
		return
	fi
	tail -n 60 "$log"
	summary+="failed: $name"$'\n'$(tail -n 10 "$log")$'\n'
	report "$name" 0 1 0 "$start"
}

build()
{
	step "build $1" build_commands "$@"
}

build_commands()
{
	local name=$1

	shift
	cmake --preset "$name" -DVSCALED_WERROR=ON "$@" && cmake --build "build/$name" -j "$jobs"
}

build_fuzzers()
{
	cmake -G Ninja -S . -B build/fuzz -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_COMPILER=clang \
		-DVSCALED_WERROR=ON -DVSCALED_SANITIZE=ON -DVSCALED_FUZZ=ON &&
		cmake --build build/fuzz -j "$jobs" --target fuzzers
}

# count LOG PATTERN: the number in the line of a ctest log that matches
count()
{
	sed -nE "s/$2/\\1/p" "$1" | tail -n 1
}

# failures LOG LINES: of a ctest log with --output-on-failure, for each failed test "failed: NAME" and
# its lines of failed checks, each once and 20 at most; then LINES of the end of its output. A test
# without such a line, as a machine that never finished, shows its last 10 lines in any case.
failures()
{
	awk -v lines="$2" '
	function flush(  i, first) {
		if (name == "")
			return
		print "failed: " name
		for (i = 0; i < checks && i < 20; i++)
			print "  " check[i]
		if (checks > 20)
			print "  and " checks - 20 " more"
		first = n - (lines == 0 && checks == 0 ? 10 : lines)
		for (i = first < 0 ? 0 : first; i < n; i++)
			print "  | " output[i]
		name = ""
	}
	/^ *([0-9]+\/[0-9]+)? +Test +#[0-9]+: / {
		flush()
		n = checks = 0
		delete seen
		if (/\*\*\*/ && !/\*\*\*Skipped/) {
			sub(/^.* Test +#[0-9]+: /, "")
			name = $1
		}
		next
	}
	/^ +Start +[0-9]+: |^[0-9]+% tests passed/ { flush() }
	name == "" || /^ *$/ { next }
	/FAILED: |^[^ ]+:[0-9]+: .*(failed$|, want )|Sanitizer|runtime error: |never finished/ {
		if (!seen[$0]++)
			check[checks++] = $0
	}
	{ output[n++] = $0 }
	' "$1"
}

# tests NAME BUILD CTEST_ARGS...: runs a selection of the tests
tests()
{
	local name=$1 start=$SECONDS

	run_tests "$@"
	judge "$name" "$start"
}

run_tests()
{
	local log=$logs/${1// /-}.log build=$2

	shift 2
	"${ctest[@]}" --test-dir "build/$build" --no-tests=error --output-on-failure "$@" \
		>"$log" 2>&1 </dev/null || true
}

# judge NAME START_SEC: what became of a selection. An empty one has failed: what should have been run
# is not there.
judge()
{
	local name=$1 start=$2 log=$logs/${1// /-}.log all skip bad

	all=$(count "$log" '^[0-9]+% tests passed, [0-9]+ tests failed out of ([0-9]+)$')
	bad=$(count "$log" '^[0-9]+% tests passed, ([0-9]+) tests failed out of [0-9]+$')
	skip=$(grep -cE '^ *([0-9]+/[0-9]+)? +Test +#[0-9]+: .*\*\*\*Skipped' "$log" || true)
	if [ "${all:-0}" = 0 ]; then
		all=1 bad=1 skip=0
		tail -n 20 "$log"
		summary+="failed: $name"$'\n'$(tail -n 10 "$log")$'\n'
	elif [ "$bad" != 0 ]; then
		# First what is short: some show the beginning of this output only, others its end.
		failures "$log" 0
		summary+=$(failures "$log" 0)$'\n'
		failures "$log" 60
		sed -n '/^The following tests FAILED:/,$p' "$log"
	fi
	if [ "$skip" != 0 ]; then
		grep -E '\*\*\*Skipped' "$log"
		[ -z "${VSCALED_MUST_RUN:-}" ] || summary+=$(grep -E '\*\*\*Skipped' "$log")$'\n'
	fi
	report "$name" $((all - bad - skip)) "$bad" "$skip" "$start"
}

# in_debian NAME BUILD WITHOUT [OPTION...]: the tests of a build on Debian 13
in_debian()
{
	local ctest=("$here/debian.sh" "${@:4}" trixie run env CI=1 VSCALED_MUST_RUN=1 ctest)

	tests "$1" "$2" -L '^(unit|vectors|fake)$' -LE '^(lint|full)$' -E "$3" -j "$jobs"
}

# has LABEL BUILD: there are tests with this label
has()
{
	[ "$(ctest --test-dir "build/$2" -N -L "^$1\$" | sed -n 's/^Total Tests: //p')" != 0 ]
}

# Guest time does not depend on the host's load: the machines take what the tests leave of the CPUs.
lab()
{
	local long=(-LE '^full$') version

	[ -z "$full" ] || long=()
	renice -n 5 $BASHPID >/dev/null
	# Without a machine its log stays, in which no test was run: judge() counts that as failed.
	: >"$logs/lab.log"
	for version in 252 257; do
		"$here/lab.sh" build --systemd $version >>"$logs/lab.log" 2>&1 || return 0
	done
	# One emulated machine in a hundred is late for a reason of its own. CI tries those again, and
	# those only: see assert_time in test/lab/kit/lib.sh.
	[ -z "${CI:-}" ] || export VSCALED_RETRY_LATE=1
	rm -f build/release/lab/retried
	run_tests lab release -L '^lab$' "${long[@]}" -j "${VSCALED_LAB_JOBS:-2}"
}

# retries FILE: names and counts what ctest.sh tried a second time
retries()
{
	local name

	[ -s "$1" ] || return 0
	while read -r name; do
		echo "second attempt: $name"
		retried=$((retried + 1))
	done <"$1"
}

cd "$root"
mkdir -p "$logs"
"$here/packages.sh" install build test lab deploy || [ -z "${VSCALED_MUST_RUN:-}" ]
# For the tests of manifests and API server; which of them cannot do without it says so.
KUBECTL=$("$here/lab.sh" kubectl 2>/dev/null) && export KUBECTL
build "$main"
if [ -n "$ci" ]; then
	build release
	step "build Debian 13" "$here/debian.sh" trixie build
	step "build fuzzers" build_fuzzers
fi
if [ -n "$full" ]; then
	build dev
	"$here/packages.sh" install arm64
	step "build arm64" "$here/debian.sh" --arch arm64 trixie build
fi

# The whole of clang-tidy takes minutes, as the builds on Debian 13 that image and package take.
tidy=(-E '^lint_(format|tidy)$') image=(-E '^deploy_(image|package)')
[ -z "$ci" ] || tidy=(-E '^lint_format$') image=()
tests format "$main" -R '^lint_format$'
tests lint "$main" -L '^lint$' "${tidy[@]}"
if [ -z "$ci" ]; then
	# CI runs these later, beside the lab, and on Debian 13.
	for label in unit vectors fake; do
		tests $label dev -L "^$label\$" -LE '^(lint|full)$' -j "$jobs"
	done
fi
if [ -n "$ci" ]; then
	lab_start=$SECONDS
	lab &
	lab_pid=$!
fi
# These wait for the daemon's clock most of the time, which stands while the machine stalls.
tests kube "$main" -L '^kube$' -LE '^full$' -j "$kube_jobs"
if [ -n "$full" ] && has full dev; then
	tests "long runs" dev -L '^full$' -LE '^lab$' -j "$jobs"
fi
for label in fuzz deploy; do
	if has $label "$main"; then
		tests $label "$main" -L "^$label\$" -LE '^full$' "${image[@]}" -j "$jobs"
	fi
done
if [ -n "$ci" ]; then
	in_debian "Debian 13" trixie-release '^metrics_prom' # Prometheus is the host's
	# QEMU has no bpf() and not the memory of a process, and it is slow.
	[ -z "$full" ] || in_debian arm64 trixie-arm64-release \
		'^(metrics_prom|test_metrics_server$|test_http_crowd$|test_scan|docs_commands$|ctl_completion$)' --arch arm64
	tests asan asan -L '^(unit|vectors|fake|fuzz)$' -LE '^(lint|full)$' -j "$jobs"
	tests fuzzers fuzz -L '^fuzz$' -j "$jobs"
	wait "$lab_pid"
	judge lab "$lab_start"
	retries build/release/lab/retried
fi

printf %s "$summary"
[ "$skipped" = 0 ] || echo "$skipped skipped"
echo "$retried retried"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ]

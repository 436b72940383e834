# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For scenarios: `. /opt/lab/lib.sh`, checks, `verdict` as the last line.
# A process costs 50 ms in the emulated machine: the helpers avoid forks, and timing belongs in C.
# shellcheck disable=SC2034  # for the scenarios

CG=/sys/fs/cgroup
SYSTEMD_VERSION=$(systemctl --version | sed -n '1s/^systemd \([0-9]*\).*/\1/p')
lab_checks=0
lab_failed=0
lab_late=0 # of those that failed: by their time alone
lab_failures=() # the lines of those that failed, for the end
LAB_LATE=75 # exit status: nothing failed but times
declare -A param=() # what scenarios.txt says of this one
if [ -e /lab/parameters ]; then
	while IFS='=' read -r key value; do
		param[$key]=$value
	done </lab/parameters
fi
exec {lab_never}<> <(:) # reading it times out: a pause without a process

# uptime: seconds since boot, with centiseconds
uptime_now()
{
	local up

	read -r up _ </proc/uptime
	echo "$up"
}

# say TEXT...: a line with the time, for the log
say()
{
	local up

	read -r up _ </proc/uptime
	printf '[%8s] %s\n' "$up" "$*"
}

# assert TEXT COMMAND...: one check; goes on after a failure
assert()
{
	local text=$1

	shift
	lab_checks=$((lab_checks + 1))
	if "$@"; then
		say "ok: $text"
	else
		lab_failed=$((lab_failed + 1))
		lab_failures+=("$(say "FAILED: $text [$*]")")
		echo "${lab_failures[-1]}"
		return 1
	fi
}

# assert_num TEXT A -OP B: compares integers by test(1)'s operators and shows them
assert_num()
{
	assert "$1 ($2 $3 $4)" [ "$2" "$3" "$4" ]
}

# assert_time TEXT A -OP B: the same for a time that the machine may have missed for a reason of its own.
# A scenario in which nothing else failed may be tried a second time (test/lab/ctest.sh). Not for kills,
# lost limits, lost state, or what happened too early.
assert_time()
{
	assert_num "$@" || {
		lab_late=$((lab_late + 1))
		return 1
	}
}

# must TEXT COMMAND...: a check without which the rest makes no sense
must()
{
	assert "$@" || verdict
}

# verdict: exit status of the scenario; one without a single check has failed. What failed is printed
# again as the last lines: a log that is cut has them at its end.
verdict()
{
	say "$lab_checks checks, $lab_failed failed$([ "$lab_late" = 0 ] || echo ", $lab_late of them by time")"
	[ "$lab_failed" = 0 ] || printf '%s\n' "${lab_failures[@]}"
	[ "$lab_failed" = 0 ] || [ "$lab_failed" != "$lab_late" ] || exit $LAB_LATE
	[ "$lab_failed" = 0 ] && [ "$lab_checks" -gt 0 ]
	exit
}

# pause SECONDS, without a process
pause()
{
	read -r -t "$1" -u "$lab_never" || true
}

# wait_until SECONDS COMMAND...: true as soon as COMMAND is, false when the time is over
wait_until()
{
	local deadline=$((SECONDS + $1))

	shift
	until "$@"; do
		[ $SECONDS -lt $deadline ] || return 1
		pause 0.1
	done
}

# unit_prop UNIT PROPERTY
unit_prop()
{
	systemctl show --value -p "$2" -- "$1"
}

# unit_start UNIT "PROPERTY=VALUE ..." PROGRAM [ARG]...: a transient service, its output in the journal
unit_start()
{
	local unit=$1 p properties=()

	for p in $2; do
		properties+=(-p "$p")
	done
	shift 2
	systemd-run --quiet --unit="$unit" "${properties[@]}" -- "$@"
}

# unit_cgroup UNIT: its folder under /sys/fs/cgroup
unit_cgroup()
{
	echo "$CG$(unit_prop "$1" ControlGroup)"
}

# cg FOLDER FILE [KEY]: a cgroup file's text, or the number behind KEY in a keyed one
cg()
{
	local key value

	[ -n "${3:-}" ] || { cat "$1/$2"; return; }
	while read -r key value; do
		[ "$key" != "$3" ] || echo "$value"
	done <"$1/$2"
}

# quota_percent FOLDER: cpu.max in percent of one CPU, "max" if there is none
quota_percent()
{
	local quota period

	read -r quota period <"$1/cpu.max"
	[ "$quota" = max ] || quota=$((quota * 100 / period))
	echo "$quota"
}

# journal_count MATCH...: entries since boot that match (journalctl's FIELD=value)
journal_count()
{
	journalctl -q --no-pager -o cat --output-fields=MESSAGE "$@" | wc -l
}

# journal_has MATCH...
journal_has()
{
	[ "$(journalctl -q --no-pager -o cat -n 1 --output-fields=MESSAGE_ID,MESSAGE "$@" | wc -l)" -gt 0 ]
}

# journal_wait SECONDS MATCH...: until such an entry is there
journal_wait()
{
	local seconds=$1

	shift
	wait_until "$seconds" journal_has "$@"
}

# agent_config CLOCKS [UNITS]: writes vscaled.yaml. CLOCKS short: everything that takes minutes or
# days takes seconds. UNITS: the entries of `units`, one flow mapping a line.
agent_config()
{
	mkdir -p /etc/vscaled
	{
		echo 'apiVersion: config.vscaled.dev/v1alpha1'
		echo 'kind: VscaledConfiguration'
		if [ "$1" = short ]; then
			cat <<-Y
			clocks: {reviewInterval: 1s, stateInterval: 2s}
			history: {confidenceAfter: 20s}
			cpu: {recentWindow: 5s, shrinkInterval: 3s}
			memory: {shrinkHistory: 5s, shrinkQuiet: 5s, shrinkInterval: 4s, highWatch: 1s, verdictWindow: 3s, settleAfter: 5s}
			common: {startQuiet: 3s}
			Y
		fi
		echo 'units:'
		printf '%s\n' "$2"
	} >/etc/vscaled/vscaled.yaml
	vscalectl config check /etc/vscaled/vscaled.yaml
}

agent_ready()
{
	vscalectl status >/dev/null 2>&1
}

# agent_start: the installed unit, until it answers
agent_start()
{
	systemctl start vscaled.service && wait_until 30 agent_ready
}

agent_pid()
{
	unit_prop vscaled.service MainPID
}

# managed UNIT: the agent has found it
managed()
{
	vscalectl list -o json | jq -e --arg u "$1" \
		'(.units // .) | .[] | select(.name == $u and .state == "managed")' >/dev/null
}

# mem_max FOLDER, in bytes or "max"
mem_max()
{
	cat "$1/memory.max"
}

# event_count NAME [MATCH...]: the agent's events of a kind, by the name in docs/journal.md
event_count()
{
	journal_count VSCALED_EVENT="$1" "${@:2}"
}

event_seen()
{
	journal_has VSCALED_EVENT="$1" "${@:2}"
}

# event_wait SECONDS NAME [MATCH...]
event_wait()
{
	wait_until "$1" event_seen "${@:2}"
}

# unit_file UNIT "DIRECTIVE=VALUE ..." COMMAND...: a service with a file of its own, started. Unlike
# a transient one its settings stand apart from what is set later.
unit_file()
{
	local unit=$1 p settings=$2

	shift 2
	{
		echo '[Service]'
		for p in $settings; do
			echo "$p"
		done
		echo "ExecStart=$*"
	} >/etc/systemd/system/"$unit"
	systemctl daemon-reload && systemctl start "$unit"
}

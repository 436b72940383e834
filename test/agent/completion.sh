#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# completion.sh VSCALECTL: what the shell offers, for every command that the program has.
set -euo pipefail
program=$1
# shellcheck source=agent/ctl/vscalectl.bash-completion
. "$(dirname "$0")/../../agent/ctl/vscalectl.bash-completion"
failed=0

# Of the daemon.
vscalectl()
{
	printf 'NAME CPU\nweb.service 1\nshop/web-0/app 2\n'
}

# offers WANTED WORD...: for the last word, all that is wanted and nothing else
offers()
{
	local wanted=$1 got status=0

	shift
	COMP_WORDS=(vscalectl "$@") COMP_CWORD=$#
	COMPREPLY=()
	_vscalectl || status=$?
	# 1: nothing matches
	if [ $status -gt 1 ]; then
		failed=1
		printf 'FAILED: vscalectl %s: the completion ends with %d\n' "$*" $status
	fi
	got=$(printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' ')
	[ "$got" = "$(tr ' ' '\n' <<<"$wanted" | sort | paste -sd' ')" ] && return
	failed=1
	printf 'FAILED: vscalectl %s: offered %s, not %s\n' "$*" "$got" "$wanted"
}

commands=$("$program" help | sed -n '/^Commands/,/^Options/s/^  \([a-z]*\).*/\1/p' | sort -u | paste -sd' ')
offers "$commands" ""
offers "report record restore resume" re
units="web.service shop/web-0/app"
for command in explain pause resume restore history "record dump" "record replay"; do
	read -ra words <<<"$command"
	offers "$units" "${words[@]}" ""
done
offers shop/web-0/app history shop
offers shop list -n ""
offers "dump replay" record ""
offers "check show" config ""
offers vpa import ""
offers "--recording" record dump --rec
offers "--verify --version" history --ver
offers "--cpus" backtest --cp

# A format is offered if and only if the program takes it.
while read -ra words; do
	wanted=''
	for format in table wide json yaml csv patch html; do
		status=0
		"$program" "${words[@]}" -o $format --socket /nonexistent >/dev/null 2>&1 </dev/null ||
			status=$?
		[ $status = 2 ] || wanted+="${wanted:+ }$format"
	done
	offers "$wanted" "${words[@]}" -o ""
done <<'COMMANDS'
status
list
explain x
report
doctor
config show
COMMANDS
offers "table json yaml html" history web.service -o ""
offers "table json yaml html" backtest x.csv -o ""
offers "table json yaml csv" record dump -o ""
exit $failed

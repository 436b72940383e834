# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For the demonstrations: use inside limit, as a line of bars. `group` names the folder of each that
# is shown.

BAR=14 # characters
MB=1048576
declare -A group=() cpu_before=() at_before=()
line=''
exec {bars_never}<> <(:) # reading it times out: a pause without a process

# bar USE LIMIT FULL: adds to `line`; # is in use, - is left, | is the limit
bar()
{
	local use=$(($1 * BAR / $3)) limit=$(($2 * BAR / $3))
	local used='##############' left='--------------' none='              '

	[ $limit -lt $BAR ] || limit=$((BAR - 1))
	[ $use -le $limit ] || use=$limit
	line+="[${used:0:use}${left:0:limit-use}|${none:0:BAR-1-limit}]"
}

# show NAME CPU_PERCENT MEGABYTES: adds its half to `line`; the numbers are full scale
show()
{
	local g=${group[$1]} key value quota period current max now used=0 number

	read -r quota period <"$g/cpu.max"
	read -r max <"$g/memory.max"
	read -r current <"$g/memory.current"
	while read -r key value; do
		[ "$key" != usage_usec ] || used=$value
	done <"$g/cpu.stat"
	now=${EPOCHREALTIME/./}
	bar $(((used - ${cpu_before[$1]:-0}) * 100 / (now - ${at_before[$1]:-0}))) \
		$((quota * 100 / period)) "$2"
	printf -v number '%4d%% ' $((quota * 100 / period))
	line+=$number
	bar "$current" "$max" $(($3 * MB))
	printf -v number '%4dM  ' $((max / MB))
	line+=$number
	cpu_before[$1]=$used at_before[$1]=$now
}

# show_seconds N CPU_PERCENT MEGABYTES NAME...: a line a second, in one piece, so that others' lines
# come between
show_seconds()
{
	local begin=$SECONDS count=$1 second name

	for ((second = 1; second <= count; second++)); do
		while [ $((SECONDS - begin)) -lt $second ]; do
			read -r -t 0.1 -u "$bars_never" || true
		done
		printf -v line '%3ds  ' $second
		for name in "${@:4}"; do
			show "$name" "$2" "$3"
		done
		echo "${line%  }"
	done
}

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For benches of memory that outgrows its limit: after lib.sh and figures.sh. RATES, RUNS, PEER_RUNS
# and FREE_RUNS make them shorter. A grower is KIND-RATE-I and runs kit/grow; the bench says how it is
#	grower NAME KIND HUGE MB RATE	made, idle. HUGE: -H or nothing
#	grower_files NAME		found: sets g, its cgroup, and log, what it prints
#	grower_go NAME MB RATE		makes it grow to MB

RATES=${RATES:-10 50 200 500}
RUNS=${RUNS:-30}
PEER_RUNS=${PEER_RUNS:-5}
FREE_RUNS=${FREE_RUNS:-3}
MIN_MB=128 MAX_MB=448
names=() # of all that were made

# growth_count RATE COUNT: the fastest rate is reported only, and a third of it is enough; sets count
growth_count()
{
	count=$2
	[ "$1" -lt 500 ] || count=$((($2 + 2) / 3))
}

# growth_mb I OF: sets mb, what it has in the end; 1 of it from the start
growth_mb()
{
	mb=$((MIN_MB + (MAX_MB - MIN_MB) * $1 / ($2 > 1 ? $2 - 1 : 1) + 1))
}

# growers KIND RATE COUNT: every other one has huge pages
growers()
{
	local i count mb huge

	growth_count "$2" "$3"
	for ((i = 0; i < count; i++)); do
		growth_mb $i "$count"
		huge=
		[ $((i % 2)) = 0 ] || huge=-H
		grower "$1-$2-$i" "$1" "$huge" "$mb" "$2"
		names+=("$1-$2-$i")
	done
}

# each KIND COUNT COMMAND: for every rate
each()
{
	local rate

	for rate in $RATES; do
		"$3" "$1" "$rate" "$2"
	done
}

# uptime_ms VARIABLE
uptime_ms()
{
	local up

	read -r up _ </proc/uptime
	printf -v "$1" %d $((10#${up/./} * 10))
}

# growth_line FILE MB: what grow wrote when it came that far; empty: it has not, or goes on
growth_line()
{
	local lines one line=

	mapfile -t lines <"$1"
	for one in "${lines[@]}"; do
		[[ $one != 'grow reached='*" mb=$2 "*took_ms=* ]] || line=$one
	done
	growth_line=$line
}

# growth_over MB: it has come that far, or is gone
growth_over()
{
	growth_line "$log" "$1"
	[ -n "$growth_line" ] || ! read -r _ <"$g/cgroup.procs"
} 2>/dev/null

# growth_follow PERCENT: what a peer's loop does: the limit leaves this much above the highest use it
# saw
growth_follow()
{
	local use limit

	{ read -r use <"$g/memory.current" && read -r limit <"$g/memory.max"; } 2>/dev/null || return 0
	use=$((use * $1 / 100))
	[ $use -le "$limit" ] || echo $use >"$g/memory.max"
} 2>/dev/null

# growth_run KIND RATE I OF: one growth; adds "KIND RATE KILLED MB TOOK_MS STALL_MS" to runs. KIND vpa
# and poll: beside that peer's loop.
growth_run()
{
	local name=$1-$2-$3 mb g log begin now tick every=0 took stall

	growth_mb "$3" "$4"
	grower_files "$name"
	uptime_ms begin
	case $1 in
	vpa) every=60000 tick=$((begin + every * $3 / $4)) ;;
	poll) every=1000 tick=$((begin + every * $3 / $4)) ;;
	esac
	grower_go "$name" "$mb" "$2"
	until growth_over "$mb"; do
		uptime_ms now
		[ $((now - begin)) -lt 180000 ] || break
		if [ $every != 0 ] && [ "$now" -ge $tick ]; then
			growth_follow $((every == 1000 ? 120 : 115))
			tick=$((tick + every))
		fi
		pause 0.05
	done
	# One that is gone may have said its last word after it was looked for.
	growth_line "$log" "$mb"
	took=${growth_line#*took_ms=} stall=${growth_line##*max_stall_ms=}
	if [ -n "$growth_line" ]; then
		echo "$1 $2 0 $((mb - 1)) ${took%% *} ${stall%% *}"
	elif growth_over "$mb"; then
		echo "$1 $2 1 $((mb - 1))"
	else
		echo "$1 $2 stuck $((mb - 1))"
	fi >>"$OUT/runs"
}

# growth_runs KIND RATE COUNT: one after the other; the slowest ones load the machine by a fiftieth:
# three at a time. Other jobs of the shell, as kube.sh has one, are not waited for.
growth_runs()
{
	local i count pids=()

	growth_count "$2" "$3"
	for ((i = 0; i < count; i++)); do
		growth_run "$1" "$2" "$i" "$count" &
		pids+=($!)
		if [ "$2" != 10 ] || [ ${#pids[@]} = 3 ]; then
			wait "${pids[@]}"
			pids=()
		fi
	done
	[ ${#pids[@]} = 0 ] || wait "${pids[@]}"
	say "$1 at $2 MB/s: done"
}

# $OUT/runs has a line for each growth: KIND RATE KILLED MB TOOK_MS STALL_MS. KIND ramp and stay: with
# vscaled; free: without a limit; none, vpa, poll: with a peer's law. KILLED is 0, 1 or stuck.

# growth_killed: how many
growth_killed()
{
	awk '$3 == 1 { n++ } END { print n + 0 }' "$OUT/runs"
}

growth_ended()
{
	! grep -q ' stuck ' "$OUT/runs"
}

# growth_figures [TAIL [KIND]]: of KIND (ramp), from $OUT/runs; a name ends in TAIL
growth_figures()
{
	awk -v tail="${1:-}" -v kind="${2:-ramp}" '
	function figure(name, value, unit) {
		printf "{\"name\":\"%s%s\",\"value\":%s,\"unit\":\"%s\"}\n", name, tail, value, unit
	}
	# rates and stalls of those that lived; a stall list is sorted for its percentile
	function sorted(a, n,    i, j, t) {
		for (i = 2; i <= n; i++)
			for (j = i; j > 1 && a[j - 1] > a[j]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
	}
	{
		k = $1 " " $2; n[k]++; rates[$2] = 1
		if ($3 != 0) { killed[k]++; next }
		mbs = $4 * 1000 / $5; sum[k] += mbs; lived[k]++
		if (!(k in least) || mbs < least[k]) least[k] = mbs
		stall[k, lived[k]] = $6
	}
	END {
		split("no_agent vpa poll", peer_name); split("none vpa poll", peer)
		for (r in rates) {
			f = "free " r; k = kind " " r; free = lived[f] ? sum[f] / lived[f] : 0
			if (!n[k]) continue
			figure("unlimited_" r "mbs", sprintf("%.1f", free), "MB/s")
			if (free < 0.8 * r) { figure("void_" r "mbs", 1, "rate not reached"); continue }
			figure("oom_kills_" r "mbs", killed[k] + 0, "of " n[k] " runs")
			if (lived[k] > 0) {
				figure("oom_throughput_" r "mbs", sprintf("%.1f", 100 * sum[k] / lived[k] / free),
					"% of unlimited")
				figure("oom_throughput_least_" r "mbs", sprintf("%.1f", 100 * least[k] / free),
					"% of unlimited")
				m = 0; delete s
				for (i = 1; i <= lived[k]; i++) s[++m] = stall[k, i]
				sorted(s, m); p = int(m * 0.95); if (p < m * 0.95) p++
				figure("oom_stall_p95_" r "mbs", s[p], "ms")
				figure("oom_stall_max_" r "mbs", s[m], "ms")
			}
			for (i = 1; i <= 3; i++)
				if (kind == "ramp" && n[peer[i] " " r])
					figure("oom_kills_" r "mbs_" peer_name[i], killed[peer[i] " " r] + 0,
						"of " n[peer[i] " " r] " runs")
		}
	}' "$OUT/runs" >>"$OUT/figures"
}

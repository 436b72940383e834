# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# For benches in the lab: after lib.sh, `. /opt/lab/figures.sh`. Figures go to /lab/out/figures.
# shellcheck disable=SC2034  # for the benches

OUT=/lab/out
uname -r >$OUT/kernel

# figure NAME VALUE UNIT
figure()
{
	printf '{"name":"%s","value":%s,"unit":"%s"}\n' "$@" >>$OUT/figures
}

# raise_times FIELD [MATCH...]: of every raise in the journal, microseconds, ascending
raise_times()
{
	journalctl -q -t vscaled -o cat --output-fields="$1" VSCALED_EVENT=limit-raised "${@:2}" | sort -n
}

# raise_figures SUFFIX [MATCH...]: from when a look was due, or memory.events spoke, until the higher
# limit stood in the file; own: of that, since the agent woke up
raise_figures()
{
	local name field

	for name in event_to_write_ms event_to_write_own_ms; do
		[ $name = event_to_write_ms ] && field=VSCALED_SPAN_USEC || field=VSCALED_OWN_USEC
		raise_times $field "${@:2}" >"$OUT/$name$1"
		figure "${name}_p50$1" "$(percentile 50 "$OUT/$name$1")" ms
		figure "${name}_p95$1" "$(percentile 95 "$OUT/$name$1")" ms
	done
	figure "event_to_write_runs$1" "$(wc -l <"$OUT/$name$1")" runs
}

# percentile P FILE: of sorted microseconds, in ms
percentile()
{
	awk -v p="$1" '{ v[NR] = $1 } END { if (NR) print v[int((NR * p + 99) / 100)] / 1000; else print -1 }' "$2"
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

# $OUT/runs has a line for each growth: KIND RATE KILLED MB TOOK_MS STALL_MS. KIND ramp: with vscaled;
# free: without a limit; none, vpa, poll: with a peer's law. KILLED is 0, 1 or stuck.

# growth_killed: how many
growth_killed()
{
	awk '$3 == 1 { n++ } END { print n + 0 }' $OUT/runs
}

growth_ended()
{
	! grep -q ' stuck ' $OUT/runs
}

# growth_figures: from $OUT/runs; a name ends in $1
growth_figures()
{
	awk -v tail="${1:-}" '
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
			f = "free " r; k = "ramp " r; free = lived[f] ? sum[f] / lived[f] : 0
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
				if (n[peer[i] " " r])
					figure("oom_kills_" r "mbs_" peer_name[i], killed[peer[i] " " r] + 0,
						"of " n[peer[i] " " r] " runs")
		}
	}' $OUT/runs >>$OUT/figures
}

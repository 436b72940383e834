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

# raise_figures SUFFIX [MATCH...]: from when a look was due, or memory.events woke the agent, until the higher
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

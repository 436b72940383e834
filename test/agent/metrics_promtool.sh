#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# metrics_promtool.sh PAGE: the metrics pass Prometheus' own check, and so do the alerts, which fire
# when they should (alerts_test.yaml).
set -euo pipefail
page=$1
root=$(cd "$(dirname "$0")/../.." && pwd)

command -v promtool >/dev/null || {
	echo "SKIP: no promtool (Debian package prometheus)"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

"$page" text 3 >"$dir/text"
words=$(promtool check metrics <"$dir/text" 2>&1) || { echo "$words"; exit 1; }
[ -z "$words" ] || { echo "$words"; exit 1; }

# The check must be able to fail.
sed 's/vscaled_limit_changes_total/vscaled_limit_changes/' "$dir/text" >"$dir/bad"
if promtool check metrics <"$dir/bad" >/dev/null 2>&1; then
	echo "promtool passes anything"
	exit 1
fi

# The alerts are valid, name metrics that there are, and fire.
rules=agent/deploy/components/monitoring/prometheusrule.yaml
sed '1,/^spec:/d; s/^  //' "$root/$rules" >"$dir/alerts.yaml"
promtool check rules "$dir/alerts.yaml"
grep -o 'vscaled_[a-z_]*' "$dir/alerts.yaml" | sort -u >"$dir/names"
[ -s "$dir/names" ]
while read -r name; do
	grep -q "^# TYPE ${name%_bucket} " "$dir/text" || {
		echo "$rules: an alert names $name, which is no metric"
		exit 1
	}
done <"$dir/names"
# Each leads to a heading of the documents.
grep -o 'runbook_url: .*' "$dir/alerts.yaml" | sort -u | while IFS=/# read -r _ _ _ folder page part; do
	sed -n 's/^##* \(.*\)/\L\1/p' "$root/$folder/$page" | tr ' ' - | grep -qxF -- "$part" || {
		echo "$rules: $folder/$page has no heading #$part"
		exit 1
	}
done
# The test compares annotations, too, which are prose.
sed -i '/^ *annotations:/,/^ *- alert:/{/- alert:/!d}' "$dir/alerts.yaml"
cp "$root/test/agent/alerts_test.yaml" "$dir/"
promtool test rules "$dir/alerts_test.yaml"
sed -n 's/.*- alert: //p' "$dir/alerts.yaml" | while read -r name; do
	grep -q "alertname: $name\$" "$dir/alerts_test.yaml" || {
		echo "alerts_test.yaml: no test of $name"
		exit 1
	}
done

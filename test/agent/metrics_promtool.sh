#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# metrics_promtool.sh PAGE: the metrics pass Prometheus' own check, and so do docs/metrics.md's alerts.
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

# The alerts of the reference are valid, and name metrics that there are.
awk '/^```/ { inside = $0 == "```yaml"; next } inside' "$root/docs/metrics.md" >"$dir/alerts.yaml"
promtool check rules "$dir/alerts.yaml"
grep -o 'vscaled_[a-z_]*' "$dir/alerts.yaml" | sort -u >"$dir/names"
[ -s "$dir/names" ]
while read -r name; do
	grep -q "^# TYPE ${name%_bucket} " "$dir/text" || {
		echo "docs/metrics.md: an alert names $name, which is no metric"
		exit 1
	}
done <"$dir/names"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Python: it compiles without a warning, says its licence first, keeps the size of a file.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"
need python3

readonly LINES_MAX=500

cd "$ROOT"
while read -r f; do
	head -n 2 "$f" | grep -qxF "# SPDX-License-Identifier: Apache-2.0" || bad "$f: no SPDX line at the top"
	[ "$(wc -l <"$f")" -le $LINES_MAX ] || bad "$f: more than $LINES_MAX lines"
	python3 -W error -c 'import sys; compile(open(sys.argv[1]).read(), sys.argv[1], "exec")' "$f" ||
		bad "$f: does not compile"
done < <(project_files '*.py')
verdict

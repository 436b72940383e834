#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Python: it compiles without a warning, says its licence first, keeps the size of a file.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"
need python3

readonly LINES_MAX=1200

cd "$ROOT"
mapfile -t files < <(project_files '*.py')
for f in "${files[@]}"; do
	[ "$(head -n 1 "$f")" = "# SPDX-License-Identifier: Apache-2.0" ] || bad "$f: no SPDX line at the top"
	[ "$(wc -l <"$f")" -le $LINES_MAX ] || bad "$f: more than $LINES_MAX lines"
done
python3 -W error - "${files[@]}" <<'END' || bad "Python that does not compile"
import pathlib
import sys
for name in sys.argv[1:]:
    compile(pathlib.Path(name).read_text(encoding="utf-8"), name, "exec")
END
verdict

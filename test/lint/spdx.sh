#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every source says its licence at its top, the licences used have their texts, and no C file outgrows
# 1,200 lines.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"

readonly SPDX="SPDX-License-Identifier: Apache-2.0"
# What is loaded into the kernel, and the headers that it shares with its readers.
readonly SPDX_BPF="SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause"
readonly LINES_MAX=1200

# top FILE: the line that must hold the licence
top()
{
	case $1 in
	cgroup/bpf/kernel/*.c) [ "$(head -n 1 "$1")" = "// $SPDX_BPF" ] ;;
	cgroup/bpf/kernel/*.h) [[ $(head -n 1 "$1") == "/* $SPDX_BPF"* ]] ;;
	*.c) [ "$(head -n 1 "$1")" = "// $SPDX" ] ;;
	*.h) [[ $(head -n 1 "$1") == "/* $SPDX"* ]] ;;
	*) head -n 3 "$1" | grep -qxF "# $SPDX" ;;
	esac
}

cd "$ROOT"
while read -r f; do
	top "$f" || bad "$f: no SPDX line at the top"
	[[ $f != *.c ]] || [ "$(wc -l <"$f")" -le $LINES_MAX ] || bad "$f: more than $LINES_MAX lines"
done < <(
	project_files '*.c' '*.h' '*.sh' '*.cmake' 'CMakeLists.txt' '*/CMakeLists.txt'
	project_files '*' | xargs -r grep -lIE -m 1 '^#!' --
)
# For `reuse lint`: the text of every licence that a file or REUSE.toml names, and of no other.
used=$({
	project_files '*' | xargs -r grep -hoIE '^[#/*< !-]*SPDX-License-Identifier: [A-Za-z0-9. -]+[A-Za-z0-9]'
	grep '^SPDX-License' REUSE.toml
} | sed -E 's/.*Identifier(: | = ")//; s/"$//; s/ --$//; s/ (OR|AND) /\n/g' | sort -u)
texts=$(cd LICENSES && printf '%s\n' *.txt | sed 's/\.txt$//' | sort)
[ "$used" = "$texts" ] || bad "LICENSES/ has $texts, used are $used"
verdict

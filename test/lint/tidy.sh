#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh BUILD_DIR: clang-tidy over the compile commands, two at a time; those of test/, which take as
# long again, with VSCALED_FULL=1 only. A file that passed is not checked again, in any checkout, until
# what it is compiled from changes: one empty file per pass in $VSCALED_TIDY, default
# ~/.cache/vscaled-tidy.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"

# one COMMAND DIRECTORY FILE
one()
{
	local preprocess key pass

	preprocess=$(sed -E 's/ -o [^ ]+ -c / -E /' <<<"$1")
	key=$(cd "$2" && { echo "$1"; cat "$ROOT/.clang-tidy" "$ROOT/test/.clang-tidy" "$3"; clang-tidy --version
		eval "$preprocess"; } | sed "s|$BUILD||g; s|$ROOT||g" | sha256sum | cut -c1-32)
	pass=$PASSED/$key
	[ ! -e "$pass" ] || return 0
	clang-tidy -p "$BUILD" --quiet "$3" 2>"$pass.$$.err" || {
		grep -v 'warnings generated' "$pass.$$.err" || true
		rm "$pass.$$.err"
		return 1
	}
	rm "$pass.$$.err"
	touch "$pass"
}

PASSED=${VSCALED_TIDY:-$HOME/.cache/vscaled-tidy}
if [ "$1" = --one ]; then
	BUILD=$2
	one "$3" "$4" "$5"
	exit
fi
need clang-tidy jq
BUILD=$(realpath "$1")
[ -f "$BUILD/compile_commands.json" ] || { echo "$BUILD has no compile_commands.json"; exit 1; }
mkdir -p "$PASSED"
find "$PASSED" -type f -mtime +7 -delete
jq -j --arg tests "${VSCALED_FULL:+1}" --arg root "$ROOT" '.[]
	| select($tests == "1" or (.file | startswith($root + "/test/") | not))
	| .command, "\u0000", .directory, "\u0000", .file, "\u0000"' \
	"$BUILD/compile_commands.json" | xargs -0 -r -n 3 -P 2 "$0" --one "$BUILD"

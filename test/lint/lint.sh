# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by the checks of this folder. ROOT = the project.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
lint_failed=0

# bad TEXT...: one finding
bad()
{
	echo "$*"
	lint_failed=$((lint_failed + 1))
}

# verdict: the end of a check
verdict()
{
	[ "$lint_failed" = 0 ] || { echo "$lint_failed finding(s)"; exit 1; }
	exit 0
}

# need PROGRAM...: without it the check is skipped, or failed where skips are not allowed
need()
{
	local p

	for p in "$@"; do
		command -v "$p" >/dev/null && continue
		echo "SKIP: no $p (test/packages.sh install test)"
		[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
		exit 77
	done
}

# project_files GLOB...: the project's own files, those of git where there is a repository
project_files()
{
	local glob

	cd "$ROOT" || exit
	if git rev-parse --git-dir >/dev/null 2>&1; then
		git ls-files -- "$@" | while read -r f; do
			[ ! -f "$f" ] || echo "$f"
		done
		return
	fi
	for glob in "$@"; do
		find . -path ./build -prune -o -type f -path "*/${glob##*/}" -printf '%P\n'
	done | sort -u
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every C file stands as clang-format 19, which Debian 12 and 13 have, would write it.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"
need clang-format-19

cd "$ROOT"
project_files '*.c' '*.h' | xargs -r -n 20 -P 2 clang-format-19 --dry-run --Werror

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs shellcheck over every script of the project, with or without an ending to its name.
set -euo pipefail
# shellcheck source=lint.sh
. "$(dirname "$0")/lint.sh"
need shellcheck

cd "$ROOT"
project_files '*' | xargs -r grep -lIE -m 1 '^#!/bin/(ba)?sh|^# shellcheck shell=' -- | xargs -r shellcheck

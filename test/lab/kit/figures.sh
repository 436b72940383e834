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

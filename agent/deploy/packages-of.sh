#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages-of.sh PROGRAM...: the Debian packages that the programs are linked to, beside the C library;
# to be run on the system that they were built on.
set -eu
[ $# -gt 0 ] || { echo "usage: packages-of.sh PROGRAM..." >&2 && exit 2; }
objdump -p "$@" | awk '$1 == "NEEDED" && $2 !~ /^(libc|libm|ld-linux.*)\.so/ { print "*/" $2 }' | sort -u |
	xargs dpkg-query -S | sed 's/:.*//' | sort -u

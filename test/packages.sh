#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The one list of Debian packages: packages.sh list|install [build|test|lab|suite|deploy|arm64 ...], default all.
set -euo pipefail

# build: all that is compiled, the tests among it. suite: what unit tests and a package need in a userland
# of another Debian suite (debian.sh). arm64: to build, test and boot for it; not by default.
declare -A group=(
	[build]="gcc libc6-dev cmake ninja-build pkg-config
		libsystemd-dev libcgroup-dev libcjson-dev libcurl4-openssl-dev libbpf-dev libyaml-dev
		libmicrohttpd-dev zlib1g-dev libssl-dev python3 scdoc clang bpftool"
	[test]="systemd git clang-format-19 clang-tidy libclang-rt-dev shellcheck man-db curl jq prometheus
		openssl python3"
	[lab]="qemu-system-x86 qemu-utils mmdebstrap debian-archive-keyring e2fsprogs cpio zstd
		xz-utils lz4 kmod binutils python3"
	[suite]="systemd git man-db curl jq openssl binutils build-essential debhelper lintian"
	[deploy]="umoci mmdebstrap yamllint binutils nodejs npm"
	[arm64]="arch-test qemu-user-static qemu-system-arm gcc-aarch64-linux-gnu libc6-dev-arm64-cross"
)

usage()
{
	echo "usage: packages.sh list|install [build|test|lab|suite|deploy|arm64 ...]" >&2
	exit 2
}

# Programs that are often there from elsewhere, in packages that would clash with Debian's.
declare -A program=([nodejs]=node [npm]=npm)

missing()
{
	local p

	for p in "$@"; do
		! command -v "${program[$p]:-/}" >/dev/null || continue
		[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null)" = installed ] || echo "$p"
	done
}

install()
{
	local want

	mapfile -t want < <(missing "$@")
	[ ${#want[@]} -gt 0 ] || return 0
	if [ "$(id -u)" != 0 ]; then
		echo "packages.sh: missing packages, run as root: apt-get install ${want[*]}" >&2
		return 1
	fi
	echo "packages: installing ${#want[@]}: ${want[*]}"
	export DEBIAN_FRONTEND=noninteractive
	# A fresh machine's own update may hold apt's lock for minutes.
	local wait=(-o DPkg::Lock::Timeout=600)
	apt-get "${wait[@]}" install -qq -y --no-install-recommends "${want[@]}" >/dev/null 2>&1 && return 0
	# Stale or absent package lists: fetch them, then fail loudly if it still does not work.
	apt-get update -qq
	apt-get "${wait[@]}" install -qq -y --no-install-recommends "${want[@]}" >/dev/null
}

[ $# -ge 1 ] || usage
verb=$1
shift
[ $# -gt 0 ] || set -- build test lab deploy
names=()
for g in "$@"; do
	[ -n "${group[$g]:-}" ] || usage
	read -r -d '' -a more <<<"${group[$g]}" || true
	names+=("${more[@]}")
done

case $verb in
list) printf '%s\n' "${names[@]}" ;;
install) install "${names[@]}" ;;
*) usage ;;
esac

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds and runs in a userland of another Debian suite: see usage().
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
# shellcheck source=lab/common.sh
. "$here/lab/common.sh"

usage()
{
	cat <<-E
	usage: test/debian.sh [--arch arm64] SUITE build
	       test/debian.sh [--arch arm64] SUITE run COMMAND...
	Works in a userland of the Debian SUITE (trixie, sid) with this folder at its own place.
	  build   the presets dev and release, warnings are errors: dev with clang, release with gcc; in
	          build/SUITE-dev and build/SUITE-release
	  run     COMMAND
	  --arch  a cross compiler and the libraries of that architecture; its programs run there under
	          QEMU. build makes release alone, in build/SUITE-ARCH-release.
	The userland has the packages build and suite of test/packages.sh; it is kept in
	\$VSCALED_LAB/userland (default ~/.cache/vscaled-lab) and made again when that list changes.
	Needs root and mmdebstrap, for another architecture test/packages.sh install arm64.
	E
}

# What is compiled against is of the architecture, what compiles is of this machine.
packages()
{
	"$here/packages.sh" list build suite |
		if [ "$arch" = "$native" ]; then cat; else
			sed -E "s/-dev$/&:$arch/; s/^pkg-config$/pkgconf:$arch/; s/^gcc$/crossbuild-essential-$arch/"
		fi
}

# userland_build SUITE DIR
userland_build()
{
	local m include

	m=$(mirror)
	[ -n "$m" ] || die "no Debian archive in apt's configuration: set VSCALED_MIRROR"
	include=$(packages | sort -u | paste -sd,)
	rm -rf "$2.new"
	mmdebstrap --variant=minbase --architectures="$architectures" --dpkgopt=force-unsafe-io --include="$include" \
		--aptopt='Apt::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		"$1" "$2.new" "deb $m $1 main"
	mv "$2.new" "$2"
}

# inside DIR COMMAND...: with this folder, the temporary files and the kernel's file systems
inside()
{
	local dir=$1

	shift
	# shellcheck disable=SC2016  # the inner shell expands these
	DIR=$dir TOP=$root EMULATED=$emulated emulated "$arch" unshare --mount --propagation private bash -euc '
		for d in /proc /sys /dev /tmp "$TOP"; do
			mkdir -p "$DIR$d"
			mount --rbind "$d" "$DIR$d"
		done
		exec chroot "$DIR" env -i PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 $EMULATED \
			sh -c "cd \"\$0\" && exec \"\$@\"" "$TOP" "$@"' sh "$@"
}

# build_all SUITE DIR
build_all()
{
	local preset compiler presets=(release:gcc dev:clang) cross=()

	if [ "$arch" != "$native" ]; then
		presets=("release:$GNU-gcc")
		cross=(-DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_SYSTEM_PROCESSOR=${GNU%%-*}"
			"-DPKG_CONFIG_EXECUTABLE=/usr/bin/$GNU-pkg-config")
	fi
	for preset in "${presets[@]}"; do
		compiler=${preset#*:} preset=${preset%:*}
		inside "$2" cmake --preset "$preset" -B "build/$1-$preset" -DVSCALED_WERROR=ON \
			-DCMAKE_C_COMPILER="$compiler" "${cross[@]}"
		inside "$2" cmake --build "build/$1-$preset" -j "$(nproc)"
	done
}

case ${1:-} in
-h | --help) usage && exit ;;
esac
native=$(dpkg --print-architecture) arch=$native
[ "${1:-}" != --arch ] || { arch=${2:?--arch needs a value} && shift 2; }
[ $# -ge 2 ] || { usage >&2 && exit 2; }
suite=$1 verb=$2
shift 2
[ "$(id -u)" = 0 ] || die "debian.sh: needs root, for mounts and chroot"
command -v mmdebstrap >/dev/null || die "debian.sh: mmdebstrap is missing: test/packages.sh install lab"
name=$suite architectures=$native emulated=''
if [ "$arch" != "$native" ]; then
	# Signing of return addresses is slow in QEMU by the architecture's own algorithm.
	emulated="VSCALED_EMULATED=1 QEMU_CPU=max,pauth-impdef=on"
	name=$suite-$arch architectures=$native,$arch GNU=$(gnu "$arch")
fi
userland=$LAB/userland/$name-$(key "$(packages)")
mkdir -p "$LAB/userland" "$root/build"
exec 9>"$LAB/userland/$name.lock"
flock 9
[ -d "$userland" ] || step "userland $name" userland_build "$suite" "$userland"
exec 9>&-
case $verb in
build) build_all "$name" "$userland" ;;
run) inside "$userland" "$@" ;;
*) usage >&2 && exit 2 ;;
esac

# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# The guest's userland as a tar: the suite's packages, nothing configured.

# Besides systemd: what vscaled links to, and what scenarios use.
GUEST_PACKAGES="systemd systemd-sysv libsystemd0 dbus libbpf1 libcjson1 libyaml-0-2
	procps strace jq stress-ng kmod iproute2 util-linux e2fsprogs curl
	containerd runc crun python3 openssl"
# Library packages whose names differ between the suites.
declare -A SUITE_PACKAGES=(
	[bookworm]="libcurl4 libcgroup2 libmicrohttpd12"
	[trixie]="libcurl4t64 libcgroup3 libmicrohttpd12t64"
)

# userland SUITE OUT OPTION...: mmdebstrap for a guest
userland()
{
	local suite=$1 out=$2 include m s
	local -a sources

	m=$(mirror)
	[ -n "$m" ] || die "no Debian archive in apt's configuration: set VSCALED_MIRROR"
	s=$(security_mirror)
	sources=("deb $m $suite main")
	[ -z "$s" ] || sources+=("deb $s $suite-security main")
	include=$(tr -s ' \n\t' ',' <<<"$GUEST_PACKAGES ${SUITE_PACKAGES[$suite]}")
	# Without our descriptors (locks, the log of a test): apt lets dash redirect to the next free one,
	# and dash knows them up to 9.
	# shellcheck disable=SC2016  # mmdebstrap's shell expands $1, the new root
	mmdebstrap --include="${include%,}" "${@:3}" \
		--aptopt='Apt::Install-Recommends "false"' \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--customize-hook='rm -rf $1/var/lib/apt/lists/* $1/var/cache/apt/*' \
		"$suite" "$out" "${sources[@]}" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
}

# rootfs_build SUITE OUT.tar: of another architecture the packages are only unpacked, over a userland of
# this machine's: what their scripts would do is there. In QEMU they take an hour on a busy machine.
rootfs_build()
{
	local native root=$WORK/root

	native=$(dpkg --print-architecture)
	userland "$1" "$2.new.tar" --variant=minbase --architectures="$native"
	if [ "$ARCH" != "$native" ]; then
		mkdir "$root"
		tar -xpf "$2.new.tar" -C "$root"
		userland "$1" "$WORK/foreign.tar" --variant=extract --architectures="$ARCH" --include='?essential' \
			--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
		tar -xpf "$WORK/foreign.tar" -C "$root" --keep-directory-symlink --no-overwrite-dir
		rm -r "$root/usr/lib/$(gnu "$native")"
		tar -cf "$2.new.tar" -C "$root" .
	fi
	mv "$2.new.tar" "$2"
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The test lab: virtual machines with a real systemd on cgroup v2. See `test/lab.sh help`.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=lab/common.sh
. "$here/lab/common.sh"
# shellcheck source=lab/kernel.sh
. "$here/lab/kernel.sh"
# shellcheck source=lab/rootfs.sh
. "$here/lab/rootfs.sh"
# shellcheck source=lab/kubectl.sh
. "$here/lab/kubectl.sh"
# shellcheck source=lab/image.sh
. "$here/lab/image.sh"
# shellcheck source=lab/vm.sh
. "$here/lab/vm.sh"

help()
{
	cat <<-E
	usage: test/lab.sh COMMAND [OPTIONS] [ARGUMENTS]

	  build           make the machine: kernel, initrd, packages, image, saved RAM state
	  run WHAT [OUT]  run a scenario, or the program run of a folder, which is /lab in the machine.
	                  Leaves in OUT: out/ (what the program left in /lab/out), log (what it printed),
	                  console.log, qemu.log. Exit status: the program's; 125 if it never finished,
	                  126 if the input could not be unpacked. Default OUT: build/lab/NAME-SYSTEMD
	  shell [WHAT]    a root shell in the machine, with the same in /lab (Ctrl-A X ends it)
	  status          says whether the machine is built (exit status)
	  kubectl         the path of a kubectl that can resize: this host's, else Debian trixie's, fetched
	  list            the scenarios: test/lab/scenarios.txt
	  clean [--all]   drop what no current script would use; --all: everything
	  help            this text

	  --systemd 252|257   userland: Debian bookworm or trixie (default 252)
	  --kernel VERSION    Debian kernel, a prefix is enough (default 6.12)
	  --flavour NAME      of the kernel (default cloud-amd64)
	  --arch arm64        another machine, with that architecture's packages; boots cold
	  --install DIR       a build tree to install in the machine (default build/release, with systemd
	                      257 build/trixie-[arm64-]release of test/debian.sh, if it is there); its
	                      test/lab/kit programs go to /opt/lab. none: nothing
	  --cold              boot instead of resuming the saved state
	  --timeout SECONDS   default: the scenario's, else 300
	  --mem MB, --smp N   default 2048 and 2; another value boots cold
	  --shift N           an instruction takes 2^N ns (default 3: 125 million a second); another
	                      value boots cold
	  --append ARGS       more kernel arguments; boots cold

	Everything made is kept in \$VSCALED_LAB (default ~/.cache/vscaled-lab) and made again only when
	its part of the scripts changed. Building needs root; running does not.
	E
}

need()
{
	[ $# -ge 2 ] || die "$1 needs a value"
}

options()
{
	args=()
	while [ $# -gt 0 ]; do
		case $1 in
		--systemd) need "$@"; SYSTEMD=$2; shift ;;
		--kernel) need "$@"; KERNEL=$2; shift ;;
		--flavour) need "$@"; FLAVOUR=$2; shift ;;
		--arch) need "$@"; ARCH=$2; COLD=1; shift ;;
		--install) need "$@"; INSTALL=$2; shift ;;
		--timeout) need "$@"; TIMEOUT=$2; shift ;;
		--mem) need "$@"; MEM=$2; COLD=1; shift ;;
		--smp) need "$@"; SMP=$2; COLD=1; shift ;;
		--shift) need "$@"; SHIFT=$2; COLD=1; shift ;;
		--append) need "$@"; APPEND=$2; COLD=1; shift ;;
		--cold) COLD=1 ;;
		--all) ALL=1 ;;
		-h | --help) args=(help) && return ;;
		-*) die "unknown option $1 (test/lab.sh help)" ;;
		*) args+=("$1") ;;
		esac
		shift
	done
	[ -n "${MACHINE[$ARCH]:-}" ] || die "--arch is one of: ${!MACHINE[*]}"
	: "${FLAVOUR:=cloud-$ARCH}"
	[ -n "${SUITE[$SYSTEMD]:-}" ] || die "--systemd is one of: ${!SUITE[*]}"
}

# Sets every path of the wanted machine from its keys; KVER must be known.
paths()
{
	local suite=${SUITE[$SYSTEMD]}-$ARCH rootfs_key image_key

	rootfs_key=$(key "$suite" "$LAB_SRC/rootfs.sh")
	image_key=$(key "$rootfs_key" "$KVER" "$LAB_SRC/image.sh" \
		"$LAB_SRC"/guest/{lab-run,lab.service,lab.target,masked-units})
	VMLINUX=$LAB/kernel/$KVER/vmlinux
	INITRD=$LAB/initrd/$KVER-$(key "$LAB_SRC/kernel.sh" "$LAB_SRC/guest/init.c").cpio
	ROOTFS=$LAB/rootfs/$suite-$rootfs_key.tar
	IMAGE=$LAB/image/$suite-$KVER-$image_key.ext4
	STATE=$LAB/state/$suite-$KVER-$(key "$image_key" "${INITRD##*/}" "$LAB_SRC/vm.sh" "$MEM" \
		"$SMP" "$(qemu --version 2>/dev/null | head -n 1)")
}

# known: the version that --kernel stands for was found before, and all parts are there
known()
{
	[ -s "$(memo)" ] || return 1
	KVER=$(<"$(memo)")
	paths
	[ -e "$VMLINUX" ] && [ -e "$INITRD" ] && [ -e "$IMAGE" ] || return 1
	[ -n "${COLD:-}" ] || [ -e "$STATE.zst" ]
}

# Makes what is missing. One builder at a time; the others wait for it and find it done.
build()
{
	if qemu --version >/dev/null 2>&1 && known; then
		return 0
	fi
	[ "$(id -u)" = 0 ] || die "the machine is not built yet, and building it needs root"
	"$here/packages.sh" install lab build
	[ "$ARCH" = "$(dpkg --print-architecture)" ] || "$here/packages.sh" install "$ARCH"
	mkdir -p "$LAB"/{kernel,initrd,rootfs,image,state}
	exec 9>"$LAB/build.lock"
	flock 9
	[ -s "$(memo)" ] || step "kernel lists" kernel_resolve
	KVER=$(<"$(memo)")
	paths
	[ -e "$VMLINUX" ] || step "kernel $KVER" kernel_fetch "$KVER"
	[ -e "$INITRD" ] || step "initrd $KVER" initrd_build "$KVER" "$INITRD"
	[ -e "$ROOTFS" ] || [ -e "$IMAGE" ] ||
		step "packages ${SUITE[$SYSTEMD]} $ARCH" rootfs_build "${SUITE[$SYSTEMD]}" "$ROOTFS"
	[ -e "$IMAGE" ] || step "image $SYSTEMD $ARCH" \
		image_build "$ROOTFS" "$KVER" "$IMAGE"
	if [ -z "${COLD:-}" ] && [ ! -e "$STATE.zst" ]; then
		step "saved state $SYSTEMD" state_save "$STATE"
	fi
	exec 9>&-
}

# What containers are made of: a folder per image name. "lab" holds the static load programs,
# "vscaled" becomes the guest's own root (kit/kube.sh).
stage_images()
{
	local lab=$1/opt/lab/images/lab

	mkdir -p "$1/opt/lab/images/vscaled" "$lab"/{bin,usr/lib,proc,sys,dev,tmp,etc,run,var}
	cp "$1/opt/lab"/{burn,grow,hold} "$lab/bin/"
	ln -s /bin "$lab/usr/lib/vscaled" # as in the agent's own image
	echo /usr/sbin/vscaled >"$1/opt/lab/images/vscaled.entrypoint"
}

# A build with sanitizers needs their libraries, which no guest has.
stage_sanitizers()
{
	local tree=$1 lib

	while read -r lib; do
		mkdir -p "$tree/usr/lib/x86_64-linux-gnu"
		cp -L "$lib" "$tree/usr/lib/x86_64-linux-gnu/"
	done < <(ldd "$tree"/usr/*bin/vscaled 2>/dev/null |
		awk '$1 ~ /^lib(asan|ubsan)\./ && $3 ~ /^\// { print $3 }')
}

# find_scenario WHAT: sets DIR, TIMEOUT unless it was given, and PARAMETERS. WHAT has a / in it: a folder
find_scenario()
{
	local row fields=(- "$1" 300)

	DIR=$1
	if [[ $1 != */* ]]; then
		row=$(grep "^$1 " "$LAB_SRC/scenarios.txt") || die "no such scenario: $1 (test/lab.sh list)"
		read -r -a fields <<<"$row"
		DIR=$LAB_SRC/scenarios/${fields[1]}
	fi
	[ -x "$DIR/run" ] || die "$DIR/run is not there or not executable"
	: "${TIMEOUT:=${fields[2]}}"
	PARAMETERS=("${fields[@]:5}")
}

# Puts the scenario, the installed tree and the kit into one tree, as they shall stand in the guest.
stage()
{
	local tree=$1 build=$2 program kit

	mkdir -p "$tree/lab" "$tree/opt/lab"
	if [ -n "${DIR:-}" ]; then
		cp -a "$DIR/." "$tree/lab/"
		printf '%s\n' "${PARAMETERS[@]}" | sed '/^$/d' >"$tree/lab/parameters"
	fi
	cp "$LAB_SRC"/kit/*.{sh,py} "$LAB_SRC"/../{demo/*.sh,e2e.sh} "$tree/opt/lab/"
	cp "$ROOT/agent/ctl/kubectl-vscaled" "$tree/opt/lab/"
	mkdir -p "$tree/opt/lab/kube"
	cp -r "$LAB_SRC"/../kube/{apiserver,kubelet} "$tree/opt/lab/kube/"
	cp -r "$ROOT/agent/deploy" "$tree/opt/lab/"
	/usr/bin/python3 "$ROOT/test/lint/commands.py" --list "$ROOT" >"$tree/opt/lab/commands"
	/usr/bin/python3 "$ROOT/test/lint/commands.py" --list-others "$ROOT" >"$tree/opt/lab/other-commands"
	# Saves seconds where the guest has this Python; another one ignores it.
	/usr/bin/python3 -m compileall -q "$tree/opt/lab/kube"
	[ "$build" != none ] || return 0
	DESTDIR=$tree cmake --install "$build" --prefix /usr >"$tree.log" 2>&1 || {
		cat "$tree.log" >&2
		EXIT=2 die "$build cannot be installed: is it built?"
	}
	kit=$build/test/lab/kit
	[ -x "$kit/hold" ] || kit=$ROOT/build/release/test/lab/kit # nothing static with sanitizers
	for program in "$kit"/*; do
		[ ! -f "$program" ] || [ ! -x "$program" ] || cp "$program" "$tree/opt/lab/"
	done
	stage_images "$tree"
	stage_sanitizers "$tree"
}

install_dir()
{
	local build=$ROOT/build/${BUILD[$SYSTEMD]}

	[ "$ARCH" = "$(dpkg --print-architecture)" ] || build=$ROOT/build/${SUITE[$SYSTEMD]}-$ARCH-release
	if [ -n "${INSTALL:-}" ]; then
		[ "$INSTALL" = none ] || [ -d "$INSTALL" ] || die "no such build tree: $INSTALL"
		echo "$INSTALL"
	elif [ -d "$build" ]; then
		echo "$build"
	else
		say "$build is not there: running without vscaled" >&2
		echo none
	fi
}

# warm FILE...: reads what is in them, without their holes, so that the machine finds it in this host's
# page cache. While it waits for a disk and has nothing else to do, its clock jumps from timer to timer:
# a second of reading was minutes there, and every time limit in a scenario was over.
warm()
{
	local f

	for f in "$@"; do
		[ ! -e "$f" ] || cp --sparse=auto "$f" /dev/null
	done
}

run()
{
	local name out=${2:-} work build rc start=${EPOCHREALTIME/./}

	find_scenario "$1"
	name=$(basename "$(realpath -m "$1")")
	out=$(realpath -m "${out:-$ROOT/build/lab/$name-$SYSTEMD}")
	mkdir -p "$out"
	exec 8<"$out"
	flock -n 8 || die "$out is in use by another run"
	rm -rf "$out/out" "$out/rc" "$out/log" "$out/console.log" "$out/qemu.log"
	build
	build=$(install_dir)
	work=$(mktemp -d "${TMPDIR:-/tmp}/vscaled-lab.XXXXXX")
	# shellcheck disable=SC2064  # the value of now
	trap "rm -rf '$work'" EXIT
	stage "$work/tree" "$build"
	input_make "$work/tree" run "$work/in.img"
	vm_prepare "$work" "file,id=serial,path=$work/console.log"
	warm "$IMAGE" "$STATE.qcow2"
	vm_run "$work" "$TIMEOUT" || true
	touch "$work/console.log"
	cp "$work/log" "$work/console.log" "$work/qemu.log" "$out/"
	tar -xf "$work/out.tar" -C "$out" --no-same-owner 2>/dev/null || true
	if [ ! -s "$out/rc" ]; then
		tail -n 20 "$out/console.log" >&2
		cat "$out/qemu.log" >&2
		EXIT=125 die "$name on systemd $SYSTEMD never finished ($(since "$start") s)"
	fi
	rc=$(<"$out/rc")
	say "$name on systemd $SYSTEMD: exit $rc, $(since "$start") s"
	exit "$rc"
}

shell()
{
	local work build

	[ $# = 0 ] || find_scenario "$1"
	build
	build=$(install_dir)
	work=$(mktemp -d "${TMPDIR:-/tmp}/vscaled-lab.XXXXXX")
	# shellcheck disable=SC2064  # the value of now
	trap "rm -rf '$work'" EXIT
	stage "$work/tree" "$build"
	input_make "$work/tree" shell "$work/in.img"
	vm_prepare "$work" "stdio,id=serial,mux=on,signal=off"
	"${QEMU[@]}" -mon chardev=serial
}

clean()
{
	local keep=() v memo f

	[ -d "$LAB" ] || return 0
	exec 9>"$LAB/build.lock"
	flock 9
	if [ -n "${ALL:-}" ]; then
		rm -rf "$LAB"/{apt-*,kernel,initrd,rootfs,image,state,log}
		return
	fi
	for v in "${!SUITE[@]}"; do
		for memo in "$LAB/kernel/$v"-*.version; do
			[ -s "$memo" ] || continue
			SYSTEMD=$v KVER=$(<"$memo") ARCH=amd64
			[[ $KVER != *arm64* ]] || ARCH=arm64
			paths
			keep+=("$INITRD" "$ROOTFS" "$IMAGE" "$STATE.zst" "$STATE.qcow2")
		done
	done
	for f in "$LAB"/{initrd,rootfs,image,state}/* "$LAB"/work.??????; do
		[ -e "$f" ] || continue
		[[ " ${keep[*]} " == *" $f "* ]] || { echo "$f" && rm -rf "$f"; }
	done
}

options "$@"
LAB=$(realpath -m "$LAB")
set -- "${args[@]}"
case ${1:-help} in
build)
	build
	say "systemd $SYSTEMD, kernel $KVER: ready in $LAB"
	;;
run)
	[ $# -eq 2 ] || [ $# -eq 3 ] || die "run WHAT [OUT]"
	run "${@:2}"
	;;
status) known && say "systemd $SYSTEMD, kernel $KVER: built" ;;
shell) shell "${@:2}" ;;
kubectl) kubectl_path ;;
list) sed -n '/^# NAME/,$p' "$LAB_SRC/scenarios.txt" ;;
clean) clean ;;
help) help ;;
*) die "unknown command $1 (test/lab.sh help)" ;;
esac

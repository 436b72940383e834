# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# Sourced by test/lab.sh: names, keys and messages. LAB_SRC = this folder, LAB = the cache.
# shellcheck disable=SC2034  # the other parts use these

# Bytes are bytes (a kernel image is searched), and a fraction begins with a dot.
export LC_ALL=C

LAB_SRC=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
ROOT=$(cd "$LAB_SRC/../.." && pwd)
LAB=${VSCALED_LAB:-${XDG_CACHE_HOME:-$HOME/.cache}/vscaled-lab}

# systemd version -> Debian suite, and the mark that suite's own kernels carry in their version.
declare -A SUITE=([252]=bookworm [257]=trixie)
# The build for it: a suite's own libraries (debian.sh).
declare -A BUILD=([252]=release [257]=trixie-release)
declare -A KERNEL_MARK=([252]=+deb12 [257]=+deb13)

# ELF programs for aarch64, as binfmt_misc wants it. F: the emulator is looked for now, not in a chroot.
BINFMT_ARM64=':arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:'
BINFMT_ARM64+='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:'
BINFMT_ARM64+='/usr/bin/qemu-aarch64-static:OCF'

SYSTEMD=252
ARCH=$(dpkg --print-architecture)
KERNEL=6.12	# a prefix of the version; the newest match is taken
MEM=2048	# MB
SMP=2
SHIFT=3	# 2^SHIFT ns for an instruction

die()
{
	echo "lab: $*" >&2
	exit "${EXIT:-2}"
}

say()
{
	printf 'lab: %s\n' "$*"
}

# since START_USEC: seconds passed, with one decimal
since()
{
	local t=$((${EPOCHREALTIME/./} - $1))

	printf '%d.%d' $((t / 1000000)) $((t / 100000 % 10))
}

# step WHAT COMMAND...: runs with the output in a log file, says how long it took, shows the end of
# the log on failure. WORK is a scratch folder for it. The command runs as a statement of its own, so
# that set -e stays in force inside it.
step()
{
	local what=$1 start=${EPOCHREALTIME/./} log=$LAB/log/${1// /-}.log rc

	shift
	mkdir -p "$LAB/log"
	WORK=$(mktemp -d "$LAB/work.XXXXXX")
	set +e
	(set -e; "$@") >"$log" 2>&1 </dev/null
	rc=$?
	set -e
	rm -rf "$WORK"
	if [ "$rc" -ne 0 ]; then
		tail -n 15 "$log" >&2
		die "$what failed ($rc), log: $log"
	fi
	say "$what: $(since "$start") s"
}

# key WORD_OR_FILE...: a short hash over words and the contents of files
key()
{
	local x

	for x in "$@"; do
		if [ -f "$x" ]; then cat "$x"; else echo "$x"; fi
	done | sha256sum | cut -c1-12
}

# The archive that this host's apt uses: "URI SUITE" lines.
apt_sources()
{
	# shellcheck disable=SC2016  # apt expands these, not the shell
	apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u
}

# The Debian archive as the host's apt has it, or $VSCALED_MIRROR.
mirror()
{
	local code

	[ -z "${VSCALED_MIRROR:-}" ] || { echo "$VSCALED_MIRROR"; return; }
	code=$(. /etc/os-release && echo "$VERSION_CODENAME")
	apt_sources | awk -v c="$code" '$2 == c && !/security/ { print $1; exit }'
}

# The security archive for SUITE; empty when the host's apt has none.
security_mirror()
{
	[ -z "${VSCALED_SECURITY_MIRROR:-}" ] || { echo "$VSCALED_SECURITY_MIRROR"; return; }
	apt_sources | awk '$2 ~ /-security$/ { print $1; exit }'
}

# gnu ARCH: as the compiler names it
gnu()
{
	case $1 in
	amd64) echo x86_64-linux-gnu ;;
	arm64) echo aarch64-linux-gnu ;;
	*) die "unknown architecture $1" ;;
	esac
}

# emulated ARCH COMMAND...: where programs of ARCH run, those of another machine under QEMU: in a user
# namespace with the same users and a binfmt_misc of its own (Linux 6.7), nothing changes for this host.
emulated()
{
	local arch=$1 holder f rc=0

	shift
	if [ "$arch" = "$(dpkg --print-architecture)" ]; then
		"$@"
		return
	fi
	command -v qemu-aarch64-static >/dev/null || die "no qemu-aarch64-static: test/packages.sh install arm64"
	unshare --user sleep 60 </dev/null >/dev/null 2>&1 &
	holder=$!
	until [ "$(readlink "/proc/$holder/ns/user")" != "$(readlink /proc/self/ns/user)" ]; do
		sleep 0.01
	done
	for f in uid_map gid_map; do
		echo 0 0 4294967295 >"/proc/$holder/$f"
	done
	# shellcheck disable=SC2016  # the inner shell expands it
	nsenter --user --target "$holder" -- unshare --mount --propagation private bash -euc '
		mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
		printf "%s" "$0" >/proc/sys/fs/binfmt_misc/register
		exec "$@"' "$BINFMT_ARM64" "$@" || rc=$?
	kill "$holder" 2>/dev/null || true
	return $rc
}

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.sh SUITE [ARCH]: makes the Debian package of the last commit for this machine's architecture or
# ARCH (in trixie lintian checks it), looks inside, and installs, uses and purges it as a user would, in a
# fresh Debian of that architecture. Exit 77 = skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=test/deploy/lib.sh
. "$here/lib.sh"
# shellcheck source=test/lab/common.sh
. "$here/../lab/common.sh"
suite=$1 arch=${2:-$ARCH} failed=0 start=$SECONDS

[ "$(id -u)" = 0 ] || skip "needs root"
command -v mmdebstrap >/dev/null || skip "no mmdebstrap"
git -C "$root" rev-parse -q --verify HEAD >/dev/null || skip "not a clone: release.sh takes the last commit"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

took()
{
	echo "$1: $((SECONDS - start)) s"
	start=$SECONDS
}

# user SCRIPT: in the fresh Debian, with this machine's kernel
user()
{
	# shellcheck disable=SC2016  # the inner shell expands these
	TOP=$work/debian emulated "$arch" unshare --mount --propagation private bash -euc '
		for d in proc sys dev; do
			mount --rbind "/$d" "$TOP/$d"
		done
		exec chroot "$TOP" env -i PATH=/usr/sbin:/usr/bin HOME=/root LANG=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive bash -euc "$0"' "$1"
}

# files: all that is there, without what apt and systemd keep of any package
files()
{
	(cd "$work/debian" && find . -xdev -path ./var/lib/dpkg -prune -o -path ./var/lib/apt -prune -o -path ./var/cache -prune -o \
		-path ./var/log -prune -o -path ./tmp -prune -o -print) | sort
}

# The revision of what is built from the sources, without Git.
sources()
{
	tar -C "$work" -xf "$work/release/vscaled-$version.tar.gz"
	cmake -G Ninja -S "$work/vscaled-$version" -B "$work/build" -DVSCALED_TESTS=OFF >"$work/log"
	check "the sources know their revision" grep -q "VSCALED_REVISION=.*$revision" "$work/build/build.ninja"
}

inside()
{
	dpkg-deb -e "$deb" "$work/control"
	dpkg-deb -c "$deb" | awk '{ print $6 }' >"$work/files"
	check "its configuration is one that stays" [ "$(<"$work/control/conffiles")" = /etc/vscaled/vscaled.yaml ]
	for file in etc/vscaled/vscaled.yaml \
		lib/systemd/system/vscaled.service usr/lib/systemd/catalog/vscaled.catalog \
		usr/share/bash-completion/completions/vscalectl usr/share/doc/vscaled/copyright \
		usr/share/man/man8/vscaled.8.gz usr/share/man/man1/vscalectl.1.gz usr/share/man/man5/vscaled.yaml.5.gz; do
		check "$file is in it" grep -q "/$file\$" "$work/files"
	done
	check "its programs" [ "$(sed -n 's|.*bin/\(.\)|\1|p' "$work/files" | sort | paste -sd ' ')" = \
		"kubectl-vscaled kubectl_complete-vscaled vscale-backtest vscalectl vscaled" ]
}

# shellcheck disable=SC2016  # the shell in the fresh Debian expands these
use()
{
	user 'apt-get update -qq && apt-get install -qq -y --no-install-recommends /tmp/vscaled.deb' >"$work/log" 2>&1 || {
		cat "$work/log"
		check "apt installs it with what it depends on" false
		return
	}
	check "the unit is not enabled" [ ! -L "$work/debian/etc/systemd/system/multi-user.target.wants/vscaled.service" ]
	check "the daemon says its version" user 'vscaled --version | grep -q "^vscaled '"$version"' ('"$revision"')$"'
	check "vscalectl, too" user 'vscalectl --version | grep -q "^vscalectl '"$version"' ("'
	check "backtest starts its program" user 'vscalectl backtest --help >/dev/null'
	check "doctor looks at the host" user 'vscalectl doctor >/tmp/doctor || [ $? = 1 ]; grep -q "^[a-z]* *daemon " /tmp/doctor; rm /tmp/doctor'
	check "the configuration is valid" user 'vscalectl config check >/dev/null'
	check "the manuals" user 'for page in vscaled vscalectl vscaled.yaml; do man -P cat $page | grep -q ^NAME; done'
	check "completion" user '. /usr/share/bash-completion/completions/vscalectl; complete -p vscalectl >/dev/null'
	check "the catalog explains its messages" user 'journalctl --list-catalog 2>/dev/null | grep -q vscaled'
	check "the plugin" user 'kubectl-vscaled --help | grep -q ^usage'
	took "used"
	check "apt purges it" user 'apt-get purge -qq -y --auto-remove -o APT::AutoRemove::RecommendsImportant=0 \
		-o APT::AutoRemove::SuggestsImportant=0 vscaled >/dev/null 2>&1'
	check "a purge leaves nothing" diff "$work/before" <(files)
	took "purged"
}

revision=$(git -C "$root" rev-parse --short=12 HEAD)
version=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
"$here/../release.sh" --suite "$suite" --arch "$arch" --no-image --out "$work/release" "$version" >"$work/log" || {
	cat "$work/log"
	exit 1
}
took "made"
deb=$(echo "$work/release"/*.deb)
inside
sources
emulated "$arch" mmdebstrap --variant=apt --architectures="$arch" --include=systemd,man-db,bash-completion --dpkgopt=force-unsafe-io \
	--aptopt='Apt::Install-Recommends "false"' "$suite" "$work/debian" "deb $(mirror) $suite main" >"$work/log" 2>&1 || {
	tail "$work/log"
	exit 1
}
took "fresh Debian"
cp /etc/resolv.conf "$work/debian/etc/"
cp "$deb" "$work/debian/tmp/vscaled.deb"
files >"$work/before"
use
exit $failed

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The container image without a container daemon: see usage().
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)

usage()
{
	cat <<-E
	usage: agent/deploy/image.sh [--build DIR]... [--tag TAG] OUT
	Makes OUT, an OCI image layout (a folder), and OUT.tar, the archive that \`ctr images import\`,
	\`podman load\` and \`skopeo copy --all oci-archive:OUT.tar ...\` take: the two programs, the Debian
	packages they are linked to, CA certificates, every copyright, the load programs of test/e2e.sh, and
	nothing else: no shell, no package manager. OUT.ARCH.spdx.json, also in the image, lists the packages
	and their versions.
	  --build DIR  build in Debian 13 to take the programs from (default build/trixie-release, made by
	               test/debian.sh if missing); one for each architecture that the image shall have
	  --tag TAG    tag in the archive (default: the project's version)
	Needs root, mmdebstrap and umoci: test/packages.sh install deploy.
	E
}

die()
{
	echo "image.sh: $1" >&2
	exit 1
}

SUITE=trixie
builds=() tag='' out=''
while [ $# -gt 0 ]; do
	case $1 in
	--build) builds+=("$2") && shift ;;
	--build=*) builds+=("${1#*=}") ;;
	--tag) tag=$2 && shift ;;
	-h | --help) usage && exit ;;
	-*) usage >&2 && exit 2 ;;
	*) out=$1 ;;
	esac
	shift
done
[ -n "$out" ] || { usage >&2 && exit 2; }
[ ${#builds[@]} -gt 0 ] || builds=("$root/build/$SUITE-release")
[ "$(id -u)" = 0 ] || die "needs root, to unpack packages with their owners"
for tool in mmdebstrap umoci; do
	command -v $tool >/dev/null || die "$tool is missing: test/packages.sh install deploy"
done
version=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
: "${tag:=$version}"
# Every date in the image is that of the last commit, so that the same source gives the same image.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)}
export SOURCE_DATE_EPOCH
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# architecture BUILD
architecture()
{
	case $(LC_ALL=C readelf -h "$1/agent/vscaled") in
	*AArch64*) echo arm64 ;;
	*X86-64*) echo amd64 ;;
	*) die "$1 is of an unknown architecture" ;;
	esac
}

# In this function and the next ones: arch, build and debian are of one architecture.
programs()
{
	local program gnu

	gnu=$("${debian[@]}" dpkg-architecture -a"$arch" -qDEB_HOST_GNU_TYPE)
	install -D -m 0755 "$build/agent/vscaled" "$1/usr/sbin/vscaled"
	install -m 0755 -D -t "$1/usr/bin" "$build/agent/vscalectl" "$build/agent/vscale-backtest"
	"${debian[@]}" "$gnu-strip" "$1/usr/sbin/vscaled" "$1"/usr/bin/vscale*
	mkdir -p "$1/usr/lib/vscaled"
	for program in burn grow; do # for test/e2e.sh
		"${debian[@]}" "$gnu-gcc" -std=gnu17 -O2 -s -static -pthread -o "$1/usr/lib/vscaled/$program" \
			"$root/test/lab/kit/$program.c"
	done
}

# The certificates of a package that has a shell script to install them, and would bring more.
cat >"$work/extract" <<'E'
set -eu
cd "$1"
mkdir -p tmp/certificates etc/ssl/certs
(cd tmp/certificates && APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -qq download ca-certificates &&
	dpkg-deb -x ca-certificates_*.deb .)
sed '$a\' tmp/certificates/usr/share/ca-certificates/mozilla/*.crt >etc/ssl/certs/ca-certificates.crt
mkdir -p usr/share/doc/ca-certificates
cp tmp/certificates/usr/share/doc/ca-certificates/copyright usr/share/doc/ca-certificates/
for deb in var/cache/apt/archives/*.deb tmp/certificates/*.deb; do
	dpkg-deb --show --showformat \
		'${Package} ${Version} ${Architecture} ${source:Package}=${source:Version} ' "$deb"
	sha256sum "$deb" | cut -d' ' -f1
done >"$PACKAGES"
rm -r tmp/certificates
E

notices()
{
	install -D -m 0644 -t "$1/usr/share/doc/vscaled" "$root/LICENSE" "$here/debian/copyright"
	install -m 0644 "$out.$arch.spdx.json" "$1/usr/share/doc/vscaled/vscaled.spdx.json"
}

# userland ROOT: packages unpacked, not configured: they are libraries
userland()
{
	local include

	include=$("${debian[@]}" agent/deploy/packages-of.sh "$build/agent/vscaled" \
		"$build/agent/vscalectl" | paste -sd,)
	mmdebstrap --variant=extract --architectures="$arch" --include="base-files,libc6,$include" \
		--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr \
		--extract-hook="PACKAGES=$1.packages sh $work/extract \"\$1\"" \
		--dpkgopt='path-exclude=/usr/share/man/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' \
		--dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-include=/usr/share/doc/*/copyright' \
		--dpkgopt='path-include=/usr/share/doc/libgcc-s1' \
		$SUITE "$1" >"$work/log" 2>&1 && return
	tail -n 20 "$work/log" >&2
	die "the userland could not be made"
}

# pack ROOT IMAGE: one layer and the configuration for the runtime
pack()
{
	local annotations=() a

	tar -C "$1" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --numeric-owner -cf "$work/layer.tar" .
	local o=org.opencontainers.image

	for a in $o.title=vscaled "$o.version=$version" "$o.revision=$revision" "$o.created=$created" \
		$o.source=https://vscaled.dev $o.licenses=Apache-2.0 $o.base.name=scratch \
		"dev.vscaled.debian=$(<"$1/etc/debian_version")"; do
		annotations+=(--config.label "$a" --manifest.annotation "$a")
	done
	umoci new --image "$2"
	umoci raw add-layer --image "$2" --history.created "$created" "$work/layer.tar"
	umoci config --image "$2" --history.created "$created" --created "$created" \
		--architecture "$arch" --os linux --config.user 0:0 --config.entrypoint /usr/sbin/vscaled \
		"${annotations[@]}"
	rm "$work/layer.tar"
}

revision=${VSCALED_REVISION:-$(git -C "$root" rev-parse --short=12 HEAD 2>/dev/null || echo unknown)}
created=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
[ -x "${builds[0]}/agent/vscaled" ] || "$root/test/debian.sh" $SUITE build
rm -rf "$out" "$out.tar"
umoci init --layout "$out"
for build in "${builds[@]}"; do
	arch=$(architecture "$build")
	debian=("$root/test/debian.sh" --arch "$arch" "$SUITE" run)
	echo "image: userland $arch"
	userland "$work/$arch"
	python3 "$here/spdx.py" vscaled "$version" "$revision" "$created" <"$work/$arch.packages" \
		>"$out.$arch.spdx.json"
	notices "$work/$arch"
	programs "$work/$arch"
	pack "$work/$arch" "$out:$arch"
done
umoci gc --layout "$out"
python3 "$here/index.py" "$out" "$tag"
echo "image: $out:$tag"
# The name that a runtime gives it on import: annotation, else only the tag.
tar -C "$out" --sort=name --mtime="@$SOURCE_DATE_EPOCH" -cf "$out.tar" .
echo "image: $(du -h "$out.tar" | cut -f1) in $out.tar"

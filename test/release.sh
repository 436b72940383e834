#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a release consists of: see usage().
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")

usage()
{
	cat <<-E
	usage: test/release.sh [--suite SUITE]... [--arch ARCH]... [--no-image] [--verify] [--url URL] [--out DIR] VERSION
	Makes what a release consists of from the last commit, in DIR (default build/release-VERSION):
	  vscaled-VERSION.tar.gz               the sources
	  vscaled_VERSION~debN_ARCH.deb        for each SUITE (default trixie and bookworm) and ARCH
	                                       (default amd64 and arm64; what is not this machine's is cross built)
	  vscaled-VERSION.oci.tar              the image, of trixie, for each ARCH, as one OCI archive
	  vscaled-chart-VERSION.tgz            the Helm chart
	  vscaled-VERSION-ARCH.spdx.json       the packages in the image and their versions
	  kubectl-vscaled-VERSION.tar.gz, vscaled.yaml  the plugin for krew; the files will be at URL
	                                       (default https://vscaled.dev/releases/VERSION)
	  install.yaml, kubectl-vscaled        manifests (recommend-only) and the plugin of kubectl,
	  kubectl_complete-vscaled             and its completion
	  SHA256SUMS                           of all these
	The same commit gives the same bytes: --verify makes all of it once more from a clone in another
	folder, with another umask and time zone, and names each file that differs (exit status 1). Each package is checked by lintian, where the suite is trixie.
	--no-image leaves out image, chart and manifest of the plugin.
	Needs root, mmdebstrap and umoci (test/packages.sh install lab deploy arm64), and kubectl.
	E
}

die()
{
	echo "release.sh: $1" >&2
	exit 1
}

declare -A release=([bookworm]=12 [trixie]=13)
suites=() arches=() image=1 verify='' url='' out='' version=''
while [ $# -gt 0 ]; do
	case $1 in
	--suite) suites+=("${2:?--suite needs a value}") && shift ;;
	--arch) arches+=("${2:?--arch needs a value}") && shift ;;
	--no-image) image='' ;;
	--verify) verify=1 ;;
	--url) url=${2?--url needs a value} && shift ;;
	--out) out=${2:?--out needs a value} && shift ;;
	-h | --help) usage && exit ;;
	-*) usage >&2 && exit 2 ;;
	*) version=$1 ;;
	esac
	shift
done
[ -n "$version" ] || { usage >&2 && exit 2; }
[ ${#suites[@]} -gt 0 ] || suites=(trixie bookworm)
[ ${#arches[@]} -gt 0 ] || arches=(amd64 arm64)
for suite in "${suites[@]}"; do
	[ -n "${release[$suite]:-}" ] || die "--suite is one of: ${!release[*]}"
done
[[ -z $image || " ${suites[*]} " == *" trixie "* ]] || die "the image is of trixie: --suite trixie or --no-image"
[ "$(id -u)" = 0 ] || die "needs root, for the userlands"
cd "$root"
own=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)
[ "$version" = "$own" ] || die "CMakeLists.txt says $own, not $version"
[ -z "$(git status --porcelain --untracked-files=no)" ] ||
	echo "release.sh: uncommitted changes are left out" >&2
commit=$(git rev-parse HEAD)
export VSCALED_REVISION=${commit::12}
# Every date is that of the commit.
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
out=$(realpath -m "${out:-build/release-$version}")
mkdir -p build
work=$(mktemp -d "$root/build/release-work.XXXXXX")
trap 'rm -rf "$work"' EXIT
rm -rf "$out"
mkdir -p "$out"

sources()
{
	git archive --prefix="vscaled-$version/" --add-virtual-file="vscaled-$version/REVISION:$VSCALED_REVISION" "$commit" | gzip -n9 >"$out/vscaled-$version.tar.gz"
}

# deb SUITE ARCH
deb()
{
	local dir=$work/$1-$2 tree full=$version~deb${release[$1]}

	tree=$dir/vscaled-$version
	mkdir -p "$dir"
	tar -C "$dir" -xf "$out/vscaled-$version.tar.gz"
	cp -r "$tree/agent/deploy/debian" "$tree/debian"
	cat >"$tree/debian/changelog" <<-E
	vscaled ($full) $1; urgency=medium

	  * Release $version: see CHANGELOG.md.

	 -- vscaled maintainers <maintainers@vscaled.dev>  $(date -u -R -d "@$SOURCE_DATE_EPOCH")
	E
	# shellcheck disable=SC2016  # the inner shell expands these
	"$here/debian.sh" --arch "$2" "$1" run sh -euc '
		cd "$0"
		export VSCALED_REVISION="$1" SOURCE_DATE_EPOCH="$2"
		dpkg-buildpackage -b -uc -us -a"$4"
		[ "$3" != trixie ] || lintian --allow-root --fail-on error,warning ../*.deb
	' "$tree" "$VSCALED_REVISION" "$SOURCE_DATE_EPOCH" "$1" "$2" >"$dir.log" 2>&1 || {
		tail -n 40 "$dir.log"
		die "the package for $1 $2 failed"
	}
	cp "$dir"/*.deb "$out/"
}

# The programs are those of the package, before they are stripped.
image()
{
	local arch builds=()

	for arch in "${arches[@]}"; do
		builds+=(--build "$(echo "$work/trixie-$arch/vscaled-$version"/obj-*)")
	done
	agent/deploy/image.sh "${builds[@]}" --tag "$version" "$work/image" >"$work/image.log" 2>&1 || {
		tail -n 20 "$work/image.log"
		die "the image failed"
	}
	cp "$work/image.tar" "$out/vscaled-$version.oci.tar"
	for arch in "${arches[@]}"; do
		cp "$work/image.$arch.spdx.json" "$out/vscaled-$version-$arch.spdx.json"
	done
}

# Of the commit, as all else.
cluster()
{
	tar -C "$work" -xf "$out/vscaled-$version.tar.gz"
	"$work/vscaled-$version/agent/deploy/krew.sh" "$out" "${url:-https://vscaled.dev/releases/$version}"
	KUBECTL=${KUBECTL:-$("$here/lab.sh" kubectl)} \
		"$work/vscaled-$version/agent/deploy/chart.sh" "$work/chart/vscaled"
	tar -C "$work/chart" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
		-c vscaled | gzip -n9 >"$out/vscaled-chart-$version.tgz"
}

# again: all of it once more, elsewhere and in other circumstances
again()
{
	local clone=$work/again/of-the-same-commit options=(--url "$url" --out "$work/again/out") suite arch file differ=0

	git clone -q "$root" "$clone"
	git -C "$clone" checkout -q --detach "$commit"
	for suite in "${suites[@]}"; do
		options+=(--suite "$suite")
	done
	for arch in "${arches[@]}"; do
		options+=(--arch "$arch")
	done
	[ -n "$image" ] || options+=(--no-image)
	(umask 077 && TZ=Pacific/Chatham "$clone/test/release.sh" "${options[@]}" "$version") \
		>"$work/again.log" 2>&1 || {
		tail -n 40 "$work/again.log"
		die "the second run failed"
	}
	for file in "$out"/*; do
		cmp "$file" "$work/again/out/${file##*/}" || differ=1
	done
	[ $differ = 0 ] || {
		rm -rf "$out.second"
		mv "$work/again/out" "$out.second"
		die "the second run differs: it is in $out.second"
	}
	echo "release: the second run gave the same bytes"
}

# made TEXT COMMAND...
made()
{
	local start=$SECONDS text=$1

	shift
	"$@"
	echo "release: $text: $((SECONDS - start)) s"
}

made sources sources
for suite in "${suites[@]}"; do
	for arch in "${arches[@]}"; do
		made "package for $suite $arch" deb "$suite" "$arch"
	done
done
if [ -n "$image" ]; then
	made image image
	made "chart and plugin" cluster
fi
git show "$commit":agent/deploy/install.yaml >"$out/install.yaml"
for program in kubectl-vscaled kubectl_complete-vscaled; do
	git show "$commit":agent/ctl/$program >"$out/$program"
	chmod +x "$out/$program"
done
(cd "$out" && sha256sum -- * >SHA256SUMS)
[ -z "$verify" ] || made "the second run" again
echo "release: in $out:"
cat "$out/SHA256SUMS"

#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# image.sh BUILD [ARCH]: makes the container image of the build on Debian 13, and of that for ARCH too, and
# looks inside. Exit 77 = skipped.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
deploy=$(cd "$here/../../agent/deploy" && pwd)
native=$(dpkg --print-architecture) failed=0
# shellcheck source=test/deploy/lib.sh
. "$here/lib.sh"
# shellcheck source=test/lab/common.sh
. "$here/../lab/common.sh"

[ "$(id -u)" = 0 ] || skip "needs root"
for tool in umoci mmdebstrap; do
	command -v $tool >/dev/null || skip "no $tool"
done
declare -A build=([$native]=$here/../../build/trixie-release)
[ $# = 1 ] || build[$2]=$here/../../build/trixie-$2-release
for arch in "${!build[@]}"; do
	[ -d "${build[$arch]}" ] || skip "no build on Debian 13: test/debian.sh --arch $arch trixie build"
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# look ROOT: the image of $arch, unpacked, the only one left in the layout
look()
{
	local root=$1 program tool certificates spdx p packages manifest key config runs mib needed so

	check "vscaled runs in it" grep -qE "^vscaled $version \\([0-9a-z+.-]+\\)$" <(emulated "$arch" chroot "$root" /usr/sbin/vscaled --version)
	check "vscalectl runs in it" grep -qE "^vscalectl $version \\([0-9a-z+.-]+\\)$" <(emulated "$arch" chroot "$root" /usr/bin/vscalectl --version)
	for program in burn grow; do
		check "$program of test/e2e.sh runs in it" [ "$(emulated "$arch" chroot "$root" /usr/lib/vscaled/$program -h 2>&1 | grep -c '^usage: ')" = 1 ]
	done
	for tool in sh bash dash perl python3 openssl apt dpkg curl; do
		check "no $tool in it" [ -z "$(find "$root" -name $tool -type f -perm -u+x)" ]
	done
	check "no set-uid program in it" [ -z "$(find "$root" -perm /6000 -type f)" ]
	certificates=$(grep -c BEGIN "$root/etc/ssl/certs/ca-certificates.crt" || true)
	check "CA certificates ($certificates)" [ "${certificates:-0}" -ge 100 ]
	check "they can be read" openssl crl2pkcs7 -nocrl -certfile "$root/etc/ssl/certs/ca-certificates.crt" -out /dev/null

	# The list of packages is that of what is in it, and each has its copyright there.
	spdx=$root/usr/share/doc/vscaled/vscaled.spdx.json
	check "the list of packages is in it" cmp "$spdx" "$work/oci.$arch.spdx.json"
	check "SPDX 2.3" jq -e '.spdxVersion == "SPDX-2.3" and .dataLicense == "CC0-1.0" and .SPDXID == "SPDXRef-DOCUMENT"
		and (.packages | all(.SPDXID and .name and .versionInfo and .downloadLocation))
		and ([.packages[].SPDXID] | length == (unique | length)) and (.packages | length) >= 10
		and ([.packages[].SPDXID] - [.relationships[].relatedSpdxElement] == [])' "$spdx" >"$work/log"
	for p in $(jq -r '.packages[].name' "$spdx"); do
		check "the copyright of $p" [ -s "$root/usr/share/doc/$p/copyright" ]
	done
	packages=$(cd "$root/usr/share/doc" && printf '%s\n' * | sort)
	check "every package is in the list" [ "$(jq -r '.packages[].name' "$spdx" | sort -u)" = "$packages" ]
	check "the licence" cmp "$root/usr/share/doc/vscaled/LICENSE" "$here/../../LICENSE"
	manifest=$work/oci/blobs/sha256/$(jq -r '.manifests[0].digest | ltrimstr("sha256:")' "$work/oci/index.json")
	check "its architecture" [ "$(jq -r '.config.digest | ltrimstr("sha256:")' "$manifest" |
		(cd "$work/oci/blobs/sha256" && xargs jq -r .architecture))" = "$arch" ]
	for key in title version revision created source licenses base.name; do
		check "annotation $key" jq -e ".annotations[\"org.opencontainers.image.$key\"]" "$manifest" >"$work/log"
	done
	config=$(umoci stat --image "$work/oci:test" --json)
	check "a history" [ -n "$config" ]
	runs=$(grep -o '"args": *\[[^]]*\]' "$work/$arch/config.json" | tr -d ' \n\t' || true)
	[ -n "$runs" ] || runs=$(tr -d ' \n\t' <"$work/$arch/config.json" | grep -o '"args":\[[^]]*\]')
	check "it starts the agent ($runs)" [ "$runs" = '"args":["/usr/sbin/vscaled"]' ]
	mib=$(($(jq '[.layers[].size] | add' "$manifest") >> 20))
	check "small: $mib MiB" [ "$mib" -le 24 ]
	needed=$(objdump -p "${build[$arch]}"/agent/vscale{d,ctl} | awk '$1 == "NEEDED" { print $2 }' | sort -u)
	for so in $needed; do
		check "$so is in it" [ -n "$(find "$root" -name "$so")" ]
	done
}

version=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' "$here/../../CMakeLists.txt")
"$deploy/image.sh" "${build[@]/#/--build=}" --tag test "$work/oci"
# With several architectures the one entry is the index of them.
list=$work/oci/index.json
[ ${#build[@]} = 1 ] || list=$work/oci/blobs/sha256/$(jq -r '.manifests[0].digest | ltrimstr("sha256:")' "$list")
cp "$list" "$work/list"
for arch in "${!build[@]}"; do
	jq --arg arch "$arch" '.manifests |= map(select(.platform.architecture == $arch) |
		.annotations["org.opencontainers.image.ref.name"] = "test")' "$work/list" >"$work/oci/index.json"
	umoci unpack --image "$work/oci:test" "$work/$arch" >/dev/null
	look "$work/$arch/rootfs"
done
# The same packages by both ways to make an image.
check "the Dockerfile takes the list of packages" grep -q packages-of.sh "$deploy/Dockerfile"
exit $failed

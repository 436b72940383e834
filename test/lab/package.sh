#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# package.sh SYSTEMD BUILD_DIR: the Debian package of that userland in the lab: package/run. It is
# made by release.sh, of the last commit.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=test/lab/common.sh
. "$here/common.sh"
systemd=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
version=$(sed -n 's/^project(vscaled VERSION \([0-9.]*\) .*/\1/p' "$here/../../CMakeLists.txt")

"$here/../release.sh" --suite "${SUITE[$systemd]}" --arch "$ARCH" --no-image --out "$work/release" "$version"
mkdir "$work/package-$systemd"
cp "$here/package/run" "$work/package-$systemd/"
mv "$work"/release/*.deb "$work/package-$systemd/old.deb"
# The next version of it.
dpkg-deb -R "$work/package-$systemd/old.deb" "$work/tree"
sed -i "s/^Version: .*/&+next/" "$work/tree/DEBIAN/control"
dpkg-deb --root-owner-group -b "$work/tree" "$work/package-$systemd/new.deb" >/dev/null
"$here/ctest.sh" "$work/package-$systemd" "$systemd" "$build"

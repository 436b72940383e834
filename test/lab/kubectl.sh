# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# A kubectl that can resize (1.32 on): bookworm's cannot, trixie's program runs with bookworm's libc.

KUBECTL_SUITE=trixie
KUBECTL_MINOR=32

# kubectl_fetch OUT: trixie's program
kubectl_fetch()
{
	# shellcheck disable=SC2153  # set by step()
	local work=$WORK/kubectl

	apt_tree
	mkdir -p "$work"
	(cd "$work" && apt-get download "kubectl/$KUBECTL_SUITE")
	dpkg-deb -x "$work"/kubectl_*.deb "$work/tree"
	install -D -m 0755 "$work/tree/usr/bin/kubectl" "$1"
}

# kubectl_path: this host's where it is new enough, else trixie's in the cache
kubectl_path()
{
	local own='' fetched=$LAB/kubectl/kubectl minor=''

	! own=$(command -v kubectl) || minor=$("$own" version --client -o json 2>/dev/null |
		sed -n 's/.*"minor": "\([0-9]*\).*/\1/p' | head -n 1)
	if [ "${minor:-0}" -ge $KUBECTL_MINOR ]; then
		echo "$own"
		return
	fi
	[ -x "$fetched" ] || step kubectl kubectl_fetch "$fetched" >&2
	echo "$fetched"
}

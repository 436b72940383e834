# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the tests of the installation share.

skip()
{
	echo "SKIP: $1"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
	exit 77
}

skip_part()
{
	echo "SKIP: $1"
	[ "${VSCALED_MUST_RUN:-0}" = 0 ] || exit 1
}

# kubectl_path: a kubectl whose kustomize knows components (1.21 and later)
kubectl_path()
{
	local k=${KUBECTL:-kubectl}

	"$k" version --client -o json 2>/dev/null | grep -qE '"minor": "(2[1-9]|[3-9][0-9])' &&
		command -v "$k"
}

# check TEXT COMMAND...: sets failed
check()
{
	local text=$1

	shift
	"$@" && return
	# shellcheck disable=SC2034  # the exit status of those who source this
	failed=1
	echo "FAILED: $text"
}

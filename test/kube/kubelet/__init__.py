# SPDX-License-Identifier: Apache-2.0
"""A kubelet stand-in: real containers through containerd, resized as the real kubelet does it."""

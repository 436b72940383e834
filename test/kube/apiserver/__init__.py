# SPDX-License-Identifier: Apache-2.0
"""A test API server: answers as the recorded exchanges of real kube-apiservers do."""

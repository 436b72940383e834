# SPDX-License-Identifier: Apache-2.0
"""Plays recorded exchanges of real API servers against the test API server and compares."""

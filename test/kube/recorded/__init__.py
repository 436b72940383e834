# SPDX-License-Identifier: Apache-2.0
"""The most important exchanges with real API servers, as a table of our own."""

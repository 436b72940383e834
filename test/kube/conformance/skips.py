# SPDX-License-Identifier: Apache-2.0
"""The one list of recorded exchanges the test API server does not claim, each with its reason."""

SKIPPED = {
    "254-protobuf": "answers are JSON only",
}

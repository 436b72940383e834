# SPDX-License-Identifier: Apache-2.0
"""python3 -m conformance: the kept table always, the recorded walks where they are."""
from __future__ import annotations

import os
import sys
from pathlib import Path

from .skips import SKIPPED
from .table import Table
from .walk import Walk

WALKS = ("api-1.36", "api-1.33", "guard-1.36", "guard-1.33")


def _walks() -> int:
    folder = Path(os.environ.get("VSCALED_KUBE_RECORDED", "../shared/kube-recorded"))
    if not folder.is_dir():
        print(f"recorded exchanges: {folder} is absent, only the kept table was played")
        return 0
    bad = 0
    for name in WALKS:
        walk = Walk(folder / f"{name}.jsonl")
        walk.run()
        for failure in walk.failures:
            print(failure)
        skipped = [r["name"] for r in walk.rows if r["name"] in SKIPPED]
        print(f"{name}: claimed {walk.claimed} of {len(walk.rows)}, {len(walk.failures)} wrong"
              + "".join(f"; skipped {n}: {SKIPPED[n]}" for n in skipped))
        bad += len(walk.failures)
    return bad


def _table() -> int:
    bad = 0
    for minor in (36, 33):
        table = Table(minor)
        table.run()
        for failure in table.failures:
            print(failure)
        print(f"kept table 1.{minor}: {len(table.rows)} rows, {len(table.failures)} wrong")
        bad += len(table.failures)
    return bad


def main() -> int:
    return 1 if _table() + _walks() else 0


if __name__ == "__main__":
    sys.exit(main())

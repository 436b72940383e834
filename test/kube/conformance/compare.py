# SPDX-License-Identifier: Apache-2.0
"""What must be equal between a recorded answer and ours, and what no two runs share."""
from __future__ import annotations

import json
import re
from typing import Any

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
GENERATED = re.compile(r"\b((?:burst|b|near)[.-])[bcdfghjklmnpqrstvwxz2456789]{5}\b")
NUMBERS = re.compile(r"(too old resource version: |Too large resource version: |current: |\()\d+")
VOLUME = re.compile(r"kube-api-access-[a-z0-9]{5}")
GO_DIFF = re.compile(r"(previously negative\)\n).*?(\]?)\Z", re.S)
VARIES = {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "continue", "token",
          "expirationTimestamp"}


def text(value: str) -> str:
    for pattern, to in ((UUID, "UUID"), (GENERATED, r"\1NAME"), (NUMBERS, r"\1N"),
                        (VOLUME, "kube-api-access-NAME")):
        value = pattern.sub(to, value)
    return GO_DIFF.sub(r"\1", value)


def _dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _entry(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in entry.items() if k != "time"}


def normal(value: Any, key: str = "") -> Any:
    """A value without what no two runs share."""
    if isinstance(value, dict):
        out = {}
        for k, v in value.items():
            if k in VARIES and v is not None:
                continue
            if k == "managedFields":
                out[k] = sorted((normal(_entry(e)) for e in v), key=_dumped)
            elif k == "items" and value.get("kind") == "EventList":
                out[k] = sorted((normal(e) for e in v), key=_dumped)   # generated names
            elif k == "lastTransitionTime" and value.get("type") == "DisruptionTarget":
                continue
            else:
                out[text(k)] = normal(v, k)
        return out
    if isinstance(value, list):
        if key == "cells":
            value = ["AGE" if i == 4 else v for i, v in enumerate(value)]
        return [normal(v) for v in value]
    return text(value) if isinstance(value, str) else value


def first_difference(want: Any, got: Any, path: str = "") -> str | None:
    if isinstance(want, dict) and isinstance(got, dict):
        for k in sorted(set(want) | set(got)):
            if k not in want or k not in got:
                side = "only recorded" if k in want else "only ours"
                shown = json.dumps(want.get(k, got.get(k)))[:200]
                return f"{path}.{k}: {side}: {shown}"
            found = first_difference(want[k], got[k], f"{path}.{k}")
            if found:
                return found
        return None
    if isinstance(want, list) and isinstance(got, list):
        for i, (a, b) in enumerate(zip(want, got)):
            found = first_difference(a, b, f"{path}[{i}]")
            if found:
                return found
        if len(want) != len(got):
            return f"{path}: {len(want)} items recorded, {len(got)} ours"
        return None
    if want != got or type(want) is not type(got):
        return f"{path}: recorded {json.dumps(want)[:300]}, ours {json.dumps(got)[:300]}"
    return None


def pairs(want: Any, got: Any, out: dict[str, str], key: str = "") -> None:
    """Values of the recorded run and what took their place in ours."""
    if isinstance(want, dict) and isinstance(got, dict):
        for k in want:
            if k in got:
                pairs(want[k], got[k], out, k)
    elif isinstance(want, list) and isinstance(got, list):
        for a, b in zip(want, got):
            pairs(a, b, out)
    elif isinstance(want, str) and isinstance(got, str) and want != got:
        if key in ("uid", "resourceVersion", "continue") or VOLUME.fullmatch(want) or \
                (key == "name" and GENERATED.fullmatch(want)):
            out[want] = got


def resources(want: dict[str, Any], got: dict[str, Any]) -> str | None:
    """Discovery: each resource we serve must be described as the real server does."""
    rows = {r["name"]: r for r in want["resources"]}
    for row in got["resources"]:
        if row["name"] not in rows:
            return f"{row['name']}: not in the recorded list"
        found = first_difference(rows[row["name"]], row, row["name"])
        if found:
            return found
    return None

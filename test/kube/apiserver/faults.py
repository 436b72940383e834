# SPDX-License-Identifier: Apache-2.0
"""Faults that can be switched on while the server runs: one row each, matched by request."""
from __future__ import annotations

import itertools
import json
import re
import threading
import time
from dataclasses import dataclass, field
from typing import Any

# When a kind takes effect: instead of the answer, on its bytes, or on a watch.
INSTEAD = {"429", "500", "503", "504", "401", "403", "410", "422", "hang", "cut-before", "delay",
           "garbage"}
BYTES = {"cut-inside", "drip", "huge", "dupkeys", "bigint", "half-line"}
WATCH = {"stale", "end-at-once", "silent", "stream-error"}
KINDS = INSTEAD | BYTES | WATCH
HUGE = 3 << 20


@dataclass
class Fault:
    """count: how many requests it hits, -1 all; after: how many matching ones pass first.

    match is searched in "METHOD path?query" as sent. retry_after, seconds (hang, delay), rate
    (drip, bytes a second) and code (stream-error) belong to single kinds.
    """

    kind: str
    match: str = ".*"
    count: int = -1
    after: int = 0
    retry_after: int = 1
    seconds: float = 3600
    rate: int = 200
    code: int = 500
    id: int = 0
    hits: int = 0
    pattern: re.Pattern[str] = field(init=False)
    cleared: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no such fault: {self.kind}; there are {', '.join(sorted(KINDS))}")
        self.pattern = re.compile(self.match)

    def shown(self) -> dict[str, Any]:
        return {k: getattr(self, k) for k in
                ("id", "kind", "match", "count", "after", "retry_after", "seconds", "rate",
                 "code", "hits")}


class Faults:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: list[Fault] = []
        self.ids = itertools.count(1)

    def add(self, desired: dict[str, Any]) -> Fault:
        fault = Fault(**{k: v for k, v in desired.items() if k not in ("id", "hits")})
        with self.lock:
            fault.id = next(self.ids)
            self.rows.append(fault)
        return fault

    def clear(self, ident: int | None = None) -> None:
        with self.lock:
            for fault in self.rows:
                if ident in (None, fault.id):
                    fault.cleared.set()
            self.rows = [f for f in self.rows if not f.cleared.is_set()]

    def take(self, request: str, watch: bool) -> Fault | None:
        """The first fault that wants this request ("METHOD path?query")."""
        with self.lock:
            for fault in self.rows:
                if fault.kind in WATCH and not watch or fault.count == 0:
                    continue
                if not fault.pattern.search(request):
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                fault.count -= fault.count > 0
                fault.hits += 1
                return fault
        return None

    def shown(self) -> list[dict[str, Any]]:
        with self.lock:
            return [f.shown() for f in self.rows]


def _objects(value: dict[str, Any]) -> list[dict[str, Any]]:
    if "items" in value:
        return value["items"]
    return [value["object"]] if "object" in value else [value]


# metav1.ObjectMeta in the order in which a server writes it.
META = ("name", "generateName", "namespace", "uid", "resourceVersion", "generation",
        "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
        "annotations", "ownerReferences", "finalizers", "managedFields")


def in_order(meta: dict[str, Any]) -> dict[str, Any]:
    return {k: meta[k] for k in META if k in meta} | meta


def mangle(kind: str, data: bytes) -> bytes:
    """The bytes of an answer or of one event, made nasty but (but for size) still JSON."""
    end = b"\n" if data.endswith(b"\n") else b""
    if kind == "dupkeys":
        data = data.replace(b'"metadata":{', b'"metadata":{"uid":"00000000-0000-0000-0000-'
                            b'000000000000","UID":"other","Name":"other",')
        return data.replace(b'"spec":{', b'"spec":{"NodeName":"other","nodename":"other",')
    try:
        value = json.loads(data)
    except ValueError:
        return data
    for obj in _objects(value):
        meta = obj.setdefault("metadata", {})
        if kind == "huge":
            meta.setdefault("annotations", {})["example.com/huge"] = "x" * HUGE
            obj["metadata"] = in_order(meta)
            break
        meta["generation"] = 9007199254740993
        if isinstance(obj.setdefault("status", {}), dict):  # of a Status it is a word
            obj["status"]["observedGeneration"] = 9223372036854775807
    return json.dumps(value, separators=(",", ":")).encode() + end


def drip(data: bytes, rate: int, stop: threading.Event) -> Any:
    """Slices of the data, `rate` bytes a second."""
    step = max(1, rate // 20)
    for at in range(0, len(data), step):
        yield data[at:at + step]
        if stop.is_set():
            step = len(data)
        else:
            time.sleep(step / rate)

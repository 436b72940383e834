# SPDX-License-Identifier: Apache-2.0
"""Objects with one revision counter, and the log of changes that watches and old lists read."""
from __future__ import annotations

import json
import threading
from typing import Any

Key = tuple[str, str]


class Change:
    """One change. Objects are never altered once stored, so they may be shared."""

    __slots__ = ("rv", "kind", "resource", "key", "obj", "prev", "lines")

    def __init__(self, rv: int, kind: str, resource: str, key: Key, obj: Any, prev: Any) -> None:
        self.rv, self.kind, self.resource, self.key = rv, kind, resource, key
        self.obj, self.prev = obj, prev
        self.lines: dict[str, bytes] = {}

    def line(self, kind: str) -> bytes:
        """The event as one line: encoded once, however many watch."""
        if kind not in self.lines:
            self.lines[kind] = encode_event(kind, self.obj)
        return self.lines[kind]


def encode(obj: Any) -> bytes:
    return json.dumps(obj, separators=(",", ":"), ensure_ascii=False).encode()


def encode_event(kind: str, obj: Any) -> bytes:
    return encode({"type": kind, "object": obj}) + b"\n"


class Store:
    KEEP = 30000    # changes in the log
    WARM = 1000     # of them with their encoded lines

    def __init__(self, first: int = 200) -> None:
        self.lock = threading.RLock()
        self.changed = threading.Condition(self.lock)
        self.rv = first
        self.objects: dict[str, dict[Key, Any]] = {}
        self.log: list[Change] = []
        self.dropped = 0            # changes no longer in the log, for absolute positions
        self.cache_floor = first    # watches and exact lists from below this are too old
        self.storage_floor = 0      # compacted below this
        self.frozen: int | None = None  # the watch cache lags: it shows nothing newer than this
        self.closing = False

    def table(self, resource: str) -> dict[Key, Any]:
        return self.objects.setdefault(resource, {})

    def get(self, resource: str, key: Key) -> Any:
        return self.table(resource).get(key)

    def write(self, kind: str, resource: str, key: Key, obj: Any) -> Any:
        """ADDED, MODIFIED or DELETED: stamps the next revision, tells the watchers."""
        with self.lock:
            self.rv += 1
            obj = dict(obj)
            obj["metadata"] = dict(obj["metadata"], resourceVersion=str(self.rv))
            table = self.table(resource)
            prev = table.get(key)
            if kind == "DELETED":
                table.pop(key, None)
            else:
                table[key] = obj
            self.log.append(Change(self.rv, kind, resource, key, obj, prev))
            if len(self.log) > self.WARM:
                self.log[-self.WARM - 1].lines = {}
            if len(self.log) > self.KEEP:
                gone = len(self.log) // 4
                self.cache_floor = max(self.cache_floor, self.log[gone - 1].rv)
                del self.log[:gone]
                self.dropped += gone
            self.changed.notify_all()
            return obj

    def position_after(self, rv: int) -> int:
        """The absolute log position of the first change after this revision."""
        low, high = 0, len(self.log)
        while low < high:
            middle = (low + high) // 2
            if self.log[middle].rv <= rv:
                low = middle + 1
            else:
                high = middle
        return self.dropped + low

    def wait(self, position: int, timeout: float) -> tuple[list[Change], int, int]:
        """Changes from a position on, the next position, and the revision they reach."""
        with self.changed:
            known = len(self.log) if self.frozen is None else \
                self.position_after(self.frozen) - self.dropped
            if self.dropped + known <= position and timeout > 0:
                self.changed.wait(timeout)
            at = position - self.dropped
            if at < 0:
                raise IndexError("the log no longer goes back that far")
            if self.frozen is not None:
                end = max(position, self.position_after(self.frozen))
                return self.log[at:end - self.dropped], end, min(self.rv, self.frozen)
            return self.log[at:], self.dropped + len(self.log), self.rv

    @property
    def cached(self) -> int:
        """What the watch cache has got to."""
        return self.rv if self.frozen is None else min(self.rv, self.frozen)

    def freeze(self, rv: int | None) -> None:
        with self.lock:
            self.frozen = rv
            self.changed.notify_all()

    def items_at(self, resource: str, rv: int) -> dict[Key, Any] | None:
        """The table as it was at a revision, or None when that is no longer known."""
        with self.lock:
            if rv < self.cache_floor:
                return None
            out = dict(self.table(resource))
            for change in reversed(self.log):
                if change.rv <= rv:
                    break
                if change.resource != resource:
                    continue
                if change.prev is None:
                    out.pop(change.key, None)
                else:
                    out[change.key] = change.prev
            return out

    def compact(self) -> None:
        """As etcd does: what is in the watch cache is still known."""
        with self.lock:
            self.storage_floor = self.rv

    def restart(self) -> None:
        """A new server process on the same storage: its cache starts at the current revision."""
        with self.lock:
            self.cache_floor = self.rv
            self.storage_floor = self.rv
            self.dropped += len(self.log)
            self.log.clear()
            self.changed.notify_all()

    def close(self) -> None:
        with self.lock:
            self.closing = True
            self.changed.notify_all()

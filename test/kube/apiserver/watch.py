# SPDX-License-Identifier: Apache-2.0
"""Watch streams: one line per event, bookmarks, what entered or left the selection."""
from __future__ import annotations

import time
from typing import Any, Callable, Iterator

from . import events, lists, status
from .kinds import Resource
from .status import ApiError
from .store import Change, Store, encode_event

BOOKMARK_BEFORE_END = 2.0


def bookmark(res: Resource, rv: int, initial: bool, modern: bool) -> bytes:
    meta: dict[str, Any] = {"resourceVersion": str(rv)}
    if not modern:
        meta["creationTimestamp"] = None
    if initial:
        meta["annotations"] = {"k8s.io/initial-events-end": "true"}
    obj: dict[str, Any] = {"kind": res.kind, "apiVersion": res.api_version, "metadata": meta}
    if res.kind == "Pod":
        obj.update(spec={"containers": None}, status={})
    return encode_event("BOOKMARK", obj)


def expired(rv: int, current: int) -> bytes:
    error = ApiError(410, "Expired", f"too old resource version: {rv} ({current})")
    return encode_event("ERROR", error.body)


class Watch:
    """One stream; `lines` yields what goes out, b"" now and then so that the sender may look up."""

    bookmark_every = 60.0       # seconds; tests may shorten it

    def __init__(self, store: Store, res: Resource, namespace: str, query: dict[str, str],
                 modern: bool) -> None:
        self.store, self.res, self.modern = store, res, modern
        self.match = lists.matcher(res, namespace, query)
        self.initial = query.get("sendInitialEvents") == "true"
        if self.initial and not modern:
            raise status.invalid("ListOptions", "", [status.FieldError(
                "sendInitialEvents", "Forbidden", "sendInitialEvents is forbidden for watch "
                "unless the WatchList feature gate is enabled")], "meta.k8s.io")
        text = query.get("resourceVersion", "")
        self.rv = lists.revision(text) if text else 0
        self.bookmarks = query.get("allowWatchBookmarks") in ("true", "1")
        self.timeout = float(query.get("timeoutSeconds") or 1800)
        with self.store.lock:
            self.stale = 0 < self.rv < store.cache_floor and not self.initial
            self.first: list[dict[str, Any]] = []
            self.after, self.current = self.rv, store.rv
            if self.initial or not self.rv:
                self.first, self.after = self._all(), store.rv
            self.position = store.position_after(self.after)

    def lines(self, view: Callable[[str, dict[str, Any]], bytes] | None = None
              ) -> Iterator[bytes]:
        started = time.monotonic()
        if self.stale:
            yield expired(self.rv, self.store.cache_floor)
            return
        for obj in self.first:
            yield self._line("ADDED", obj, view)
        if self.initial and self.bookmarks:
            yield bookmark(self.res, self.current, True, self.modern)
        self.first = []
        yield from self._tail(self.position, self.after, started, view)

    def _all(self) -> list[dict[str, Any]]:
        table = self.store.table(self.res.table)
        return [table[k] for k in sorted(table) if self.match(table[k])]

    def _line(self, kind: str, obj: dict[str, Any], view: Any) -> bytes:
        if self.res.kind == "Event":
            obj = events.view(obj, self.res.group)
        return view(kind, obj) if view else encode_event(kind, obj)

    def _tail(self, position: int, seen: int, started: float, view: Any) -> Iterator[bytes]:
        end = started + self.timeout
        next_mark = started + self.bookmark_every
        last_mark = end - BOOKMARK_BEFORE_END if self.timeout > BOOKMARK_BEFORE_END else None
        while not self.store.closing:
            now = time.monotonic()
            if now >= end:
                return
            try:
                changes, position, reached = self.store.wait(position, min(end - now, 0.5))
            except IndexError:
                yield expired(seen, self.store.cache_floor)
                return
            for change in changes:
                if change.resource == self.res.table and change.rv > seen:
                    line = self._event(change, view)
                    if line:
                        yield line
            seen = max(seen, reached)
            now = time.monotonic()
            due = now >= next_mark or (last_mark is not None and now >= last_mark)
            if self.bookmarks and due:
                next_mark = now + self.bookmark_every
                if last_mark is not None and now >= last_mark:
                    last_mark = None
                yield bookmark(self.res, reached, False, self.modern)
            if not changes:
                yield b""

    def _event(self, change: Change, view: Any) -> bytes | None:
        old = change.prev is not None and self.match(change.prev)
        new = change.kind != "DELETED" and self.match(change.obj)
        if new:
            kind = "MODIFIED" if old else "ADDED"
        elif old or (change.kind == "DELETED" and self.match(change.obj)):
            kind = "DELETED"
        else:
            return None
        if kind == "DELETED" and change.kind != "DELETED":
            # It left the selection: the object as it was, with the new revision.
            meta = dict(change.prev["metadata"],
                        resourceVersion=change.obj["metadata"]["resourceVersion"])
            return self._line(kind, dict(change.prev, metadata=meta), view)
        if view or self.res.kind == "Event":
            return self._line(kind, change.obj, view)
        return change.line(kind)

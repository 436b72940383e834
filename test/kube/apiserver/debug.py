# SPDX-License-Identifier: Apache-2.0
"""The test's own door, /debug/...: faults, log, counters, tokens, certificate, storms."""
from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, Callable

from . import fixtures
from .app import Answer, Request, json_answer
from .watch import Watch

if TYPE_CHECKING:
    from .control import Control

Obj = dict[str, Any]


class Debug:
    def __init__(self, control: Control) -> None:
        self.control = control
        self.routes: dict[tuple[str, str], Callable[[Request, Obj], Any]] = {
            ("POST", "faults"): self._add_fault,
            ("GET", "faults"): lambda r, b: control.faults.shown(),
            ("DELETE", "faults"): self._clear_faults,
            ("GET", "log"): lambda r, b: control.log.since(float(r.query.get("since", 0))),
            ("DELETE", "log"): lambda r, b: control.log.clear(),
            ("GET", "counters"): self._counters,
            ("POST", "rotate"): lambda r, b: control.rotate(b["identity"], b.get("write", True)),
            ("POST", "certificate"): lambda r, b: control.certificate(
                b["kind"], b.get("cut", True)),
            ("POST", "listen"): lambda r, b: control.listen(b["on"]),
            ("POST", "cut"): lambda r, b: control.cut(),
            ("POST", "compact"): lambda r, b: control.store.compact(),
            ("POST", "restart"): lambda r, b: control.restart(),
            ("POST", "stale"): lambda r, b: control.store.freeze(b.get("rv")),
            ("POST", "pods"): lambda r, b: fixtures.fill(control.store, control.app, **b),
            ("POST", "storm"): lambda r, b: fixtures.storm(control.store, **b),
            ("POST", "without"): self._without,
            ("POST", "idle"): self._idle,
            ("POST", "admission"): lambda r, b: setattr(
                control.app.rest.strategy, "highest_limits", b["limits"]),
            ("POST", "bookmarks"): lambda r, b: setattr(Watch, "bookmark_every",
                                                        float(b["seconds"])),
        }

    def handle(self, r: Request) -> Answer:
        name = r.path.removeprefix("/debug/").strip("/")
        function = self.routes.get((r.method, name))
        if function is None:
            return json_answer(404, {"error": "no such door", "there are":
                                     [f"{m} /debug/{n}" for m, n in self.routes]})
        try:
            done = function(r, json.loads(r.body) if r.body else {})
        except (ValueError, KeyError, TypeError) as e:
            return json_answer(400, {"error": f"{type(e).__name__}: {e}"})
        return json_answer(200, {} if done is None else done)

    def _add_fault(self, r: Request, body: Obj) -> Obj:
        return self.control.faults.add(body).shown()

    def _clear_faults(self, r: Request, body: Obj) -> None:
        ident = r.query.get("id")
        self.control.faults.clear(int(ident) if ident else None)

    def _without(self, r: Request, body: Obj) -> Obj:
        """{"names": ["pods/resize"]}: an older server that does not offer these."""
        self.control.app.without = set(body["names"])
        return {"names": sorted(self.control.app.without)}

    def _idle(self, r: Request, body: Obj) -> Obj:
        """{"seconds": 90}: connections from now on are closed after that time without a request."""
        if self.control.server:
            self.control.server.idle = float(body["seconds"])
        return {"seconds": body["seconds"]}

    def _counters(self, r: Request, body: Obj) -> Obj:
        rows = self.control.log.since(float(r.query.get("since", 0)))
        by: dict[str, Counter[str]] = {k: Counter() for k in ("method", "status", "identity",
                                                               "user_agent", "fault")}
        for row in rows:
            for key, counter in by.items():
                if row.get(key) not in (None, ""):
                    counter[str(row[key])] += 1
        store = self.control.store
        return {"requests": len(rows), **{k: dict(c) for k, c in by.items()},
                "resource_version": store.rv,
                "objects": {k: len(v) for k, v in store.objects.items() if v}}

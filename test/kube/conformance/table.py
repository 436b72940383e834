# SPDX-License-Identifier: Apache-2.0
"""Plays the kept table: every row on a pod of its own."""
from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from apiserver import fixtures
from apiserver.control import Control
from recorded import table
from recorded.table import Row

from .walk import Client, Reply

Obj = dict[str, Any]


class Table:
    def __init__(self, minor: int) -> None:
        self.minor = minor
        self.failures: list[str] = []
        self.rows = [r for r in table.ROWS if minor in r.minors]
        self.count = 0

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.control = Control(Path(folder), self.minor, tls=False)
            self.control.start(0)
            self.control.seed(("vscaled", "vscaled"), "node-1", bare=False, policy=True)
            self.tokens = {who: (Path(folder) / f"{who}.token").read_text()
                           for who in ("admin", "agent", "node", "nobody")}
            self.tokens.update({"stranger": "unknown", "": ""})
            self.client = Client(self.control.port, "table/1")
            try:
                for row in self.rows:
                    self._play(row)
            finally:
                self.control.stop()

    # State

    def _pod(self, row: Row) -> Obj:
        if not row.state:
            return {"metadata": {"name": "none", "namespace": "t", "uid": "",
                                 "resourceVersion": ""}}
        how = table.STATES[row.state]
        self.count += 1
        namespace, name = how.get("namespace", "t"), f"p{self.count}"
        store = self.control.store
        fixtures.fill(store, self.control.app, node=how.get("node", "node-1"),
                      namespace=namespace, prefix=name, annotations=how.get("annotations"),
                      resources=how.get("resources", table.BURST))
        pod = store.get("pods", (namespace, name))
        spec, status = dict(pod["spec"]), dict(pod["status"])
        if "os" in how:
            spec["os"] = how["os"]
        if "policy" in how:
            spec["containers"] = [dict(c, resizePolicy=[
                {"resourceName": "memory", "restartPolicy": how["policy"]}])
                for c in spec["containers"]]
        if how.get("running") == "no-resources":
            status["containerStatuses"] = [{k: v for k, v in c.items() if k != "resources"}
                                           for c in status["containerStatuses"]]
        self._rules(namespace)
        return store.write("MODIFIED", "pods", (namespace, name),
                           dict(pod, spec=spec, status=status))

    def _rules(self, namespace: str) -> None:
        """The quota counts as its status says; the range allows a limit of one CPU."""
        objects = {"q": ("resourcequotas", "q", {
            "kind": "ResourceQuota", "apiVersion": "v1", "spec": {"hard": {"requests.cpu": "2"}},
            "status": {"hard": {"requests.cpu": "2"}, "used": {"requests.cpu": "1900m"}}}),
            "l": ("limitranges", "l", {
                "kind": "LimitRange", "apiVersion": "v1",
                "spec": {"limits": [{"type": "Container", "max": {"cpu": "1"}}]}})}
        if namespace in objects:
            plural, name, obj = objects[namespace]
            self.control.store.write("MODIFIED", plural, (namespace, name), dict(
                obj, metadata={"name": name, "namespace": namespace, "uid": "u"}))

    # Requests

    def _play(self, row: Row) -> None:
        pod = self._pod(row)
        meta = pod["metadata"]
        words = {"{pod}": meta["name"], "{uid}": meta["uid"], "{rv}": meta["resourceVersion"]}

        def filled(value: Any) -> Any:
            if isinstance(value, dict):
                return {k: filled(v) for k, v in value.items()}
            if isinstance(value, list):
                return [filled(v) for v in value]
            return words.get(value, value) if isinstance(value, str) else value

        path = row.path.replace("{pod}", meta["name"]).replace(
            "/namespaces/t/", f"/namespaces/{meta['namespace']}/")
        headers = {}
        if self.tokens[row.who]:
            headers["Authorization"] = f"Bearer {self.tokens[row.who]}"
        body = row.body
        if body is not None:
            kind = f"{row.kind}+json" if row.method == "PATCH" else "json"
            headers["Content-Type"] = f"application/{kind}"
            body = body if isinstance(body, bytes) else json.dumps(filled(body)).encode()
        connection, answer = self.client.open(row.method, path, body, headers)
        reply = Reply(answer.status, dict(answer.headers), answer.read())
        connection.close()
        wrong = self._wrong(row, reply, filled)
        if wrong:
            self.failures.append(f"table 1.{self.minor} {row.name}: {wrong}; "
                                 f"ours: {reply.data[:300]!r}")

    @staticmethod
    def _wrong(row: Row, reply: Reply, filled: Any) -> str | None:
        if reply.status != row.status:
            return f"status {row.status} wanted, {reply.status} ours"
        got = json.loads(reply.data)
        causes = [c.get("field") for c in (got.get("details") or {}).get("causes", [])]
        if row.reason and got.get("reason") != row.reason:
            return f"reason {row.reason} wanted"
        if row.where and row.where not in causes:
            return f"a cause at {row.where} wanted"
        if row.message not in got.get("message", ""):
            return f"message with {row.message!r} wanted"
        for name, value in row.headers.items():
            if reply.headers.get(name) != value:
                return f"header {name}: {value} wanted"
        for path, value in row.shows.items():
            found = got
            for part in path.split("."):
                found = found[int(part)] if isinstance(found, list) else (found or {}).get(part)
            if found != filled(value):
                return f"{path} = {filled(value)!r} wanted, {found!r} found"
        return None

# SPDX-License-Identifier: Apache-2.0
"""Plays one recorded walk from its start against a fresh server."""
from __future__ import annotations

import http.client
import json
import re
import socket
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from apiserver.control import Control
from apiserver.watch import Watch

from . import compare
from .skips import SKIPPED

Obj = dict[str, Any]
WATCH_DEADLINE = 30.0
WATCH_GRACE = 0.3
HEADERS = ("Content-Type", "Retry-After", "Warning", "Transfer-Encoding")


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    data: bytes = b""
    lines: list[Obj] = field(default_factory=list)


class Client:
    """One connection a request, so that watches can run beside."""

    def __init__(self, port: int, agent: str) -> None:
        self.port, self.agent = port, agent

    def open(self, method: str, path: str, body: bytes | None, headers: dict[str, str]
             ) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, {"User-Agent": self.agent, **headers})
        return connection, connection.getresponse()


@dataclass
class Stream:
    """A watch that is being read while the walk goes on."""

    row: Obj
    thread: threading.Thread
    reply: Reply
    connection: http.client.HTTPConnection

    def _complete(self) -> bool:
        want = [e["type"] == "BOOKMARK" for e in self.row["events"]]
        got = [e["type"] == "BOOKMARK" for e in self.reply.lines]
        return got.count(False) >= want.count(False) and got.count(True) >= want.count(True)

    def finish(self) -> None:
        """Ends when what was recorded is there, and a little later for what should not be."""
        deadline = time.monotonic() + WATCH_DEADLINE
        while self.thread.is_alive() and time.monotonic() < deadline:
            if self._complete() and "opened before" in self.row.get("note", ""):
                self.thread.join(WATCH_GRACE)
                break
            self.thread.join(0.05)
        if self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.thread.join()
        self.connection.close()


def expand(value: Any) -> Any:
    """{"$repeat": ["x", N]} stands for N times x."""
    if isinstance(value, dict):
        if list(value) == ["$repeat"]:
            return value["$repeat"][0] * value["$repeat"][1]
        return {k: expand(v) for k, v in value.items()}
    return [expand(v) for v in value] if isinstance(value, list) else value


class Walk:
    def __init__(self, file: Path) -> None:
        self.name = file.stem
        self.rows: list[Obj] = [json.loads(line) for line in file.read_text().splitlines()]
        self.guard = self.name.startswith("guard")
        self.minor = int(self.name.rpartition(".")[2])
        self.failures: list[str] = []
        self.claimed = 0
        self.map: dict[str, str] = {}
        self.seen: dict[str, str] = {}
        self.tokens: dict[str, str] = {"anonymous": "", "bad-token": "unknown"}
        self.threads: list[Stream] = []

    def run(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.control = Control(Path(folder), self.minor, tls=False)
            self.control.app.rest.default_account = False
            Watch.bookmark_every = 0.5
            self.control.start(0)
            self.control.seed(("lab", "agent"), "node-1", bare=True, policy=False)
            for who in ("admin", "node", "nobody", "agent"):
                self.tokens[who] = (Path(folder) / f"{who}.token").read_text()
            self.client = Client(self.control.port, "vscaled/1" if self.guard else "curl/8.0")
            try:
                self._all()
            finally:
                self.control.stop()

    def _all(self) -> None:
        for row in self._ordered():
            if row["name"] in SKIPPED:
                continue
            self.claimed += 1
            self._before(row)
            if "events" in row and row["status"] == 200:
                self._start_watch(row)
                if "opened before" not in row.get("note", ""):
                    self._end_watches(row["name"])
            else:
                reply = self._request(row)
                self._learn(row, reply)
                self._check(row, reply)
            for watched in [s.row for s in self.threads]:
                last = re.search(r"beside .*(?:to|and) (\w+)$|beside .*(?:to|and) (\w+);",
                                 watched.get("note", ""))
                if last and row["name"].startswith((last.group(1) or last.group(2)) + "-"):
                    self._end_watches(watched["name"])
        self._end_watches("")

    def _end_watches(self, name: str) -> None:
        """Waits for the named stream, or for all, and compares."""
        for s in list(self.threads):
            if name in ("", s.row["name"]):
                s.finish()
                self.threads.remove(s)
                self._check_watch(s.row, s.reply)

    def _ordered(self) -> list[Obj]:
        """A watch that runs beside others is opened before them."""
        rows = list(self.rows)
        for row in self.rows:
            opened = re.match(r"opened before ([0-9a-z-]+)", row.get("note", ""))
            if opened:
                rows.remove(row)
                at = next(i for i, r in enumerate(rows) if r["name"] == opened.group(1))
                rows.insert(at, row)
        return rows

    def _before(self, row: Obj) -> None:
        before = row.get("before", "")
        if "compacted" in before:
            self.control.store.compact()
        elif "watch cache starts" in before:
            self.control.store.restart()
        elif "1 request in flight" in before:
            self.control.faults.add({"kind": "429", "count": 1})
        if row["name"].startswith("0ak-"):
            for name in ("win", "ghost", "done", "pend"):
                again = dict(row, path=row["path"].replace("static-node-1", name))
                self._request(again)
        if row["name"].startswith("201-"):
            for i in range(1, 5):
                self._request(dict(row, request_body={"metadata": {"annotations": {
                    "bump": str(i)}}}))

    # Requests

    def _substitute(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {k: self._substitute(v, k) for k, v in value.items()}
        if isinstance(value, list):
            return [self._substitute(v) for v in value]
        if isinstance(value, str) and (key in ("uid", "resourceVersion") or
                                       compare.VOLUME.fullmatch(value)):
            return self.map.get(value, value)
        return value

    def _path(self, path: str) -> str:
        def new(match: re.Match[str]) -> str:
            return match.group(1) + quote(self.map.get(unquote(match.group(2)), match.group(2)))
        return re.sub(r"((?:resourceVersion|continue)=|/events/)([^&?/]+)", new, path)

    def _open(self, row: Obj, path: str) -> Any:
        headers = dict(row.get("request_headers", {}))
        body = None
        if "request_body" in row:
            body = json.dumps(expand(self._substitute(row["request_body"]))).encode()
        elif "request_text" in row:
            body = row["request_text"].encode()
        if "request_type" in row:
            headers["Content-Type"] = row["request_type"]
        if self.tokens[row["as"]]:
            headers["Authorization"] = "Bearer " + self.tokens[row["as"]]
        return self.client.open(row["method"], path, body, headers)

    def _request(self, row: Obj) -> Reply:
        connection, answer = self._open(row, self._path(row["path"]))
        reply = Reply(answer.status, dict(answer.headers), answer.read())
        connection.close()
        return reply

    def _learn(self, row: Obj, reply: Reply) -> None:
        if reply.headers.get("Content-Type") != "application/json" or "body" not in row:
            return
        got = json.loads(reply.data)
        compare.pairs(row["body"], got, self.map)
        if got.get("kind") == "TokenRequest":
            bound = got["spec"]["boundObjectRef"]
            self.tokens["agent" if bound or not self.guard else "agent-unbound"] = \
                got["status"]["token"]

    def _start_watch(self, row: Obj) -> None:
        seconds = 60 if "opened before" in row.get("note", "") else 1
        path = re.sub(r"timeoutSeconds=\d+", f"timeoutSeconds={seconds}",
                      self._path(row["path"]))
        connection, answer = self._open(row, path)
        reply = Reply(answer.status, dict(answer.headers))

        def read() -> None:
            try:
                for line in answer:
                    reply.lines.append(json.loads(line))
            except (OSError, ValueError, http.client.HTTPException):
                pass    # ended from here, below

        thread = threading.Thread(target=read)
        thread.start()
        self.threads.append(Stream(row, thread, reply, connection))

    # Comparing

    def _fail(self, row: Obj, why: str) -> None:
        self.failures.append(f"{self.name} {row['name']}: {why}")

    def _check(self, row: Obj, reply: Reply) -> None:
        if row["status"] != reply.status:
            self._fail(row, f"status {row['status']} recorded, {reply.status} ours: "
                       f"{reply.data[:300]!r}")
            return
        self._check_headers(row, reply)
        if "text" in row:
            if row["text"].rstrip("\n") != reply.data.decode().rstrip("\n"):
                self._fail(row, f"text: {reply.data[:100]!r}")
        elif "body" in row and row["body"] is not None:
            got = json.loads(reply.data)
            if row["body"].get("kind") == "APIResourceList":
                found = compare.resources(row["body"], got)
            else:
                found = compare.first_difference(compare.normal(row["body"]),
                                                 compare.normal(got))
            if found:
                self._fail(row, found)
            self._check_revision(row, reply)

    def _check_headers(self, row: Obj, reply: Reply) -> None:
        for name in HEADERS:
            want = row["headers"].get(name)
            got = reply.headers.get(name)
            if want != got and (want or name in ("Retry-After", "Warning")):
                self._fail(row, f"header {name}: recorded {want}, ours {got}")

    def _check_revision(self, row: Obj, reply: Reply) -> None:
        """A request that changes nothing keeps the revision: learned pairs must agree."""
        rv = (row["body"].get("metadata") or {}).get("resourceVersion")
        got = (json.loads(reply.data).get("metadata") or {}).get("resourceVersion")
        if rv and row["body"].get("kind") == "Pod" and row["method"] != "GET":
            known = self.seen.setdefault(rv, got)
            if known != got:
                self._fail(row, f"resourceVersion: {rv} was {known} before, {got} now")

    def _check_watch(self, row: Obj, reply: Reply) -> None:
        self._check_headers(row, reply)
        want = [e for e in row["events"] if e["type"] != "BOOKMARK"]
        got = [e for e in reply.lines if e["type"] != "BOOKMARK"]
        marks = [e for e in row["events"] if e["type"] == "BOOKMARK"]
        ours = [e for e in reply.lines if e["type"] == "BOOKMARK"]
        if len(got) < len(want) or (row["name"].startswith(("110", "21", "20"))
                                    and len(got) != len(want)):
            self._fail(row, f"{len(want)} events recorded, {len(got)} ours: "
                       f"{[(e['type'], e['object']['metadata'].get('name')) for e in got]}")
            return
        for i, (a, b) in enumerate(zip(want, got)):
            found = compare.first_difference(compare.normal(a), compare.normal(b), f"event {i}")
            if found:
                self._fail(row, found)
                return
        if bool(marks) != bool(ours):
            self._fail(row, f"{len(marks)} bookmarks recorded, {len(ours)} ours")
        elif marks:
            for a, b in ((marks[0], ours[0]), (marks[-1], ours[-1])):
                found = compare.first_difference(compare.normal(a), compare.normal(b), "bookmark")
                if found:
                    self._fail(row, found)

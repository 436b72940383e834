# SPDX-License-Identifier: Apache-2.0
"""The server as its users start it: a process of its own, with TLS, driven over its two doors."""
from __future__ import annotations

import http.client
import json
import os
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


class Failed(Exception):
    """A check that did not hold."""


def check(holds: Any, what: str) -> None:
    if not holds:
        raise Failed(what)


class Rig:
    """with Rig("1.36") as r: ..."""

    def __init__(self, *options: str) -> None:
        self.options = options

    def __enter__(self) -> Rig:
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "apiserver", "--data-dir", str(self.folder), *self.options],
            stdout=subprocess.PIPE, text=True, env=os.environ)
        assert self.process.stdout
        for line in self.process.stdout:
            word, _, url = line.strip().partition(" ")
            if word == "listening":
                self.url = url
                break
        else:
            raise Failed("the server did not start")
        self.admin = (self.folder / "admin-url").read_text().strip()
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.terminate()
        if self.process.stdout:
            self.process.stdout.close()
        self.process.wait(10)
        self.temporary.cleanup()

    def token(self, who: str) -> str:
        return (self.folder / f"{who}.token").read_text()

    def debug(self, door: str, body: Any = None, method: str | None = None) -> Any:
        connection = http.client.HTTPConnection(urlsplit(self.admin).netloc, timeout=60)
        connection.request(method or ("GET" if body is None else "POST"), f"/debug/{door}",
                           None if body is None else json.dumps(body))
        answer = connection.getresponse()
        data = json.load(answer)
        connection.close()
        check(answer.status == 200, f"/debug/{door}: {data}")
        return data

    def connect(self, timeout: float = 10) -> http.client.HTTPSConnection:
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        return http.client.HTTPSConnection(urlsplit(self.url).netloc, timeout=timeout,
                                           context=context)

    def ask(self, method: str, path: str, body: Any = None, who: str = "agent",
            token: str | None = None, timeout: float = 10,
            kind: str = "application/strategic-merge-patch+json"
            ) -> tuple[int, http.client.HTTPMessage, bytes]:
        connection = self.connect(timeout)
        try:
            headers = {"Authorization": f"Bearer {token or self.token(who)}",
                       "Content-Type": kind if method == "PATCH" else "application/json",
                       "User-Agent": "rig/1"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

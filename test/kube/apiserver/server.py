# SPDX-License-Identifier: Apache-2.0
"""HTTP/1.1 and TLS: reads requests, writes answers and streams, and breaks them on request."""
from __future__ import annotations

import select
import socket
import ssl
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator
from urllib.parse import parse_qsl, urlsplit

from . import faults as fault_kinds
from .app import Answer, App, Request, json_answer, text_answer
from .faults import Fault, Faults
from .status import ApiError
from .store import encode_event
from .watch import expired

CHUNKED_FROM = 4096
# Seconds without a request after which a connection is closed, as by kube-apiserver.
IDLE = 90.0


class Cut(Exception):
    """The connection ends here, whatever was promised."""


class RequestLog:
    KEEP = 100000

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: list[dict[str, Any]] = []
        self.started = time.time()

    def add(self, row: dict[str, Any]) -> dict[str, Any]:
        with self.lock:
            self.rows.append(row)
            if len(self.rows) > self.KEEP:
                del self.rows[: self.KEEP // 4]
        return row

    def since(self, then: float) -> list[dict[str, Any]]:
        with self.lock:
            return [r for r in self.rows if r["time"] >= then]

    def clear(self) -> None:
        with self.lock:
            self.rows.clear()
            self.started = time.time()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 512

    def __init__(self, address: tuple[str, int], app: App, faults: Faults, log: RequestLog,
                 context: ssl.SSLContext | None = None, debug: Any = None) -> None:
        super().__init__(address, Handler)
        self.app, self.faults, self.log = app, faults, log
        self.context, self.debug = context, debug
        self.idle = IDLE
        self.open: set[socket.socket] = set()
        self.open_lock = threading.Lock()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that has disconnected is not logged."""
        kind = sys.exc_info()[0]
        if kind and not issubclass(kind, (OSError, ssl.SSLError)):
            traceback.print_exc()

    def cut_all(self) -> None:
        with self.open_lock:
            for s in self.open:
                try:
                    s.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def setup(self) -> None:
        self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.server.context:
            self.request.settimeout(30)
            self.request = self.server.context.wrap_socket(self.request, server_side=True)
        # Applies while a request is awaited: handle_one_request() ends the connection then.
        self.request.settimeout(self.server.idle)
        self.connected = time.time()
        with self.server.open_lock:
            self.server.open.add(self.request)
        super().setup()

    def finish(self) -> None:
        with self.server.open_lock:
            self.server.open.discard(self.request)
        try:
            super().finish()
        except (OSError, ValueError):
            pass
        try:
            self.request.close()
        except OSError:
            pass

    def log_message(self, *args: Any) -> None:
        """The request log is kept, not printed."""

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                parts.append(self.rfile.read(size))
                self.rfile.readline()
                if size == 0:
                    return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _serve(self) -> None:
        url = urlsplit(self.path)
        query = dict(parse_qsl(url.query, keep_blank_values=True))
        request = Request(self.command, url.path, query, self.headers, self._body())
        if url.path.startswith("/debug/"):
            self._send(self.server.debug.handle(request))
            return
        row = self.server.log.add({
            "time": time.time(), "method": self.command, "path": self.path,
            "user_agent": self.headers.get("User-Agent", ""), "identity": "", "status": 0,
            "connected": self.connected})
        watch = query.get("watch") in ("1", "true")
        fault = self.server.faults.take(f"{self.command} {self.path}", watch)
        if fault:
            row["fault"] = fault.kind
        try:
            self._answer(request, fault, row)
        except Cut:
            row["cut"] = True
            self.close_connection = True
            try:
                self.request.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _serve

    def _answer(self, request: Request, fault: Fault | None, row: dict[str, Any]) -> None:
        answer = None
        if fault and fault.kind in fault_kinds.INSTEAD:
            answer = self._instead(fault)
        if answer is None:
            answer = self.server.app.handle(request)
            row["identity"] = answer.user.name
        row["status"] = answer.code
        if answer.stream is not None and fault:
            answer.stream = self._watch_fault(fault, answer.stream, request)
        self._send(answer, fault)

    def _instead(self, fault: Fault) -> Answer | None:
        kind = fault.kind
        if kind == "429":
            return text_answer(429, "Too many requests, please try again later.\n",
                               Retry_After=str(fault.retry_after))
        if kind in ("hang", "delay"):
            fault.cleared.wait(fault.seconds)
            if kind == "hang":
                raise Cut
            return None
        if kind == "cut-before":
            raise Cut
        if kind == "garbage":
            return Answer(200, b'\x00\xff{"kind":"PodList","items":[{]]]\n')
        reasons = {"500": "InternalError", "503": "ServiceUnavailable", "504": "Timeout",
                   "401": "Unauthorized", "403": "Forbidden", "410": "Expired",
                   "422": "Invalid"}
        error = ApiError(int(kind), reasons[kind], f"injected {kind}")
        answer = json_answer(error.code, error.body)
        if kind in ("503", "504"):
            answer.headers["Retry-After"] = str(fault.retry_after)
        return answer

    def _watch_fault(self, fault: Fault, stream: Iterator[bytes], request: Request
                     ) -> Iterator[bytes]:
        if fault.kind == "stale":
            rv = request.query.get("resourceVersion") or "1"
            yield expired(int(rv) if rv.isdigit() else 1, self.server.app.store.rv)
        elif fault.kind == "stream-error":
            reasons = {429: "TooManyRequests", 504: "Timeout"}
            error = ApiError(fault.code, reasons.get(fault.code, "InternalError"),
                             f"injected {fault.code}")
            yield encode_event("ERROR", error.body)
        elif fault.kind == "silent":
            end = time.monotonic() + float(request.query.get("timeoutSeconds") or 1800)
            while time.monotonic() < end and not fault.cleared.wait(0.2):
                yield b""
        elif fault.kind != "end-at-once":
            yield from stream

    # Writing

    def _head(self, answer: Answer, length: int | None) -> bytes:
        reason = self.responses.get(answer.code, ("",))[0]
        lines = [f"HTTP/1.1 {answer.code} {reason}", f"Content-Type: {answer.content_type}",
                 "Cache-Control: no-cache, private",
                 f"Date: {self.date_time_string()}"]
        lines += [f"{k}: {v}" for k, v in answer.headers.items()]
        lines.append("Transfer-Encoding: chunked" if length is None
                     else f"Content-Length: {length}")
        if self.close_connection:
            lines.append("Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode()

    def _send(self, answer: Answer, fault: Fault | None = None) -> None:
        if answer.stream is not None:
            self._send_stream(answer, fault)
            return
        body = answer.body
        if fault and fault.kind in ("huge", "dupkeys", "bigint"):
            body = fault_kinds.mangle(fault.kind, body)
        if len(body) >= CHUNKED_FROM and self.command == "GET" and not fault:
            head, body = self._head(answer, None), _chunk(body) + b"0\r\n\r\n"
        else:
            head = self._head(answer, len(body))
        if self.command == "HEAD":
            body = b""
        if fault and fault.kind in ("cut-inside", "half-line"):
            self.wfile.write(head + body[: len(body) // 2])
            raise Cut
        if fault and fault.kind == "drip":
            self.wfile.write(head)
            for part in fault_kinds.drip(body, fault.rate, fault.cleared):
                self.wfile.write(part)
            return
        self.wfile.write(head + body)

    def _send_stream(self, answer: Answer, fault: Fault | None) -> None:
        assert answer.stream is not None
        self.wfile.write(self._head(answer, None))
        mangles = fault and fault.kind in ("huge", "dupkeys", "bigint")
        for line in answer.stream:
            if not line:
                if self._gone():
                    raise Cut
                continue
            if mangles and fault:
                line = fault_kinds.mangle(fault.kind, line)
            if fault and fault.kind in ("half-line", "cut-inside"):
                half = line[: len(line) // 2]
                self.wfile.write(_chunk(half))
                if fault.kind == "cut-inside":
                    raise Cut
                break       # a clean end in the middle of a line
            if fault and fault.kind == "drip":
                for part in fault_kinds.drip(line, fault.rate, fault.cleared):
                    self.wfile.write(_chunk(part))
                continue
            self.wfile.write(_chunk(line))
        self.wfile.write(b"0\r\n\r\n")

    def _gone(self) -> bool:
        """The client has closed its side: nothing else becomes readable during a stream."""
        try:
            return bool(select.select([self.request], [], [], 0)[0])
        except (OSError, ValueError):
            return True


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)

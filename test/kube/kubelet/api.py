# SPDX-License-Identifier: Apache-2.0
"""The API server as a kubelet uses it: list and watch its pods, write status, post Events."""
from __future__ import annotations

import base64
import http.client
import json
import re
import ssl
import tempfile
import threading
import time
from typing import Any, Callable
from urllib.parse import quote, urlsplit

MERGE, JSON = "application/merge-patch+json", "application/json"
RETRY_SEC = 1.0


class Refused(Exception):
    def __init__(self, status: int, text: str):
        super().__init__(f"{status}: {text[:300]}")
        self.status = status


class Credentials:
    """server, CA and token or client certificate of a kubeconfig with one context."""

    def __init__(self, path: str, agent: str = "kubelet/v1.36.3"):
        self.agent = agent
        with open(path, encoding="utf-8") as f:
            text = f.read()

        def value(key: str) -> str | None:
            found = re.search(rf'"?\b{key}"?:\s*"?([^"\s,}}]+)', text)
            return found.group(1) if found else None
        self.server = value("server") or ""
        self.token, self.token_file = value("token"), value("tokenFile")
        self.ca = ""  # PEM
        url = urlsplit(self.server)
        self.host, self.port, self.tls = url.hostname or "", url.port, url.scheme == "https"
        self.context = ssl.create_default_context() if self.tls else None
        if self.context:
            self._trust(value)

    def _trust(self, value: Callable[[str], str | None]) -> None:
        context = self.context
        assert context
        data, file = value("certificate-authority-data"), value("certificate-authority")
        if data:
            self.ca = base64.b64decode(data).decode()
        elif file:
            with open(file, encoding="ascii") as f:
                self.ca = f.read()
        context.load_verify_locations(cadata=self.ca)
        cert, key = value("client-certificate"), value("client-key")
        cert_data, key_data = value("client-certificate-data"), value("client-key-data")
        if cert_data and key_data:
            with tempfile.NamedTemporaryFile() as both:
                both.write(base64.b64decode(cert_data) + b"\n" + base64.b64decode(key_data))
                both.flush()
                context.load_cert_chain(both.name)
        elif cert:
            context.load_cert_chain(cert, key)

    def connect(self, timeout: float | None) -> http.client.HTTPConnection:
        if self.tls:
            return http.client.HTTPSConnection(self.host, self.port, timeout=timeout,
                                               context=self.context)
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout)

    def headers(self) -> dict[str, str]:
        headers = {"User-Agent": self.agent, "Accept": JSON}
        token = self.token
        if self.token_file:
            with open(self.token_file, encoding="ascii") as f:
                token = f.read().strip()
        if token:
            headers["Authorization"] = f"Bearer {token}"
        return headers


class Api:
    """One connection, used by one thread."""

    def __init__(self, credentials: Credentials):
        self.credentials = credentials
        self.connection: http.client.HTTPConnection | None = None

    def request(self, method: str, path: str, body: Any = None, content: str = JSON) -> Any:
        """The decoded answer; Refused for another status than 2xx, OSError without an answer."""
        headers = self.credentials.headers()
        if body is not None:
            headers["Content-Type"] = content
        for attempt in (1, 2):
            fresh = self.connection is None
            if self.connection is None:
                self.connection = self.credentials.connect(10)
            try:
                self.connection.request(method, path, json.dumps(body) if body is not None else None,
                                        headers)
                answer = self.connection.getresponse()
                text = answer.read().decode()
                break
            except (OSError, http.client.HTTPException) as e:
                self.connection.close()
                self.connection = None
                if fresh or attempt == 2:
                    raise OSError(f"{method} {path}: {e}") from e
        if not 200 <= answer.status < 300:
            raise Refused(answer.status, text)
        return json.loads(text)

    def pod_status(self, pod: dict, status: dict) -> dict:
        m = pod["metadata"]
        return self.request("PATCH", f"{pod_path(pod)}/status",
                            {"metadata": {"uid": m["uid"]}, "status": status}, MERGE)

    def pod_delete(self, pod: dict) -> None:
        self.request("DELETE", pod_path(pod),
                     {"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                      "preconditions": {"uid": pod["metadata"]["uid"]}})

    def event(self, pod: dict, node: str, kind: str, reason: str, message: str) -> None:
        m, now = pod["metadata"], stamp()
        self.request("POST", f"/api/v1/namespaces/{m['namespace']}/events", {
            "apiVersion": "v1", "kind": "Event", "type": kind, "reason": reason, "message": message,
            "metadata": {"name": f"{m['name']}.{time.time_ns():x}", "namespace": m["namespace"]},
            "involvedObject": {"kind": "Pod", "apiVersion": "v1", "name": m["name"],
                               "namespace": m["namespace"], "uid": m["uid"]},
            "source": {"component": "kubelet", "host": node}, "reportingComponent": "kubelet",
            "reportingInstance": node, "firstTimestamp": now, "lastTimestamp": now, "count": 1})


def stamp(at: float | None = None) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def pod_path(pod: dict) -> str:
    m = pod["metadata"]
    return f"/api/v1/namespaces/{m['namespace']}/pods/{m['name']}"


class Watcher(threading.Thread):
    """Lists and watches the node's pods for ever: put(type, pod), type LIST with all of them."""

    def __init__(self, credentials: Credentials, node: str, put: Callable[[str, Any], None]):
        super().__init__(daemon=True)
        self.credentials, self.put = credentials, put
        self.query = f"/api/v1/pods?fieldSelector={quote(f'spec.nodeName={node}', safe='')}"

    def run(self) -> None:
        while True:
            try:
                pods = Api(self.credentials).request("GET", self.query)
                self.put("LIST", pods["items"])
                self._watch(pods["metadata"]["resourceVersion"])
            except (OSError, Refused, ValueError, KeyError, http.client.HTTPException) as e:
                print(f"watch: {e}", flush=True)
                time.sleep(RETRY_SEC)

    def _watch(self, version: str) -> None:
        connection = self.credentials.connect(None)
        try:
            connection.request("GET", f"{self.query}&watch=true&allowWatchBookmarks=true"
                               f"&resourceVersion={version}", headers=self.credentials.headers())
            answer = connection.getresponse()
            if answer.status != 200:
                raise Refused(answer.status, answer.read().decode())
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    return
                if event["type"] != "BOOKMARK":
                    self.put(event["type"], event["object"])
        finally:
            connection.close()

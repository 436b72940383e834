# SPDX-License-Identifier: Apache-2.0
"""One running server: listeners, identities, the data folder, and what tests switch."""
from __future__ import annotations

import ssl
import threading
import time
from datetime import datetime
from pathlib import Path
from typing import Any

from . import pki
from .app import App
from .auth import Tokens, User, service_account
from .debug import Debug
from .faults import Faults
from .rest import now
from .seed import AGENT_RULES, policy_objects, binding, object_meta
from .server import RequestLog, Server
from .store import Store


class Control:
    """Everything of one server. `start` returns once it answers."""

    def __init__(self, folder: Path, minor: int, tls: bool = True, host: str = "127.0.0.1",
                 names: list[str] | None = None, logs: Path | None = None) -> None:
        self.folder, self.tls, self.host = folder, tls, host
        folder.mkdir(parents=True, exist_ok=True)
        self.store = Store()
        self.tokens = Tokens(self.store)
        self.faults, self.log = Faults(), RequestLog()
        self.app = App(self.store, self.tokens, minor, logs_folder=logs)
        self.authority = pki.Authority(folder, names or []) if tls else None
        self.identities: dict[str, User] = {}
        self.server: Server | None = None
        self.admin: Server | None = None
        self.port = 0
        self._context: ssl.SSLContext | None = None

    # Identities

    def identify(self, name: str, user: User) -> None:
        self.identities[name] = user
        self._write_token(name)
        (self.folder / f"{name}.kubeconfig").write_text(pki.kubeconfig(
            self.url, (self.folder / "ca.crt").resolve() if self.tls else None,
            (self.folder / f"{name}.token").resolve()))

    def _write_token(self, name: str) -> str:
        token = self.tokens.issue(self.identities[name])
        pki.replace(self.folder / f"{name}.token", token)
        return token

    def rotate(self, name: str, write: bool) -> dict[str, Any]:
        """The old token is worth nothing from now on; a new one is in the file, if desired."""
        self.tokens.revoke(self.identities[name].name)
        return {"token": self._write_token(name)} if write else {}

    def seed(self, agent: tuple[str, str], node: str, bare: bool, policy: bool) -> None:
        """Namespaces and identities; without `bare` also the agent's account and rights."""
        for name in ("default", "kube-system", "kube-public", "kube-node-lease"):
            self._put("namespaces", "", name, {"kind": "Namespace", "apiVersion": "v1",
                      "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}})
        if not bare:
            self._put("serviceaccounts", "default", "default",
                      {"kind": "ServiceAccount", "apiVersion": "v1"})
            self._seed_agent(agent, policy)
        account = service_account(self.store, *agent, {"kind": "Node", "name": node})
        self.identify("admin", User("admin", ["system:masters", "system:authenticated"]))
        self.identify("agent", account)
        self.identify("node", User(f"system:node:{node}", ["system:nodes",
                                                           "system:authenticated"]))
        self.identify("nobody", User("nobody", ["system:authenticated"]))

    def _put(self, table: str, namespace: str, name: str, obj: dict[str, Any]) -> None:
        meta = {**object_meta(namespace, name, now()), **obj.get("metadata", {})}
        self.store.write("ADDED", table, (namespace, name), dict(obj, metadata=meta))

    def _seed_agent(self, agent: tuple[str, str], policy: bool) -> None:
        namespace, name = agent
        if self.store.get("namespaces", ("", namespace)) is None:
            self._put("namespaces", "", namespace, {
                "kind": "Namespace", "apiVersion": "v1", "status": {"phase": "Active"}})
        for account in ("default", name):
            if self.store.get("serviceaccounts", (namespace, account)) is None:
                self._put("serviceaccounts", namespace, account,
                          {"kind": "ServiceAccount", "apiVersion": "v1"})
        rbac = "rbac.authorization.k8s.io"
        self._put(f"clusterroles.{rbac}", "", "vscaled",
                  {"kind": "ClusterRole", "apiVersion": f"{rbac}/v1", "rules": AGENT_RULES})
        self._put(f"clusterrolebindings.{rbac}", "", "vscaled", binding(agent))
        if policy:
            for plural, obj in policy_objects(agent).items():
                self._put(f"{plural}.admissionregistration.k8s.io", "", "vscaled-own-node", obj)

    # Listeners

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}:{self.port}"

    @property
    def admin_url(self) -> str:
        assert self.admin
        return f"http://127.0.0.1:{self.admin.server_address[1]}"

    def start(self, port: int, admin_port: int = 0) -> None:
        context = self.authority.serving("good") if self.authority else None
        if self.authority:
            ca = (self.folder / "pki" / "ca.crt").read_text()
            (self.folder / "ca.crt").write_text(ca)
        debug = Debug(self)
        self.server = Server((self.host, port), self.app, self.faults, self.log, context, debug)
        self.admin = Server(("127.0.0.1", admin_port), self.app, self.faults, self.log, None,
                            debug)
        self.port = self.server.server_address[1]
        self.app.address = f"{self.host}:{self.port}"
        for server in (self.server, self.admin):
            self._run(server)
        (self.folder / "url").write_text(self.url + "\n")
        (self.folder / "admin-url").write_text(self.admin_url + "\n")

    @staticmethod
    def _run(server: Server) -> None:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05},
                         daemon=True).start()

    def listen(self, on: bool) -> None:
        """Off: the port is closed (connection refused), as when the server is down."""
        if not on and self.server:
            context = self.server.context
            self.server.shutdown()
            self.server.server_close()
            self.server.cut_all()
            self.server, self._context = None, context
        elif on and not self.server:
            self.server = Server((self.host, self.port), self.app, self.faults, self.log,
                                 self._context, self.admin.debug if self.admin else None)
            self._run(self.server)

    def certificate(self, kind: str, cut: bool) -> None:
        """good, expired or wrong-host, for connections from now on."""
        if not self.authority or not self.server:
            raise ValueError("the server speaks no TLS")
        self.server.context = self.authority.serving(kind)
        if cut:
            self.server.cut_all()

    def cut(self) -> None:
        if self.server:
            self.server.cut_all()

    def restart(self) -> None:
        """A new process on the same storage: streams end, its cache starts now."""
        self.store.restart()
        self.cut()

    def reap(self, seconds: float) -> None:
        """Pods being deleted vanish after a while, as if a kubelet had confirmed it."""
        while not self.store.closing:
            time.sleep(0.2)
            with self.store.lock:
                for key, pod in list(self.store.table("pods").items()):
                    if pod["metadata"].get("deletionTimestamp") and seconds >= 0:
                        grace = pod["metadata"].get("deletionGracePeriodSeconds", 0)
                        if _due(pod, grace, seconds):
                            self.store.write("DELETED", "pods", key, pod)

    def stop(self) -> None:
        self.store.close()
        self.faults.clear()
        for server in (self.server, self.admin):
            if server:
                server.shutdown()
                server.server_close()
                server.cut_all()


def _due(pod: dict[str, Any], grace: int, seconds: float) -> bool:
    end = datetime.fromisoformat(pod["metadata"]["deletionTimestamp"].replace("Z", "+00:00"))
    return time.time() - (end.timestamp() - grace) >= seconds

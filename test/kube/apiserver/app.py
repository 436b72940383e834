# SPDX-License-Identifier: Apache-2.0
"""From a path to an answer. Knows nothing of sockets."""
from __future__ import annotations

import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable, Iterator

from . import auth, discovery, events, lists, logs, proxy, status, tables
from .auth import ANONYMOUS, Ask, Tokens, User
from .kinds import BY_NAME, CUSTOM, Resource
from .rest import Call, Rest
from .status import ApiError
from .store import Store, encode
from .watch import Watch

Obj = dict[str, Any]


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: Any
    body: bytes = b""


@dataclass
class Answer:
    code: int = 200
    body: bytes = b""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    stream: Iterator[bytes] | None = None
    user: User = field(default_factory=lambda: ANONYMOUS)


def json_answer(code: int, obj: Any) -> Answer:
    return Answer(code, encode(obj) + b"\n")


def text_answer(code: int, text: str, **headers: str) -> Answer:
    return Answer(code, text.encode(), "text/plain; charset=utf-8",
                  {k.replace("_", "-"): v for k, v in headers.items()})


@dataclass
class Target:
    """A path taken apart."""

    res: Resource
    namespace: str
    name: str
    sub: str


def target(path: str) -> Target | None:
    parts = [p for p in path.split("/") if p]
    if parts[:1] == ["api"] and len(parts) > 2:
        group, version, rest = "", parts[1], parts[2:]
    elif parts[:1] == ["apis"] and len(parts) > 3:
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2 and (group, version, rest[2]) in BY_NAME:
        namespace, rest = rest[1], rest[2:]
    res = BY_NAME.get((group, version, rest[0]))
    if res is None or len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    sub = rest[2] if len(rest) > 2 else ""
    if sub and sub not in res.subs:
        return None
    if namespace and not res.namespaced or (name and res.namespaced and not namespace):
        return None
    return Target(res, namespace, name, sub)


ACCEPTED = ("application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "*/*",
            "application/*")


class App:
    def __init__(self, store: Store, tokens: Tokens, minor: int, address: str = "",
                 default_account: bool = True, logs_folder: Path | None = None) -> None:
        self.store, self.tokens, self.minor, self.address = store, tokens, minor, address
        self.modern = minor >= 34
        self.rest = Rest(store, tokens, minor, default_account)
        self.without: set[str] = set(CUSTOM) if minor >= 32 else CUSTOM | {"pods/resize"}
        self.logs = logs_folder
        if logs_folder is None:
            self.without.add("pods/log")

    def handle(self, r: Request) -> Answer:
        user = ANONYMOUS
        try:
            user = self.tokens.who(r.headers.get("Authorization"))
            answer = self._open(r, user) or self._proxy(r, user) or self._resource(r, user)
        except ApiError as e:
            answer = json_answer(e.code, e.body)
            answer.headers.update(e.headers)
        except Exception:       # a fault of this server: to be seen, and not mistaken for a cut
            traceback.print_exc()
            error = ApiError(500, "InternalError", "the test API server has a bug, see its stderr")
            answer = json_answer(500, error.body)
        answer.user = user
        return answer

    # What is not a resource

    def _open(self, r: Request, user: User) -> Answer | None:
        if r.path in ("/livez", "/readyz", "/healthz"):
            return text_answer(200, "ok")
        if r.path == "/version":
            return json_answer(200, discovery.version(self.minor))
        if not r.path.startswith(("/api", "/openapi")):
            raise status.no_such_path()
        if user is ANONYMOUS and r.path in ("/api", "/apis"):
            raise status.forbidden("", "", "", 'User "system:anonymous" cannot get path '
                                   f'"{r.path}"')
        obj = self._documents(r.path.rstrip("/"))
        return None if obj is None else json_answer(200, obj)

    def _documents(self, path: str) -> Obj | None:
        parts = path.split("/")[1:]
        if path == "/api":
            return discovery.api_versions(self.address)
        if path == "/apis":
            return discovery.group_list()
        if path == "/api/v1":
            return discovery.resources("", self.without)
        if path == "/openapi/v3":
            return discovery.openapi_paths()
        if path.startswith("/openapi/v3/"):
            return discovery.openapi(parts[3] if parts[2] == "apis" else "")
        if parts[0] == "apis" and len(parts) in (2, 3) and parts[1] in discovery.groups():
            if len(parts) == 2:
                return discovery.group(parts[1])
            if parts[2] == discovery.version_of(parts[1]):
                return discovery.resources(parts[1], self.without)
        if parts[0] == "openapi":
            raise status.no_such_path()
        return None

    def _proxy(self, r: Request, user: User) -> Answer | None:
        way = proxy.way(r.path)
        if way is None:
            return None
        if r.method != "GET":
            raise status.method_not_allowed()
        auth.require(self.store, user, Ask("get", "", "pods", "proxy", way.namespace, way.name))
        code, kind, body = proxy.fetch(self.store, way)
        return Answer(code, body, kind)

    # Resources

    def _resource(self, r: Request, user: User) -> Answer:
        t = target(r.path)
        if t is None or f"{t.res.plural}/{t.sub}" in self.without:
            raise status.no_such_path()
        accept = self._accept(r)
        verb = self._verb(r, t)
        ask = Ask(verb, t.res.group, t.res.plural, t.sub, t.namespace, t.name, self._node(r))
        if t.res.kind == "Namespace":
            ask = Ask(verb, "", "namespaces", t.sub, t.name, t.name)
        auth.require(self.store, user, ask)
        if t.res.plural in self.without:
            raise status.no_such_path()
        if verb == "watch":
            return self._watch(t, r, accept)
        if verb == "list":
            return self._list(t, r, accept)
        if t.sub == "log":
            return Answer(200, stream=logs.answer(self.store, self.logs, (t.namespace, t.name),
                                                  r.query), content_type="text/plain")
        call = Call(t.res, t.namespace, t.name, t.sub, r.query, user, r.body,
                    r.headers.get("Content-Type", "application/json"),
                    r.headers.get("User-Agent", ""))
        if verb == "deletecollection":
            return self._delete_many(call)
        act: dict[str, tuple[int, Callable[[Call], Obj]]] = {
            "get": (200, self.rest.get), "create": (201, self.rest.create),
            "update": (200, self.rest.update), "patch": (200, self.rest.patch),
            "delete": (200, self.rest.delete)}
        code, function = act[verb]
        obj = function(call)
        answer = json_answer(code, self._shaped(t.res, obj, accept))
        if call.warnings:
            answer.headers["Warning"] = ", ".join(
                "299 - " + status.go_quote(w) for w in call.warnings)
        return answer

    @staticmethod
    def _node(r: Request) -> str:
        terms = lists.parse_fields(r.query.get("fieldSelector", ""))
        return next((v for p, v, equal in terms if p == "spec.nodeName" and equal), "")

    @staticmethod
    def _accept(r: Request) -> str:
        """"": plain JSON; else Table or PartialObjectMetadata[List]."""
        header = r.headers.get("Accept") or "*/*"
        for part in header.split(","):
            kind, *params = [p.strip() for p in part.split(";")]
            if kind not in ACCEPTED:
                continue
            form = dict(p.split("=", 1) for p in params if "=" in p).get("as", "")
            return form
        raise ApiError(406, "NotAcceptable", "406: Not Acceptable\n\nAvailable representations: "
                       "application/json, application/yaml, application/vnd.kubernetes.protobuf",
                       {})

    @staticmethod
    def _verb(r: Request, t: Target) -> str:
        named = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete",
                 "HEAD": "get"}
        if t.sub:
            allowed = {"POST": "create"} if t.sub in ("eviction", "token") else {
                "GET": "get"} if t.sub == "log" else {
                "GET": "get", "PUT": "update", "PATCH": "patch"}
            verb = allowed.get(r.method)
        elif t.name:
            verb = named.get(r.method)
            if verb == "get" and r.query.get("watch") in ("1", "true"):
                verb = "watch"
        else:
            verb = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}.get(r.method)
            if verb == "list" and r.query.get("watch") in ("1", "true"):
                verb = "watch"
        if verb is None or (t.res.create_only and verb != "create"):
            raise status.method_not_allowed()
        return verb

    def _shaped(self, res: Resource, obj: Obj, accept: str) -> Obj:
        if obj.get("kind") != res.kind:
            return obj
        if accept == "Table":
            return tables.table(res.kind, [obj], {
                "resourceVersion": obj["metadata"].get("resourceVersion", "")}, "Metadata")
        if accept == "PartialObjectMetadata":
            return tables.partial(obj)
        return obj

    def _list(self, t: Target, r: Request, accept: str) -> Answer:
        items, meta = lists.collect(self.store, t.res, t.namespace, r.query, self.modern)
        if t.res.kind == "Event" and t.res.group:
            items = [events.to_new(e) for e in items]
        if accept == "Table":
            body = tables.table(t.res.kind, items, meta, r.query.get("includeObject", ""))
        elif accept.startswith("PartialObjectMetadata"):
            body = {"kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
                    "metadata": meta, "items": [tables.partial(i) for i in items]}
        else:
            bare = [{k: v for k, v in i.items() if k not in ("kind", "apiVersion")}
                    for i in items]
            body = {"kind": t.res.kind + "List", "apiVersion": t.res.api_version,
                    "metadata": meta, "items": bare}
        return json_answer(200, body)

    def _watch(self, t: Target, r: Request, accept: str) -> Answer:
        query = dict(r.query)
        if t.name:
            query["fieldSelector"] = f"metadata.name={t.name}"
        watch = Watch(self.store, t.res, t.namespace, query, self.modern)
        view = None
        if accept:
            include = r.query.get("includeObject", "")
            first = [True]

            def view(kind: str, obj: Obj) -> bytes:
                if accept == "Table":
                    shown = tables.table(t.res.kind, [obj], {"resourceVersion": obj["metadata"][
                        "resourceVersion"]}, include, first[0])
                    first[0] = False
                else:
                    shown = tables.partial(obj)
                return encode({"type": kind, "object": shown}) + b"\n"
        return Answer(200, stream=watch.lines(view))

    def _delete_many(self, call: Call) -> Answer:
        items, meta = lists.collect(self.store, call.res, call.namespace, call.query, True)
        for obj in items:
            one = Call(call.res, obj["metadata"].get("namespace", ""), obj["metadata"]["name"],
                       "", call.query, call.user, call.body)
            self.rest.delete(one)
        return json_answer(200, {"kind": call.res.kind + "List",
                                 "apiVersion": call.res.api_version, "metadata": meta,
                                 "items": items})

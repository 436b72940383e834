# SPDX-License-Identifier: Apache-2.0
"""Who asks (tokens) and what they may (RBAC over the stored roles, and the node's fixed rights)."""
from __future__ import annotations

import secrets
import threading
import uuid
from dataclasses import dataclass, field
from typing import Any

from .status import ApiError, forbidden, unauthorized
from .store import Store

PUBLIC = ("/version", "/livez", "/readyz", "/healthz")


@dataclass
class User:
    name: str
    groups: list[str]
    uid: str = ""
    extra: dict[str, list[str]] = field(default_factory=dict)
    bound: tuple[str, str, str] | None = None   # kind, "namespace/name", uid

    @property
    def node(self) -> str:
        return self.extra.get("authentication.kubernetes.io/node-name", [""])[0]


ANONYMOUS = User("system:anonymous", ["system:unauthenticated"])


@dataclass(frozen=True)
class Ask:
    """One authorization question."""

    verb: str
    group: str = ""
    resource: str = ""
    sub: str = ""
    namespace: str = ""
    name: str = ""
    field_node: str = ""

    @property
    def full(self) -> str:
        return f"{self.resource}/{self.sub}" if self.sub else self.resource


class Tokens:
    """Bearer tokens. Rotation forgets the old one of an identity at once."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.lock = threading.Lock()
        self.users: dict[str, User] = {}

    def issue(self, user: User) -> str:
        token = secrets.token_urlsafe(32)
        with self.lock:
            self.users[token] = user
        return token

    def revoke(self, name: str) -> list[User]:
        with self.lock:
            gone = [t for t, u in self.users.items() if u.name == name]
            return [self.users.pop(t) for t in gone]

    def who(self, header: str | None) -> User:
        if not header:
            return ANONYMOUS
        kind, _, token = header.partition(" ")
        user = self.users.get(token.strip()) if kind.lower() == "bearer" else None
        if user is None or not self._still_bound(user):
            raise unauthorized()
        return user

    def _still_bound(self, user: User) -> bool:
        if user.bound is None:
            return True
        kind, key, uid = user.bound
        namespace, _, name = key.rpartition("/")
        found = self.store.get({"Pod": "pods", "Node": "nodes"}[kind], (namespace, name))
        return found is not None and (not uid or found["metadata"]["uid"] == uid)


def service_account(store: Store, namespace: str, name: str,
                    ref: dict[str, Any] | None = None) -> User:
    """The user a service account's token stands for; bound to a pod it also names the node."""
    account = store.get("serviceaccounts", (namespace, name))
    user = User(f"system:serviceaccount:{namespace}:{name}",
                ["system:serviceaccounts", f"system:serviceaccounts:{namespace}",
                 "system:authenticated"], account["metadata"]["uid"] if account else "",
                {"authentication.kubernetes.io/credential-id": [f"JTI={uuid.uuid4()}"]})
    if not ref:
        return user
    prefix = "authentication.kubernetes.io/"
    node = ref["name"]
    if ref["kind"] == "Pod":
        pod = store.get("pods", (namespace, ref["name"]))
        if pod is None or ref.get("uid", pod["metadata"]["uid"]) != pod["metadata"]["uid"]:
            raise ApiError(404, "NotFound", f'pods "{ref["name"]}" not found',
                           {"name": ref["name"], "kind": "pods"})
        user.extra[prefix + "pod-name"] = [ref["name"]]
        user.extra[prefix + "pod-uid"] = [pod["metadata"]["uid"]]
        user.bound = ("Pod", f"{namespace}/{ref['name']}", pod["metadata"]["uid"])
        node = pod["spec"].get("nodeName", "")
    if node:
        user.extra[prefix + "node-name"] = [node]
        found = store.get("nodes", ("", node))
        if found:
            user.extra[prefix + "node-uid"] = [found["metadata"]["uid"]]
    return user


# The Node authorizer, reduced to what the walks and a kubelet stand-in need.
NODE_RULES = [
    {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "create",
                                                         "delete"]},
    {"apiGroups": [""], "resources": ["pods/status"], "verbs": ["patch", "update"]},
    {"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]},
    {"apiGroups": [""], "resources": ["serviceaccounts/token"], "verbs": ["create"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch", "create",
                                                          "patch", "update"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["patch", "update"]},
    {"apiGroups": ["", "events.k8s.io"], "resources": ["events"],
     "verbs": ["create", "patch", "update"]},
]
SELF = [{"apiGroups": ["authorization.k8s.io", "authentication.k8s.io"],
         "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews",
                       "selfsubjectreviews"], "verbs": ["create"]}]


def _grants(rules: list[dict[str, Any]], ask: Ask) -> bool:
    def has(values: list[str], *wanted: str) -> bool:
        return "*" in values or any(w in values for w in wanted)

    for rule in rules or []:
        resources = rule.get("resources", [])
        anys = (f"*/{ask.sub}",) if ask.sub else ()
        if (has(rule.get("verbs", []), ask.verb) and has(rule.get("apiGroups", []), ask.group)
                and has(resources, ask.full, *anys)
                and (not rule.get("resourceNames") or ask.name in rule["resourceNames"])):
            return True
    return False


def _is_subject(subject: dict[str, Any], user: User, namespace: str) -> str | None:
    kind, name = subject.get("kind"), subject.get("name", "")
    if kind == "ServiceAccount":
        space = subject.get("namespace") or namespace
        if user.name == f"system:serviceaccount:{space}:{name}":
            return f'ServiceAccount "{name}/{space}"'
    elif kind == "User" and user.name == name:
        return f'User "{name}"'
    elif kind == "Group" and name in user.groups:
        return f'Group "{name}"'
    return None


def allowed(store: Store, user: User, ask: Ask) -> tuple[bool, str]:
    """(may, reason)"""
    if "system:masters" in user.groups:
        return True, ""
    if "system:authenticated" in user.groups and _grants(SELF, ask):
        return True, ""
    if "system:nodes" in user.groups and _grants(NODE_RULES, ask):
        node = user.name.removeprefix("system:node:")
        if ask.resource != "pods" or ask.verb not in ("list", "watch") or ask.field_node == node:
            return True, ""
        return False, "can only list/watch pods with spec.nodeName field selector"
    for kind, table in (("ClusterRoleBinding", "clusterrolebindings"),
                        ("RoleBinding", "rolebindings")):
        for (space, name), binding in list(
                store.table(f"{table}.rbac.authorization.k8s.io").items()):
            if space and space != ask.namespace:
                continue
            subject = next(filter(None, (_is_subject(s, user, space)
                                         for s in binding.get("subjects") or [])), None)
            if not subject:
                continue
            ref = binding["roleRef"]
            plural = "clusterroles" if ref["kind"] == "ClusterRole" else "roles"
            role = store.get(f"{plural}.rbac.authorization.k8s.io",
                             ("" if plural == "clusterroles" else space, ref["name"]))
            if role and _grants(role.get("rules"), ask):
                where = f"{space}/{name}" if space else name
                return True, (f'RBAC: allowed by {kind} "{where}" of {ref["kind"]} '
                              f'"{ref["name"]}" to {subject}')
    return False, ""


def require(store: Store, user: User, ask: Ask) -> None:
    may, reason = allowed(store, user, ask)
    if may:
        return
    where = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
    why = (f'User "{user.name}" cannot {ask.verb} resource "{ask.full}" in API group '
           f'"{ask.group}" {where}')
    raise forbidden(ask.resource, ask.group, ask.name, why + (f": {reason}" if reason else ""))

# SPDX-License-Identifier: Apache-2.0
"""The verbs: create, get, update, patch, delete, evict, and the reviews."""
from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from . import admission, auth, events, fields, patch, pods, proto, status, strict
from .auth import Ask, Tokens, User
from .kinds import BY_KIND, Resource
from .status import ApiError
from .store import Store
from .strategy import RETURNS_OBJECT, Strategy

BODY_MAX = 3145728
Key = tuple[str, str]
Obj = dict[str, Any]


def now(offset: float = 0) -> str:
    at = datetime.now(timezone.utc) + timedelta(seconds=offset)
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Call:
    """One request on a resource, already authorized."""

    res: Resource
    namespace: str
    name: str
    sub: str
    query: dict[str, str]
    user: User
    body: bytes = b""
    content_type: str = "application/json"
    agent: str = ""
    warnings: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return (self.namespace, self.name)

    @property
    def manager(self) -> str:
        return self.query.get("fieldManager") or re.split(r"[/ ]", self.agent)[0] or "unknown"

    @property
    def dry(self) -> bool:
        return self.query.get("dryRun") == "All"


def _without_times(obj: Obj) -> Obj:
    """An object whose entries differ in their time alone is not stored."""
    meta = obj["metadata"]
    entries = [{k: v for k, v in e.items() if k != "time"} for e in meta.get("managedFields", [])]
    return dict(obj, metadata=dict(meta, managedFields=entries))


class Rest:
    def __init__(self, store: Store, tokens: Tokens, minor: int, default_account: bool) -> None:
        self.store = store
        self.tokens = tokens
        self.minor = minor
        self.strategy = Strategy(store, minor)
        self.default_account = default_account

    # Reading

    def get(self, c: Call) -> Obj:
        return events.view(self._live(c), c.res.group) if c.res.kind == "Event" else self._live(c)

    def _live(self, c: Call) -> Obj:
        found = self.store.get(c.res.table, c.key)
        if found is None:
            raise status.not_found(c.res.plural, c.res.group, c.name)
        return found

    # Creating

    def _parse(self, c: Call) -> Obj:
        if len(c.body) > BODY_MAX:
            raise ApiError(413, "RequestEntityTooLarge",
                           f"Request entity too large: limit is {BODY_MAX}")
        try:
            if c.content_type == proto.TYPE:
                return proto.decode(c.sub and "" or c.res.kind, c.body)
            obj = json.loads(c.body or b"{}")
        except ValueError as e:
            raise status.bad_request(f"the object provided is unrecognized: {e}") from None
        if not isinstance(obj, dict):
            raise status.bad_request("the object provided is not an object")
        return obj

    def create(self, c: Call) -> Obj:
        obj = self._parse(c)
        if c.res.create_only:
            return self._review(c, obj)
        if c.sub:
            return self._create_sub(c, obj)
        return self._create(c, obj)

    def _create(self, c: Call, obj: Obj) -> Obj:
        res = c.res
        obj = {**obj, "kind": res.kind, "apiVersion": res.api_version}
        meta = dict(obj.get("metadata") or {})
        if res.namespaced and meta.get("namespace", c.namespace) != c.namespace:
            raise status.bad_request("the namespace of the provided object does not match the "
                                     "namespace sent on the request")
        if res.namespaced:
            if self.store.get("namespaces", ("", c.namespace)) is None:
                raise status.not_found("namespaces", "", c.namespace)
            meta["namespace"] = c.namespace
        if not meta.get("name") and meta.get("generateName"):
            meta["name"] = meta["generateName"] + pods.suffix()
        if not meta.get("name"):
            raise status.invalid(res.kind, "", [status.FieldError(
                "metadata.name", "Required value", "name or generateName is required")],
                "" if res.kind == "Event" else res.group)
        for k in ("resourceVersion", "managedFields", "deletionTimestamp"):
            meta.pop(k, None)
        meta.update(uid=str(uuid.uuid4()), creationTimestamp=now())
        obj["metadata"] = meta
        strict.check(c, obj)
        obj, c.warnings = self._decode(c, obj)
        key = (c.namespace, meta["name"])
        with self.store.lock:
            managed = fields.update(None, _for_fields(obj), c.manager, "", now())
            if managed:
                obj = dict(obj, metadata=dict(obj["metadata"], managedFields=managed))
            obj = self.strategy.prepare_create(res, obj, c.user)
            if self.store.get(res.table, key) is not None:
                raise status.exists(res.plural, res.group, meta["name"])
            stored = events.to_core(obj) if res.kind == "Event" else obj
            if not c.dry:
                stored = self.store.write("ADDED", res.table, key, stored)
                self._after_create(c, stored)
        return events.view(stored, res.group) if res.kind == "Event" else stored

    def _decode(self, c: Call, obj: Obj) -> tuple[Obj, list[str]]:
        try:
            return self.strategy.decode(c.res, obj)
        except (ValueError, TypeError, AttributeError) as e:
            raise status.bad_request(f"{c.res.kind} in version \"{c.res.version}\" cannot be "
                                     f"handled as a {c.res.kind}: {e}") from None

    def _after_create(self, c: Call, obj: Obj) -> None:
        if c.res.kind == "Pod":
            admission.quota(self.store, obj, None, commit=True)
        if c.res.kind == "Namespace" and self.default_account:
            account = BY_KIND["v1", "ServiceAccount"]
            inner = Call(account, obj["metadata"]["name"], "", "", {}, c.user)
            self._create(inner, {"metadata": {"name": "default"}})

    def _create_sub(self, c: Call, obj: Obj) -> Obj:
        if c.sub == "token":
            return self._token(c, obj)
        if c.sub == "eviction":
            return self._evict(c, obj)
        raise status.method_not_allowed()

    def _token(self, c: Call, obj: Obj) -> Obj:
        account = self._live(c)
        spec = {"audiences": ["https://kubernetes.default.svc"], "expirationSeconds": 3600,
                "boundObjectRef": None, **obj.get("spec", {})}
        meta: Obj = {"name": c.name, "namespace": c.namespace, "creationTimestamp": now()}
        if self.minor >= 34:
            meta["uid"] = account["metadata"]["uid"]
        asked = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1",
                 "metadata": {}, "spec": {"audiences": None, "expirationSeconds": None,
                                          "boundObjectRef": None, **obj.get("spec", {})},
                 "status": {}}
        managed = fields.update(None, asked, c.manager, "token", now())
        meta["managedFields"] = managed
        user = auth.service_account(self.store, c.namespace, c.name, spec["boundObjectRef"])
        return dict(asked, metadata=meta, spec=spec,
                    status={"token": self.tokens.issue(user),
                            "expirationTimestamp": now(spec["expirationSeconds"])})

    def _review(self, c: Call, obj: Obj) -> Obj:
        obj = {"kind": c.res.kind, "apiVersion": c.res.api_version, **obj}
        if c.res.kind == "SelfSubjectReview":
            info: Obj = {"username": c.user.name, "groups": c.user.groups}
            if c.user.uid:
                info["uid"] = c.user.uid
            if c.user.extra:
                info["extra"] = c.user.extra
            return {"kind": c.res.kind, "apiVersion": c.res.api_version,
                    "metadata": {"creationTimestamp": now()}, "status": {"userInfo": info}}
        if c.res.kind == "SelfSubjectRulesReview":
            return dict(obj, status={"resourceRules": [], "nonResourceRules": [],
                                     "incomplete": True})
        attributes = {k: v for k, v in
                      (obj.get("spec", {}).get("resourceAttributes") or {}).items() if v != ""}
        asked = dict(obj, metadata={}, spec=dict(obj.get("spec", {})), status={})
        if attributes:
            asked["spec"]["resourceAttributes"] = attributes
        may, why = auth.allowed(self.store, c.user, Ask(
            attributes.get("verb", ""), attributes.get("group", ""),
            attributes.get("resource", ""), attributes.get("subresource", ""),
            attributes.get("namespace", ""), attributes.get("name", "")))
        meta: Obj = {} if self.minor >= 34 else {"creationTimestamp": None}
        meta["managedFields"] = fields.update(None, asked, c.manager, "", now())
        return dict(asked, metadata=meta, status={"allowed": may, **({"reason": why} if why
                                                                     else {})})

    # Changing

    def update(self, c: Call) -> Obj:
        obj = self._parse(c)
        obj = {**obj, "kind": c.res.kind, "apiVersion": c.res.api_version}
        with self.store.lock:
            live = self._seen(c)
            meta = dict(obj.get("metadata") or {})
            for k in ("uid", "creationTimestamp"):
                meta.setdefault(k, live["metadata"][k])
            obj["metadata"] = meta
            strict.check(c, obj)
            return self._change(c, live, obj, None)

    def _seen(self, c: Call) -> Obj:
        live = self._live(c)
        return events.view(live, c.res.group) if c.res.kind == "Event" else live

    def patch(self, c: Call) -> Obj:
        kind = c.content_type.split(";")[0].strip()
        if kind not in ("application/strategic-merge-patch+json", "application/merge-patch+json",
                        "application/json-patch+json", "application/apply-patch+yaml"):
            raise ApiError(415, "UnsupportedMediaType", "415: Unsupported Media Type", {})
        if len(c.body) > BODY_MAX:
            raise ApiError(413, "RequestEntityTooLarge",
                           f"Request entity too large: limit is {BODY_MAX}")
        if kind == "application/apply-patch+yaml" and not c.query.get("fieldManager"):
            raise status.invalid("PatchOptions", "", [status.FieldError(
                "fieldManager", "Required value", "is required for apply patch")], "meta.k8s.io")
        with self.store.lock:
            if kind == "application/apply-patch+yaml" and not c.sub and \
                    self.store.get(c.res.table, c.key) is None:
                return self._create(c, self._patch_body(c))
            live = self._seen(c)
            wanted = self._patch_body(c)
            if kind == "application/json-patch+json":
                new = patch.json_patch(live, wanted)
            elif kind == "application/merge-patch+json":
                new = patch.merge(live, wanted)
            else:
                new = patch.strategic(live, wanted)
            strict.check(c, new, wanted)
            new = dict(new, kind=c.res.kind, apiVersion=c.res.api_version)
            applied = wanted if kind == "application/apply-patch+yaml" else None
            return self._change(c, live, new, applied, wanted)

    @staticmethod
    def _patch_body(c: Call) -> Any:
        try:
            return json.loads(c.body)
        except ValueError:
            raise status.bad_request("error decoding patch: unexpected end of JSON input") \
                from None

    def _change(self, c: Call, live: Obj, new: Obj, applied: Obj | None, wanted: Any = None) -> Obj:
        """From the wanted-for object to the stored one."""
        self._check_revision(c, live, new)
        try:
            new, c.warnings = self.strategy.decode(c.res, new)
        except ValueError as e:
            raise strict.bad_patch(wanted if wanted is not None else new, str(e)) from None
        entries = live["metadata"].get("managedFields", [])
        if applied is not None:
            managed = fields.apply(live, new, applied, c.manager, c.sub, now(),
                                   c.query.get("force") == "true")
        else:
            plain = dict(live, metadata=dict(live["metadata"], managedFields=entries))
            managed = fields.update(plain, new, c.manager, c.sub, now())
        meta = {k: v for k, v in new["metadata"].items() if v not in (None, {}, [])}
        for k in ("resourceVersion", "creationTimestamp", "generation", "deletionTimestamp",
                  "deletionGracePeriodSeconds"):
            meta.pop(k, None)
            if k in live["metadata"]:
                meta[k] = live["metadata"][k]
        meta.pop("managedFields", None)
        if managed:
            meta["managedFields"] = managed
        new = self.strategy.prepare_update(c.res, c.sub, dict(new, metadata=meta), live, c.user)
        if _without_times(new) == _without_times(live):
            return live
        if c.dry:
            return new
        stored = events.to_core(new) if c.res.kind == "Event" else new
        stored = self.store.write("MODIFIED", c.res.table, c.key, stored)
        if c.res.kind == "Pod" and c.sub == "resize":
            admission.quota(self.store, stored, live, commit=True)
        return events.view(stored, c.res.group) if c.res.kind == "Event" else stored

    @staticmethod
    def _check_revision(c: Call, live: Obj, new: Obj) -> None:
        asked = (new.get("metadata") or {}).get("resourceVersion") or ""
        if asked and not re.fullmatch("[0-9]+", asked):
            raise ApiError(500, None, f'strconv.ParseUint: parsing "{asked}": invalid syntax')
        if asked and asked != live["metadata"]["resourceVersion"]:
            raise status.conflict(c.res.plural, c.res.group, c.name)

    # Removing

    def delete(self, c: Call) -> Obj:
        options = self._parse(c) if c.body else {}
        with self.store.lock:
            live = self._live(c)
            uid = (options.get("preconditions") or {}).get("uid")
            if uid and uid != live["metadata"]["uid"]:
                raise status.wrong_uid(c.res.kind, c.name, uid, live["metadata"]["uid"])
            if c.dry or options.get("dryRun"):
                return live
            if c.res.kind == "Pod":
                return self._delete_pod(c, live, options)
            gone = self.store.write("DELETED", c.res.table, c.key, live)
            if c.res.kind == "Namespace":
                self._empty(c.name)
        if c.res.kind in RETURNS_OBJECT:
            return live
        details = {"name": c.name, "kind": c.res.plural, "uid": gone["metadata"]["uid"]}
        if c.res.group:
            details["group"] = c.res.group
        return status.success(details=details)

    def _empty(self, namespace: str) -> None:
        for table, objects in self.store.objects.items():
            for key in [k for k in objects if k[0] == namespace]:
                self.store.write("DELETED", table, key, objects[key])

    def _delete_pod(self, c: Call, live: Obj, options: Obj) -> Obj:
        grace = options.get("gracePeriodSeconds", c.query.get("gracePeriodSeconds"))
        if grace is None:
            grace = live["spec"].get("terminationGracePeriodSeconds", 30)
        grace = int(grace)
        if not live["spec"].get("nodeName") or \
                live["status"].get("phase") in ("Succeeded", "Failed"):
            grace = 0
        meta = dict(live["metadata"])
        if "deletionTimestamp" in meta and grace >= meta["deletionGracePeriodSeconds"]:
            return live
        if "deletionTimestamp" not in meta:
            meta["generation"] = meta.get("generation", 0) + 1
            meta["deletionTimestamp"] = now(grace)
        meta["deletionGracePeriodSeconds"] = grace
        seen = self.store.write("MODIFIED", c.res.table, c.key, dict(live, metadata=meta))
        if grace == 0:
            self.store.write("DELETED", c.res.table, c.key, seen)
        return seen

    def _evict(self, c: Call, obj: Obj) -> Obj:
        with self.store.lock:
            live = self._live(c)
            options = obj.get("deleteOptions") or {}
            uid = (options.get("preconditions") or {}).get("uid")
            if uid and uid != live["metadata"]["uid"]:
                raise status.wrong_uid("Pod", c.name, uid, live["metadata"]["uid"])
            self._check_budget(live)
            if not c.dry:
                condition = {"type": "DisruptionTarget", "status": "True", "lastProbeTime": None,
                             "lastTransitionTime": now(), "reason": "EvictionByEvictionAPI",
                             "message": "Eviction API: evicting"}
                conditions = live["status"].get("conditions", []) + [condition]
                marked = dict(live, status=dict(live["status"], conditions=conditions))
                marked = self.store.write("MODIFIED", "pods", c.key, marked)
                self._delete_pod(c, marked, options)
        return status.success(201)

    def _check_budget(self, pod: Obj) -> None:
        labels = pod["metadata"].get("labels") or {}
        for (space, name), budget in self.store.table("poddisruptionbudgets.policy").items():
            wanted = budget["spec"].get("selector", {}).get("matchLabels", {})
            if space != pod["metadata"]["namespace"] or not wanted.items() <= labels.items():
                continue
            s = budget["status"]
            if s.get("disruptionsAllowed", 0) <= 0:
                raise ApiError(
                    429, "TooManyRequests",
                    "Cannot evict pod as it would violate the pod's disruption budget.",
                    {"causes": [{"reason": "DisruptionBudget", "message":
                                 f"The disruption budget {name} needs {s['desiredHealthy']} "
                                 f"healthy pods and has {s['currentHealthy']} currently"}]})


def _for_fields(obj: Obj) -> Obj:
    """A new object as its maker gave it: the status of some kinds is not taken."""
    if obj["kind"] == "Pod":
        return dict(obj, status={})
    if obj["kind"] == "Namespace":
        return {k: v for k, v in obj.items() if k not in ("spec", "status")}
    return obj

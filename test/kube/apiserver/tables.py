# SPDX-License-Identifier: Apache-2.0
"""The other forms of an answer: Table (what kubectl prints) and PartialObjectMetadata."""
from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

Obj = dict[str, Any]
POD = [("Name", "string", "name", 0), ("Ready", "string", "", 0), ("Status", "string", "", 0),
       ("Restarts", "string", "", 0), ("Age", "string", "", 0), ("IP", "string", "", 1),
       ("Node", "string", "", 1), ("Nominated Node", "string", "", 1),
       ("Readiness Gates", "string", "", 1)]
NODE = [("Name", "string", "name", 0), ("Status", "string", "", 0), ("Roles", "string", "", 0),
        ("Age", "string", "", 0), ("Version", "string", "", 0)]
EVENT = [("Last Seen", "string", "", 0), ("Type", "string", "", 0), ("Reason", "string", "", 0),
         ("Object", "string", "", 0), ("Message", "string", "", 0), ("Name", "string", "name", 1)]
NAMESPACE = [("Name", "string", "name", 0), ("Status", "string", "", 0),
             ("Age", "string", "", 0)]
OTHER = [("Name", "string", "name", 0), ("Age", "string", "", 0)]


def age(text: str | None) -> str:
    if not text:
        return "<unknown>"
    then = datetime.fromisoformat(text.replace("Z", "+00:00"))
    seconds = max(0, int((datetime.now(timezone.utc) - then).total_seconds()))
    if seconds < 120:
        return f"{seconds}s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 10:
        return f"{minutes}m{seconds}s" if seconds else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    hours = minutes // 60
    return f"{hours}h" if hours < 48 else f"{hours // 24}d"


def _pod_status(pod: Obj) -> str:
    if pod["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for c in pod["status"].get("containerStatuses", []):
        for state in ("waiting", "terminated"):
            reason = (c.get("state") or {}).get(state, {}).get("reason")
            if reason:
                return reason
    return pod["status"].get("reason") or pod["status"].get("phase", "")


def _pod(pod: Obj) -> list[Any]:
    statuses = pod["status"].get("containerStatuses", [])
    side = [c for c in pod["spec"].get("initContainers", []) if c.get("restartPolicy") == "Always"]
    count = len(pod["spec"]["containers"]) + len(side)
    ready = sum(1 for s in statuses if s.get("ready"))
    return [pod["metadata"]["name"], f"{ready}/{count}", _pod_status(pod),
            str(sum(s.get("restartCount", 0) for s in statuses)),
            age(pod["metadata"].get("creationTimestamp")), pod["status"].get("podIP", "<none>"),
            pod["spec"].get("nodeName", "<none>"), "<none>", "<none>"]


def _node(node: Obj) -> list[Any]:
    ready = any(c["type"] == "Ready" and c["status"] == "True"
                for c in node["status"].get("conditions", []))
    return [node["metadata"]["name"], "Ready" if ready else "NotReady", "<none>",
            age(node["metadata"].get("creationTimestamp")),
            node["status"]["nodeInfo"].get("kubeletVersion", "")]


def _event(ev: Obj) -> list[Any]:
    about = ev.get("involvedObject") or ev.get("regarding") or {}
    last = (ev.get("series") or {}).get("lastObservedTime") or ev.get("lastTimestamp") \
        or ev.get("eventTime") or ev["metadata"].get("creationTimestamp")
    return [age(last), ev.get("type", ""), ev.get("reason", ""),
            f"{about.get('kind', '').lower()}/{about.get('name', '')}",
            ev.get("message") or ev.get("note", ""), ev["metadata"]["name"]]


def _namespace(obj: Obj) -> list[Any]:
    return [obj["metadata"]["name"], obj["status"].get("phase", ""),
            age(obj["metadata"].get("creationTimestamp"))]


def _other(obj: Obj) -> list[Any]:
    return [obj["metadata"]["name"], age(obj["metadata"].get("creationTimestamp"))]


FORMS = {"Pod": (POD, _pod), "Node": (NODE, _node), "Event": (EVENT, _event),
         "Namespace": (NAMESPACE, _namespace)}


def partial(obj: Obj) -> Obj:
    return {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": obj["metadata"]}


def table(kind: str, items: list[Obj], meta: Obj, include: str, columns: bool = True) -> Obj:
    names, cells = FORMS.get(kind, (OTHER, _other))
    rows = []
    for obj in items:
        row: Obj = {"cells": cells(obj)}
        if include == "Object":
            row["object"] = obj
        elif include != "None":
            row["object"] = partial(obj)
        rows.append(row)
    definitions = [{"name": n, "type": t, "format": f, "description": "", "priority": p}
                   for n, t, f, p in names]
    return {"kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
            "columnDefinitions": definitions if columns else None, "rows": rows}

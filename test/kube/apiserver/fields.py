# SPDX-License-Identifier: Apache-2.0
"""Who set which field: metadata.managedFields, kept as sets of paths."""
from __future__ import annotations

import json
from typing import Any

from .status import ApiError

Path = tuple[str, ...]

# Lists whose items have an identity, and maps and lists taken as one value.
KEYED = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name",
    "volumes": "name", "env": "name", "volumeMounts": "mountPath", "conditions": "type",
    "podIPs": "ip", "imagePullSecrets": "name", "ownerReferences": "uid", "addresses": "type",
    "matchConditions": "name", "variables": "name",
}
ATOMIC_ITEMS = {"ownerReferences", "variables"}
SETS = {"validationActions", "finalizers"}
ATOMIC = {
    "involvedObject", "regarding", "nodeSelector", "selector", "matchConstraints", "roleRef",
    "fieldRef", "secretKeyRef", "configMapKeyRef", "resourceFieldRef",
}
# What a Go value of the kind holds before anything is set.
SKELETONS: dict[tuple[str, str], dict[str, Any]] = {
    ("v1", "Pod"): {"spec": {"containers": None}, "status": {}},
    ("v1", "Node"): {"spec": {}, "status": {
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 0}},
        "nodeInfo": {k: "" for k in (
            "machineID", "systemUUID", "bootID", "kernelVersion", "osImage",
            "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion",
            "operatingSystem", "architecture")}}},
    ("v1", "Namespace"): {"spec": {}, "status": {}},
    ("v1", "LimitRange"): {"spec": {"limits": None}},
    ("v1", "ResourceQuota"): {"spec": {}, "status": {}},
    ("v1", "Event"): {"involvedObject": {}, "source": {}, "firstTimestamp": None,
                      "lastTimestamp": None, "eventTime": None, "reportingComponent": "",
                      "reportingInstance": ""},
    ("events.k8s.io/v1", "Event"): {"eventTime": None, "regarding": {}, "deprecatedSource": {},
                                    "deprecatedFirstTimestamp": None,
                                    "deprecatedLastTimestamp": None},
    ("policy/v1", "PodDisruptionBudget"): {"spec": {}, "status": {
        "disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}},
    ("rbac.authorization.k8s.io/v1", "ClusterRole"): {"rules": None},
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"): {"roleRef": {}},
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy"): {"spec": {}, "status": {}},
    ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicyBinding"): {"spec": {}},
    ("authentication.k8s.io/v1", "TokenRequest"): {
        "spec": {"audiences": None, "expirationSeconds": None, "boundObjectRef": None},
        "status": {}},
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): {"spec": {}, "status": {}},
}
UPDATES_MAX, ANCIENT = 10, "ancient-changes"
UNTRACKED = {"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp",
             "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"}


def skeleton(obj: dict[str, Any]) -> dict[str, Any]:
    base = SKELETONS.get((obj["apiVersion"], obj["kind"]), {})
    return dict(base, metadata={})


def _item(key: str, value: Any) -> str:
    return "k:" + json.dumps({key: value}, separators=(",", ":"))


def flatten(obj: dict[str, Any]) -> dict[Path, Any]:
    """Every path of the object; leaves and atomic values with their value, others with None."""
    out: dict[Path, Any] = {}
    for key, value in obj.items():
        if key in ("apiVersion", "kind"):
            continue
        if key == "metadata":
            value = {k: v for k, v in value.items() if k not in UNTRACKED}
            for name, inner in value.items():
                _flatten(out, ("f:metadata", "f:" + name), name, inner)
        else:
            _flatten(out, ("f:" + key,), key, value)
    return out


class _Inner:
    """Marks a path that has parts of its own; all compare equal."""

    def __eq__(self, other: Any) -> bool:
        return True


INNER = _Inner()


def _flatten(out: dict[Path, Any], path: Path, name: str, value: Any) -> None:
    if isinstance(value, dict) and value and name not in ATOMIC:
        out[path] = INNER
        for key, inner in value.items():
            _flatten(out, path + ("f:" + key,), key, inner)
    elif isinstance(value, list) and name in KEYED and _keyed(value, KEYED[name]):
        out[path] = INNER
        for item in value:
            here = path + (_item(KEYED[name], item[KEYED[name]]),)
            out[here] = item if name in ATOMIC_ITEMS else INNER
            if name not in ATOMIC_ITEMS:
                for key, inner in item.items():
                    _flatten(out, here + ("f:" + key,), key, inner)
    elif isinstance(value, list) and name in SETS:
        out[path] = INNER
        for item in value:
            out[path + ("v:" + json.dumps(item),)] = item
    else:
        out[path] = value


def _keyed(items: list[Any], key: str) -> bool:
    return all(isinstance(item, dict) and key in item for item in items)


def applied_set(obj: dict[str, Any]) -> set[Path]:
    """What a server-side apply claims: leaves, and list items, not the maps in between."""
    return {path for path, value in flatten(obj).items()
            if value is not INNER or path[-1].startswith(("k:", "v:"))}


def to_v1(paths: set[Path]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    parents = {path[:n] for path in paths for n in range(1, len(path))}
    for path in sorted(paths):
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        if path in parents:
            node["."] = {}
    return tree


def from_v1(tree: dict[str, Any], prefix: Path = ()) -> set[Path]:
    out: set[Path] = set()
    for part, inner in tree.items():
        if part == ".":
            out.add(prefix)
        elif not inner:
            out.add(prefix + (part,))
        else:
            out |= from_v1(inner, prefix + (part,))
    return out


def compare(old: dict[Path, Any], new: dict[Path, Any]) -> tuple[set[Path], set[Path]]:
    """(added or modified, removed)"""
    changed = {p for p, v in new.items() if p not in old or old[p] != v and v != old[p]}
    return changed, set(old) - set(new)


def _entry(manager: str, operation: str, version: str, sub: str, time: str,
           paths: set[Path]) -> dict[str, Any]:
    entry = {"manager": manager, "operation": operation, "apiVersion": version, "time": time,
             "fieldsType": "FieldsV1", "fieldsV1": to_v1(paths)}
    if sub:
        entry["subresource"] = sub
    return entry


def _sorted(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda e: (e["operation"], e["time"], e["manager"],
                                          e.get("subresource", "")))


def update(old: dict[str, Any] | None, new: dict[str, Any], manager: str, sub: str,
           time: str) -> list[dict[str, Any]]:
    """The entries after `manager` made `new` out of `old` (None: created)."""
    before = flatten(old if old is not None else skeleton(new))
    changed, removed = compare(before, flatten(new))
    entries = (old or {}).get("metadata", {}).get("managedFields", [])
    if not changed and not removed:
        return entries
    if old is not None and not entries:  # once cleared, no Update is recorded any more
        return []
    version = new["apiVersion"]
    own: set[Path] = set()
    out = []
    for e in entries:
        paths = from_v1(e["fieldsV1"])
        same = (e["manager"], e["operation"], e.get("subresource", ""), e["apiVersion"])
        if same == (manager, "Update", sub, version):
            own = paths
            continue
        left = paths - changed - removed
        if left == paths:
            out.append(e)
        elif left:
            out.append(dict(e, fieldsV1=to_v1(left)))
    own = (own - removed) | changed
    if own:
        out.append(_entry(manager, "Update", version, sub, time, own))
    return _capped(_sorted(out))


def _capped(entries: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """More Update entries than ten: the oldest are merged into one without a subresource."""
    updates = [e for e in entries if e["operation"] == "Update"]
    if len(updates) <= UPDATES_MAX:
        return entries
    old = sorted(updates, key=lambda e: e["time"])[:len(updates) - UPDATES_MAX + 1]
    paths: set[Path] = set().union(*(from_v1(e["fieldsV1"]) for e in old))
    merged = _entry(ANCIENT, "Update", old[-1]["apiVersion"], "", old[-1]["time"], paths)
    return _sorted([e for e in entries if e not in old] + [merged])


def _dotted(path: Path) -> str:
    text = ""
    for part in path:
        if part.startswith("f:"):
            text += "." + part[2:]
        elif part.startswith("k:"):
            keys = json.loads(part[2:])
            text += "[" + ",".join(f"{k}={json.dumps(v)}" for k, v in keys.items()) + "]"
        else:
            text += "[=" + part[2:] + "]"
    return text


def _owner(entry: dict[str, Any]) -> str:
    text = f'conflict with "{entry["manager"]}"'
    if entry.get("subresource"):
        text += f' with subresource "{entry["subresource"]}"'
    if entry["operation"] == "Update":
        text += f" using {entry['apiVersion']}"
    return text


def apply(live: dict[str, Any], merged: dict[str, Any], wanted: dict[str, Any], manager: str,
          sub: str, time: str, force: bool) -> list[dict[str, Any]]:
    """The entries after an apply; a 409 when others own what it changes."""
    claim = applied_set(wanted)
    changed, removed = compare(flatten(live), flatten(merged))
    out, conflicts = [], []
    previous = None
    for e in live["metadata"].get("managedFields", []):
        if (e["manager"], e["operation"], e.get("subresource", "")) == (manager, "Apply", sub):
            previous = e
            continue
        paths = from_v1(e["fieldsV1"])
        conflicts += [(_owner(e), p) for p in sorted(paths & changed & claim)]
        left = paths - (changed & claim) - removed
        if left == paths:
            out.append(e)
        elif left:
            out.append(dict(e, fieldsV1=to_v1(left)))
    if conflicts and not force:
        raise _conflict(conflicts)
    same = previous is not None and from_v1(previous["fieldsV1"]) == claim and not changed
    if claim:
        out.append(previous if same else
                   _entry(manager, "Apply", merged["apiVersion"], sub, time, claim))
    return _sorted(out)


def _conflict(conflicts: list[tuple[str, Path]]) -> ApiError:
    causes = [{"reason": "FieldManagerConflict", "message": who, "field": _dotted(path)}
              for who, path in conflicts]
    n = len(conflicts)
    if n == 1:
        text = f"{causes[0]['message']}: {causes[0]['field']}"
    else:
        by: dict[str, list[str]] = {}
        for c in causes:
            by.setdefault(c["message"], []).append(c["field"])
        text = "\n".join(f"{who}:\n" + "\n".join(f"- {f}" for f in fs)
                         for who, fs in by.items())
        text = text.replace("conflict with", "conflicts with")
    word = "conflict" if n == 1 else "conflicts"
    return ApiError(409, "Conflict", f"Apply failed with {n} {word}: {text}", {"causes": causes})

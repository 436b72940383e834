# SPDX-License-Identifier: Apache-2.0
"""Validating admission: own-node policy, quota, LimitRange, node capacity, declared features."""
from __future__ import annotations

from fractions import Fraction
from typing import Any

from . import cel, pods, quantity
from .auth import User
from .status import ApiError, forbidden
from .store import Store


def _deny(pod: dict[str, Any], why: str, causes: list[dict[str, Any]] | None = None) -> ApiError:
    return forbidden("pods", "", pod["metadata"]["name"], why, causes)


def _request(user: User, sub: str, pod: dict[str, Any]) -> dict[str, Any]:
    """What a policy sees of the request. As in an AdmissionRequest, what is empty is left out."""
    who = {"username": user.name, "uid": user.uid, "groups": user.groups, "extra": user.extra}
    request = {"operation": "UPDATE", "subResource": sub, "name": pod["metadata"]["name"],
               "namespace": pod["metadata"]["namespace"],
               "resource": {"group": "", "version": "v1", "resource": "pods"},
               "userInfo": {k: v for k, v in who.items() if v}}
    return {k: v for k, v in request.items() if v}


def policies(store: Store, user: User, sub: str, new: dict[str, Any],
             old: dict[str, Any]) -> None:
    """ValidatingAdmissionPolicies that match an UPDATE of pods."""
    resource = f"pods/{sub}" if sub else "pods"
    group = "admissionregistration.k8s.io"
    for binding in list(store.table(f"validatingadmissionpolicybindings.{group}").values()):
        name = binding["spec"]["policyName"]
        policy = store.get(f"validatingadmissionpolicies.{group}", ("", name))
        if policy is None or "Deny" not in binding["spec"].get("validationActions", []):
            continue
        rules = policy["spec"].get("matchConstraints", {}).get("resourceRules", [])
        if not any(resource in r["resources"] and {"UPDATE", "*"} & set(r["operations"])
                   for r in rules):
            continue
        said = cel.denied(policy["spec"], {
            "object": new, "oldObject": old, "request": _request(user, sub, new)})
        if said is not None:
            text = (f"ValidatingAdmissionPolicy '{name}' with binding "
                    f"'{binding['metadata']['name']}' denied request: {said}")
            raise _deny(new, text, [{"message": text}])


def _amount(name: str, value: Fraction) -> str:
    if name.endswith("cpu"):
        return quantity.canonical(f"{int(value * 1000)}m")
    for suffix, size in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if value and value % size == 0:
            return f"{int(value // size)}{suffix}"
    return str(int(value))


def _usage(pod: dict[str, Any], name: str) -> Fraction:
    if name == "pods":
        return Fraction(1)
    which, _, resource = name.rpartition(".")
    return Fraction(pods.total(pod, which or "requests", resource))


def quota(store: Store, new: dict[str, Any], old: dict[str, Any] | None, commit: bool) -> None:
    """Only growth is charged; a quota counts once its status says so."""
    space = new["metadata"]["namespace"]
    for key, q in list(store.table("resourcequotas").items()):
        if key[0] != space:
            continue
        hard, used = q["status"].get("hard") or {}, dict(q["status"].get("used") or {})
        grown = {}
        for name in hard:
            delta = _usage(new, name) - (_usage(old, name) if old else 0)
            if delta > 0:
                grown[name] = delta
        over = [n for n in sorted(grown)
                if quantity.parse(used.get(n, "0")) + grown[n] > quantity.parse(hard[n])]
        if over:
            def said(values: dict[str, str]) -> str:
                return ",".join(f"{n}={values[n]}" for n in over)
            raise _deny(new, f"exceeded quota: {key[1]}, requested: "
                        f"{said({n: _amount(n, grown[n]) for n in over})}, used: "
                        f"{said({n: used.get(n, '0') for n in over})}, limited: {said(hard)}")
        if grown and commit:
            for name, delta in grown.items():
                used[name] = _amount(name, quantity.parse(used.get(name, "0")) + delta)
            store.write("MODIFIED", "resourcequotas", key,
                        dict(q, status=dict(q["status"], used=used)))


def limit_range(store: Store, pod: dict[str, Any]) -> None:
    for key, lr in list(store.table("limitranges").items()):
        if key[0] != pod["metadata"]["namespace"]:
            continue
        for item in lr["spec"]["limits"]:
            if item["type"] == "Container":
                for c in pod["spec"]["containers"]:
                    _check_item(pod, item, c.get("resources") or {})
            elif item["type"] == "Pod":
                _check_item(pod, item, {
                    w: {n: _amount(n, Fraction(pods.total(pod, w, n))) for n in ("cpu", "memory")
                        if pods.total(pod, w, n)} for w in ("limits", "requests")})


def _check_item(pod: dict[str, Any], item: dict[str, Any], res: dict[str, Any]) -> None:
    kind, limits, requests = item["type"], res.get("limits") or {}, res.get("requests") or {}
    for name, least in (item.get("min") or {}).items():
        text = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            raise _deny(pod, f"{text}.  No request is specified")
        if quantity.parse(requests[name]) < quantity.parse(least):
            raise _deny(pod, f"{text}, but request is {requests[name]}")
    for name, most in (item.get("max") or {}).items():
        text = f"maximum {name} usage per {kind} is {most}"
        if name not in limits:
            raise _deny(pod, f"{text}.  No limit is specified")
        if quantity.parse(limits[name]) > quantity.parse(most):
            raise _deny(pod, f"{text}, but limit is {limits[name]}")
    for name, most in (item.get("maxLimitRequestRatio") or {}).items():
        if name in limits and quantity.parse(requests.get(name, "0")):
            ratio = quantity.parse(limits[name]) / quantity.parse(requests[name])
            if ratio > quantity.parse(most):
                raise _deny(pod, f"{name} max limit to request ratio per {kind} is {most}, but "
                            f"provided ratio is {float(ratio):f}")


def limit_defaults(store: Store, pod: dict[str, Any]) -> dict[str, Any]:
    """What a LimitRange puts into containers that say nothing."""
    for key, lr in list(store.table("limitranges").items()):
        if key[0] != pod["metadata"]["namespace"]:
            continue
        for item in lr["spec"]["limits"]:
            if item["type"] != "Container":
                continue
            containers = [dict(c, resources=_with_defaults(c.get("resources") or {}, item))
                          for c in pod["spec"]["containers"]]
            pod = dict(pod, spec=dict(pod["spec"], containers=containers))
    return pod


def _with_defaults(res: dict[str, Any], item: dict[str, Any]) -> dict[str, Any]:
    limits = {**(item.get("default") or {}), **(res.get("limits") or {})}
    requests = {**(item.get("defaultRequest") or {}), **(res.get("requests") or {})}
    return {k: v for k, v in (("limits", limits), ("requests", requests)) if v}


def capacity(store: Store, new: dict[str, Any]) -> None:
    """From 1.36 on a resize that the node could never hold is refused."""
    node = new["spec"].get("nodeName")
    if not node:
        return
    found = store.get("nodes", ("", node))
    if found is None:
        raise _deny(new, f'node "{node}" not found')
    allocatable = found["status"].get("allocatable") or {}
    for name, amount in (("cpu", quantity.milli), ("memory", quantity.whole)):
        wanted = pods.total(new, "requests", name)
        if name in allocatable and wanted > quantity.parse(allocatable[name]):
            shown = int(wanted * 1000) if name == "cpu" else int(wanted)
            raise _deny(new, f"node didn't have enough allocatable resources: {name}, requested: "
                        f"{shown}, allocatable: {amount(allocatable[name])}",
                        [{"reason": "NodeCapacity"}])


def declared_features(store: Store, new: dict[str, Any], old: dict[str, Any]) -> None:
    node = store.get("nodes", ("", new["spec"].get("nodeName", "")))
    if node is None:
        return
    needs = []
    if new["spec"].get("resources") != old["spec"].get("resources"):
        needs.append("InPlacePodLevelResourcesVerticalScaling")
    if any(a != b and not pods.is_sidecar(b) for a, b in
           zip(new["spec"].get("initContainers", []), old["spec"].get("initContainers", []))):
        needs.append("InPlacePodVerticalScalingInitContainers")
    missing = [f for f in needs if f not in node["status"].get("declaredFeatures", [])]
    if missing:
        raise _deny(new, f"pod update requires features {', '.join(missing)} which are not "
                    f'available on node "{node["metadata"]["name"]}"')


def create_pod(store: Store, user: User, pod: dict[str, Any]) -> None:
    """NodeRestriction for mirror pods, and the service account that must exist."""
    meta = pod["metadata"]
    if "system:nodes" in user.groups:
        node = user.name.removeprefix("system:node:")
        if pods.MIRROR not in meta.get("annotations", {}):
            raise _deny(pod, f'pod does not have "{pods.MIRROR}" annotation, node "{node}" can '
                        "only create mirror pods")
        found = store.get("nodes", ("", node))
        for ref in meta.get("ownerReferences", []):
            if found and ref.get("uid") != found["metadata"]["uid"]:
                raise _deny(pod, f"node {node} UID mismatch: expected {ref.get('uid')} got "
                            f"{found['metadata']['uid']}")
    elif pods.MIRROR not in meta.get("annotations", {}):
        space, name = meta["namespace"], pod["spec"].get("serviceAccountName", "default")
        if store.get("serviceaccounts", (space, name)) is None:
            raise _deny(pod, f"error looking up service account {space}/{name}: serviceaccount "
                        f'"{name}" not found')

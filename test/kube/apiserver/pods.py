# SPDX-License-Identifier: Apache-2.0
"""Pods and other kinds: defaults, what admission adds, QoS class, sums of resources."""
from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

from . import quantity

QUANTITY_MAPS = {"limits", "requests", "capacity", "allocatable", "allocatedResources", "hard",
                 "used", "max", "min", "default", "defaultRequest", "maxLimitRequestRatio"}
MIRROR = "kubernetes.io/config.mirror"
LETTERS = "bcdfghjklmnpqrstvwxz2456789"


def suffix(length: int = 5) -> str:
    return "".join(random.choice(LETTERS) for _ in range(length))


@lru_cache(maxsize=4096)
def _canonical(text: str) -> str:
    return quantity.canonical(text, milli=True)


def canonical(value: Any) -> Any:
    """The same value with its quantities in canonical form; unchanged parts are shared."""
    if isinstance(value, dict):
        out = None
        for key, inner in value.items():
            if key in QUANTITY_MAPS and isinstance(inner, dict):
                new: Any = {k: _canonical(str(v)) for k, v in inner.items()}
            elif isinstance(inner, (dict, list)):
                new = canonical(inner)
            else:
                continue
            if new is not inner and new != inner:
                out = out or dict(value)
                out[key] = new
        return out or value
    if isinstance(value, list):
        items = [canonical(v) for v in value]
        return items if any(a is not b for a, b in zip(items, value)) else value
    return value


def _filled(value: dict[str, Any], **defaults: Any) -> dict[str, Any]:
    missing = {k: v for k, v in defaults.items() if k not in value}
    return {**value, **missing} if missing else value


def _pull_policy(image: str) -> str:
    tag = image.rsplit("/", 1)[-1].partition(":")[2]
    return "Always" if "@" not in image and tag in ("", "latest") else "IfNotPresent"


def default_resources(resources: dict[str, Any]) -> dict[str, Any]:
    """A request that is not given is the limit."""
    limits, requests = resources.get("limits"), resources.get("requests") or {}
    missing = {k: v for k, v in (limits or {}).items() if k not in requests}
    if missing:
        resources = dict(resources, requests={**requests, **missing})
    return {k: v for k, v in resources.items() if v not in (None, {})}


def _default_level(spec: dict[str, Any]) -> dict[str, Any]:
    """Beside a limit, a request of the pod that is not given is the containers', or the limit."""
    level = spec["resources"]
    bare = {"spec": {k: v for k, v in spec.items() if k != "resources"}}
    sums = {n: total(bare, "requests", n) for n in ("cpu", "memory")} if level.get("limits") else {}
    texts = {n: f"{int(v * 1000)}m" if n == "cpu" else f"{int(v) // 1024}Ki" if v % 1024 == 0
             else str(int(v)) for n, v in sums.items() if v}
    return canonical(default_resources(dict(level, requests={**texts,
                                                             **(level.get("requests") or {})})))


def _container(c: dict[str, Any]) -> dict[str, Any]:
    c = _filled(c, resources={}, terminationMessagePath="/dev/termination-log",
                terminationMessagePolicy="File",
                imagePullPolicy=_pull_policy(c.get("image", "")))
    resources = default_resources(c["resources"] or {})
    return c if resources == c["resources"] else dict(c, resources=resources)


def default_pod(pod: dict[str, Any], modern: bool) -> dict[str, Any]:
    spec = _filled(pod.get("spec") or {}, restartPolicy="Always",
                   terminationGracePeriodSeconds=30, dnsPolicy="ClusterFirst",
                   securityContext={}, schedulerName="default-scheduler",
                   enableServiceLinks=True)
    spec = dict(spec)
    for part in ("containers", "initContainers"):
        if spec.get(part):
            spec[part] = [_container(c) for c in spec[part]]
    if "serviceAccountName" in spec:
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    if modern and spec.get("resources"):
        spec["resources"] = _default_level(spec)
    status = dict(pod.get("status") or {})
    if "conditions" in status:
        status["conditions"] = [_filled(c, lastProbeTime=None, lastTransitionTime=None)
                                for c in status["conditions"]]
    for part in ("containerStatuses", "initContainerStatuses"):
        if part in status:
            status[part] = [_filled(c, state={}, lastState={}, ready=False, restartCount=0,
                                    image="", imageID="") for c in status[part]]
    return dict(pod, spec=spec, status=status)


def drop_observed(status: dict[str, Any]) -> dict[str, Any]:
    """Generations in the status came after 1.33: dropped without a word."""
    out = {k: v for k, v in status.items() if k != "observedGeneration"}
    if "conditions" in out:
        out["conditions"] = [{k: v for k, v in c.items() if k != "observedGeneration"}
                             for c in out["conditions"]]
    return out


def drop_unknown(pod: dict[str, Any]) -> dict[str, Any]:
    """Pod-level resources are off in 1.33: dropped without a word."""
    if "resources" not in pod["spec"]:
        return pod
    return dict(pod, spec={k: v for k, v in pod["spec"].items() if k != "resources"})


TOLERATIONS = [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute",
                "tolerationSeconds": 300} for what in ("not-ready", "unreachable")]


def admit_spec(pod: dict[str, Any]) -> dict[str, Any]:
    """What the default mutating plugins add to a new pod (not in managedFields)."""
    spec = dict(pod["spec"])
    if MIRROR not in pod["metadata"].get("annotations", {}):
        spec.setdefault("serviceAccountName", "default")
        spec["serviceAccount"] = spec["serviceAccountName"]
        if spec.get("automountServiceAccountToken", True):
            _mount_token(spec)
    have = {t.get("key") for t in spec.get("tolerations", [])}
    spec["tolerations"] = spec.get("tolerations", []) + [
        t for t in TOLERATIONS if t["key"] not in have]
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    return dict(pod, spec=spec)


def _mount_token(spec: dict[str, Any]) -> None:
    name = f"kube-api-access-{suffix()}"
    path = "/var/run/secrets/kubernetes.io/serviceaccount"
    mount = {"name": name, "readOnly": True, "mountPath": path}
    for part in ("initContainers", "containers"):
        if part in spec:
            spec[part] = [dict(c, volumeMounts=c.get("volumeMounts", []) + [mount])
                          for c in spec[part]]
    spec["volumes"] = spec.get("volumes", []) + [{"name": name, "projected": {"sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt",
                       "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {
            "apiVersion": "v1", "fieldPath": "metadata.namespace"}}]}}], "defaultMode": 420}}]


def qos(pod: dict[str, Any]) -> str:
    spec = pod["spec"]
    if spec.get("resources"):
        parts = [spec["resources"]]
    else:
        parts = [c.get("resources") or {} for c in
                 spec.get("containers", []) + spec.get("initContainers", [])]
    requests: dict[str, Any] = {}
    limits: dict[str, Any] = {}
    guaranteed = True
    for part in parts:
        found = set()
        for total, given in ((requests, part.get("requests")), (limits, part.get("limits"))):
            for name, text in (given or {}).items():
                value = quantity.parse(text)
                if name not in ("cpu", "memory") or value == 0:
                    continue
                total[name] = total.get(name, 0) + value
                if total is limits:
                    found.add(name)
        guaranteed = guaranteed and found == {"cpu", "memory"}
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and requests == limits:
        return "Guaranteed"
    return "Burstable"


def is_sidecar(container: dict[str, Any]) -> bool:
    return container.get("restartPolicy") == "Always"


def total(pod: dict[str, Any], which: str, name: str) -> Any:
    """The pod's effective request or limit: containers and sidecars, or the largest init."""
    spec = pod["spec"]
    level = (spec.get("resources") or {}).get(which, {}).get(name)
    if level is not None:
        return quantity.parse(level)

    def one(c: dict[str, Any]) -> Any:
        return quantity.parse((c.get("resources") or {}).get(which, {}).get(name, "0"))

    inits = spec.get("initContainers", [])
    running = sum((one(c) for c in spec.get("containers", [])), quantity.parse("0"))
    side = quantity.parse("0")
    peak = quantity.parse("0")
    for c in inits:
        if is_sidecar(c):
            side += one(c)
        else:
            peak = max(peak, side + one(c))
    return max(running + side, peak)

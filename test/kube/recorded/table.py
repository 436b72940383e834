# SPDX-License-Identifier: Apache-2.0
"""One row: in this state, this request gets this answer. Seen on kube-apiserver 1.36 and 1.33.

The path's {pod} is a pod made for the row from its state; {uid} {rv} are its own.
`shows` maps dotted paths of the answer to values; "generation" counts from 1 at creation.
"""
from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

POD = "/api/v1/namespaces/t/pods/{pod}"
RESIZE = POD + "/resize"
EVENTS = "/apis/events.k8s.io/v1/namespaces/t/events"
LIST = "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1"
BOTH = (36, 33)


def amounts(cpu: str, memory: str) -> dict[str, str]:
    return {"cpu": cpu, "memory": memory}


BURST = {"requests": amounts("200m", "128Mi"), "limits": amounts("500m", "256Mi")}
GUAR = {"requests": amounts("500m", "256Mi"), "limits": amounts("500m", "256Mi")}
# state -> how the row's pod differs from a running pod with BURST on node-1
STATES: dict[str, dict[str, Any]] = {
    "burst": {}, "guar": {"resources": GUAR}, "be": {"resources": {}},
    "old-kubelet": {"running": "no-resources"}, "windows": {"os": {"name": "windows"}},
    "far": {"node": "node-2"}, "restarts": {"policy": "RestartContainer"}, "mirror": {
        "annotations": {"kubernetes.io/config.mirror": "x"}},
    "quota": {"namespace": "q"}, "limited": {"namespace": "l"},
}


def limits(cpu: str | None = None, memory: str | None = None, **more: Any) -> dict[str, Any]:
    given = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v}
    return res(limits=given, **more)


def res(name: str = "app", **resources: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": name, "resources": resources}]}}


@dataclass
class Row:
    name: str
    method: str
    path: str
    body: Any = None
    status: int = 200
    state: str = "burst"
    reason: str = ""
    where: str = ""         # field of a cause
    message: str = ""       # part of the message
    shows: dict[str, Any] = field(default_factory=dict)
    who: str = "admin"
    kind: str = "strategic-merge-patch"
    minors: tuple[int, ...] = BOTH
    headers: dict[str, str] = field(default_factory=dict)


def resize(name: str, body: Any, status: int = 200, **more: Any) -> Row:
    return Row(name, "PATCH", RESIZE, body, status, **more)


def refused(name: str, body: Any, where: str, message: str, **more: Any) -> Row:
    return resize(name, body, 422, reason="Invalid", where=where, message=message, **more)


FIRST = "spec.containers[0].resources"
NO_DECREASE = "memory limits cannot be decreased unless resizePolicy is RestartContainer"
ROWS = [
    resize("cpu up", limits("800m"), shows={
        "spec.containers.0.resources.limits.cpu": "800m", "metadata.generation": 2}),
    resize("nothing changes", limits("500m"), shows={
        "metadata.generation": 1, "metadata.resourceVersion": "{rv}"}),
    resize("memory up", limits(memory="512Mi"), shows={
        "spec.containers.0.resources.limits.memory": "512Mi"}),
    resize("memory down", limits(memory="200Mi"), minors=(36,), shows={
        "spec.containers.0.resources.limits.memory": "200Mi"}),
    refused("memory down, 1.33", limits(memory="200Mi"), f"{FIRST}.limits[memory]", NO_DECREASE,
            minors=(33,)),
    resize("memory down, restart allowed", limits(memory="200Mi"), state="restarts"),
    refused("request above limit", res(requests={"cpu": "2"}), f"{FIRST}.requests",
            "must be less than or equal to cpu limit of 500m"),
    refused("limit removed", res(limits={"cpu": None}), f"{FIRST}.limits",
            "resource limits cannot be removed"),
    resize("request removed: becomes the limit", res(requests={"cpu": None}), shows={
        "spec.containers.0.resources.requests.cpu": "500m"}),
    refused("becomes guaranteed", res(requests=amounts("500m", "256Mi")), "spec",
            "Pod QOS Class may not change as a result of resizing"),
    refused("guaranteed no more", limits("900m"), "spec", "Pod QOS Class may not change",
            state="guar"),
    refused("best effort given something", res(requests={"cpu": "1"}), "spec",
            "Pod QOS Class may not change", state="be"),
    resize("guaranteed stays so", res(requests={"cpu": "1"}, limits={"cpu": "1"}), state="guar"),
    refused("negative", limits("-1"), f"{FIRST}.limits[cpu]",
            "must be greater than or equal to 0"),
    refused("no quantity", limits("lots"), "patch", "quantities must match the regular expression"),
    refused("unknown container", res("nope", limits={"cpu": "1"}), "spec.containers",
            "containers may not be added or removed on resize"),
    refused("other resources", res(limits={"ephemeral-storage": "1Gi"}), "spec",
            "only cpu and memory resources are mutable"),
    refused("kubelet without support", limits("600m"), "spec",
            "Pod running on node without support for resize", state="old-kubelet"),
    refused("static pod", limits("600m"), "[]", "static pods cannot be resized", state="mirror"),
    refused("windows pod", limits("600m"), "[]", "windows pods cannot be resized",
            state="windows"),
    refused("another pod's uid", {"metadata": {"uid": "00000000-0000-0000-0000-000000000000"},
                                  **limits("600m")}, "metadata.uid", "field is immutable"),
    resize("own uid and revision", {"metadata": {"uid": "{uid}", "resourceVersion": "{rv}"},
                                    **limits("600m")}),
    resize("stale revision", {"metadata": {"resourceVersion": "1"}, **limits("600m")}, 409,
           reason="Conflict", message="the object has been modified"),
    resize("revision that is no number", {"metadata": {"resourceVersion": "x"},
                                          **limits("600m")}, 500, message="invalid syntax"),
    resize("annotation sent along is dropped", {"metadata": {"annotations": {"a": "b"}},
                                                **limits("600m")},
           shows={"metadata.annotations": None}),
    resize("merge patch replaces the container", limits("700m"), 422, kind="merge-patch",
           where=f"{FIRST}.requests", message="resource requests cannot be removed"),
    resize("beyond the node", res(requests={"cpu": "20"}, limits={"cpu": "20"}), 403,
           reason="Forbidden", minors=(36,), message="node didn't have enough allocatable "
           "resources: cpu, requested: 20000, allocatable: 7800"),
    resize("beyond the node, 1.33", res(requests={"cpu": "20"}, limits={"cpu": "20"}),
           minors=(33,)),
    resize("quota", res(requests={"cpu": "400m"}), 403, state="quota", reason="Forbidden",
           message="exceeded quota: q, requested: requests.cpu=200m, used: requests.cpu=1900m, "
                   "limited: requests.cpu=2"),
    resize("limit range", limits("1500m"), 403, state="limited", reason="Forbidden",
           message="maximum cpu usage per Container is 1, but limit is 1500m"),
    resize("gone", limits("1"), 404, reason="NotFound", state="", message='pods "none" not found'),
    resize("unknown patch type", limits("1"), 415, kind="patch", reason="UnsupportedMediaType"),
    resize("no right", limits("600m"), 403, who="nobody", reason="Forbidden",
           message='User "nobody" cannot patch resource "pods/resize" in API group "" in the '
                   'namespace "t"'),
    resize("own node", limits("600m"), who="agent"),
    resize("another node", limits("600m"), 403, who="agent", state="far", reason="Forbidden",
           message="may not change pods of node"),
    Row("resize is no create", "POST", RESIZE, {}, 405, reason="MethodNotAllowed"),
    Row("resources of the pod itself", "PATCH", POD, limits("600m"), 422, reason="Invalid",
        where="spec", message="pod updates may not change fields other than"),
    Row("annotation", "PATCH", POD, {"metadata": {"annotations": {"vscaled.dev/status": "{}"}}},
        kind="merge-patch", shows={"metadata.generation": 1,
                                   "metadata.annotations": {"vscaled.dev/status": "{}"}}),
    Row("annotations too long", "PATCH", POD, {"metadata": {"annotations": {"a": "x" * 262144}}},
        422, kind="merge-patch", where="metadata.annotations", message="Too long"),
    Row("bad json", "PATCH", POD, b'{"metadata":', 400, kind="merge-patch", reason="BadRequest"),
    Row("delete with grace", "DELETE", POD, shows={"metadata.generation": 2,
                                                   "metadata.deletionGracePeriodSeconds": 30}),
    Row("delete of another uid", "DELETE", POD, {"preconditions": {"uid": "x"}}, 409,
        reason="Conflict"),
    Row("eviction", "POST", POD + "/eviction", {"metadata": {"name": "{pod}"}}, 201,
        shows={"status": "Success"}),
    Row("list", "GET", LIST, state="burst", shows={"kind": "PodList"}),
    Row("list of the node's own", "GET", LIST, who="node", shows={"kind": "PodList"}),
    Row("list of all by a node", "GET", "/api/v1/pods", None, 403, who="node",
        reason="Forbidden"),
    Row("list, bad selector", "GET", "/api/v1/pods?fieldSelector=spec.foo%3Dbar", None, 400,
        reason="BadRequest", message="field label not supported: spec.foo"),
    Row("list, bad page", "GET", "/api/v1/pods?limit=1&continue=garbage", None, 400,
        reason="BadRequest"),
    Row("list from the future", "GET", LIST + "&resourceVersion=999999999", None, 504,
        reason="Timeout", message="Too large resource version", headers={"Retry-After": "1"}),
    Row("list not older than the future", "GET", LIST + "&resourceVersion=999999999&"
        "resourceVersionMatch=NotOlderThan", None, 504, reason="Timeout",
        message="Too large resource version", headers={"Retry-After": "1"}),
    Row("list not older than the past", "GET", LIST + "&resourceVersion=1&"
        "resourceVersionMatch=NotOlderThan", None, shows={"kind": "PodList"}),
    Row("a match without a version", "GET", LIST + "&resourceVersionMatch=NotOlderThan", None, 422,
        where="resourceVersionMatch"),
    Row("list too old", "GET", LIST + "&resourceVersion=1&resourceVersionMatch=Exact", None, 410,
        reason="Expired"),
    Row("watch too old: 200, then an ERROR", "GET",
        LIST + "&watch=1&resourceVersion=1&timeoutSeconds=1", None, shows={
            "type": "ERROR", "object.code": 410, "object.reason": "Expired"}),
    Row("watch, bad revision", "GET", LIST + "&watch=1&resourceVersion=abc", None, 500),
    Row("watch-list, 1.33", "GET", LIST + "&watch=1&sendInitialEvents=true&"
        "resourceVersionMatch=NotOlderThan&timeoutSeconds=1", None, 422, minors=(33,),
        where="sendInitialEvents"),
    Row("event without a time", "POST", EVENTS, {
        "metadata": {"name": "e1"}, "reason": "R", "action": "A", "type": "Normal",
        "reportingController": "vscaled.dev/vscaled", "reportingInstance": "n",
        "regarding": {"kind": "Pod", "namespace": "t", "name": "x"}}, 422, where="eventTime"),
    Row("bad token", "GET", LIST, None, 401, who="stranger", reason="Unauthorized"),
    Row("anonymous", "GET", LIST, None, 403, who="", reason="Forbidden",
        message='User "system:anonymous" cannot list resource "pods"'),
    Row("version needs no token", "GET", "/version", who=""),
]

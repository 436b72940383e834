# SPDX-License-Identifier: Apache-2.0
"""A pod's status as the kubelet writes it. Pure: times are arguments, as text."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Any

from . import model
from .model import Resources


@dataclass
class Container:
    """One container of a pod and what became of it."""
    spec: dict
    kind: str  # init, sidecar, app
    id: str | None = None
    running: bool = False
    started_at: str = ""
    begun: float = 0.0
    waiting: str = "ContainerCreating"
    terminated: dict | None = None
    last: dict | None = None  # the one before
    oom: bool = False
    restarts: int = 0
    not_before: float = 0.0
    backoff: float = 0.0

    @property
    def name(self) -> str:
        return self.spec["name"]

    def state(self) -> dict:
        if self.running:
            return {"running": {"startedAt": self.started_at}}
        if self.waiting:
            return {"waiting": {"reason": self.waiting}}
        return {"terminated": self.terminated}

    def last_state(self) -> dict:
        last = self.last if self.running or not self.waiting else self.terminated or self.last
        return {"terminated": last} if last else {}


@dataclass
class Resizing:
    """Conditions of a resize; since: when each became what it is."""
    pending: tuple[str, str] | None = None  # reason, message
    progress: bool = False
    error: str | None = None  # shown as reason Error
    since: dict[str, str] = field(default_factory=dict)
    probed: dict[str, str] = field(default_factory=dict)


def container_status(c: Container, ready: bool, allocated: dict[str, Resources],
                     actuated: dict[str, Resources]) -> dict:
    image = c.spec["image"]
    status: dict[str, Any] = {
        "name": c.name, "state": c.state(), "lastState": c.last_state(), "ready": ready,
        "restartCount": c.restarts, "image": image,
        "imageID": f"sha256:{hashlib.sha256(image.encode()).hexdigest()}", "started": c.running}
    if c.id:
        status["containerID"] = f"containerd://{c.id}"
    if c.name in allocated and c.kind != "init":
        requests = allocated[c.name].api().get("requests")
        if requests:
            status["allocatedResources"] = requests
        status["resources"] = actuated.get(c.name, allocated[c.name]).api()
    return status


def resize_conditions(r: Resizing, generation: int | None) -> list[dict]:
    rows: list[tuple[str, dict]] = []
    if r.pending:
        rows.append(("PodResizePending", {"reason": r.pending[0], "message": r.pending[1]}))
    if r.progress:
        rows.append(("PodResizeInProgress",
                     {"reason": "Error", "message": r.error} if r.error else {}))
    observed = {} if generation is None else {"observedGeneration": generation}
    return [{"type": kind, **observed, "status": "True", "lastProbeTime": r.probed.get(kind),
             "lastTransitionTime": r.since.get(kind), **more} for kind, more in rows]


def touch(r: Resizing, now: str) -> None:
    """Notes when conditions began and when their words changed."""
    for kind, holds, words in (("PodResizePending", r.pending is not None, r.pending),
                               ("PodResizeInProgress", r.progress, r.error)):
        if not holds:
            r.since.pop(kind, None)
            r.probed.pop(kind, None)
            r.probed.pop(f"{kind} words", None)
            continue
        r.since.setdefault(kind, now)
        if r.probed.get(f"{kind} words") != str(words):
            r.probed[f"{kind} words"] = str(words)
            r.probed[kind] = now


class Conditions:
    """The pod's ordinary conditions, with the time of their last change."""

    def __init__(self) -> None:
        self.held: dict[str, tuple[str, str]] = {}

    def rows(self, values: dict[str, bool], now: str, generation: int | None) -> list[dict]:
        observed = {} if generation is None else {"observedGeneration": generation}
        result = []
        for kind, value in values.items():
            text = "True" if value else "False"
            if self.held.get(kind, ("", ""))[0] != text:
                self.held[kind] = (text, now)
            result.append({"type": kind, **observed, "status": text, "lastProbeTime": None,
                           "lastTransitionTime": self.held[kind][1]})
        return result


def phase(containers: list[Container], restart_policy: str) -> str:
    inits = [c for c in containers if c.kind == "init"]
    apps = [c for c in containers if c.kind == "app"]
    if any(c.terminated is None or c.terminated["exitCode"] for c in inits):
        return "Pending"
    if any(c.id is None for c in apps):
        return "Pending"
    ended = [c.terminated for c in apps if not c.running and c.terminated]
    if restart_policy == "Always" or len(ended) < len(apps):
        return "Running"
    if any(t["exitCode"] for t in ended):
        return "Running" if restart_policy == "OnFailure" else "Failed"
    return "Succeeded"


def pod_sums(spec: dict, allocated: dict[str, Resources]) -> dict:
    """status.allocatedResources."""
    total = model.pod_resources(spec, allocated)
    return Resources(cpu_request=total.cpu_request or None,
                     memory_request=total.memory_request or None).api().get("requests", {})

# SPDX-License-Identifier: Apache-2.0
"""A resize as a list of steps in the kubelet's order, without I/O."""
from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Callable

from . import model
from .model import Resources

# What one update call of a container writes, in the runtime's order.
CONTAINER_FILES: list[tuple[str, Callable[[Resources], str]]] = [
    ("memory.swap.max", lambda r: "0"),
    ("memory.max", lambda r: model.memory_max(r.memory_limit)),
    ("cpu.weight", lambda r: str(model.weight(r.cpu_request))),
    ("cpu.max", lambda r: model.cpu_max(r.cpu_limit)),
    ("memory.oom.group", lambda r: "1"),
    ("memory.swap.max", lambda r: "0"),
]
# Every write at the pod's level sets these too.
POD_ALWAYS = ("hugetlb.2MB.max", "hugetlb.2MB.rsvd.max")


@dataclass(frozen=True)
class PodStep:
    file: str
    value: int | None  # millicores or bytes; None: no limit


@dataclass(frozen=True)
class ContainerStep:
    name: str
    resources: Resources
    restart: bool = False


def pod_text(step: PodStep, whole_percent: bool) -> str:
    if step.file == "cpu.max":
        return model.cpu_max(step.value, whole_percent)
    if step.file == "cpu.weight":
        return str(model.weight(step.value))
    return model.memory_max(step.value)


def writes(step: PodStep | ContainerStep, whole_percent: bool) -> list[tuple[str, str, str]]:
    """(cgroup, file, value) as they arrive in the kernel."""
    if isinstance(step, ContainerStep):
        return [(step.name, file, text(step.resources)) for file, text in CONTAINER_FILES]
    return [("pod", step.file, pod_text(step, whole_percent))] + \
        [("pod", file, "0") for file in POD_ALWAYS]


def _bigger(new: int | None, old: int | None) -> bool:
    """No limit is the biggest."""
    return old is not None and (new is None or new > old)


def _restarts(container: dict, resource: str) -> bool:
    return any(p["resourceName"] == resource and p["restartPolicy"] == "RestartContainer"
               for p in container.get("resizePolicy", []))


def _containers(spec: dict, allocated: dict[str, Resources], now: dict[str, Resources],
                resource: str) -> list[ContainerStep]:
    steps: list[ContainerStep] = []
    limit, request = f"{resource}_limit", f"{resource}_request"
    for c in model.sized(spec):
        name = c["name"]
        if name not in now:
            continue  # not running: it starts with the new values
        new, old = allocated[name], now[name]
        wanted = replace(old, **{limit: getattr(new, limit), request: getattr(new, request)})
        if wanted == old:
            continue
        step = ContainerStep(name, wanted, _restarts(c, resource))
        grows = _bigger(getattr(new, limit), getattr(old, limit)) or \
            (getattr(new, limit) == getattr(old, limit)
             and (getattr(new, request) or 0) > (getattr(old, request) or 0))
        if grows:
            steps.append(step)
        else:
            steps.insert(0, step)
        now[name] = wanted
    return steps


def plan(spec: dict, allocated: dict[str, Resources],
         actuated: dict[str, Resources]) -> list[PodStep | ContainerStep]:
    """Memory, then CPU; around the containers the pod's values, so that its limit is never the
    smaller one. Empty when the checkpoints agree, whatever the cgroup holds."""
    now = dict(actuated)
    old_pod = model.pod_resources(spec, {**allocated, **actuated})
    new_pod = model.pod_resources(spec, allocated)
    steps: list[PodStep | ContainerStep] = []
    for resource, request_file in (("memory", None), ("cpu", "cpu.weight")):
        limits = [getattr(p, f"{resource}_limit") for p in (new_pod, old_pod)]
        requests = [getattr(p, f"{resource}_request") or 0 for p in (new_pod, old_pod)]
        # A limit cannot be taken from a pod's cgroup: no step to "max".
        limit = PodStep(f"{resource}.max", limits[0])
        if limits[0] is not None and (limits[1] is None or limits[0] > limits[1]):
            steps.append(limit)
        if request_file and requests[0] > requests[1]:
            steps.append(PodStep(request_file, requests[0]))
        steps += _containers(spec, allocated, now, resource)
        if request_file and requests[0] < requests[1]:
            steps.append(PodStep(request_file, requests[0]))
        if limits[0] is not None and limits[1] is not None and limits[0] < limits[1]:
            steps.append(limit)
    return steps


def refusal(allocated: dict[str, Resources], actuated: dict[str, Resources],
            usage: dict[str, int]) -> str | None:
    """The check before memory shrinks; usage in bytes by container, and of the pod."""
    for name, new in allocated.items():
        old = actuated.get(name)
        if old is None or new.memory_limit is None or not _bigger(old.memory_limit, new.memory_limit):
            continue
        if usage.get(name, 0) > new.memory_limit:
            whose = f'container "{name}"' if name != model.POD else "pod"
            return (f"cannot decrease memory limits: attempting to set {whose} memory "
                    f"limit ({new.memory_limit}) below current usage ({usage[name]})")
    return None


def admit(pod_request: Resources, others: Resources, node: Resources) -> tuple[str, str] | None:
    """Does the node have room? ("Deferred" or "Infeasible", message) if not."""
    for resource in ("cpu", "memory"):
        want, used, room = (getattr(r, f"{resource}_request") or 0
                            for r in (pod_request, others, node))
        if want > room:
            return "Infeasible", (f"Node didn't have enough capacity: {resource}, requested: {want}, "
                                  f"capacity: {room}")
        if want + used > room:
            return "Deferred", (f"Node didn't have enough resource: {resource}, requested: {want}, "
                                f"used: {used}, capacity: {room}")
    return None

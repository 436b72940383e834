# SPDX-License-Identifier: Apache-2.0
"""The kubelet's formulas, without I/O: resources, pod sums, cgroup values and names."""
from __future__ import annotations

import math
from dataclasses import dataclass, replace

from apiserver import quantity

PERIOD_USEC = 100000
PAGE = 4096
QUOTA_MIN_USEC = 1000
SHARES_MIN, SHARES_MAX = 2, 262144
POD = ""  # spec.resources, beside the names of containers
GUARANTEED, BURSTABLE, BEST_EFFORT = "Guaranteed", "Burstable", "BestEffort"


@dataclass(frozen=True)
class Resources:
    """CPU in millicores, memory in bytes; None: not set."""
    cpu_limit: int | None = None
    memory_limit: int | None = None
    cpu_request: int | None = None
    memory_request: int | None = None

    @staticmethod
    def parse(resources: dict | None) -> Resources:
        resources = resources or {}
        limits, requests = resources.get("limits", {}), resources.get("requests", {})

        def pick(where: dict, name: str, convert) -> int | None:
            return convert(where[name]) if name in where else None
        return Resources(pick(limits, "cpu", quantity.milli), pick(limits, "memory", quantity.whole),
                         pick(requests, "cpu", quantity.milli),
                         pick(requests, "memory", quantity.whole))

    def api(self) -> dict:
        """As in containerStatuses[].resources."""
        limits = {"cpu": cpu_text(self.cpu_limit), "memory": memory_text(self.memory_limit)}
        requests = {"cpu": cpu_text(self.cpu_request), "memory": memory_text(self.memory_request)}
        both = {"limits": {k: v for k, v in limits.items() if v is not None},
                "requests": {k: v for k, v in requests.items() if v is not None}}
        return {k: v for k, v in both.items() if v}


def cpu_text(milli: int | None) -> str | None:
    if milli is None:
        return None
    return str(milli // 1000) if milli % 1000 == 0 else f"{milli}m"


def memory_text(amount: int | None) -> str | None:
    if amount is None:
        return None
    for suffix, unit in (("Gi", 1 << 30), ("Mi", 1 << 20), ("Ki", 1 << 10)):
        if amount and amount % unit == 0:
            return f"{amount // unit}{suffix}"
    return str(amount)


def shares(request_milli: int | None) -> int:
    return min(max((request_milli or 0) * 1024 // 1000, SHARES_MIN), SHARES_MAX)


def weight(request_milli: int | None) -> int:
    """The kubelet's own line, for pod and QoS levels; containers get the runtime's."""
    return 1 + (shares(request_milli) - 2) * 9999 // 262142


def milli_of_weight(cpu_weight: int) -> int:
    """What the API shows for a pod's weight: lossy."""
    return math.ceil(((cpu_weight - 1) * 262142 // 9999 + 2) * 1000 / 1024)


def quota_usec(limit_milli: int | None, whole_percent: bool = False) -> int | None:
    """whole_percent: as systemd rounds it, up."""
    if limit_milli is None:
        return None
    quota = max(limit_milli * PERIOD_USEC // 1000, QUOTA_MIN_USEC)
    return -(-quota // 1000) * 1000 if whole_percent else quota


def cpu_max(limit_milli: int | None, whole_percent: bool = False) -> str:
    quota = quota_usec(limit_milli, whole_percent)
    return f"{'max' if quota is None else quota} {PERIOD_USEC}"


def memory_max(limit: int | None) -> str:
    return "max" if limit is None else str(limit)


def is_sidecar(container: dict) -> bool:
    return container.get("restartPolicy") == "Always"


def sized(spec: dict) -> list[dict]:
    """Containers that can be resized: sidecars, then the rest."""
    return [c for c in spec.get("initContainers", []) if is_sidecar(c)] + spec["containers"]


def desired(spec: dict) -> dict[str, Resources]:
    """By container, and what the pod itself has."""
    own = {POD: Resources.parse(spec["resources"])} if spec.get("resources") else {}
    return own | {c["name"]: Resources.parse(c.get("resources")) for c in sized(spec)}


def _sum(values: list[int | None], limit: bool) -> int | None:
    """A sum of limits exists only if all are set; requests that are not set count as 0."""
    if limit and any(v is None for v in values):
        return None
    return sum(v or 0 for v in values)


def _pod_value(spec: dict, of: dict[str, Resources], field: str) -> int | None:
    limit = field.endswith("_limit")
    running = _sum([getattr(of[c["name"]], field) for c in sized(spec)], limit)
    before: list[int | None] = []
    peaks = [running]
    for c in spec.get("initContainers", []):
        own = getattr(of.get(c["name"], Resources.parse(c.get("resources"))), field)
        if is_sidecar(c):
            before.append(own)
        else:
            peaks.append(_sum(before + [own], limit))
    total = None if any(p is None for p in peaks) else max(peaks)
    over = getattr(Resources.parse({"limits": spec.get("overhead"), "requests": spec.get("overhead")}
                                   if spec.get("overhead") else None), field)
    return total if total is None or over is None else total + over


def pod_resources(spec: dict, of: dict[str, Resources]) -> Resources:
    """What the pod's own cgroup gets; spec.resources wins, and overhead is added to both."""
    total = Resources(*(_pod_value(spec, of, f) for f in
                        ("cpu_limit", "memory_limit", "cpu_request", "memory_request")))
    own = of.get(POD, Resources.parse(spec.get("resources")))
    over = spec.get("overhead")
    more = vars(Resources.parse({"limits": over, "requests": over} if over else None))
    own = replace(own, **{k: v + (more[k] or 0) for k, v in vars(own).items() if v is not None})
    return replace(total, **{k: v for k, v in vars(own).items() if v is not None})


def inherited(spec: dict, r: Resources) -> Resources:
    """What the runtime gets: a container without a limit has the pod's in its cgroup."""
    own = Resources.parse(spec.get("resources"))
    return replace(r, **{k: getattr(own, k) for k in ("cpu_limit", "memory_limit")
                         if getattr(r, k) is None})


def qos_class(spec: dict) -> str:
    all_of = [Resources.parse(c.get("resources"))
              for c in spec.get("initContainers", []) + spec["containers"]]
    if spec.get("resources"):
        all_of = [Resources.parse(spec["resources"])]
    if all(r == Resources() for r in all_of):
        return BEST_EFFORT
    if all(r.cpu_limit and r.memory_limit and r.cpu_request == r.cpu_limit
           and r.memory_request == r.memory_limit for r in all_of):
        return GUARANTEED
    return BURSTABLE


def pod_cgroup(driver: str, qos: str, uid: str) -> str:
    """Below /sys/fs/cgroup."""
    level = "" if qos == GUARANTEED else qos.lower()
    if driver == "cgroupfs":
        return "/".join(filter(None, ["kubepods", level, f"pod{uid}"]))
    parts = ["kubepods.slice"]
    stem = "kubepods"
    if level:
        stem += f"-{level}"
        parts.append(f"{stem}.slice")
    return "/".join(parts + [f"{stem}-pod{uid.replace('-', '_')}.slice"])


def top_cgroup(driver: str) -> str:
    """Of all pods."""
    return "kubepods" if driver == "cgroupfs" else "kubepods.slice"


def container_cgroup(driver: str, pod: str, container_id: str) -> str:
    name = container_id if driver == "cgroupfs" else f"cri-containerd-{container_id}.scope"
    return f"{pod}/{name}"


def cgroups_path(driver: str, pod: str, container_id: str) -> str:
    """The OCI runtime's way to name it."""
    if driver == "cgroupfs":
        return f"/{pod}/{container_id}"
    return f"{pod.rpartition('/')[2]}:cri-containerd:{container_id}"


def cpu_list(cpus: range) -> str:
    """As in cpuset.cpus."""
    return f"{cpus[0]}-{cpus[-1]}" if len(cpus) > 1 else str(cpus[0])


def exclusive_cpus(spec: dict) -> int:
    """Whole CPUs that the static policy gives to this pod alone."""
    if qos_class(spec) != GUARANTEED:
        return 0
    limits = [Resources.parse(c.get("resources")).cpu_limit or 0 for c in spec["containers"]]
    return sum(milli // 1000 for milli in limits if milli % 1000 == 0)


@dataclass(frozen=True)
class MemoryQos:
    """KEP-2570. gate None: a release that leaves memory.high alone (before 1.37)."""
    gate: bool | None = None
    factor: float | None = None  # memoryThrottlingFactor
    tiered: bool = False  # memoryReservationPolicy TieredReservation

    @staticmethod
    def parse(text: str) -> MemoryQos:
        words = text.split(",")
        factors = [float(w) for w in words if w[:1].isdigit()]
        return MemoryQos(None if text == "old" else text != "off", *factors[:1],
                         **({"tiered": True} if "tiered" in words else {}))

    def files(self, r: Resources, qos: str) -> dict[str, str]:
        """What a container's update carries for it."""
        if self.gate is None:
            return {}
        if not self.gate:
            return {"memory.high": "max"}
        request, files = r.memory_request or 0, {}
        if self.factor is not None and qos == BURSTABLE and r.memory_limit != request and \
                r.memory_limit is not None:
            high = request + self.factor * (r.memory_limit - request)
            files["memory.high"] = str(math.floor(high / PAGE) * PAGE)
        if self.tiered and request:
            files["memory.min" if qos == GUARANTEED else "memory.low"] = str(request)
        return files


def oci_resources(r: Resources, cpus: str = "", more: dict[str, str] | None = None) -> dict:
    """linux.resources: every value, at each call."""
    memory = {} if r.memory_limit is None else {"limit": r.memory_limit, "swap": r.memory_limit}
    cpu: dict = {"shares": shares(r.cpu_request), "period": PERIOD_USEC}
    cpu["quota"] = quota_usec(r.cpu_limit) or -1
    if cpus:
        cpu["cpus"] = cpus
    return {"memory": memory, "cpu": cpu,
            "unified": {"memory.oom.group": "1", "memory.swap.max": "0", **(more or {})}}

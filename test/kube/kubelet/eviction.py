# SPDX-License-Identifier: Apache-2.0
"""The kubelet's hard eviction by memory.available and by allocatableMemory.available. The arithmetic
is pure: files are texts.

available = MemTotal - working set of the root cgroup, working set = usage - inactive_file. The root
cgroup has no memory.current: kubelets built with runc 1.2 and later take anon + file of its
memory.stat for its usage, older ones MemTotal - MemFree."""
from __future__ import annotations

from typing import NamedTuple

from apiserver import quantity

CRITICAL_PRIORITY = 2000000000  # system-cluster-critical and above are never evicted
USAGES = ("stat", "meminfo")
REASON = "Evicted"


class Candidate(NamedTuple):
    """A pod that can be evicted: its working set and its memory request in bytes."""
    name: str
    usage: int
    request: int
    priority: int


def fields(text: str) -> dict[str, int]:
    """Lines of NAME VALUE, or of NAME: VALUE kB in bytes."""
    result = {}
    for line in text.splitlines():
        name, value, *unit = line.split()
        result[name.rstrip(":")] = int(value) * (1024 if unit == ["kB"] else 1)
    return result


def available(meminfo: str, root_stat: str, usage: str) -> int:
    memory, stat = fields(meminfo), fields(root_stat)
    used = memory["MemTotal"] - memory["MemFree"] if usage == "meminfo" else \
        stat["anon"] + stat["file"]
    working_set = max(used - stat["inactive_file"], 0)
    return max(memory["MemTotal"] - working_set, 0)


def allocatable(limit: str, current: str, stat: str, otherwise: int) -> int:
    """allocatableMemory.available, of the cgroup of all pods. It has the threshold of memory.available."""
    return otherwise if limit == "max" else max(int(limit) - working_set(current, stat), 0)


def threshold(text: str, meminfo: str) -> int:
    """An amount, or a percentage of the capacity."""
    if text.endswith("%"):
        return int(fields(meminfo)["MemTotal"] * float(text[:-1]) / 100)
    return quantity.whole(text)


def working_set(current: str, stat: str) -> int:
    return max(int(current) - fields(stat)["inactive_file"], 0)


def rank(pods: list[Candidate]) -> list[Candidate]:
    """In the order of eviction: use above the request, the lower priority, the most above it."""
    able = [p for p in pods if p.priority < CRITICAL_PRIORITY]
    return sorted(able, key=lambda p: (p.usage <= p.request, p.priority, p.request - p.usage))


def message(threshold_bytes: int, available_bytes: int) -> str:
    return (f"The node was low on resource: memory. Threshold quantity: {threshold_bytes}, "
            f"available: {available_bytes >> 10}Ki. ")

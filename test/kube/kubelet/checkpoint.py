# SPDX-License-Identifier: Apache-2.0
"""Allocated and actuated resources of every container and of the pod, kept in files as the kubelet keeps them."""
from __future__ import annotations

import json
import os

from .model import Resources


class Checkpoint:
    """One file: pod uid -> container name -> resources."""

    def __init__(self, path: str):
        self.path = path
        self.pods: dict[str, dict[str, Resources]] = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                entries = json.load(f)["entries"]
            self.pods = {uid: {name: Resources.parse(r)
                               for name, r in e["ContainerResources"].items()}
                         for uid, e in entries.items()}

    def of(self, uid: str) -> dict[str, Resources]:
        return dict(self.pods.get(uid, {}))

    def set(self, uid: str, name: str, resources: Resources) -> None:
        self.pods.setdefault(uid, {})[name] = resources
        self._save()

    def replace(self, uid: str, all_of: dict[str, Resources]) -> None:
        self.pods[uid] = dict(all_of)
        self._save()

    def forget(self, uid: str, name: str | None = None) -> None:
        if name is None:
            self.pods.pop(uid, None)
        else:
            self.pods.get(uid, {}).pop(name, None)
        self._save()

    def _save(self) -> None:
        entries = {uid: {"ContainerResources": {n: r.api() for n, r in containers.items()}}
                   for uid, containers in self.pods.items()}
        with open(self.path + ".new", "w", encoding="utf-8") as f:
            json.dump({"entries": entries}, f)
        os.replace(self.path + ".new", self.path)


class Checkpoints:
    """The two of them. What differs is to be carried out; the cgroup is not asked."""

    def __init__(self, folder: str):
        os.makedirs(folder, exist_ok=True)
        self.allocated = Checkpoint(f"{folder}/allocated_pods_state")
        self.actuated = Checkpoint(f"{folder}/actuated_pods_state")

    def pending(self, uid: str) -> list[str]:
        """Running containers, and the pod, whose allocation was not carried out yet."""
        allocated = self.allocated.of(uid)
        return [n for n, r in self.actuated.of(uid).items() if allocated.get(n) != r]

    def forget(self, uid: str) -> None:
        self.allocated.forget(uid)
        self.actuated.forget(uid)

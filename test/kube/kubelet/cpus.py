# SPDX-License-Identifier: Apache-2.0
"""The static CPU manager: the CPUs of each container. Each container gets the shared CPUs by an update of
its cpuset alone, 5 s after its start and whenever an exclusive pod comes or goes."""
from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from . import model, status

if TYPE_CHECKING:
    from .kubelet import Kubelet
    from .worker import Worker

FIRST_SEC = 5.0
BUSY_POLL_SEC = 0.2


class CpuManager:
    def __init__(self, kubelet: Kubelet):
        self.kubelet = kubelet
        self.due: float | None = None
        self.waiting: dict[str, float] = {}  # container id -> its first update
        self.exclusive: dict[str, int] = {}  # pod uid -> whole CPUs
        self.queue: list[tuple[Worker, status.Container, str]] = []  # updates that are due
        self.round_at = 0.0
        self.busy = False  # an update of a slow runtime is under way

    @property
    def cpus(self) -> int:
        """Of the node; 0: the policy is "none", nothing is ever sent."""
        return int(self.kubelet.control("cpus", "*") or self.kubelet.options.cpus)

    @property
    def period(self) -> float:
        """Between two updates of every container; 0: only when its CPUs change."""
        return float(self.kubelet.control("cpu-reconcile", "*") or
                     self.kubelet.options.cpu_reconcile)

    def shared(self) -> str:
        cpus = self.cpus
        return model.cpu_list(range(min(sum(self.exclusive.values()), cpus - 1), cpus))

    def started(self, worker: Worker, container: status.Container) -> None:
        if not self.cpus:
            return
        now = time.monotonic()
        count = model.exclusive_cpus(worker.pod["spec"])
        if count:
            self.exclusive[worker.uid] = count
            self._all("exclusive pod came")
        else:
            self.waiting[container.id or ""] = now + FIRST_SEC
        self._plan(now)

    def pool_changed(self, worker: Worker) -> None:
        if self.exclusive.pop(worker.uid, None):
            self._all("exclusive pod went")
            self._plan(time.monotonic())

    def reconcile(self, now: float) -> None:
        """Called when `due` has come: one update at a time, since resizes do not wait for them."""
        first = {i for i, at in self.waiting.items() if at <= now}
        self.waiting = {i: at for i, at in self.waiting.items() if at > now}
        self.queue += [(w, c, "first reconcile") for w, c in self._running() if c.id in first]
        if not self.queue and self.period and now >= self.round_at:
            self.round_at = now + self.period
            self._all("reconcile")
        if self.queue and not self.busy:
            self._begin(*self.queue.pop(0))
        self._plan(time.monotonic())

    def _begin(self, *update: Any) -> None:
        """A slow one holds up the others of its kind, and no resize of another container."""
        if not self.kubelet.runtime_is_slow():
            self._update(*update)
            return

        def run() -> None:
            self._update(*update)
            self.busy = False
        self.busy = True
        threading.Thread(target=run, daemon=True).start()

    def _plan(self, now: float) -> None:
        times = list(self.waiting.values())
        if self.queue:
            times.append(now + BUSY_POLL_SEC if self.busy else now)
        elif self.period:
            times.append(max(self.round_at, now))
        self.due = min(times, default=None)

    def _running(self) -> list[tuple[Worker, status.Container]]:
        return [(w, c) for w in self.kubelet.workers.values() if w.uid not in self.exclusive
                for c in w.containers if c.running and c.id]

    def _all(self, why: str) -> None:
        self.queue += [(w, c, why) for w, c in self._running()]

    def _update(self, worker: Worker, container: status.Container, why: str) -> None:
        if not container.running:
            return
        try:
            r = self.kubelet.containers.update_cpus(container.id or "", self.shared())
        except (RuntimeError, KeyError) as e:
            print(f"cpuset {worker.name}: {e}", flush=True)
            return
        print(f"cpuset {worker.name}/{container.name}: {why}, written with it: memory "
              f"{r.memory_limit}", flush=True)

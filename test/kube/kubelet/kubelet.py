# SPDX-License-Identifier: Apache-2.0
"""The node: its registration, its pods' workers, one loop over everything that happens."""
from __future__ import annotations

import os
import queue
import random
import threading
import time
from argparse import Namespace
from typing import Any, Callable

from apiserver import quantity

from . import eviction, model, node
from .api import MERGE, Api, Credentials, Refused, Watcher, stamp
from .checkpoint import Checkpoints
from .cpus import CpuManager
from .model import Resources
from .resize import ContainerStep, PodStep
from .worker import Worker

RETRY_SEC = 1.0
EVICTION = "eviction"  # in due, in place of a pod's uid


class Kubelet:
    def __init__(self, options: Namespace):
        self.options = options
        credentials = Credentials(options.kubeconfig)
        self.api = Api(credentials)
        self.ca = credentials.ca
        self.checkpoints = Checkpoints(options.root)
        self.cgroups = node.Cgroups(options.driver)
        self.containers = node.Containers(options.driver, options.runtime)
        self.containers.memory_qos = model.MemoryQos.parse(options.memory_qos)
        self.allocatable = Resources.parse({"requests": {"cpu": options.cpu,
                                                         "memory": options.memory}})
        self.service_env = {"KUBERNETES_SERVICE_HOST": credentials.host,
                            "KUBERNETES_SERVICE_PORT": str(credentials.port)}
        self.queue: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.due: dict[str, float] = {}  # pod uid -> when it is to be synced again
        if options.eviction_hard:
            self.after(options.eviction_interval, EVICTION)
        self.workers: dict[str, Worker] = {}
        self.level_weight: int | None = None
        self.random = random.Random(options.seed)
        self.cpus = CpuManager(self)
        if options.jitter:
            print(f"jitter {options.jitter} s, seed {options.seed}", flush=True)
        self.watcher = Watcher(credentials, options.node, lambda k, o: self.queue.put((k, o)))
        self.tasks = node.TaskEvents(lambda k, o: self.queue.put((k, o)))

    # What workers ask of the node

    def after(self, seconds: float, uid: str) -> None:
        at = time.monotonic() + seconds
        self.due[uid] = min(at, self.due.get(uid, at))

    def control(self, name: str, pod: str) -> str | None:
        """A file in the control folder with lines "POD [WORDS]", "*" for every pod."""
        try:
            with open(f"{self.options.control}/{name}", encoding="utf-8") as f:
                lines = [line.split(maxsplit=1) for line in f if line.strip()]
        except FileNotFoundError:
            return None
        for words in lines:
            if words[0] in ("*", pod):
                return words[1].strip() if len(words) > 1 else ""
        return None

    def beside(self, uid: str, call: Callable[..., None], *args: Any) -> None:
        """Every pod has a worker of its own: a call of the runtime holds up its pod alone."""
        def run() -> None:
            try:
                call(*args)
            except (RuntimeError, OSError) as e:
                self.queue.put(("STARTED", (uid, e)))
            else:
                self.queue.put(("STARTED", (uid, None)))
        threading.Thread(target=run, daemon=True).start()

    def runtime_is_slow(self) -> bool:
        self.containers.lag = float(self.control("runtime-lag", "*") or 0.0)
        return self.containers.lag > 0

    def lag(self) -> float:
        if self.options.jitter:
            low, high = (float(x) for x in self.options.jitter.split("-"))
            return self.random.uniform(low, high)
        return float(self.control("lag", "*") or self.options.lag)

    def image_root(self, image: str) -> str | None:
        """docker.io/library/lab:1 is IMAGES/lab."""
        root = f"{self.options.images}/{image.rpartition('/')[2].partition(':')[0].partition('@')[0]}"
        return root if os.path.isdir(root) else None

    def entrypoint(self, root: str) -> list[str]:
        """The image's own command: a file beside its folder."""
        try:
            with open(f"{root}.entrypoint", encoding="utf-8") as f:
                return f.read().split()
        except FileNotFoundError:
            return []

    def others(self, uid: str) -> Resources:
        cpu = memory = 0
        for w in self.workers.values():
            if w.uid != uid and not w.done:
                r = model.pod_resources(w.pod["spec"], self.checkpoints.allocated.of(w.uid)
                                        or w.desired())
                cpu += r.cpu_request or 0
                memory += r.memory_request or 0
        return Resources(cpu_request=cpu, memory_request=memory)

    def qos_update(self) -> None:
        """The weight of the Burstable level, from its pods' requests; the limit of all pods."""
        self.pods_limit()
        pods = [w for w in self.workers.values() if w.qos == model.BURSTABLE and not w.done]
        total = sum(model.pod_resources(w.pod["spec"], self.checkpoints.allocated.of(w.uid)
                                        or w.desired()).cpu_request or 0 for w in pods)
        level = model.pod_cgroup(self.options.driver, model.BURSTABLE, "").rpartition("/")[0]
        weight = model.weight(total)
        # PID 1 may add the controller, with its default, after the weight was given.
        kept = weight == self.level_weight and node.holds(level, "cpu.weight", str(weight))
        if node.exists(level) and not kept:
            self.cgroups.qos_weight(level, total)
            self.level_weight = weight

    def write_status(self, pod: dict, new: dict, old: dict) -> bool:
        gone = {key: None for key in old if key not in new}
        try:
            self.api.pod_status(pod, {**gone, **new})
            return True
        except Refused as e:
            print(f"status of {pod['metadata']['name']}: {e}", flush=True)
            if e.status in (404, 409):
                return True
        except OSError as e:
            print(f"status of {pod['metadata']['name']}: {e}", flush=True)
        self.after(RETRY_SEC, pod["metadata"]["uid"])
        return False

    def event(self, pod: dict, kind: str, reason: str, message: str) -> None:
        if self.options.version < (1, 36):
            return
        try:
            self.api.event(pod, self.options.node, kind, reason, message)
        except (Refused, OSError) as e:
            print(f"event: {e}", flush=True)

    def trace(self, pod: str, step: PodStep | ContainerStep) -> None:
        print(f"resize {pod}: {step}", flush=True)

    def finished(self, worker: Worker) -> None:
        try:
            if not worker.removed:
                self.api.pod_delete(worker.pod)
        except (Refused, OSError) as e:
            if not isinstance(e, Refused) or e.status not in (404, 409):
                print(f"delete {worker.name}: {e}", flush=True)
                self.after(RETRY_SEC, worker.uid)
                return
        worker.done = True
        self.cpus.pool_changed(worker)
        if worker.created:
            worker.volumes.remove()
        self.workers.pop(worker.uid, None)
        self.checkpoints.forget(worker.uid)
        self.qos_update()

    # The loop

    def run(self) -> None:
        while True:
            try:
                self._register()
                break
            except (OSError, Refused) as e:
                print(f"register: {e}", flush=True)
                time.sleep(RETRY_SEC)
        self.tasks.start()
        self.watcher.start()
        print("kubelet ready", flush=True)
        while True:
            self._step()

    def _step(self) -> None:
        uid, at = min(self.due.items(), key=lambda row: row[1], default=("", None))
        # A pod that is due precedes the CPU manager, which is a loop of its own.
        if self.cpus.due is not None and (at is None or self.cpus.due < at) and \
                not (at is not None and at <= time.monotonic()):
            uid, at = "", self.cpus.due
        try:
            kind, what = self.queue.get(timeout=None if at is None
                                        else max(at - time.monotonic(), 0))
        except queue.Empty:
            if uid == EVICTION:
                self._look_for_memory()
            elif uid:
                self._sync(uid)
            else:
                self.cpus.reconcile(time.monotonic())
            return
        self._events([(kind, what), *self._queued()])

    def _queued(self) -> list[tuple[str, Any]]:
        events = []
        while not self.queue.empty():
            events.append(self.queue.get_nowait())
        return events

    def _events(self, events: list[tuple[str, Any]]) -> None:
        """A worker acts on the newest pod: all queued events are stored before any worker acts."""
        changed: dict[str, None] = {}
        for kind, what in events:
            if kind == "LIST":
                self._list(what)
            elif kind in ("OOM", "EXIT"):
                self._task(kind, *what)
            elif kind == "STARTED":
                self._started(*what)
            elif self._take(kind, what):
                changed[what["metadata"]["uid"]] = None
        for uid in changed:
            self._sync(uid)

    def _list(self, pods: list[dict]) -> None:
        there = {p["metadata"]["uid"] for p in pods}
        for uid, worker in list(self.workers.items()):
            if uid not in there:
                worker.removed = True
                self._sync(uid)
        for pod in pods:
            self._take("MODIFIED", pod)
            self._sync(pod["metadata"]["uid"])

    def _take(self, kind: str, pod: dict) -> bool:
        """False: a pod that was never known is gone."""
        uid = pod["metadata"]["uid"]
        if uid not in self.workers:
            if kind == "DELETED":
                return False
            self.workers[uid] = Worker(self, pod)
        worker = self.workers[uid]
        worker.pod = pod
        worker.removed = worker.removed or kind == "DELETED"
        return True

    def _started(self, uid: str, error: Exception | None) -> None:
        worker = self.workers[uid]  # it stays until its containers have ended
        try:
            worker.started(error)
        except (RuntimeError, OSError) as e:
            print(f"start {worker.name}: {e}", flush=True)
            self.after(RETRY_SEC, uid)
            return
        self._sync(uid)

    def _task(self, kind: str, container_id: str, code: int) -> None:
        for worker in list(self.workers.values()):
            if kind == "OOM":
                worker.oom(container_id)
            elif worker.exited(container_id, code):
                self._sync(worker.uid)

    def _look_for_memory(self) -> None:
        self.due.pop(EVICTION, None)
        self.after(self.options.eviction_interval, EVICTION)
        try:
            self._evict()
        except OSError as e:  # a cgroup went
            print(f"eviction: {e}", flush=True)

    def _left_to_pods(self, otherwise: int) -> int:
        top = model.top_cgroup(self.options.driver)
        if not self.options.pods_memory or not node.exists(top):
            return otherwise
        left = eviction.allocatable(*(node.read(top, f"memory.{file}")
                                      for file in ("max", "current", "stat")), otherwise)
        print(f"allocatableMemory.available {left >> 20} MiB", flush=True)
        return left

    def pods_limit(self) -> None:
        """Of all pods together, where reserved memory leaves less than the node has."""
        top = model.top_cgroup(self.options.driver)
        if not self.options.pods_memory or not node.exists(top):
            return
        limit = quantity.whole(self.options.pods_memory)
        if not node.holds(top, "memory.max", str(limit)):
            self.cgroups.apply(top, PodStep("memory.max", limit))

    def _evict(self) -> None:
        """One pod at a time; its memory is to show before the next one is looked for."""
        with open("/proc/meminfo", encoding="ascii") as f:
            meminfo = f.read()
        limit = eviction.threshold(self.options.eviction_hard, meminfo)
        available = eviction.available(meminfo, node.read("", "memory.stat"),
                                       self.options.root_usage)
        print(f"memory.available {available >> 20} MiB, threshold {limit >> 20} MiB", flush=True)
        available = min(available, self._left_to_pods(available))
        if available >= limit or any(w.evicted and w.pause for w in self.workers.values()):
            return
        pods = {w.name: w for w in self.workers.values() if w.created and not w.evicted}
        for c in eviction.rank([w.candidate() for w in pods.values()]):
            print(f"evict {c.name}: uses {c.usage >> 20} MiB, requests {c.request >> 20} MiB",
                  flush=True)
            pods[c.name].evicted = eviction.message(limit, available)
            self.event(pods[c.name].pod, "Warning", eviction.REASON, pods[c.name].evicted)
            self._sync(pods[c.name].uid)
            return

    def _sync(self, uid: str) -> None:
        worker = self.workers.get(uid)
        self.due.pop(uid, None)
        if worker is None:
            return
        try:
            worker.sync()
        except (RuntimeError, OSError, Refused) as e:
            print(f"sync {worker.name}: {e}", flush=True)
            self.after(RETRY_SEC, uid)

    def _register(self) -> None:
        name, now, r = self.options.node, stamp(), self.allocatable.api()["requests"]
        room = {**r, "pods": "250"}
        try:
            self.api.request("POST", "/api/v1/nodes", {
                "apiVersion": "v1", "kind": "Node", "spec": {},
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name,
                                                      "kubernetes.io/os": "linux"}}})
        except Refused as e:
            if e.status != 409:
                raise
        self.api.request("PATCH", f"/api/v1/nodes/{name}", {"spec": {"taints": None}}, MERGE)
        version = ".".join(str(x) for x in self.options.version)
        features = ["InPlacePodLevelResourcesVerticalScaling",
                    "InPlacePodVerticalScalingInitContainers"]
        self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": {
            "capacity": room, "allocatable": room,
            "declaredFeatures": features if self.options.version >= (1, 36) else [],
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady",
                            "lastHeartbeatTime": now, "lastTransitionTime": now}],
            "addresses": [{"type": "InternalIP", "address": self.options.ip}],
            "nodeInfo": {"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "",
                         "osImage": "lab", "containerRuntimeVersion": "containerd://1",
                         "kubeletVersion": f"v{version}.3", "kubeProxyVersion": "",
                         "operatingSystem": "linux", "architecture": "amd64"}}}, MERGE)

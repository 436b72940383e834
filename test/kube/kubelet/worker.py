# SPDX-License-Identifier: Apache-2.0
"""One pod: created, kept running, resized, taken down. Level-triggered: sync() does what is due."""
from __future__ import annotations

import secrets
import signal
import time
from typing import TYPE_CHECKING, Any, Callable

from . import eviction, model, node, ocispec, resize, status
from .api import stamp
from .model import Resources
from .volumes import Volumes

if TYPE_CHECKING:
    from .kubelet import Kubelet

ERROR_SYNC_SEC = 15.0  # until the next sync, which shows and retries
PENDING_POLL_SEC = 1.0
BACKOFF_MAX_SEC, BACKOFF_RESET_SEC = 300.0, 600.0
START_ERROR_CODE, NEVER_STARTED = 128, "1970-01-01T00:00:00Z"  # as containerd reports it


class Worker:
    def __init__(self, kubelet: Kubelet, pod: dict):
        self.kubelet, self.pod = kubelet, pod
        self.uid: str = pod["metadata"]["uid"]
        spec = pod["spec"]
        self.qos = model.qos_class(spec)
        self.cgroup = model.pod_cgroup(kubelet.options.driver, self.qos, self.uid)
        self.containers = [status.Container(c, "sidecar" if model.is_sidecar(c) else "init")
                           for c in spec.get("initContainers", [])]
        self.containers += [status.Container(c, "app") for c in spec["containers"]]
        self.pause: str | None = None
        self.created = False
        self.start_time = stamp()
        self.resizing = status.Resizing()
        self.act_at: float | None = None
        self.error_at: float | None = None
        self.conditions = status.Conditions()
        self.kill_at: float | None = None
        self.removed = False  # by another client: no DELETE from us
        self.evicted: str | None = None  # the message
        self.done = False
        # While the runtime starts a container, or a slow one updates some: what is done after it.
        self.starting: Callable[[Exception | None], None] | None = None
        self.ended_early: dict[str, int] = {}  # container id -> exit code, while it starts
        self.written: dict | None = None
        self.seen: dict[str, Resources] = {}
        self.memory_request_shown: str | None = None

    @property
    def name(self) -> str:
        return self.pod["metadata"]["name"]

    def desired(self) -> dict[str, Resources]:
        return model.desired(self.pod["spec"])

    def sync(self) -> None:
        if self.done or self.starting:
            return
        if self.kill_at is not None or "deletionTimestamp" in self.pod["metadata"] or self.removed:
            self._terminate()
        elif self.evicted:
            self._kill_evicted()
        else:
            if not self.created:
                self._create()
            else:
                self._start_due()
            if self.starting:
                return
            self._resize()
        if not self.done and not self.removed:
            self._status()

    def _create(self) -> None:
        checks = self.kubelet.checkpoints
        checks.allocated.replace(self.uid, self.desired())
        total = model.pod_resources(self.pod["spec"], self.desired())
        self.memory_request_shown = model.memory_text(total.memory_request or None)
        self.volumes = Volumes(self.kubelet, self.pod)
        if not node.exists(self.cgroup):
            self.kubelet.cgroups.pod_create(self.cgroup, total)
        if model.POD in self.desired():
            checks.actuated.set(self.uid, model.POD, self.desired()[model.POD])
        self.kubelet.qos_update()
        self.pause = secrets.token_hex(32)
        root = self.kubelet.image_root("lab")
        path = model.cgroups_path(self.kubelet.options.driver, self.cgroup, self.pause)
        self._beside(self._pause_started, self.pause, ocispec.pause(self.pod, root or "/", path),
                     f"{self.name}/pause")

    def _pause_started(self, error: Exception | None) -> None:
        if error:
            raise error
        self.kubelet.qos_update()
        self.created = True

    def _beside(self, then: Callable[[Exception | None], None], *start: Any) -> None:
        """A container's start takes seconds: the other pods go on, this one waits for started()."""
        self.starting = then
        self.kubelet.beside(self.uid, self.kubelet.containers.start, *start)

    def started(self, error: Exception | None) -> None:
        then, self.starting = self.starting, None
        assert then
        then(error)

    # Containers

    def _start_due(self) -> None:
        """Init containers one after the other, sidecars on the way, then the rest."""
        policy = self.pod["spec"].get("restartPolicy", "Always")
        for c in self.containers:
            if c.kind == "init":
                if c.terminated and c.terminated["exitCode"] == 0:
                    continue
                if not c.running and not (c.terminated and policy == "Never"):
                    self._start(c)
                return
            again = policy == "Always" or c.kind == "sidecar" or c.terminated is None or \
                (policy == "OnFailure" and c.terminated["exitCode"] != 0)
            if not c.running and again and self._start(c):
                return

    def _start(self, c: status.Container) -> bool:
        """False: not now, or not at all."""
        now = time.monotonic()
        root = self.kubelet.image_root(c.spec["image"])
        if root is None:
            c.waiting = "ErrImageNeverPull"
            return False
        if now < c.not_before:
            c.waiting = "CrashLoopBackOff"
            self.kubelet.after(c.not_before - now, self.uid)
            return False
        container_id = secrets.token_hex(32)
        r = self.kubelet.checkpoints.allocated.of(self.uid).get(
            c.name, Resources.parse(c.spec.get("resources")))
        path = model.cgroups_path(self.kubelet.options.driver, self.cgroup, container_id)
        command = {} if "command" in c.spec else {"command": self.kubelet.entrypoint(root)}
        spec = ocispec.make(self.pod, {**c.spec, **command}, root, path,
                            model.inherited(self.pod["spec"], r), self.volumes.sources,
                            self.kubelet.service_env, self.kubelet.options.ip)
        if c.terminated:
            c.last, c.terminated = c.terminated, None
            c.restarts += 1
        c.id, c.waiting, c.oom = container_id, "", False
        self.kubelet.containers.qos[container_id] = self.qos
        self._beside(lambda error: self._container_started(c, r, now, error), container_id, spec,
                     f"{self.name}/{c.name}", r)
        return True

    def _container_started(self, c: status.Container, r: Resources, begun: float,
                           error: Exception | None) -> None:
        if error:
            self._start_failed(c, str(error))
            return
        c.running, c.started_at, c.begun = True, stamp(), time.monotonic()
        print(f"started {self.name}/{c.name} in {c.begun - begun:.2f} s", flush=True)
        if c.kind != "init":
            self.kubelet.checkpoints.actuated.set(self.uid, c.name, r)
        self.kubelet.cpus.started(self, c)
        code = self.ended_early.pop(c.id or "", None)
        if code is not None:
            self._ended(c, code)

    def _start_failed(self, c: status.Container, message: str) -> None:
        """The runtime could not create or start it: reported, and retried after the back-off."""
        c.terminated = {"exitCode": START_ERROR_CODE, "reason": "StartError", "message": message,
                        "startedAt": NEVER_STARTED, "finishedAt": stamp(),
                        "containerID": f"containerd://{c.id}"}
        print(f"StartError {self.name}/{c.name}: {message}", flush=True)
        self.kubelet.event(self.pod, "Warning", "Failed", f"Error: {message}")
        self.kubelet.containers.remove(c.id or "")
        self._back_off(c)
        self.kubelet.after(max(c.not_before - time.monotonic(), 0.0), self.uid)

    def oom(self, container_id: str) -> None:
        for c in self.containers:
            c.oom = c.oom or c.id == container_id

    def exited(self, container_id: str, code: int) -> bool:
        """True: it was one of ours."""
        if container_id == self.pause:
            self.pause = None
            self.kubelet.containers.remove(container_id)
            return True
        for c in self.containers:
            if c.id == container_id and c.running:
                self._ended(c, code)
                return True
            if c.id == container_id and self.starting:
                self.ended_early[container_id] = code
        return False

    def _ended(self, c: status.Container, code: int) -> None:
        c.running = False
        reason = "OOMKilled" if c.oom else "Error" if code else "Completed"
        c.terminated = {"exitCode": code, "reason": reason, "startedAt": c.started_at,
                        "finishedAt": stamp(), "containerID": f"containerd://{c.id}"}
        self.kubelet.containers.remove(c.id)
        self.kubelet.checkpoints.actuated.forget(self.uid, c.name)
        self._back_off(c)

    def _back_off(self, c: status.Container) -> None:
        """The first restart is at once, the others wait longer and longer."""
        now = time.monotonic()
        if now - c.begun > BACKOFF_RESET_SEC:
            c.backoff = 0.0
        c.not_before = now + c.backoff
        c.backoff = min(max(2 * c.backoff, self.kubelet.options.backoff), BACKOFF_MAX_SEC)

    # Resize

    def _resize(self) -> None:
        checks, r, now = self.kubelet.checkpoints, self.resizing, time.monotonic()
        desired = self.desired()
        if desired != self.seen:
            self.seen = desired
            values = " ".join(f"{n}={d.memory_limit}" for n, d in desired.items())
            print(f"spec {self.name}: memory {values}", flush=True)
        if desired != checks.allocated.of(self.uid):
            r.pending = self._admission(desired)
            if r.pending is None:
                checks.allocated.replace(self.uid, desired)
                # With --jitter as the real one: it acts when its worker gets there, on the newest
                # pod. Else each change has the whole lag before it.
                if not self.kubelet.options.jitter or self.error_at is not None:
                    self.act_at = None
                self.error_at = r.error = None
            else:
                self.kubelet.after(PENDING_POLL_SEC, self.uid)
        else:
            r.pending = None
        if not checks.pending(self.uid):
            self._resize_over()
            return
        if self.act_at is None:
            r.progress = True
            lag = self.kubelet.lag()
            self.act_at = now + lag
            print(f"lag {self.name}: {lag:.2f} s", flush=True)
            self._event("Normal", "ResizeStarted")
        if now >= self.act_at:
            self._act(now)
        else:
            self.kubelet.after(self.act_at - now, self.uid)

    def _resize_over(self) -> None:
        if self.resizing.progress and self.resizing.error is None and self.error_at is None:
            self._event("Normal", "ResizeCompleted")
        self.resizing.progress, self.resizing.error = False, None
        self.act_at = self.error_at = None

    def _admission(self, desired: dict[str, Resources]) -> tuple[str, str] | None:
        for control, reason in (("infeasible", "Infeasible"), ("defer", "Deferred")):
            message = self.kubelet.control(control, self.name)
            if message is not None:
                return reason, message or "Node didn't have enough resource: cpu"
        spec = self.pod["spec"]
        return resize.admit(model.pod_resources(spec, desired), self.kubelet.others(self.uid),
                            self.kubelet.allocatable)

    def _act(self, now: float) -> None:
        if self.kubelet.runtime_is_slow():
            self.starting = self._acted
            self.kubelet.beside(self.uid, self._carry_out)
            return
        try:
            self._carry_out()
        except (RuntimeError, OSError) as e:
            self._acted(e)
        else:
            self._acted(None)

    def _acted(self, e: Exception | None) -> None:
        now = time.monotonic()
        if e:
            if self.error_at is None:
                self._event("Warning", "ResizeError", str(e))
            else:
                self.resizing.error = str(e)
            self.error_at = now
            self.act_at = now + ERROR_SYNC_SEC
            self.kubelet.after(ERROR_SYNC_SEC, self.uid)
            return
        self.error_at = None
        if not self.kubelet.checkpoints.pending(self.uid):
            self._resize_over()

    def _carry_out(self) -> None:
        checks = self.kubelet.checkpoints
        allocated, actuated = checks.allocated.of(self.uid), checks.actuated.of(self.uid)
        running = {c.name: c for c in self.containers if c.running}
        usage = {n: int(node.read(self._cgroup_of(running[n]), "memory.current"))
                 for n in actuated if n in running}
        usage[model.POD] = int(node.read(self.cgroup, "memory.current"))
        refused = self.kubelet.control("error", self.name) or \
            resize.refusal(allocated, actuated, usage)
        if refused:
            raise RuntimeError(refused)
        for step in resize.plan(self.pod["spec"], allocated, actuated):
            self.kubelet.trace(self.name, step)
            if isinstance(step, resize.PodStep):
                self.kubelet.cgroups.apply(self.cgroup, step)
                continue
            c = running[step.name]
            if step.restart:
                c.not_before = c.backoff = 0.0
                self.kubelet.containers.kill(c.id or "", signal.SIGTERM)
                self.kubelet.containers.kill(c.id or "", signal.SIGKILL)
                checks.actuated.forget(self.uid, c.name)
                continue
            self.kubelet.containers.update(c.id or "", model.inherited(self.pod["spec"],
                                                                       step.resources))
            checks.actuated.set(self.uid, step.name, step.resources)
        if model.POD in allocated:
            checks.actuated.set(self.uid, model.POD, allocated[model.POD])
        self.kubelet.qos_update()

    def _cgroup_of(self, c: status.Container) -> str:
        return model.container_cgroup(self.kubelet.options.driver, self.cgroup, c.id or "")

    def _event(self, kind: str, reason: str, text: str = "") -> None:
        words = {"ResizeStarted": "Pod resize started", "ResizeCompleted": "Pod resize completed",
                 "ResizeError": f"Pod resize error: {text}"}
        self.kubelet.event(self.pod, kind, reason, words[reason])

    # The end

    def candidate(self) -> eviction.Candidate:
        """For the eviction manager."""
        spec = self.pod["spec"]
        usage = 0
        if node.exists(self.cgroup):
            usage = eviction.working_set(node.read(self.cgroup, "memory.current"),
                                         node.read(self.cgroup, "memory.stat"))
        return eviction.Candidate(self.name, usage,
                                  model.pod_resources(spec, self.desired()).memory_request or 0,
                                  spec.get("priority") or 0)

    def _kill_evicted(self) -> None:
        """A hard threshold leaves no grace. The object stays, Failed."""
        running = [c for c in self.containers if c.running]
        for c in running:
            self.kubelet.containers.kill(c.id or "", signal.SIGKILL)
        if running or not self.pause:
            return
        self.kubelet.containers.kill(self.pause, signal.SIGKILL)

    def _terminate(self) -> None:
        now = time.monotonic()
        running = [c for c in self.containers if c.running]
        if self.kill_at is None:
            grace = 0 if self.removed else self.pod["metadata"].get("deletionGracePeriodSeconds", 30)
            self.kill_at = now + grace
            for c in running:
                self.kubelet.containers.kill(c.id or "", signal.SIGTERM)
        if running:
            if now >= self.kill_at:
                for c in running:
                    self.kubelet.containers.kill(c.id or "", signal.SIGKILL)
            self.kubelet.after(max(self.kill_at - now, 0.5), self.uid)
            return
        if self.pause:
            self.kubelet.containers.kill(self.pause, signal.SIGKILL)
            self.kubelet.after(0.5, self.uid)
            return
        try:
            if node.exists(self.cgroup):
                self.kubelet.cgroups.pod_remove(self.cgroup)
        except (OSError, RuntimeError):
            self.kubelet.after(0.5, self.uid)  # its containers are being removed yet
            return
        self.kubelet.finished(self)

    # Status

    def _ready(self, c: status.Container) -> bool:
        if c.kind == "init":
            return c.terminated is not None and c.terminated["exitCode"] == 0
        if not c.running or self.kubelet.control("unready", self.name) is not None:
            return False
        left = c.begun + c.spec.get("readinessProbe", {}).get("initialDelaySeconds", 0) \
            - time.monotonic()
        if left > 0:
            self.kubelet.after(left, self.uid)
        return left <= 0

    def make_status(self, now: str) -> dict:
        options, meta = self.kubelet.options, self.pod["metadata"]
        checks = self.kubelet.checkpoints
        allocated, actuated = checks.allocated.of(self.uid), checks.actuated.of(self.uid)
        ready = {c.name: self._ready(c) for c in self.containers}
        generation = meta.get("generation") if options.version >= (1, 34) else None
        status.touch(self.resizing, now)
        all_ready = all(ready[c.name] for c in self.containers)
        initialized = all(ready[c.name] for c in self.containers if c.kind != "app")
        rows = self.conditions.rows({
            "PodReadyToStartContainers": self.created, "Initialized": initialized,
            "Ready": all_ready, "ContainersReady": all_ready, "PodScheduled": True}, now, generation)
        result = {
            "phase": status.phase(self.containers, self.pod["spec"].get("restartPolicy", "Always")),
            "conditions": status.resize_conditions(self.resizing, generation) + rows,
            "hostIP": options.ip, "hostIPs": [{"ip": options.ip}], "podIP": options.ip,
            "podIPs": [{"ip": options.ip}], "startTime": self.start_time, "qosClass": self.qos}
        if self.evicted:
            result.update(phase="Failed", reason=eviction.REASON, message=self.evicted)
        for key, kinds in (("initContainerStatuses", ("init", "sidecar")),
                           ("containerStatuses", ("app",))):
            some = [status.container_status(c, ready[c.name], allocated, actuated)
                    for c in self.containers if c.kind in kinds]
            if some:
                result[key] = some
        if generation is not None:
            result["observedGeneration"] = generation
        if options.version >= (1, 36) and self.qos != model.BEST_EFFORT:
            result.update(self._pod_level(allocated))
        return result

    def _pod_level(self, allocated: dict[str, Resources]) -> dict:
        try:
            shown = self.kubelet.cgroups.shown(self.cgroup)
        except OSError:
            return {}
        if self.memory_request_shown:
            shown["requests"]["memory"] = self.memory_request_shown
        return {"allocatedResources": status.pod_sums(self.pod["spec"], allocated),
                "resources": shown}

    def _status(self) -> None:
        new = self.make_status(stamp())
        if new == self.written:
            return
        if self.kubelet.write_status(self.pod, new, self.written or {}):
            self.written = new

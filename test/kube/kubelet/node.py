# SPDX-License-Identifier: Apache-2.0
"""What touches the machine: containerd and runc or crun by their programs, cgroups, PID 1 by busctl."""
from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from typing import Callable

from . import model, resize
from .model import Resources

CGROUP = "/sys/fs/cgroup"
NAMESPACE = "k8s.io"
RUNC_ROOT = f"/run/containerd/runc/{NAMESPACE}"
MANAGER = ["busctl", "call", "org.freedesktop.systemd1", "/org/freedesktop/systemd1",
           "org.freedesktop.systemd1.Manager"]
NO_LIMIT = 2 ** 64 - 1
LOGS = "/var/log/pods"


def run(*command: str, text: str | None = None) -> str:
    done = subprocess.run(command, input=text if text is not None else "", capture_output=True,
                          text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:4])}: {done.stderr.strip()[-400:]}")
    return done.stdout


def read(cgroup: str, file: str) -> str:
    with open(f"{CGROUP}/{cgroup}/{file}", encoding="ascii") as f:
        return f.read().strip()


def holds(cgroup: str, file: str, value: str) -> bool:
    return os.path.exists(f"{CGROUP}/{cgroup}/{file}") and read(cgroup, file) == value


def write(cgroup: str, file: str, value: str) -> None:
    with open(f"{CGROUP}/{cgroup}/{file}", "w", encoding="ascii") as f:
        f.write(value)


def exists(cgroup: str) -> bool:
    return os.path.isdir(f"{CGROUP}/{cgroup}")


class Cgroups:
    """Pod and QoS level, either driver."""

    def __init__(self, driver: str):
        self.driver = driver
        self.systemd = driver == "systemd"

    def pod_create(self, cgroup: str, r: Resources) -> None:
        if self.systemd:
            self._slice_start(cgroup, r)
        else:
            self._mkdir(cgroup)
        steps = [resize.PodStep("cpu.weight", r.cpu_request or 0)]
        steps += [resize.PodStep("memory.max", r.memory_limit)] if r.memory_limit else []
        steps += [resize.PodStep("cpu.max", r.cpu_limit)] if r.cpu_limit else []
        for step in steps:
            self.files(cgroup, step)

    def pod_remove(self, cgroup: str) -> None:
        if self.systemd:
            run(*MANAGER, "StopUnit", "ss", cgroup.rpartition("/")[2], "replace")
        elif exists(cgroup):
            os.rmdir(f"{CGROUP}/{cgroup}")

    def apply(self, cgroup: str, step: resize.PodStep) -> None:
        """One value of the pod; PID 1 first, which writes all of the slice's again."""
        if self.systemd:
            self._properties(cgroup, self._property(step))
        self.files(cgroup, step)

    def files(self, cgroup: str, step: resize.PodStep) -> None:
        for _, file, value in resize.writes(step, self.systemd):
            if os.path.exists(f"{CGROUP}/{cgroup}/{file}"):
                write(cgroup, file, value)

    def qos_weight(self, cgroup: str, request_milli: int) -> None:
        """Of kubepods-burstable: the sum of its pods."""
        self.apply(cgroup, resize.PodStep("cpu.weight", request_milli))

    def shown(self, cgroup: str) -> dict[str, dict[str, str]]:
        """status.resources of the pod, read from its cgroup."""
        limits, requests = {}, {}
        quota, period = read(cgroup, "cpu.max").split()
        if quota != "max":
            limits["cpu"] = model.cpu_text(int(quota) * 1000 // int(period))
        memory = read(cgroup, "memory.max")
        if memory != "max":
            limits["memory"] = model.memory_text(int(memory))
        requests["cpu"] = model.cpu_text(model.milli_of_weight(int(read(cgroup, "cpu.weight"))))
        return {"limits": limits, "requests": requests}  # type: ignore[dict-item]

    @staticmethod
    def _property(step: resize.PodStep) -> list[str]:
        if step.file == "cpu.weight":
            return ["CPUWeight", "t", str(model.weight(step.value))]
        if step.file == "memory.max":
            return ["MemoryMax", "t", str(NO_LIMIT if step.value is None else step.value)]
        quota = model.quota_usec(step.value, True)
        return ["CPUQuotaPerSecUSec", "t",
                str(NO_LIMIT if quota is None else quota * 1000000 // model.PERIOD_USEC)]

    def _properties(self, cgroup: str, *values: list[str]) -> None:
        words = [w for v in values for w in v]
        run(*MANAGER, "SetUnitProperties", "sba(sv)", cgroup.rpartition("/")[2], "true",
            str(len(values)), *words)

    def _slice_start(self, cgroup: str, r: Resources) -> None:
        parent, _, name = cgroup.rpartition("/")
        values = [["Description", "s", f"libcontainer container {name}"],
                  ["Wants", "as", "1", parent.rpartition("/")[2]],
                  *[[f"{x}Accounting", "b", "true"] for x in ("Memory", "CPU", "Tasks", "IO")],
                  ["DefaultDependencies", "b", "false"]]
        values.append(self._property(resize.PodStep("cpu.weight", r.cpu_request or 0)))
        if r.memory_limit:
            values.append(self._property(resize.PodStep("memory.max", r.memory_limit)))
        if r.cpu_limit:
            values.append(self._property(resize.PodStep("cpu.max", r.cpu_limit)))
        words = [w for v in values for w in v]
        run(*MANAGER, "StartTransientUnit", "ssa(sv)a(sa(sv))", name, "replace", str(len(values)),
            *words, "0")

    @staticmethod
    def _mkdir(cgroup: str) -> None:
        parts = cgroup.split("/")
        for depth in range(len(parts)):
            parent = "/".join(parts[:depth]) or "."
            for controller in read(parent, "cgroup.controllers").split():
                write(parent, "cgroup.subtree_control", f"+{controller}")
            os.makedirs(f"{CGROUP}/{'/'.join(parts[:depth + 1])}", exist_ok=True)


class Containers:
    """Containers by containerd's own client; updates by the OCI runtime on the same state.

    The runtime service merges what an update names into the spec that it stores for the container,
    and has the OCI runtime write all of that spec, whatever the update was about. `ctr` has no such
    call: the stored specs are kept here."""

    def __init__(self, driver: str, runtime: str = "runc"):
        self.systemd = ["--systemd-cgroup"] if driver == "systemd" else []
        self.runtime = runtime
        self.stored: dict[str, tuple[Resources, str]] = {}  # values and cpuset, by container id
        self.memory_qos = model.MemoryQos()
        self.qos: dict[str, str] = {}  # class by container id; none: the sandbox's
        self.lag = 0.0  # from an update's begin, with its values, to its writes, in seconds
        self.locks: dict[str, threading.Lock] = {}  # one update of a container at a time

    def start(self, container_id: str, spec: dict, log: str,
              r: Resources = Resources()) -> None:
        self.stored[container_id] = (r, "")
        spec["linux"]["resources"].setdefault("unified", {}).update(self._more(container_id, r))
        folder = f"{LOGS}/{log.rpartition('/')[0]}"
        os.makedirs(folder, exist_ok=True)
        config = f"{folder}/{container_id[:12]}.json"
        with open(config, "w", encoding="utf-8") as f:
            json.dump(spec, f)
        for m in spec["mounts"]:
            if m["type"] == "bind" and not os.path.exists(m["source"]):
                os.makedirs(m["source"])
        driver = ["--runc-systemd-cgroup", "--cgroup", spec["linux"]["cgroupsPath"]] \
            if self.systemd else []
        run("ctr", "-n", NAMESPACE, "run", "-d", "--runc-binary", self.runtime, *driver,
            "--log-uri", f"file://{LOGS}/{log}.log", "--config", config, container_id)

    def update(self, container_id: str, r: Resources) -> None:
        """A resize: all values of the container."""
        with self._lock(container_id):
            self._update(container_id, r, self.stored.get(container_id, (r, ""))[1])

    def update_cpus(self, container_id: str, cpus: str) -> Resources:
        """An update that names the CPUs alone; what is written with them is returned."""
        with self._lock(container_id):
            r = self.stored[container_id][0]
            self._update(container_id, r, cpus)
        return r

    def _lock(self, container_id: str) -> threading.Lock:
        return self.locks.setdefault(container_id, threading.Lock())

    def _update(self, container_id: str, r: Resources, cpus: str) -> None:
        self.stored[container_id] = (r, cpus)
        time.sleep(self.lag)
        run(self.runtime, "--root", RUNC_ROOT, *self.systemd, "update", "-r", "-", container_id,
            text=json.dumps(model.oci_resources(r, cpus, self._more(container_id, r))))

    def _more(self, container_id: str, r: Resources) -> dict[str, str]:
        qos = self.qos.get(container_id)
        return self.memory_qos.files(r, qos) if qos else {}

    def pid(self, container_id: str) -> int:
        with open(f"/run/containerd/io.containerd.runtime.v2.task/{NAMESPACE}/{container_id}/init.pid",
                  encoding="ascii") as f:
            return int(f.read())

    def kill(self, container_id: str, signal: int) -> None:
        try:
            os.kill(self.pid(container_id), signal)
        except (ProcessLookupError, FileNotFoundError):
            pass

    def remove(self, container_id: str) -> None:
        """In a thread of its own: no caller waits for it."""
        self.stored.pop(container_id, None)
        self.qos.pop(container_id, None)
        threading.Thread(target=self._remove, args=(container_id,), daemon=True).start()

    @staticmethod
    def _remove(container_id: str) -> None:
        try:
            run("ctr", "-n", NAMESPACE, "container", "rm", container_id)
        except RuntimeError as e:
            print(f"remove: {e}", flush=True)


class TaskEvents(threading.Thread):
    """containerd's events: put("EXIT", (id, code)), put("OOM", (id, 0))."""

    def __init__(self, put: Callable[[str, tuple[str, int]], None]):
        super().__init__(daemon=True)
        self.put = put
        self.ready = threading.Event()

    def run(self) -> None:
        with subprocess.Popen(["ctr", "-n", NAMESPACE, "events"], stdout=subprocess.PIPE,
                              text=True) as stream:
            assert stream.stdout
            for line in stream.stdout:
                self._line(line)

    def _line(self, line: str) -> None:
        head, _, body = line.partition(" {")
        topic = head.rpartition(" ")[2]
        if topic not in ("/tasks/exit", "/tasks/oom"):
            return
        event = json.loads("{" + body)
        if topic == "/tasks/oom":
            self.put("OOM", (event["container_id"], 0))
        elif event["id"] == event["container_id"]:
            self.put("EXIT", (event["container_id"], event.get("exit_status", 0)))

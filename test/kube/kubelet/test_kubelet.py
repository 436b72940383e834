# SPDX-License-Identifier: Apache-2.0
"""The kubelet stand-in's formulas, checkpoints, resize order and status, without a machine.
With the folder of recorded exchanges (VSCALED_KUBE_RECORDED) also against what a real one wrote."""
from __future__ import annotations

import json
import os
import queue
import socket
import sys
import tempfile
import threading
import time
import types
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

from apiserver import pods  # noqa: E402
from kubelet import (  # noqa: E402
    checkpoint, cpus, eviction, kubelet, model, ocispec, resize, status, volumes, worker)
from kubelet.model import Resources  # noqa: E402

MIB = 1 << 20
RECORDED = os.environ.get("VSCALED_KUBE_RECORDED", f"{HERE}/../../../../shared/kube-recorded")


def resources(cpu: str | None, memory: str | None, cpu_request: str | None = None,
              memory_request: str | None = None) -> dict:
    def some(**values: str | None) -> dict:
        return {k: v for k, v in values.items() if v is not None}
    return {"limits": some(cpu=cpu, memory=memory),
            "requests": some(cpu=cpu_request, memory=memory_request)}


def container(name: str, r: dict | None = None, **more) -> dict:
    return {"name": name, "image": "docker.io/library/lab:1", "command": ["/bin/hold"],
            "resources": r or {}, **more}


def parsed(spec: dict) -> dict[str, Resources]:
    return {c["name"]: Resources.parse(c["resources"]) for c in model.sized(spec)}


# The pod of kubelet-writes-1.36.json, before and after.
BEFORE = {"containers": [container("main", resources("500m", "128Mi", "200m", "64Mi")),
                         container("side", resources("333m", "64Mi", "100m", "32Mi"))]}
AFTER = {"containers": [container("main", resources("777m", "192Mi", "400m", "80Mi")),
                        container("side", resources("250m", "64Mi", "50m", "32Mi"))]}


class Formulas(unittest.TestCase):
    def test_weight(self):
        for milli, expected in ((0, 1), (1, 1), (100, 4), (200, 8), (500, 20), (1000, 39),
                                (2000, 79), (4000, 157), (300, 12), (450, 18), (10 ** 7, 10000)):
            self.assertEqual(model.weight(milli), expected, milli)

    def test_weight_read_back(self):
        for weight, milli in ((14, 334), (33, 821), (18, 437)):
            self.assertEqual(model.milli_of_weight(weight), milli)

    def test_quota(self):
        for milli, fine, percent in ((1, 1000, 1000), (10, 1000, 1000), (11, 1100, 2000),
                                     (333, 33300, 34000), (833, 83300, 84000),
                                     (1027, 102700, 103000)):
            self.assertEqual(model.quota_usec(milli), fine)
            self.assertEqual(model.quota_usec(milli, True), percent)
        self.assertEqual(model.cpu_max(None), "max 100000")

    def test_pod_sums(self):
        spec = {"initContainers": [container("init", resources("2", "1Gi", "50m", "500Mi")),
                                   container("mesh", resources("100m", "64Mi", "10m", "32Mi"),
                                             restartPolicy="Always")],
                "containers": [container("main", resources("500m", "128Mi", "200m", "64Mi"))]}
        self.assertEqual(model.pod_resources(spec, parsed(spec)),
                         Resources(2000, 1 << 30, 210, 500 * MIB))
        spec["containers"].append(container("free", resources(None, "1Mi")))
        total = model.pod_resources(spec, parsed(spec))
        self.assertIsNone(total.cpu_limit, "one without a limit frees the pod")
        self.assertEqual(total.memory_limit, 1 << 30)
        spec["resources"] = {"limits": {"cpu": "3"}}
        self.assertEqual(model.pod_resources(spec, parsed(spec)).cpu_limit, 3000)
        spec["overhead"] = {"cpu": "250m"}
        self.assertEqual(model.pod_resources(spec, parsed(spec)).cpu_limit, 3250)

    def test_pod_level(self):
        """A container without a limit has the pod's; a resize leaves the pod's own values."""
        spec = {"containers": [container("main", resources("500m", "128Mi")),
                               container("free", {})],
                "resources": resources("2", "1Gi", "1", "512Mi")}
        self.assertEqual(model.inherited(spec, Resources()),
                         Resources(cpu_limit=2000, memory_limit=1 << 30))
        self.assertEqual(model.inherited(spec, Resources(cpu_limit=500)).cpu_limit, 500)
        self.assertEqual(model.qos_class(spec), "Burstable")
        before = parsed(spec)
        after = {**before, "main": Resources(cpu_limit=700, memory_limit=192 * MIB)}
        steps = resize.plan(spec, after, before)
        self.assertEqual([s for s in steps if isinstance(s, resize.PodStep)], [])
        self.assertEqual([s.name for s in steps], ["main", "main"])

    def test_pod_level_resize(self):
        """Only the pod's own values change; the old ones are those that were carried out."""
        def level(cpu: str, memory: str) -> dict:
            return {"containers": [container("main", resources("500m", "128Mi"))],
                    "resources": resources(cpu, memory, "500m", "128Mi"), "overhead": {"cpu": "250m"}}
        small, big = level("1", "256Mi"), level("2", "512Mi")
        for spec, old, files in (
                (big, small, [("memory.max", 512 * MIB), ("cpu.max", 2250)]),
                (small, big, [("memory.max", 256 * MIB), ("cpu.max", 1250)])):
            steps = resize.plan(spec, model.desired(spec), model.desired(old))
            self.assertEqual([(s.file, s.value) for s in steps], files)
        self.assertEqual(
            resize.refusal(model.desired(small), model.desired(big), {model.POD: 300 * MIB}),
            "cannot decrease memory limits: attempting to set pod memory limit (268435456) below "
            "current usage (314572800)")
        with tempfile.TemporaryDirectory() as folder:
            both = checkpoint.Checkpoints(folder)
            for name, r in model.desired(small).items():
                both.actuated.set("u", name, r)
            both.allocated.replace("u", model.desired(big))
            self.assertEqual(both.pending("u"), [model.POD])

    def test_pod_level_defaults(self):
        """The API server's: a request of the pod is the sum of its containers', else its limit."""
        def defaults(*containers: dict, **level: dict) -> dict:
            spec = {"containers": list(containers), "resources": level}
            return pods.default_pod({"metadata": {}, "spec": spec}, True)["spec"]["resources"]
        main = container("main", resources("500m", "128Mi", "200m"))
        side = container("side", resources(None, "16Mi", "100m"))
        limits = {"cpu": "2", "memory": "1Gi"}
        self.assertEqual(defaults(main, side, limits=limits)["requests"],
                         {"cpu": "300m", "memory": "144Mi"})
        self.assertEqual(defaults(container("free"), limits=limits)["requests"], limits)
        self.assertEqual(defaults(main, limits=limits, requests={"cpu": "1"})["requests"],
                         {"cpu": "1", "memory": "128Mi"})
        self.assertEqual(defaults(main, requests={"cpu": "1"}), {"requests": {"cpu": "1"}})

    def test_qos_and_names(self):
        full = resources("1", "1Gi", "1", "1Gi")
        for r, qos, level in ((full, "Guaranteed", ""), (resources("1", None), "Burstable",
                              "burstable"), ({}, "BestEffort", "besteffort")):
            spec = {"containers": [container("main", r)]}
            self.assertEqual(model.qos_class(spec), qos)
            slash = f"/{level}" if level else ""
            self.assertEqual(model.pod_cgroup("cgroupfs", qos, "a-b"), f"kubepods{slash}/poda-b")
        pod = model.pod_cgroup("systemd", "Burstable", "a-b")
        self.assertEqual(pod, "kubepods.slice/kubepods-burstable.slice/"
                         "kubepods-burstable-poda_b.slice")
        self.assertEqual(model.pod_cgroup("systemd", "Guaranteed", "a-b"),
                         "kubepods.slice/kubepods-poda_b.slice")
        self.assertEqual(model.container_cgroup("systemd", pod, "1"),
                         f"{pod}/cri-containerd-1.scope")
        self.assertEqual(model.cgroups_path("systemd", pod, "1"),
                         "kubepods-burstable-poda_b.slice:cri-containerd:1")

    def test_text(self):
        r = Resources.parse(resources("1000m", "256Mi", "0.35", "32784Ki"))
        self.assertEqual(r.api(), {"limits": {"cpu": "1", "memory": "256Mi"},
                                   "requests": {"cpu": "350m", "memory": "32784Ki"}})


class MemoryQos(unittest.TestCase):
    def test_files(self):
        r, mib = Resources(memory_limit=128 * MIB, memory_request=64 * MIB), str(64 * MIB)
        for text, qos, files in (
                ("old", model.BURSTABLE, {}), ("on", model.BURSTABLE, {}),
                ("off", model.GUARANTEED, {"memory.high": "max"}),
                ("on,0.9", model.BURSTABLE, {"memory.high": str(31129 * 4096)}),
                ("on,0.9", model.GUARANTEED, {}),
                ("on,tiered", model.BURSTABLE, {"memory.low": mib}),
                ("on,0.5,tiered", model.GUARANTEED, {"memory.min": mib}),
                ("on,0.5,tiered", model.BURSTABLE,
                 {"memory.high": str(96 * MIB), "memory.low": mib})):
            self.assertEqual(model.MemoryQos.parse(text).files(r, qos), files, text)


class Resize(unittest.TestCase):
    def steps(self, before: dict, after: dict) -> list:
        return resize.plan(after, parsed(after), parsed(before))

    def test_up(self):
        steps = self.steps({"containers": [BEFORE["containers"][0]]},
                           {"containers": [AFTER["containers"][0]]})
        old_cpu = Resources(500, 192 * MIB, 200, 80 * MIB)
        self.assertEqual(steps, [
            resize.PodStep("memory.max", 192 * MIB), resize.ContainerStep("main", old_cpu),
            resize.PodStep("cpu.max", 777), resize.PodStep("cpu.weight", 400),
            resize.ContainerStep("main", Resources(777, 192 * MIB, 400, 80 * MIB))])

    def test_down(self):
        steps = self.steps({"containers": [AFTER["containers"][0]]},
                           {"containers": [BEFORE["containers"][0]]})
        self.assertEqual([type(s).__name__ + getattr(s, "file", "") for s in steps],
                         ["ContainerStep", "PodStepmemory.max", "ContainerStep",
                          "PodStepcpu.weight", "PodStepcpu.max"])

    def test_no_pod_limit(self):
        free = container("free")
        steps = self.steps({"containers": [BEFORE["containers"][0], free]},
                           {"containers": [AFTER["containers"][0], free]})
        self.assertNotIn("cpu.max", [getattr(s, "file", "") for s in steps])
        self.assertNotIn("memory.max", [getattr(s, "file", "") for s in steps])

    def test_restart_policy(self):
        policy = [{"resourceName": "memory", "restartPolicy": "RestartContainer"}]
        after = {"containers": [{**AFTER["containers"][0], "resizePolicy": policy}]}
        steps = self.steps({"containers": [BEFORE["containers"][0]]}, after)
        self.assertEqual([s.restart for s in steps if isinstance(s, resize.ContainerStep)],
                         [True, False])

    def test_memory_below_usage(self):
        old, new = {"main": Resources(memory_limit=192 * MIB)}, {"main": Resources(memory_limit=65536)}
        self.assertEqual(
            resize.refusal(new, old, {"main": 806912}),
            'cannot decrease memory limits: attempting to set container "main" memory limit '
            "(65536) below current usage (806912)")
        self.assertIsNone(resize.refusal(new, old, {"main": 65536}))
        self.assertIsNone(resize.refusal(old, new, {"main": 806912 << 20}), "growth is not checked")

    def test_admission(self):
        def ask(cpu: int, used: int):
            verdict = resize.admit(Resources(cpu_request=cpu), Resources(cpu_request=used),
                                   Resources(cpu_request=2000))
            return verdict and verdict[0]
        self.assertEqual([ask(700, 1300), ask(701, 1300), ask(2001, 0)],
                         [None, "Deferred", "Infeasible"])

    def test_recorded(self):
        path = f"{RECORDED}/kubelet-writes-1.36.json"
        if not os.path.exists(path):
            self.skipTest(f"{path} is not there")
        with open(path, encoding="utf-8") as f:
            recorded = [(w["cgroup"], w["file"], w["value"]) for w in json.load(f)["writes"]]
        ours = [w for step in self.steps(BEFORE, AFTER) for w in resize.writes(step, True)]
        self.assertEqual(normal(ours), normal(recorded))


def normal(writes: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """The runtime writes its two "unified" files in any order."""
    result = list(writes)
    for i in range(len(result) - 1):
        if {result[i][1], result[i + 1][1]} == {"memory.oom.group", "memory.swap.max"}:
            result[i:i + 2] = sorted(result[i:i + 2])
    return result


class Checkpoints(unittest.TestCase):
    def test_trap_and_restart(self):
        with tempfile.TemporaryDirectory() as folder:
            both = checkpoint.Checkpoints(folder)
            small, big = Resources(500, 64 * MIB, 100, 32 * MIB), Resources(700, 64 * MIB, 100, 32 * MIB)
            both.allocated.replace("u", {"main": small, "init": small})
            both.actuated.set("u", "main", small)
            self.assertEqual(both.pending("u"), [], "the same value again does nothing")
            both.allocated.replace("u", {"main": big, "init": small})
            self.assertEqual(both.pending("u"), ["main"])
            again = checkpoint.Checkpoints(folder)
            self.assertEqual(again.pending("u"), ["main"])
            again.actuated.forget("u", "main")
            self.assertEqual(again.pending("u"), [], "what does not run starts with it")
            again.forget("u")
            self.assertEqual(checkpoint.Checkpoints(folder).allocated.pods, {})


class Spec(unittest.TestCase):
    POD = {"metadata": {"name": "p", "namespace": "n", "uid": "u"}, "spec": {"nodeName": "node-1"}}

    def make(self, c: dict, volumes: dict[str, str] | None = None) -> dict:
        return ocispec.make(self.POD, c, "/img", "a:b:c", Resources.parse(c["resources"]),
                            volumes or {}, {"KUBERNETES_SERVICE_HOST": "h"}, "192.0.2.1")

    def test_agent_like(self):
        security = {"readOnlyRootFilesystem": True, "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"], "add": ["SYS_RESOURCE"]}}
        env = [{"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]
        c = container("vscaled", securityContext=security, env=env,
                      volumeMounts=[{"name": "cg", "mountPath": "/sys/fs/cgroup"}])
        spec = self.make(c, {"cg": "/sys/fs/cgroup"})
        self.assertEqual(spec["process"]["capabilities"]["bounding"], ["CAP_SYS_RESOURCE"])
        self.assertTrue(spec["root"]["readonly"] and spec["process"]["noNewPrivileges"])
        self.assertIn("NODE_NAME=node-1", spec["process"]["env"])
        cgroup = [m for m in spec["mounts"] if m["destination"] == "/sys/fs/cgroup"]
        self.assertEqual([(m["type"], m["options"][-1]) for m in cgroup], [("bind", "rw")])

    def test_resources(self):
        spec = self.make(container("main", resources("500m", "64Mi", "200m")))
        self.assertEqual(spec["linux"]["resources"]["cpu"],
                         {"shares": 204, "period": 100000, "quota": 50000})
        self.assertEqual(spec["linux"]["resources"]["memory"],
                         {"limit": 64 * MIB, "swap": 64 * MIB})
        self.assertIn("CAP_CHOWN", spec["process"]["capabilities"]["bounding"])


class HostPath(unittest.TestCase):
    def test_types(self):
        with tempfile.TemporaryDirectory() as folder:
            file, sock, new = f"{folder}/file", f"{folder}/sock", f"{folder}/a/b"
            with open(file, "w", encoding="utf-8"), socket.socket(socket.AF_UNIX) as s:
                s.bind(sock)
            good = [("", f"{folder}/none"), ("Directory", folder), ("File", file), ("Socket", sock),
                    ("DirectoryOrCreate", new), ("FileOrCreate", f"{folder}/made")]
            for kind, path in good:
                self.assertEqual(volumes.host_path({"path": path, "type": kind}), path)
            self.assertTrue(os.path.isdir(new) and os.path.isfile(f"{folder}/made"))
            for kind, path in (("Directory", file), ("Directory", f"{folder}/none"),
                               ("DirectoryOrCreate", sock), ("File", sock), ("Socket", file),
                               ("Socket", folder), ("FileOrCreate", folder)):
                with self.assertRaises((RuntimeError, FileExistsError), msg=f"{kind} {path}"):
                    volumes.host_path({"path": path, "type": kind})


class Eviction(unittest.TestCase):
    MEMINFO = "MemTotal: 2000000 kB\nMemFree: 300000 kB\nMemAvailable: 900000 kB\nHugePages_Total: 0\n"
    STAT = f"anon {700000 << 10}\nfile {800000 << 10}\nkernel {100000 << 10}\n" \
           f"inactive_file {200000 << 10}\nactive_file {590000 << 10}\n"

    def test_available(self):
        # 2000000 - (700000 + 800000 - 200000), and 2000000 - (1700000 - 200000)
        self.assertEqual(eviction.available(self.MEMINFO, self.STAT, "stat"), 700000 << 10)
        self.assertEqual(eviction.available(self.MEMINFO, self.STAT, "meminfo"), 500000 << 10)
        self.assertEqual(eviction.threshold("100Mi", self.MEMINFO), 100 * MIB)
        self.assertEqual(eviction.threshold("5%", self.MEMINFO), 100000 << 10)
        self.assertEqual(eviction.working_set("1000", "anon 1\ninactive_file 300\n"), 700)
        self.assertEqual(eviction.working_set("100", "inactive_file 300\n"), 0)
        self.assertEqual(eviction.allocatable("2000", "1000", "anon 1\ninactive_file 300\n", 9), 1300)
        self.assertEqual(eviction.allocatable("500", "1000", "inactive_file 300\n", 9), 0)
        self.assertEqual(eviction.allocatable("max", "1000", "inactive_file 300\n", 9), 9)

    def test_rank(self):
        pods = [eviction.Candidate("calm", 50, 100, 0), eviction.Candidate("over", 120, 100, 0),
                eviction.Candidate("far", 500, 100, 0), eviction.Candidate("dear", 900, 100, 1000),
                eviction.Candidate("vital", 900, 0, 2000001000)]
        self.assertEqual([p.name for p in eviction.rank(pods)], ["far", "over", "dear", "calm"])


class CpuManager(unittest.TestCase):
    """Workers whose one container gets a cpuset."""

    def setUp(self):
        self.written: list[tuple[str, str]] = []

        def update_cpus(container_id, text):
            self.written.append((container_id, text))
            return Resources(memory_limit=64 * MIB)

        self.kubelet = types.SimpleNamespace(
            workers={}, control=lambda name, who: None,
            runtime_is_slow=lambda: False,
            options=types.SimpleNamespace(cpus=4, cpu_reconcile=0),
            containers=types.SimpleNamespace(update_cpus=update_cpus))
        self.manager = cpus.CpuManager(self.kubelet)

    def start(self, name: str, cpu: str, memory: str = "64Mi", request: str | None = None):
        spec = {"containers": [container("app", resources(cpu, memory, request or cpu, memory))]}
        app = status.Container(spec["containers"][0], "app")
        app.id, app.running = name, True
        worker = types.SimpleNamespace(uid=name, name=name, pod={"spec": spec}, containers=[app])
        self.kubelet.workers[name] = worker
        self.manager.started(worker, app)
        return worker

    def written_by(self, after: float = 0.0) -> list[tuple[str, str]]:
        now, before = time.monotonic() + after, len(self.written)
        for _ in range(10):
            self.manager.reconcile(now)
        return self.written[before:]

    def test_first_update_after_five_seconds(self):
        self.start("a", "300m", request="100m")
        self.assertEqual(self.written_by(after=4), [])
        self.assertEqual(self.written_by(after=6), [("a", "0-3")])
        self.assertEqual(self.written_by(after=60), [])

    def test_exclusive_pod_comes_and_goes(self):
        self.start("a", "300m", request="100m")
        self.start("b", "300m", request="100m")
        self.written_by(after=6)
        exclusive = self.start("x", "2")
        self.assertEqual(self.written_by(), [("a", "2-3"), ("b", "2-3")])
        del self.kubelet.workers["x"]
        self.manager.pool_changed(exclusive)
        self.assertEqual(self.written_by(), [("a", "0-3"), ("b", "0-3")])
        # A pod without CPUs of its own changes nothing.
        self.manager.pool_changed(self.kubelet.workers["b"])
        self.assertEqual(self.written_by(), [])

    def test_parts_of_a_cpu_are_shared(self):
        self.start("g", "1500m")
        self.assertEqual(self.manager.exclusive, {})
        self.assertEqual(self.manager.shared(), "0-3")


class Starts(unittest.TestCase):
    """The start of a container holds up its own pod alone."""

    def setUp(self):
        self.release = threading.Event()
        self.error: Exception | None = None
        self.kubelet = kubelet.Kubelet.__new__(kubelet.Kubelet)
        self.kubelet.queue, self.kubelet.workers, self.kubelet.due = queue.Queue(), {}, {}
        self.kubelet.containers = types.SimpleNamespace(start=self.start, remove=lambda i: None)
        self.kubelet.options = types.SimpleNamespace(driver="cgroupfs", backoff=1.0,
                                                     version=(1, 30))
        self.kubelet.checkpoints = types.SimpleNamespace(
            actuated=types.SimpleNamespace(set=lambda *a: None, forget=lambda *a: None))
        self.kubelet.cpus = types.SimpleNamespace(started=lambda *a: None)

    def start(self, container_id: str, *_: object) -> None:
        if container_id == "slow":
            self.release.wait(10)
        if self.error:
            raise self.error

    def worker(self, name: str):
        pod = {"metadata": {"uid": name, "name": name},
               "spec": {"containers": [container("app", resources("100m", "64Mi"))]}}
        w = self.kubelet.workers[name] = worker.Worker(self.kubelet, pod)
        w.containers[0].id = "slow" if name == "a" else "quick"
        return w

    def begin(self, w) -> None:
        c = w.containers[0]
        w._beside(lambda error: w._container_started(c, Resources(), 0.0, error), c.id)

    def test_others_go_on(self):
        slow, quick = self.worker("a"), self.worker("b")
        self.begin(slow)
        self.begin(quick)
        kind, what = self.kubelet.queue.get(timeout=10)
        self.assertEqual((kind, what), ("STARTED", ("b", None)))
        quick.started(None)
        self.assertTrue(quick.containers[0].running and not slow.containers[0].running)
        slow.sync()  # does nothing yet: it has no checkpoints to ask
        self.release.set()
        self.assertEqual(self.kubelet.queue.get(timeout=10), ("STARTED", ("a", None)))
        slow.started(None)
        self.assertTrue(slow.containers[0].running and slow.starting is None)

    def test_exit_before_the_start_returns(self):
        w = self.worker("b")
        self.begin(w)
        self.kubelet.queue.get(timeout=10)
        self.assertFalse(w.exited("quick", 3))
        w.started(None)
        self.assertEqual(w.containers[0].terminated["exitCode"], 3)
        self.assertFalse(w.containers[0].running)

    def test_start_error(self):
        self.error = RuntimeError("no runtime")
        w = self.worker("b")
        self.begin(w)
        error = self.kubelet.queue.get(timeout=10)[1][1]
        w.started(error)
        self.assertEqual(w.containers[0].terminated["reason"], "StartError")
        self.assertIn("b", self.kubelet.due)


class Status(unittest.TestCase):
    def test_resize_conditions(self):
        r = status.Resizing(progress=True)
        status.touch(r, "t1")
        row = {"type": "PodResizeInProgress", "observedGeneration": 9, "status": "True",
               "lastProbeTime": "t1", "lastTransitionTime": "t1"}
        self.assertEqual(status.resize_conditions(r, 9), [row])
        r.error = "below usage"
        status.touch(r, "t2")
        self.assertEqual(status.resize_conditions(r, 9), [
            {**row, "lastProbeTime": "t2", "reason": "Error", "message": "below usage"}])
        r.progress = False
        status.touch(r, "t3")
        self.assertEqual((status.resize_conditions(r, 9), r.since), ([], {}))

    def test_phase(self):
        init, app = status.Container({"name": "i"}, "init"), status.Container({"name": "a"}, "app")
        self.assertEqual(status.phase([init, app], "Always"), "Pending")
        init.terminated = {"exitCode": 0}
        app.id, app.running = "1", True
        self.assertEqual(status.phase([init, app], "Always"), "Running")
        app.running, app.waiting, app.terminated = False, "", {"exitCode": 1}
        self.assertEqual(status.phase([init, app], "Never"), "Failed")
        app.terminated = {"exitCode": 0}
        self.assertEqual(status.phase([init, app], "OnFailure"), "Succeeded")

    def test_states(self):
        c = status.Container({"name": "a", "image": "x"}, "app")
        self.assertEqual(c.state(), {"waiting": {"reason": "ContainerCreating"}})
        end = {"exitCode": 137, "reason": "OOMKilled"}
        c.waiting, c.terminated = "CrashLoopBackOff", end
        self.assertEqual((c.state(), c.last_state()),
                         ({"waiting": {"reason": "CrashLoopBackOff"}}, {"terminated": end}))
        c.running, c.last, c.terminated, c.waiting = True, end, None, ""
        self.assertEqual(c.last_state(), {"terminated": end})

    def test_recorded_shape(self):
        path = f"{RECORDED}/kubelet-resize-1.36.jsonl"
        if not os.path.exists(path):
            self.skipTest(f"{path} is not there")
        with open(path, encoding="utf-8") as f:
            pod = json.loads(f.readline())["object"]
        real = pod["status"]["containerStatuses"][0]
        c = status.Container(pod["spec"]["containers"][0], "app", id="1", running=True,
                             started_at="t", waiting="")
        of = parsed(pod["spec"])
        ours = status.container_status(c, True, of, of)
        self.assertEqual(set(real) - {"volumeMounts", "user"}, set(ours))
        for key in ("allocatedResources", "resources", "ready", "started", "lastState"):
            self.assertEqual(ours[key], real[key])
        self.assertEqual(status.pod_sums(pod["spec"], of), pod["status"]["allocatedResources"])


if __name__ == "__main__":
    unittest.main()

# SPDX-License-Identifier: Apache-2.0
"""Pods in quantity: made as a user would, their status as a kubelet would, and storms of changes.

python3 -m apiserver.fixtures --admin URL pods --count 250 --node node-1 --annotate k=v
python3 -m apiserver.fixtures --admin URL storm --count 10000 --rate 2000
"""
from __future__ import annotations

import argparse
import json
import sys
import time
import urllib.request
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .app import App
    from .store import Store

Obj = dict[str, Any]


def running_status(pod: Obj, ip: str) -> Obj:
    """What a kubelet reports of a pod whose containers all run with their values."""
    spec, meta = pod["spec"], pod["metadata"]
    when = meta["creationTimestamp"]

    def container(c: Obj) -> Obj:
        resources = c.get("resources") or {}
        out = {"name": c["name"], "state": {"running": {"startedAt": when}}, "lastState": {},
               "ready": True, "restartCount": 0, "image": c.get("image", ""),
               "imageID": "sha256:" + "0" * 64, "started": True, "resources": resources,
               "containerID": "containerd://" + uuid.uuid4().hex + uuid.uuid4().hex}
        if resources.get("requests"):
            out["allocatedResources"] = resources["requests"]
        return out

    conditions = [{"type": t, "status": "True", "lastProbeTime": None,
                   "lastTransitionTime": when, "observedGeneration": meta.get("generation", 1)}
                  for t in ("PodReadyToStartContainers", "Initialized", "Ready",
                            "ContainersReady", "PodScheduled")]
    status = {"phase": "Running", "observedGeneration": meta.get("generation", 1),
              "conditions": conditions, "startTime": when, "hostIP": "192.0.2.10",
              "hostIPs": [{"ip": "192.0.2.10"}], "podIP": ip, "podIPs": [{"ip": ip}],
               "qosClass": pod["status"].get("qosClass"),
              "containerStatuses": [container(c) for c in spec["containers"]]}
    side = [c for c in spec.get("initContainers", []) if c.get("restartPolicy") == "Always"]
    if side:
        status["initContainerStatuses"] = [container(c) for c in side]
    return status


def fill(store: Store, app: App, count: int = 1, node: str = "node-1",
         namespace: str = "default", prefix: str = "pod", annotations: Obj | None = None,
         labels: Obj | None = None, containers: int = 1, resources: Obj | None = None,
         running: bool = True, spec: Obj | None = None, owner: Obj | None = None,
         ip: str = "10.244.0.9") -> Obj:
    """`count` pods on a node; the namespace, its account and the node are made when missing.

    `spec` is laid over the pod's spec; `owner` is its one ownerReference, `ip` the address.
    """
    from .auth import User
    from .kinds import BY_KIND
    from .rest import Call
    user = User("fixtures", ["system:masters"])

    def make(kind: str, space: str, body: Obj) -> Obj:
        call = Call(BY_KIND["v1", kind], space, "", "", {}, user,
                    json.dumps(body).encode(), agent="fixtures")
        return app.rest.create(call)

    if store.get("namespaces", ("", namespace)) is None:
        make("Namespace", "", {"metadata": {"name": namespace}})
    if store.get("serviceaccounts", (namespace, "default")) is None:
        make("ServiceAccount", namespace, {"metadata": {"name": "default"}})
    if store.get("nodes", ("", node)) is None:
        add_node(store, make, node)
    if resources is None:
        resources = {"requests": {"cpu": "100m", "memory": "64Mi"},
                     "limits": {"cpu": "500m", "memory": "256Mi"}}
    names = []
    for i in range(count):
        name = f"{prefix}-{i}" if count > 1 else prefix
        pod = make("Pod", namespace, {
            "metadata": {"name": name, "annotations": annotations or {},
                         "labels": labels or {"app": prefix},
                         **({"ownerReferences": [owner]} if owner else {})},
            "spec": {"nodeName": node, "containers": [
                {"name": f"c{n}" if containers > 1 else "app", "image": "example.com/app:1",
                 "resources": resources} for n in range(containers)], **(spec or {})}})
        if running:
            store.write("MODIFIED", "pods", (namespace, name),
                        dict(pod, status=running_status(pod, ip)))
        names.append(f"{namespace}/{name}")
    return {"made": len(names), "names": names}


def add_node(store: Store, make: Any, name: str) -> None:
    node = make("Node", "", {"metadata": {"name": name, "labels": {
        "kubernetes.io/hostname": name}}, "spec": {}})
    amounts = {"cpu": "8", "memory": "16Gi", "pods": "250"}
    status = dict(node["status"], nodeInfo={"kubeletVersion": "v1.36.3"},
                  capacity=amounts, allocatable=dict(amounts, cpu="7800m",
                                                                     memory="15Gi"),
                  conditions=[{"type": "Ready", "status": "True", "reason": "KubeletReady",
                               "lastHeartbeatTime": node["metadata"]["creationTimestamp"],
                               "lastTransitionTime": node["metadata"]["creationTimestamp"]}])
    store.write("MODIFIED", "nodes", ("", name), dict(node, spec={}, status=status))


def storm(store: Store, count: int = 10000, rate: float = 0, node: str = "") -> Obj:
    """`count` changes over all pods (of a node) in turn, `rate` a second (0: as fast as can be)."""
    keys = [k for k, p in store.table("pods").items()
            if not node or p["spec"].get("nodeName") == node]
    if not keys:
        raise ValueError("no pods to change")
    started = time.monotonic()
    done = 0
    for i in range(count):
        if rate:
            ahead = started + i / rate - time.monotonic()
            if ahead > 0:
                time.sleep(ahead)
        with store.lock:
            pod = store.get("pods", keys[i % len(keys)])
            if pod is None:
                continue
            annotations = dict(pod["metadata"].get("annotations") or {})
            annotations["example.com/storm"] = str(i)
            store.write("MODIFIED", "pods", keys[i % len(keys)],
                        dict(pod, metadata=dict(pod["metadata"], annotations=annotations)))
        done += 1
    seconds = time.monotonic() - started
    return {"events": done, "seconds": round(seconds, 3),
            "per_second": round(done / max(seconds, 1e-9))}


def _ask(admin: str, door: str, body: Obj) -> Obj:
    request = urllib.request.Request(f"{admin.rstrip('/')}/debug/{door}", method="POST",
                                     data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=600) as answer:
        return json.load(answer)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--admin", required=True, help="the server's admin URL (DIR/admin-url)")
    subs = parser.add_subparsers(dest="what", required=True)
    one = subs.add_parser("pods")
    one.add_argument("--count", type=int, default=1)
    one.add_argument("--node", default="node-1")
    one.add_argument("--namespace", default="default")
    one.add_argument("--prefix", default="pod")
    one.add_argument("--containers", type=int, default=1)
    one.add_argument("--annotate", action="append", default=[], metavar="KEY=VALUE")
    two = subs.add_parser("storm")
    two.add_argument("--count", type=int, default=10000)
    two.add_argument("--rate", type=float, default=0)
    two.add_argument("--node", default="")
    args = vars(parser.parse_args())
    admin, what = args.pop("admin"), args.pop("what")
    if what == "pods":
        args["annotations"] = dict(a.split("=", 1) for a in args.pop("annotate"))
    print(json.dumps(_ask(admin, what, args)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""python3 -m conformance.kubectl: the real kubectl works on the test API server."""
from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from typing import Any

from .rig import Failed, Rig, check

OLDEST = (1, 32)
POD = """apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations: {vscaled.dev/mode: "%s"}
spec:
  nodeName: node-1
  containers:
  - name: app
    image: example.com/web:1
    resources: {requests: {cpu: 100m, memory: 64Mi}, limits: {cpu: 500m, memory: 128Mi}}
"""
RESIZE = '{"spec":{"containers":[{"name":"app","resources":{"limits":{"cpu":"%s"}}}]}}'


def unfit() -> str | None:
    """Why the kubectl of this machine cannot be used, or None."""
    path = os.environ.get("KUBECTL") or shutil.which("kubectl")
    if not path:
        return "no kubectl"
    done = subprocess.run([path, "version", "--client", "-o", "json"], capture_output=True,
                          text=True, check=False)
    try:
        found = json.loads(done.stdout)["clientVersion"]
        version = (int(found["major"]), int(re.sub(r"\D", "", found["minor"])))
    except (ValueError, KeyError):
        return "kubectl does not tell its version"
    if version < OLDEST:
        return f"kubectl {version[0]}.{version[1]} is older than {OLDEST[0]}.{OLDEST[1]}"
    return None


class Kubectl:
    def __init__(self, r: Rig) -> None:
        self.rig = r
        self.path = os.environ.get("KUBECTL") or shutil.which("kubectl") or ""

    def start(self, *args: str, who: str = "admin", **more: Any) -> subprocess.Popen[str]:
        env = dict(os.environ, HOME=str(self.rig.folder),
                   KUBECONFIG=str(self.rig.folder / f"{who}.kubeconfig"))
        return subprocess.Popen([self.path, *args], env=env, text=True, stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)

    def ok(self, *args: str, says: str = "", **more: str) -> str:
        p = self.start(*args, who=more.get("who", "admin"))
        out, err = p.communicate(more.get("give", ""), timeout=30)
        check(p.returncode == 0, f"kubectl {' '.join(args)}: {err.strip()}")
        check(says in out, f"kubectl {' '.join(args)}: {says!r} is not in {out!r}")
        return out

    def fails(self, *args: str, says: str, who: str = "admin") -> None:
        p = self.start(*args, who=who)
        out, err = p.communicate("", timeout=30)
        check(p.returncode != 0, f"kubectl {' '.join(args)} went well: {out!r}")
        check(says in out + err, f"kubectl {' '.join(args)}: {says!r} is not in {out + err!r}")


def walk(k: Kubectl) -> None:
    k.ok("get", "nodes", says="node-1")
    watch = k.start("get", "pods", "-w", "--output-watch-events")
    try:
        time.sleep(1)
        change(k)
    finally:
        watch.terminate()
        seen = watch.communicate(timeout=10)[0]
    for kind in ("ADDED", "MODIFIED", "DELETED"):
        check(re.search(rf"{kind}\s+web", seen), f"get -w showed no {kind}: {seen!r}")


def change(k: Kubectl) -> None:
    k.ok("create", "-f", "-", give=POD % "Auto", says="pod/web created")
    k.ok("apply", "-f", "-", give=POD % "Off", says="configured")
    k.ok("apply", "-f", "-", give=POD % "Off", says="unchanged")
    k.ok("apply", "--server-side", "--force-conflicts", "-f", "-", give=POD % "Auto",
         says="serverside-applied")
    k.ok("annotate", "pod", "web", "example.com/a=b", says="annotated")
    k.ok("label", "pod", "web", "app=web", says="labeled")
    k.ok("get", "pods", "-l", "app=web", "-o", "name", says="pod/web")
    k.ok("get", "pods", "-A", "-o", "wide", "--field-selector", "spec.nodeName=node-1",
         says="node-1")
    k.ok("annotate", "pod", "web", "vscaled.dev/status={}", who="agent", says="annotated")
    k.ok("patch", "pod", "web", "--subresource", "resize", "-p", RESIZE % "700m", says="patched")
    k.ok("get", "pod", "web", "-o", "jsonpath={.spec.containers[0].resources.limits.cpu}",
         says="700m")
    k.fails("patch", "pod", "web", "--subresource", "resize", "-p", RESIZE % "50m",
            says="must be less than or equal to cpu limit of 50m")
    k.ok("patch", "pod", "web", "--type", "merge", "-p",
         '{"metadata":{"annotations":{"example.com/a":null}}}', says="patched")
    k.ok("patch", "pod", "web", "--type", "json", "-p",
         '[{"op":"add","path":"/metadata/labels/x","value":"y"}]', says="patched")
    rights(k)
    event(k)
    k.ok("delete", "pod", "web", says="deleted")


def rights(k: Kubectl) -> None:
    resize = ("auth", "can-i", "patch", "pods", "--subresource", "resize")
    k.ok(*resize, who="agent", says="yes")
    k.fails(*resize, who="nobody", says="no")
    k.fails("auth", "can-i", "get", "secrets", who="agent", says="no")
    k.fails("get", "pods", who="nobody", says='User "nobody" cannot list resource "pods"')
    k.ok("auth", "whoami", who="agent", says="system:serviceaccount:vscaled:vscaled")


def event(k: Kubectl) -> None:
    """An Event made by the new API is shown under the pod."""
    pod = json.loads(k.ok("get", "pod", "web", "-o", "json"))
    made = k.rig.ask("POST", "/apis/events.k8s.io/v1/namespaces/default/events", {
        "metadata": {"generateName": "web-", "namespace": "default"},
        "eventTime": "2026-11-20T01:02:03.000004Z", "action": "Resize", "type": "Normal",
        "reason": "LimitRaised", "note": "cpu 500m -> 600m", "reportingInstance": "node-1",
        "reportingController": "vscaled.dev/vscaled", "regarding": {
            "apiVersion": "v1", "kind": "Pod", "namespace": "default", "name": "web",
            "uid": pod["metadata"]["uid"]}})
    check(made[0] == 201, f"event: {made}")
    k.ok("describe", "pod", "web", says="cpu 500m -> 600m")
    k.ok("get", "events", says="LimitRaised")
    k.ok("get", "events.events.k8s.io", says="pod/web")


def main() -> int:
    why = unfit()
    if why:
        print(f"skipped: {why}")
        return 1 if os.environ.get("VSCALED_MUST_RUN") == "1" else 77
    for version in ("1.36", "1.33"):
        with Rig("--version", version, "--reap", "0.5") as r:
            r.debug("pods", {"count": 1})
            try:
                walk(Kubectl(r))
                print(f"ok kubectl on {version}")
            except Failed as e:
                print(f"FAILED {version}: {e}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

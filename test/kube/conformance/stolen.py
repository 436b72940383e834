# SPDX-License-Identifier: Apache-2.0
"""python3 -m conformance.stolen [--cases POLICY.json]: what the token of an agent is good for in other hands.

The manifests are installed as users do. Then a thief with the agent's token tries to change pods; the
test API server evaluates the admission policy itself. Beside that the policy is given pairs of objects
that the server's own rules would not let through, or would have put right, before it. --cases prints these
pairs and what the policy says of each.
"""
from __future__ import annotations

import copy
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from apiserver import cel

from .kubectl import Kubectl, unfit
from .rig import Failed, Rig, check

Obj = dict[str, Any]
DEPLOY = Path(__file__).resolve().parents[3] / "agent" / "deploy"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STATUS = {"metadata": {"annotations": {"vscaled.dev/status": "{}"}}}


def pod(name: str, node: str) -> Obj:
    resources = {"requests": {"cpu": "100m", "memory": "64Mi"},
                 "limits": {"cpu": "500m", "memory": "128Mi"}}
    return {"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "labels": {"app": "web"}, "finalizers": ["example.com/f"],
                         "annotations": {"vscaled.dev/mode": "Auto", "example.com/a": "b"}},
            "spec": {"nodeName": node, "containers": [
                {"name": "app", "image": "example.com/web:1", "resources": resources},
                {"name": "log", "image": "example.com/log:1", "resources": resources}]}}


def resources(name: str = "app", which: str = "containers", **values: str) -> Obj:
    return {"spec": {which: [{"name": name, "resources": {"limits": values}}]}}


# What the agent does, as agent/kube/model/encode.c writes it.
ALLOWED: list[tuple[str, str, Obj]] = [
    ("its status annotation", "", STATUS),
    ("another one in its place", "", {"metadata": {"annotations": {"vscaled.dev/status": "{ }"}}}),
    ("a resize", "resize", resources(cpu="600m", memory="192Mi")),
    ("a resize of both containers", "resize", {"spec": {"containers": [
        {"name": n, "resources": {"limits": {"cpu": "700m"}, "requests": {"cpu": "200m"}}}
        for n in ("app", "log")]}}),
    ("its status taken away", "", {"metadata": {"annotations": {"vscaled.dev/status": None}}}),
]

# As admission adds them; a list is replaced as a whole.
TOLERATED = [{"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute",
              "tolerationSeconds": 300} for what in ("not-ready", "unreachable")]

# What a thief does: the patch, and its kind.
REFUSED: list[tuple[str, str, Obj]] = [
    ("a label changed", "", {"metadata": {"labels": {"app": "db"}}}),
    ("a label added", "", {"metadata": {"labels": {"x": "y"}}}),
    ("a label removed", "", {"metadata": {"labels": {"app": None}}}),
    ("a label beside the status", "", {"metadata": {
        "labels": {"x": "y"}, "annotations": {"vscaled.dev/status": "{}"}}}),
    ("an image", "", {"spec": {"containers": [{"name": "app", "image": "evil.example/x"}]}}),
    ("another annotation", "", {"metadata": {"annotations": {"example.com/a": "c"}}}),
    ("an annotation added", "", {"metadata": {"annotations": {"example.com/new": "c"}}}),
    ("an annotation removed", "", {"metadata": {"annotations": {"example.com/a": None}}}),
    ("the mode of sizing", "", {"metadata": {"annotations": {"vscaled.dev/mode": "Off"}}}),
    ("all annotations removed", "", {"metadata": {"annotations": None}}),
    ("a toleration", "", {"spec": {"tolerations": [*TOLERATED, {"operator": "Exists"}]}}),
    ("a deadline", "", {"spec": {"activeDeadlineSeconds": 1}}),
    ("a finalizer removed", "", {"metadata": {"finalizers": []}}),
    ("an owner", "", {"metadata": {"ownerReferences": [{
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "x", "uid": "u"}]}}),
]

# The server itself drops or refuses these on pods/resize: nothing of them may be there afterwards.
RESIZE_WITH_MORE: list[tuple[str, Obj]] = [
    ("a label by resize", {"metadata": {"labels": {"x": "y"}}, **resources(cpu="610m")}),
    ("an annotation by resize", {"metadata": {"annotations": {"example.com/a": "c"}}}),
    ("an image by resize", {"spec": {"containers": [{"name": "app", "image": "evil.example/x"}]}}),
    ("a toleration by resize", {"spec": {"tolerations": [{"operator": "Exists"}]}}),
    ("a container by resize", resources(name="new", cpu="1")),
    ("a resize policy by resize", {"spec": {"containers": [{"name": "app", "resizePolicy": [
        {"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}]}}),
]


def beside_resources(p: Obj) -> Obj:
    """What no agent may change."""
    p = copy.deepcopy(p)
    meta = p["metadata"]
    for c in p["spec"]["containers"]:
        c.pop("resources", None)
    meta.get("annotations", {}).pop("vscaled.dev/status", None)
    return {"spec": p["spec"], **{k: meta.get(k) or None for k in (
        "labels", "annotations", "ownerReferences", "finalizers")}}


class Story:
    def __init__(self, r: Rig) -> None:
        self.rig = r

    def get(self, name: str) -> Obj:
        code, _, body = self.rig.ask("GET", f"/api/v1/namespaces/default/pods/{name}", who="admin")
        check(code == 200, f"GET {name}: {code}")
        found: Obj = json.loads(body)
        return found

    def patch(self, name: str, sub: str, body: Obj) -> tuple[int, str]:
        path = f"/api/v1/namespaces/default/pods/{name}" + (f"/{sub}" if sub else "")
        # Lists of containers go by name in a strategic patch only.
        kind = STRATEGIC if "spec" in body else MERGE
        code, _, answer = self.rig.ask("PATCH", path, body, who="agent", kind=kind)
        return code, json.loads(answer).get("message", "")

    def allowed(self) -> None:
        for what, sub, body in ALLOWED:
            code, said = self.patch("web", sub, body)
            check(code == 200, f"{what} must be allowed: {code} {said}")

    def refused(self) -> None:
        for what, sub, body in REFUSED:
            before = self.get("web")
            code, said = self.patch("web", sub, body)
            check(code == 403 and "vscaled-own-node" in said, f"{what}: {code} {said!r}")
            check(self.get("web") == before, f"{what} was refused and done")
        for what, body in RESIZE_WITH_MORE:
            before = self.get("web")
            self.patch("web", "resize", body)
            check(beside_resources(self.get("web")) == beside_resources(before), what)

    def another_node(self) -> None:
        for sub, body in (("", STATUS), ("resize", resources(cpu="600m"))):
            code, said = self.patch("far", sub, body)
            check(code == 403 and "its own node" in said, f"a pod of another node: {code} {said}")

    def no_other_right(self) -> None:
        for method, path in (
                ("DELETE", "pods/web"), ("PATCH", "pods/web/status"), ("PUT", "pods/web"),
                ("POST", "pods/web/eviction"), ("POST", "pods"), ("GET", "secrets")):
            body = {"metadata": {"name": "web"}} if method in ("PUT", "POST", "PATCH") else None
            code, _, _ = self.rig.ask(method, f"/api/v1/namespaces/default/{path}", body,
                                      who="agent")
            check(code in (403, 404, 405), f"{method} {path}: {code}")


def judge(policy: Obj, new: Obj, old: Obj, sub: str = "", node: str = "node-1",
          cases: list[Obj] | None = None) -> str | None:
    """What the policy alone says; the case goes to the list."""
    extra = {"authentication.kubernetes.io/node-name": [node]} if node else {}
    who = {"username": "system:serviceaccount:vscaled:vscaled", "extra": extra}
    request: Obj = {"userInfo": {k: v for k, v in who.items() if v}}
    if sub:
        request["subResource"] = sub
    said = cel.denied(policy, {"object": new, "oldObject": old, "request": request})
    if cases is not None:
        cases.append({"object": new, "oldObject": old, "request": request, "passes": said is None,
                      "what": said or "allowed"})
    return said


def planted(policy: Obj, cases: list[Obj] | None = None) -> None:
    """Changes of every field, whatever the server would do with them before."""
    old = pod("web", "node-1")
    old["spec"]["initContainers"] = [{"name": "init", "image": "example.com/init:1"}]

    def changed(path: tuple[Any, ...], value: Any) -> Obj:
        new = copy.deepcopy(old)
        at: Any = new
        for part in path[:-1]:
            at = at[part]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
        return new

    limits = {"limits": {"cpu": "1"}}
    app, init = ("spec", "containers", 0), ("spec", "initContainers", 0)
    for path, value, pods_may, resize_may in [
            ((*app, "resources"), limits, False, True),
            ((*app, "resources"), None, False, True),
            ((*init, "resources"), limits, False, True),
            ((*app, "image"), "evil.example/x", False, False),
            ((*app, "command"), ["sh"], False, False),
            ((*app, "image"), None, False, False),
            ((*app, "name"), "log", False, False),
            ((*app, "resizePolicy"), [], False, False),
            ((*init, "image"), "evil.example/x", False, False),
            (("spec", "initContainers"), None, False, False),
            (("spec", "initContainers"), [], False, False),
            (("spec", "containers"), old["spec"]["containers"][:1], False, False),
            (("spec", "ephemeralContainers"), [{"name": "x"}], False, False),
            (("spec", "tolerations"), [{"operator": "Exists"}], False, False),
            (("spec", "hostPID"), True, False, False),
            (("spec", "nodeName"), "node-2", False, False),
            (("spec", "resources"), limits, False, False),
            (("metadata", "labels"), None, False, False),
            (("metadata", "labels", "x"), "y", False, False),
            (("metadata", "annotations"), None, False, False),
            (("metadata", "annotations", "example.com/a"), "c", False, False),
            (("metadata", "annotations", "vscaled.dev/mode"), None, False, False),
            (("metadata", "annotations", "vscaled.dev/status"), "{}", True, True),
            (("metadata", "ownerReferences"), [{"uid": "u"}], False, False),
            (("metadata", "finalizers"), None, False, False),
            (("metadata", "finalizers"), [], False, False),
            (("metadata", "resourceVersion"), "7", True, True),
            (("metadata", "managedFields"), [{}], True, True),
            (("metadata", "generation"), 2, True, True)]:
        new = changed(path, value)
        for sub, may in (("", pods_may), ("resize", resize_may)):
            said = judge(policy, new, old, sub, cases=cases)
            check((said is None) is may, f"{sub or 'pods'} {path} := {value!r}: {said}")
    # Its own resources, if it is annotated or was; not by an annotation that only says so now.
    for key, value, may in (("pod-budget", "Resize", True),
                            ("status", '{"podLevel":{"cpu":"1"}}', True),
                            ("status", '{"mode":"podLevel"}', False), ("mode", "Auto", False)):
        new = changed(("spec", "resources"), limits)
        was = changed(("metadata", "annotations", f"vscaled.dev/{key}"), value)
        new["metadata"]["annotations"] = was["metadata"]["annotations"]
        for sub in ("", "resize"):
            said = judge(policy, new, was, sub, cases=cases)
            check((said is None) is (may and sub == "resize"), f"{sub or 'pods'} {key}={value}: {said}")
    said = judge(policy, changed(("spec", "hostPID"), True), was, "resize", cases=cases)
    check(said is not None, "another field of an annotated pod")
    bare = copy.deepcopy(old)
    for key in ("labels", "annotations", "finalizers"):
        del bare["metadata"][key]
    del bare["spec"]["initContainers"]
    check(judge(policy, bare, bare, cases=cases) is None, "a pod without any of it")
    check(judge(policy, bare, bare, "resize", cases=cases) is None, "a pod without any of it, resized")
    check(judge(policy, old, old, node="node-2", cases=cases) is not None, "a token of another node")
    check(judge(policy, old, old, node="", cases=cases) is not None, "a token that names no node")


def loosened(policy: Obj) -> None:
    """Each rule is there for a reason: without it one of the checks fails."""
    for i, rule in enumerate(policy["validations"]):
        less = dict(policy, validations=[*policy["validations"][:i], *policy["validations"][i + 1:]])
        try:
            planted(less)
        except Failed:
            continue
        raise Failed(f"nothing checks the rule {rule['expression']!r}")


def run(version: str) -> None:
    with Rig("--bare", "--version", version) as r:
        k = Kubectl(r)
        k.ok("apply", "-k", str(DEPLOY / "overlays" / "auto"), says="created")
        policy = json.loads(k.ok("get", "validatingadmissionpolicy", "vscaled-own-node",
                                 "-o", "json"))["spec"]
        planted(policy)
        loosened(policy)
        for node in ("node-1", "node-2"):
            k.ok("create", "-f", "-", give=json.dumps({
                "apiVersion": "v1", "kind": "Node", "metadata": {"name": node}}))
        k.ok("create", "serviceaccount", "default")
        for name, node in (("web", "node-1"), ("far", "node-2")):
            k.ok("create", "-f", "-", give=json.dumps(pod(name, node)))
        story = Story(r)
        story.allowed()
        story.refused()
        story.another_node()
        story.no_other_right()
        story.allowed()


def main() -> int:
    if sys.argv[1:2] == ["--cases"]:
        found: list[Obj] = []
        planted(json.loads(Path(sys.argv[2]).read_text()), found)
        print(json.dumps(found))
        return 0
    why = unfit()
    if why:
        print(f"SKIP: {why}")
        return 1 if os.environ.get("VSCALED_MUST_RUN") else 77
    try:
        for version in ("1.33", "1.36"):
            run(version)
    except (Failed, subprocess.TimeoutExpired) as e:
        print(f"FAILED: {e}")
        return 1
    print(f"{len(ALLOWED)} allowed, {len(REFUSED) + len(RESIZE_WITH_MORE)} refused, twice")
    return 0


if __name__ == "__main__":
    sys.exit(main())

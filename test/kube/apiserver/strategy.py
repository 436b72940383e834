# SPDX-License-Identifier: Apache-2.0
"""What is special about each kind when it is made, changed or removed."""
from __future__ import annotations

import copy
from typing import Any

from . import admission, cel, events, pods, quantity, resize
from .auth import User
from .kinds import Resource
from .status import FieldError, invalid
from .store import Store

GENERATED = {"Pod", "PodDisruptionBudget", "ValidatingAdmissionPolicy",
             "ValidatingAdmissionPolicyBinding", "DaemonSet"}
RETURNS_OBJECT = {"Pod", "ResourceQuota", "ServiceAccount", "Namespace"}


class Strategy:
    """Defaults, validation and admission for one version of the server."""

    def __init__(self, store: Store, minor: int) -> None:
        self.store = store
        self.modern = minor >= 34
        self.resizes_pod_level = minor >= 36
        # What a mutating webhook of pods/resize lets through: {"cpu": "300m"}, silently.
        self.highest_limits: dict[str, str] = {}

    def decode(self, res: Resource, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Defaults and canonical quantities; the names of fields this version lacks."""
        warnings = []
        obj = pods.canonical(obj)
        obj = {k: v for k, v in obj.items() if v is not None}
        meta = obj.get("metadata") or {}
        obj["metadata"] = {k: v for k, v in meta.items() if v not in (None, {}, [])}
        if res.kind == "Pod":
            obj = pods.default_pod(obj, self.modern)
        elif res.kind == "Node":
            obj, warnings = self._node(obj)
        elif res.kind == "Namespace":
            obj = dict(obj, spec=obj.get("spec") or {"finalizers": ["kubernetes"]},
                       status=obj.get("status") or {"phase": "Active"})
            labels = dict(obj["metadata"].get("labels") or {})
            labels["kubernetes.io/metadata.name"] = obj["metadata"].get("name", "")
            obj["metadata"] = dict(obj["metadata"], labels=labels)
        elif res.kind == "LimitRange":
            obj = dict(obj, spec=dict(obj["spec"], limits=[
                _limit_item(i) for i in obj["spec"].get("limits") or []]))
        elif res.kind in ("ResourceQuota", "DaemonSet"):
            obj = {"status": {}, **obj}
        elif res.kind == "PodDisruptionBudget":
            counts = {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0,
                      "expectedPods": 0}
            obj = dict(obj, status={**counts, **obj.get("status", {})})
        elif res.kind == "ValidatingAdmissionPolicy":
            obj = _policy(obj)
        elif res.kind == "Event":
            base = events.to_new({}) if res.group else {}
            obj = {**base, **obj} if base else obj
            obj = events.view(events.to_core(obj), res.group)
        return obj, warnings

    def _node(self, obj: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        info = dict.fromkeys(("machineID", "systemUUID", "bootID", "kernelVersion", "osImage",
                              "containerRuntimeVersion", "kubeletVersion", "kubeProxyVersion",
                              "operatingSystem", "architecture"), "")
        status = {"daemonEndpoints": {"kubeletEndpoint": {"Port": 0}}, **obj.get("status", {})}
        status["nodeInfo"] = {**info, **status.get("nodeInfo", {})}
        warnings = []
        if not self.modern and "declaredFeatures" in status:
            del status["declaredFeatures"]
            warnings.append('unknown field "status.declaredFeatures"')
        return dict(obj, spec=obj.get("spec") or {}, status=status), warnings

    def prepare_create(self, res: Resource, obj: dict[str, Any], user: User) -> dict[str, Any]:
        """After managedFields: what admission adds, then validation and validating admission."""
        if res.kind in GENERATED:
            obj = dict(obj, metadata=dict(obj["metadata"], generation=1))
        if res.kind == "Pod":
            return self._create_pod(obj, user)
        if res.kind == "Node":
            taints = obj["spec"].get("taints") or []
            if not any(t["key"] == "node.kubernetes.io/not-ready" for t in taints):
                taints = taints + [{"key": "node.kubernetes.io/not-ready",
                                    "effect": "NoSchedule"}]
            obj = dict(obj, spec=dict(obj["spec"], taints=taints))
        elif res.kind == "Event":
            self._fail(res, obj, events.create_errors(events.to_core(obj), res.group))
        elif res.kind == "ValidatingAdmissionPolicy":
            self._check_policy(res, obj)
        else:
            self._fail(res, obj, resize.metadata_errors(obj["metadata"]))
        return obj

    def _create_pod(self, pod: dict[str, Any], user: User) -> dict[str, Any]:
        admission.create_pod(self.store, user, pod)
        pod = admission.limit_defaults(self.store, pods.admit_spec(pod))
        if not self.modern:
            pod = pods.drop_unknown(pod)
        errors = resize.create_errors(pod)
        if errors:
            raise invalid("Pod", pod["metadata"]["name"], errors)
        pod["status"] = {"phase": "Pending", "qosClass": pods.qos(pod)}
        admission.limit_range(self.store, pod)
        admission.quota(self.store, pod, None, commit=False)
        return pod

    def prepare_update(self, res: Resource, sub: str, new: dict[str, Any],
                       old: dict[str, Any], user: User) -> dict[str, Any]:
        """What the path lets through; validated and admitted. `old` is as the client sees it."""
        if res.kind == "Pod":
            new = self._update_pod(sub, new, old, user)
        elif res.kind == "Event":
            errors = events.update_errors(events.to_core(new), events.to_core(old), res.group)
            self._fail(res, new, errors)
        else:
            if sub == "status":
                new = dict(old, metadata=new["metadata"], status=new.get("status", {}))
            elif "status" in old:
                new = dict(new, status=old["status"])
            if res.kind == "ValidatingAdmissionPolicy":
                self._check_policy(res, new)
            errors = resize.update_meta_errors(new, old)
            self._fail(res, new, errors)
        if res.kind in GENERATED and new.get("spec") != old.get("spec"):
            generation = old["metadata"].get("generation", 0) + 1
            new = dict(new, metadata=dict(new["metadata"], generation=generation))
        return new

    def _update_pod(self, sub: str, new: dict[str, Any], old: dict[str, Any],
                    user: User) -> dict[str, Any]:
        name = old["metadata"]["name"]
        if sub == "resize":
            new = self._mutate(resize.keep_resources_only(new, old))
            if not self.modern:
                new = pods.drop_unknown(new)
            errors = resize.resize_errors(new, old, self.modern)
            if old["spec"].get("resources") and not self.resizes_pod_level:
                errors = [resize.NOT_POD_LEVEL]
        elif sub == "status":
            status = {**new.get("status", {}), "qosClass": old["status"].get("qosClass")}
            if not self.modern:
                status = pods.drop_observed(status)
            new = dict(old, metadata=new["metadata"], status=status)
            errors = resize.update_meta_errors(new, old)
        else:
            new = dict(new, status=old["status"])
            if not self.modern:
                new = pods.drop_unknown(new)
            errors = resize.update_errors(new, old)
        if errors:
            raise invalid("Pod", name, errors)
        admission.policies(self.store, user, sub, new, old)
        if sub == "resize":
            admission.limit_range(self.store, new)
            if self.modern:
                admission.declared_features(self.store, new, old)
                admission.capacity(self.store, new)
            admission.quota(self.store, new, old, commit=False)
        return new

    def _mutate(self, new: dict[str, Any]) -> dict[str, Any]:
        """Admission in a resize: managedFields have been computed, and say the requester's."""
        if not self.highest_limits:
            return new
        new = copy.deepcopy(new)
        for c in new["spec"]["containers"]:
            limits = c.get("resources", {}).get("limits", {})
            for r, most in self.highest_limits.items():
                if r in limits and quantity.parse(limits[r]) > quantity.parse(most):
                    limits[r] = most
        return new

    def _check_policy(self, res: Resource, obj: dict[str, Any]) -> None:
        try:
            cel.check(obj["spec"])
        except (cel.Unsupported, KeyError) as e:
            self._fail(res, obj, [FieldError("spec", "Invalid value", "this test server evaluates "
                                             f"a part of CEL only: {e}", "")])

    @staticmethod
    def _fail(res: Resource, obj: dict[str, Any], errors: list[FieldError]) -> None:
        if errors:
            group = res.group if res.kind != "Event" else ""
            raise invalid(res.kind, obj["metadata"].get("name", ""), errors, group)


def _limit_item(item: dict[str, Any]) -> dict[str, Any]:
    if item.get("type") != "Container":
        return item
    default = {**(item.get("max") or {}), **(item.get("default") or {})}
    request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
    out = dict(item)
    if default:
        out["default"] = default
    if request:
        out["defaultRequest"] = request
    return out


def _policy(obj: dict[str, Any]) -> dict[str, Any]:
    spec = dict(obj["spec"])
    match = {"namespaceSelector": {}, "objectSelector": {}, "matchPolicy": "Equivalent",
             **spec.get("matchConstraints", {})}
    match["resourceRules"] = [{"scope": "*", **r} for r in match.get("resourceRules", [])]
    spec = {"failurePolicy": "Fail", **spec, "matchConstraints": match}
    return dict(obj, spec=spec, status=obj.get("status", {}))

# SPDX-License-Identifier: Apache-2.0
"""The resources served: one row each; discovery and routing read the table."""
from __future__ import annotations

from dataclasses import dataclass, field

ALL = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"]
GPU = ["get", "patch", "update"]


@dataclass(frozen=True)
class Resource:
    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short: tuple[str, ...] = ()
    subs: tuple[str, ...] = ()
    storage: str = ""
    verbs: tuple[str, ...] = tuple(ALL)
    storage_hash: str = ""
    categories: tuple[str, ...] = ()
    create_only: bool = field(default=False)

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def table(self) -> str:
        return self.storage or (f"{self.plural}.{self.group}" if self.group else self.plural)


RBAC = "rbac.authorization.k8s.io"
ADMISSION = "admissionregistration.k8s.io"

RESOURCES = [
    Resource("", "v1", "configmaps", "ConfigMap", short=("cm",), storage_hash="qFsyl6wFWjQ="),
    Resource("", "v1", "events", "Event", short=("ev",), storage="events",
             storage_hash="r2yiGXH7wu8="),
    Resource("", "v1", "limitranges", "LimitRange", short=("limits",),
             storage_hash="EBKMFVe6cwo="),
    Resource("", "v1", "namespaces", "Namespace", False, ("ns",), ("status",),
             storage_hash="Q3oi5N2YM8M=",
             verbs=tuple(v for v in ALL if v != "deletecollection")),
    Resource("", "v1", "nodes", "Node", False, ("no",), ("status",),
             storage_hash="XwShjMxG9Fs="),
    Resource("", "v1", "pods", "Pod", True, ("po",), ("eviction", "log", "resize", "status"),
             storage_hash="xPOwRZ+Yhw8=", categories=("all",)),
    Resource("", "v1", "resourcequotas", "ResourceQuota", True, ("quota",), ("status",),
             storage_hash="8uhSgffRX6w="),
    Resource("", "v1", "serviceaccounts", "ServiceAccount", True, ("sa",), ("token",),
             storage_hash="pbx9ZvyFpBE="),
    Resource("events.k8s.io", "v1", "events", "Event", short=("ev",), storage="events",
             storage_hash="r2yiGXH7wu8="),
    Resource("apps", "v1", "daemonsets", "DaemonSet", short=("ds",), subs=("status",)),
    Resource("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler",
             short=("hpa",), subs=("status",), categories=("all",)),
    # A CustomResourceDefinition, which a test installs: see CUSTOM.
    Resource("autoscaling.k8s.io", "v1", "verticalpodautoscalers", "VerticalPodAutoscaler",
             short=("vpa",)),
    Resource("coordination.k8s.io", "v1", "leases", "Lease"),
    Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", short=("pdb",),
             subs=("status",)),
    Resource(RBAC, "v1", "clusterroles", "ClusterRole", False),
    Resource(RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False),
    Resource(RBAC, "v1", "roles", "Role"),
    Resource(RBAC, "v1", "rolebindings", "RoleBinding"),
    Resource(ADMISSION, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False),
    Resource(ADMISSION, "v1", "validatingadmissionpolicybindings",
             "ValidatingAdmissionPolicyBinding", False),
    Resource("authorization.k8s.io", "v1", "selfsubjectaccessreviews",
             "SelfSubjectAccessReview", False, verbs=("create",), create_only=True),
    Resource("authorization.k8s.io", "v1", "selfsubjectrulesreviews",
             "SelfSubjectRulesReview", False, verbs=("create",), create_only=True),
    Resource("authentication.k8s.io", "v1", "selfsubjectreviews",
             "SelfSubjectReview", False, verbs=("create",), create_only=True),
]

CUSTOM = {"verticalpodautoscalers"}
BY_NAME = {(r.group, r.version, r.plural): r for r in RESOURCES}
BY_KIND = {(r.api_version, r.kind): r for r in RESOURCES}
SUB_KINDS = {
    "log": {"verbs": ["get"]},
    "eviction": {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]},
    "token": {"group": "authentication.k8s.io", "version": "v1", "kind": "TokenRequest",
              "verbs": ["create"]},
}

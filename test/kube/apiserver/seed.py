# SPDX-License-Identifier: Apache-2.0
"""Objects a server starts with so that the agent's identity has its rights."""
from __future__ import annotations

import uuid
from typing import Any

Obj = dict[str, Any]
AGENT_RULES = [
    {"verbs": ["get", "list", "watch", "patch"], "apiGroups": [""], "resources": ["pods"]},
    {"verbs": ["patch"], "apiGroups": [""], "resources": ["pods/resize"]},
    {"verbs": ["list"], "apiGroups": ["autoscaling"], "resources": ["horizontalpodautoscalers"]},
    {"verbs": ["list"], "apiGroups": ["autoscaling.k8s.io"],
     "resources": ["verticalpodautoscalers"]},
    {"verbs": ["create", "patch"], "apiGroups": ["events.k8s.io"], "resources": ["events"]},
    {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["limitranges"]},
    {"verbs": ["get"], "apiGroups": [""], "resources": ["nodes"]},
]


def object_meta(namespace: str, name: str, when: str) -> Obj:
    meta: Obj = {"name": name, "uid": str(uuid.uuid4()), "creationTimestamp": when}
    if namespace:
        meta["namespace"] = namespace
    return meta


def binding(agent: tuple[str, str]) -> Obj:
    return {"kind": "ClusterRoleBinding", "apiVersion": "rbac.authorization.k8s.io/v1",
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
                        "name": "vscaled"},
            "subjects": [{"kind": "ServiceAccount", "name": agent[1], "namespace": agent[0]}]}


def policy_objects(agent: tuple[str, str]) -> dict[str, Obj]:
    """The own-node guard: table name -> object."""
    api = "admissionregistration.k8s.io/v1"
    who = f"system:serviceaccount:{agent[0]}:{agent[1]}"
    return {
        "validatingadmissionpolicies": {
            "kind": "ValidatingAdmissionPolicy", "apiVersion": api, "status": {}, "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"],
                    "resources": ["pods", "pods/resize"]}]},
                "matchConditions": [{"name": "is-vscaled", "expression":
                                     f"request.userInfo.username == '{who}'"}],
                "variables": [{"name": "node", "expression":
                               "request.userInfo.extra[?'authentication.kubernetes.io/node-name']"
                               "[0].orValue('')"}],
                "validations": [{
                    "expression": "variables.node != '' && "
                                  "oldObject.spec.nodeName == variables.node",
                    "messageExpression": "'vscaled on node \"' + variables.node + '\" may not "
                                         "change pods of node \"' + oldObject.spec.nodeName + "
                                         "'\"'", "reason": "Forbidden"}]}},
        "validatingadmissionpolicybindings": {
            "kind": "ValidatingAdmissionPolicyBinding", "apiVersion": api,
            "spec": {"policyName": "vscaled-own-node", "validationActions": ["Deny"]}},
    }

# SPDX-License-Identifier: Apache-2.0
"""What the server says about itself: /version, /api, /apis, resource lists."""
from __future__ import annotations

from typing import Any

from .kinds import RESOURCES, SUB_KINDS, GPU, Resource

Obj = dict[str, Any]
VERSIONS = {36: ("v1.36.3", "go1.26.11"), 33: ("v1.33.13", "go1.26.11")}


def version(minor: int) -> Obj:
    git, go = VERSIONS.get(minor, (f"v1.{minor}.0", "go1.25.0"))
    return {"major": "1", "minor": str(minor), "emulationMajor": "1",
            "emulationMinor": str(minor), "minCompatibilityMajor": "1",
            "minCompatibilityMinor": str(minor - 1), "gitVersion": git, "gitCommit": "0" * 40,
            "gitTreeState": "clean", "buildDate": "2026-11-20T00:00:00Z", "goVersion": go,
            "compiler": "gc", "platform": "linux/amd64"}


def api_versions(address: str) -> Obj:
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [
        {"clientCIDR": "0.0.0.0/0", "serverAddress": address}]}


def groups() -> list[str]:
    return sorted({r.group for r in RESOURCES if r.group})


def version_of(group_name: str) -> str:
    """The one that is served."""
    return next(r.version for r in RESOURCES if r.group == group_name)


def _group(name: str) -> Obj:
    row = {"groupVersion": f"{name}/{version_of(name)}", "version": version_of(name)}
    return {"name": name, "versions": [row], "preferredVersion": row}


def group(name: str) -> Obj:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name)}


def group_list() -> Obj:
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(g) for g in groups()]}


def _entry(r: Resource) -> Obj:
    out: Obj = {"name": r.plural, "singularName": r.kind.lower(), "namespaced": r.namespaced,
                "kind": r.kind, "verbs": list(r.verbs)}
    if r.short:
        out["shortNames"] = list(r.short)
    if r.categories:
        out["categories"] = list(r.categories)
    if r.storage_hash:
        out["storageVersionHash"] = r.storage_hash
    return out


def resources(group_name: str, without: set[str]) -> Obj:
    """`without`: names such as pods/resize that this server shall not offer."""
    rows = []
    for r in RESOURCES:
        if r.group != group_name:
            continue
        rows.append(_entry(r))
        for sub in r.subs:
            row = {"name": f"{r.plural}/{sub}", "singularName": "", "namespaced": r.namespaced,
                   "kind": r.kind, "verbs": GPU}
            rows.append({**row, **SUB_KINDS.get(sub, {})})
    rows = [row for row in rows if row["name"] not in without]
    name = f"{group_name}/{version_of(group_name)}" if group_name else "v1"
    out: Obj = {"kind": "APIResourceList", "groupVersion": name, "resources": rows}
    if group_name:
        out["apiVersion"] = "v1"
    return out


def openapi_paths() -> Obj:
    """Enough of /openapi/v3 for kubectl to learn that the server validates fields itself."""
    out = {}
    for name in [""] + groups():
        path = f"apis/{name}/{version_of(name)}" if name else "api/v1"
        out[path] = {"serverRelativeURL": f"/openapi/v3/{path}?hash=1"}
    return {"paths": out}


def openapi(group_name: str) -> Obj:
    paths: Obj = {}
    schemas: Obj = {}
    base = f"/apis/{group_name}/{version_of(group_name)}" if group_name else "/api/v1"
    parameters = [{"name": n, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
                  for n in ("dryRun", "fieldManager", "fieldValidation", "force")]
    for r in RESOURCES:
        if r.group != group_name:
            continue
        gvk = {"group": r.group, "version": r.version, "kind": r.kind}
        where = f"{base}/namespaces/{{namespace}}" if r.namespaced else base
        paths[f"{where}/{r.plural}/{{name}}"] = {"patch": {
            "parameters": parameters, "x-kubernetes-action": "patch",
            "x-kubernetes-group-version-kind": gvk,
            "responses": {"200": {"description": "OK"}}}}
        schemas[f"io.k8s.{r.group or 'core'}.{r.version}.{r.kind}"] = {
            "type": "object", "x-kubernetes-group-version-kind": [gvk]}
    return {"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1"},
            "paths": paths, "components": {"schemas": schemas}}

# SPDX-License-Identifier: Apache-2.0
"""Which pods are valid, and which changes of a pod are allowed on which path."""
from __future__ import annotations

import re
from typing import Any

from . import pods, quantity
from .status import FieldError

QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
NAME_PART = ("name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
             "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or "
             f"'123-abc', regex used for validation is '{QUALIFIED}')")
ANNOTATIONS_MAX = 262144
IMMUTABLE = ("pod updates may not change fields other than `spec.containers[*].image`,"
             "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` "
             "(only additions to existing tolerations),`spec.terminationGracePeriodSeconds` "
             "(allow it to be set to 1 if it was previously negative)\n")
CPU_MEMORY = ("cpu", "memory")
# Before 1.36, whatever the resize would change.
NOT_POD_LEVEL = FieldError("[]", "Forbidden", "pods with pod-level resources cannot be resized")


def qualified_name(text: str, field: str, value: str | None = None) -> list[FieldError]:
    """[prefix/]name as annotation keys and reporting controllers have it."""
    value = text if value is None else value
    name = text.rpartition("/")[2]
    errors = []
    if not name:
        errors.append(FieldError(field, "Invalid value", "name part must be non-empty", value))
    elif len(name) > 63:
        errors.append(FieldError(field, "Invalid value",
                                 "name part must be no more than 63 characters", value))
    if not re.fullmatch(QUALIFIED, name):
        errors.append(FieldError(field, "Invalid value", NAME_PART, value))
    return errors


def metadata_errors(meta: dict[str, Any]) -> list[FieldError]:
    """Annotations are checked once for the object and once for its update, twice each."""
    errors: list[FieldError] = []
    annotations = meta.get("annotations") or {}
    for key in annotations:
        errors += qualified_name(key.lower(), "metadata.annotations", key)
    size = sum(len(k.encode()) + len(str(v).encode()) for k, v in annotations.items())
    if size > ANNOTATIONS_MAX:
        errors.append(FieldError("metadata.annotations", "Too long",
                                 f"may not be more than {ANNOTATIONS_MAX} bytes"))
    return errors


def update_meta_errors(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    errors = metadata_errors(new["metadata"])
    if new["metadata"].get("uid") != old["metadata"]["uid"]:
        errors.append(FieldError("metadata.uid", "Invalid value", "field is immutable",
                                 new["metadata"].get("uid", "")))
    return errors


def resources_errors(res: dict[str, Any], field: str) -> list[FieldError]:
    errors = []
    limits, requests = res.get("limits") or {}, res.get("requests") or {}
    for name in sorted(limits):
        if quantity.parse(limits[name]) < 0:
            errors.append(FieldError(f"{field}.limits[{name}]", "Invalid value",
                                     "must be greater than or equal to 0", limits[name]))
    for name in sorted(requests):
        if quantity.parse(requests[name]) < 0:
            errors.append(FieldError(f"{field}.requests[{name}]", "Invalid value",
                                     "must be greater than or equal to 0", requests[name]))
        if name in limits and quantity.parse(requests[name]) > quantity.parse(limits[name]):
            errors.append(FieldError(f"{field}.requests", "Invalid value",
                                     f"must be less than or equal to {name} limit of "
                                     f"{limits[name]}", requests[name]))
    return errors


def spec_errors(pod: dict[str, Any]) -> list[FieldError]:
    spec = pod["spec"]
    errors: list[FieldError] = []
    if not spec.get("containers"):
        errors.append(FieldError("spec.containers", "Required value"))
    for part in ("containers", "initContainers"):
        for i, c in enumerate(spec.get(part) or []):
            field = f"spec.{part}[{i}]"
            if not c.get("name"):
                errors.append(FieldError(f"{field}.name", "Required value"))
            if not c.get("image"):
                errors.append(FieldError(f"{field}.image", "Required value"))
            errors += resources_errors(c.get("resources") or {}, f"{field}.resources")
    if spec.get("resources"):
        errors += _pod_level_errors(pod)
    return errors


def _pod_level_errors(pod: dict[str, Any]) -> list[FieldError]:
    level = pod["spec"]["resources"]
    errors = resources_errors(level, "spec.resources")
    bare = dict(pod, spec={k: v for k, v in pod["spec"].items() if k != "resources"})
    for name, text in (level.get("requests") or {}).items():
        needed = pods.total(bare, "requests", name)
        if needed > quantity.parse(text):
            shown = quantity.canonical(f"{int(needed * 1000)}m")
            errors.append(FieldError(f"spec.resources.requests[{name}]", "Invalid value",
                                     "must be greater than or equal to aggregate container "
                                     f"requests of {shown}", text))
    for i, c in enumerate(pod["spec"].get("containers") or []):
        for name, text in ((c.get("resources") or {}).get("limits") or {}).items():
            most = (level.get("limits") or {}).get(name)
            if most is not None and quantity.parse(text) > quantity.parse(most):
                errors.append(FieldError(f"spec.resources.containers[{i}][{name}].limits",
                                         "Invalid value", "must be less than or equal to pod "
                                         f"limits of {most}", text))
    return errors


def create_errors(pod: dict[str, Any]) -> list[FieldError]:
    return metadata_errors(pod["metadata"]) + spec_errors(pod)


def _both(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """The object's metadata is validated as an update and again as an object."""
    meta = update_meta_errors(new, old)
    return meta + metadata_errors(new["metadata"]) + spec_errors(new)


def again(errors: list[FieldError], new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """The storage layer checks the metadata once more, first, and once as an object."""
    return update_meta_errors(new, old) + metadata_errors(new["metadata"]) + errors


def update_errors(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    """PATCH or PUT of the pod itself: of the spec only very little may change."""
    errors = _both(new, old)
    if _masked(new["spec"], old["spec"]) != old["spec"]:
        errors.append(FieldError("spec", "Forbidden", IMMUTABLE))
    return again(errors, new, old)


def _masked(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The new spec with what may change put back to what it was."""
    spec = dict(new)
    for part in ("containers", "initContainers"):
        if len(new.get(part) or []) == len(old.get(part) or []) and new.get(part):
            spec[part] = [dict(a, image=b.get("image")) for a, b in zip(new[part], old[part])]
    for name in ("activeDeadlineSeconds", "terminationGracePeriodSeconds"):
        spec.pop(name, None)
        if name in old:
            spec[name] = old[name]
    had = old.get("tolerations") or []
    if all(t in (new.get("tolerations") or []) for t in had):
        spec["tolerations"] = had
        if "tolerations" not in old:
            del spec["tolerations"]
    return spec


def keep_resources_only(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    """The resize path takes resources (and resizePolicy, to refuse it) and drops the rest."""
    spec = dict(old["spec"])
    for part in ("containers", "initContainers"):
        mine, theirs = new["spec"].get(part) or [], old["spec"].get(part) or []
        if [c.get("name") for c in mine] != [c["name"] for c in theirs]:
            if mine:
                spec[part] = mine
            continue
        spec[part] = [_taken(a, b) for a, b in zip(mine, theirs)]
    for part in ("containers", "initContainers"):
        if part in spec and part not in old["spec"] and not spec[part]:
            del spec[part]
    spec.pop("resources", None)
    if new["spec"].get("resources"):
        spec["resources"] = new["spec"]["resources"]
    kept = {k: old["metadata"][k] for k in old["metadata"] if k not in ("uid", "managedFields")}
    for k in ("uid", "managedFields"):
        if k in new["metadata"]:
            kept[k] = new["metadata"][k]
    return dict(old, metadata=kept, spec=spec)


def _taken(new: dict[str, Any], old: dict[str, Any]) -> dict[str, Any]:
    out = dict(old, resources=new.get("resources", {}))
    if "resizePolicy" in new:
        out["resizePolicy"] = new["resizePolicy"]
    return out


def resize_errors(new: dict[str, Any], old: dict[str, Any], modern: bool) -> list[FieldError]:
    if pods.MIRROR in old["metadata"].get("annotations", {}):
        return [FieldError("[]", "Forbidden", "static pods cannot be resized")]
    if old["spec"].get("os", {}).get("name") == "windows":
        return [FieldError("[]", "Forbidden", "windows pods cannot be resized")]
    errors = _both(new, old)
    order = _order_errors(new, old)
    errors += order
    if not order:
        errors += _change_errors(new, old, modern)
    return again(errors, new, old)


def _order_errors(new: dict[str, Any], old: dict[str, Any]) -> list[FieldError]:
    errors = []
    for part in ("containers", "initContainers"):
        mine, theirs = new["spec"].get(part) or [], old["spec"].get(part) or []
        if len(mine) != len(theirs):
            errors.append(FieldError(f"spec.{part}", "Forbidden",
                                     f"{part} may not be added or removed on resize"))
            continue
        errors += [FieldError(f"spec.{part}[{i}].name", "Forbidden",
                              f"{part} may not be renamed or reordered on resize")
                   for i, (a, b) in enumerate(zip(mine, theirs)) if a["name"] != b["name"]]
    return errors


def _supported(pod: dict[str, Any]) -> bool:
    return all(c.get("resources") is not None
               for c in pod.get("status", {}).get("containerStatuses", [])
               if "running" in (c.get("state") or {}))


def _change_errors(new: dict[str, Any], old: dict[str, Any], modern: bool) -> list[FieldError]:
    errors = []
    if pods.qos(old) != pods.qos(new):
        errors.append(FieldError("spec", "Invalid value",
                                 "Pod QOS Class may not change as a result of resizing",
                                 old["status"].get("qosClass", "")))
    if not _supported(old):
        errors.append(FieldError("spec", "Forbidden",
                                 "Pod running on node without support for resize"))
    other = False
    for part in ("containers", "initContainers"):
        for i, (a, b) in enumerate(zip(new["spec"].get(part) or [], old["spec"].get(part) or [])):
            if part == "initContainers" and not pods.is_sidecar(b) and not modern:
                if a["resources"] != b["resources"]:
                    errors.append(FieldError("spec", "Forbidden", "resources for non-sidecar init "
                                                                  "containers are immutable"))
                continue
            errors += _container_errors(a, b, f"spec.{part}[{i}].resources", modern)
            other = other or _beyond_cpu_memory(a, b)
    if old["spec"].get("resources") and not new["spec"].get("resources"):
        errors.append(FieldError("spec.resources", "Forbidden",
                                 "pod-level resources cannot be removed"))
    if other:
        errors.append(FieldError("spec", "Forbidden", "only cpu and memory resources are mutable"))
    return errors


def _container_errors(new: dict[str, Any], old: dict[str, Any], field: str,
                      modern: bool) -> list[FieldError]:
    errors = []
    for which in ("requests", "limits"):
        had = set((old["resources"].get(which) or {})) & set(CPU_MEMORY)
        if had - set(new["resources"].get(which) or {}):
            errors.append(FieldError(f"{field}.{which}", "Forbidden",
                                     f"resource {which} cannot be removed"))
    restarts = any(p["resourceName"] == "memory" and p["restartPolicy"] == "RestartContainer"
                   for p in new.get("resizePolicy") or [])
    if modern or restarts:
        return errors
    was = (old["resources"].get("limits") or {}).get("memory")
    now = (new["resources"].get("limits") or {}).get("memory")
    verb = None
    if now is not None and was is None:
        verb = "added"
    elif now is not None and quantity.parse(now) < quantity.parse(was):
        verb = "decreased"
    if verb:
        errors.append(FieldError(f"{field}.limits[memory]", "Forbidden",
                                 f"memory limits cannot be {verb} unless resizePolicy is "
                                 "RestartContainer"))
    return errors


def _beyond_cpu_memory(new: dict[str, Any], old: dict[str, Any]) -> bool:
    def rest(c: dict[str, Any]) -> Any:
        out = {w: {k: v for k, v in (c["resources"].get(w) or {}).items() if k not in CPU_MEMORY}
               for w in ("limits", "requests")}
        return out, c.get("resizePolicy")
    return rest(new) != rest(old)

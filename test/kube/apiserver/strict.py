# SPDX-License-Identifier: Apache-2.0
"""Patches the server cannot decode: bad quantities, unknown fields under strict validation."""
from __future__ import annotations

from typing import Any

from . import pods, quantity
from .patch import go_map
from .status import ApiError, FieldError, bad_request, invalid

CONTAINER = set("""name image command args workingDir ports envFrom env resources resizePolicy
    restartPolicy restartPolicyRules volumeMounts volumeDevices livenessProbe readinessProbe
    startupProbe lifecycle terminationMessagePath terminationMessagePolicy imagePullPolicy
    securityContext stdin stdinOnce tty""".split())
RESOURCES = {"limits", "requests", "claims"}
METADATA = set("""name generateName namespace selfLink uid resourceVersion generation
    creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels annotations
    ownerReferences finalizers managedFields""".split())


def bad_patch(patch: Any, why: str) -> ApiError:
    shown = go_map(patch)
    return invalid("", "", [FieldError("patch", "Invalid value", why, shown)])


def _unknown(obj: dict[str, Any]) -> list[str]:
    found = [f"metadata.{k}" for k in obj.get("metadata") or {} if k not in METADATA]
    if obj.get("kind", "Pod") != "Pod":
        return found
    for part in ("containers", "initContainers"):
        for i, c in enumerate((obj.get("spec") or {}).get(part) or []):
            if not isinstance(c, dict):
                continue
            where = f"spec.{part}[{i}]"
            found += [f"{where}.{k}" for k in c if k not in CONTAINER]
            found += [f"{where}.resources.{k}" for k in c.get("resources") or {}
                      if k not in RESOURCES]
    return found


def check(c: Any, obj: dict[str, Any], patch: Any = None) -> None:
    """Refuses unknown fields when asked to, and invalid quantities."""
    unknown = [f'unknown field "{name}"' for name in _unknown(obj)]
    if unknown and c.query.get("fieldValidation") == "Strict":
        why = "strict decoding error: " + ", ".join(unknown)
        raise bad_patch(patch, why) if patch is not None else bad_request(why)
    try:
        pods.canonical(obj)
    except ValueError:
        if patch is None:
            raise bad_request(f"{c.res.kind} in version \"{c.res.version}\" cannot be handled as "
                              f"a {c.res.kind}: {quantity.BAD}") from None
        raise bad_patch(patch, quantity.BAD) from None

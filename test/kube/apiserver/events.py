# SPDX-License-Identifier: Apache-2.0
"""Events: two API groups, one stored object (core/v1 form), and their rules."""
from __future__ import annotations

import re
from typing import Any

from .resize import qualified_name
from .status import FieldError

SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
SUBDOMAIN_TEXT = ("a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                  "characters, '-' or '.', and must start and end with an alphanumeric character "
                  "(e.g. 'example.com', regex used for validation is "
                  f"'{SUBDOMAIN}')")
# events.k8s.io name -> core name
NAMES = {"note": "message", "regarding": "involvedObject", "reportingController":
         "reportingComponent", "deprecatedSource": "source", "deprecatedCount": "count",
         "deprecatedFirstTimestamp": "firstTimestamp", "deprecatedLastTimestamp":
         "lastTimestamp"}
CORE_NAMES = {v: k for k, v in NAMES.items()}
NEW = "events.k8s.io/v1"


def to_core(obj: dict[str, Any]) -> dict[str, Any]:
    if obj.get("apiVersion") != NEW:
        return _core_defaults(obj)
    out = {NAMES.get(k, k): v for k, v in obj.items()}
    return _core_defaults(dict(out, apiVersion="v1"))


def _core_defaults(obj: dict[str, Any]) -> dict[str, Any]:
    base = {"involvedObject": {}, "source": {}, "firstTimestamp": None, "lastTimestamp": None,
            "eventTime": None, "reportingComponent": "", "reportingInstance": ""}
    return {**base, **obj}


def to_new(obj: dict[str, Any]) -> dict[str, Any]:
    out = {CORE_NAMES.get(k, k): v for k, v in obj.items()}
    for name in ("reportingController", "reportingInstance"):
        if out.get(name) == "":
            del out[name]
    return dict(out, apiVersion=NEW)


def view(obj: dict[str, Any], group: str) -> dict[str, Any]:
    return to_new(obj) if group else obj


def _legacy(ev: dict[str, Any], group: str) -> list[FieldError]:
    errors: list[FieldError] = []
    namespace = ev["metadata"].get("namespace", "")
    involved = (ev.get("involvedObject") or {}).get("namespace", "")
    mismatch = FieldError("involvedObject.namespace", "Invalid value",
                          "does not match event.namespace", involved)
    if not ev.get("eventTime"):
        if involved and involved != namespace or not involved and namespace != "default":
            errors.append(mismatch)
        return errors
    if not involved and namespace not in ("default", "kube-system"):
        errors.append(mismatch)
    controller = "reportingController" if group else "reportingComponent"
    if not ev.get("reportingComponent"):
        errors.append(FieldError("reportingController", "Required value"))
    errors += qualified_name(ev.get("reportingComponent", ""), controller)
    for name, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128),
                        ("message", 1024)):
        text = ev.get(name) or ""
        if not text and name != "message":
            errors.append(FieldError(name, "Required value"))
        if len(text) > limit:
            errors.append(FieldError(name, "Invalid value",
                                     f"can have at most {limit} characters", ""))
    return errors


def _series(ev: dict[str, Any]) -> list[FieldError]:
    series = ev.get("series")
    if not series:
        return []
    errors = []
    if series.get("count", 0) < 2:
        errors.append(FieldError("series.count", "Invalid value", "should be at least 2", ""))
    if not series.get("lastObservedTime"):
        errors.append(FieldError("series.lastObservedTime", "Required value"))
    return errors


def create_errors(ev: dict[str, Any], group: str) -> list[FieldError]:
    """The core API checks hardly anything; `ev` is in core form."""
    errors = _legacy(ev, group)
    if not group:
        return errors
    prefix = ev["metadata"].get("generateName")
    if prefix is not None:
        # Checked as the name it will become part of.
        if not re.fullmatch(SUBDOMAIN, prefix[:-1] + "a" if prefix.endswith("-") else prefix):
            errors.append(FieldError("metadata.generateName", "Invalid value", SUBDOMAIN_TEXT,
                                     prefix))
    if not re.fullmatch(SUBDOMAIN, ev["metadata"].get("name", "")):
        errors.append(FieldError("metadata.name", "Invalid value", SUBDOMAIN_TEXT,
                                 ev["metadata"].get("name", "")))
    errors += _series(ev)
    if not ev.get("eventTime"):
        errors.append(FieldError("eventTime", "Required value"))
    if ev.get("type") not in ("Normal", "Warning"):
        errors.append(FieldError("type", "Invalid value",
                                 f"has invalid value: {ev.get('type', '')}", ""))
    return errors


def update_errors(new: dict[str, Any], old: dict[str, Any], group: str) -> list[FieldError]:
    errors = _legacy(new, group)
    if not group:
        return errors
    errors += _series(new)
    for name in ("involvedObject", "reason", "message", "source", "firstTimestamp",
                 "lastTimestamp", "count", "reason", "type", "eventTime", "action", "related",
                 "reportingComponent", "reportingInstance"):
        if new.get(name) != old.get(name):
            field = "reportingController" if name == "reportingComponent" else name
            value = new.get(name)
            errors.append(FieldError(field, "Invalid value", "field is immutable",
                                     value if isinstance(value, str) else ""))
    return errors

# SPDX-License-Identifier: Apache-2.0
"""Lists: selectors, resource versions, pages."""
from __future__ import annotations

import base64
import binascii
import json
import re
import time
from typing import Any, Callable

from .kinds import Resource
from .status import ApiError, FieldError, bad_request, invalid
from .store import Store

Match = Callable[[dict[str, Any]], bool]
POD_FIELDS = ("metadata.name", "metadata.namespace", "spec.nodeName", "spec.restartPolicy",
              "spec.schedulerName", "spec.serviceAccountName", "spec.hostNetwork",
              "status.phase", "status.podIP", "status.nominatedNodeName")
EVENT_FIELDS = ("metadata.name", "metadata.namespace", "involvedObject.kind",
                "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
                "involvedObject.apiVersion", "involvedObject.resourceVersion",
                "involvedObject.fieldPath", "reason", "reportingComponent", "source", "type")
FIELDS = {"pods": POD_FIELDS, "events": EVENT_FIELDS}
EXPIRED = ("The provided continue parameter is too old to display a consistent list result. You "
           "can start a new list without the continue parameter, or use the continue token in "
           "this response to retrieve the remainder of the results. Continuing with the provided "
           "token results in an inconsistent list - objects that were created, modified, or "
           "deleted between the time the first chunk was returned and now may show up in the "
           "list.")


def parse_fields(text: str) -> list[tuple[str, str, bool]]:
    """[(path, value, equal)]"""
    terms = []
    for part in filter(None, text.split(",")):
        match = re.fullmatch(r"([^=!]+)(==|=|!=)(.*)", part)
        if not match:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{part}'")
        terms.append((match.group(1), match.group(3), match.group(2) != "!="))
    return terms


def field_value(obj: dict[str, Any], path: str) -> str:
    if path == "source":
        return (obj.get("source") or {}).get("component", "")
    value: Any = obj
    for part in path.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return "" if value is None else str(value)


def _label_terms(text: str) -> list[Match]:
    terms: list[Match] = []
    for part in filter(None, re.split(r",(?![^(]*\))", text)):
        part = part.strip()
        listed = re.fullmatch(r"(\S+)\s+(in|notin)\s*\(([^)]*)\)", part)
        equal = re.fullmatch(r"([^=!\s]+)\s*(==|=|!=)\s*(\S*)", part)
        if listed:
            name, values = listed.group(1), {v.strip() for v in listed.group(3).split(",")}
            wanted = listed.group(2) == "in"
            terms.append(lambda la, n=name, v=values, w=wanted: (la.get(n) in v) is w)
        elif equal:
            name, value, wanted = equal.group(1), equal.group(3), equal.group(2) != "!="
            terms.append(lambda la, n=name, v=value, w=wanted: (la.get(n) == v) is w)
        elif re.fullmatch(r"!?[^=!\s()]+", part):
            name, wanted = part.lstrip("!"), not part.startswith("!")
            terms.append(lambda la, n=name, w=wanted: (n in la) is w)
        else:
            raise bad_request(f"unable to parse requirement: found '{part}'")
    return terms


def matcher(resource: Resource, namespace: str, query: dict[str, str]) -> Match:
    terms = parse_fields(query.get("fieldSelector", ""))
    known = FIELDS.get(resource.plural, ("metadata.name", "metadata.namespace"))
    for path, _, _ in terms:
        if path not in known:
            raise bad_request(f"field label not supported: {path}")
    labels = _label_terms(query.get("labelSelector", ""))

    def match(obj: dict[str, Any]) -> bool:
        meta = obj["metadata"]
        if namespace and meta.get("namespace") != namespace:
            return False
        for path, value, equal in terms:
            if (field_value(obj, path) == value) is not equal:
                return False
        return all(term(meta.get("labels") or {}) for term in labels)

    return match


def revision(text: str) -> int:
    if not re.fullmatch(r"[0-9]+", text):
        raise ApiError(500, None, f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: '
                       f'parsing "{text}": invalid syntax')
    return int(text)


def too_large(asked: int, current: int) -> ApiError:
    return ApiError(504, "Timeout", f"Timeout: Too large resource version: {asked}, current: "
                    f"{current}", {"causes": [{"reason": "ResourceVersionTooLarge",
                                               "message": "Too large resource version"}],
                                   "retryAfterSeconds": 1}, headers={"Retry-After": "1"})


def check_match(text: str, match: str) -> None:
    """apimachinery's ValidateListOptions."""
    wrong = ""
    if match and not text:
        wrong = "resourceVersionMatch is forbidden unless resourceVersion is provided"
    elif match == "Exact" and text == "0":
        wrong = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
    if wrong:
        raise invalid("ListOptions", "", [FieldError("resourceVersionMatch", "Forbidden", wrong)],
                      "meta.k8s.io")
    if match not in ("", "Exact", "NotOlderThan"):
        raise invalid("ListOptions", "", [FieldError(
            "resourceVersionMatch", "Unsupported value",
            'supported values: "Exact", "NotOlderThan", ""', match)], "meta.k8s.io")


def token(rv: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": rv, "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_token(text: str) -> tuple[int, str]:
    try:
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (binascii.Error, ValueError):
        raise bad_request("invalid continue token: continue key is not valid: "
                          "illegal base64 data") from None
    try:
        value = json.loads(raw)
        return int(value["rv"]), str(value["start"])
    except (ValueError, KeyError, TypeError):
        first = raw[:1].decode("latin-1")
        plain = first.isprintable() and first < "\x7f"
        shown = first if plain else f"\\u{ord(first or chr(0)):04x}"
        raise bad_request("invalid continue token: continue key is not valid: invalid character "
                          f"'{shown}' looking for beginning of value") from None


def _snapshot(store: Store, resource: Resource, query: dict[str, str], old_from_cache: bool
              ) -> tuple[dict[tuple[str, str], Any], int, str]:
    """(table, its revision, start key)"""
    if query.get("continue"):
        rv, start = read_token(query["continue"])
        start = start.lstrip("/").rstrip("\0")
        if rv < 0:
            return store.table(resource.table), store.rv, start
        items = store.items_at(resource.table, rv)
        if items is None or (not old_from_cache and rv < store.storage_floor):
            raise ApiError(410, "Expired", EXPIRED,
                           metadata={"continue": token(-1, start + "\0")})
        return items, rv, start
    text, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    check_match(text, match)
    rv = revision(text) if text else 0
    if rv > store.cached and match != "Exact":
        end = time.monotonic() + min(float(query.get("timeoutSeconds", "1")), 1.0)
        while rv > store.cached and time.monotonic() < end:
            store.changed.wait(end - time.monotonic())
        if rv > store.cached:
            raise too_large(rv, store.cached)
    if match == "Exact":
        items = store.items_at(resource.table, rv)
        if items is None or (not old_from_cache and rv < store.storage_floor):
            raise ApiError(410, "Expired",
                           "The resourceVersion for the provided list is too old.")
        return items, rv, ""
    if text and store.cached < store.rv:
        # From the watch cache, which lags. Without a version it is what is stored.
        return store.items_at(resource.table, store.cached) or {}, store.cached, ""
    return store.table(resource.table), store.rv, ""


def collect(store: Store, resource: Resource, namespace: str, query: dict[str, str],
            old_from_cache: bool) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """(items, list metadata)"""
    match = matcher(resource, namespace, query)
    with store.lock:
        table, rv, start = _snapshot(store, resource, query, old_from_cache)
        found = [(f"{key[0]}/{key[1]}".lstrip("/"), obj)
                 for key, obj in table.items() if match(obj)]
    found.sort(key=lambda row: row[0])
    if start:
        found = [row for row in found if row[0] > start]
    meta: dict[str, Any] = {"resourceVersion": str(rv)}
    limit = int(query.get("limit") or 0)
    if query.get("resourceVersion") == "0":
        limit = 0       # answered from memory, as a whole
    if limit and len(found) > limit:
        last = found[limit - 1][0]
        meta["continue"] = token(rv, f"/{last}\0")
        if not query.get("fieldSelector") and not query.get("labelSelector"):
            meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    return [obj for _, obj in found], meta

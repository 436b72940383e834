# SPDX-License-Identifier: Apache-2.0
"""Merge, strategic merge and JSON patches. Nothing is changed in place: results share parts."""
from __future__ import annotations

import copy
from typing import Any

from .status import ApiError, bad_request

# Lists that a strategic merge joins by a key; every other list is replaced.
MERGE_KEYS = {
    "containers": "name", "initContainers": "name", "ephemeralContainers": "name",
    "volumes": "name", "env": "name", "volumeMounts": "mountPath", "conditions": "type",
    "podIPs": "ip", "hostIPs": "ip", "imagePullSecrets": "name", "ownerReferences": "uid",
    "addresses": "type", "ports": "containerPort", "subjects": None,
}


def merge(target: Any, patch: Any) -> Any:
    """RFC 7386."""
    if not isinstance(patch, dict):
        return patch
    out = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            out.pop(key, None)
        else:
            out[key] = merge(out.get(key), value)
    return out


def strategic(target: Any, patch: dict[str, Any]) -> Any:
    out = dict(target) if isinstance(target, dict) else {}
    if patch.get("$patch") == "replace":
        return {k: v for k, v in patch.items() if not k.startswith("$")}
    if patch.get("$patch") == "delete":
        return {}
    for key, value in patch.items():
        if key.startswith("$"):
            continue
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict):
            out[key] = strategic(out.get(key), value)
        elif isinstance(value, list) and MERGE_KEYS.get(key):
            out[key] = _merge_list(out.get(key) or [], value, MERGE_KEYS[key],
                                   patch.get(f"$setElementOrder/{key}"))
        else:
            out[key] = value
    for key, order in patch.items():
        name = key.removeprefix("$setElementOrder/")
        if name != key and name not in patch and MERGE_KEYS.get(name) and name in out:
            out[name] = _merge_list(out[name], [], MERGE_KEYS[name], order)
    for key, gone in patch.items():
        name = key.removeprefix("$deleteFromPrimitiveList/")
        if name != key and name in out:
            out[name] = [v for v in out[name] if v not in gone]
    if "$retainKeys" in patch:
        out = {k: v for k, v in out.items() if k in patch["$retainKeys"]}
    return out


def _merge_list(have: list[Any], patch: list[Any], key: str, order: Any) -> list[Any]:
    by_key = {item.get(key): item for item in have}
    server = [item.get(key) for item in have]
    touched: list[Any] = []
    for item in patch:
        if key not in item:
            raise bad_request(f"map: {item} does not contain declared merge key: {key}")
        name = item[key]
        if item.get("$patch") == "delete":
            by_key.pop(name, None)
            continue
        by_key[name] = strategic(by_key.get(name), item)
        touched.append(name)
    if order is not None:
        wanted = [item.get(key) if isinstance(item, dict) else item for item in order]
        touched = [name for name in wanted if name in by_key]
    rest = [name for name in server if name in by_key and name not in touched]
    return [by_key[name] for name in _interleave(rest, touched, server)]


def _interleave(rest: list[Any], touched: list[Any], server: list[Any]) -> list[Any]:
    """The server's order where it has both; an element of the patch precedes the rest otherwise."""
    out: list[Any] = []
    i = j = 0
    while i < len(rest) or j < len(touched):
        if i >= len(rest):
            take_rest = False
        elif j >= len(touched):
            take_rest = True
        else:
            right = touched[j]
            take_rest = right in server and server.index(rest[i]) < server.index(right)
        out.append(rest[i] if take_rest else touched[j])
        i, j = (i + 1, j) if take_rest else (i, j + 1)
    return out


def _refused() -> ApiError:
    return ApiError(422, "Invalid",
                    "the server rejected our request due to an error in our request", {})


def _walk(doc: Any, parts: list[str]) -> Any:
    for part in parts:
        try:
            doc = doc[int(part)] if isinstance(doc, list) else doc[part]
        except (KeyError, IndexError, ValueError, TypeError):
            raise _refused() from None
    return doc


def json_patch(target: Any, operations: Any) -> Any:
    """RFC 6902 on a private copy."""
    doc = copy.deepcopy(target)
    if not isinstance(operations, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    for op in operations:
        doc = _operate(doc, op)
    return doc


def _parts(pointer: str) -> list[str]:
    return [p.replace("~1", "/").replace("~0", "~") for p in pointer.split("/")[1:]]


def _operate(doc: Any, op: dict[str, Any]) -> Any:
    parts = _parts(op.get("path", ""))
    if not parts:
        raise _refused()
    parent, last = _walk(doc, parts[:-1]), parts[-1]
    kind = op.get("op")
    if kind == "test":
        if _walk(doc, parts) != op.get("value"):
            raise _refused()
    elif kind in ("move", "copy"):
        source = _parts(op.get("from", ""))
        value = _walk(doc, source)
        if kind == "move":
            _remove(_walk(doc, source[:-1]), source[-1])
        _add(parent, last, value)
    elif kind == "remove":
        _remove(parent, last)
    elif kind == "replace":
        _walk(doc, parts)
        parent[int(last) if isinstance(parent, list) else last] = op.get("value")
    elif kind == "add":
        _add(parent, last, op.get("value"))
    else:
        raise _refused()
    return doc


def _remove(parent: Any, last: str) -> None:
    try:
        del parent[int(last) if isinstance(parent, list) else last]
    except (KeyError, IndexError, ValueError):
        raise _refused() from None


def _add(parent: Any, last: str, value: Any) -> None:
    if isinstance(parent, list):
        index = len(parent) if last == "-" else int(last)
        if index > len(parent):
            raise _refused()
        parent.insert(index, value)
    elif isinstance(parent, dict):
        parent[last] = value
    else:
        raise _refused()


def go_map(value: Any) -> str:
    """Go's %v of decoded JSON, as the server puts it in messages."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{k}:{go_map(value[k])}" for k in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(go_map(v) for v in value) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)

# SPDX-License-Identifier: Apache-2.0
"""The few protobuf bodies kubectl insists on: auth can-i, auth whoami, create namespace/sa."""
from __future__ import annotations

from typing import Any

MAGIC = b"k8s\x00"
TYPE = "application/vnd.kubernetes.protobuf"
ATTRIBUTES = {1: "namespace", 2: "verb", 3: "group", 4: "version", 5: "resource",
              6: "subresource", 7: "name"}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7f) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _fields(data: bytes) -> dict[int, bytes]:
    """The length-delimited fields; other wire types are passed over."""
    out, at = {}, 0
    while at < len(data):
        tag, at = _varint(data, at)
        kind = tag & 7
        if kind == 0:
            _, at = _varint(data, at)
        elif kind == 2:
            size, at = _varint(data, at)
            out[tag >> 3] = data[at:at + size]
            at += size
        else:
            raise ValueError(f"wire type {kind}")
    return out


def named(raw: bytes) -> dict[str, Any]:
    """An object of which only name and namespace matter."""
    meta = _fields(_fields(raw).get(1, b""))
    names = {1: "name", 2: "generateName", 3: "namespace"}
    return {"metadata": {names[n]: v.decode() for n, v in meta.items() if n in names and v}}


def access_review(raw: bytes) -> dict[str, Any]:
    spec = _fields(_fields(raw)[2])
    out: dict[str, Any] = {}
    if 1 in spec:
        out["resourceAttributes"] = {ATTRIBUTES[n]: v.decode()
                                     for n, v in _fields(spec[1]).items()
                                     if n in ATTRIBUTES and v}
    if 2 in spec:
        names = {1: "path", 2: "verb"}
        out["nonResourceAttributes"] = {names[n]: v.decode()
                                        for n, v in _fields(spec[2]).items() if n in names}
    return {"spec": out}


READERS = {"SelfSubjectAccessReview": access_review, "SelfSubjectReview": named,
           "SelfSubjectRulesReview": named, "Namespace": named, "ServiceAccount": named}


def decode(kind: str, body: bytes) -> dict[str, Any]:
    if kind not in READERS:
        raise ValueError(f"this test server reads no {kind} in protobuf, only in JSON")
    if not body.startswith(MAGIC):
        raise ValueError("no protobuf object")
    try:
        return READERS[kind](_fields(body[len(MAGIC):])[2])
    except (IndexError, KeyError) as e:
        raise ValueError(f"protobuf cut short: {e}") from None

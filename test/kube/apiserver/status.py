# SPDX-License-Identifier: Apache-2.0
"""Failures as the API server words them: one class, one function per kind of failure."""
from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """An answer that is not the asked-for object."""

    def __init__(self, code: int, reason: str | None, message: str,
                 details: dict[str, Any] | None = None, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.headers: dict[str, str] = extra.get("headers", {})
        body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1",
                                "metadata": extra.get("metadata", {}),
                                "status": "Failure", "message": message}
        if reason:
            body["reason"] = reason
        if details is not None:
            body["details"] = details
        body["code"] = code
        self.body = body


CAUSES = {
    "Invalid value": "FieldValueInvalid",
    "Forbidden": "FieldValueForbidden",
    "Required value": "FieldValueRequired",
    "Too long": "FieldValueTooLong",
    "Duplicate value": "FieldValueDuplicate",
    "Unsupported value": "FieldValueNotSupported",
}


class FieldError:
    """One complaint about one field; `text` is what follows the field's name."""

    def __init__(self, field: str, kind: str, detail: str = "", value: str | None = None) -> None:
        self.field = field
        self.reason = CAUSES[kind]
        self.text = kind
        if value is not None:
            self.text += f": {go_quote(value)}"
        if detail:
            self.text += f": {detail}"

    def __str__(self) -> str:
        return f"{self.field}: {self.text}"


def go_quote(value: str) -> str:
    """As Go's %q does for plain text."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def invalid(kind: str, name: str, errors: list[FieldError], group: str = "") -> ApiError:
    """422: the causes keep repetitions, the message does not."""
    texts = list(dict.fromkeys(str(e) for e in errors))
    said = texts[0] if len(texts) == 1 else "[" + ", ".join(texts) + "]"
    qualified = f"{kind}.{group}" if group else kind
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    details["causes"] = [{"reason": e.reason, "message": e.text, "field": e.field}
                         for e in errors]
    return ApiError(422, "Invalid", f'{qualified} "{name}" is invalid: {said}', details)


def qualified(plural: str, group: str) -> str:
    return f"{plural}.{group}" if group else plural


def _details(plural: str, group: str, name: str = "") -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = plural
    return details


def not_found(plural: str, group: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{qualified(plural, group)} "{name}" not found',
                    _details(plural, group, name))


def no_such_path() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource", {})


def exists(plural: str, group: str, name: str) -> ApiError:
    return ApiError(409, "AlreadyExists",
                    f'{qualified(plural, group)} "{name}" already exists',
                    _details(plural, group, name))


def conflict(plural: str, group: str, name: str) -> ApiError:
    return ApiError(409, "Conflict",
                    f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": '
                    "the object has been modified; please apply your changes to the latest "
                    "version and try again", _details(plural, group, name))


def wrong_uid(kind: str, name: str, asked: str, has: str) -> ApiError:
    return ApiError(409, "Conflict",
                    f'Operation cannot be fulfilled on {kind} "{name}": the UID in the '
                    f"precondition ({asked}) does not match the UID in record ({has}). The "
                    "object might have been deleted and then recreated",
                    {"name": name, "kind": kind})


def forbidden(plural: str, group: str, name: str, why: str,
              causes: list[dict[str, Any]] | None = None) -> ApiError:
    details = _details(plural, group, name)
    if causes:
        details["causes"] = causes
    subject = qualified(plural, group)
    if name:
        subject += f' "{name}"'
    return ApiError(403, "Forbidden", f"{subject} is forbidden: {why}", details)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed() -> ApiError:
    return ApiError(405, "MethodNotAllowed",
                    "the server does not allow this method on the requested resource", {})


def success(code: int | None = None, details: dict[str, Any] | None = None) -> dict[str, Any]:
    body: dict[str, Any] = {"kind": "Status", "apiVersion": "v1", "metadata": {},
                            "status": "Success"}
    if details is not None:
        body["details"] = details
    if code is not None:
        body["code"] = code
    return body

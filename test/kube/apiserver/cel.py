# SPDX-License-Identifier: Apache-2.0
"""The few expressions an own-node policy is made of: ==, !=, &&, ||, !, +, names, text."""
from __future__ import annotations

import re
from typing import Any, Callable

_TOKEN = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|==|!=|&&|\|\||[!+()]"
                    r"|request\.userInfo\.extra\[\?'[^']+'\]\[0\]\.orValue\('[^']*'\)"
                    r"|[A-Za-z_][A-Za-z0-9_.]*)")
_EXTRA = re.compile(r"request\.userInfo\.extra\[\?'([^']+)'\]\[0\]\.orValue\('([^']*)'\)")


class Unsupported(ValueError):
    """An expression beyond what this server evaluates."""


def _tokens(text: str) -> list[str]:
    out, at, text = [], 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise Unsupported(f"not understood here: {text[at:at + 40]!r}")
        out.append(match.group(1))
        at = match.end()
    return out


class _Parser:
    def __init__(self, text: str, lookup: Callable[[str], Any]) -> None:
        self.tokens, self.at, self.lookup = _tokens(text), 0, lookup

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def either(self) -> Any:
        value = self.both()
        while self.peek() == "||":
            self.take()
            right = self.both()
            value = value or right
        return value

    def both(self) -> Any:
        value = self.equal()
        while self.peek() == "&&":
            self.take()
            right = self.equal()
            value = value and right
        return value

    def equal(self) -> Any:
        value = self.joined()
        while self.peek() in ("==", "!="):
            same = self.take() == "=="
            value = (value == self.joined()) is same
        return value

    def joined(self) -> Any:
        value = self.single()
        while self.peek() == "+":
            self.take()
            value += self.single()
        return value

    def single(self) -> Any:
        token = self.take()
        if token == "!":
            return not self.single()
        if token == "(":
            value = self.either()
            if self.take() != ")":
                raise Unsupported("an open bracket")
            return value
        if token[:1] in "'\"" and token:
            return token[1:-1]
        if not token or not (token[0].isalpha() or token[0] == "_"):
            raise Unsupported(f"unexpected {token!r}")
        return self.lookup(token)


def evaluate(text: str, scope: dict[str, Any]) -> Any:
    def lookup(name: str) -> Any:
        user = scope["user"]
        extra = _EXTRA.fullmatch(name)
        if extra:
            return user.extra.get(extra.group(1), [extra.group(2)])[0]
        if name in ("true", "false"):
            return name == "true"
        if name == "request.userInfo.username":
            return user.name
        head, _, rest = name.partition(".")
        if head == "variables":
            return evaluate(scope["variables"][rest], scope)
        if head not in ("object", "oldObject"):
            raise Unsupported(f"name {name}")
        value: Any = scope[head]
        for part in rest.split("."):
            value = value.get(part, "") if isinstance(value, dict) else ""
        return value

    parser = _Parser(text, lookup)
    value = parser.either()
    if parser.peek():
        raise Unsupported(f"left over: {parser.peek()!r}")
    return value


def denied(spec: dict[str, Any], scope: dict[str, Any]) -> str | None:
    """The message of the first validation that fails, or None."""
    scope = dict(scope, variables={v["name"]: v["expression"] for v in spec.get("variables", [])})
    if not all(evaluate(c["expression"], scope) for c in spec.get("matchConditions", [])):
        return None
    for rule in spec.get("validations", []):
        if not evaluate(rule["expression"], scope):
            if "messageExpression" in rule:
                return evaluate(rule["messageExpression"], scope)
            return rule.get("message", f"failed expression: {rule['expression']}")
    return None


def check(spec: dict[str, Any]) -> None:
    """Raises Unsupported for a policy that could not be evaluated later."""
    class _Nobody:
        name, extra = "", {}
    scope = {"user": _Nobody, "object": {}, "oldObject": {},
             "variables": {v["name"]: v["expression"] for v in spec.get("variables", [])}}
    for rule in spec.get("matchConditions", []) + spec.get("validations", []):
        evaluate(rule["expression"], scope)
        if "messageExpression" in rule:
            evaluate(rule["messageExpression"], scope)

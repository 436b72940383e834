# SPDX-License-Identifier: Apache-2.0
"""The part of CEL that ValidatingAdmissionPolicies of Kubernetes 1.30 are written in.

Operators, has() and the macros all, exists, exists_one, filter and map, optional selection, size(),
dyn() and the text functions startsWith, endsWith, contains. As in CEL, a field that is not there is
an error, && and || give an answer where one side alone decides it, and types are not converted.
Anything else raises Unsupported when the policy is stored.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Callable

_TOKEN = re.compile(r"""\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    |(?P<number>\d+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*)
    |(?P<sign>==|!=|<=|>=|&&|\|\||\.\?|\[\?|[+!<>()\[\]{}.,?:]))""", re.X)
_LITERALS = {"true": True, "false": False, "null": None}
_ROOTS = ("object", "oldObject", "request", "variables")
_MACROS = ("all", "exists", "exists_one", "filter", "map")
_METHODS = ("size", "startsWith", "endsWith", "contains", "orValue", "hasValue", "value")
_BINARY = ({"||"}, {"&&"}, {"==", "!=", "<", "<=", ">", ">=", "in"}, {"+"})

Node = tuple[Any, ...]
Scope = dict[str, Any]


class Unsupported(ValueError):
    """An expression beyond what this server evaluates."""


class Failure(Exception):
    """An error of evaluation, as in "no such key"."""


@dataclass(frozen=True)
class Optional:
    present: bool
    value: Any = None


def _tokens(text: str) -> list[tuple[str, str]]:
    out, at, text = [], 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise Unsupported(f"not understood here: {text[at:at + 40]!r}")
        out.append((match.lastgroup or "", match.group(match.lastgroup or 0)))
        at = match.end()
    return out


class _Parser:
    """Text to a tree of tuples: (kind, parts...)."""

    def __init__(self, text: str, variables: set[str]) -> None:
        self.tokens, self.at = _tokens(text), 0
        self.names, self.variables = list(_ROOTS), variables

    def whole(self) -> Node:
        node = self.choice()
        if self.at < len(self.tokens):
            raise Unsupported(f"left over: {self.tokens[self.at][1]!r}")
        return node

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> tuple[str, str]:
        if self.at == len(self.tokens) or (wanted and self.peek() != wanted):
            raise Unsupported(f"{wanted or 'more'!r} expected, not {self.peek()!r}")
        self.at += 1
        return self.tokens[self.at - 1]

    def choice(self) -> Node:
        node = self.binary(0)
        if self.peek() != "?":
            return node
        self.take()
        yes = self.choice()
        self.take(":")
        return ("choice", node, yes, self.choice())

    def binary(self, level: int) -> Node:
        if level == len(_BINARY):
            return self.unary()
        node = self.binary(level + 1)
        while self.peek() in _BINARY[level]:
            node = (self.take()[1], node, self.binary(level + 1))
        return node

    def unary(self) -> Node:
        if self.peek() == "!":
            self.take()
            return ("not", self.unary())
        node = self.primary()
        while self.peek() in (".", ".?", "[", "[?"):
            sign = self.take()[1]
            if sign.startswith("["):
                key = self.choice()
                self.take("]")
                node = ("index" if sign == "[" else "optional", node, key)
            else:
                node = self.member(node, sign)
        return node

    def member(self, of: Node, sign: str) -> Node:
        kind, name = self.take()
        if kind != "name":
            raise Unsupported(f"a name expected, not {name!r}")
        if sign == ".?":
            return ("optional", of, ("literal", name))
        if self.peek() != "(":
            if of == ("name", "variables") and name not in self.variables:
                raise Unsupported(f"variable {name}")
            return ("index", of, ("literal", name))
        if name in _MACROS:
            return self.macro(of, name)
        if name not in _METHODS:
            raise Unsupported(f"function {name}")
        return ("call", name, of, *self.list("(", ")"))

    def macro(self, of: Node, name: str) -> Node:
        self.take("(")
        kind, variable = self.take()
        if kind != "name":
            raise Unsupported(f"a name expected, not {variable!r}")
        self.take(",")
        self.names.append(variable)
        body = self.choice()
        self.names.pop()
        self.take(")")
        return ("macro", name, of, variable, body)

    def list(self, first: str, last: str) -> list[Node]:
        self.take(first)
        out = []
        while self.peek() != last:
            out.append(self.choice())
            if self.peek() != last:
                self.take(",")
        self.take(last)
        return out

    def primary(self) -> Node:
        if self.peek() == "[":
            return ("list", *self.list("[", "]"))
        if self.peek() == "{":
            return self.map()
        kind, token = self.take()
        if token == "(":
            node = self.choice()
            self.take(")")
            return node
        if kind == "text":
            return ("literal", re.sub(r"\\(.)", r"\1", token[1:-1]))
        if kind == "number":
            return ("literal", int(token))
        if token in _LITERALS:
            return ("literal", _LITERALS[token])
        if self.peek() == "(" and token in ("has", "size", "dyn"):
            return self.function(token)
        if kind != "name" or token not in self.names:
            raise Unsupported(f"name {token}")
        return ("name", token)

    def map(self) -> Node:
        self.take("{")
        out = []
        while self.peek() != "}":
            key = self.choice()
            self.take(":")
            out.append((key, self.choice()))
            if self.peek() != "}":
                self.take(",")
        self.take("}")
        return ("map", *out)

    def function(self, name: str) -> Node:
        arguments = self.list("(", ")")
        if len(arguments) != 1 or (name == "has" and arguments[0][0] != "index"):
            raise Unsupported(f"{name}() takes one argument, has() a field")
        return ("has", *arguments[0][1:]) if name == "has" else ("call", name, *arguments)


def _boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise Failure("no such overload")
    return value


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, bool) != isinstance(b, bool):
        return False
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same, a, b))
    return bool(a == b)


def _get(of: Any, key: Any) -> Any:
    if isinstance(of, Optional):
        return _get_optional(of, key)
    if isinstance(of, dict) and key in of:
        return of[key]
    if isinstance(of, list) and isinstance(key, int):
        if 0 <= key < len(of):
            return of[key]
        raise Failure(f"index out of bounds: {key}")
    raise Failure(f"no such key: {key}" if isinstance(of, dict) else "no such overload")


def _get_optional(of: Any, key: Any) -> Optional:
    if isinstance(of, Optional):
        return _get_optional(of.value, key) if of.present else of
    try:
        return Optional(True, _get(of, key))
    except Failure:
        if not isinstance(of, (dict, list)):
            raise
        return Optional(False)


def _size(value: Any) -> int:
    if not isinstance(value, (str, list, dict)):
        raise Failure("no such overload")
    return len(value)


def _or_value(value: Any, other: Any) -> Any:
    if not isinstance(value, Optional):
        raise Failure("no such overload")
    return value.value if value.present else other


def _text(test: Callable[[str, str], bool]) -> Callable[[Any, Any], bool]:
    def call(a: Any, b: Any) -> bool:
        if not (isinstance(a, str) and isinstance(b, str)):
            raise Failure("no such overload")
        return test(a, b)
    return call


def _add(a: Any, b: Any) -> Any:
    if isinstance(a, bool) or type(a) is not type(b) or not isinstance(a, (str, int, list)):
        raise Failure("no such overload")
    return a + b


def _ordered(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def call(a: Any, b: Any) -> bool:
        if type(a) is not type(b) or not isinstance(a, (str, int)):
            raise Failure("no such overload")
        return test(a, b)
    return call


def _in(a: Any, b: Any) -> bool:
    if not isinstance(b, (list, dict)):
        raise Failure("no such overload")
    return any(_same(a, item) for item in b)


_CALLS: dict[str, Callable[..., Any]] = {
    "size": _size, "dyn": lambda v: v, "orValue": _or_value,
    "hasValue": lambda v: v.present, "value": lambda v: v.value,
    "startsWith": _text(str.startswith), "endsWith": _text(str.endswith),
    "contains": _text(lambda a, b: b in a),
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": _same, "!=": lambda a, b: not _same(a, b), "in": _in, "+": _add,
    "<": _ordered(lambda a, b: a < b), "<=": _ordered(lambda a, b: a <= b),
    ">": _ordered(lambda a, b: a > b), ">=": _ordered(lambda a, b: a >= b),
}


def _decide(parts: list[Callable[[], Any]], decides: bool) -> bool:
    """&& (decides: False) and ||: an error counts only where no other part decides."""
    failure: Failure | None = None
    for part in parts:
        try:
            if _boolean(part()) is decides:
                return decides
        except Failure as e:
            failure = e
    if failure:
        raise failure
    return not decides


def _macro(node: Node, scope: Scope) -> Any:
    _, name, of, variable, body = node
    items = _run(of, scope)
    if not isinstance(items, (list, dict)):
        raise Failure("no such overload")
    parts = [lambda item=item: _run(body, {**scope, variable: item}) for item in items]
    if name in ("all", "exists"):
        return _decide(parts, name == "exists")
    if name == "map":
        return [part() for part in parts]
    chosen = [item for item, part in zip(items, parts) if _boolean(part())]
    return chosen if name == "filter" else len(chosen) == 1


def _run(node: Node, scope: Scope) -> Any:
    kind, *parts = node
    if kind == "literal":
        return parts[0]
    if kind == "name":
        return scope[parts[0]]
    if kind == "list":
        return [_run(p, scope) for p in parts]
    if kind == "map":
        return {_run(k, scope): _run(v, scope) for k, v in parts}
    if kind in ("&&", "||"):
        return _decide([lambda p=p: _run(p, scope) for p in parts], kind == "||")
    if kind == "choice":
        return _run(parts[1 if _boolean(_run(parts[0], scope)) else 2], scope)
    if kind == "not":
        return not _boolean(_run(parts[0], scope))
    if kind == "index":
        if parts[0] == ("name", "variables"):
            return _run(scope["variables"][parts[1][1]], scope)
        return _get(_run(parts[0], scope), _run(parts[1], scope))
    if kind == "optional":
        return _get_optional(_run(parts[0], scope), _run(parts[1], scope))
    if kind == "has":
        return _get_optional(_run(parts[0], scope), _run(parts[1], scope)).present
    if kind == "call":
        return _CALLS[parts[0]](*(_run(p, scope) for p in parts[1:]))
    if kind == "macro":
        return _macro(node, scope)
    return _OPERATORS[kind](_run(parts[0], scope), _run(parts[1], scope))


def parse(text: str, variables: set[str]) -> Node:
    return _Parser(text, variables).whole()


def evaluate(text: str, scope: Scope) -> Any:
    """Of an expression without variables. Raises Failure, Unsupported."""
    return _run(parse(text, set()), scope)


def _variables(spec: dict[str, Any]) -> dict[str, Node]:
    """Each may use those before it."""
    out: dict[str, Node] = {}
    for v in spec.get("variables", []):
        out[v["name"]] = parse(v["expression"], set(out))
    return out


def denied(spec: dict[str, Any], scope: Scope) -> str | None:
    """The message of the first validation that does not hold, or None.

    scope: object, oldObject, request. What cannot be evaluated denies, as failurePolicy Fail does.
    """
    variables = _variables(spec)
    known = set(variables)
    scope = dict(scope, variables=variables)
    for rule in spec.get("matchConditions", []):
        try:
            if not _boolean(_run(parse(rule["expression"], set()), scope)):
                return None
        except Failure as e:
            return f"expression '{rule['expression']}' resulted in error: {e}"
    for rule in spec.get("validations", []):
        try:
            if _boolean(_run(parse(rule["expression"], known), scope)):
                continue
        except Failure as e:
            return f"expression '{rule['expression']}' resulted in error: {e}"
        if "messageExpression" in rule:
            return str(_run(parse(rule["messageExpression"], known), scope))
        return str(rule.get("message", f"failed expression: {rule['expression']}"))
    return None


def check(spec: dict[str, Any]) -> None:
    """Raises Unsupported for a policy that could not be evaluated later."""
    known = set(_variables(spec))
    for rule in spec.get("matchConditions", []):
        parse(rule["expression"], set())
    for rule in spec.get("validations", []):
        parse(rule["expression"], known)
        if "messageExpression" in rule:
            parse(rule["messageExpression"], known)

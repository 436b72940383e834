# SPDX-License-Identifier: Apache-2.0
"""Kubernetes quantities: parsed exactly, written canonically in the family they came in."""
from __future__ import annotations

import math
import re
from fractions import Fraction

PATTERN = "^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$"
BAD = f"quantities must match the regular expression '{PATTERN}'"
_SHAPE = re.compile(r"^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(.*)$")
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_EXPONENT = re.compile(r"^[eE]([+-]?[0-9]+)$")


def _split(text: str) -> tuple[Fraction, str]:
    """The value and its family: decimal, binary or exponent."""
    shape = _SHAPE.match(text)
    if not shape:
        raise ValueError(BAD)
    number, suffix = Fraction(shape.group(1)), shape.group(2)
    if suffix in _DECIMAL:
        return number * Fraction(10) ** _DECIMAL[suffix], "decimal"
    if suffix in _BINARY:
        return number * 1024 ** _BINARY[suffix], "binary"
    power = _EXPONENT.match(suffix)
    if not power or abs(int(power.group(1))) > 100:
        raise ValueError(BAD)
    return number * Fraction(10) ** int(power.group(1)), "exponent"


def parse(text: str | int | float) -> Fraction:
    return _split(str(text))[0]


def canonical(text: str | int | float, milli: bool = False) -> str:
    """The form the server answers with. `milli`: finer than a thousandth is rounded up."""
    value, family = _split(str(text))
    unit = Fraction(1, 1000) if milli else Fraction(1, 10 ** 9)
    if (value / unit).denominator != 1:
        value = math.ceil(value / unit) * unit
    if value == 0:
        return "0"
    if family == "binary" and value.denominator == 1 and abs(value) >= 1024:
        for suffix, power in reversed(_BINARY.items()):
            if value % 1024 ** power == 0:
                return f"{value // 1024 ** power}{suffix}"
        return str(value)
    for suffix, power in sorted(_DECIMAL.items(), key=lambda row: -row[1]):
        scaled = value / Fraction(10) ** power
        if scaled.denominator == 1:
            if family == "exponent":
                return f"{scaled}e{power}" if power else str(scaled)
            return f"{scaled}{suffix}"
    raise ValueError(BAD)


def milli(text: str) -> int:
    return math.ceil(parse(text) * 1000)


def whole(text: str) -> int:
    return math.ceil(parse(text))

"""Python values as C literals."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator

from packager.program import Descriptor, FieldValue

_INT_MIN = {-(2**31): "(-2147483647 - 1)", -(2**63): "(-9223372036854775807 - 1)"}


def float_literal(value: float) -> str:
    """The shortest ``float`` literal that reads back as ``value`` in single precision."""
    if math.isnan(value):
        return '__builtin_nanf("")'
    if math.isinf(value):
        return "__builtin_inff()" if value > 0 else "-__builtin_inff()"
    single = _single(value)
    if math.isinf(single):
        return float_literal(single)
    text = next(text for digits in range(1, 18) if _single(float(text := f"{single:.{digits}g}")) == single)
    if not any(c in text for c in ".e"):
        text += ".0"
    return f"{text}f"


def _single(value: float) -> float:
    """``value`` rounded to single precision; infinite when it is beyond its range."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def int_literal(value: int) -> str:
    """A decimal literal whose type holds ``value``; the two minima are spelled without overflow."""
    if value in _INT_MIN:
        return _INT_MIN[value]
    return f"{value}u" if value > 2**63 - 1 else str(value)


def field_literal(value: FieldValue) -> str:
    """A descriptor field: bool, int, float, enumerator (str) or array (tuple)."""
    if isinstance(value, tuple):
        return "{" + ", ".join(field_literal(item) for item in value) + "}" if value else "{0}"
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return int_literal(value)
    return float_literal(value)


def descriptor_items(descriptor: Descriptor) -> list[str]:
    """The designated initialisers of a descriptor."""
    return [f".{name} = {field_literal(value)}" for name, value in descriptor.fields] or ["0"]


def byte_rows(data: bytes) -> Iterator[str]:
    """``data`` as rows of an array initialiser, 16 bytes each."""
    for start in range(0, len(data), 16):
        yield "    " + ", ".join(f"0x{byte:02x}" for byte in data[start : start + 16]) + ","

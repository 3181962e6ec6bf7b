"""Memory sizes as people write them: ``512MiB``, ``64 kB``, ``0x4000`` or plain bytes."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

_UNITS = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")


def parse_size(value: object) -> object:
    """Bytes of ``"512MiB"``; anything that is not a string passes through for the schema to judge.

    ValueError when the text is not a size or not a whole number of bytes.
    """
    if not isinstance(value, str):
        return value
    match = _SIZE.fullmatch(value.strip())
    if match is None or match[2] not in _UNITS:
        raise ValueError(
            f"'{value}' is not a size; write a number of bytes, or a number with kB, KiB, MB, MiB, GB or GiB"
        )
    amount = float(match[1]) * _UNITS[match[2]]
    if amount != int(amount):
        raise ValueError(f"'{value}' is not a whole number of bytes")
    return int(amount)


def format_size(count: int) -> str:
    """``count`` bytes for people, in binary units: ``1.5 MiB``, ``640 B``."""
    size = float(count)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"


Size = Annotated[
    int,
    BeforeValidator(parse_size),
    Field(ge=0),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^\d+(\.\d+)?\s*(B|kB|KB|MB|GB|KiB|MiB|GiB)?$"},
            ],
            "description": "bytes, or a number with kB, KiB, MB, MiB, GB or GiB",
        }
    ),
]
"""A pydantic field type: bytes."""

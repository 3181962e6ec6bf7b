"""Results as JSON documents: one versioned envelope for every command."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Mapping, Set
from pathlib import PurePath

SCHEMA_VERSION = 1

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def document(kind: str, **parts: object) -> dict[str, Json]:
    """``{"schema": 1, "kind": kind, ...}`` with every part made plain."""
    return {"schema": SCHEMA_VERSION, "kind": kind, **{key: plain(value) for key, value in parts.items()}}


def plain(value: object) -> Json:
    """``value`` as what JSON can hold.

    Dataclasses become objects without the fields that ``repr`` leaves out (bulk data); infinities and NaN become null,
    bytes hexadecimal text, sets sorted lists.  TypeError for anything else.
    """
    if value is None or isinstance(value, bool | int | str):
        return value.value if isinstance(value, enum.Enum) else value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, enum.Enum):
        return value.name.lower()
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, bytes):
        return value.hex()
    return _container(value)


def _container(value: object) -> Json:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = [field.name for field in dataclasses.fields(value) if field.repr]
        return {name: plain(getattr(value, name)) for name in shown}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Set):
        return sorted((plain(item) for item in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    for method in ("model_dump", "tolist"):  # pydantic models; numpy scalars and arrays
        convert = getattr(value, method, None)
        if convert is not None:
            return plain(convert(mode="json") if method == "model_dump" else convert())
    raise TypeError(f"{type(value).__name__} has no JSON form")

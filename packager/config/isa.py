"""Instruction sets as data: what the lowering needs to know of a vector unit (rows of ``runtime_c/isa.yaml``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Isa:
    """``lanes``: float32 values in the widest vector (1: no vector unit); ``registers``: vector registers.

    ``features`` are names a kernel row may require, such as ``vnni`` or ``dotprod``.
    """

    name: str
    lanes: int
    registers: int
    features: frozenset[str] = field(default_factory=frozenset)


@functools.cache
def isa_table() -> Mapping[str, Isa]:
    """All rows of ``runtime_c/isa.yaml`` by name."""
    import yaml

    from packager import resources

    path = resources.directory("runtime_c") / "isa.yaml"
    rows = yaml.safe_load(path.read_text(encoding="utf-8"))["isas"]
    return {
        name: Isa(name, row["lanes"], row["registers"], frozenset(row.get("features", ())))
        for name, row in rows.items()
    }


@functools.cache
def known_features() -> Mapping[str, str]:
    """What a target may list under ``features``: name to description."""
    import yaml

    from packager import resources

    path = resources.directory("runtime_c") / "isa.yaml"
    features: dict[str, str] = yaml.safe_load(path.read_text(encoding="utf-8"))["features"]
    return features

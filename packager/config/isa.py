"""Instruction sets as data: what the lowering needs to know of a vector unit (rows of ``runtime_c/isa.yaml``)."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


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
    return {
        name: Isa(name, row["lanes"], row["registers"], frozenset(row.get("features", ())))
        for name, row in _file()["isas"].items()
    }


def architectures_of(name: str) -> frozenset[str]:
    """First parts of the triples that instruction set goes with; empty when it goes with all."""
    return frozenset(_file()["isas"][name].get("architectures", ()))


def known_features() -> Mapping[str, str]:
    """What a target may list under ``features``: name to description."""
    features: Mapping[str, str] = _file()["features"]
    return features


@functools.cache
def _file() -> Mapping[str, Any]:
    import yaml

    from packager import resources

    data: Mapping[str, Any] = yaml.safe_load((resources.directory("runtime_c") / "isa.yaml").read_text("utf-8"))
    return data

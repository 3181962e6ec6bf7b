"""Instruction sets as data: what the lowering needs to know of a vector unit (rows of ``runtime_c/isa.yaml``)."""

from __future__ import annotations

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

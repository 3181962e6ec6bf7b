"""The operators that can be compiled, as rows of a list."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from packager.lower.lower import lowerings


@dataclass(frozen=True)
class OperatorRow:
    """One operator: ``summary`` is the first paragraph of its lowering's docstring, ``family`` the module it stands in.

    ``layout``: plain (row-major operands), follow (any layout its producer chose) or spatial (blocked channels).
    """

    name: str
    domain: str
    family: str
    layout: str
    summary: str


def operators() -> tuple[OperatorRow, ...]:
    """All operators a model may contain, sorted by name; what the optimizer makes for itself is left out."""
    rows = [
        OperatorRow(
            name=row.op_type,
            domain=row.domain or "ai.onnx",
            family=row.function.__module__.rpartition(".")[2],
            layout=row.layout.value,
            summary=" ".join((inspect.getdoc(row.function) or "").split("\n\n")[0].replace("``", "").split()),
        )
        for row in lowerings().values()
        if row.domain != "edgepack"
    ]
    return tuple(sorted(rows, key=lambda row: (row.domain, row.name)))

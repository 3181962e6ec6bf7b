"""Operators whose output's shape depends on data: refused by name, with a way out."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.program import KernelCall


@lowering("Compress", "NonMaxSuppression", "NonZero", "Unique")
def data_dependent(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """Raise ModelError: memory is planned when compiling, for shapes known then."""
    raise ctx.unsupported(
        node,
        "the shape of its output depends on data",
        "cut the model before this node and do this step in the application",
    )

"""Operators that change only the shape: the output is a view of the input."""

from __future__ import annotations

import onnx_ir as ir

from packager.lower.context import LoweringContext
from packager.lower.registry import lowering
from packager.ops.arguments import required
from packager.ops.views import View, view_or_copy
from packager.program import KernelCall


@lowering("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity")
def reshape(node: ir.Node, ctx: LoweringContext) -> list[KernelCall]:
    """``y = x`` with another shape, as inferred; no call unless a graph input becomes a graph output."""
    x = required(node, 0, ctx)
    return view_or_copy(ctx, node, node.outputs[0], x, View.of((View.of(ctx.shape(x)).count,)))
